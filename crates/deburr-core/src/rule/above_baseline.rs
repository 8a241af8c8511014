//! `above-baseline`: functions that need more than the baseline's machines have, and that the program reaches without a
//! check that proves it. One finding a function, at the first such instruction.

use super::{Context, Rule};
use crate::address::{Extent, Svma};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Guard, GuardKind, Reach, Verdict};
use crate::image::demangle;
use crate::insn::{self, ClassSet, sweep::Wants};
use deburr_cpu::{Feature, FeatureSet};

/// The rule. It is silent unless the user states a baseline.
pub(super) const RULE: Rule = Rule {
    id: "above-baseline",
    summary: "instruction that the stated baseline does not have, and that no check guards",
    severity: "error; warning where the path to it is not followed",
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
    context.above_baseline.iter().filter_map(|verdict| finding(context, verdict)).collect()
}

fn finding(context: &Context<'_>, verdict: &Verdict) -> Option<Finding> {
    let severity = match verdict.reach {
        Reach::Required | Reach::UnderGuarded => Severity::Error,
        Reach::Unknown => Severity::Warning,
        Reach::Guarded | Reach::Unreached | Reach::Covered => return None,
    };
    let image = context.image;
    let at = image.svma(verdict.at);
    let length = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
    let path: Vec<String> = verdict.path.iter().map(|step| named(context, step.svma)).collect();
    let needs = names(verdict.features).join(", ");
    let message = match (verdict.reach, verdict.guard) {
        (Reach::Unknown, _) => {
            format!("{needs} reached only through a pointer or a check that is not followed")
        }
        (Reach::UnderGuarded, Some(guard)) => {
            let proven = names(strongest(guard.features)).join(", ");
            format!("{needs} after a check for {proven} only ({})", place(context, guard))
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
        evidence.push(("path", Value::List(path)));
    }
    if let Some(guard) = verdict.guard {
        evidence.push(("guard", Value::Text(place(context, guard).into())));
        evidence.push(("proven", Value::List(names(strongest(guard.features)))));
    }
    Some(Finding {
        rule: RULE.id,
        at,
        extent: Extent { start: at, end: at.offset(length.map_or(1, |insn| insn.length.into())) },
        severity,
        message: message.into(),
        evidence: Evidence::from(evidence),
    })
}

fn names(features: FeatureSet) -> Vec<String> {
    features.iter().map(Feature::name).map(str::to_owned).collect()
}

/// The features that no other one of the set implies.
fn strongest(features: FeatureSet) -> FeatureSet {
    let implied =
        |feature: Feature| FeatureSet::of(&[feature]).with_implied().minus(FeatureSet::of(&[feature]));
    features.iter().fold(features, |left, feature| left.minus(implied(feature)))
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
    }
}

/// The first step and the last ones.
fn shortened(path: &[String]) -> String {
    match path {
        [root, rest @ ..] if path.len() > STEPS => {
            let last = rest.get(rest.len().saturating_sub(STEPS - 2)..).unwrap_or(rest);
            format!("{root} → … → {}", last.join(" → "))
        }
        _ => path.join(" → "),
    }
}
