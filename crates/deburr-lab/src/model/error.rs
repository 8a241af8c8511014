//! Why the model gives no number.

use std::fmt;

/// Why nothing is simulated, fitted or read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelError {
    /// A constant or a cost is outside of what makes sense, or no number.
    Constant {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: f64,
        /// What is allowed, both ends included.
        allowed: (f64, f64),
    },
    /// There are no threads, or more than are simulated.
    Threads {
        /// How many.
        threads: usize,
        /// How many there may be.
        allowed: usize,
    },
    /// Too few operations or events were allowed to measure anything.
    Effort,
    /// So many events passed, and no operation was completed: threads take the line from each other indefinitely.
    NoProgress {
        /// How many.
        events: u64,
    },
    /// There is nothing to fit constants to.
    NothingToFit,
    /// A line of a table is not what it should be.
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is expected there.
        expected: &'static str,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Constant { name, value, allowed: (least, greatest) } => {
                write!(f, "{name} is {value}, and must be from {least} to {greatest}")
            }
            ModelError::Threads { threads, allowed } => {
                write!(f, "{threads} threads, where the model takes 1 to {allowed}")
            }
            ModelError::Effort => write!(f, "no operations or no events to simulate"),
            ModelError::NoProgress { events } => {
                write!(f, "no operation was completed in {events} events: a livelock")
            }
            ModelError::NothingToFit => write!(f, "no contended measurement to fit the model to"),
            ModelError::Line { line, expected } => write!(f, "line {line}: expected {expected}"),
        }
    }
}

impl std::error::Error for ModelError {}
