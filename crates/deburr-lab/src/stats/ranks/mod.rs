//! Ranks of values, and Wilcoxon's signed-rank test upon them.
//!
//! Mann and Whitney's test is in [`super::benchstat`], as benchstat has it; it uses the same ranks.

mod midranks;
pub mod signed_rank;

pub use midranks::{Rank, midranks, ties};
