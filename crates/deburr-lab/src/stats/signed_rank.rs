//! Wilcoxon's signed-rank test of a location, exact.
//!
//! If B is A times a constant, the log ratios are symmetric about θ whatever the noise looks like, and given the sizes of
//! dᵢ − edge their signs are fair coins: the distribution of the sum of positive ranks is then known exactly. It is counted here
//! for the very ranks at hand, so that ties need no correction. Zeros take part in the ranking and then drop out (Pratt, Remarks
//! on zeros and ties in the Wilcoxon signed rank procedures, JASA 54 (1959)).

use super::error::at_least;
use super::ranks::midranks;
use super::{Error, moments, normal};

/// Beyond this many pairs the normal distribution stands in, with continuity correction: p is then right to 1e-3.
const EXACT: usize = 300;

/// One-sided p values of both sides of one edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// W⁺: the sum of the ranks of the values above the edge.
    pub statistic: f64,
    /// P(W⁺ ≥ observed) if the centre were the edge: small says that the centre lies above.
    pub above: f64,
    /// P(W⁺ ≤ observed): small says that the centre lies below.
    pub below: f64,
}

/// Tests the centre of `differences` against `edge`, both on the scale of log ratios.
///
/// # Errors
/// [`Error::TooFew`] of nothing, [`Error::NotFinite`].
pub fn test(differences: &[f64], edge: f64) -> Result<SignedRank, Error> {
    at_least(1, differences)?;
    let shifted: Vec<f64> = differences.iter().map(|difference| difference - edge).collect();
    let sizes: Vec<f64> = shifted.iter().map(|value| value.abs()).collect();
    let ranks = midranks(&sizes);
    let signed = || shifted.iter().zip(&ranks).filter(|(value, _)| **value != 0.0);
    let used: Vec<usize> = signed().map(|(_, rank)| rank.doubled).collect();
    let observed: usize = signed().filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank.doubled).sum();
    let statistic = observed as f64 / 2.0;
    if used.is_empty() {
        return Ok(SignedRank { statistic, above: 1.0, below: 1.0 });
    }
    let (above, below) =
        if used.len() <= EXACT { exact(&used, observed) } else { approximate(&used, observed) };
    Ok(SignedRank { statistic, above: above.min(1.0), below: below.min(1.0) })
}

/// (P(sum ≥ observed), P(sum ≤ observed)) where each rank counts with probability ½.
fn exact(ranks: &[usize], observed: usize) -> (f64, f64) {
    let chances = distribution(ranks);
    (chances.iter().skip(observed).sum(), chances.iter().take(observed + 1).sum())
}

/// The probability of each sum of ranks where each counts with probability ½. Terms are only ever added, so that the smallest
/// tails keep all their digits.
fn distribution(ranks: &[usize]) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut chances = vec![0.0; most + 1];
    if let Some(first) = chances.first_mut() {
        *first = 1.0;
    }
    let mut next = chances.clone();
    let mut reached = 0;
    for &rank in ranks {
        let (fallen, risen) = next.split_at_mut(rank.min(most + 1));
        for (new, old) in fallen.iter_mut().zip(&chances) {
            *new = 0.5 * old;
        }
        let until = reached + 1;
        for ((new, old), shifted) in risen.iter_mut().zip(chances.iter().skip(rank)).zip(&chances).take(until)
        {
            *new = 0.5 * (old + shifted);
        }
        reached += rank;
        std::mem::swap(&mut chances, &mut next);
    }
    chances
}

fn approximate(ranks: &[usize], observed: usize) -> (f64, f64) {
    // On doubled ranks: mean Σr/2, variance Σr²/4; neighbouring sums lie 2 apart without ties, 1 with.
    let total: f64 = ranks.iter().map(|&rank| rank as f64).sum();
    let deviation = libm::sqrt(ranks.iter().map(|&rank| (rank as f64) * (rank as f64)).sum::<f64>()) / 2.0;
    let continuity = if ranks.iter().all(|rank| rank % 2 == 0) { 1.0 } else { 0.5 };
    let centred = observed as f64 - total / 2.0;
    (normal::survival((centred - continuity) / deviation), normal::cdf((centred + continuity) / deviation))
}

/// Where the centre lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Location {
    /// Hodges and Lehmann's estimate: the median of the means of all pairs of values, each with itself too.
    pub estimate: f64,
    /// Lower end of the interval of the centres that the test does not reject.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The centre of `differences` with the interval that holds it with a probability of at least `level` (0.95). Where neighbours are
/// alike, `effective` independent values widen it. `None` where the values are too few for such an interval, or more than 2000,
/// of which there would be too many means (Hollander & Wolfe, Nonparametric statistical methods, 3.2 and 3.3).
///
/// # Errors
/// [`Error::TooFew`] of nothing, [`Error::NotFinite`], [`Error::OutOfRange`] unless 0 < level < 1.
pub fn location(differences: &[f64], effective: f64, level: f64) -> Result<Option<Location>, Error> {
    at_least(1, differences)?;
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::OutOfRange { name: "the level of an interval", value: level });
    }
    let n = differences.len();
    if n > 2000 {
        return Ok(None);
    }
    let z = normal::quantile((1.0 - level) / 2.0) * libm::sqrt((n as f64 / effective).max(1.0));
    let tail = normal::cdf(z);
    // How many means to leave out at each end: as many as W⁺ may be with this probability.
    let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
    let out = if n <= EXACT {
        let mut sum = 0.0;
        let mut within = |chance: &f64| {
            sum += chance;
            sum <= tail
        };
        distribution(&ranks).iter().step_by(2).take_while(|chance| within(chance)).count()
    } else {
        (0..n * n).take_while(|w| approximate(&ranks, 2 * w).1 <= tail).count()
    };
    let Some(out) = out.checked_sub(1) else { return Ok(None) };
    let mut means = Vec::with_capacity(n * (n + 1) / 2);
    for (index, one) in differences.iter().enumerate() {
        means.extend(differences.iter().skip(index).map(|other| one / 2.0 + other / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let estimate = moments::median(&means);
    let ends = means.get(out).zip(means.iter().rev().nth(out));
    Ok(ends.map(|(low, high)| Location { estimate, low: *low, high: *high }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn ten_pairs_on_one_side_have_the_smallest_p_there_is() {
        let d: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = test(&d, 0.0).unwrap();
        assert_eq!((found.statistic, found.above, found.below), (55.0, 1.0 / 1024.0, 1.0));
    }

    #[test]
    fn tails_are_those_of_the_published_table() {
        // W ≤ 8 of n = 10 has 25/1024 (Wilcoxon & Wilcox 1964: one-sided .0244); the ranks here are 1, 7 below.
        let d = [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0, 8.0, 9.0, 10.0];
        assert_eq!(test(&d, 0.0).unwrap().above, 25.0 / 1024.0);
    }

    /// By listing all signs.
    fn listed(d: &[f64], edge: f64) -> (f64, f64) {
        let shifted: Vec<f64> = d.iter().map(|d| d - edge).collect();
        let ranks = midranks(&shifted.iter().map(|d| d.abs()).collect::<Vec<_>>());
        let used: Vec<(f64, usize)> =
            shifted.iter().zip(&ranks).filter(|(d, _)| **d != 0.0).map(|(d, r)| (*d, r.doubled)).collect();
        let observed: usize = used.iter().filter(|(d, _)| *d > 0.0).map(|(_, r)| r).sum();
        let all = 1usize << used.len();
        let sum = |signs: usize| -> usize {
            used.iter().enumerate().filter(|(i, _)| signs >> i & 1 == 1).map(|(_, (_, r))| r).sum()
        };
        let above = (0..all).filter(|&signs| sum(signs) >= observed).count();
        let below = (0..all).filter(|&signs| sum(signs) <= observed).count();
        (above as f64 / all as f64, below as f64 / all as f64)
    }

    #[test]
    fn ties_and_zeros_are_counted_exactly() {
        let mut random = Random::new(3);
        for n in 1..=12 {
            for edge in [0.0, 1.0] {
                let d: Vec<f64> = (0..n).map(|_| (random.uniform() * 7.0).floor() - 3.0).collect();
                let found = test(&d, edge).unwrap();
                let (above, below) = listed(&d, edge);
                assert!((found.above - above).abs() < 1e-14 && (found.below - below).abs() < 1e-14, "{d:?}");
            }
        }
    }

    #[test]
    fn the_normal_distribution_takes_over_smoothly() {
        let mut random = Random::new(5);
        let d: Vec<f64> = (0..EXACT).map(|_| random.normal() + 0.1).collect();
        let ranks: Vec<usize> =
            midranks(&d.iter().map(|d| d.abs()).collect::<Vec<_>>()).iter().map(|r| r.doubled).collect();
        let observed = d.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
        let (exact, normal) = (exact(&ranks, observed), approximate(&ranks, observed));
        assert!(
            (exact.0 - normal.0).abs() < 1e-3 && (exact.1 - normal.1).abs() < 1e-3,
            "{exact:?} {normal:?}"
        );
    }

    #[test]
    fn the_interval_leaves_out_what_the_table_says() {
        // n = 10: P(W ≤ 8) = .0244, P(W ≤ 9) > .025, so that the ninth mean from each end is the 95 % interval's.
        let d: Vec<f64> = (0..10).map(|i| f64::from(1 << i)).collect();
        let mut means: Vec<f64> =
            (0..10).flat_map(|i| (i..10).map(move |j| (i, j))).map(|(i, j)| (d[i] + d[j]) / 2.0).collect();
        means.sort_by(f64::total_cmp);
        let found = location(&d, 10.0, 0.95).unwrap().unwrap();
        assert_eq!((found.low, found.high, found.estimate), (means[8], means[55 - 9], means[27]));
        // Every centre inside is not rejected, every one outside is.
        assert!(
            test(&d, found.low + 1e-9).unwrap().above > 0.025
                && test(&d, found.low - 1e-9).unwrap().above <= 0.025
        );
        assert_eq!(location(&d[..5], 5.0, 0.95), Ok(None));
        assert!(location(&d[..6], 6.0, 0.95).unwrap().is_some());
        let wider = location(&d, 6.0, 0.95).unwrap().unwrap();
        assert!(wider.low < found.low && wider.high > found.high);
    }

    #[test]
    fn intervals_hold_the_centre_as_often_as_they_say() {
        let mut random = Random::new(12);
        let held = (0..2000).filter(|_| {
            let d: Vec<f64> = (0..16).map(|_| 1.0 + random.normal()).collect();
            location(&d, 16.0, 0.95).unwrap().is_some_and(|found| found.low <= 1.0 && found.high >= 1.0)
        });
        let held = held.count();
        assert!((1880..=1940).contains(&held), "{held}");
    }

    #[test]
    fn only_zeros_and_nothing_prove_nothing() {
        let found = test(&[1.0, 1.0], 1.0).unwrap();
        assert_eq!((found.above, found.below), (1.0, 1.0));
        assert!(test(&[], 0.0).is_err() && test(&[f64::NAN], 0.0).is_err());
    }
}
