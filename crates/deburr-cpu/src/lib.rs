//! What a CPU offers and what a program needs, in one vocabulary: features, levels, CPU names, the host.
//!
//! This crate is the contract between the programs of deburr, and holds nothing that they do not share.

#![no_std]

#[cfg(test)]
extern crate std;

mod feature;
mod level;

pub use feature::{Arch, Feature, FeatureSet};
pub use level::{Level, levels, smallest_level};
