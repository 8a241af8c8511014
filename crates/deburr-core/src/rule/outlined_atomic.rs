//! `outlined-atomic`: calls of the helpers that choose between LSE and LL/SC at run time.

use super::{Context, Rule};
use crate::address::Extent;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, HelperCall};
use deburr_cpu::Feature;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "outlined-atomic",
    summary: "call of an outlined atomic helper, which tests for LSE on every call",
    page: include_str!("../../pages/outlined-atomic.md"),
    wants: atomics::WANTS,
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let guaranteed = context.target.is_some_and(|target| target.contains(Feature::FEAT_LSE));
    let calls = &context.atomics().calls;
    let messages: HashMap<&str, Arc<str>> =
        calls.iter().map(|call| &*call.helper).map(|helper| (helper, message(helper, guaranteed))).collect();
    let finding = |call: &HelperCall| Finding {
        rule: RULE.id,
        at: call.from,
        extent: Extent::sized(call.from, 4),
        severity: if guaranteed { Severity::Warning } else { Severity::Note },
        message: messages.get(&*call.helper).cloned().unwrap_or_default(),
        evidence: Evidence::from([
            ("helper", Value::Text(call.helper.clone())),
            ("tail_call", Value::Flag(call.is_tail)),
        ]),
    };
    calls.par_iter().map(finding).collect()
}

fn message(helper: &str, guaranteed: bool) -> Arc<str> {
    if guaranteed {
        format!("call of {helper}, where the target guarantees the one LSE instruction in it").into()
    } else {
        format!("call of {helper}, which tests for LSE each time").into()
    }
}
