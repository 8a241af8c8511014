//! An instruction in the making: the fields of its word, and what it reads and writes so far.

use crate::address::Svma;
use crate::insn::aarch64::fields::bits;
use crate::insn::{Insn, Memory, Modifier, Reg, RegSet};

/// Register 31 as the zero register: no register.
pub(super) const fn zero_form(number: u32) -> Option<Reg> {
    if number & 31 == 31 { None } else { Some(Reg::general(number as u8)) }
}

/// Register 31 as the stack pointer.
pub(super) const fn stack_form(number: u32) -> Option<Reg> {
    if number & 31 == 31 { Some(Reg::SP) } else { Some(Reg::general(number as u8)) }
}

/// The extension of a register operand, by its option field (DDI 0487, `DecodeRegExtend`).
pub(super) const fn extension(option: u32, shift: u8) -> Modifier {
    Modifier { bytes: 1 << (option & 3), is_signed: option & 4 != 0, shift }
}

/// An instruction in the making.
pub(super) struct Facts {
    pub(super) word: u32,
    pub(super) insn: Insn,
}

impl Facts {
    pub(super) fn new(word: u32, svma: Svma, insn: Insn) -> Facts {
        Facts { word, insn: Insn { svma, ..insn } }
    }

    pub(super) fn field(&self, high: u32, low: u32) -> u32 {
        bits(self.word, high, low)
    }

    pub(super) fn rd(&self) -> u32 {
        self.field(4, 0)
    }

    pub(super) fn rn(&self) -> u32 {
        self.field(9, 5)
    }

    pub(super) fn rm(&self) -> u32 {
        self.field(20, 16)
    }

    pub(super) fn read(&mut self, reg: Option<Reg>) {
        if let Some(reg) = reg {
            self.insn.reads = self.insn.reads.with(reg);
        }
    }

    pub(super) fn write(&mut self, reg: Option<Reg>) {
        if let Some(reg) = reg {
            self.insn.writes = self.insn.writes.with(reg);
        }
    }

    pub(super) fn destination(&mut self, reg: Option<Reg>) {
        self.insn.dst = reg;
        self.write(reg);
    }

    /// Sets the sources in operand order.
    pub(super) fn sources(&mut self, sources: [Option<Reg>; 3]) {
        self.insn.src = sources;
        for reg in sources {
            self.read(reg);
        }
    }

    /// Sets the memory operand.
    pub(super) fn memory(&mut self, memory: Memory) {
        self.read(memory.base);
        self.read(memory.index);
        if memory.write_back {
            self.write(memory.base);
        }
        self.insn.memory = Some(memory);
    }
}

/// The vectors and predicates, which a change of the streaming mode and a system call clear, or clear in part.
pub(super) fn registers_of_sve() -> RegSet {
    let vectors = (0..32).map(Reg::vector).fold(RegSet::EMPTY, RegSet::with);
    (0..16).map(Reg::mask).fold(vectors, RegSet::with)
}
