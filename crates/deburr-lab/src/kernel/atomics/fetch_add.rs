//! FETCH_ADD: one more in a shared word of 32 bits, with the old value and without.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "fetch-add",
    suite: "atomics",
    summary: "add to a shared 32-bit word",
    initial: 0,
    after: After::Sum,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("lock xadd", &[], [], ["mov eax, 1", "lock xadd dword ptr [rdi], eax"]),
    variant!("lock add (no old value)", &[], [], ["lock add dword ptr [rdi], 1"]),
    variant!(
        "cmpxchg loop",
        &[],
        [],
        ["mov eax, dword ptr [rdi]", "3: lea ecx, [rax + 1]", "lock cmpxchg dword ptr [rdi], ecx", "jne 3b",]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "ldaxr/stlxr",
        &[],
        [],
        ["3: ldaxr w3, [x0]", "add w5, w3, #1", "stlxr w4, w5, [x0]", "cbnz w4, 3b"]
    ),
    variant!("ldaddal", &[deburr_cpu::Feature::FEAT_LSE], ["mov w5, #1"], ["ldaddal w5, w3, [x0]"]),
    variant!("ldadd", &[deburr_cpu::Feature::FEAT_LSE], ["mov w5, #1"], ["ldadd w5, w3, [x0]"]),
    variant!("stadd (no old value)", &[deburr_cpu::Feature::FEAT_LSE], ["mov w5, #1"], ["stadd w5, [x0]"]),
    variant!(
        "prfm and stadd",
        &[deburr_cpu::Feature::FEAT_LSE],
        ["mov w5, #1"],
        ["prfm pstl1keep, [x0]", "stadd w5, [x0]"]
    ),
];
