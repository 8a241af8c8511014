//! Posteriors: how probable it is that B is worse, the same or better, by three models.
//!
//! [`paired`] is the t posterior of the pairs, [`bootstrap`] the same without a normal distribution,
//! [`unpaired`] the model of two separate samples. Each gives [`probabilities::Probabilities`].

pub mod bootstrap;
pub mod paired;
pub(super) mod probabilities;
pub mod unpaired;
