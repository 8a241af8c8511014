//! `outlined-atomic`: calls of the helpers that choose between LSE and LL/SC at run time.

use super::{Context, Rule};
use crate::address::Extent;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, HelperCall};
use deburr_cpu::Feature;

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
    context.atomics().calls.iter().map(|call| finding(call, guaranteed)).collect()
}

fn finding(call: &HelperCall, guaranteed: bool) -> Finding {
    let message = if guaranteed {
        format!("call of {}, where the target guarantees the one LSE instruction in it", call.helper)
    } else {
        format!("call of {}, which tests for LSE each time", call.helper)
    };
    Finding {
        rule: RULE.id,
        at: call.from,
        extent: Extent::sized(call.from, 4),
        severity: if guaranteed { Severity::Warning } else { Severity::Note },
        message,
        evidence: Evidence::from([
            ("helper", Value::Text(call.helper.clone())),
            ("tail_call", Value::Flag(call.is_tail)),
        ]),
    }
}
