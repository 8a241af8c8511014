//! From runs of two builds to a verdict: is B really better than A?
//!
//! In: what each run took, in the order of the runs. Out: *better*, *worse*, *same* or *inconclusive*, with the size of the
//! effect, four probabilities and the warnings that belong to them.

pub mod benchfmt;
pub mod stats;
