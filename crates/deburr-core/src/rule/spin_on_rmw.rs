//! `spin-on-rmw`: loops that wait by trying a compare-and-swap or an exchange, with no plain load first.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics;
use crate::function::spin::{self, Means, Retry};
use crate::insn::sweep::{Loops, Wants};
use crate::insn::{Class, ClassSet};
use deburr_cpu::Feature;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "spin-on-rmw",
    summary: "loop that waits by trying a compare-and-swap or an exchange, with no plain load first",
    severity: "warning; note with a pause, or where a failed try takes no line",
    page: include_str!("../../pages/spin-on-rmw.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new(
        "lock",
        &["xchg again, no pause", "swpa again, no pause"],
        &["load first, no pause", "swpa, no pause"],
    )),
    wants: Wants {
        loops: Loops::All,
        ..Wants::classes(ClassSet::of(&[Class::LockedAtomic]).union(atomics::WANTS))
    },
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let retries = spin::retries(context.image, context.program, context.atomics());
    // Without LSE, a helper runs its load-exclusive and store-exclusive.
    let has_lse = context.target.is_none_or(|target| target.contains(Feature::FEAT_LSE));
    retries.iter().map(|retry| finding(retry, has_lse)).collect()
}

fn finding(retry: &Retry, has_lse: bool) -> Finding {
    let Retry { at, extent, is_compare, means, pauses, counts } = *retry;
    let takes_line = match means {
        Means::Locked | Means::Lse => true,
        Means::Outlined => has_lse || !is_compare,
        // It leaves between load and store where the value is not the expected one.
        Means::LoadStoreExclusive => !is_compare,
    };
    let operation = if is_compare { "compare-and-swap" } else { "exchange" };
    let by = match means {
        Means::Locked => "",
        Means::Lse => " (LSE)",
        Means::Outlined => " (outlined)",
        Means::LoadStoreExclusive => " (LL/SC)",
    };
    let pause = if pauses { ", with a pause between two tries" } else { "" };
    let message = format!("loop tries {operation}{by} again and again with no plain load first{pause}");
    Finding {
        rule: RULE.id,
        at,
        extent,
        severity: if takes_line && !pauses { Severity::Warning } else { Severity::Note },
        message: message.into(),
        evidence: Evidence::from([
            ("operation", Value::Text(if is_compare { "cas" } else { "swap" }.into())),
            ("means", Value::Text(means.name().into())),
            ("pauses", Value::Flag(pauses)),
            ("counts", Value::Flag(counts)),
        ]),
    }
}
