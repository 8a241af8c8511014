//! `outlined-atomic`: calls of the helpers that choose between LSE and LL/SC at run time.

use super::{Context, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, HelperCall};
use crate::insn::sweep::Wants;
use crate::remedy;
use deburr_cpu::Feature;
use std::collections::HashMap;
use std::sync::Arc;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "outlined-atomic",
    summary: "call of an outlined atomic helper, which tests for LSE on every call",
    severity: "note; warning for a target with LSE",
    page: include_str!("../../pages/outlined-atomic.md"),
    preview: false,
    remedies: &[remedy::GCC_LSE, remedy::CLANG_LSE, remedy::RUSTC_LSE],
    benchmark: Some(Benchmark::new("fetch-add", &["outlined, with LSE"], &["ldaddal"])),
    wants: Wants::classes(atomics::WANTS),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let guaranteed = context.target.is_some_and(|target| target.contains(Feature::FEAT_LSE));
    let calls = &context.atomics().calls;
    let mut texts: HashMap<(&str, bool), (Arc<str>, Evidence)> = HashMap::new();
    let findings = calls.iter().map(|call| {
        let HelperCall { helper, is_tail, .. } = call;
        let text = texts.entry((helper, *is_tail)).or_insert_with(|| {
            let facts = [("helper", Value::Text(helper.clone())), ("tail_call", Value::Flag(*is_tail))];
            (message(helper, guaranteed), facts.into())
        });
        let (message, evidence) = text.clone();
        Finding {
            rule: RULE.id,
            at: call.from,
            extent: Extent::sized(call.from, 4),
            severity: if guaranteed { Severity::Warning } else { Severity::Note },
            message,
            evidence,
        }
    });
    findings.collect()
}

fn message(helper: &str, guaranteed: bool) -> Arc<str> {
    if guaranteed {
        format!("call of {helper}, where the target guarantees the one LSE instruction in it").into()
    } else {
        format!("call of {helper}, which tests for LSE each time").into()
    }
}
