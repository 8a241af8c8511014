//! What a profile says of a file, for the page: how much of the time was spent where.
//!
//! The page is drawn with and without: each value is optional, and what nobody measured is left out of it.

use crate::render::check::text::profile::{said_by, seen};
use deburr_core::Report;
use deburr_core::listing::{FunctionSize, Listing};
use deburr_core::profile::Share;
use deburr_core::report::{Hex, PlacedFinding};
use std::collections::HashMap;
use std::fmt::Debug;

/// A share of all that the profile saw, from 0 to 1.
pub(crate) type Weight = f64;

/// A place in a file: a section, in relocatable objects, and an address as the report has it.
pub(crate) type WeighedPlace<'p> = (Option<&'p str>, Hex);

/// What a profile says of one file.
pub(crate) trait Weights: Debug {
    /// What it saw of the file, in words, and the file's share.
    fn profile(&self) -> Option<(String, Weight)> {
        None
    }

    /// What the function at a place has, its callees not counted.
    fn function(&self, _place: WeighedPlace<'_>) -> Option<Weight> {
        None
    }

    /// What the code that a finding is about has, and what says so where that is not the code itself.
    fn finding(&self, _finding: &PlacedFinding) -> Option<(Weight, Option<&'static str>)> {
        None
    }

    /// What the instruction at a place has.
    fn instruction(&self, _place: WeighedPlace<'_>) -> Option<Weight> {
        None
    }
}

/// The weights of a report and its listings.
#[derive(Debug)]
pub(crate) struct Weighed {
    profile: Option<(String, Weight)>,
    functions: HashMap<u64, Share>,
    instructions: HashMap<u64, Share>,
}

impl Weighed {
    pub(crate) fn of(report: &Report, listings: &[Listing], sizes: &[FunctionSize]) -> Weighed {
        let Some(profile) = &report.profile else {
            return Weighed { profile: None, functions: HashMap::new(), instructions: HashMap::new() };
        };
        let of_size =
            |size: &FunctionSize| Some((size.svma.0, size.share.filter(|share| *share != Share::default())?));
        let lines = listings.iter().flat_map(|listing| &listing.insns);
        Weighed {
            profile: Some((seen(profile), profile.share.fraction())),
            functions: sizes.iter().filter_map(of_size).collect(),
            instructions: lines
                .filter_map(|line| {
                    Some((line.svma.0, line.share.filter(|share| *share != Share::default())?))
                })
                .collect(),
        }
    }
}

impl Weights for Weighed {
    fn profile(&self) -> Option<(String, Weight)> {
        self.profile.clone()
    }

    fn function(&self, (section, svma): WeighedPlace<'_>) -> Option<Weight> {
        let known = self.functions.get(&svma.0).filter(|_| section.is_none());
        known.map(|share| share.fraction())
    }

    fn finding(&self, finding: &PlacedFinding) -> Option<(Weight, Option<&'static str>)> {
        let weight = finding.weight.filter(|weight| weight.share != Share::default())?;
        Some((weight.share.fraction(), said_by(weight.by)))
    }

    fn instruction(&self, (section, svma): WeighedPlace<'_>) -> Option<Weight> {
        self.instructions.get(&svma.0).filter(|_| section.is_none()).map(|share| share.fraction())
    }
}
