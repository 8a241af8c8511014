//! Data processing: on immediates (DDI 0487 C4.1.93) and on registers (C4.1.95).

use super::{LAST, Lifter, condition, general, page_of, stacked};
use crate::insn::Insn;
use crate::insn::aarch64::fields::{adr_displacement, bits};
use crate::insn::lifted::{Address, Arithmetic, Clobbered, Nzcv, Operand, Operation};

/// Bytes of the operands, by bit 31.
fn size_of(word: u32) -> u8 {
    if word >> 31 == 1 { 8 } else { 4 }
}

/// The destination, where register 31 is the zero register: then nothing is left of a result.
fn destination(word: u32, size: u8) -> Option<Operand> {
    let number = bits(word, 4, 0);
    (number != LAST).then_some(Operand::Register { number: number as u8, size })
}

/// A register shifted by an amount (`DecodeShift`), and perhaps inverted.
fn shifted(word: u32, size: u8, is_inverted: bool) -> Operand {
    let (number, count) = (bits(word, 20, 16), bits(word, 15, 10) as u8);
    if number == LAST {
        return Operand::Immediate(if is_inverted { u64::MAX } else { 0 });
    }
    if count == 0 && !is_inverted {
        return general(number, size);
    }
    let shift = match bits(word, 23, 22) {
        0 => Arithmetic::ShiftLeft,
        1 => Arithmetic::ShiftRight,
        2 => Arithmetic::ShiftRightSigned,
        _ => Arithmetic::RotateRight,
    };
    Operand::Changed { taken: (number as u8, size), is_signed: false, shift, count, is_inverted, size }
}

/// The low bytes of a register, extended to the operand's size and shifted to the left.
fn extended(number: u32, (bytes, is_signed): (u8, bool), count: u8, size: u8) -> Operand {
    if number == LAST {
        return Operand::Immediate(0);
    }
    if bytes >= size && count == 0 {
        return general(number, size);
    }
    let (taken, shift) = ((number as u8, bytes.min(size)), Arithmetic::ShiftLeft);
    Operand::Changed { taken, is_signed, shift, count, is_inverted: false, size }
}

impl Lifter {
    fn compute(&mut self, kind: Arithmetic, to: Operand, left: Operand, right: Operand) {
        self.push(Operation::Compute { kind, to, left, right, sets_flags: false });
    }

    /// Data processing on immediates. Returns whether the instruction is modelled.
    pub(super) fn immediate(&mut self, word: u32, insn: &Insn) -> bool {
        match bits(word, 28, 23) {
            0b10_0000 | 0b10_0001 => self.take_address(word),
            0b10_0010 => self.add_immediate(word),
            0b10_0100 => return self.logical_immediate(word, insn),
            0b10_0101 => self.move_wide(word, insn),
            0b10_0110 => self.bitfield(word),
            0b10_0111 if bits(word, 9, 5) == bits(word, 20, 16) => {
                let (size, count) = (size_of(word), bits(word, 15, 10));
                if let Some(to) = destination(word, size) {
                    let left = general(bits(word, 9, 5), size);
                    self.compute(Arithmetic::RotateRight, to, left, Operand::Immediate(count.into()));
                }
            }
            _ => return false,
        }
        true
    }

    fn take_address(&mut self, word: u32) {
        let Some(to) = destination(word, 8) else { return };
        if word >> 31 == 1 {
            // A page names no object.
            self.push(Operation::Move { to, from: Operand::Immediate(page_of(word, self.at)) });
        } else {
            let address = Address::fixed(self.at.offset(adr_displacement(word)).0, 8);
            self.push(Operation::TakeAddress { to: bits(word, 4, 0) as u8, size: 8, address });
        }
    }

    fn add_immediate(&mut self, word: u32) {
        let (size, is_sub, sets_flags) = (size_of(word), bits(word, 30, 30) == 1, bits(word, 29, 29) == 1);
        let (d, n) = (bits(word, 4, 0), bits(word, 9, 5));
        let number = u64::from(bits(word, 21, 10)) << (12 * bits(word, 22, 22));
        // What is subtracted to the same effect, flags included if it is not zero.
        let subtracted = if is_sub { number } else { number.wrapping_neg() };
        let (left, right) = (stacked(n, size), Operand::Immediate(subtracted));
        if sets_flags && !is_sub && number == 0 {
            return self.add_setting_flags(word, left, Operand::Immediate(0));
        }
        if sets_flags {
            return self.subtract(word, left, right);
        }
        let to = stacked(d, size);
        let added = subtracted.wrapping_neg();
        let page = self.page(n).filter(|_| size == 8 && n != LAST);
        if size == 8 && (d != n || page.is_some()) {
            let address = match page {
                Some(page) => Address::fixed(page.wrapping_add(added), 8),
                None => Address::based(n as u8, added, 8),
            };
            return self.push(Operation::TakeAddress { to: d as u8, size: 8, address });
        }
        self.compute(Arithmetic::Add, to, left, Operand::Immediate(added));
    }

    /// A difference that sets flags, or only they.
    fn subtract(&mut self, word: u32, left: Operand, right: Operand) {
        match destination(word, size_of(word)) {
            Some(to) => {
                self.push(Operation::Compute { kind: Arithmetic::Sub, to, left, right, sets_flags: true });
            }
            None => self.push(Operation::Compare { left, right }),
        }
    }

    /// A sum that sets flags. They are not followed.
    fn add_setting_flags(&mut self, word: u32, left: Operand, right: Operand) {
        let read = [left, right].into_iter().fold(0, |read, operand| read | named(operand)) & !(1 << LAST);
        self.push(Operation::Other(Clobbered { read, flags: true, ..Clobbered::default() }));
        if let Some(to) = destination(word, size_of(word)) {
            self.compute(Arithmetic::Add, to, left, right);
        }
    }

    fn logical_immediate(&mut self, word: u32, insn: &Insn) -> bool {
        let Some(number) = insn.imm else { return false };
        let right = Operand::Immediate(number.cast_unsigned());
        let size = size_of(word);
        let left = general(bits(word, 9, 5), size);
        self.logical(word, stacked(bits(word, 4, 0), size), left, right);
        true
    }

    /// `and`, `orr`, `eor` and `ands`. `to`: the destination of those without flags.
    fn logical(&mut self, word: u32, to: Operand, left: Operand, right: Operand) {
        let size = size_of(word);
        let kind = match bits(word, 30, 29) {
            0 | 3 => Arithmetic::And,
            1 => Arithmetic::Or,
            _ => Arithmetic::Xor,
        };
        let sets_flags = bits(word, 30, 29) == 3;
        match (destination(word, size), left) {
            (None, _) if sets_flags => self.push(Operation::Test { left, right }),
            (_, Operand::Immediate(0)) if kind == Arithmetic::Or => {
                self.push(Operation::Move { to, from: right })
            }
            _ => self.push(Operation::Compute { kind, to, left, right, sets_flags }),
        }
    }

    fn move_wide(&mut self, word: u32, insn: &Insn) {
        let size = size_of(word);
        let Some(to) = destination(word, size) else { return };
        if bits(word, 30, 29) != 3 {
            let number = insn.imm.unwrap_or_default().cast_unsigned();
            return self.push(Operation::Move { to, from: Operand::Immediate(number) });
        }
        let place = 16 * bits(word, 22, 21);
        let (number, mask) = (u64::from(bits(word, 20, 5)) << place, !(0xffff << place));
        self.compute(Arithmetic::And, to, to, Operand::Immediate(mask));
        self.compute(Arithmetic::Or, to, to, Operand::Immediate(number));
    }

    fn bitfield(&mut self, word: u32) {
        let size = size_of(word);
        let Some(to) = destination(word, size) else { return };
        let from = general(bits(word, 9, 5), size);
        let (whole, rotation, last) = (u32::from(size) * 8 - 1, bits(word, 21, 16), bits(word, 15, 10));
        let number = |number: u32| Operand::Immediate(number.into());
        match bits(word, 30, 29) {
            0 if rotation == 0 && matches!(last, 7 | 15 | 31) && last < whole => {
                let from = general(bits(word, 9, 5), ((last + 1) / 8) as u8);
                self.push(Operation::MoveSigned { to, from });
            }
            0 if last == whole => self.compute(Arithmetic::ShiftRightSigned, to, from, number(rotation)),
            0 => {
                self.compute(Arithmetic::ShiftLeft, to, from, number(whole - last));
                let (up, all) = (whole - last, whole + 1);
                let down = (up + rotation) % all;
                self.compute(Arithmetic::ShiftRightSigned, to, to, number(down));
            }
            2 if last == whole => self.compute(Arithmetic::ShiftRight, to, from, number(rotation)),
            2 if last + 1 == rotation => self.compute(Arithmetic::ShiftLeft, to, from, number(whole - last)),
            2 if rotation == 0 => {
                let mask = (2 << last) - 1;
                self.compute(Arithmetic::And, to, from, Operand::Immediate(mask));
            }
            kept => {
                let (low, to_low, width) = match last >= rotation {
                    true => (rotation, 0, last - rotation + 1),
                    false => (0, whole + 1 - rotation, last + 1),
                };
                let [low, to_low, width] = [low, to_low, width].map(|number| number as u8);
                self.push(Operation::MoveBits { to, from, low, to_low, width, keeps_rest: kept == 1 });
            }
        }
    }

    /// Data processing on registers. Returns whether the instruction is modelled.
    pub(super) fn registers(&mut self, word: u32, insn: &Insn) -> bool {
        let size = size_of(word);
        let left = general(bits(word, 9, 5), size);
        match bits(word, 28, 21) {
            0b0101_0000..=0b0101_0111 => {
                let right = shifted(word, size, bits(word, 21, 21) == 1);
                let to = destination(word, size);
                if to.is_some() || bits(word, 30, 29) == 3 {
                    self.logical(word, to.unwrap_or(left), left, right);
                }
            }
            0b0101_1000..=0b0101_1111 => {
                let is_extended = bits(word, 21, 21) == 1;
                let option = bits(word, 15, 13);
                let extension = (1 << (option & 3), option & 4 != 0);
                let count = bits(word, 12, 10) as u8;
                let (left, right) = match is_extended {
                    true => {
                        let right = extended(bits(word, 20, 16), extension, count, size);
                        (stacked(bits(word, 9, 5), size), right)
                    }
                    false => (left, shifted(word, size, false)),
                };
                let (is_sub, sets_flags) = (bits(word, 30, 30) == 1, bits(word, 29, 29) == 1);
                let to = match is_extended && !sets_flags {
                    true => Some(stacked(bits(word, 4, 0), size)),
                    false => destination(word, size),
                };
                let kind = if is_sub { Arithmetic::Sub } else { Arithmetic::Add };
                match (is_sub, sets_flags, to) {
                    (true, true, _) => self.subtract(word, left, right),
                    (false, true, _) => self.add_setting_flags(word, left, right),
                    (_, false, Some(to)) => self.compute(kind, to, left, right),
                    (_, false, None) => {}
                }
            }
            0b1101_0010 => return self.compare_if(word, left),
            0b1101_0100 => self.select(word, left),
            0b1101_0110 if bits(word, 30, 30) == 0 => return self.two_sources(word, left),
            0b1101_0110 => return self.one_source(word, left, insn),
            0b1101_1000..=0b1101_1111 => return self.three_sources(word, left),
            _ => return false,
        }
        true
    }

    fn compare_if(&mut self, word: u32, left: Operand) -> bool {
        let (is_sub, size) = (bits(word, 30, 30) == 1, size_of(word));
        let number = u64::from(bits(word, 20, 16));
        let right = match (bits(word, 11, 11), is_sub) {
            (1, true) => Operand::Immediate(number),
            (1, false) if number != 0 => Operand::Immediate(number.wrapping_neg()),
            (0, true) => general(bits(word, 20, 16), size),
            _ => return false,
        };
        match condition(bits(word, 15, 12)) {
            Some(condition) => {
                let otherwise = Nzcv(bits(word, 3, 0) as u8);
                self.push(Operation::CompareIf { condition, left, right, otherwise });
            }
            None => self.push(Operation::Compare { left, right }),
        }
        true
    }

    fn select(&mut self, word: u32, then: Operand) {
        let size = size_of(word);
        let Some(to) = destination(word, size) else { return };
        let otherwise = general(bits(word, 20, 16), size);
        let change = match (bits(word, 30, 30), bits(word, 10, 10)) {
            (0, 0) => None,
            (0, _) => Some(Arithmetic::Add),
            (_, 0) => Some(Arithmetic::Not),
            _ => Some(Arithmetic::Negate),
        };
        let zero = Operand::Immediate(0);
        match condition(bits(word, 15, 12)) {
            Some(condition) if change == Some(Arithmetic::Add) && (then, otherwise) == (zero, zero) => {
                self.push(Operation::SetIf { condition: condition.negated(), to });
            }
            Some(condition) => self.push(Operation::Select { condition, to, then, otherwise, change }),
            None => self.push(Operation::Move { to, from: then }),
        }
    }

    fn two_sources(&mut self, word: u32, left: Operand) -> bool {
        let kind = match bits(word, 15, 10) {
            0b00_1000 => Arithmetic::ShiftLeft,
            0b00_1001 => Arithmetic::ShiftRight,
            0b00_1010 => Arithmetic::ShiftRightSigned,
            0b00_1011 => Arithmetic::RotateRight,
            _ => return false,
        };
        let size = size_of(word);
        if let Some(to) = destination(word, size) {
            self.compute(kind, to, left, general(bits(word, 20, 16), size));
        }
        true
    }

    fn one_source(&mut self, word: u32, left: Operand, insn: &Insn) -> bool {
        let size = size_of(word);
        let kind = match (bits(word, 20, 16), bits(word, 15, 10)) {
            (0, 0b00_0100) => Arithmetic::LeadingZeros,
            (0, 0b00_0010) if size == 4 => Arithmetic::SwapBytes,
            (0, 0b00_0011) if size == 8 => Arithmetic::SwapBytes,
            // A signed pointer is taken for the pointer.
            (1, _) => return insn.dst.is_some(),
            _ => return false,
        };
        if let Some(to) = destination(word, size) {
            self.compute(kind, to, left, Operand::Immediate(0));
        }
        true
    }

    fn three_sources(&mut self, word: u32, left: Operand) -> bool {
        let size = size_of(word);
        let (left, right) = match bits(word, 23, 21) {
            0 => (left, general(bits(word, 20, 16), size)),
            form @ (1 | 5) if size == 8 => {
                let part = |number| extended(number, (4, form == 1), 0, 8);
                (part(bits(word, 9, 5)), part(bits(word, 20, 16)))
            }
            _ => return false,
        };
        let Some(to) = destination(word, size) else { return true };
        let is_sub = bits(word, 15, 15) == 1;
        match general(bits(word, 14, 10), size) {
            Operand::Immediate(_) if !is_sub => self.compute(Arithmetic::Multiply, to, left, right),
            added => self.push(Operation::MultiplyAdd { to, added, left, right, is_sub }),
        }
        true
    }
}

/// The registers that an operand names, as bits.
fn named(operand: Operand) -> u64 {
    match operand {
        Operand::Register { number, .. } | Operand::Changed { taken: (number, _), .. } => 1 << number,
        _ => 0,
    }
}
