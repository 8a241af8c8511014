//! The region of practical equivalence (ROPE): differences too small to matter.
//!
//! d is relative (0.01: one percent); on the scale of log ratios the region is [−L, L] with L = ln(1 + d),
//! the same whichever side is called A. Kruschke, Rejecting or accepting parameter values in Bayesian
//! estimation, AMPPS 1 (2018).

use super::error::Error;

/// A region of practical equivalence, symmetric on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rope {
    relative: f64,
}

impl Rope {
    /// One percent, as the published verdicts have it.
    pub const ONE_PERCENT: Rope = Rope { relative: 0.01 };

    /// A region of `relative` = d to each side, as a fraction: 0.01 is one percent. 0 is allowed: nothing is
    /// then *same*.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless d is finite and at least 0.
    pub fn new(relative: f64) -> Result<Rope, Error> {
        if relative.is_finite() && relative >= 0.0 {
            Ok(Rope { relative })
        } else {
            Err(Error::OutOfRange { name: "the region of equivalence", value: relative })
        }
    }

    /// d, as a fraction.
    pub fn relative(self) -> f64 {
        self.relative
    }

    /// 1 + d.
    pub fn factor(self) -> f64 {
        1.0 + self.relative
    }

    /// L = ln(1 + d): the half width on the scale of log ratios.
    pub fn half_width(self) -> f64 {
        libm::log1p(self.relative)
    }
}
