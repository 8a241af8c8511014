//! What verdicts say about the whole file.
//!
//! In: some verdicts. Out: what they need together, and the one that needs most.

use crate::function::reach::verdict::evidence::Verdict;
use crate::function::reach::verdict::kind::Reach;
use deburr_cpu::{Arch, FeatureSet};
use std::cmp::Reverse;

/// What the functions of some verdicts need together.
pub fn features_of<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> FeatureSet {
    verdicts.fold(FeatureSet::EMPTY, |all, verdict| all.union(verdict.features))
}

/// Turns `unknown` into `covered` where the machines that the file needs have all that the function needs.
pub(crate) fn cover(arch: Arch, verdicts: &mut [Verdict]) {
    let needed = features_of(verdicts.iter().filter(|verdict| verdict.reach.is_unsafe()));
    let (level, _) = deburr_cpu::smallest_level(arch, needed);
    let covered = needed.union(level.map_or(FeatureSet::EMPTY, |level| level.features));
    let unknown = verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unknown);
    for verdict in unknown.filter(|verdict| verdict.features.is_subset(covered)) {
        verdict.reach = Reach::Covered;
    }
}

/// The verdict that most raises what a file needs: the highest level first, then what has no check at all, then the
/// shortest path.
pub fn most_needing<'v>(arch: Arch, verdicts: impl Iterator<Item = &'v Verdict>) -> Option<&'v Verdict> {
    verdicts.max_by_key(|verdict| {
        let (level, beyond) = deburr_cpu::smallest_level(arch, verdict.features);
        let place = deburr_cpu::levels(arch).iter().position(|known| Some(known) == level);
        (
            place,
            !beyond.is_empty(),
            verdict.reach == Reach::Required,
            Reverse(verdict.path.len()),
            Reverse(verdict.start),
        )
    })
}
