//! Two builds of a file: what differs, and all functions of both for a map.
//!
//! In: the bytes of a file, twice. Out: [`FileDiff`] by [`compare()`], whether that is worse by its [`Balance`], and a [`FunctionPair`] for each function by
//! [`function_pairs`].

mod balance;
mod build;
mod compare;
mod functions;

pub use balance::Balance;
pub use build::{Aspect, BuildChange};
pub use compare::{
    CallDiff, Change, FileDiff, FindingGroup, FunctionDiff, Inspection, LevelChange, Moved,
    OptimisationChange, compare, inspect, inspect_with_code, plain_name, remaining,
};
pub use functions::{BuiltFunction, FunctionPair, function_pairs};
