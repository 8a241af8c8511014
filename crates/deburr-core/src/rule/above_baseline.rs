//! `above-baseline`: functions that need more than the baseline's machines have, and that the program reaches without a
//! check that proves it. One finding a function, at the first such instruction; functions for which that is unknown have
//! one finding for each cause, at what chooses them.

use super::{Context, Rule};
use crate::danger;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Reach, UnknownGroup, unknown_groups};
use crate::insn::{ClassSet, sweep::Wants};

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

fn check(context: &Context<'_>) -> Vec<Finding> {
    // Held to a claim, that has a rule of its own.
    if context.claim.is_some() {
        return Vec::new();
    }
    let groups = unknown_groups(context.image, context.program, context.above_baseline);
    let unknown = groups.iter().filter_map(|group| not_proven(context, group));
    let (code, baseline) = ((context.image, context.program), context.baseline.unwrap_or_default());
    danger::findings(RULE.id, code, context.above_baseline, baseline).chain(unknown).collect()
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
    let functions =
        group.functions.iter().take(NAMED).map(|&start| danger::named((image, program), image.svma(start)));
    let mut evidence = vec![
        ("features", Value::List(danger::names(group.features))),
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
        rule: RULE.id,
        at,
        extent: danger::insn_at(image, at),
        severity: Severity::Note,
        message: group.message(image, program).into(),
        evidence: Evidence::from(evidence),
    })
}
