//! The four numbers from two separate samples: the model of the published verdicts.
//!
//! Runs of arm k are independent N(μ_k, σ_k²) with the prior p(μ, σ) ∝ 1/σ, so that μ_k given its n_k runs is
//! x̄_k + (s_k/√n_k)·t with n_k − 1 degrees of freedom, and a further run is x̄_k + s_k·√(1 + 1/n_k)·t
//! (Gelman et al., Bayesian Data Analysis, 3rd ed., 3.2). The probabilities are integrals over one arm's t of
//! the other arm's tail.
//!
//! The substitution t = √ν·tan φ makes the density cos^(ν−1) φ on a finite range. Swapping the arms swaps
//! *worse* and *better* and turns *next* into 1 − *next*, to the last bit. Runs that share a drifting machine
//! are not independent: where there are pairs, [`super::paired`] is the better model.

use super::probabilities::Probabilities;
use crate::stats::distributions::{quadrature, student};
use crate::stats::error::{Error, at_least};
use crate::stats::moments;
use crate::stats::rope::Rope;
use std::f64::consts::FRAC_PI_2;

/// The runs of one build, summed up. Any unit of which more is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    mean: f64,
    standard_deviation: f64,
    runs: usize,
}

impl Arm {
    /// From the runs.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer than 2 runs, [`Error::NotFinite`], or [`Error::NotPositive`] where the
    /// mean is not positive: the region of equivalence is relative.
    pub fn of(runs: &[f64]) -> Result<Arm, Error> {
        at_least(2, runs)?;
        Arm::new(moments::mean(runs), moments::standard_deviation(runs), runs.len())
    }

    /// From a published mean, sample standard deviation (with n − 1) and number of runs.
    ///
    /// # Errors
    /// As [`Arm::of`]; [`Error::OutOfRange`] for a standard deviation below 0.
    pub fn new(mean: f64, standard_deviation: f64, runs: usize) -> Result<Arm, Error> {
        if runs < 2 {
            return Err(Error::TooFew { needed: 2, got: runs });
        }
        if !mean.is_finite() {
            return Err(Error::NotFinite { index: 0 });
        }
        if mean <= 0.0 {
            return Err(Error::NotPositive { index: 0, value: mean });
        }
        if !standard_deviation.is_finite() || standard_deviation < 0.0 {
            return Err(Error::OutOfRange { name: "the standard deviation", value: standard_deviation });
        }
        Ok(Arm { mean, standard_deviation, runs })
    }

    /// Arithmetic mean of the runs.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Sample standard deviation of the runs.
    pub fn standard_deviation(&self) -> f64 {
        self.standard_deviation
    }

    /// Number of runs, at least 2.
    pub fn runs(&self) -> usize {
        self.runs
    }

    fn nu(&self) -> f64 {
        (self.runs.saturating_sub(1)) as f64
    }

    fn of_the_mean(&self) -> Located {
        let scale = self.standard_deviation / libm::sqrt(self.runs as f64);
        Located { centre: self.mean, scale, nu: self.nu() }
    }

    fn of_a_further_run(&self) -> Located {
        let scale = self.standard_deviation * libm::sqrt(1.0 + 1.0 / self.runs as f64);
        Located { centre: self.mean, scale, nu: self.nu() }
    }
}

/// centre + scale·t with ν degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct Located {
    centre: f64,
    scale: f64,
    nu: f64,
}

/// The four numbers of B against A.
pub fn probabilities(a: &Arm, b: &Arm, rope: Rope) -> Probabilities {
    let worse = exceeds(a.of_the_mean(), b.of_the_mean(), rope.factor());
    let better = exceeds(b.of_the_mean(), a.of_the_mean(), rope.factor());
    Probabilities::new(worse, better, next(a.of_a_further_run(), b.of_a_further_run()))
}

/// P(a < b), in an order that does not depend on which is called a, so that P(b < a) is exactly what P(a < b)
/// leaves. Two arms that are the same constant count as half for each side.
fn next(a: Located, b: Located) -> f64 {
    let order = a.centre.total_cmp(&b.centre).then(a.scale.total_cmp(&b.scale)).then(a.nu.total_cmp(&b.nu));
    match order {
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 1.0 - exceeds(a, b, 1.0),
        std::cmp::Ordering::Greater => exceeds(b, a, 1.0),
    }
    .clamp(0.0, 1.0)
}

/// P(x > factor·y).
fn exceeds(x: Located, y: Located, factor: f64) -> f64 {
    let edge = factor * y.centre;
    match (x.scale > 0.0, y.scale > 0.0) {
        (false, false) => f64::from(x.centre > edge),
        (true, false) => student::survival((edge - x.centre) / x.scale, x.nu),
        (false, true) => student::cdf((x.centre - edge) / (factor * y.scale), y.nu),
        (true, true) => integral(x, y, factor),
    }
}

/// ∫ f_νy(t)·S_νx((factor·(ȳ + e_y·t) − x̄)/e_x) dt.
fn integral(x: Located, y: Located, factor: f64) -> f64 {
    let root = libm::sqrt(y.nu);
    let weight = student::density_factor(y.nu) * root;
    let integrand = |phi: f64| {
        let (sine, cosine) = libm::sincos(phi);
        if cosine <= 0.0 {
            return 0.0;
        }
        let t = root * sine / cosine;
        let density = if y.nu == 1.0 { 1.0 } else { libm::exp((y.nu - 1.0) * libm::log(cosine)) };
        weight * density * student::survival((factor * (y.centre + y.scale * t) - x.centre) / x.scale, x.nu)
    };
    // The density's peak is some units of t wide; the tail's step, where its argument is 0, `steep` of them.
    let step = (x.centre / factor - y.centre) / y.scale;
    let steep = x.scale / (factor * y.scale);
    let mut breaks = vec![-FRAC_PI_2, 0.0, FRAC_PI_2];
    for width in [1.0, 3.0, 8.0, 30.0] {
        for t in [-width, width, step - width * steep, step, step + width * steep] {
            breaks.push(libm::atan(t / root));
        }
    }
    quadrature::integrate(integrand, &breaks, 1e-11)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(mean: f64, deviation: f64, runs: usize) -> Arm {
        Arm::new(mean, deviation, runs).unwrap()
    }

    #[test]
    fn swapping_the_arms_swaps_worse_and_better_to_the_last_bit() {
        let arms = [
            arm(100.0, 1.0, 2),
            arm(101.0, 0.1, 30),
            arm(100.0, 0.0, 5),
            arm(103.0, 7.0, 3),
            arm(101.0, 0.0, 4),
            arm(1e-9, 1e-12, 1000),
        ];
        for a in &arms {
            for b in &arms {
                let (one, other) =
                    (probabilities(a, b, Rope::ONE_PERCENT), probabilities(b, a, Rope::ONE_PERCENT));
                assert_eq!((one.worse, one.better), (other.better, other.worse), "{a:?} {b:?}");
                assert!(one.next == 1.0 - other.next || other.next == 1.0 - one.next, "{a:?} {b:?}");
                assert!((one.worse + one.same + one.better - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_constant_arm_leaves_the_others_tail_and_two_constants_an_indicator() {
        let (constant, noisy) = (arm(100.0, 0.0, 5), arm(102.0, 2.0, 4));
        let found = probabilities(&constant, &noisy, Rope::ONE_PERCENT);
        // e = 1, ν = 3: better is P(102 + t > 101).
        assert!((found.better - student::survival(-1.0, 3.0)).abs() < 1e-15);
        let found = probabilities(&constant, &arm(102.0, 0.0, 2), Rope::ONE_PERCENT);
        assert_eq!((found.worse, found.better, found.next), (0.0, 1.0, 1.0));
        let found = probabilities(&constant, &constant, Rope::ONE_PERCENT);
        assert_eq!((found.worse, found.same, found.better, found.next), (0.0, 1.0, 0.0, 0.5));
    }

    #[test]
    fn a_sum_of_two_cauchys_is_a_cauchy() {
        // n = 2: x − y has centre 3, and scales 1/√2 + 1/√2 add up.
        let found = probabilities(&arm(103.0, 1.0, 2), &arm(100.0, 1.0, 2), Rope::new(0.0).unwrap());
        assert!((found.worse - student::cdf(3.0 / 2f64.sqrt(), 1.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn very_unequal_arms_hide_no_step_from_the_quadrature() {
        // All the mass of b is within a millionth of a's spread.
        let (wide, narrow) = (arm(100.0, 10.0, 4), arm(101.0, 1e-5, 1_000_000));
        let found = probabilities(&wide, &narrow, Rope::ONE_PERCENT);
        let alone = probabilities(&wide, &arm(101.0, 0.0, 2), Rope::ONE_PERCENT);
        assert!((found.worse - alone.worse).abs() < 1e-7 && (found.better - alone.better).abs() < 1e-7);
        let found = probabilities(&narrow, &wide, Rope::ONE_PERCENT);
        assert!((found.better - alone.worse).abs() < 1e-7);
    }

    #[test]
    fn bad_arms_are_refused() {
        assert_eq!(Arm::of(&[1.0]), Err(Error::TooFew { needed: 2, got: 1 }));
        assert_eq!(Arm::of(&[1.0, f64::INFINITY]), Err(Error::NotFinite { index: 1 }));
        assert!(matches!(Arm::of(&[-1.0, -2.0]), Err(Error::NotPositive { .. })));
        assert!(matches!(Arm::new(1.0, -1.0, 2), Err(Error::OutOfRange { .. })));
    }
}
