//! Two builds of a file: what differs, and all functions of both for a map.
//!
//! In: the bytes of a file, twice. Out: [`FileDiff`] by [`compare()`], and a [`FunctionPair`] for each function by
//! [`function_pairs`].

mod compare;
mod functions;

pub use compare::{
    CallDiff, Change, FileDiff, FindingGroup, FunctionDiff, Inspection, LevelChange, Moved,
    OptimisationChange, compare, inspect, inspect_with_code, plain_name, remaining,
};
pub use functions::{BuiltFunction, FunctionPair, function_pairs};
