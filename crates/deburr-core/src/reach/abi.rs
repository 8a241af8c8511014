//! Registers by the procedure call standards: the psABI of x86-64 ("Registers"), and AAPCS64 (6.1).
//!
//! Sets of registers are bits: general ones from bit 0 on, vector registers from bit [`VECTORS`] on.

use crate::insn::operations::VECTORS;
use deburr_cpu::Arch;

/// The general registers among 64 bits.
pub(crate) const GENERAL: u64 = (1 << VECTORS) - 1;

/// Which registers calls use for what.
#[derive(Debug)]
pub(crate) struct Abi {
    pub stack_pointer: u8,
    pub frame_pointer: u8,
    /// The register that a call puts the address in which it comes back to; without one it goes onto the stack.
    pub link: Option<u8>,
    /// The registers that arguments come in, in their order.
    pub arguments: &'static [u8],
    /// The number of these, from the first on, that hold integers and addresses.
    pub integers: usize,
    /// The registers that a function returns something in.
    pub results: [u8; 2],
    /// The registers that a call may change.
    pub caller_saved: u64,
    /// The registers that have no value where a function begins.
    pub undefined: u64,
    /// Where arguments begin on the stack, in bytes from the stack pointer at the entry.
    pub stack_arguments: i32,
}

/// `rax` counts vector arguments, and hand-written code passes more in it; `r10` is the chain of nested functions.
static X86_64: Abi = Abi {
    stack_pointer: 4,
    frame_pointer: 5,
    link: None,
    arguments: &[7, 6, 2, 1, 8, 9, 0, 10],
    integers: 6,
    results: [0, 2],
    caller_saved: !(GENERAL & !0xffff | 1 << 3 | 1 << 4 | 1 << 5 | 0xf << 12),
    undefined: 1 | 1 << 11,
    stack_arguments: 8,
};

/// `x8` is where a structure is to be returned, `x18` the chain of nested functions. Of `v8` to `v15` the low halves are saved.
static AARCH64: Abi = Abi {
    stack_pointer: 31,
    frame_pointer: 29,
    link: Some(30),
    arguments: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 18],
    integers: 8,
    results: [0, 1],
    caller_saved: !(0x7ff << 19 | 1 << 31 | 0xff << (VECTORS + 8)) | 1 << 30,
    undefined: 0,
    stack_arguments: 0,
};

impl Abi {
    pub(crate) const fn of(arch: Arch) -> &'static Abi {
        match arch {
            Arch::X86_64 => &X86_64,
            Arch::Aarch64 => &AARCH64,
        }
    }

    /// The register of an argument, counted from 0.
    pub(crate) fn argument(&self, place: usize) -> u8 {
        self.arguments.get(place).copied().unwrap_or(u8::MAX)
    }

    /// The registers that arguments come in, as bits.
    pub(crate) fn all_arguments(&self) -> u64 {
        bits(self.arguments)
    }
}

/// Registers as bits.
pub(crate) fn bits(registers: &[u8]) -> u64 {
    registers.iter().fold(0, |bits, number| bits | 1 << number)
}
