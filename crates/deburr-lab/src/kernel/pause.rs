//! What one pause of a spin loop takes.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "pause",
    suite: "pause",
    summary: "one pause of a spin loop",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[variant!("pause", &[], [], ["pause"]), variant!("nop", &[], [], ["nop"])];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("isb", &[], [], ["isb"]),
    variant!("yield", &[], [], ["yield"]),
    variant!("nop", &[], [], ["nop"]),
    variant!("sb", &[deburr_cpu::Feature::FEAT_SB], [], [".inst 0xd50330ff"]), // sb
];
