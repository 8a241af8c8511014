//! Report stage: which findings count: those that the owner of a file can change, and those which mean that it does not run.
//!
//! In: a report. Out: its findings that count, and how many of the others each runtime has.

use super::model::{PlacedFinding, Report};
use crate::provenance::Origin;
use std::collections::BTreeMap;

impl Report {
    /// The findings that count.
    pub fn counted(&self) -> impl Iterator<Item = &PlacedFinding> + Clone {
        self.findings.iter().filter(|finding| finding.counted)
    }

    /// How many findings do not count, by who wrote their code.
    pub fn not_counted(&self) -> BTreeMap<Origin, u64> {
        let mut counts = BTreeMap::new();
        let uncounted = self.findings.iter().filter(|finding| !finding.counted);
        for origin in uncounted.filter_map(|finding| finding.origin) {
            let count: &mut u64 = counts.entry(origin).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }
}
