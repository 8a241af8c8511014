//! How much evidence each interim analysis must show, so that several analyses cost no false verdicts.
//!
//! O'Brien and Fleming's bounds in the spending form of Lan and DeMets (Discrete sequential boundaries for
//! clinical trials, Biometrika 70 (1983)): each side may have spent 2(1 − Φ(z_{α/4}/√t)) of its α/2 when the
//! share t of the pairs is in. The bounds follow by recursive integration over the paths that have crossed
//! neither bound (Armitage, McPherson & Rowe, JRSS A 132 (1969)), for any analyses and any α.

use crate::stats::distributions::normal;
use crate::stats::error::Error;

/// Nodes of a panel of Gauss and Legendre's rule; the negative ones follow by symmetry.
const NODES: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_1),
];

/// The bounds z of interim analyses at `pairs` (increasing counts), for a two-sided error of `alpha` in all:
/// at analysis k a one-sided p of no more than Φ(−z_k) decides.
///
/// # Errors
/// [`Error::TooFew`] without an analysis, [`Error::OutOfRange`] for counts that do not increase from at least
/// 1, more than 1000 analyses, or an alpha that is not between 0 and 1.
pub fn bounds(pairs: &[usize], alpha: f64) -> Result<Vec<f64>, Error> {
    bounds_of(pairs, pairs.last().copied().unwrap_or(0), alpha)
}

/// The same of an experiment that was to have `planned` pairs: what ends before spends at its last analysis
/// what is left. Why it ends must not depend on what the pairs show.
///
/// # Errors
/// As [`bounds`]; [`Error::OutOfRange`] for fewer planned than there are.
pub fn bounds_of(pairs: &[usize], planned: usize, alpha: f64) -> Result<Vec<f64>, Error> {
    let reach = normal::quantile(alpha / 4.0);
    spent(pairs, planned, alpha, |time| 2.0 * normal::cdf(reach / libm::sqrt(time)))
}

/// The same where the share t of the pairs may have spent t² of the error, of which early analyses get more
/// (Kim & DeMets, Design and analysis of group sequential tests based on the type I error spending rate
/// function, Biometrika 74 (1987), ρ = 2).
///
/// # Errors
/// As [`bounds`].
pub fn gradual(pairs: &[usize], alpha: f64) -> Result<Vec<f64>, Error> {
    gradual_of(pairs, pairs.last().copied().unwrap_or(0), alpha)
}

/// As [`bounds_of`].
///
/// # Errors
/// As [`bounds_of`].
pub fn gradual_of(pairs: &[usize], planned: usize, alpha: f64) -> Result<Vec<f64>, Error> {
    spent(pairs, planned, alpha, |time| alpha / 2.0 * time * time)
}

/// The bounds where each side may have spent so much by the time that a share of the pairs is in.
fn spent(pairs: &[usize], planned: usize, alpha: f64, by: impl Fn(f64) -> f64) -> Result<Vec<f64>, Error> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(Error::OutOfRange { name: "alpha", value: alpha });
    }
    let Some(&last) = pairs.last() else { return Err(Error::TooFew { needed: 1, got: 0 }) };
    if pairs.len() > 1000 {
        return Err(Error::OutOfRange { name: "the number of looks", value: pairs.len() as f64 });
    }
    let mut before = 0;
    for &count in pairs {
        if count <= before {
            return Err(Error::OutOfRange { name: "a look's number of pairs", value: count as f64 });
        }
        before = count;
    }
    if planned < last {
        return Err(Error::OutOfRange { name: "the planned number of pairs", value: planned as f64 });
    }
    let one_sided = alpha / 2.0;
    let mut walk = Walk { time: 0.0, points: vec![(0.0, 1.0)] };
    let mut spent = 0.0;
    let mut bounds = Vec::with_capacity(pairs.len());
    for &count in pairs {
        let time = count as f64 / planned as f64;
        let may_spend = if count == last { one_sided } else { by(time) };
        let bound = walk.bound(time, may_spend - spent);
        spent = may_spend;
        walk = walk.inside(time, bound);
        bounds.push(bound);
    }
    Ok(bounds)
}

/// A Brownian motion that has crossed no bound so far: its density at `time`, as points with their weights.
struct Walk {
    time: f64,
    points: Vec<(f64, f64)>,
}

impl Walk {
    /// P(the walk gets above `bound`·√time at `time`).
    fn crosses(&self, time: f64, bound: f64) -> f64 {
        let step = libm::sqrt(time - self.time);
        let edge = bound * libm::sqrt(time);
        self.points.iter().map(|(at, weight)| weight * normal::survival((edge - at) / step)).sum()
    }

    /// The bound that is crossed with `probability` on each side: by halving, as the probability falls with
    /// the bound.
    fn bound(&self, time: f64, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.crosses(time, middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// What of the walk stays within ±`bound`·√time at `time`.
    fn inside(&self, time: f64, bound: f64) -> Walk {
        let step = libm::sqrt(time - self.time);
        // Beyond nine deviations nothing is left to integrate.
        let edge = bound.min(9.0) * libm::sqrt(time);
        // A panel of 16 nodes resolves a kernel of its own width.
        let panels = (libm::ceil(2.0 * edge / step) as usize).clamp(6, 400);
        let half = edge / panels as f64;
        let mut points = Vec::with_capacity(panels * 16);
        for panel in 0..panels {
            let centre = -edge + (2 * panel + 1) as f64 * half;
            for (node, weight) in NODES {
                for sign in [-1.0, 1.0] {
                    let at = centre + sign * node * half;
                    let density: f64 = self
                        .points
                        .iter()
                        .map(|(from, w)| w * normal::density((at - from) / step) / step)
                        .sum();
                    points.push((at, density * weight * half));
                }
            }
        }
        Walk { time, points }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_look_spends_everything() {
        let found = bounds(&[15], 0.05).unwrap();
        assert!((found[0] - 1.959_963_984_540_054).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn five_equal_analyses_have_the_published_bounds() {
        // Two-sided α = .05 (ldbounds; Reboussin et al., Controlled Clinical Trials 21 (2000)).
        let found = bounds(&[1, 2, 3, 4, 5], 0.05).unwrap();
        for (bound, published) in found.iter().zip([4.8769, 3.3569, 2.6803, 2.2898, 2.0310]) {
            assert!((bound - published).abs() < 2e-4, "{found:?}");
        }
    }

    #[test]
    fn gradual_spending_has_the_bounds_of_another_integration() {
        // Two-sided α = .05, five equal analyses: by convolution on a grid of 24,000 points, good to some
        // 1e-4.
        let found = gradual(&[1, 2, 3, 4, 5], 0.05).unwrap();
        for (bound, published) in found.iter().zip([3.0902, 2.7141, 2.4728, 2.2798, 2.1140]) {
            assert!((bound - published).abs() < 5e-4, "{found:?}");
        }
    }

    #[test]
    fn what_ends_early_spends_at_its_end_what_is_left() {
        let whole = bounds(&[10, 16, 24, 40], 0.10).unwrap();
        assert_eq!(bounds_of(&[10, 16, 24, 40], 40, 0.10).unwrap(), whole);
        let ended = bounds_of(&[10, 16, 20], 40, 0.10).unwrap();
        assert_eq!(ended[..2], whole[..2]);
        // Nearly all of it is left, so that the last bound is nearly that of a single analysis.
        assert!(ended[2] > 1.6448 && ended[2] < 1.66, "{ended:?}");
        assert!((bounds_of(&[7], 40, 0.10).unwrap()[0] - 1.644_853_627).abs() < 1e-6);
        assert!(bounds_of(&[41], 40, 0.10).is_err());
    }

    #[test]
    fn many_analyses_cost_a_little_more_at_the_end() {
        let analyses: Vec<usize> = (1..=40).collect();
        let found = bounds(&analyses, 0.10).unwrap();
        assert!(found.windows(2).all(|pair| pair[1] < pair[0]), "{found:?}");
        let last = found[39];
        assert!(last > 1.70 && last < 1.95, "{last}");
    }

    #[test]
    fn analyses_out_of_order_are_refused() {
        assert!(bounds(&[], 0.05).is_err() && bounds(&[10, 10], 0.05).is_err());
        assert!(
            bounds(&[0, 10], 0.05).is_err()
                && bounds(&[10], 1.0).is_err()
                && bounds(&[10], f64::NAN).is_err()
        );
    }
}
