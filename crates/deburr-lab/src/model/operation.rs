//! What threads do to the line, and how often one of them costs how much alone.

use super::constants::{LONGEST_NS, within};
use super::error::ModelError;

/// The most threads that are simulated.
pub const MOST_THREADS: usize = 1024;

/// The least that an operation may cost, in nanoseconds.
const LEAST_COST_NS: f64 = 1e-2;

/// What a compare-and-swap loop's first load takes of the loop's cost alone. A load that hits is published as 2.0 ns where
/// the loop is 24.4 ns (`evidence/atomics_microbench.csv`, machine A, one thread).
pub(super) const LOAD_PART: f64 = 0.1;

/// What takes effect on the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// Only reads: a load, or a compare-and-swap by LL/SC whose comparison fails, so that it never stores.
    Read,
    /// One instruction on a line that its core owns: LSE, lock-prefixed, a store. Nobody interrupts it.
    Near,
    /// One instruction that the line's home carries out: LSE, executed far.
    Far,
    /// A load-exclusive, and after the window a store-exclusive, which fails if another thread took the line meanwhile.
    Exclusive {
        /// The part of the cost alone that passes between the two, from 0 to 1.
        window: f64,
        /// How the load-exclusive gets the line.
        load: LoadExclusive,
    },
    /// A load, then a compare-and-swap that owns the line, with the value found until it succeeds.
    CompareAndSwapLoop,
}

/// How a load-exclusive gets the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadExclusive {
    /// To read; the store-exclusive requests to own it. Only another thread's success makes it fail.
    Shared,
    /// To own it at once. Every thread that loads takes the line away from the one before, which is how a livelock begins.
    Owned,
}

impl Operation {
    /// LL/SC as constants are fitted for it: half of the cost between the two, and the line loaded to be read.
    pub const EXCLUSIVE: Operation = Operation::Exclusive { window: 0.5, load: LoadExclusive::Shared };
}

/// Threads that repeat one operation on one line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// What each does.
    pub operation: Operation,
    /// How many there are.
    pub threads: usize,
    /// What an operation costs a thread that is alone, in nanoseconds.
    pub cost_ns: f64,
    /// What passes between two operations of a thread, in nanoseconds.
    pub think_ns: f64,
}

impl Workload {
    /// Whether it can be simulated.
    ///
    /// # Errors
    /// [`ModelError`] where a number is none, or outside of what makes sense.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.threads == 0 || self.threads > MOST_THREADS {
            return Err(ModelError::Threads { threads: self.threads, allowed: MOST_THREADS });
        }
        within("cost_ns", self.cost_ns, (LEAST_COST_NS, LONGEST_NS))?;
        within("think_ns", self.think_ns, (0.0, LONGEST_NS))?;
        match self.operation {
            Operation::Exclusive { window, .. } => within("window", window, (0.0, 1.0)),
            _ => Ok(()),
        }
    }
}
