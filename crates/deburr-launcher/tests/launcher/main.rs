//! The launcher as a program: what it starts, on which CPU, and what it says where it cannot.
//!
//! Variants are tiny static programs that print their level and what they were given.

mod aarch64;
mod failures;
mod rule;
mod single;
mod starts;
mod tree;
