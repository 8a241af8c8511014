//! BAD_CAS: a compare-and-swap that never finds what it expects.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "failing-compare-and-swap",
    suite: "atomics",
    summary: "compare-and-swap that fails, on a shared 32-bit word",
    initial: 7,
    after: After::Same,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("lock cmpxchg", &[], [], ["mov eax, -1", "lock cmpxchg dword ptr [rdi], edx"]),
    variant!(
        "load, then lock cmpxchg",
        &[],
        [],
        ["mov eax, -1", "cmp dword ptr [rdi], eax", "jne 3f", "lock cmpxchg dword ptr [rdi], edx", "3:"]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "ldaxr/stlxr",
        &[],
        [],
        [
            "mov w5, #-1",
            "3: ldaxr w3, [x0]",
            "cmp w3, w5",
            "b.ne 4f",
            "stlxr w4, w2, [x0]",
            "cbnz w4, 3b",
            "4:"
        ]
    ),
    variant!("casal", &[deburr_cpu::Feature::FEAT_LSE], [], ["mov w3, #-1", "casal w3, w2, [x0]"]),
    variant!(
        "ldr, then casal",
        &[deburr_cpu::Feature::FEAT_LSE],
        [],
        ["mov w3, #-1", "ldr w4, [x0]", "cmp w4, w3", "b.ne 4f", "casal w3, w2, [x0]", "4:"]
    ),
];
