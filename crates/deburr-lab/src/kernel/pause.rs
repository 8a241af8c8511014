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
const VARIANTS: &[Variant] = &[
    variant!("pause", &[], [], ["pause"]),
    variant!("nop", &[], [], ["nop"]),
    variant!("nothing", &[], [], []),
    variant!(
        "tpause (C0.1), for 128 ticks of the TSC",
        &[deburr_cpu::Feature::WAITPKG],
        ["mov ecx, 1"],
        ["rdtsc", "add eax, 128", "adc edx, 0", "tpause ecx"]
    ),
];

/// `wfe` has an event each time, so that it is what it takes and not what it waits. Without one it waits for another processor, or for
/// the event stream.
#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("isb", &[], [], ["isb"]),
    variant!("yield", &[], [], ["yield"]),
    variant!("nop", &[], [], ["nop"]),
    variant!("nothing", &[], [], []),
    variant!("sb", &[deburr_cpu::Feature::FEAT_SB], [], [".inst 0xd50330ff"]), // sb
    variant!("sevl and wfe", &[], [], ["sevl", "wfe"]),
    variant!(
        "wfet, to the counter's next tick",
        &[deburr_cpu::Feature::FEAT_WFxT],
        [],
        ["mrs x3, cntvct_el0", "add x3, x3, #1", ".inst 0xd5031003"] // wfet x3
    ),
];
