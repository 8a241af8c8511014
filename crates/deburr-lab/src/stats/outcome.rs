//! The four things that may be said of B: better, worse, same, inconclusive.
//!
//! Posteriors, intervals and warnings all speak of them. Their names are part of the output.

use std::fmt;

/// What is said of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// B is better by more than the region of equivalence.
    Better,
    /// B is worse by more than the region of equivalence.
    Worse,
    /// The difference is within the region of equivalence.
    Same,
    /// Nothing is proven.
    Inconclusive,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Same => "same",
            Outcome::Inconclusive => "inconclusive",
        })
    }
}
