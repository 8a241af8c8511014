//! `llsc-loop`: atomics compiled as load-exclusive/store-exclusive loops, with no LSE path.

use super::{Context, Rule};
use crate::address::CodeOffset;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::Program;
use crate::function::atomics::{self, Fate, Sequence};
use crate::idiom::slow_lse::{SlowLse, slow_in_all_forms};
use crate::image::Image;
use crate::insn::Ordering;
use crate::insn::sweep::Wants;
use crate::remedy::{self, Compiler, Remedy, SLOWER_BY_LSE};
use deburr_cpu::Feature;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "llsc-loop",
    summary: "inline load-exclusive/store-exclusive loop with no LSE path",
    severity: "warning; note where written by hand, or for a target without LSE or with a slow one",
    page: include_str!("../../pages/llsc-loop.md"),
    preview: false,
    remedies: REMEDIES,
    benchmark: Some(Benchmark::new("fetch-add", &["ldaxr/stlxr"], &["ldaddal"])),
    wants: Wants::classes(atomics::WANTS),
    check,
};

/// What a helper of rustc does is left out: some versions of it have the loop only.
const REMEDIES: &[Remedy] = &[
    Remedy::new(Compiler::Gcc, (10, 1), "-moutline-atomics"),
    Remedy::new(Compiler::Clang, (12, 0), "-moutline-atomics"),
    remedy::GCC_LSE,
    remedy::CLANG_LSE,
    remedy::RUSTC_LSE,
    remedy::GO_LSE,
];

fn check(context: &Context<'_>) -> Vec<Finding> {
    let image = context.image;
    let slow = slow_in_all_forms(context.target_cpu);
    let severity = match context.target {
        Some(target) if !target.contains(Feature::FEAT_LSE) => Severity::Note,
        _ if slow.is_some() => Severity::Note,
        _ => Severity::Warning,
    };
    // Pairs of registers are another question: other instructions would take their place.
    let sequences = context.atomics().sequences.iter().filter(|sequence| sequence.size < 16);
    let worth_reporting = sequences.filter_map(|sequence| match sequence.fate {
        Fate::MissedFlag => Some((sequence, severity)),
        // Only its author can do something about it.
        Fate::WrittenByHand => Some((sequence, Severity::Note)),
        Fate::InlineDispatch | Fate::RunTimeChoice | Fate::NoFlagHelps => None,
    });
    let calls = OnceCell::new();
    let reported = worth_reporting.map(|(sequence, severity)| match helper_around(context, sequence) {
        Some((start, name)) => {
            let calls = calls.get_or_init(|| calls_by_target(context.program));
            in_helper(image, sequence, severity, name, calls.get(&start).copied().unwrap_or(0))
        }
        None => finding(image, sequence, severity),
    });
    let reported = reported.map(|finding| match slow {
        Some(slow) => beside(finding, slow),
        None => finding,
    });
    reported.collect()
}

/// The finding, where the target is a CPU on which the loop was seen to be faster than LSE.
fn beside(finding: Finding, slow: &SlowLse) -> Finding {
    let SlowLse { machine, exclusives, store_form, .. } = slow;
    let message = format!(
        "{}; {machine} without contention: {exclusives} ns by such a loop, {store_form} ns and more by LSE",
        finding.message
    );
    let more = [(SLOWER_BY_LSE, Value::Text(slow.cpu.into()))];
    Finding { message: message.into(), evidence: finding.evidence.with(more), ..finding }
}

/// The function that holds a sequence, where it has an outlined helper's name; real helpers have an LSE path, and none
/// of their loops is a sequence.
fn helper_around<'a>(context: &'a Context<'_>, sequence: &Sequence) -> Option<(CodeOffset, &'a str)> {
    let function = context.program.function_at(context.image.code_offset(sequence.load)?)?;
    let name = context.program.name(function, context.image)?;
    atomics::is_helper_name(name).then_some((context.program.whole(function).start, name))
}

/// How many direct calls and jumps each place has.
fn calls_by_target(program: &Program) -> FxHashMap<CodeOffset, u64> {
    let mut calls = FxHashMap::default();
    for edge in program.calls().chain(program.jumps()) {
        *calls.entry(edge.to).or_default() += 1;
    }
    calls
}

/// A finding in a helper that has the loop only: it represents all that call it.
fn in_helper(image: &Image<'_>, sequence: &Sequence, severity: Severity, name: &str, calls: u64) -> Finding {
    let noun = if calls == 1 { "place" } else { "places" };
    let message = format!(
        "{name} has a load-exclusive/store-exclusive loop only, and no LSE path; called from {calls} {noun}"
    );
    let finding = finding(image, sequence, severity);
    let more = [("helper", Value::Text(name.into())), ("calls", Value::Number(calls))];
    Finding { message: message.into(), evidence: finding.evidence.with(more), ..finding }
}

fn finding(image: &Image<'_>, sequence: &Sequence, severity: Severity) -> Finding {
    let (operation, size, order) = (sequence.operation.name(), sequence.size, order(sequence.ordering));
    let shape = if sequence.retries { "loop" } else { "pair" };
    let bytes = if size == 1 { "byte" } else { "bytes" };
    let by_hand = sequence.fate == Fate::WrittenByHand;
    let hint = if by_hand { " (written by hand: no compiler flag changes it)" } else { "" };
    let message = format!(
        "load-exclusive/store-exclusive {shape} for {operation} of {size} {bytes} ({order}), with no LSE path{hint}"
    );
    Finding {
        rule: RULE.id,
        at: sequence.load,
        extent: sequence.extent,
        severity,
        message: message.into(),
        evidence: Evidence::from([
            ("operation", Value::Text(operation.into())),
            ("size", Value::Number(size.into())),
            ("order", Value::Text(order.into())),
            ("written_by_hand", Value::Flag(by_hand)),
            ("retries", Value::Flag(sequence.retries)),
            ("store_exclusive", Value::Text(image.shown(sequence.store).into())),
        ]),
    }
}

/// The memory order in C11's terms. Nothing distinguishes sequentially consistent from acquire and release here.
const fn order(ordering: Ordering) -> &'static str {
    match (ordering.acquire, ordering.release) {
        (false, false) => "relaxed",
        (true, false) => "acquire",
        (false, true) => "release",
        (true, true) => "acq_rel",
    }
}
