//! `claim-exceeded`: functions that need more than the package, or the file, says of the machines that it is for, and that
//! the program reaches without a check that proves it.

use super::{Context, Rule};
use crate::danger;
use crate::finding::{Finding, Severity, Value};
use crate::insn::{ClassSet, sweep::Wants};

/// The rule. It is silent where nothing is claimed, or nobody wants files held to it.
pub(super) const RULE: Rule = Rule {
    id: "claim-exceeded",
    summary: "instruction that machines need not have for which the package says that it is",
    severity: "error; with --strict also a warning where the path is not followed",
    page: include_str!("../../pages/claim-exceeded.md"),
    preview: false,
    remedies: &[],
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(claim) = context.claim else { return Vec::new() };
    let (code, baseline) = ((context.image, context.program), context.baseline.unwrap_or_default());
    let all = danger::findings(RULE.id, code, context.above_baseline, baseline);
    // What no known CPU dies of breaks no promise.
    let broken = all.filter(|finding| finding.severity == Severity::Error);
    let unknown =
        if context.strict { danger::not_proven(RULE.id, code, context.above_baseline) } else { Vec::new() };
    let held = broken.chain(unknown).map(|finding| Finding {
        message: format!("claimed is {}, {}: {}", claim.level, claim.text, finding.message).into(),
        evidence: finding
            .evidence
            .with([("claim", Value::Text(claim.text.into())), ("claimed", Value::Text(claim.level.into()))]),
        ..finding
    });
    held.collect()
}
