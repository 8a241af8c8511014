//! RW_LOCK_LIKE: one less in a shared word of 32 bits, by compare-and-swap, as long as it is above 0.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "reader-lock",
    suite: "atomics",
    summary: "x to x-1 in a shared 32-bit word while it is positive",
    initial: 0x7fff_ffff,
    after: After::Difference,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "cmpxchg loop",
        &[],
        [],
        [
            "mov eax, dword ptr [rdi]",
            "3: test eax, eax",
            "jle 4f",
            "lea ecx, [rax - 1]",
            "lock cmpxchg dword ptr [rdi], ecx",
            "jne 3b",
            "4:",
        ]
    ),
    variant!("lock xadd", &[], [], ["mov eax, -1", "lock xadd dword ptr [rdi], eax"]),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "ldaxr/stlxr",
        &[],
        [],
        [
            "3: ldaxr w3, [x0]",
            "cmp w3, #0",
            "b.le 4f",
            "sub w5, w3, #1",
            "stlxr w4, w5, [x0]",
            "cbnz w4, 3b",
            "4:",
        ]
    ),
    variant!(
        "casal loop",
        &[deburr_cpu::Feature::FEAT_LSE],
        [],
        [
            "ldr w3, [x0]",
            "3: cmp w3, #0",
            "b.le 4f",
            "sub w5, w3, #1",
            "mov w6, w3",
            "casal w3, w5, [x0]",
            "cmp w3, w6",
            "b.ne 3b",
            "4:",
        ]
    ),
    variant!("ldaddal", &[deburr_cpu::Feature::FEAT_LSE], ["mov w5, #-1"], ["ldaddal w5, w3, [x0]"]),
];
