//! `above-baseline`: functions that need more than the baseline's machines have, and that the program reaches without a
//! check that proves it. One finding a function, at the first such instruction; functions for which that is unknown have
//! one finding for each cause, at what chooses them.

use super::{Context, Rule};
use crate::address::{Extent, Svma};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Guard, GuardKind, Reach, UnknownGroup, Verdict, endangered, unknown_groups};
use crate::image::demangle;
use crate::insn::{self, ClassSet, sweep::Wants};
use deburr_cpu::{Feature, FeatureSet};

/// The rule. It is silent unless the user states a baseline.
pub(super) const RULE: Rule = Rule {
    id: "above-baseline",
    summary: "instruction that the stated baseline does not have, and that no check guards",
    severity: "error; note where the path is not followed (--strict: warning) or no known CPU is endangered",
    page: include_str!("../../pages/above-baseline.md"),
    preview: false,
    remedies: &[],
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

/// Steps of a path that a message shows; the evidence has all.
const STEPS: usize = 6;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let verdicts = context.above_baseline;
    let without_check = verdicts.iter().filter(|verdict| verdict.reach.is_unsafe());
    let groups = unknown_groups(context.image, context.program, verdicts);
    let unknown = groups.iter().filter_map(|group| not_proven(context, group));
    without_check.map(|verdict| finding(context, verdict)).chain(unknown).collect()
}

/// Names of functions in the evidence; the report has all.
const NAMED: usize = 10;

/// The one finding for functions of one cause.
fn not_proven(context: &Context<'_>, group: &UnknownGroup) -> Option<Finding> {
    let (image, program) = (context.image, context.program);
    let start = *group.functions.first()?;
    let verdict = context.above_baseline.iter().find(|verdict| verdict.start == start)?;
    // A table has no instruction to point at, and a cause of the whole file no place.
    let place = group.at.filter(|svma| image.code_offset(*svma).is_some());
    let at = place.unwrap_or(image.svma(verdict.at));
    let functions = group.functions.iter().take(NAMED).map(|&start| named(context, image.svma(start)));
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
        evidence.push(("place", Value::Text(hex(context, svma).into())));
    }
    if let Some(import) = &group.import {
        evidence.push(("import", Value::Text(import.clone())));
    }
    Some(Finding {
        rule: RULE.id,
        at,
        extent: extent(context, at),
        severity: Severity::Note,
        message: group.message(image, program).into(),
        evidence: Evidence::from(evidence),
    })
}

/// The instruction at an address.
fn extent(context: &Context<'_>, at: Svma) -> Extent {
    let image = context.image;
    let insn = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
    Extent { start: at, end: at.offset(insn.map_or(1, |insn| insn.length.into())) }
}

/// The finding for a function that a path without a sufficient check reaches.
fn finding(context: &Context<'_>, verdict: &Verdict) -> Finding {
    let at = context.image.svma(verdict.at);
    let path: Vec<(String, bool)> =
        verdict.path.iter().map(|step| (named(context, step.svma), step.is_stored)).collect();
    let needs = names(verdict.features).join(", ");
    // Of the CPUs that the baseline allows.
    let baseline = context.baseline.unwrap_or_default();
    let endangered = match verdict.reach {
        Reach::UnderGuarded => endangered(context.image.arch, verdict, baseline),
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
            format!("{needs} after a check for {proven} only ({}): {which}", place(context, guard))
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
        evidence.push(("guard", Value::Text(place(context, guard).into())));
        evidence.push(("proven", Value::List(names(guard.features.strongest()))));
    }
    Finding {
        rule: RULE.id,
        at,
        extent: extent(context, at),
        severity,
        message: message.into(),
        evidence: Evidence::from(evidence),
    }
}

fn names(features: FeatureSet) -> Vec<String> {
    features.iter().map(Feature::name).map(str::to_owned).collect()
}

/// The name of the function at an address, or the address.
fn named(context: &Context<'_>, svma: Svma) -> String {
    let (image, program) = (context.image, context.program);
    let function = image.code_offset(svma).and_then(|at| program.function_at(at));
    let name = function.and_then(|function| program.name(function, image));
    name.map_or_else(|| hex(context, svma), demangle)
}

/// An address as other tools show it.
fn hex(context: &Context<'_>, svma: Svma) -> String {
    context.image.shown(svma)
}

/// `resolver sum_resolver`, `branch at 0x1139 in main`.
fn place(context: &Context<'_>, guard: Guard) -> String {
    let at = hex(context, guard.svma);
    let function = named(context, guard.svma);
    let within = if function == at { String::new() } else { format!(" in {function}") };
    match guard.kind {
        GuardKind::Ifunc => format!("resolver {function}"),
        GuardKind::Branch => format!("branch at {at}{within}"),
        GuardKind::Pointer => format!("pointer set at {at}{within}"),
        GuardKind::Table => format!("table handed out at {at}{within}"),
        GuardKind::Stated => format!("stated of {}", named(context, guard.svma)),
        GuardKind::Name => format!("name of {}", named(context, guard.svma)),
    }
}

/// The first step and the last ones: `→ f` where f is called, `⇒ f` where its address is stored or passed on.
fn shortened(path: &[(String, bool)]) -> String {
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
