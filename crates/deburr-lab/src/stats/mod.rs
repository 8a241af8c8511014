//! The statistics of `deburr compare`: numbers in, numbers out. No clock, no I/O, no printing; every seed is
//! an argument.
//!
//! Orientation: larger is better, everywhere here. [`Direction`] is the one place that turns a time into
//! that.
//!
//! | question | module |
//! |---|---|
//! | better, worse, same, and when to stop | [`verdict`], with its bounds from [`spending`] |
//! | by how much, in which interval | [`effect`], with its test from [`signed_rank`] |
//! | does the place in a pair matter | [`position`] |
//! | how probable is each, from pairs | [`paired`], and also [`bootstrap`] |
//! | how probable is each, from two separate samples | [`unpaired`] |
//! | may these runs be trusted | [`drift`], [`modes`], [`load`], [`tails`] |
//! | what does placement alone do | [`placement`] |
//! | what would benchstat print | [`benchstat`] |
//! | several metrics at once | [`holm`] |
//! | does the level change from record to record | [`change_points`] |
//!
//! Logarithms, exponentials and gamma functions are those of the `libm` crate: the same bits on every
//! machine, so that a recorded seed gives the same result anywhere. Its log-gamma is FreeBSD's, as Go's is,
//! to the bit.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![forbid(unsafe_code)]

pub mod benchstat;
pub mod change_points;
pub mod difference;
mod direction;
mod distributions;
mod error;
pub mod moments;
mod outcome;
mod posterior;
pub mod ranks;
mod rope;
mod validity;
pub mod verdict;

pub use direction::Direction;
pub use distributions::{normal, quadrature, random, student};
pub use error::Error;
pub use posterior::probabilities::Probabilities;
pub use posterior::{bootstrap, paired, unpaired};
pub use ranks::signed_rank;
pub use rope::Rope;
pub use validity::{drift, load, modes, placement, position, tails};
pub use verdict::{effect, holm, spending, warning};
