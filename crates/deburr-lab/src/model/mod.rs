//! Contention on a machine that one does not have: what N threads get out of one cache line. In preview.
//!
//! In: [`Constants`] of a machine and a [`Workload`]. Out: an [`Outcome`] with rate, fairness, longest wait and retries.
//! [`simulate()`] plays the line's ownership as discrete events. Pure: no clock, no thread, no file; random numbers come from a seed.

mod agenda;
pub mod constants;
pub mod error;
mod line;
pub mod operation;
pub mod simulate;
pub mod tally;

pub use constants::{Arbitration, Constants, Topology};
pub use error::ModelError;
pub use operation::{LoadExclusive, MOST_THREADS, Operation, Workload};
pub use simulate::{Effort, simulate};
pub use tally::Outcome;
pub mod evaluate;
pub mod fit;
pub mod published;
