//! `wfe-without-event`: `wfe` as the pause of a plain spin loop, which no store of another thread wakes.

use super::{Context, Rule};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics;
use crate::function::spin::{EventWait, Purpose, event_waits};
use crate::idiom::privileged::is_privileged;
use crate::insn::sweep::Wants;
use crate::insn::{Class, ClassSet};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "wfe-without-event",
    summary: "wfe in a spin loop without an exclusive load, where no store ends the sleep",
    severity: "warning",
    page: include_str!("../../pages/wfe-without-event.md"),
    remedies: &[],
    preview: false,
    // How long it sleeps is the kernel's choice (its event stream), not the CPU's; a virtual machine may trap it.
    benchmark: None,
    wants: Wants::classes(ClassSet::of(&[Class::WaitEvent]).union(atomics::WANTS)),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let waits = event_waits(context.image, context.program, context.atomics());
    if waits.is_empty() || is_privileged(context.image, context.program) {
        return Vec::new();
    }
    waits.iter().map(finding).collect()
}

fn finding(wait: &EventWait) -> Finding {
    let purpose = match wait.purpose {
        Purpose::Retry => "a loop that tries an atomic operation again",
        Purpose::Wait => "a loop that waits for memory by plain loads",
        Purpose::Delay => "a delay loop",
    };
    let message = format!(
        "wfe in {purpose}, where no load-exclusive marks a location: no store wakes it, only a timer or an interrupt"
    );
    Finding {
        rule: RULE.id,
        at: wait.at,
        extent: wait.extent,
        severity: Severity::Warning,
        message: message.into(),
        evidence: Evidence::from([
            ("loop", Value::Text(wait.purpose.name().into())),
            ("instructions", Value::Number(wait.extent.len() / 4)),
        ]),
    }
}
