//! Tails: few runs far out that one side has and the other does not, which a typical run hides.
//!
//! In: the runs of both sides. Out: how many of each are far out on the worse side, and by how much the means
//! differ more than typical runs do. Far out is `FAR` standard deviations from the side's median, by the median
//! absolute deviation of both sides (σ = 1.4826 of it in a normal distribution), and at least `LEAST` times the
//! half of the region of equivalence: what is less does not matter to anybody.

use crate::stats::direction::Direction;
use crate::stats::error::Error;
use crate::stats::rope::Rope;

/// Standard deviations from the median: in normal noise one of 10¹⁵ is as far.
const FAR: f64 = 8.0;

/// Half regions of equivalence from the median.
const LEAST: f64 = 5.0;

/// What a typical run hides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// Runs of A and of B that are far out on the worse side.
    pub out: [usize; 2],
    /// Runs of A and of B.
    pub of: [usize; 2],
    /// How many times worse than their side's median the median one of them is.
    pub times: f64,
    /// By how much the mean of B differs from that of A, as a log ratio, positive where B is better.
    pub means: f64,
}

impl Tails {
    /// `None` where the sides have equally many runs far out, or those move the means no further apart than the
    /// region of equivalence is wide.
    ///
    /// # Errors
    /// [`Error`], where a value is no positive number.
    pub fn of(direction: Direction, values: [&[f64]; 2], rope: Rope) -> Result<Option<Tails>, Error> {
        let [a, b] = values;
        if a.is_empty() || b.is_empty() {
            return Ok(None);
        }
        let worse = |values: &[f64]| -> Result<Vec<f64>, Error> {
            let oriented = direction.orient_all(values)?;
            let logs: Vec<f64> = oriented.iter().map(|value| -libm::log(*value)).collect();
            let centre = median(logs.clone());
            Ok(logs.into_iter().map(|log| log - centre).collect())
        };
        let residuals = [worse(a)?, worse(b)?];
        let sizes: Vec<f64> = residuals.iter().flatten().map(|residual| residual.abs()).collect();
        let far = (FAR * 1.4826 * median(sizes)).max(LEAST * rope.half_width());
        let out: Vec<f64> = residuals.iter().flatten().copied().filter(|residual| *residual > far).collect();
        let counts = residuals.each_ref().map(|side| side.iter().filter(|residual| **residual > far).count());
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means = direction.log_ratio(mean(a), mean(b))?;
        let typical = direction.log_ratio(median(a.to_vec()), median(b.to_vec()))?;
        let [of_a, of_b] = counts;
        let matters = of_a != of_b && (means - typical).abs() > rope.half_width();
        let (of, times) = ([a.len(), b.len()], libm::exp(median(out)));
        Ok(matters.then_some(Tails { out: counts, of, times, means }))
    }
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    if values.len() % 2 == 1 { at(middle) } else { (at(middle.wrapping_sub(1)) + at(middle)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    fn runs(count: usize, spread: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| libm::exp(spread * random.normal())).collect()
    }

    #[test]
    fn two_runs_of_forty_that_take_three_times_as_long_are_seen() {
        let a = runs(40, 0.01, 1);
        let mut b = runs(40, 0.01, 2);
        b[7] *= 3.0;
        b[30] *= 3.0;
        let found = Tails::of(Direction::Smaller, [&a, &b], Rope::ONE_PERCENT).unwrap().unwrap();
        assert_eq!((found.out, found.of), ([0, 2], [40, 40]));
        assert!((found.times - 3.0).abs() < 0.1 && (found.means + 0.1f64.ln_1p()).abs() < 0.01, "{found:?}");
        // Of a rate, what is three times as much is no worse; what is a third is.
        assert_eq!(Tails::of(Direction::Larger, [&a, &b], Rope::ONE_PERCENT).unwrap(), None);
        let rates: Vec<f64> = b.iter().map(|time| 1.0 / time).collect();
        let found = Tails::of(Direction::Larger, [&a, &rates], Rope::ONE_PERCENT).unwrap().unwrap();
        assert_eq!(found.out, [0, 2]);
    }

    #[test]
    fn sides_with_the_same_noise_have_no_tails_of_their_own() {
        for spread in [0.001, 0.01, 0.05, 0.3] {
            let seen = (0..500).filter(|seed| {
                let (a, b) = (runs(16, spread, 2 * seed), runs(16, spread, 2 * seed + 1));
                Tails::of(Direction::Smaller, [&a, &b], Rope::ONE_PERCENT).unwrap().is_some()
            });
            assert_eq!(seen.count(), 0, "{spread}");
        }
        // What both have alike is no difference.
        let mut both = runs(20, 0.01, 5);
        both[3] *= 2.0;
        assert_eq!(Tails::of(Direction::Smaller, [&both, &both], Rope::ONE_PERCENT).unwrap(), None);
        assert_eq!(Tails::of(Direction::Smaller, [&[], &[]], Rope::ONE_PERCENT).unwrap(), None);
    }
}
