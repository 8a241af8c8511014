//! A small intermediate representation: instructions as operations over registers, flags and memory.
//!
//! In: the bytes of code. Out: [`Block`]s, lifted on demand. [`Insn`](crate::insn::Insn) has all facts of an instruction
//! that rules want; an evaluation needs fewer facts and exact ones: the width of each operand, and what every instruction
//! that it does not model may change. Vector registers are 128 bits here, in two halves: what compilers move structures with.

#[cfg(test)]
mod tests;

pub(crate) use crate::insn::lifted::{
    Address, Arithmetic, Block, Clobbered, Condition, Exit, Lane, Mention, MentionKind, Nzcv, Operand,
    Operation, Test, VECTORS, VectorOperand,
};

use crate::address::Svma;
use crate::insn::{aarch64, x86_64};
use deburr_cpu::Arch;

/// Lifts the block that begins at an address; `code` are the bytes from there on.
pub(crate) fn lift(arch: Arch, code: &[u8], svma: Svma) -> Block {
    match arch {
        Arch::X86_64 => x86_64::lift(code, svma),
        Arch::Aarch64 => aarch64::lift(code, svma),
    }
}

/// Hands out what a run of code names and does, without lifting it.
pub(crate) fn mentions(arch: Arch, code: &[u8], svma: Svma, is_fixed: bool, found: impl FnMut(Mention)) {
    match arch {
        Arch::X86_64 => x86_64::mentions(code, svma, is_fixed, found),
        Arch::Aarch64 => aarch64::mentions(code, svma, found),
    }
}
