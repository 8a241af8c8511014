//! What the procedure call standards and the C library say of registers and of functions by name.

use crate::image::linkage::Export;
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

/// Whether a host enters a module by this name: Python's, Node's or Java's. What else such a module exports is not for
/// others.
pub(super) fn is_module_entry(name: &str) -> bool {
    const PREFIXES: &[&str] =
        &["PyInit_", "PyInitU_", "napi_register_module_v", "node_register_module_v", "Java_", "JNI_On"];
    PREFIXES.iter().any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
}

/// Whether a function is exported without being meant for others: an inline function or a template's instance of C++,
/// which every unit that uses it has and the linker merges, or one in a version that says so.
pub(super) fn is_incidental(export: &Export<'_>) -> bool {
    let is_private = |version: &str| version.split('_').any(|word| matches!(word, "PRIVATE" | "INTERNAL"));
    export.is_weak && export.name.starts_with("_Z") || export.version.is_some_and(is_private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Svma;

    #[test]
    fn modules_are_entered_by_fixed_names() {
        let names =
            ["PyInit__multiarray_umath", "PyInitU_x", "napi_register_module_v1", "node_register_module_v108"];
        assert!(names.into_iter().all(is_module_entry));
        assert!(["JNI_OnLoad", "Java_org_sqlite_core_NativeDB_open"].into_iter().all(is_module_entry));
        let others = [
            "PyInit_",
            "PyInitialize",
            "Py_Initialize",
            "JNI_CreateJavaVM",
            "Javascript",
            "napi_create_object",
        ];
        assert!(!others.into_iter().any(is_module_entry));
    }

    #[test]
    fn an_inline_function_is_exported_by_accident() {
        let export = |name, is_weak, version| Export { at: Svma(0), name, is_weak, version };
        assert!(is_incidental(&export("_ZN2np10qsort_simdIfEEvPT_", true, None)));
        assert!(is_incidental(&export("_nettle_aes128_encrypt_aesni", false, Some("NETTLE_INTERNAL_8_6"))));
        assert!(is_incidental(&export("__libc_memset", false, Some("GLIBC_PRIVATE"))));
        assert!(!is_incidental(&export("_ZN5Botan3AES7encryptEv", false, None)));
        assert!(!is_incidental(&export("strdup", true, Some("GLIBC_2.2.5"))));
        assert!(!is_incidental(&export("f", false, Some("INTERNALS_1"))));
    }
}
