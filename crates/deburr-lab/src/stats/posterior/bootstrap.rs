//! The Bayesian bootstrap of the pairs: what the data say without a normal distribution.
//!
//! Each draw weights the dᵢ by a Dirichlet(1, …, 1) vector and takes the weighted mean (Rubin, The Bayesian
//! bootstrap, Annals of Statistics 9 (1981)). It complements the t posterior: with five pairs it is
//! over-confident. Where the two differ by more than [`DISAGREEMENT`], tails matter.

use super::paired::share_above_zero;
use super::probabilities::Probabilities;
use crate::stats::distributions::random::Random;
use crate::stats::error::{Error, at_least};
use crate::stats::rope::Rope;

/// Draws by default: a probability then has a standard error of at most half a point.
pub const DRAWS: usize = 10_000;

/// A difference between two probabilities that is worth a warning: 5 points.
pub const DISAGREEMENT: f64 = 0.05;

/// The four numbers from `draws` draws of the stream that belongs to `seed`. `next` is the expected weight of
/// the pairs in which B was ahead, and needs no draw.
///
/// # Errors
/// [`Error::TooFew`] with fewer than 2 pairs or no draw, [`Error::NotFinite`].
pub fn probabilities(
    differences: &[f64],
    rope: Rope,
    draws: usize,
    seed: u64,
) -> Result<Probabilities, Error> {
    at_least(2, differences)?;
    if draws == 0 {
        return Err(Error::TooFew { needed: 1, got: 0 });
    }
    let edge = rope.half_width();
    let mut random = Random::new(seed);
    let (mut worse, mut better) = (0u64, 0u64);
    for _ in 0..draws {
        // Exponentials over their sum are Dirichlet(1, …, 1).
        let (mut sum, mut total) = (0.0, 0.0);
        for difference in differences {
            let weight = random.exponential();
            sum += weight * difference;
            total += weight;
        }
        let mean = sum / total;
        worse += u64::from(mean < -edge);
        better += u64::from(mean > edge);
    }
    let share = |count: u64| count as f64 / draws as f64;
    Ok(Probabilities::new(share(worse), share(better), share_above_zero(differences)))
}

/// The largest difference between worse, same and better of two sets of numbers, as a fraction.
pub fn disagreement(one: &Probabilities, other: &Probabilities) -> f64 {
    let differences = [one.worse - other.worse, one.same - other.same, one.better - other.better];
    differences.iter().map(|difference| difference.abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::paired::Posterior;

    #[test]
    fn many_ordinary_pairs_agree_with_the_t_posterior() {
        let mut random = Random::new(11);
        let d: Vec<f64> = (0..60).map(|_| 0.012 + 0.02 * random.normal()).collect();
        let boot = probabilities(&d, Rope::ONE_PERCENT, DRAWS, 1).unwrap();
        let t = Posterior::of_independent(&d).unwrap().probabilities(Rope::ONE_PERCENT);
        assert!(disagreement(&boot, &t) < 0.03, "{boot:?} {t:?}");
    }

    #[test]
    fn one_outlier_among_few_pairs_makes_them_disagree() {
        let d = [0.0, 0.001, -0.001, 0.0, 0.0005, 0.2];
        let boot = probabilities(&d, Rope::ONE_PERCENT, DRAWS, 1).unwrap();
        let t = Posterior::of_independent(&d).unwrap().probabilities(Rope::ONE_PERCENT);
        assert!(disagreement(&boot, &t) > DISAGREEMENT, "{boot:?} {t:?}");
    }

    #[test]
    fn a_seed_gives_the_same_numbers_again() {
        let d = [0.01, 0.02, -0.01, 0.03];
        let draw = |seed| probabilities(&d, Rope::ONE_PERCENT, 500, seed).unwrap();
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
        assert_eq!(draw(5).next, 0.75);
    }
}
