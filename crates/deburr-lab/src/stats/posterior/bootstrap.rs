//! The Bayesian bootstrap of the pairs: what the data say without a normal distribution.
//!
//! Each draw weights the dᵢ by a Dirichlet(1, …, 1) vector and takes the weighted mean (Rubin, The Bayesian
//! bootstrap, Annals of Statistics 9 (1981)). It complements the t posterior: with five pairs it is
//! over-confident. Where the two differ by more than [`DISAGREEMENT`], tails matter.
//!
//! Of more than [`MOST`] pairs, only the weights of those that are farthest from the mean are drawn. The sum
//! of all others has hardly any skewness, and is drawn from the normal distribution with its mean and
//! variance: that moves a probability by less than the draws do.

use super::paired::share_above_zero;
use super::probabilities::Probabilities;
use crate::stats::distributions::random::Random;
use crate::stats::error::{Error, at_least};
use crate::stats::moments;
use crate::stats::rope::Rope;

/// Draws by default: a probability then has a standard error of at most half a point.
pub const DRAWS: usize = 10_000;

/// Up to so many pairs each has a weight that is drawn.
pub const MOST: usize = 2000;

/// The pairs whose weights are drawn where there are more.
const FARTHEST: usize = 1000;

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
    let (drawn, rest) = parts(differences);
    for _ in 0..draws {
        // Exponentials over their sum are Dirichlet(1, …, 1).
        let (mut sum, mut total) = (0.0, 0.0);
        for difference in &drawn {
            let weight = random.exponential();
            sum += weight * difference;
            total += weight;
        }
        if let Some(rest) = &rest {
            let (of_rest, weight) = rest.draw(&mut random);
            sum += of_rest;
            total += weight;
        }
        let mean = sum / total;
        worse += u64::from(mean < -edge);
        better += u64::from(mean > edge);
    }
    let share = |count: u64| count as f64 / draws as f64;
    Ok(Probabilities::new(share(worse), share(better), share_above_zero(differences)))
}

/// Many pairs that are near each other, by their moments.
struct Rest {
    count: f64,
    mean: f64,
    /// The mean of their squared distances from their mean.
    variance: f64,
}

impl Rest {
    /// The sum of their weighted values, and of their weights. With exponential weights w, Σw has mean and
    /// variance n, and Σw(d − mean) has mean 0 and variance n·variance, without correlation between the two.
    fn draw(&self, random: &mut Random) -> (f64, f64) {
        let weight = self.count + libm::sqrt(self.count) * random.normal();
        let off = libm::sqrt(self.count * self.variance) * random.normal();
        (self.mean * weight + off, weight)
    }
}

/// The values whose weights are drawn, and the others.
fn parts(differences: &[f64]) -> (Vec<f64>, Option<Rest>) {
    let mut values = differences.to_vec();
    if values.len() <= MOST {
        return (values, None);
    }
    let center = moments::mean(&values);
    let farther = |one: &f64, other: &f64| (other - center).abs().total_cmp(&(one - center).abs());
    values.select_nth_unstable_by(FARTHEST, farther);
    let near = values.split_off(FARTHEST);
    let (count, mean) = (near.len() as f64, moments::mean(&near));
    let variance = near.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (values, Some(Rest { count, mean, variance }))
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
    fn many_pairs_of_which_few_are_drawn_have_the_numbers_of_all() {
        let mut random = Random::new(13);
        let rope = Rope::ONE_PERCENT;
        // Of ordinary tails, and of tails so heavy that one pair weighs as much as all others.
        for power in [1.0, 3.0] {
            let d: Vec<f64> = (0..MOST + 500)
                .map(|_| 0.0098 + 0.01 * random.normal() * random.exponential().powf(power))
                .collect();
            let found = probabilities(&d, rope, DRAWS, 1).unwrap();
            let (mut worse, mut better) = (0, 0);
            for _ in 0..DRAWS {
                let weights: Vec<f64> = d.iter().map(|_| random.exponential()).collect();
                let total: f64 = weights.iter().sum();
                let mean = d.iter().zip(&weights).map(|(d, weight)| d * weight).sum::<f64>() / total;
                worse += u32::from(mean < -rope.half_width());
                better += u32::from(mean > rope.half_width());
            }
            let [worse, better] = [worse, better].map(|count| f64::from(count) / DRAWS as f64);
            assert!(
                (found.worse - worse).abs() < 0.02 && (found.better - better).abs() < 0.02,
                "{found:?} {better}"
            );
            assert!(better > 0.01 && better < 0.99, "{better}");
        }
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
