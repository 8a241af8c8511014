//! Runs kernels: threads on cells of memory, for a fixed time → rates, and what is said of them.
//!
//! [`run`] starts threads and reads clocks, and knows no statistics. [`experiment`] decides which variant runs when, until
//! [`crate::comparison`] has decided between each of them and the first. [`record`] is what is
//! kept of them, with the [`machine`] that they ran on and the [`moment`]; [`forecast`] is what [`crate::model`] predicts from
//! one.

pub mod cost;
pub mod evidence;
#[cfg(test)]
mod example;
pub mod experiment;
pub mod forecast;
pub mod machine;
pub mod moment;
pub mod pace;
pub mod record;
pub mod run;
