//! Patch stage: what is wanted of a plan, and why a file has none.

use crate::unfit::Unfit;
use deburr_core::image::Error;
use deburr_cpu::FeatureSet;
use std::fmt;

/// What a loop pauses with where it had `yield`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pause {
    /// `isb`, which every CPU has.
    #[default]
    Isb,
    /// `sb`, for targets with FEAT_SB: elsewhere it is undefined.
    Sb,
}

/// What is wanted of a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanRequest<'a> {
    /// The separate debug file, if the caller has it: it names functions.
    pub debug_file: Option<&'a [u8]>,
    /// Features that every machine the file will run on has.
    pub target: Option<FeatureSet>,
    /// Ids of the rules whose findings to remove; `None`: all of [`RULES`](crate::RULES).
    pub rules: Option<&'a [&'a str]>,
    /// Leaves compare-and-swaps alone that try again at once where they fail: LSE takes the cache line for
    /// each.
    pub skip_spinning: bool,
    /// What takes the place of `yield`.
    pub pause: Pause,
    /// Writes what is longer than the sequence that it replaces into space added to the file.
    pub trampolines: bool,
}

/// Why a file has no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// It cannot be read.
    Unreadable(Error),
    /// It must not be changed.
    Unfit(Unfit),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Unreadable(error) => error.fmt(f),
            PlanError::Unfit(unfit) => unfit.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<Error> for PlanError {
    fn from(error: Error) -> PlanError {
        PlanError::Unreadable(error)
    }
}
