//! A pair as statistics see it: how far B is ahead, and whose run was first.
//!
//! The log ratio is positive where B is better ([`super::Direction`]). Whose run was first matters for the
//! effect of the position in a pair.

use crate::side::Side;

/// A pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The log ratio of B to A, positive where B is better.
    pub ratio: f64,
    /// Whose run was first, where that is known.
    pub first: Option<Side>,
}

impl From<f64> for Difference {
    fn from(ratio: f64) -> Difference {
        Difference { ratio, first: None }
    }
}
