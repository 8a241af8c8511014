//! LOAD: a shared word of 32 bits.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "load",
    suite: "atomics",
    summary: "load of a shared 32-bit word",
    initial: 7,
    after: After::Same,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("mov", &[], [], ["mov eax, dword ptr [rdi]"]),
    variant!("lock xadd of 0", &[], [], ["xor eax, eax", "lock xadd dword ptr [rdi], eax"]),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("ldar", &[], [], ["ldar w3, [x0]"]),
    variant!("ldr", &[], [], ["ldr w3, [x0]"]),
    variant!("ldadd of 0", &[deburr_cpu::Feature::FEAT_LSE], [], ["ldadd wzr, w3, [x0]"]),
];
