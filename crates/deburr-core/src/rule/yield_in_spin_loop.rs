//! `yield-in-spin-loop`: `yield` where a loop should pause, which most cores of AArch64 run as a no-operation.

use super::{Context, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics;
use crate::function::spin::{self, Hint, Purpose};
use crate::insn::sweep::Wants;
use crate::insn::{Class, ClassSet};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "yield-in-spin-loop",
    summary: "yield in a spin loop, where most AArch64 cores do nothing",
    severity: "warning",
    page: include_str!("../../pages/yield-in-spin-loop.md"),
    remedies: &[],
    preview: false,
    benchmark: Some(Benchmark::new(
        "lock",
        &["swpa, yield", "ldaxr/stxr, yield"],
        &["swpa, isb", "ldaxr/stxr, isb"],
    )),
    wants: Wants::classes(ClassSet::of(&[Class::SpinHint]).union(atomics::WANTS)),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    spin::hints(context.image, context.program, context.atomics()).into_iter().map(finding).collect()
}

fn finding(hint: Hint) -> Finding {
    let purpose = match hint.purpose {
        Purpose::Retry => "a loop that tries an atomic operation again",
        Purpose::Wait => "a loop that waits for memory",
        Purpose::Delay => "a delay loop",
    };
    Finding {
        rule: RULE.id,
        at: hint.at,
        extent: Extent::sized(hint.at, 4),
        severity: Severity::Warning,
        message: format!("yield in {purpose}: a no-operation on cores without multithreading").into(),
        evidence: Evidence::from([("loop", Value::Text(hint.purpose.name().into()))]),
    }
}
