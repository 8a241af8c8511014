//! `llsc-loop`: atomics compiled as load-exclusive/store-exclusive loops, with no LSE path.

use super::{Context, Rule};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, Fate, Sequence};
use crate::image::Image;
use crate::insn::{Ordering, sweep::Wants};
use crate::remedy::{self, Compiler, Remedy};
use deburr_cpu::Feature;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "llsc-loop",
    summary: "inline load-exclusive/store-exclusive loop with no LSE path",
    severity: "warning; note where written by hand, or for a target without LSE",
    page: include_str!("../../pages/llsc-loop.md"),
    preview: false,
    remedies: REMEDIES,
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
    let severity = match context.target {
        Some(target) if !target.contains(Feature::FEAT_LSE) => Severity::Note,
        _ => Severity::Warning,
    };
    // Pairs of registers are another question: other instructions would take their place.
    let sequences = context.atomics().sequences.iter().filter(|sequence| sequence.size < 16);
    let worth_reporting = sequences.filter_map(|sequence| match sequence.fate {
        Fate::MissedFlag => Some(finding(image, sequence, severity)),
        // Only its author can do something about it.
        Fate::WrittenByHand => Some(finding(image, sequence, Severity::Note)),
        Fate::InlineDispatch | Fate::RunTimeChoice | Fate::NoFlagHelps => None,
    });
    worth_reporting.collect()
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

/// The memory order in C11's words. Nothing tells sequentially consistent from acquire and release here.
const fn order(ordering: Ordering) -> &'static str {
    match (ordering.acquire, ordering.release) {
        (false, false) => "relaxed",
        (true, false) => "acquire",
        (false, true) => "release",
        (true, true) => "acq_rel",
    }
}
