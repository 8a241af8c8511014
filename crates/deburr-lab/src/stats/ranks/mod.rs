//! Ranks of values, and Wilcoxon's signed-rank test upon them.

mod midranks;
pub mod signed_rank;

pub use midranks::{Rank, midranks, ties};
