//! Registers by the procedure call standards: the psABI of x86-64, AAPCS64, and Go's internal ABI.

use crate::insn::Reg;
use deburr_cpu::Arch;

const X86_64_ARGUMENTS: &[Reg] =
    &[Reg::general(7), Reg::general(6), Reg::general(2), Reg::general(1), Reg::general(8), Reg::general(9)];
const AARCH64_ARGUMENTS: &[Reg] = &[
    Reg::general(0),
    Reg::general(1),
    Reg::general(2),
    Reg::general(3),
    Reg::general(4),
    Reg::general(5),
    Reg::general(6),
    Reg::general(7),
];

/// The registers of the first integer arguments, in order.
pub(crate) const fn arguments(arch: Arch) -> &'static [Reg] {
    match arch {
        Arch::X86_64 => X86_64_ARGUMENTS,
        Arch::Aarch64 => AARCH64_ARGUMENTS,
    }
}

/// The register that holds where a structure is to be returned, if that is no argument (AAPCS64, 6.9).
pub(crate) const fn result_place(arch: Arch) -> Option<Reg> {
    match arch {
        Arch::X86_64 => None,
        Arch::Aarch64 => Some(Reg::general(8)),
    }
}

const fn registers<const N: usize>(first: u8) -> [Reg; N] {
    let mut registers = [Reg::OTHER; N];
    let mut number = 0;
    #[expect(clippy::indexing_slicing, reason = "iterators are not const; the index is below the length")]
    while number < N {
        registers[number] = Reg::general(first + number as u8);
        number += 1;
    }
    registers
}

const X86_64_CLOBBERED: &[Reg] = &[
    Reg::general(0),
    Reg::general(1),
    Reg::general(2),
    Reg::general(6),
    Reg::general(7),
    Reg::general(8),
    Reg::general(9),
    Reg::general(10),
    Reg::general(11),
];

const AARCH64_CLOBBERED: &[Reg] = &registers::<19>(0);

const X86_64_PRESERVED: &[Reg] = &[
    Reg::general(3),
    Reg::general(5),
    Reg::general(12),
    Reg::general(13),
    Reg::general(14),
    Reg::general(15),
];

const AARCH64_PRESERVED: &[Reg] = &registers::<11>(19);

/// The general registers that a callee leaves as they were, except the stack pointer.
pub(crate) const fn preserved(arch: Arch) -> &'static [Reg] {
    match arch {
        Arch::X86_64 => X86_64_PRESERVED,
        Arch::Aarch64 => AARCH64_PRESERVED,
    }
}

/// The registers that hold the exception and its kind where it is caught.
pub(crate) const fn thrown(arch: Arch) -> [Reg; 2] {
    match arch {
        Arch::X86_64 => [Reg::general(0), Reg::general(2)],
        Arch::Aarch64 => [Reg::general(0), Reg::general(1)],
    }
}

/// Go's own convention keeps no register but the stack pointer.
const GO_X86_64_CLOBBERED: &[Reg] = &[
    Reg::general(0),
    Reg::general(1),
    Reg::general(2),
    Reg::general(3),
    Reg::general(5),
    Reg::general(6),
    Reg::general(7),
    Reg::general(8),
    Reg::general(9),
    Reg::general(10),
    Reg::general(11),
    Reg::general(12),
    Reg::general(13),
];

const GO_AARCH64_CLOBBERED: &[Reg] = &registers::<28>(0);

/// The general registers that a call may change.
pub(crate) const fn clobbered(arch: Arch, is_go: bool) -> &'static [Reg] {
    match (arch, is_go) {
        (Arch::X86_64, false) => X86_64_CLOBBERED,
        (Arch::X86_64, true) => GO_X86_64_CLOBBERED,
        (Arch::Aarch64, false) => AARCH64_CLOBBERED,
        (Arch::Aarch64, true) => GO_AARCH64_CLOBBERED,
    }
}
