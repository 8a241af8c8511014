//! `unrelaxed-spin-loop`: loops that wait for memory to change and have no pause in them.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics;
use crate::function::spin::{self, Wait};
use crate::insn::sweep::{Loops, Wants};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "unrelaxed-spin-loop",
    summary: "loop that waits for memory to change, with no pause in it",
    severity: "warning",
    page: include_str!("../../pages/unrelaxed-spin-loop.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new(
        "lock",
        &["load first, no pause", "swpa, no pause", "ldaxr/stxr, no pause"],
        &["load first, pause", "swpa, isb", "ldaxr/stxr, isb"],
    )),
    wants: Wants { loops: Loops::Quiet, ..Wants::classes(atomics::WANTS) },
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    spin::waits(context.image, context.program, context.atomics()).iter().map(finding).collect()
}

fn finding(wait: &Wait) -> Finding {
    let Wait { load, size, extent, instructions, counts, looks_at_time, sign } = *wait;
    let bytes = if size == 1 { "byte" } else { "bytes" };
    let bound = match (counts, looks_at_time) {
        (_, true) => ", until a time",
        (true, false) => ", up to a count",
        (false, false) => "",
    };
    let message = format!(
        "loop of {instructions} instructions waits for {size} {bytes} of memory to change{bound}, with no pause"
    );
    Finding {
        rule: RULE.id,
        at: load,
        extent,
        severity: Severity::Warning,
        message: message.into(),
        evidence: Evidence::from([
            ("instructions", Value::Number(instructions as u64)),
            ("size", Value::Number(size.into())),
            ("counts", Value::Flag(counts)),
            ("looks_at_time", Value::Flag(looks_at_time)),
            ("shared", Value::Text(sign.name().into())),
        ]),
    }
}
