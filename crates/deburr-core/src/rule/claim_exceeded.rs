//! `claim-exceeded`: functions that need more than the package, or the file, says of the machines that it is for, and that
//! the program reaches without a check that proves it.

use super::{Context, Rule};
use crate::danger::{self, StatedClaim};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::Need;
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::LOWER;

/// The rule. It is silent where nothing is claimed, or nobody wants files held to it.
pub(super) const RULE: Rule = Rule {
    id: "claim-exceeded",
    summary: "instruction that machines need not have for which the package says that it is",
    severity: "error; note on a variant whose name says that it needs more; with --strict also a warning where the path is not followed",
    page: include_str!("../../pages/claim-exceeded.md"),
    preview: false,
    remedies: LOWER,
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
    let refused = context.refusal;
    let refused = refused.and_then(|refusal| danger::refused::finding(RULE.id, code, refusal, baseline));
    let unknown = match context.strict || context.notes_undecided {
        true => danger::not_proven(RULE.id, code, context.above_baseline),
        false => Vec::new(),
    };
    let held = broken.chain(refused).chain(unknown).map(|finding| Finding {
        message: format!("claimed is {}, {}: {}", claim.level, claim.text, finding.message).into(),
        evidence: finding
            .evidence
            .with([("claim", Value::Text(claim.text.into())), ("claimed", Value::Text(claim.level.into()))]),
        ..finding
    });
    held.chain(of_variant(context, claim)).collect()
}

/// What is said of a variant that needs more than its package claims, and no more than its own name says.
fn of_variant(context: &Context<'_>, claim: StatedClaim<'_>) -> Option<Finding> {
    let (general, features) = claim.raised?;
    let code = (context.image, context.program);
    let need = Need::of(context.image.arch, context.verdicts);
    let verdict = need.most_needing(context.verdicts.iter()).filter(|_| !need.runs_on(features))?;
    let at = context.image.svma(verdict.at);
    let needs = danger::names(need.features.minus(features));
    let function = danger::named(code, context.image.svma(verdict.start));
    Some(Finding {
        rule: RULE.id,
        at,
        extent: danger::insn_at(context.image, at),
        severity: Severity::Note,
        message: format!(
            "a variant for {}, {}: {} without a check in {function}; its package claims {general}",
            claim.level,
            claim.text,
            needs.join(", ")
        )
        .into(),
        evidence: Evidence::from([
            ("features", Value::List(needs)),
            ("claim", Value::Text(claim.text.into())),
            ("claimed", Value::Text(claim.level.into())),
            ("raised_from", Value::Text(general.into())),
        ]),
    })
}
