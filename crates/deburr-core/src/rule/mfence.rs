//! `mfence`: a full fence as the dearest instruction there is for it.

use super::{Context, Rule};
use crate::address::Svma;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics;
use crate::idiom::fence::{self, Fence};
use crate::insn::sweep::Wants;
use crate::remedy::{Compiler, Remedy};
use std::collections::BTreeSet;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "mfence",
    summary: "mfence that orders plain loads and stores, which a locked instruction does as well",
    severity: "warning after a store, which xchg orders by itself; else note",
    page: include_str!("../../pages/mfence.md"),
    remedies: &[Remedy::new(Compiler::Gcc, (11, 0), ""), Remedy::new(Compiler::Clang, (21, 0), "")],
    preview: true,
    benchmark: Some(Benchmark::new("store", &["mov and mfence"], &["xchg"])),
    wants: Wants::classes(fence::WANTS.union(atomics::BARRIER_WANTS)),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let fences = fence::fences(context.image, context.program);
    if fences.is_empty() {
        return Vec::new();
    }
    // Next to a locked instruction it is needless, as `barrier-around-atomic` says.
    let needless: BTreeSet<Svma> =
        atomics::atomic_barriers(context.image, context.program, context.atomics())
            .iter()
            .map(|barrier| barrier.at)
            .collect();
    fences.iter().filter(|fence| !needless.contains(&fence.at)).map(finding).collect()
}

fn finding(fence: &Fence) -> Finding {
    let (kind, severity, message) = match fence.stored {
        Some(size) => {
            let bytes = if size == 1 { "byte" } else { "bytes" };
            ("store", Severity::Warning, format!("store of {size} {bytes} and mfence, where xchg does both"))
        }
        None => ("fence", Severity::Note, "mfence, where lock or $0, (%rsp) orders as much".to_owned()),
    };
    Finding {
        rule: RULE.id,
        at: fence.at,
        extent: fence.extent,
        severity,
        message: message.into(),
        evidence: Evidence::from([("kind", Value::Text(kind.into()))]),
    }
}
