//! Lifts A64 code to [`crate::insn::operations`].
//!
//! In: words of code. Out: a block, from its first instruction to the one that control leaves it by. The base instruction set is
//! read field by field after the encoding tables of DDI 0487 C4.1. An instruction that is not modelled becomes [`Clobbered`]: the
//! registers, the flags and the memory that it may change, by the facts of [`decode`]. Register 31 of a general operand is the
//! stack pointer; the zero register is the number 0, and what is written to it is written nowhere.

mod access;
mod compute;
mod mentions;
mod vector;

pub(crate) use mentions::mentions;

use super::facts::decode;
use super::fields::{adrp_displacement, bits};
use super::summary::is_hint;
use crate::address::Svma;
use crate::insn::lifted::{Address, Block, Clobbered, Condition, Exit, Operand, Operation, Test, VECTORS};
use crate::insn::{Class, Flow, Insn, Operation as Kind, Reg, RegSet};

/// Maximum of instructions of a block; a longer run is cut.
const LONGEST_BLOCK: usize = 64;

/// Bytes of an instruction.
const LENGTH: usize = 4;

/// The stack pointer, or the zero register.
const LAST: u32 = 31;

/// What a system call of Linux is passed, with its number: the kernel may write where they point.
const SYSTEM_CALL_ARGUMENTS: u64 = 0x3f | 1 << 8;

/// Two registers of the system that set flags when they are read, by their numbers, `op0:op1:CRn:CRm:op2` in 16 bits.
const RANDOM: [i64; 2] = [0xd920, 0xd921];

/// Lifts the block that begins at an address; `code` are the bytes from there on.
pub(crate) fn lift(code: &[u8], svma: Svma) -> Block {
    let mut lifter = Lifter { at: svma, operations: Vec::new(), pages: [None; 32] };
    for bytes in code.chunks_exact(LENGTH).take(LONGEST_BLOCK) {
        let (at, next) = (lifter.at, lifter.at.offset(LENGTH as i64));
        let exit = match (decode(bytes, at), bytes.first_chunk::<LENGTH>()) {
            (Some(insn), Some(&bytes)) => {
                let word = u32::from_le_bytes(bytes);
                let exit = exit_of(word, &insn, next);
                if exit.is_none() {
                    lifter.add(word, &insn);
                }
                exit
            }
            _ => Some(Exit::Stop),
        };
        if let Some(exit) = exit {
            return Block { start: svma, end: next, operations: lifter.operations, exit, exit_at: at };
        }
        lifter.at = next;
    }
    let end = lifter.at;
    let exit = if end.0 > svma.0 { Exit::Next(end) } else { Exit::Stop };
    Block { start: svma, end, operations: lifter.operations, exit, exit_at: end }
}

/// Where control goes, if not to the next instruction alone.
fn exit_of(word: u32, insn: &Insn, next: Svma) -> Option<Exit> {
    let register = |number: u32| Operand::Register { number: number as u8, size: 8 };
    match insn.flow {
        Flow::Next => None,
        Flow::Jump(target) => Some(Exit::Jump(target)),
        Flow::Branch(target) => Some(match test_of(word, insn) {
            Some(Ok(test)) => Exit::Branch { test, target, next },
            Some(Err(true)) | None => Exit::Jump(target),
            Some(Err(false)) => Exit::Next(next),
        }),
        Flow::Call(target) => Some(Exit::Call { target, next }),
        Flow::IndirectCall => Some(Exit::CallIndirect { target: register(bits(word, 9, 5)), next }),
        // `eret` and `drps` are the operating system's.
        Flow::IndirectJump if bits(word, 24, 23) == 1 => Some(Exit::Stop),
        Flow::IndirectJump => Some(Exit::JumpIndirect(register(bits(word, 9, 5)))),
        Flow::Return if bits(word, 9, 5) < 30 => Some(Exit::JumpIndirect(register(bits(word, 9, 5)))),
        Flow::Return => Some(Exit::Return),
        Flow::Stop => Some(Exit::Stop),
    }
}

/// What a branch tests, or its outcome where that is fixed; `None` where it is always taken.
fn test_of(word: u32, insn: &Insn) -> Option<Result<Test, bool>> {
    let is_negated = bits(word, 24, 24) == 1;
    match insn.operation {
        Kind::BranchCondition => condition(bits(word, 3, 0)).map(|condition| Ok(Test::Flags(condition))),
        Kind::BranchZero | Kind::BranchBit if bits(word, 4, 0) == LAST => Some(Err(!is_negated)),
        Kind::BranchZero | Kind::BranchBit => {
            let bit = insn.imm.filter(|_| insn.operation == Kind::BranchBit).map(|bit| bit as u8);
            Some(Ok(Test::Zero { number: bits(word, 4, 0) as u8, size: insn.width, bit, is_negated }))
        }
        // `cbgt` and its kin.
        _ => Some(Ok(Test::Flags(Condition::UNKNOWN))),
    }
}

/// A condition by its code, DDI 0487 C1.2.4; `None` for "always".
fn condition(code: u32) -> Option<Condition> {
    const BY_CODE: [u8; 14] = [4, 5, 3, 2, 8, 9, 0, 1, 7, 6, 13, 12, 15, 14];
    BY_CODE.get(code as usize).copied().map(Condition)
}

/// A general register, or the zero register.
fn general(number: u32, size: u8) -> Operand {
    if number == LAST { Operand::Immediate(0) } else { Operand::Register { number: number as u8, size } }
}

/// A general register, or the stack pointer.
fn stacked(number: u32, size: u8) -> Operand {
    Operand::Register { number: number as u8, size }
}

/// A set of registers as bits.
fn as_bits(set: RegSet) -> u64 {
    let general = set.general().filter_map(Reg::index).fold(0, |bits, number| bits | 1 << number);
    let is_used = |number: &u8| set.contains(Reg::vector(*number));
    (0..32).filter(is_used).fold(general, |bits, number| bits | 1 << (VECTORS + number))
}

/// A block in the making.
struct Lifter {
    at: Svma,
    operations: Vec<(Svma, Operation)>,
    /// Pages that `adrp` of this block has put into registers.
    pages: [Option<u64>; 32],
}

impl Lifter {
    fn push(&mut self, operation: Operation) {
        self.operations.push((self.at, operation));
    }

    fn page(&self, number: u32) -> Option<u64> {
        self.pages.get(number as usize).copied().flatten()
    }

    /// Adds an instruction that control does not leave by.
    fn add(&mut self, word: u32, insn: &Insn) {
        let is_modelled = match bits(word, 28, 25) {
            0b1000 | 0b1001 => self.immediate(word, insn),
            0b1010 | 0b1011 => self.system(word, insn),
            0b0101 | 0b1101 => self.registers(word, insn),
            0b0111 | 0b1111 => self.vector_move(word),
            0b0100 | 0b0110 | 0b1100 | 0b1110 => self.access(word, insn),
            _ => false,
        };
        if !is_modelled {
            self.other(word, insn);
        }
        for register in insn.writes.general().filter_map(Reg::index) {
            if let Some(page) = self.pages.get_mut(register) {
                *page = None;
            }
        }
        if word & 0x9f00_0000 == 0x9000_0000
            && let Some(page) = self.pages.get_mut(bits(word, 4, 0) as usize)
        {
            *page = Some(page_of(word, self.at));
        }
    }

    /// An instruction that is not modelled.
    fn other(&mut self, word: u32, insn: &Insn) {
        let (mut read, mut written) = (as_bits(insn.reads), as_bits(insn.writes));
        let (mut loaded, mut stored) = (None, None);
        if let Some(memory) = &insn.memory {
            let base = memory.base.and_then(Reg::index).map_or(0, |number| 1_u64 << number);
            let index = memory.index.and_then(Reg::index).map_or(0, |number| 1 << number);
            let is_sized = memory.size > 0 || !memory.write;
            let sources = insn.src.into_iter().flatten().fold(RegSet::EMPTY, RegSet::with);
            // Registers that only make an address do not go anywhere, unless it is not known how far that reaches.
            if is_sized {
                read &= !((base | index) & !as_bits(sources));
            }
            let place = (self.address(insn, memory.size.min(64) as u8), memory.size);
            let place = Some(place).filter(|_| memory.size > 0);
            loaded = place.filter(|_| memory.read);
            stored = place.filter(|_| memory.write);
            if memory.write_back && is_structure(word) {
                written &= !base;
            }
        }
        read &= !(1 << LAST);
        let flags = insn.writes.contains(Reg::FLAGS);
        let clobbered = Clobbered { written, read, flags, loaded, stored };
        if clobbered != Clobbered::default() {
            self.push(Operation::Other(clobbered));
        }
        if is_structure(word) {
            self.step_base_of_structure(insn);
        }
    }

    fn system(&mut self, word: u32, insn: &Insn) -> bool {
        let read_register = insn.imm.filter(|_| insn.operation == Kind::ReadSystemRegister);
        match (insn.class, read_register) {
            (Class::SystemCall, _) => {
                let (written, read) = (1, SYSTEM_CALL_ARGUMENTS);
                self.push(Operation::Other(Clobbered { written, read, ..Clobbered::default() }));
            }
            _ if is_hint(word) => {}
            (_, Some(register)) if RANDOM.contains(&register) => return false,
            (_, Some(register)) if bits(word, 4, 0) != LAST => {
                let (to, register) = (bits(word, 4, 0) as u8, register as u16);
                self.push(Operation::ReadSystem { to, register });
            }
            (_, Some(_)) => {}
            // `dc zva` clears a block of 64 bytes on every core so far.
            _ if word & !LAST == 0xd50b_7420 && bits(word, 4, 0) != LAST => {
                let stored = Some((Address::based(bits(word, 4, 0) as u8, 0, 64), 64));
                self.push(Operation::Other(Clobbered { stored, ..Clobbered::default() }));
            }
            // Other system instructions and writes to the system's registers change no register and no memory that is followed.
            _ if !insn.writes.general().any(|_| true) && !insn.writes.contains(Reg::FLAGS) => {
                return !insn.writes.contains(Reg::vector(0));
            }
            _ => return false,
        }
        true
    }
}

/// Whether an access is one of structures of vectors, `ld1` to `st4`.
fn is_structure(word: u32) -> bool {
    word & 0xbe00_0000 == 0x0c00_0000
}

/// The page of an `adrp`.
fn page_of(word: u32, at: Svma) -> u64 {
    (at.0 & !0xfff).wrapping_add_signed(adrp_displacement(word))
}
