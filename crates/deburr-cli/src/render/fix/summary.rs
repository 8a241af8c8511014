//! The sums of a run of `deburr fix`.

use super::manifest::Manifest;
use super::outcome::{Fixed, Left};
use deburr_cpu::Feature;
use deburr_patch::{Plan, Refused};
use std::collections::BTreeMap;

/// A run that is over.
#[derive(Debug, Default)]
pub(crate) struct FixSummary {
    /// Binaries that were planned for.
    pub(crate) files: u64,
    /// Of those, files with sites.
    pub(crate) files_with_sites: u64,
    /// Files with sites that were written.
    pub(crate) files_rewritten: u64,
    /// Files that need a feature if rewritten and did not before, by feature.
    pub(crate) files_needing: BTreeMap<Feature, u64>,
    pub(crate) sites: u64,
    /// Sites that spin where they fail.
    pub(crate) spinning: u64,
    pub(crate) refused: u64,
    /// Of those, barriers: candidates to leave out, and no atomics that were missed.
    pub(crate) barriers: u64,
    /// Files of trees that are no binaries.
    pub(crate) other_files: u64,
    /// By path.
    pub(crate) left: Vec<Left>,
    pub(crate) manifest: Option<Manifest>,
    /// Whether a directory was given.
    pub(crate) is_tree: bool,
    /// Packages that were looked into.
    pub(crate) packages: u64,
    /// Whether there is one package and nothing else.
    pub(crate) is_package: bool,
    /// Whether there may be several files.
    pub(crate) is_several: bool,
}

impl FixSummary {
    /// Counts one file.
    pub(crate) fn add(&mut self, fixed: &Fixed) {
        let Plan { sites, refused } = &fixed.plan;
        let is_written = fixed.written.as_ref().is_some_and(|written| written.is_changed);
        self.files += 1;
        self.files_with_sites += u64::from(!sites.is_empty());
        self.files_rewritten += u64::from(is_written);
        for feature in fixed.needs.iter() {
            *self.files_needing.entry(feature).or_default() += 1;
        }
        self.sites += sites.len() as u64;
        self.spinning += sites.iter().filter(|site| site.spins).count() as u64;
        self.refused += refused.len() as u64;
        self.barriers += refused.iter().filter(|refused| is_barrier(refused)).count() as u64;
    }
}

/// Whether a place is a barrier that stays: most barriers are needed, so that it is no shortcoming.
pub(super) fn is_barrier(refused: &Refused) -> bool {
    refused.rule == "barrier-around-atomic"
}
