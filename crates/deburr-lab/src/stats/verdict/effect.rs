//! Pairs at an interim analysis → the effect on the typical pair, the interval that holds it, and the verdict
//! that follows.
//!
//! The interval has exactly the effects that the signed-rank test does not reject at the bounds of this
//! analysis, so that verdict and interval are one computation: *better* is an interval that is wholly above
//! the region of equivalence, *worse* one that is wholly below it, *same* one that is wholly inside. At all
//! analyses together it holds the effect with 1 − α: a repeated confidence interval (Jennison & Turnbull,
//! Interim analyses: the repeated confidence interval approach, JRSS B 51 (1989)).
//!
//! Two things only ever widen it:
//!
//! - A *different* has to exclude 0, too, at [`STRICTER`] of the error: where noise is so large that the
//!   region is next to nothing, 5 % at each edge would be nearly 10 % of equal builds.
//! - Where one side ran first more often, what the place in a pair does moves the pairs: the interval is that
//!   of the pairs as they are and of the pairs without it.

use super::evidence::Bound;
pub use super::evidence::STRICTER;
pub use crate::stats::difference::Difference;
use crate::stats::error::Error;
use crate::stats::outcome::Outcome;
use crate::stats::ranks::signed_rank;
use crate::stats::rope::Rope;
use crate::stats::validity::position;

/// The effect on the typical pair, as a log ratio: positive where B is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Hodges and Lehmann's estimate.
    pub estimate: f64,
    /// Its interval, the lower end first: it holds the estimate. `None` where the pairs are too few for any.
    pub interval: Option<(f64, f64)>,
    /// The probability with which the interval holds the effect, at all interim analyses together.
    pub level: f64,
    /// The pairs that both are of: the first ones.
    pub pairs: usize,
}

impl Effect {
    /// At an analysis, of an experiment with an error of `alpha`. `effective` is n_e.
    pub(super) fn at(
        pairs: &[Difference],
        effective: f64,
        bound: Bound,
        alpha: f64,
        rope: Rope,
    ) -> Result<Effect, Error> {
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
        let shift = position::shift(pairs);
        let located = |z: f64| {
            let found = signed_rank::location(&ratios, effective, z)?;
            let interval = found.interval.map(|(low, high)| (low.min(low - shift), high.max(high - shift)));
            Ok(Effect { estimate: found.estimate, interval, level: 1.0 - alpha, pairs: pairs.len() })
        };
        let effect = located(bound.edge)?;
        if !matches!(effect.says(rope), Some(Outcome::Better | Outcome::Worse)) {
            return Ok(effect);
        }
        let strict = Effect { level: 1.0 - STRICTER * alpha, ..located(bound.zero)? };
        let excludes_zero = strict.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        Ok(if excludes_zero { effect } else { strict })
    }

    /// Of pairs that no analysis was made of.
    pub(super) fn unanalysed(ratios: &[f64], alpha: f64) -> Result<Effect, Error> {
        let estimate = signed_rank::location(ratios, ratios.len() as f64, 0.0)?.estimate;
        Ok(Effect { estimate, interval: None, level: 1.0 - alpha, pairs: ratios.len() })
    }

    /// What the interval proves, if anything.
    pub fn says(&self, rope: Rope) -> Option<Outcome> {
        let ((low, high), edge) = (self.interval?, rope.half_width());
        if low > edge {
            Some(Outcome::Better)
        } else if high < -edge {
            Some(Outcome::Worse)
        } else if low > -edge && high < edge {
            Some(Outcome::Same)
        } else {
            None
        }
    }
}
