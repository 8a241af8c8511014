//! The driver's part that judges the whole file: the verdicts on its functions → the level it needs, and why.
//!
//! Levels follow the psABI and the Arm Architecture Reference Manual, as `deburr-cpu` has them.

use super::names::name_at;
use super::saved_registers::trusts_cpuid_alone;
use crate::address::Extent;
use crate::danger::refused::Limit;
use crate::function::Program;
use crate::function::reach::{Checks, Need, Refusal, Step, Verdict};
use crate::image::{ArrayKind, Image, Linkage};
use crate::report::{self, Hex, NeededBy, Offered, Reach, Report, Root, RunsOn};
use deburr_cpu::{Feature, FeatureSet, Level};

/// Fills in what the file needs.
pub(crate) fn judge_file(
    report: &mut Report,
    (image, program): (&Image<'_>, &Program),
    (linkage, checks): (Option<&Linkage<'_>>, Option<&Checks>),
    verdicts: &[Verdict],
) {
    let refusal = checks.and_then(|checks| checks.refusal.as_ref());
    let refused = checks.map_or(FeatureSet::EMPTY, |checks| checks.refused(image.arch, FeatureSet::EMPTY));
    let need = Need::with_refusal(image.arch, verdicts, refused);
    report.refuses = refusal.map(|refusal| told(image, program, refusal));
    let checked = |verdict: &Verdict| match verdict.reach {
        Reach::UnderGuarded => verdict.guarded.union(verdict.features),
        _ => verdict.guarded,
    };
    let guarded = verdicts.iter().fold(FeatureSet::EMPTY, |all, verdict| all.union(checked(verdict)));
    report.level = need.level.map_or("", |level| level.name).to_owned();
    report.needed_beyond = names(need.beyond);
    report.needed_features = names(need.features.strongest());
    if !guarded.is_empty() {
        let least = need.level.map_or(FeatureSet::EMPTY, |level| level.features);
        let (level, beyond) =
            deburr_cpu::smallest_level(image.arch, need.features.union(guarded).union(least));
        report.level_guarded = Some(level.map_or("", |level| level.name).to_owned());
        report.guarded_beyond = names(beyond.minus(deburr_cpu::system_features(image.arch)));
    }
    let with_beyond = |level: &&Level| need.runs_on(level.features.union(need.beyond).with_implied());
    // A file that endangers none runs on all.
    let mut dying = deburr_cpu::cpus_by_features(image.arch);
    dying.retain(|(_, features)| need.endangers_any() && !need.runs_on(*features));
    // A level is all known machines that have it, and not only one that has nothing more.
    let has_no_dying = |level: &&Level| {
        let features = level.features.union(need.beyond).with_implied();
        !dying.iter().any(|(_, has)| features.is_subset(*has))
    };
    let levels = deburr_cpu::levels(image.arch).iter().filter(with_beyond).filter(has_no_dying);
    report.runs_on = RunsOn {
        levels: levels.map(|level| level.name.into()).collect(),
        not: dying.iter().map(|(name, _)| name.clone()).collect(),
    };
    report.offered = offered(image, verdicts);
    report.not_followed = verdicts.iter().filter(|verdict| verdict.reach == Reach::Unknown).count() as u64;
    report.xcr0_not_asked = trusts_cpuid_alone((image, program), linkage, checks, verdicts);
    report.needed_by = need.most_needing(verdicts.iter()).map(|verdict| NeededBy {
        function: name_at(image, program, image.svma(verdict.start)),
        svma: Hex(image.place(image.svma(verdict.start)).1),
        root: root_of(image, linkage, verdict),
        from: Hex(verdict
            .path
            .first()
            .map_or(image.place(image.svma(verdict.start)).1, |step| image.place(step.svma).1)),
    });
}

/// The functions that only callers lead to who choose them by their names.
fn offered(image: &Image<'_>, verdicts: &[Verdict]) -> Option<Offered> {
    let offered = || verdicts.iter().filter(|verdict| verdict.reach == Reach::Offered);
    let features = offered().fold(FeatureSet::EMPTY, |all, verdict| all.union(verdict.features));
    let (level, beyond) = deburr_cpu::smallest_level(image.arch, features);
    let count = offered().count() as u64;
    (count > 0).then(|| Offered {
        count,
        level: level.map_or("", |level| level.name).to_owned(),
        beyond: names(beyond.minus(deburr_cpu::system_features(image.arch))),
    })
}

/// Fills in of code made at run time what it uses: it ran where it was made, and nowhere else.
pub(crate) fn of_run_time(report: &mut Report) {
    report.made_at_run_time = true;
    report.guards_examined = false;
    report.level.clone_from(&report.level_present);
    report.needed_beyond.clone_from(&report.level_beyond);
}

/// What is told of a refusal.
fn told(image: &Image<'_>, program: &Program, refusal: &Refusal) -> report::Refusal {
    let Limit { level, without } = Limit::of(image.arch, refusal.features);
    report::Refusal {
        level: level.map(|level| level.name.to_owned()),
        without: names(without),
        features: names(refusal.features),
        function: refusal.at.and_then(|at| name_at(image, program, at)),
        svma: refusal.at.map(|at| Hex(image.place(at).1)),
        paths: refusal.paths.iter().map(|&svma| Hex(image.place(svma).1)).collect(),
        text: refusal.text.clone(),
        stated: refusal.stated.clone(),
    }
}

fn names(features: FeatureSet) -> Vec<String> {
    features.iter().map(Feature::name).map(str::to_owned).collect()
}

/// What makes the beginning of a verdict's path run.
pub(crate) fn root_of(image: &Image<'_>, linkage: Option<&Linkage<'_>>, verdict: &Verdict) -> Option<Root> {
    let &Step { svma, is_function, .. } = verdict.path.first()?;
    if !is_function {
        return Some(Root::Data);
    }
    if image.entry_point == Some(svma) {
        return Some(Root::EntryPoint);
    }
    let lists = |array: &&(Extent, ArrayKind)| {
        linkage.is_some_and(|linkage| linkage.cells_in(array.0).iter().any(|cell| cell.to == svma))
    };
    let listed = image.arrays.iter().filter(lists).map(|&(_, kind)| kind);
    Some(match listed.min() {
        Some(ArrayKind::Preinit) => Root::PreinitArray,
        Some(ArrayKind::Init) => Root::InitArray,
        Some(ArrayKind::Fini) => Root::FiniArray,
        None if image.entries.contains(&svma) => Root::Loader,
        None if linkage.is_some_and(|linkage| linkage.resolvers.contains(&svma)) => Root::Loader,
        None => Root::Exported,
    })
}
