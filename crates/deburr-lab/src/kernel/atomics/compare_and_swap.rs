//! OK_CAS: a compare-and-swap that always finds what it expects.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "compare-and-swap",
    suite: "atomics",
    summary: "compare-and-swap that succeeds, on a shared 32-bit word",
    initial: 0,
    after: After::Same,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] =
    &[variant!("lock cmpxchg", &[], ["xor ecx, ecx"], ["xor eax, eax", "lock cmpxchg dword ptr [rdi], ecx"])];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "ldaxr/stlxr",
        &[],
        [],
        ["3: ldaxr w3, [x0]", "cbnz w3, 4f", "stlxr w4, wzr, [x0]", "cbnz w4, 3b", "4:"]
    ),
    variant!("casal", &[deburr_cpu::Feature::FEAT_LSE], [], ["mov w3, wzr", "casal w3, wzr, [x0]"]),
    variant!("cas", &[deburr_cpu::Feature::FEAT_LSE], [], ["mov w3, wzr", "cas w3, wzr, [x0]"]),
];
