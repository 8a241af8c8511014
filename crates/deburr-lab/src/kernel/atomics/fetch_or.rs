//! FETCH_OR: bits into a shared word of 32 bits, with the old value and without.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "fetch-or",
    suite: "atomics",
    summary: "or into a shared 32-bit word",
    initial: 0,
    after: After::Union,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("lock or (no old value)", &[], [], ["lock or dword ptr [rdi], edx"]),
    variant!(
        "cmpxchg loop",
        &[],
        [],
        [
            "mov eax, dword ptr [rdi]",
            "3: mov ecx, eax",
            "or ecx, edx",
            "lock cmpxchg dword ptr [rdi], ecx",
            "jne 3b",
        ]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "ldaxr/stlxr",
        &[],
        [],
        ["3: ldaxr w3, [x0]", "orr w5, w3, w2", "stlxr w4, w5, [x0]", "cbnz w4, 3b"]
    ),
    variant!("ldsetal", &[deburr_cpu::Feature::FEAT_LSE], [], ["ldsetal w2, w3, [x0]"]),
    variant!("stset (no old value)", &[deburr_cpu::Feature::FEAT_LSE], [], ["stset w2, [x0]"]),
];
