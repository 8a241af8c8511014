//! The standard normal distribution: density, tails and quantiles.
//!
//! In and out: z and probabilities. Tails keep their relative accuracy down to the smallest numbers. `erfc`
//! is libm's.

use std::f64::consts::{PI, SQRT_2};

/// Density at `z`.
pub fn density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * PI)
}

/// P(Z ≤ z).
pub fn cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// P(Z > z).
pub fn survival(z: f64) -> f64 {
    cdf(-z)
}

/// The z with P(Z ≤ z) = `p`; ∓∞ at 0 and 1, NaN outside.
///
/// Acklam's rational approximation (relative error 1.2e-9), then two of Halley's steps. For an upper tail
/// hand in the tail and turn the sign: 1 − p has no digits left.
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    let mut z = approximate(p);
    for _ in 0..2 {
        let slope = density(z);
        if slope > 0.0 {
            let u = (cdf(z) - p) / slope;
            z -= u / (1.0 + z * u / 2.0);
        }
    }
    z
}

/// For 0 < p ≤ ½.
fn approximate(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p < 0.02425 {
        let q = libm::sqrt(-2.0 * libm::log(p));
        polynomial(&C, q) / polynomial(&D, q)
    } else {
        let q = p - 0.5;
        q * polynomial(&A, q * q) / polynomial(&B, q * q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_distribution_far_into_the_tail() {
        for p in [1e-300, 1e-100, 1e-12, 0.001, 0.025, 0.3, 0.5] {
            assert!((cdf(quantile(p)) / p - 1.0).abs() < 1e-12, "{p}");
        }
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert_eq!(quantile(0.5), 0.0);
        assert!(quantile(f64::NAN).is_nan() && quantile(1.5).is_nan());
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
