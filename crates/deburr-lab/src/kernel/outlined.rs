//! An addition by a helper that compilers call (`-moutline-atomics`), compared with the instruction itself.
//!
//! On AArch64 the helper is as libgcc and compiler-rt have it: it loads a flag, and goes one path or the other. Programs for x86-64
//! have no such helpers; there it is the same call of a function with the instruction.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "outlined",
    suite: "calls",
    summary: "add to a 32-bit word of its own, by a called helper and without one",
    initial: 0,
    after: After::Sum,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "called",
        &[],
        ["jmp 4f", ".p2align 6", "5: lock xadd dword ptr [rdi], eax", "ret", "4:"],
        ["mov eax, 1", "call 5b"]
    ),
    variant!("inline", &[], [], ["mov eax, 1", "lock xadd dword ptr [rdi], eax"]),
];

/// A helper with the flag set or not. It is called as `__aarch64_ldadd4_acq_rel` is: the value in `w3`, where the word is in `x0`.
#[cfg(target_arch = "aarch64")]
macro_rules! helper {
    ($name:literal, $needs:expr, $flag:literal) => {
        variant!(
            $name,
            $needs,
            [
                "mov x9, x30",
                "b 4f",
                ".pushsection .rodata",
                "7:",
                $flag,
                ".popsection",
                ".p2align 6",
                "5: adrp x16, 7b",
                "ldrb w16, [x16, :lo12:7b]",
                "cbz w16, 6f",
                "ldaddal w3, w3, [x0]",
                "ret",
                "6: mov w16, w3",
                "3: ldaxr w3, [x0]",
                "add w17, w3, w16",
                "stlxr w15, w17, [x0]",
                "cbnz w15, 3b",
                "ret",
                "4:"
            ],
            ["mov w3, #1", "bl 5b", "mov x30, x9"]
        )
    };
}

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    helper!("helper, without LSE", &[], ".byte 0"),
    helper!("helper, with LSE", &[deburr_cpu::Feature::FEAT_LSE], ".byte 1"),
    variant!(
        "ldaxr/stlxr inline",
        &[],
        [],
        ["3: ldaxr w3, [x0]", "add w4, w3, #1", "stlxr w5, w4, [x0]", "cbnz w5, 3b"]
    ),
    variant!("ldaddal inline", &[deburr_cpu::Feature::FEAT_LSE], ["mov w4, #1"], ["ldaddal w4, w3, [x0]"]),
];
