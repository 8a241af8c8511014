//! Evidence as z: what an analysis demands, and what the t posterior has.
//!
//! A z says how many standard deviations of a normal distribution the evidence is worth. The signed ranks
//! have theirs in [`super::effect`], as an interval.

use crate::stats::distributions::normal;
use crate::stats::outcome::Outcome;
use crate::stats::posterior::paired::Posterior;
use crate::stats::rope::Rope;

/// The share of the error that a difference between equal builds may have.
pub const STRICTER: f64 = 0.1;

/// The evidence that an analysis demands, as z: how many standard deviations of a normal distribution it is
/// worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bound {
    /// Against the edges of the region.
    pub(super) edge: f64,
    /// Against 0, by what says that there is a difference.
    pub(super) zero: f64,
}

/// Evidence about the mean against both edges, as z: how many standard deviations of a normal distribution it
/// is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// That θ > L.
    pub above_upper: f64,
    /// That θ < L.
    pub below_upper: f64,
    /// That θ > −L.
    pub above_lower: f64,
    /// That θ < −L.
    pub below_lower: f64,
}

impl Evidence {
    /// Of the t posterior, which knows the effective number of pairs.
    pub fn of_posterior(posterior: &Posterior, rope: Rope) -> Evidence {
        let edge = rope.half_width();
        // What is left of the other side, so that a tail keeps its digits.
        let z = |doubt: f64| -normal::quantile(doubt);
        Evidence {
            above_upper: z(posterior.below(edge)),
            below_upper: z(posterior.above(edge)),
            above_lower: z(posterior.below(-edge)),
            below_lower: z(posterior.above(-edge)),
        }
    }

    /// What is proven at `bound`, if anything.
    pub fn decides(&self, bound: f64) -> Option<Outcome> {
        if self.above_upper >= bound {
            Some(Outcome::Better)
        } else if self.below_lower >= bound {
            Some(Outcome::Worse)
        } else if self.below_upper >= bound && self.above_lower >= bound {
            Some(Outcome::Same)
        } else {
            None
        }
    }
}
