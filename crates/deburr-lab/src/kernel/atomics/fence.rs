//! FENCE: a full barrier and nothing to order.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "fence",
    suite: "atomics",
    summary: "full memory barrier",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("mfence", &[], [], ["mfence"]),
    variant!("lock or", &[], [], ["lock or dword ptr [rsp - 8], 0"]),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("dmb ish", &[], [], ["dmb ish"]),
    variant!("dmb ishld", &[], [], ["dmb ishld"]),
    variant!("dmb ishst", &[], [], ["dmb ishst"]),
];
