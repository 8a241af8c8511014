//! Patch stage: instructions of A64 → operations.
//!
//! In: 32 bits. Out: an [`Insn`], or the [`Cause`] why there is none. Every fixed bit is checked: an
//! unallocated or unpredictable encoding is [`Cause::Unknown`] or [`Cause::Access`], never a neighbour of
//! what it looks like. Follows the Arm ARM (DDI 0487), C4.1: data processing with immediates and registers,
//! direct branches, exclusives, the single-copy atomics of FEAT_LSE, and the loads of Go's epilogues.

use super::cause::Cause;
use super::insn::{
    AtomicOp, Field, Insn, Logic, Operand, Reference, Register, SP, Shift, Step, Test, Width, ZERO,
};

fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

fn is_set(word: u32, bit: u32) -> bool {
    word >> bit & 1 != 0
}

/// The register whose number is at bit `low`, 31 being the zero register.
fn register(word: u32, low: u32) -> Register {
    match bits(word, low + 4, low) {
        31 => ZERO,
        number => Register(number as u8),
    }
}

/// As [`register`], 31 being the stack pointer.
fn register_or_sp(word: u32, low: u32) -> Register {
    Register(bits(word, low + 4, low) as u8)
}

pub(super) fn width(word: u32) -> Width {
    Width(if is_set(word, 31) { 64 } else { 32 })
}

fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)).cast_signed() >> (32 - bits))
}

fn shift(number: u32) -> Shift {
    match number {
        0 => Shift::Left,
        1 => Shift::Right,
        2 => Shift::Arithmetic,
        _ => Shift::Rotate,
    }
}

/// The operation, or why there is none.
pub(crate) fn decode(word: u32) -> Step {
    let insn = match bits(word, 28, 25) {
        0b1000 | 0b1001 => immediate(word),
        0b1010 | 0b1011 => return branch_or_system(word),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => {
            load(word).or_else(|| access(word)).ok_or(Cause::Access).map(Some)?
        }
        0b0101 | 0b1101 => register_form(word),
        _ => None,
    };
    insn.ok_or(Cause::Unknown)
}

fn immediate(word: u32) -> Option<Insn> {
    let width = width(word);
    let (rd, rn) = (register(word, 0), register(word, 5));
    let opcode = bits(word, 30, 29);
    Some(match bits(word, 25, 23) {
        0b010 => {
            let flags = is_set(word, 29);
            let value = u64::from(bits(word, 21, 10)) << if is_set(word, 22) { 12 } else { 0 };
            Insn::AddSubtract {
                width,
                subtract: is_set(word, 30),
                flags,
                rd: if flags { rd } else { register_or_sp(word, 0) },
                rn: register_or_sp(word, 5),
                operand: Operand::Value(value),
            }
        }
        0b100 => {
            let flags = opcode == 3;
            Insn::Logical {
                width,
                logic: logic(opcode),
                invert: false,
                flags,
                rd: if flags { rd } else { register_or_sp(word, 0) },
                rn,
                operand: Operand::Value(bitmask(word, width)?),
            }
        }
        0b101 => {
            let at = bits(word, 22, 21) as usize * 16;
            let value = u64::from(bits(word, 20, 5)) << at;
            match opcode {
                _ if at >= width.0 => return None,
                0 => Insn::Move { width, rd, value: !value },
                2 => Insn::Move { width, rd, value },
                3 => Insn::Keep { width, rd, at, value },
                _ => return None,
            }
        }
        0b110 => {
            let field = match opcode {
                0 => Field::Signed,
                1 => Field::Insert,
                2 => Field::Unsigned,
                _ => return None,
            };
            let (immr, imms) = (bits(word, 21, 16) as usize, bits(word, 15, 10) as usize);
            let allocated = is_set(word, 22) == is_set(word, 31) && immr < width.0 && imms < width.0;
            return allocated.then_some(Insn::Bitfield { width, field, rd, rn, immr, imms });
        }
        0b111 => {
            let lsb = bits(word, 15, 10) as usize;
            let allocated =
                opcode == 0 && is_set(word, 22) == is_set(word, 31) && !is_set(word, 21) && lsb < width.0;
            return allocated.then_some(Insn::Extract { width, rd, rn, rm: register(word, 16), lsb });
        }
        _ => return None,
    })
}

fn logic(opcode: u32) -> Logic {
    match opcode {
        1 => Logic::Or,
        2 => Logic::Xor,
        _ => Logic::And,
    }
}

/// The immediate of the logical instructions: `DecodeBitMasks` of the Arm ARM's pseudocode.
pub(super) fn bitmask(word: u32, width: Width) -> Option<u64> {
    let (n, immr, imms) = (bits(word, 22, 22), bits(word, 21, 16), bits(word, 15, 10));
    let length = (n << 6 | !imms & 0x3f).checked_ilog2()?;
    if length == 0 || n == 1 && width.0 == 32 {
        return None;
    }
    let size = 1 << length;
    let (ones, by) = (imms & (size - 1), immr & (size - 1));
    if ones == size - 1 {
        return None;
    }
    let element = (1_u64 << (ones + 1)) - 1;
    Some((0..64).fold(0, |mask, bit| mask | (element >> ((bit + by) % size) & 1) << bit))
}

fn branch_or_system(word: u32) -> Result<Insn, Cause> {
    let nineteen = signed(bits(word, 23, 5), 19);
    match word {
        _ if bits(word, 30, 26) == 0b00101 && is_set(word, 31) => Err(Cause::Call),
        _ if bits(word, 30, 26) == 0b00101 => {
            Ok(Insn::Branch { test: Test::Always, offset: signed(bits(word, 25, 0), 26) })
        }
        _ if bits(word, 30, 25) == 0b011010 => {
            let (rt, set) = (register(word, 0), is_set(word, 24));
            let test = Test::Bits { rt, from: 0, bits: width(word).0, set };
            Ok(Insn::Branch { test, offset: nineteen })
        }
        _ if bits(word, 30, 25) == 0b011011 => {
            let from = (bits(word, 31, 31) << 5 | bits(word, 23, 19)) as usize;
            let test = Test::Bits { rt: register(word, 0), from, bits: 1, set: is_set(word, 24) };
            Ok(Insn::Branch { test, offset: signed(bits(word, 18, 5), 14) })
        }
        _ if bits(word, 31, 24) == 0b0101_0100 && !is_set(word, 4) => {
            Ok(Insn::Branch { test: Test::Condition(bits(word, 3, 0) as u8), offset: nineteen })
        }
        // nop, yield; bti with each of its targets.
        0xd503201f | 0xd503203f | 0xd503241f | 0xd503245f | 0xd503249f | 0xd50324df => Ok(Insn::Nothing),
        // wfe, wfi, sev, sevl.
        0xd503205f | 0xd503207f | 0xd503209f | 0xd50320bf => Err(Cause::Event),
        // clrex with any option.
        _ if word & !0xf00 == 0xd503305f => Ok(Insn::ClearExclusive),
        _ if word & !0xf00 == 0xd50330bf => Ok(Insn::Barrier(bits(word, 11, 8) as u8)),
        // blr with and without authentication; svc, hvc, smc.
        _ if word & 0xfedf_0000 == 0xd61f_0000 && is_set(word, 21) => Err(Cause::Call),
        _ if word & 0xffe0_001c == 0xd400_0000 => Err(Cause::Call),
        _ => Err(Cause::Unknown),
    }
}

fn register_form(word: u32) -> Option<Insn> {
    let width = width(word);
    let (rd, rn, rm) = (register(word, 0), register(word, 5), register(word, 16));
    let (opcode, amount) = (bits(word, 30, 29), bits(word, 15, 10) as usize);
    let shifted = || (amount < width.0).then_some(Operand::Shifted(rm, shift(bits(word, 23, 22)), amount));
    let (subtract, flags) = (is_set(word, 30), is_set(word, 29));
    Some(match bits(word, 28, 24) {
        0b01010 => Insn::Logical {
            width,
            logic: logic(opcode),
            invert: is_set(word, 21),
            flags: opcode == 3,
            rd,
            rn,
            operand: shifted()?,
        },
        0b01011 if !is_set(word, 21) => {
            if bits(word, 23, 22) == 3 {
                return None;
            }
            Insn::AddSubtract { width, subtract, flags, rd, rn, operand: shifted()? }
        }
        0b01011 => {
            let (option, by) = (bits(word, 15, 13), bits(word, 12, 10) as usize);
            if bits(word, 23, 22) != 0 || by > 4 {
                return None;
            }
            let operand = Operand::Extended { rm, bits: 8 << (option & 3), signed: option >= 4, by };
            let rd = if flags { rd } else { register_or_sp(word, 0) };
            Insn::AddSubtract { width, subtract, flags, rd, rn: register_or_sp(word, 5), operand }
        }
        0b11011 => {
            if opcode != 0 || bits(word, 23, 21) != 0 {
                return None;
            }
            Insn::MultiplyAdd { width, subtract: is_set(word, 15), rd, rn, rm, ra: register(word, 10) }
        }
        0b11010 => return conditional_or_shift(word),
        _ => return None,
    })
}

fn conditional_or_shift(word: u32) -> Option<Insn> {
    let width = width(word);
    let (rd, rn, rm) = (register(word, 0), register(word, 5), register(word, 16));
    let condition = bits(word, 15, 12) as u8;
    match bits(word, 23, 21) {
        // ccmp, ccmn.
        0b010 if is_set(word, 29) && !is_set(word, 10) && !is_set(word, 4) => {
            let operand = if is_set(word, 11) {
                Operand::Value(u64::from(bits(word, 20, 16)))
            } else {
                Operand::Shifted(rm, Shift::Left, 0)
            };
            let (subtract, nzcv) = (is_set(word, 30), bits(word, 3, 0) as u8);
            Some(Insn::Compare { width, subtract, condition, nzcv, rn, operand })
        }
        0b100 if !is_set(word, 29) && !is_set(word, 11) => {
            let (invert, increment) = (is_set(word, 30), is_set(word, 10));
            Some(Insn::Select { width, condition, invert, increment, rd, rn, rm })
        }
        // lslv, lsrv, asrv, rorv.
        0b110 if bits(word, 30, 29) == 0 && bits(word, 15, 12) == 0b0010 => {
            Some(Insn::ShiftBy { width, shift: shift(bits(word, 11, 10)), rd, rn, rm })
        }
        _ => None,
    }
}

fn access(word: u32) -> Option<Insn> {
    let (rt, rs, base) = (register(word, 0), register(word, 16), register_or_sp(word, 5));
    let size = 8 << bits(word, 31, 30);
    let reference = |acquire, release| Reference { bits: size, base, acquire, release };
    if bits(word, 29, 24) == 0b001000 && !is_set(word, 23) && is_set(word, 21) {
        return pair(word);
    }
    if bits(word, 29, 24) == 0b001000 {
        let (load, ordered) = (is_set(word, 22), is_set(word, 15));
        return match (is_set(word, 23), is_set(word, 21)) {
            // The fields that name no register are ones (C6.2, ldxr and stxr: "should be one").
            _ if bits(word, 14, 10) != 31 => None,
            (false, false) if load && bits(word, 20, 16) == 31 => {
                Some(Insn::LoadExclusive { reference: reference(ordered, false), rt })
            }
            // Constrained unpredictable: the status is the value stored or the base.
            (false, false) if !load && rs != rt && rs != base => {
                Some(Insn::StoreExclusive { reference: reference(false, ordered), rs, rt })
            }
            (true, true) => Some(Insn::CompareAndSwap { reference: reference(load, ordered), rs, rt }),
            _ => None,
        };
    }
    if bits(word, 29, 24) != 0b111000 || !is_set(word, 21) || bits(word, 11, 10) != 0 {
        return None;
    }
    let change = match bits(word, 15, 12) {
        0b0000 => AtomicOp::Add,
        0b0001 => AtomicOp::Clear,
        0b0010 => AtomicOp::Xor,
        0b0011 => AtomicOp::Set,
        0b0100 => AtomicOp::Maximum { signed: true },
        0b0101 => AtomicOp::Minimum { signed: true },
        0b0110 => AtomicOp::Maximum { signed: false },
        0b0111 => AtomicOp::Minimum { signed: false },
        0b1000 => AtomicOp::Swap,
        _ => return None,
    };
    Some(Insn::Update { reference: reference(is_set(word, 23), is_set(word, 22)), change, rs, rt })
}

/// `ldr`, `ldrh` or `ldrb` from the base itself; only where a compare-and-swap follows is it an operation of
/// its own.
pub(crate) fn plain_load(word: u32) -> Option<Insn> {
    // The immediate is zero.
    let is_load = word & 0x3fff_fc00 == 0x3940_0000;
    let (rt, base) = (register(word, 0), register_or_sp(word, 5));
    is_load.then_some(Insn::Guess { bits: 8 << bits(word, 31, 30), rt, base })
}

/// `ldxp`, `stxp`, `casp` and those with order, of two registers of one size.
fn pair(word: u32) -> Option<Insn> {
    let (load, ordered) = (is_set(word, 22), is_set(word, 15));
    let base = register_or_sp(word, 5);
    let reference = |acquire, release| Reference { bits: 64 << bits(word, 30, 30), base, acquire, release };
    if !is_set(word, 31) {
        // Undefined with an odd register; assemblers write x30 and the zero register, which here are none.
        let even = |low: u32| {
            let first = register(word, low);
            (first.0.is_multiple_of(2) && first.0 < 30).then_some([first, Register(first.0 + 1)])
        };
        let (rs, rt) = (even(16)?, even(0)?);
        let allocated = bits(word, 14, 10) == 31;
        return allocated.then_some(Insn::CompareAndSwapPair { reference: reference(load, ordered), rs, rt });
    }
    let (rs, rt) = (register(word, 16), [register(word, 0), register(word, 10)]);
    match (load, rt) {
        // Constrained unpredictable: twice one register.
        (true, [low, high]) if low != high && bits(word, 20, 16) == 31 => {
            Some(Insn::LoadExclusivePair { reference: reference(ordered, false), rt })
        }
        // Constrained unpredictable: the status is a value stored or the base.
        (false, rt) if !rt.contains(&rs) && rs != base => {
            Some(Insn::StoreExclusivePair { reference: reference(false, ordered), rs, rt })
        }
        _ => None,
    }
}

/// `ldur`, `ldr` with the offset added afterwards, `ldp`: 8 bytes to a general register each.
fn load(word: u32) -> Option<Insn> {
    let (rt, base) = (register(word, 0), register_or_sp(word, 5));
    let nine = signed(bits(word, 20, 12), 9);
    match word {
        _ if word & 0xffe0_0c00 == 0xf840_0000 => Some(Insn::Load { rt, base, offset: nine }),
        // Constrained unpredictable: the base is what is loaded.
        _ if word & 0xffe0_0c00 == 0xf840_0400 && rt != base => Some(Insn::LoadAndAdd { rt, base, by: nine }),
        _ if word & 0xffc0_0000 == 0xa940_0000 => {
            let (second, seven) = (register(word, 10), signed(bits(word, 21, 15), 7));
            // FEAT_LSE2 (B2.2.1.1) makes one access of the two where they are in 16 bytes that are aligned.
            // That they are not is known of an odd multiple of 8 from SP only, which is aligned itself. Twice
            // one register is constrained unpredictable.
            let two = base == SP && seven % 2 != 0 && rt != second;
            two.then_some(Insn::LoadPair { rt, second, base, offset: 8 * seven })
        }
        _ => None,
    }
}
