//! What the procedure call standards and the C library say of registers and of functions by name.

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
pub(super) const fn arguments(arch: Arch) -> &'static [Reg] {
    match arch {
        Arch::X86_64 => X86_64_ARGUMENTS,
        Arch::Aarch64 => AARCH64_ARGUMENTS,
    }
}

const fn registers<const N: usize>(first: u8) -> [Reg; N] {
    let mut registers = [Reg::OTHER; N];
    let mut number = 0;
    #[allow(clippy::indexing_slicing, reason = "iterators are not const; the index is below the length")]
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

/// The general registers that a callee leaves as they were, but for the stack pointer.
pub(super) const fn preserved(arch: Arch) -> &'static [Reg] {
    match arch {
        Arch::X86_64 => X86_64_PRESERVED,
        Arch::Aarch64 => AARCH64_PRESERVED,
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
pub(super) const fn clobbered(arch: Arch, is_go: bool) -> &'static [Reg] {
    match (arch, is_go) {
        (Arch::X86_64, false) => X86_64_CLOBBERED,
        (Arch::X86_64, true) => GO_X86_64_CLOBBERED,
        (Arch::Aarch64, false) => AARCH64_CLOBBERED,
        (Arch::Aarch64, true) => GO_AARCH64_CLOBBERED,
    }
}

/// Whether a function of this name never comes back.
pub(super) fn does_not_return(name: &str) -> bool {
    matches!(
        name,
        "abort"
            | "exit"
            | "_exit"
            | "_Exit"
            | "quick_exit"
            | "__stack_chk_fail"
            | "__assert_fail"
            | "__assert"
            | "__fortify_fail"
            | "__chk_fail"
            | "__libc_fatal"
            | "err"
            | "errx"
            | "longjmp"
            | "siglongjmp"
            | "__longjmp_chk"
            | "__cxa_throw"
            | "__cxa_rethrow"
            | "__cxa_bad_cast"
            | "_Unwind_Resume"
            | "_ZSt9terminatev"
            | "_ZSt17__throw_bad_allocv"
            | "_ZSt20__throw_length_errorPKc"
            | "_ZSt20__throw_out_of_rangePKc"
            | "_ZSt24__throw_out_of_range_fmtPKcz"
            | "pthread_exit"
            | "thrd_exit"
            | "__builtin_unreachable"
            | "OPENSSL_die"
    )
}

/// Whether a function of this name calls a function that it is given.
pub(super) fn calls_back(name: &str) -> bool {
    matches!(
        name,
        "__libc_start_main"
            | "pthread_create"
            | "thrd_create"
            | "pthread_once"
            | "call_once"
            | "signal"
            | "bsd_signal"
            | "sigset"
            | "atexit"
            | "at_quick_exit"
            | "__cxa_atexit"
            | "__cxa_thread_atexit"
            | "on_exit"
            | "pthread_atfork"
            | "qsort"
            | "qsort_r"
            | "bsearch"
            | "lfind"
            | "makecontext"
            | "dl_iterate_phdr"
            | "g_thread_new"
    )
}
