//! A spin lock around one addition and a delay as long as wanted.

#[cfg(target_arch = "aarch64")]
use super::spin::{exchanged, exclusive};
use super::spin::{locked, locks};
use crate::kernel::model::{After, Kernel};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "lock",
    suite: "locks",
    summary: "spin lock taken, one added to a word, and the lock released",
    bits: 32,
    initial: 0,
    after: After::Sum,
    handovers: true,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[crate::kernel::Variant] = locks!(["add dword ptr [rdi], 1"]);

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[crate::kernel::Variant] = locks!(["ldr w6, [x0]", "add w6, w6, #1", "str w6, [x0]"]);
