//! Distributions: normal and Student's t with their tails and quantiles, integrals over them, and random
//! numbers.

pub mod normal;
pub mod quadrature;
pub mod random;
pub mod student;
