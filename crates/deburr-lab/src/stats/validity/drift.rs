//! Did the machine change while the experiment ran? Two tests on the residuals in run order.
//!
//! Von Neumann's ratio of ranks (Bartels, The rank version of von Neumann's ratio test for randomness, JASA
//! 77 (1982)) sees slow wandering, Mann and Kendall's count of concordant pairs a trend. Either at p < .005
//! says drift: false alarms stay below 1.3 %, and first-order correlation of .8 is found in .64, .91 and .995
//! of series of 10, 15 and 24.

use crate::side::Side;
use crate::stats::distributions::normal;
use crate::stats::moments;
use crate::stats::ranks::midranks;

/// Below this p the machine drifts.
pub const ALARM: f64 = 0.005;

/// Neighbours against all: how alike the values of successive runs are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankRatio {
    /// Σ(Rᵢ − Rᵢ₊₁)² / Σ(Rᵢ − R̄)²: 2 of a random order, less where neighbours are alike.
    pub ratio: f64,
    /// One-sided: small where neighbours are alike. By the normal distribution with mean 2 and variance 4/n.
    pub p: f64,
}

/// Von Neumann's rank ratio of values in run order; `None` of fewer than 2 values, of values that are all
/// equal, or not finite.
pub fn von_neumann(values: &[f64]) -> Option<RankRatio> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let ranks: Vec<f64> = midranks(values).iter().map(|rank| rank.doubled as f64 / 2.0).collect();
    let mean = (values.len() + 1) as f64 / 2.0;
    let steps: f64 =
        ranks.iter().zip(ranks.iter().skip(1)).map(|(one, next)| (one - next) * (one - next)).sum();
    let squares: f64 = ranks.iter().map(|rank| (rank - mean) * (rank - mean)).sum();
    if squares <= 0.0 {
        return None;
    }
    let ratio = steps / squares;
    Some(RankRatio { ratio, p: normal::cdf((ratio - 2.0) / libm::sqrt(4.0 / values.len() as f64)) })
}

/// A trend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Pairs of runs of which the later is larger, less those of which it is smaller.
    pub score: i64,
    /// Two-sided, by the normal distribution with continuity correction. The variance is that without ties,
    /// which would make it smaller: the test errs on the quiet side.
    pub p: f64,
}

/// Mann and Kendall's test of values in run order; `None` of fewer than 2 values or values that are not
/// finite. At most 10 000 values take part, evenly chosen: the count is quadratic.
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    trend(&[values])
}

/// The trend that several series share, each by itself: their scores add up, and so do the variances (Hirsch
/// & Slack, A nonparametric trend test for seasonal data, Water Resources Research 20 (1984)).
fn trend(series: &[&[f64]]) -> Option<Trend> {
    const MOST: usize = 10_000;
    let (mut score, mut variance) = (0i64, 0.0);
    for values in series {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let kept: Vec<f64> = values.iter().copied().step_by(values.len().div_ceil(MOST).max(1)).collect();
        for (index, one) in kept.iter().enumerate() {
            for later in kept.iter().skip(index + 1) {
                score += i64::from(later > one) - i64::from(later < one);
            }
        }
        let n = kept.len() as f64;
        variance += n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    }
    if variance <= 0.0 {
        return None;
    }
    let z = (score.abs() - 1).max(0) as f64 / libm::sqrt(variance);
    Some(Trend { score, p: (2.0 * normal::survival(z)).min(1.0) })
}

/// Both tests of one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Slow wandering.
    pub von_neumann: Option<RankRatio>,
    /// A trend.
    pub mann_kendall: Option<Trend>,
}

impl Drift {
    /// Of residuals in the order of the runs; see [`residuals`].
    pub fn of(residuals: &[f64]) -> Drift {
        Drift { von_neumann: von_neumann(residuals), mann_kendall: mann_kendall(residuals) }
    }

    /// Of runs that may have been made one side after the other: the trend is sought within each side, where
    /// the step from one to the other, which may be the effect, has no part in it.
    pub fn within_sides(runs: &[(Side, f64)]) -> Drift {
        let of =
            |side: Side| -> Vec<f64> { runs.iter().filter(|run| run.0 == side).map(|run| run.1).collect() };
        Drift {
            von_neumann: von_neumann(&residuals(runs)),
            mann_kendall: trend(&[&of(Side::A), &of(Side::B)]),
        }
    }

    /// The smaller p of the two; 1 where neither could be computed.
    pub fn p(&self) -> f64 {
        let ratio = self.von_neumann.map_or(1.0, |found| found.p);
        ratio.min(self.mann_kendall.map_or(1.0, |found| found.p))
    }

    /// Whether the machine drifts: p < [`ALARM`] by either test.
    pub fn fires(&self) -> bool {
        self.p() < ALARM
    }
}

/// What is left of each run in the order of the runs when its own side's median is taken away: the machine,
/// without the builds.
pub fn residuals(runs: &[(Side, f64)]) -> Vec<f64> {
    let centre = |side: Side| {
        let values: Vec<f64> = runs.iter().filter(|run| run.0 == side).map(|run| run.1).collect();
        moments::median(&values)
    };
    let (a, b) = (centre(Side::A), centre(Side::B));
    let less = |&(side, value): &(Side, f64)| value - if side == Side::A { a } else { b };
    runs.iter().map(less).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn a_trend_and_a_wandering_series_fire_and_noise_does_not() {
        let trend: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(Drift::of(&trend).fires());
        let waves: Vec<f64> = (0..40).map(|i| f64::from(i).mul_add(0.4, 0.0).sin()).collect();
        assert!(von_neumann(&waves).unwrap().p < ALARM && mann_kendall(&waves).unwrap().p > ALARM);
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert!(!Drift::of(&alternating).fires());
    }

    #[test]
    fn a_trend_through_both_sides_is_found_within_them() {
        let mut random = Random::new(3);
        let runs: Vec<(Side, f64)> = (0..80)
            .map(|run| (if run < 40 { Side::A } else { Side::B }, random.normal() + f64::from(run) * 0.05))
            .collect();
        assert!(Drift::within_sides(&runs).mann_kendall.is_some_and(|trend| trend.p < 1e-4));
        let effect: Vec<(Side, f64)> = (0..40)
            .map(|run| if run < 20 { (Side::A, random.normal()) } else { (Side::B, 9.0 + random.normal()) })
            .collect();
        assert!(!Drift::within_sides(&effect).fires());
    }

    #[test]
    fn nothing_to_test_is_no_drift() {
        for values in [&[][..], &[1.0], &[1.0, 1.0, 1.0], &[1.0, f64::NAN, 2.0]] {
            assert!(!Drift::of(values).fires(), "{values:?}");
        }
    }

    #[test]
    fn false_alarms_and_power_are_as_stated() {
        let mut random = Random::new(1);
        for (n, power) in [(10, 0.64), (15, 0.91), (24, 0.995)] {
            let (mut false_alarms, mut found) = (0, 0);
            for _ in 0..2000 {
                let noise: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                false_alarms += usize::from(Drift::of(&noise).fires());
                // Both runs of n pairs share the machine: 2n values in run order.
                let mut state = random.normal();
                let wandering: Vec<f64> = (0..2 * n)
                    .map(|_| {
                        state = 0.8 * state + 0.6 * random.normal();
                        state
                    })
                    .collect();
                found += usize::from(Drift::of(&wandering).fires());
            }
            let (false_alarms, found) =
                (f64::from(false_alarms as u32) / 2000.0, f64::from(found as u32) / 2000.0);
            assert!(false_alarms <= 0.013, "n = {n}: {false_alarms}");
            assert!((found - power).abs() < 0.05, "n = {n}: {found}, stated {power}");
        }
    }

    #[test]
    fn residuals_forget_the_builds_and_keep_the_order() {
        let runs = [(Side::A, 1.0), (Side::B, 10.0), (Side::B, 12.0), (Side::A, 3.0)];
        assert_eq!(residuals(&runs), [-1.0, -1.0, 1.0, 1.0]);
    }
}
