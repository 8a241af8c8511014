//! The loop alone: what the frame of every variant costs.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "empty",
    suite: "loop",
    summary: "nothing",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[variant!("loop", &[], [], [])];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[variant!("loop", &[], [], [])];
