//! Renderers: what a verb found → text for people or documents for programs. They compute layout only. Those of
//! `check` and `fix` write each file when it comes, and hold no findings of a run; `diff` has all comparisons before it writes.

pub(crate) mod bench;
pub(crate) mod by_function;
pub(crate) mod check;
pub(crate) mod compare;
mod csv;
pub(crate) mod diff;
pub(crate) mod emulate;
pub(crate) mod fix;
mod json;
pub(crate) mod listing;
pub(crate) mod page;
pub(crate) mod style;
