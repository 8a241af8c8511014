//! From the bytes of a binary to a report on its machine code.
//!
//! ```text
//! bytes ──▶ Image ──▶ Function { Insn, Block, Loop } ──▶ Finding ──▶ Report
//!           image/     insn/   function/                 rule/       report
//! ```
//!
//! [`check`] is that line. Each stage takes what the stage before it made and knows nothing of the stages
//! after it. The crate opens no file, reads no clock and prints nothing: where it needs another file
//! (separate debug information), [`wanted_debug_file`] says which, and the caller brings its bytes.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod address;
pub mod advice;
pub mod check;
pub mod compare;
pub mod finding;
pub mod function;
pub mod image;
pub mod insn;
pub mod listing;
mod needs;
pub mod pattern;
pub mod report;
pub mod rule;
mod stated;

pub use address::Svma;
pub use check::{Request, StatedGuard, across, check, learn};
pub use compare::{compare, inspect};
pub use function::reach::Knowledge;
pub use image::{Error, wanted_debug_file};
pub use listing::{Place, Shown, View, listing};
pub use report::Report;
