//! STORE: a value to a shared word of 32 bits, with sequential consistency and without.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "store",
    suite: "atomics",
    summary: "store to a shared 32-bit word",
    initial: 0,
    after: After::OneValue,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("xchg", &[], [], ["mov eax, edx", "xchg dword ptr [rdi], eax"]),
    variant!("mov and mfence", &[], [], ["mov dword ptr [rdi], edx", "mfence"]),
    variant!("mov and lock or", &[], [], ["mov dword ptr [rdi], edx", "lock or dword ptr [rsp - 8], 0"]),
    variant!("mov (release)", &[], [], ["mov dword ptr [rdi], edx"]),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("stlr", &[], [], ["stlr w2, [x0]"]),
    variant!("str and dmb", &[], [], ["str w2, [x0]", "dmb ish"]),
    variant!("str (relaxed)", &[], [], ["str w2, [x0]"]),
];
