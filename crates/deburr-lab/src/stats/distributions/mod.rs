//! Distributions: normal and Student's t with their tails and quantiles, integrals over them, and random
//! numbers.
//!
//! Pure functions of numbers, and a generator that is seeded. Everything above builds on them, and they on
//! `libm` only.

pub mod normal;
pub mod quadrature;
pub mod random;
pub mod student;
