//! What can be wrong with numbers handed in.
//!
//! One type for all of `stats`, with the index of the offending value, and the checks of whole samples that
//! several modules share.

use std::fmt;

/// Why no statistic was computed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Too few values.
    TooFew {
        /// How many it takes.
        needed: usize,
        /// How many there were.
        got: usize,
    },
    /// A value that is not a number, or infinite.
    NotFinite {
        /// Which value, from 0.
        index: usize,
    },
    /// A value that has no logarithm, or a mean that has no ratio: relative differences need positive ones.
    NotPositive {
        /// Which value, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// Two sides of pairs of different lengths.
    NotPaired {
        /// Values of A.
        a: usize,
        /// Values of B.
        b: usize,
    },
    /// A setting outside its range.
    OutOfRange {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: f64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::TooFew { needed, got } => write!(f, "{got} values where at least {needed} are needed"),
            Error::NotFinite { index } => {
                write!(f, "value {} is not a finite number", index.saturating_add(1))
            }
            Error::NotPositive { index, value } => {
                write!(
                    f,
                    "value {} is {value}: relative differences need positive numbers",
                    index.saturating_add(1)
                )
            }
            Error::NotPaired { a, b } => write!(f, "{a} values of A and {b} of B do not make pairs"),
            Error::OutOfRange { name, value } => write!(f, "{name} cannot be {value}"),
        }
    }
}

impl std::error::Error for Error {}

/// That every value is a finite number.
///
/// # Errors
/// [`Error::NotFinite`] with the first that is not.
pub(crate) fn finite(values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NotFinite { index }),
        None => Ok(()),
    }
}

/// That there are at least `needed` values, all of them finite.
///
/// # Errors
/// [`Error::TooFew`] or [`Error::NotFinite`].
pub(crate) fn at_least(needed: usize, values: &[f64]) -> Result<(), Error> {
    if values.len() < needed {
        return Err(Error::TooFew { needed, got: values.len() });
    }
    finite(values)
}
