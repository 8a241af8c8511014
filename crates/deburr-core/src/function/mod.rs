//! Functions: where each begins and ends, its blocks and loops, and what the sweep found in it.
//!
//! In: an [`Image`](crate::image::Image). Out: a [`Program`], made by [`discover()`], which accounts for every
//! executable byte. Blocks and loops are built only for the functions that a rule needs them for.

pub mod atomics;
pub mod block;
pub mod codegen;
pub mod coverage;
mod data;
mod discover;
pub(crate) mod ifunc;
mod known;
pub mod loops;
mod offsets;
mod owners;
mod padding;
mod partition;
mod program;
pub mod reach;
pub mod spin;
mod streaming;

pub use discover::discover;
pub use program::{Function, Program};
