//! Loads, stores, exclusives and atomics (DDI 0487 C4.1, Loads and Stores).

use super::{LAST, Lifter, general, stacked};
use crate::insn::aarch64::fields::{bits, signed};
use crate::insn::lifted::{Address, Arithmetic, Operand, Operation, VectorOperand};
use crate::insn::{Class, Insn, Memory, Modifier, Operation as Kind, Reg};

/// What is loaded or stored.
#[derive(Clone, Copy)]
struct Moved {
    register: u32,
    is_vector: bool,
    /// Bytes in memory.
    bytes: u8,
    is_store: bool,
    is_signed: bool,
    /// Bytes of the register that a load writes.
    width: u8,
}

impl Lifter {
    /// Returns whether the instruction is modelled.
    pub(super) fn access(&mut self, word: u32, insn: &Insn) -> bool {
        if insn.operation == Kind::Prefetch {
            return true;
        }
        let Some(memory) = insn.memory else { return false };
        match (bits(word, 29, 27), bits(word, 26, 26) == 1) {
            (0b111, is_vector) => {
                let is_atomic = bits(word, 24, 24) == 0 && bits(word, 21, 21) == 1 && bits(word, 11, 10) == 0;
                let is_signing =
                    bits(word, 24, 24) == 0 && bits(word, 21, 21) == 1 && bits(word, 10, 10) == 1;
                match insn.class {
                    Class::LseAtomic if is_atomic => return self.atomic(word, insn, &memory),
                    Class::Load | Class::Store if !is_signing => self.single(word, insn, &memory, is_vector),
                    _ => return false,
                }
            }
            (0b101, is_vector) => self.pair(word, insn, &memory, is_vector),
            // From where the instruction says.
            (0b011, is_vector) if bits(word, 24, 24) == 0 => self.single(word, insn, &memory, is_vector),
            // With acquire or release, by a distance.
            (0b011, false) if bits(word, 11, 10) == 0 && matches!(insn.class, Class::Load | Class::Store) => {
                self.single(word, insn, &memory, false);
            }
            (0b001, false) => return self.exclusive(word, insn, &memory),
            _ => return false,
        }
        true
    }

    /// The address of the memory operand.
    pub(super) fn address(&self, insn: &Insn, size: u8) -> Address {
        let Some(memory) = insn.memory else { return Address::fixed(0, size) };
        let displacement = memory.displacement.cast_unsigned();
        let Some(base) = memory.base.and_then(Reg::index) else { return Address::fixed(displacement, size) };
        let page = self.page(base as u32).filter(|_| base as u32 != LAST && memory.index.is_none());
        if let Some(page) = page {
            return Address::fixed(page.wrapping_add(displacement), size);
        }
        let Modifier { bytes, is_signed, shift } = memory.index_as;
        Address {
            index: memory.index.and_then(Reg::index).map(|index| index as u8),
            index_bytes: bytes,
            is_index_signed: is_signed,
            scale: 1 << shift,
            ..Address::based(base as u8, displacement, size)
        }
    }

    fn moved(&mut self, moved: Moved, address: Address) {
        let Moved { register, is_vector, bytes, is_store, is_signed, width } = moved;
        let memory = Operand::Memory(address);
        let to = Operand::Register { number: register as u8, size: width };
        match (is_vector, is_store) {
            (true, _) => {
                let (here, there) = (VectorOperand::Vector(register as u8), VectorOperand::Memory(address));
                let (to, from) = if is_store { (there, here) } else { (here, there) };
                self.push(Operation::MoveVector { to, from, size: bytes });
            }
            (_, true) => self.push(Operation::Move { to: memory, from: general(register, bytes) }),
            _ if register == LAST => {}
            _ if is_signed => self.push(Operation::MoveSigned { to, from: memory }),
            _ => self.push(Operation::Move { to, from: memory }),
        }
    }

    fn single(&mut self, word: u32, insn: &Insn, memory: &Memory, is_vector: bool) {
        let moved = Moved {
            register: bits(word, 4, 0),
            is_vector,
            bytes: memory.size.min(16) as u8,
            is_store: memory.write,
            is_signed: insn.is_signed,
            width: insn.width.max(4),
        };
        let address = self.address(insn, moved.bytes);
        self.in_place(word, memory, address, |lifter, address| lifter.moved(moved, address));
    }

    /// An access of which the base register is changed before or after.
    fn in_place(
        &mut self,
        word: u32,
        memory: &Memory,
        address: Address,
        access: impl Fn(&mut Self, Address),
    ) {
        let base = memory.base.and_then(Reg::index).filter(|_| memory.write_back);
        let Some(base) = base else { return access(self, address) };
        let is_pair = bits(word, 29, 27) == 0b101;
        let distance = match is_pair {
            true => signed(word, 21, 15) * i64::from(memory.size / 2),
            false => signed(word, 20, 12),
        };
        let is_before = if is_pair { bits(word, 24, 23) == 3 } else { bits(word, 11, 10) == 3 };
        let here = Address::based(base as u8, 0, address.size);
        if is_before {
            self.step_base(base as u32, Operand::Immediate(distance.cast_unsigned()));
            return access(self, here);
        }
        access(self, here);
        self.step_base(base as u32, Operand::Immediate(distance.cast_unsigned()));
    }

    fn step_base(&mut self, base: u32, distance: Operand) {
        let to = stacked(base, 8);
        let kind = Arithmetic::Add;
        self.push(Operation::Compute { kind, to, left: to, right: distance, sets_flags: false });
    }

    /// The base register of an access to structures of vectors: it grows by their bytes, or by a register.
    pub(super) fn step_base_of_structure(&mut self, insn: &Insn) {
        let Some(memory) = insn.memory.filter(|memory| memory.write_back) else { return };
        let Some(base) = memory.base.and_then(Reg::index) else { return };
        let others = insn.reads.general().filter(|&register| Some(register) != memory.base);
        let register = others.filter_map(Reg::index).next();
        let distance = match register {
            Some(number) => general(number as u32, 8),
            None => Operand::Immediate(memory.size.into()),
        };
        self.step_base(base as u32, distance);
    }

    fn pair(&mut self, word: u32, insn: &Insn, memory: &Memory, is_vector: bool) {
        let bytes = (memory.size / 2) as u8;
        // `ldpsw`; `stgp` stores a tag as well.
        let is_signed = !is_vector && bits(word, 31, 30) == 1 && memory.read;
        let moved = |register: u32| Moved {
            register,
            is_vector,
            bytes,
            is_store: memory.write,
            is_signed,
            width: if is_signed { 8 } else { bytes.max(4) },
        };
        let (first, second) = (moved(bits(word, 4, 0)), moved(bits(word, 14, 10)));
        // The first may be loaded over the base.
        let is_over =
            memory.base.and_then(Reg::index) == Some(first.register as usize) && memory.read && !is_vector;
        let address = self.address(insn, bytes);
        self.in_place(word, memory, address, |lifter, address| {
            let above = Address { displacement: address.displacement.wrapping_add(bytes.into()), ..address };
            if is_over {
                lifter.moved(second, above);
                lifter.moved(first, address);
            } else {
                lifter.moved(first, address);
                lifter.moved(second, above);
            }
        });
    }

    /// Exclusives, loads with acquire, stores with release, and compare and swap.
    fn exclusive(&mut self, word: u32, insn: &Insn, memory: &Memory) -> bool {
        let number = bits(word, 4, 0);
        let is_compared = insn.operation == Kind::CompareSwap;
        let is_pair = match is_compared {
            true => bits(word, 23, 23) == 0,
            false => bits(word, 23, 23) == 0 && bits(word, 21, 21) == 1,
        };
        let bytes = memory.size.min(8) as u8;
        let address = self.address(insn, bytes);
        let to = Operand::Memory(address);
        match insn.class {
            Class::LseAtomic if is_compared && !is_pair && bits(word, 20, 16) != LAST => {
                let (from, expected) = (general(number, bytes), bits(word, 20, 16) as u8);
                self.push(Operation::CompareExchange { to, from, expected, sets_flags: false });
            }
            Class::StoreExclusive if !is_pair && bits(word, 20, 16) != LAST => {
                let (status, from) = (bits(word, 20, 16) as u8, general(number, bytes));
                self.push(Operation::StoreExclusive { status, to, from });
            }
            Class::Load | Class::Store | Class::LoadExclusive if !is_pair => {
                let (is_vector, is_signed, is_store) = (false, false, memory.write);
                let width = bytes.max(4);
                let moved = Moved { register: number, is_vector, bytes, is_store, is_signed, width };
                self.moved(moved, address);
            }
            _ => return false,
        }
        true
    }

    fn atomic(&mut self, word: u32, insn: &Insn, memory: &Memory) -> bool {
        let (kind, is_inverted) = match insn.operation {
            Kind::Swap => (None, false),
            Kind::FetchAdd => (Some(Arithmetic::Add), false),
            Kind::FetchOr => (Some(Arithmetic::Or), false),
            Kind::FetchXor => (Some(Arithmetic::Xor), false),
            Kind::FetchAndNot => (Some(Arithmetic::And), true),
            _ => return false,
        };
        let bytes = memory.size.min(8) as u8;
        let to = Operand::Memory(self.address(insn, bytes));
        let by = match (general(bits(word, 20, 16), bytes), is_inverted) {
            (Operand::Register { number, size }, true) => Operand::Changed {
                taken: (number, size),
                is_signed: false,
                shift: Arithmetic::ShiftLeft,
                count: 0,
                is_inverted,
                size,
            },
            (Operand::Immediate(_), true) => Operand::Immediate(u64::MAX),
            (operand, _) => operand,
        };
        let old = general(bits(word, 4, 0), bytes.max(4));
        self.push(Operation::Fetch { kind, to, by, old, sets_flags: false });
        true
    }
}
