//! A conversion into a part of a register, and a multiplication: whether the next iteration waits for this one's result, which stays in
//! the other part.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "conversion",
    suite: "dependencies",
    summary: "an integer as a floating-point number, multiplied",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "xorps, cvtsi2sd",
        &[],
        ["xorps xmm1, xmm1"],
        ["xorps xmm0, xmm0", "cvtsi2sd xmm0, rsi", "mulsd xmm0, xmm1"]
    ),
    variant!(
        "cvtsi2sd",
        &[],
        ["xorps xmm0, xmm0", "xorps xmm1, xmm1"],
        ["cvtsi2sd xmm0, rsi", "mulsd xmm0, xmm1"]
    ),
    // AMD's CPUs know which registers have zeros there, and wait for the others only.
    variant!(
        "cvtsi2sd, upper half not zero",
        &[],
        ["pcmpeqd xmm0, xmm0", "xorps xmm1, xmm1"],
        ["cvtsi2sd xmm0, rsi", "mulsd xmm0, xmm1"]
    ),
];

/// `scvtf` overwrites the whole register.
#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] =
    &[variant!("scvtf", &[], ["movi v1.2d, #0"], ["scvtf d0, x1", "fmul d0, d0, d1"])];
