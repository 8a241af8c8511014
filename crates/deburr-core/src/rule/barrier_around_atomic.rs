//! `barrier-around-atomic`: a barrier next to an atomic operation that orders by itself, or would in another form.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, AtomicBarrier, BarrierKind, Helper};
use crate::image::Image;
use crate::insn::sweep::Wants;
use crate::remedy;
use deburr_cpu::{Arch, Feature};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "barrier-around-atomic",
    summary: "barrier next to an atomic operation that needs none",
    severity: "warning; note where the source demands the barrier",
    page: include_str!("../../pages/barrier-around-atomic.md"),
    remedies: &[
        remedy::GCC_LSE.only("kind", "sync-builtin"),
        remedy::GCC_LSE.only("kind", "lock-test-and-set"),
        remedy::GCC_LSE.only("kind", "sync-helper"),
    ],
    preview: false,
    benchmark: Some(Benchmark::new("fence", &["mfence", "dmb ish"], &[])),
    wants: Wants::classes(atomics::BARRIER_WANTS),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let barriers = atomics::atomic_barriers(context.image, context.program, context.atomics());
    let mut findings: Vec<Finding> = barriers.iter().map(|barrier| finding(context.image, barrier)).collect();
    // With LSE the helpers' barriers do not run.
    if !context.target.is_some_and(|target| target.contains(Feature::FEAT_LSE)) {
        let helpers = context.atomics().helpers.iter().filter(|helper| helper.name.ends_with("_sync"));
        findings.extend(helpers.filter_map(|helper| in_helper(context, helper)));
    }
    findings
}

fn finding(image: &Image<'_>, barrier: &AtomicBarrier) -> Finding {
    let AtomicBarrier { operation, size, kind, .. } = *barrier;
    let (name, place) = (operation.name(), if barrier.is_before { "before" } else { "after" });
    let bytes = if size == 1 { "byte" } else { "bytes" };
    let what = format!("{name} of {size} {bytes}");
    let (word, severity, message) = match kind {
        BarrierKind::SyncBuiltin => (
            "sync-builtin",
            Severity::Warning,
            format!(
                "barrier after {what}, as gcc makes of the __sync builtins; acquire and release need none"
            ),
        ),
        BarrierKind::LockTestAndSet => (
            "lock-test-and-set",
            Severity::Warning,
            format!(
                "barrier after plain {what}, as gcc makes of __sync_lock_test_and_set; acquire needs none"
            ),
        ),
        BarrierKind::BothSides => (
            "both-sides",
            Severity::Note,
            format!("barriers on both sides of plain {what}, where acquire and release need none"),
        ),
        BarrierKind::FullBarrier => (
            "full-barrier",
            Severity::Note,
            format!("barrier {place} {what}, which is a full barrier itself"),
        ),
    };
    let barrier_is = match image.arch {
        Arch::Aarch64 => "dmb ish",
        Arch::X86_64 => "full fence",
    };
    Finding {
        rule: RULE.id,
        at: barrier.at,
        extent: barrier.extent,
        severity,
        message: message.into(),
        evidence: Evidence::from([
            ("kind", Value::Text(word.into())),
            ("barrier", Value::Text(barrier_is.into())),
            ("operation", Value::Text(name.into())),
            ("size", Value::Number(size.into())),
            ("atomic", Value::Text(image.shown(barrier.atomic).into())),
        ]),
    }
}

/// A helper that ends with a barrier where the CPU lacks LSE, if anything calls it.
fn in_helper(context: &Context<'_>, helper: &Helper) -> Option<Finding> {
    let calls = context.atomics().calls.iter().filter(|call| call.helper == helper.name).count() as u64;
    let noun = if calls == 1 { "call" } else { "calls" };
    let message = format!("barrier after {}, of {calls} {noun}, where the CPU lacks LSE", helper.name);
    (calls > 0).then(|| Finding {
        rule: RULE.id,
        at: helper.extent.start,
        extent: helper.extent,
        severity: Severity::Note,
        message: message.into(),
        evidence: Evidence::from([
            ("kind", Value::Text("sync-helper".into())),
            ("barrier", Value::Text("dmb ish".into())),
            ("helper", Value::Text(helper.name.clone())),
            ("calls", Value::Number(calls)),
        ]),
    })
}
