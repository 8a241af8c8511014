//! The driver's part that judges the whole file: the verdicts on its functions → the level it needs, and why.
//!
//! Levels follow the psABI and the Arm Architecture Reference Manual, as `deburr-cpu` has them.

use super::names::name_at;
use crate::function::Program;
use crate::function::reach::{self, Step, Verdict};
use crate::image::{ArrayKind, Image, Linkage};
use crate::insn::{self, Class, Operation};
use crate::report::{Hex, NeededBy, Reach, Report, Root};
use deburr_cpu::{Feature, FeatureSet};

/// Fills in what the file needs.
pub(crate) fn judge_file(
    report: &mut Report,
    image: &Image<'_>,
    linkage: Option<&Linkage<'_>>,
    program: &Program,
    verdicts: &[Verdict],
) {
    let is_needed = |verdict: &&Verdict| matches!(verdict.reach, Reach::Required | Reach::UnderGuarded);
    let needed = reach::features_of(verdicts.iter().filter(is_needed));
    let guarded = verdicts.iter().fold(FeatureSet::EMPTY, |all, verdict| all.union(verdict.guarded));
    (report.level, report.needed_beyond) = level_of(image, needed);
    if !guarded.is_empty() {
        let (level, beyond) = level_of(image, needed.union(guarded));
        (report.level_guarded, report.guarded_beyond) = (Some(level), beyond);
    }
    report.not_followed = verdicts.iter().filter(|verdict| verdict.reach == Reach::Unknown).count() as u64;
    report.xcr0_not_asked =
        guarded.with_implied().contains(Feature::XSAVE) && trusts_cpuid_alone(image, program);
    report.needed_by =
        reach::most_needing(image.arch, verdicts.iter().filter(is_needed)).map(|verdict| NeededBy {
            function: name_at(image, program, image.svma(verdict.start)),
            svma: Hex(image.place(image.svma(verdict.start)).1),
            root: root_of(image, linkage, verdict),
            from: Hex(verdict
                .path
                .first()
                .map_or(image.place(image.svma(verdict.start)).1, |step| image.place(step.svma).1)),
        });
}

/// Whether the file runs `cpuid`, and never `xgetbv`.
fn trusts_cpuid_alone(image: &Image<'_>, program: &Program) -> bool {
    let queries = program.marks().filter(|mark| mark.class == Class::FeatureQuery);
    let operations = queries.filter_map(|mark| {
        let svma = image.svma(mark.at);
        Some(insn::decode(image.arch, image.bytes_at(svma)?, svma)?.operation)
    });
    let (mut asks_cpu, mut asks_system) = (false, false);
    for operation in operations {
        asks_cpu |= operation == Operation::CpuId;
        asks_system |= operation == Operation::ReadExtendedControl;
    }
    asks_cpu && !asks_system
}

/// The smallest level of some features, and the names of those left over.
fn level_of(image: &Image<'_>, features: FeatureSet) -> (String, Vec<String>) {
    let (level, beyond) = deburr_cpu::smallest_level(image.arch, features);
    let beyond = beyond.minus(deburr_cpu::system_features(image.arch));
    let names = beyond.iter().map(Feature::name).map(str::to_owned).collect();
    (level.map_or("", |level| level.name).to_owned(), names)
}

/// What makes the beginning of a verdict's path run.
pub(crate) fn root_of(image: &Image<'_>, linkage: Option<&Linkage<'_>>, verdict: &Verdict) -> Option<Root> {
    let &Step { svma, is_function } = verdict.path.first()?;
    if !is_function {
        return Some(Root::Data);
    }
    if image.entry_point == Some(svma) {
        return Some(Root::EntryPoint);
    }
    let cells = linkage.map_or(&[][..], |linkage| &linkage.cells).iter().filter(|cell| cell.to == svma);
    let listed = cells.filter_map(|cell| {
        let array = image.arrays.iter().find(|(extent, _)| extent.start <= cell.at && cell.at < extent.end);
        array.map(|&(_, kind)| kind)
    });
    Some(match listed.min() {
        Some(ArrayKind::Preinit) => Root::PreinitArray,
        Some(ArrayKind::Init) => Root::InitArray,
        Some(ArrayKind::Fini) => Root::FiniArray,
        None if image.entries.contains(&svma) => Root::Loader,
        None if linkage.is_some_and(|linkage| linkage.resolvers.contains(&svma)) => Root::Loader,
        None => Root::Exported,
    })
}
