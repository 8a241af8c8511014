//! Verdict limits: why runs allow no verdict, whatever they say.
//!
//! In: the order of the runs, whether the machine drifted, and how many pairs were contaminated. Out: the
//! limit that applies, if any. What the place in a pair adds to these is in [`super::position`].

use super::load;
use crate::side::Side;
use std::fmt;

/// Why the data allow no verdict, whatever they say.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum VerdictLimit {
    /// The order of the runs is not known.
    UnknownOrder,
    /// All runs of A came before those of B (or the like), and the machine drifted.
    BlockedWithDrift,
    /// Too many pairs ran under foreign load.
    Contaminated {
        /// Their share of the accepted pairs.
        share: f64,
    },
    /// In too many pairs a hypervisor took the processors away.
    Stolen {
        /// The share of the accepted pairs that were disturbed, most of them by that.
        share: f64,
    },
    /// One side ran first in nearly all pairs: what that does cannot be known.
    FirstTooOften {
        /// Which side.
        side: Side,
        /// In how many pairs.
        first: usize,
        /// Of how many.
        pairs: usize,
    },
}

impl fmt::Display for VerdictLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerdictLimit::UnknownOrder => f.write_str("the order of the runs is not known"),
            VerdictLimit::BlockedWithDrift => {
                f.write_str("the sides were measured one after the other while the machine drifted")
            }
            VerdictLimit::Contaminated { share } => {
                write!(f, "{:.0} % of the pairs ran during foreign load", 100.0 * share)
            }
            VerdictLimit::Stolen { share } => write!(
                f,
                "in {:.0} % of the pairs a hypervisor took the processor away, which decides here more than the builds do; \
                 `--metric cpu` counts only the time that the program itself computed",
                100.0 * share
            ),
            VerdictLimit::FirstTooOften { side, first, pairs } => {
                write!(
                    f,
                    "{side} ran first in {first} of {pairs} pairs, so that nobody can say what running first does"
                )
            }
        }
    }
}

/// The order in which the runs were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// In pairs, one run of each side.
    Interleaved,
    /// One side after the other.
    Blocked,
    /// Not known, as of a file of numbers.
    Unknown,
}

/// The limit that applies, if any; `drifts` is [`super::drift::Drift::fires`].
pub fn verdict_limit(order: Order, drifts: bool, contaminated: usize, pairs: usize) -> Option<VerdictLimit> {
    match order {
        Order::Unknown => return Some(VerdictLimit::UnknownOrder),
        Order::Blocked if drifts => return Some(VerdictLimit::BlockedWithDrift),
        Order::Blocked | Order::Interleaved => {}
    }
    let share = contaminated as f64 / pairs.max(1) as f64;
    (share > load::TOO_MANY).then_some(VerdictLimit::Contaminated { share })
}
