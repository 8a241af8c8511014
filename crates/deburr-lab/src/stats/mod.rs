//! The statistics of `deburr compare`: numbers in, numbers out. No clock, no I/O, no printing; every seed is an argument.
//!
//! Orientation: larger is better, everywhere here. [`Direction`] is the one place that turns a time into that.
//!
//! | question | module |
//! |---|---|
//! | better, worse, same, and when to stop | [`verdict`], with its bounds from [`spending`] |
//! | by how much, in which interval | [`effect`], with its test from [`signed_rank`] |
//! | does the place in a pair matter | [`position`] |
//! | how probable is each, from pairs | [`paired`], and [`bootstrap`] beside it |
//! | how probable is each, from two separate samples | [`unpaired`] |
//! | may these runs be trusted | [`drift`], [`modes`], [`load`] |
//! | what does placement alone do | [`placement`] |
//! | what would benchstat print | [`benchstat`] |
//! | several metrics at once | [`holm`] |
//!
//! Logarithms, exponentials and gamma functions are those of the `libm` crate: the same bits on every machine, so that a
//! recorded seed gives the same result anywhere. Its log-gamma is FreeBSD's, as Go's is, to the bit.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![forbid(unsafe_code)]

pub mod benchstat;
pub mod bootstrap;
mod direction;
pub mod drift;
pub mod effect;
mod error;
pub mod holm;
pub mod load;
pub mod modes;
pub mod moments;
pub mod normal;
pub mod paired;
pub mod placement;
pub mod position;
mod probabilities;
pub mod quadrature;
pub mod random;
pub mod ranks;
mod rope;
pub mod signed_rank;
pub mod spending;
pub mod student;
pub mod unpaired;
pub mod verdict;
pub mod warning;

pub use direction::Direction;
pub use error::Error;
pub use probabilities::Probabilities;
pub use rope::Rope;
