//! EXCHANGE: a value into a shared word of 32 bits, its old value out.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "exchange",
    suite: "atomics",
    summary: "exchange of a shared 32-bit word",
    initial: 0,
    after: After::OneValue,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("xchg", &[], [], ["mov eax, edx", "xchg dword ptr [rdi], eax"]),
    variant!(
        "cmpxchg loop",
        &[],
        [],
        ["mov eax, dword ptr [rdi]", "3: lock cmpxchg dword ptr [rdi], edx", "jne 3b"]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("ldaxr/stlxr", &[], [], ["3: ldaxr w3, [x0]", "stlxr w4, w2, [x0]", "cbnz w4, 3b"]),
    variant!("ldxr/stxr", &[], [], ["3: ldxr w3, [x0]", "stxr w4, w2, [x0]", "cbnz w4, 3b"]),
    variant!("swpal", &[deburr_cpu::Feature::FEAT_LSE], [], ["swpal w2, w3, [x0]"]),
    variant!("swp", &[deburr_cpu::Feature::FEAT_LSE], [], ["swp w2, w3, [x0]"]),
];
