//! The four numbers from pairs: the default, since runs are interleaved.
//!
//! In: dᵢ, one log ratio a pair, in the order of the pairs, positive where B is better
//! ([`crate::stats::Direction::log_ratios`]). θ given d is d̄ + (s/√n_e)·t with n_e − 1 degrees of freedom; a
//! further pair is d̄ + s·√(1 + 1/n_e)·t.
//!
//! What drifts slowly takes hold of both runs of a pair and cancels. What is left of it shows as correlation
//! between neighbouring pairs, and makes n pairs worth only n_e = n(1 − r)/(1 + r): the effective size of a
//! first-order autoregressive sequence, with r = lag-1 autocorrelation + 1/n (its bias), between 0 and 0.95,
//! and n_e from 3 to n.

use super::probabilities::Probabilities;
use crate::stats::distributions::student;
use crate::stats::error::{Error, at_least};
use crate::stats::moments;
use crate::stats::rope::Rope;

/// θ, the log ratio of B to A, given the pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Posterior {
    pairs: usize,
    effective: f64,
    mean: f64,
    standard_deviation: f64,
    above_zero: f64,
}

/// n_e of a sequence: how many independent values it is worth. From 3 (or n, if that is less) to n.
pub fn effective_pairs(differences: &[f64]) -> f64 {
    let n = differences.len() as f64;
    if differences.is_empty() {
        return 0.0;
    }
    let r = (moments::autocorrelation(differences) + 1.0 / n).clamp(0.0, 0.95);
    if moments::all_equal(differences) {
        return n;
    }
    (n * (1.0 - r) / (1.0 + r)).max(3.0).min(n)
}

/// n_e of several sequences one after the other, so long each: what each is worth adds up. Between them there
/// are no neighbours.
pub fn effective_pairs_in(blocks: &[usize], differences: &[f64]) -> f64 {
    let (mut left, mut effective) = (differences, 0.0);
    for &block in blocks {
        let (block, rest) = left.split_at(block.min(left.len()));
        effective += effective_pairs(block);
        left = rest;
    }
    effective + effective_pairs(left)
}

impl Posterior {
    /// From log ratios, in the order of the pairs.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer than 2, [`Error::NotFinite`].
    pub fn of(differences: &[f64]) -> Result<Posterior, Error> {
        Posterior::with_effective(differences, effective_pairs(differences))
    }

    /// From those of several sequences, as [`effective_pairs_in`] has them.
    ///
    /// # Errors
    /// As [`Posterior::of`].
    pub fn of_blocks(blocks: &[usize], differences: &[f64]) -> Result<Posterior, Error> {
        Posterior::with_effective(differences, effective_pairs_in(blocks, differences))
    }

    /// From log ratios whose order means nothing: n_e = n.
    ///
    /// # Errors
    /// As [`Posterior::of`].
    pub fn of_independent(differences: &[f64]) -> Result<Posterior, Error> {
        Posterior::with_effective(differences, differences.len() as f64)
    }

    fn with_effective(differences: &[f64], effective: f64) -> Result<Posterior, Error> {
        at_least(2, differences)?;
        Ok(Posterior {
            pairs: differences.len(),
            effective,
            mean: moments::mean(differences),
            standard_deviation: moments::standard_deviation(differences),
            above_zero: share_above_zero(differences),
        })
    }

    /// How many pairs.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// n_e: how many independent pairs they are worth.
    pub fn effective_pairs(&self) -> f64 {
        self.effective
    }

    /// d̄, the mean log ratio.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// s, the standard deviation of the log ratios.
    pub fn standard_deviation(&self) -> f64 {
        self.standard_deviation
    }

    /// s/√n_e.
    pub fn standard_error(&self) -> f64 {
        self.standard_deviation / libm::sqrt(self.effective)
    }

    fn nu(&self) -> f64 {
        self.effective - 1.0
    }

    /// P(θ > `edge`). Without any spread an indicator.
    pub fn above(&self, edge: f64) -> f64 {
        let error = self.standard_error();
        if error > 0.0 {
            student::survival((edge - self.mean) / error, self.nu())
        } else {
            f64::from(self.mean > edge)
        }
    }

    /// P(θ < `edge`). Without any spread an indicator.
    pub fn below(&self, edge: f64) -> f64 {
        let error = self.standard_error();
        if error > 0.0 {
            student::cdf((edge - self.mean) / error, self.nu())
        } else {
            f64::from(self.mean < edge)
        }
    }

    /// The density of θ. Without any spread there is none: 0.
    pub fn density(&self, theta: f64) -> f64 {
        let error = self.standard_error();
        if error > 0.0 { student::density((theta - self.mean) / error, self.nu()) / error } else { 0.0 }
    }

    /// The four numbers.
    pub fn probabilities(&self, rope: Rope) -> Probabilities {
        let edge = rope.half_width();
        let spread = self.standard_deviation * libm::sqrt(1.0 + 1.0 / self.effective);
        // Without any spread the next pair is as the last ones: half to each side where they were equal.
        let next = if spread > 0.0 { student::cdf(self.mean / spread, self.nu()) } else { self.above_zero };
        Probabilities::new(self.below(-edge), self.above(edge), next)
    }

    /// The central interval of θ that holds `level` (0.95) of the probability: log ratios, lower end first.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 0 < level < 1.
    pub fn interval(&self, level: f64) -> Result<(f64, f64), Error> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::OutOfRange { name: "the level of an interval", value: level });
        }
        let error = self.standard_error();
        let reach =
            if error > 0.0 { -student::quantile((1.0 - level) / 2.0, self.nu()) * error } else { 0.0 };
        Ok((self.mean - reach, self.mean + reach))
    }
}

/// The share of values above 0, those at 0 counted half.
pub(crate) fn share_above_zero(differences: &[f64]) -> f64 {
    let halves: usize =
        differences.iter().map(|&value| if value > 0.0 { 2 } else { usize::from(value == 0.0) }).sum();
    halves as f64 / (2 * differences.len().max(1)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_the_signs_swaps_worse_and_better() {
        let d = [0.01, -0.02, 0.03, 0.015, 0.002];
        let turned: Vec<f64> = d.iter().map(|d| -d).collect();
        let one = Posterior::of(&d).unwrap().probabilities(Rope::ONE_PERCENT);
        let other = Posterior::of(&turned).unwrap().probabilities(Rope::ONE_PERCENT);
        assert_eq!((one.worse, one.better), (other.better, other.worse));
        assert!((one.next + other.next - 1.0).abs() < 1e-15);
    }

    #[test]
    fn correlated_pairs_are_worth_fewer() {
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        let steps: Vec<f64> = (0..20).map(|i| f64::from(i / 5)).collect();
        assert_eq!(effective_pairs(&alternating), 20.0);
        assert!(effective_pairs(&steps) < 6.0);
        assert_eq!(effective_pairs(&[1.0, 2.0]), 2.0);
    }

    #[test]
    fn equal_pairs_are_an_indicator() {
        let found = Posterior::of(&[0.02; 5]).unwrap();
        let numbers = found.probabilities(Rope::ONE_PERCENT);
        assert_eq!((numbers.worse, numbers.same, numbers.better, numbers.next), (0.0, 0.0, 1.0, 1.0));
        assert_eq!(found.interval(0.95), Ok((0.02, 0.02)));
        let numbers = Posterior::of(&[0.0; 5]).unwrap().probabilities(Rope::ONE_PERCENT);
        assert_eq!((numbers.same, numbers.next), (1.0, 0.5));
    }

    #[test]
    fn too_little_and_no_numbers_are_refused() {
        assert_eq!(Posterior::of(&[]), Err(Error::TooFew { needed: 2, got: 0 }));
        assert_eq!(Posterior::of(&[0.0, f64::NAN]), Err(Error::NotFinite { index: 1 }));
        assert!(Posterior::of(&[0.0, 1.0]).unwrap().interval(1.0).is_err());
    }
}
