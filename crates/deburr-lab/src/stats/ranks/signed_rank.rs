//! Wilcoxon's signed-rank test of a location, exact.
//!
//! If B is A times a constant, the log ratios are symmetric about θ whatever the shape of the noise, and
//! given the sizes of dᵢ − edge their signs are fair coins: the distribution of the sum of positive ranks is
//! then known exactly. It is counted here for the very ranks at hand, so that ties need no correction. Zeros
//! take part in the ranking and then drop out (Pratt, Remarks on zeros and ties in the Wilcoxon signed rank
//! procedures, JASA 54 (1959)).

use super::midranks::midranks;
use crate::stats::distributions::normal;
use crate::stats::error::{Error, at_least};

/// Beyond this many pairs the normal distribution replaces it, with continuity correction: p is then right to
/// 1e-3.
const EXACT: usize = 300;

/// One-sided p values of both sides of one edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// W⁺: the sum of the ranks of the values above the edge.
    pub statistic: f64,
    /// P(W⁺ ≥ observed) if the centre were the edge: small says that the centre is above.
    pub above: f64,
    /// P(W⁺ ≤ observed): small says that the centre is below.
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

/// The probability of each sum of ranks where each counts with probability ½. Terms are only ever added, so
/// that the smallest tails keep all their digits.
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
    // On doubled ranks: mean Σr/2, variance Σr²/4; neighbouring sums are 2 apart without ties, 1 with.
    let total: f64 = ranks.iter().map(|&rank| rank as f64).sum();
    let deviation = libm::sqrt(ranks.iter().map(|&rank| (rank as f64) * (rank as f64)).sum::<f64>()) / 2.0;
    let continuity = if ranks.iter().all(|rank| rank % 2 == 0) { 1.0 } else { 0.5 };
    let centred = observed as f64 - total / 2.0;
    (normal::survival((centred - continuity) / deviation), normal::cdf((centred + continuity) / deviation))
}

/// Where the centre is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Location {
    /// Hodges and Lehmann's estimate: the median of the means of all pairs of values, each with itself too.
    pub estimate: f64,
    /// The centres that the test does not reject, the lower end first; `None` where the values are too few to
    /// reject any. The estimate is always among them.
    pub interval: Option<(f64, f64)>,
}

/// The centre of `differences`, with the interval of the centres that neither side rejects at a z of `bound`
/// (1.96 for 95 %). Where neighbours are alike, `effective` independent values widen it (Hollander & Wolfe,
/// Nonparametric statistical methods, 3.2 and 3.3).
///
/// Equal distances from a centre are ranked by the order of the values, which does not know the signs, so
/// that the sum of ranks is distributed as without ties; a value at distance 0 counts for the centre. The
/// ends are then order statistics of the means, and a centre is rejected if and only if it is outside of
/// them.
///
/// # Errors
/// [`Error::TooFew`] of nothing, [`Error::NotFinite`].
pub fn location(differences: &[f64], effective: f64, bound: f64) -> Result<Location, Error> {
    at_least(1, differences)?;
    let means = Means::of(differences);
    let z = bound * libm::sqrt((differences.len() as f64 / effective).max(1.0));
    let out = rejected(differences.len(), normal::survival(z));
    let interval = (out > 0).then(|| (means.at(out), means.at(means.count() + 1 - out)));
    Ok(Location { estimate: means.median(), interval })
}

/// How many sums of ranks, from 0 on, W⁺ of `n` values without ties stays at or below with a probability of
/// at most `tail`.
fn rejected(n: usize, tail: f64) -> usize {
    if n > EXACT {
        let n = n as f64;
        let deviation = libm::sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        let last = n * (n + 1.0) / 4.0 - 0.5 + deviation * normal::quantile(tail);
        // A conversion of what is below 0 is 0.
        return libm::floor(last + 1.0) as usize;
    }
    let mut sum = 0.0;
    let mut within = |chance: &f64| {
        sum += chance;
        sum <= tail
    };
    let ranks: Vec<usize> = (1..=n).collect();
    distribution(&ranks).iter().take_while(|chance| within(chance)).count()
}

/// The means of all pairs of values, each with itself too: never listed, of which there would be too many.
struct Means {
    sorted: Vec<f64>,
}

impl Means {
    fn of(values: &[f64]) -> Means {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Means { sorted }
    }

    fn count(&self) -> usize {
        self.sorted.len() * (self.sorted.len() + 1) / 2
    }

    /// How many are not above `limit`.
    fn up_to(&self, limit: f64) -> usize {
        let (mut count, mut end) = (0, self.sorted.len());
        for (index, one) in self.sorted.iter().enumerate() {
            let above = |other: Option<&f64>| other.is_some_and(|other| one / 2.0 + other / 2.0 > limit);
            // The larger one is, the fewer others keep the mean below.
            while end > index && above(self.sorted.get(end - 1)) {
                end -= 1;
            }
            if end <= index {
                break;
            }
            count += end - index;
        }
        count
    }

    /// The one at place `rank`, from 1. Counting halves the numbers between which it is, until the means
    /// there are few enough to be listed: as many as there are values.
    fn at(&self, rank: usize) -> f64 {
        let ends = self.sorted.first().zip(self.sorted.last());
        // Halves of the smallest numbers are rounded, so that a mean may be outside of all values.
        let [least, most] = [f64::NEG_INFINITY, f64::INFINITY].map(key);
        let (mut below, mut reached) = ends
            .map_or((least, most), |(low, high)| ((key(*low) - 2).max(least), (key(*high) + 2).min(most)));
        let (mut under, mut within) = (0, self.count());
        let mut is_by_value = true;
        while reached - below > 1 && within - under > self.sorted.len() {
            // By value it takes the fewest steps, and by keys never more than there are bits.
            let halved = key(number(below) / 2.0 + number(reached) / 2.0);
            let is_between = is_by_value && halved > below && halved < reached;
            let middle = if is_between { halved } else { below + (reached - below) / 2 };
            is_by_value = !is_by_value;
            let count = self.up_to(number(middle));
            if count >= rank {
                (reached, within) = (middle, count);
            } else {
                (below, under) = (middle, count);
            }
        }
        if reached - below <= 1 {
            // −0 is no other number than 0.
            return number(reached) + 0.0;
        }
        let mut listed = self.between(number(below), number(reached));
        let place = (rank - under).saturating_sub(1);
        if place >= listed.len() {
            return number(reached) + 0.0;
        }
        *listed.select_nth_unstable_by(place, f64::total_cmp).1 + 0.0
    }

    /// Those above one limit and not above another.
    fn between(&self, low: f64, high: f64) -> Vec<f64> {
        let mean = |one: f64, other: f64| one / 2.0 + other / 2.0;
        let (mut listed, mut end) = (Vec::new(), self.sorted.len());
        for (index, one) in self.sorted.iter().enumerate() {
            while end > index && self.sorted.get(end - 1).is_some_and(|other| mean(*one, *other) > high) {
                end -= 1;
            }
            if end <= index {
                break;
            }
            let others = self.sorted.get(index..end).unwrap_or_default().iter().rev();
            listed.extend(others.map(|other| mean(*one, *other)).take_while(|mean| *mean > low));
        }
        listed
    }

    /// The least of those above a limit; the limit where there is none.
    fn after(&self, limit: f64) -> f64 {
        let (mut least, mut end) = (f64::INFINITY, self.sorted.len());
        for (index, one) in self.sorted.iter().enumerate() {
            let with = |other: usize| self.sorted.get(other).map(|other| one / 2.0 + other / 2.0);
            while end > index && with(end - 1).is_some_and(|mean| mean > limit) {
                end -= 1;
            }
            // The first that is above, unless it is in an earlier row.
            least = with(end.max(index)).map_or(least, |mean| least.min(mean));
            if end <= index {
                break;
            }
        }
        // −0 is no other number than 0.
        if least.is_finite() { least + 0.0 } else { limit }
    }

    fn median(&self) -> f64 {
        let count = self.count();
        if count % 2 == 1 {
            return self.at(count / 2 + 1);
        }
        let low = self.at(count / 2);
        let high = if self.up_to(low) > count / 2 { low } else { self.after(low) };
        // Halves of the smallest numbers are rounded.
        (low / 2.0 + high / 2.0).clamp(low, high)
    }
}

/// A whole number that grows with a number.
fn key(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The number that has a key.
fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    /// The z of 95 %.
    const BOUND: f64 = 1.959_963_984_540_054;

    #[test]
    fn ten_pairs_on_one_side_have_the_smallest_p_there_is() {
        let d: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = test(&d, 0.0).unwrap();
        assert_eq!((found.statistic, found.above, found.below), (55.0, 1.0 / 1024.0, 1.0));
    }

    #[test]
    fn tails_are_those_of_the_published_table() {
        // W ≤ 8 of n = 10 has 25/1024 (Wilcoxon & Wilcox 1964: one-sided .0244); the ranks here are 1, 7
        // below.
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
        // n = 10: P(W ≤ 8) = .0244, P(W ≤ 9) > .025, so that the ninth mean from each end is the 95 %
        // interval's.
        let d: Vec<f64> = (0..10).map(|i| f64::from(1 << i)).collect();
        let mut means: Vec<f64> =
            (0..10).flat_map(|i| (i..10).map(move |j| (i, j))).map(|(i, j)| (d[i] + d[j]) / 2.0).collect();
        means.sort_by(f64::total_cmp);
        let found = location(&d, 10.0, BOUND).unwrap();
        let (low, high) = found.interval.unwrap();
        assert_eq!((low, high, found.estimate), (means[8], means[55 - 9], means[27]));
        // Every centre inside is not rejected, every one outside is.
        assert!(test(&d, low + 1e-9).unwrap().above > 0.025 && test(&d, low - 1e-9).unwrap().above <= 0.025);
        assert_eq!(location(&d[..5], 5.0, BOUND).unwrap().interval, None);
        assert!(location(&d[..6], 6.0, BOUND).unwrap().interval.is_some());
        let wider = location(&d, 6.0, BOUND).unwrap().interval.unwrap();
        assert!(wider.0 < low && wider.1 > high);
    }

    #[test]
    fn counted_means_are_those_of_the_list() {
        let mut random = Random::new(21);
        let tiny = f64::from_bits(1);
        for n in [1, 2, 3, 5, 8, 21, 60] {
            let drawn: [Vec<f64>; 6] = [
                (0..n).map(|_| random.normal()).collect(),
                (0..n).map(|_| (3.0 * random.normal()).round()).collect(),
                (0..n).map(|_| 1e300 * random.normal()).collect(),
                (0..n).map(|_| tiny * (8.0 * random.normal()).round()).collect(),
                (0..n).map(|_| (200.0 * random.normal()).exp()).collect(),
                vec![-0.0; n],
            ];
            for values in drawn {
                let means = Means::of(&values);
                let mut listed: Vec<f64> = Vec::new();
                for (index, one) in means.sorted.iter().enumerate() {
                    listed.extend(means.sorted[index..].iter().map(|other| one / 2.0 + other / 2.0 + 0.0));
                }
                listed.sort_by(f64::total_cmp);
                let found: Vec<f64> = (1..=means.count()).map(|rank| means.at(rank)).collect();
                assert_eq!(found, listed, "{values:?}");
                for (rank, value) in listed.iter().enumerate() {
                    let after = listed[rank..].iter().find(|other| *other > value).unwrap_or(value);
                    assert_eq!(means.after(*value), *after, "{values:?}");
                }
            }
        }
    }

    #[test]
    fn intervals_hold_the_centre_as_often_as_they_say() {
        let mut random = Random::new(12);
        let held = (0..2000).filter(|_| {
            let d: Vec<f64> = (0..16).map(|_| 1.0 + random.normal()).collect();
            location(&d, 16.0, BOUND).unwrap().interval.is_some_and(|(low, high)| low <= 1.0 && high >= 1.0)
        });
        let held = held.count();
        assert!((1880..=1940).contains(&held), "{held}");
    }

    #[test]
    fn the_means_are_found_without_listing_them() {
        let mut random = Random::new(6);
        for n in 1..=25 {
            let coarse = n % 2 == 0;
            let d: Vec<f64> = (0..n)
                .map(|_| if coarse { (random.uniform() * 5.0).floor() - 2.0 } else { random.normal() })
                .collect();
            let mut listed: Vec<f64> = (0..n)
                .flat_map(|i| (i..n).map(move |j| (i, j)))
                .map(|(i, j)| d[i] / 2.0 + d[j] / 2.0)
                .collect();
            listed.sort_by(f64::total_cmp);
            let means = Means::of(&d);
            assert_eq!(means.count(), listed.len());
            for (index, mean) in listed.iter().enumerate() {
                assert_eq!(means.at(index + 1), *mean);
            }
            let turned = Means::of(&d.iter().map(|d| -d).collect::<Vec<f64>>());
            assert_eq!(turned.median(), -means.median());
        }
        for value in [0.0, -0.0, 1.5, -1e300, f64::MAX, f64::MIN_POSITIVE, -5e-324] {
            assert_eq!(number(key(value)).to_bits(), value.to_bits());
        }
    }

    /// The sum of ranks where equal distances are ranked by the order of the values, by listing all signs.
    fn ranked_in_order(d: &[f64], edge: f64) -> f64 {
        let mut order: Vec<usize> = (0..d.len()).collect();
        order.sort_by(|one, other| (d[*one] - edge).abs().total_cmp(&(d[*other] - edge).abs()));
        let rank = |index: usize| order.iter().position(|place| *place == index).unwrap() + 1;
        let observed: usize = (0..d.len()).filter(|index| d[*index] > edge).map(rank).sum();
        let all = 1usize << d.len();
        let sum =
            |signs: usize| -> usize { (0..d.len()).filter(|i| signs >> i & 1 == 1).map(|i| i + 1).sum() };
        (0..all).filter(|signs| sum(*signs) >= observed).count() as f64 / all as f64
    }

    #[test]
    fn the_interval_has_what_the_test_does_not_reject_also_with_ties() {
        let mut random = Random::new(7);
        let tail = normal::survival(BOUND);
        for n in 6..=11 {
            let d: Vec<f64> = (0..n).map(|_| (random.uniform() * 4.0).floor()).collect();
            let (low, high) = location(&d, n as f64, BOUND).unwrap().interval.unwrap();
            // Between the means, where no two values are at the same distance on different sides.
            for step in -40..=40 {
                let edge = 1.5 + f64::from(step) * 0.1 + 0.033;
                let turned: Vec<f64> = d.iter().map(|d| -d).collect();
                assert_eq!(ranked_in_order(&d, edge) <= tail, edge < low, "{d:?} {edge}");
                assert_eq!(ranked_in_order(&turned, -edge) <= tail, edge > high, "{d:?} {edge}");
            }
        }
    }

    #[test]
    fn the_interval_of_many_values_goes_on_smoothly_from_that_of_few() {
        let out = |n| rejected(n, 0.025) as f64;
        let (before, after) = (out(EXACT), out(EXACT + 1));
        assert!(before < after && after < before * 1.01, "{before} {after}");
        assert_eq!((rejected(EXACT + 1, 0.0), rejected(10, 0.0)), (0, 0));
    }

    #[test]
    fn only_zeros_and_nothing_prove_nothing() {
        let found = test(&[1.0, 1.0], 1.0).unwrap();
        assert_eq!((found.above, found.below), (1.0, 1.0));
        assert!(test(&[], 0.0).is_err() && test(&[f64::NAN], 0.0).is_err());
    }
}
