//! `above-baseline`: functions that need more than the baseline's machines have, and that the program reaches without a
//! check that proves it. One finding a function, at the first such instruction; functions for which that is unknown have
//! one finding for each cause, at what chooses them.

use super::{Context, Rule};
use crate::danger;
use crate::finding::Finding;
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::LOWER;

/// The rule. It is silent unless the user states a baseline.
pub(super) const RULE: Rule = Rule {
    id: "above-baseline",
    summary: "instruction that the stated baseline does not have, and that no check guards",
    severity: "error; note where the path is not followed (--strict: warning) or no known CPU is endangered",
    page: include_str!("../../pages/above-baseline.md"),
    preview: false,
    remedies: LOWER,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    // Held to a claim, that has a rule of its own.
    if context.claim.is_some() {
        return Vec::new();
    }
    let (code, baseline) = ((context.image, context.program), context.baseline.unwrap_or_default());
    let refused = context.refusal.filter(|_| context.baseline.is_some());
    let refused = refused.and_then(|refusal| danger::refused::finding(RULE.id, code, refusal, baseline));
    let unknown = danger::not_proven(RULE.id, code, context.above_baseline);
    danger::findings(RULE.id, code, context.above_baseline, baseline).chain(refused).chain(unknown).collect()
}
