//! What is said of functions that need more than machines have on which they run: one finding for each that a path
//! without a sufficient check reaches, with the path. And what may be claimed of these machines.
//!
//! In: a verdict. Out: a [`Finding`] in the name of a rule.

pub(crate) mod refused;

use crate::address::{Extent, Svma};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::Program;
use crate::function::reach::file::names as of_functions;
use crate::function::reach::{Guard, GuardKind, Reach, UnknownGroup, Verdict, endangered, unknown_groups};
use crate::image::{Image, demangle};
use crate::insn;
use crate::remedy::{BUILD_FOR, LOWER};
use deburr_cpu::{Arch, Feature, FeatureSet, Level};

/// What a package, or a file of its own, says of the machines that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedClaim<'a> {
    /// The part of a package that says so: its files are considered together.
    pub part: &'a str,
    /// As people read it, with its place: `Architecture-Variant: amd64v3 (control)`.
    pub text: &'a str,
    /// The level that it names, in the spelling of `deburr_cpu::Target`.
    pub level: &'a str,
    /// What the package claims, where the file is a variant and says in its name that it is for more: the level, and its features.
    pub raised: Option<(&'a str, FeatureSet)>,
    /// The largest pages, in bytes, of machines that it is for, where it says so.
    pub largest_page: Option<u64>,
    /// The oldest glibc, by major and minor version, of systems that it is for, where it says so.
    pub oldest_glibc: Option<(u32, u32)>,
    /// The minor versions of CPython 3 that it is for, as bits: bit 11 is Python 3.11. 0 where it does not say.
    pub pythons: u32,
}

/// Steps of a path that a message shows; the evidence has all.
const STEPS: usize = 6;
/// Names of functions in the evidence; the report has all.
const NAMED: usize = 10;

/// The instruction at an address.
pub(crate) fn insn_at(image: &Image<'_>, at: Svma) -> Extent {
    let insn = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
    Extent { start: at, end: at.offset(insn.map_or(1, |insn| insn.length.into())) }
}

/// What a rule says of the functions that need more than the baseline, and that a path without a sufficient check
/// reaches.
pub(crate) fn findings<'v>(
    rule: &'static str,
    code: (&'v Image<'v>, &'v Program),
    verdicts: &'v [Verdict],
    baseline: FeatureSet,
) -> impl Iterator<Item = Finding> + 'v {
    let leak = Leak::find(code, verdicts, baseline);
    let without_check = verdicts.iter().filter(|verdict| verdict.reach.is_unsafe());
    without_check.map(move |verdict| {
        let found = finding(rule, code, verdict, baseline);
        match leak.filter(|_| Leak::has(code, verdict)) {
            Some(Leak { build_for }) => {
                let level = Value::Text(build_for.name.into());
                Finding { evidence: found.evidence.with([(BUILD_FOR, level)]), ..found }
            }
            None => found,
        }
    })
}

/// Code that was built for a newer machine than the file is for, by a flag that nobody meant for it (`-march=native`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leak {
    /// The level to build for instead.
    pub build_for: &'static Level,
}

impl Leak {
    /// Functions of a file that also chooses at run time: fewer may be variants whose choice was lost.
    const SEVERAL: usize = 8;

    /// Finds what no flag for some functions explains: functions reached without a check, none of which is named for an
    /// extension, in a file that chooses nothing at run time. Where it does, there must be several, and more than are
    /// chosen.
    pub(crate) fn find(
        code: (&Image<'_>, &Program),
        verdicts: &[Verdict],
        baseline: FeatureSet,
    ) -> Option<Leak> {
        let leaked = verdicts.iter().filter(|verdict| Leak::has(code, verdict)).count();
        let is_chosen = |verdict: &&Verdict| {
            !matches!(verdict.reach, Reach::Required | Reach::Covered | Reach::Unreached)
        };
        let chosen = verdicts.iter().filter(is_chosen).count();
        let is_leak = if chosen == 0 { leaked > 0 } else { leaked >= Leak::SEVERAL && leaked > chosen };
        let build_for = level_within(code.0.arch, baseline)?;
        is_leak.then_some(Leak { build_for })
    }

    /// Whether a function is reached without a check, and not named for an extension that somebody chose it for.
    fn has((image, program): (&Image<'_>, &Program), verdict: &Verdict) -> bool {
        let function = image.code_offset(image.svma(verdict.start)).and_then(|at| program.function_at(at));
        let name = function.and_then(|function| program.name(function, image)).unwrap_or_default();
        let is_named =
            of_functions::words(name).iter().any(|word| of_functions::is_extension(word.as_bytes()));
        verdict.reach == Reach::Required && !is_named
    }
}

/// The highest level that machines with some features have, and that some compiler has a flag for.
fn level_within(arch: Arch, features: FeatureSet) -> Option<&'static Level> {
    let has = deburr_cpu::universal_features(arch).union(features);
    let has_flags = |level: &Level| LOWER.iter().any(|remedy| remedy.only == Some((BUILD_FOR, level.name)));
    let within = |level: &&Level| level.features.is_subset(has) && has_flags(level);
    deburr_cpu::levels(arch).iter().rev().find(within)
}

/// What a rule says of the functions of which it is not known whether a path without a check reaches them: one note for each
/// cause.
pub(crate) fn not_proven(
    rule: &'static str,
    code: (&Image<'_>, &Program),
    verdicts: &[Verdict],
) -> Vec<Finding> {
    let groups = unknown_groups(code.0, code.1, verdicts);
    groups.iter().filter_map(|group| group_finding(rule, code, verdicts, group)).collect()
}

/// The one finding for functions of one cause.
fn group_finding(
    rule: &'static str,
    (image, program): (&Image<'_>, &Program),
    verdicts: &[Verdict],
    group: &UnknownGroup,
) -> Option<Finding> {
    let start = *group.functions.first()?;
    let verdict = verdicts.iter().find(|verdict| verdict.start == start)?;
    // A table has no instruction to point at, and a cause of the whole file no place.
    let place = group.at.filter(|svma| image.code_offset(*svma).is_some());
    let at = place.unwrap_or(image.svma(verdict.at));
    let functions =
        group.functions.iter().take(NAMED).map(|&start| named((image, program), image.svma(start)));
    let mut evidence = vec![
        ("features", Value::List(names(group.features))),
        ("instructions", Value::Number(group.instructions)),
        ("reach", Value::Text(Reach::Unknown.name().into())),
        ("because", Value::Text(group.cause.name().into())),
        ("group", Value::Text(group.id.as_str().into())),
        ("count", Value::Number(group.functions.len() as u64)),
        ("functions", Value::List(functions.collect())),
    ];
    if let Some(svma) = group.at {
        evidence.push(("place", Value::Text(image.shown(svma).into())));
    }
    if let Some(import) = &group.import {
        evidence.push(("import", Value::Text(import.clone())));
    }
    Some(Finding {
        rule,
        at,
        extent: insn_at(image, at),
        severity: Severity::Note,
        message: group.message(image, program).into(),
        evidence: Evidence::from(evidence),
    })
}

/// Whether a known CPU, or one with the baseline and nothing more, gets to a function and cannot execute it.
pub(crate) fn is_deadly(arch: Arch, verdict: &Verdict, baseline: FeatureSet) -> bool {
    match verdict.reach {
        Reach::Required => true,
        Reach::UnderGuarded => !endangered(arch, verdict, baseline).is_empty(),
        _ => false,
    }
}

fn finding(
    rule: &'static str,
    code: (&Image<'_>, &Program),
    verdict: &Verdict,
    baseline: FeatureSet,
) -> Finding {
    let image = code.0;
    let at = image.svma(verdict.at);
    let path: Vec<(String, bool)> =
        verdict.path.iter().map(|step| (named(code, step.svma), step.is_stored)).collect();
    let needs = names(verdict.features).join(", ");
    // Of the CPUs that the baseline allows.
    let endangered = match verdict.reach {
        Reach::UnderGuarded => endangered(image.arch, verdict, baseline),
        _ => Vec::new(),
    };
    let is_harmless = verdict.reach == Reach::UnderGuarded && endangered.is_empty();
    let severity = if is_harmless { Severity::Note } else { Severity::Error };
    let message = match (verdict.reach, verdict.guard) {
        (Reach::UnderGuarded, Some(guard)) => {
            let proven = names(guard.features.strongest()).join(", ");
            let which = match endangered.as_slice() {
                [] => "no known CPU has the one without the other".to_owned(),
                [one] => format!("{one} has the one without the other"),
                [first, rest @ ..] => {
                    format!("{first} and {} more CPUs have the one without the other", rest.len())
                }
            };
            match guard.kind {
                GuardKind::Name => {
                    format!("{needs} where the name says {proven} only ({}): {which}", place(code, guard))
                }
                _ => format!("{needs} after a check for {proven} only ({}): {which}", place(code, guard)),
            }
        }
        _ if path.is_empty() => format!("{needs} without a check"),
        _ => format!("{needs} without a check: {}", shortened(&path)),
    };
    let mut evidence = vec![
        ("features", Value::List(names(verdict.features))),
        ("instructions", Value::Number(verdict.instructions)),
        ("reach", Value::Text(verdict.reach.name().into())),
    ];
    if !path.is_empty() {
        evidence.push(("path", Value::List(path.into_iter().map(|(name, _)| name).collect())));
    }
    if verdict.reach == Reach::UnderGuarded {
        evidence.push(("endangered", Value::List(endangered)));
    }
    if let Some(guard) = verdict.guard {
        evidence.push(("guard", Value::Text(place(code, guard).into())));
        evidence.push(("proven", Value::List(names(guard.features.strongest()))));
    }
    Finding {
        rule,
        at,
        extent: insn_at(image, at),
        severity,
        message: message.into(),
        evidence: Evidence::from(evidence),
    }
}

/// Names of features.
pub(crate) fn names(features: FeatureSet) -> Vec<String> {
    features.iter().map(Feature::name).map(str::to_owned).collect()
}

/// The name of the function at an address, or the address.
pub(crate) fn named((image, program): (&Image<'_>, &Program), svma: Svma) -> String {
    let function = image.code_offset(svma).and_then(|at| program.function_at(at));
    let name = function.and_then(|function| program.name(function, image));
    name.map_or_else(|| image.shown(svma), demangle)
}

/// `resolver sum_resolver`, `branch at 0x1139 in main`.
fn place(code: (&Image<'_>, &Program), guard: Guard) -> String {
    let at = code.0.shown(guard.svma);
    let function = named(code, guard.svma);
    let within = if function == at { String::new() } else { format!(" in {function}") };
    match guard.kind {
        GuardKind::Ifunc => format!("resolver {function}"),
        GuardKind::Branch => format!("branch at {at}{within}"),
        GuardKind::Pointer => format!("pointer set at {at}{within}"),
        GuardKind::Table => format!("table handed out at {at}{within}"),
        GuardKind::Stated => format!("stated of {}", named(code, guard.svma)),
        GuardKind::Name => format!("name of {}", named(code, guard.svma)),
    }
}

/// The first step and the last ones: `→ f` where f is called, `⇒ f` where its address is stored or passed on.
pub(crate) fn shortened(path: &[(String, bool)]) -> String {
    let Some(((root, _), rest)) = path.split_first() else { return String::new() };
    let left_out = path.len().saturating_sub(STEPS);
    let mut text = root.clone();
    if left_out > 0 {
        text.push_str(&format!(" → … {left_out} more …"));
    }
    for (name, is_stored) in rest.get(left_out..).unwrap_or(rest) {
        text.push_str(if *is_stored { " ⇒ " } else { " → " });
        text.push_str(name);
    }
    text
}
