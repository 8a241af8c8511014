//! What a profile says of a file, for the page: how much of the time was spent where.
//!
//! The page is drawn with and without: each value is optional, and what nobody measured is left out of it.

use deburr_core::report::{Hex, PlacedFinding};
use std::fmt::Debug;

/// A part of a profile: its share of all samples, from 0 to 1, and its number of samples.
pub(crate) type Weight = (f64, u64);

/// A place in a file: a section, in relocatable objects, and an address as the report has it.
pub(crate) type WeighedPlace<'p> = (Option<&'p str>, Hex);

/// What a profile says of one file.
pub(crate) trait Weights: Debug {
    /// What was counted, as people say it (`cycles on 8 CPUs for 30 s`), and what the file has of all samples.
    fn profile(&self) -> Option<(&str, Weight)> {
        None
    }

    /// What the function at a place has, its callees not counted.
    fn function(&self, _place: WeighedPlace<'_>) -> Option<Weight> {
        None
    }

    /// What the code that a finding is about has.
    fn finding(&self, _finding: &PlacedFinding) -> Option<Weight> {
        None
    }

    /// What the instruction at a place has.
    fn instruction(&self, _place: WeighedPlace<'_>) -> Option<Weight> {
        None
    }
}

/// No profile.
#[derive(Debug)]
pub(crate) struct Unweighed;

impl Weights for Unweighed {}
