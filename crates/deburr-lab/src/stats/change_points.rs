//! Change points: values in the order of their time → where their level changes, and by how much.
//!
//! The largest difference of means that any split makes is tested by permutation: without a change, every order of
//! the values is as probable. If it is significant, the values are split where that leaves the least distances from
//! the medians, and both parts are tested in turn (binary segmentation; as E-divisive does: Matteson & James, A
//! nonparametric approach for multiple change point analysis of multivariate data, JASA 109 (2014)). Values count for
//! no more than [`FARTHEST`] deviations, so that a single one far out makes no change.
//!
//! Values that resemble their neighbours, as those of a machine that drifts, are not in any order as probable:
//! [`resemblance`] says so.

use super::{Error, moments};
use crate::stats::random::Random;

/// The error of each test: how often a change is found in a part that has none.
pub const ALPHA: f64 = 0.01;
/// Values on each side of a change at least.
pub const SHORTEST: usize = 3;
/// Deviations from the median, beyond which a value counts for no more.
pub const FARTHEST: f64 = 5.0;
/// Orders that are drawn.
const DRAWS: u32 = 4000;
/// One-sided 1 %, as the test's.
const Z: f64 = 2.326_348;
/// Differences of two parts at most of which the median is taken; of longer parts not every value is used.
const MOST_DIFFERENCES: usize = 1 << 20;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value after it.
    pub at: usize,
    /// How much more the values after it are than those before: the median of all differences (Hodges &
    /// Lehmann). Both parts reach to the next change.
    pub shift: f64,
    /// Its interval, at 98 %.
    pub interval: (f64, f64),
    /// Of the test of there being no change.
    pub p: f64,
}

/// The changes of level of some values, in order.
///
/// # Errors
/// [`Error::NotFinite`] with the value's index.
pub fn change_points(values: &[f64], seed: u64) -> Result<Vec<ChangePoint>, Error> {
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite { index });
    }
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut random = Random::new(seed);
    let mut left = vec![(0, values.len())];
    while let Some((from, to)) = left.pop() {
        let Some(part) = values.get(from..to) else { continue };
        let p = of_none(part, &mut random);
        if let Some(split) = split(part).filter(|_| p <= ALPHA) {
            found.push((from + split, p));
            left.extend([(from + split, to), (from, from + split)]);
        }
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    let ends: Vec<usize> = found.iter().map(|(at, _)| *at).chain([values.len()]).collect();
    let mut begin = 0;
    let mut points = Vec::with_capacity(found.len());
    for ((at, p), end) in found.iter().zip(ends.iter().skip(1)) {
        let parts = values.get(begin..*at).zip(values.get(*at..*end));
        if let Some((shift, interval)) = parts.and_then(|(before, after)| shift(before, after)) {
            points.push(ChangePoint { at: *at, shift, interval, p: *p });
        }
        begin = *at;
    }
    Ok(points)
}

/// How much values resemble their neighbours within the parts that changes divide them into: the autocorrelation
/// of what is left without the parts' medians. About 0 where every order is as probable.
pub fn resemblance(values: &[f64], changes: &[ChangePoint]) -> f64 {
    let mut rest = Vec::with_capacity(values.len());
    let mut begin = 0;
    for end in changes.iter().map(|change| change.at).chain([values.len()]) {
        let part = values.get(begin..end).unwrap_or_default();
        let level = moments::median(part);
        rest.extend(part.iter().map(|value| value - level));
        begin = end;
    }
    moments::autocorrelation(&rest)
}

/// The p of there being no change in some values.
fn of_none(values: &[f64], random: &mut Random) -> f64 {
    if values.len() < 2 * SHORTEST || moments::all_equal(values) {
        return 1.0;
    }
    let mut scores = scores(values);
    let seen = largest(&scores);
    let mut as_large = 0_u32;
    for _ in 0..DRAWS {
        shuffle(&mut scores, random);
        // What is equal but for rounding is as large.
        as_large += u32::from(largest(&scores) >= seen * (1.0 - 1e-12));
    }
    f64::from(as_large + 1) / f64::from(DRAWS + 1)
}

/// Distances from the median, in standard deviations by the median distance, and none beyond [`FARTHEST`]; their mean
/// is 0.
fn scores(values: &[f64]) -> Vec<f64> {
    let median = moments::median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    // Where more than half of the values are equal, the mean distance; it is not 0 where not all are equal.
    let usual = Some(1.4826 * moments::median(&distances)).filter(|usual| *usual > 0.0);
    let scale = usual.unwrap_or_else(|| moments::mean(&distances));
    let scores: Vec<f64> =
        values.iter().map(|value| ((value - median) / scale).clamp(-FARTHEST, FARTHEST)).collect();
    let mean = moments::mean(&scores);
    scores.into_iter().map(|score| score - mean).collect()
}

/// Where some values are divided best: with the least distances of all from the medians of their parts. The test
/// would put it too near the middle.
fn split(values: &[f64]) -> Option<usize> {
    let places = SHORTEST..(values.len() + 1).saturating_sub(SHORTEST);
    let costs = places.filter_map(|at| {
        let (before, after) = values.split_at_checked(at)?;
        Some((at, distances(before) + distances(after)))
    });
    costs.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// The sum of the distances from the median.
fn distances(values: &[f64]) -> f64 {
    let median = moments::median(values);
    values.iter().map(|value| (value - median).abs()).sum()
}

/// The largest standardised difference of means that a split makes, in a unit that all orders of the scores share.
fn largest(scores: &[f64]) -> f64 {
    let count = scores.len() as f64;
    let (mut sum, mut largest) = (0.0, 0.0_f64);
    for (index, score) in scores.iter().enumerate() {
        sum += score;
        let (before, split) = ((index + 1) as f64, index + 1);
        if split < SHORTEST || split + SHORTEST > scores.len() {
            continue;
        }
        largest = largest.max(f64::abs(sum) / libm::sqrt(before * (count - before)));
    }
    largest
}

/// Fisher and Yates's.
fn shuffle(values: &mut [f64], random: &mut Random) {
    for last in (1..values.len()).rev() {
        let other = (random.uniform() * (last + 1) as f64) as usize;
        values.swap(last, other.min(last));
    }
}

/// The median of all differences of two parts, with its interval by the distribution of U.
fn shift(before: &[f64], after: &[f64]) -> Option<(f64, (f64, f64))> {
    let step = before.len().saturating_mul(after.len()).div_ceil(MOST_DIFFERENCES).max(1);
    let (before, after): (Vec<&f64>, Vec<&f64>) =
        (before.iter().step_by(step).collect(), after.iter().step_by(step).collect());
    let mut differences: Vec<f64> =
        after.iter().flat_map(|after| before.iter().map(move |before| **after - **before)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let (m, n) = (before.len() as f64, after.len() as f64);
    let out = m * n / 2.0 - Z * libm::sqrt(m * n * (m + n + 1.0) / 12.0);
    let out = libm::floor(out).max(0.0) as usize;
    let last = differences.len().checked_sub(1)?;
    let interval = (*differences.get(out)?, *differences.get(last - out.min(last))?);
    Some((moments::median(&differences), (interval.0.min(interval.1), interval.0.max(interval.1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of noise 1, that are more by so much from each of some places on.
    fn values(count: usize, steps: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let level = |index: usize| steps.iter().filter(|(at, _)| index >= *at).map(|(_, by)| by).sum::<f64>();
        (0..count).map(|index| level(index) + random.normal()).collect()
    }

    #[test]
    fn a_level_that_changes_is_found_where_it_does_and_by_how_much() {
        let found = change_points(&values(40, &[(25, 5.0)], 1), 1).unwrap();
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [25]);
        let ChangePoint { shift, interval, p, .. } = found[0];
        assert!((shift - 5.0).abs() < 1.0 && interval.0 < 5.0 && interval.1 > 5.0 && p < 0.001, "{found:?}");
        let found = change_points(&values(60, &[(20, 5.0), (40, -6.0)], 2), 1).unwrap();
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [20, 40]);
        assert!(found[0].shift > 4.0 && found[1].shift < -5.0, "{found:?}");
        // Three values suffice where there are many before them.
        let late = change_points(&values(40, &[(37, 8.0)], 3), 1).unwrap();
        assert_eq!(late.iter().map(|change| change.at).collect::<Vec<_>>(), [37]);
    }

    #[test]
    fn outliers_and_few_values_are_no_change() {
        let mut outlier = values(30, &[], 4);
        outlier[29] = 1e6;
        assert_eq!(change_points(&outlier, 1).unwrap(), []);
        assert_eq!(change_points(&values(6, &[(3, 50.0)], 5), 1).unwrap(), []);
        for same in [&[][..], &[1.0], &[2.0; 30]] {
            assert_eq!(change_points(same, 1).unwrap(), []);
        }
        assert_eq!(change_points(&[1.0, f64::NAN], 1), Err(Error::NotFinite { index: 1 }));
    }

    #[test]
    fn values_without_a_change_have_one_as_rarely_as_the_test_says() {
        for (count, ties) in [(12, false), (30, false), (30, true)] {
            let wrong = (0..300).filter(|seed| {
                let mut values = values(count, &[], 100 + seed);
                if ties {
                    values.iter_mut().for_each(|value| *value = value.round());
                }
                !change_points(&values, 1).unwrap().is_empty()
            });
            // 1 % of 300, and three deviations more.
            assert!(wrong.count() <= 8, "{count} {ties}");
        }
    }

    #[test]
    fn values_that_follow_their_neighbours_resemble_them() {
        let independent = values(200, &[(100, 9.0)], 6);
        let changes = change_points(&independent, 1).unwrap();
        assert!(resemblance(&independent, &changes).abs() < 0.2);
        let mut level = 0.0;
        let drifting: Vec<f64> = independent[..100]
            .iter()
            .map(|noise| {
                level = 0.9 * level + noise;
                level
            })
            .collect();
        assert!(resemblance(&drifting, &[]) > 0.6);
    }
}
