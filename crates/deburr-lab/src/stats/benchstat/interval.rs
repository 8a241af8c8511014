//! The interval of the median between two order statistics.
//!
//! How many of n values are below the median is binomial(n, ½), so that each stretch between neighbouring
//! order statistics holds the median with a known probability. Up to 30 values, stretches are added from the
//! middle outwards, the lower of two equals first, until the confidence is reached; beyond, the normal
//! distribution replaces it, with continuity correction.

use super::upstream::Upstream;
use crate::stats::distributions::normal;

/// Up to so many values the binomial distribution is used itself.
const EXACT: usize = 30;

/// Which order statistics bound the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower one, from 1; 0 is −∞.
    pub low: usize,
    /// The upper one; n + 1 is ∞.
    pub high: usize,
    /// How probable it is that the median is between: at least what was requested.
    pub confidence: f64,
    /// Whether the interval one order statistic higher is as probable.
    pub ambiguous: bool,
}

/// The interval for `n` values that holds the median with a probability of `confidence` (0.95) or more.
pub fn median_interval(n: usize, confidence: f64, upstream: Upstream) -> Interval {
    if confidence >= 1.0 || n == 0 {
        return Interval { low: 0, high: n + 1, confidence: 1.0, ambiguous: false };
    }
    if n > EXACT {
        return by_normal(n, confidence);
    }
    match upstream {
        Upstream::Corrected => by_binomial(n, confidence, |k| exact_chance(n, k)),
        Upstream::AsPrinted => by_binomial(n, confidence, |k| printed_chance(n, k)),
    }
}

/// P(k of n below the median). All of it is exact: C(30, 15) has 28 bits.
fn exact_chance(n: usize, k: usize) -> f64 {
    choose(n, k) as f64 * libm::exp2(-(n as f64))
}

fn choose(n: usize, k: usize) -> u64 {
    let k = k.min(n - k) as u64;
    (1..=k).fold(1u64, |product, i| product * (n as u64 - k + i) / i)
}

/// The same by gamma functions beyond n = 20, in upstream's order of operations: C(n, k) and C(n, n − k) then
/// differ in their last bits, and what should be a tie goes to one side. At n = 24 it is the upper one.
fn printed_chance(n: usize, k: usize) -> f64 {
    if n <= 20 || k == 0 || k == n {
        return exact_chance(n, k);
    }
    let gamma = |value: usize| libm::lgamma((value + 1) as f64);
    libm::exp(gamma(n) - gamma(k) - gamma(n - k)) * libm::exp2(-(n as f64))
}

fn by_binomial(n: usize, confidence: f64, chance: impl Fn(usize) -> f64) -> Interval {
    let at = |k: Option<usize>| k.filter(|k| *k <= n).map_or(0.0, &chance);
    // The lower of two modes. Stretches low ≤ k < high are in.
    let mode = (n + 1).div_ceil(2) - 1;
    let (mut low, mut high) = (mode, mode + 1);
    let mut sum = chance(mode);
    let (mut below, mut above) = (at(low.checked_sub(1)), at(Some(high)));
    let mut ambiguous = above == sum;
    while sum < confidence && (below > 0.0 || above > 0.0) {
        ambiguous = below == above;
        if below >= above {
            sum += below;
            low -= 1;
            below = at(low.checked_sub(1));
        } else {
            sum += above;
            high += 1;
            above = at(Some(high));
        }
    }
    Interval { low, high: high.min(n + 1), confidence: sum, ambiguous }
}

fn by_normal(n: usize, confidence: f64) -> Interval {
    let mean = n as f64 / 2.0;
    let deviation = libm::sqrt(n as f64) / 2.0;
    let reach = -normal::quantile((1.0 - confidence) / 2.0) * deviation;
    // Out to halves of whole numbers, which is where the continuity correction cuts.
    let low = libm::floor(mean - reach - 0.5) + 1.0;
    let high = libm::ceil(mean + reach - 0.5) + 1.0;
    let between = |low: f64, high: f64| {
        normal::cdf((high - 0.5 - mean) / deviation) - normal::cdf((low - 0.5 - mean) / deviation)
    };
    let (full, biased) = (between(low, high), between(low, high - 1.0));
    let ambiguous = biased >= confidence && biased < full;
    let (high, reached) = if ambiguous { (high - 1.0, biased) } else { (high, full) };
    // The saturating casts bring what is outside the sample to its ends.
    let (low, high) = (low as usize, (high as usize).min(n + 1));
    if low == 0 && high == n + 1 {
        return Interval { low, high, confidence: 1.0, ambiguous: false };
    }
    Interval { low, high, confidence: reached, ambiguous }
}

/// The smallest number of values, up to 50, whose interval at `confidence` has two finite ends.
pub(super) fn values_needed(confidence: f64, upstream: Upstream) -> Option<usize> {
    (2..=50).find(|&n| {
        let found = median_interval(n, confidence, upstream);
        found.low > 0 && found.high <= n
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_four_values_have_the_interval_of_the_binomial_distribution() {
        let corrected = median_interval(24, 0.95, Upstream::Corrected);
        assert_eq!((corrected.low, corrected.high, corrected.ambiguous), (7, 17, true));
        let printed = median_interval(24, 0.95, Upstream::AsPrinted);
        assert_eq!((printed.low, printed.high, printed.ambiguous), (8, 18, false));
        // Both hold 16036078 of 2^24.
        assert!((corrected.confidence - printed.confidence).abs() < 1e-12);
    }

    #[test]
    fn no_values_have_no_interval() {
        let found = median_interval(0, 0.95, Upstream::Corrected);
        assert_eq!((found.low, found.high), (0, 1));
        assert_eq!(values_needed(0.95, Upstream::Corrected), Some(6));
        assert_eq!(values_needed(1.0, Upstream::Corrected), None);
    }
}
