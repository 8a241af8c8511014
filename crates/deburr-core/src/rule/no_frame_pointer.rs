//! `no-frame-pointer`: functions that call others without keeping a frame pointer. One finding a file.

use super::{Context, Rule};
use crate::finding::{Finding, Severity, Value};
use crate::image::Kind;
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::FramePointers;
use crate::remedy::{Compiler, Remedy};

/// Least functions of a file that are reported, and their least share of those that call others in per cent: hand-written code and what
/// compilers generate have some.
const LEAST_FUNCTIONS: u64 = 10;
const LEAST_PERCENT: u64 = 10;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "no-frame-pointer",
    summary: "functions that call others without a frame pointer, where a profiler's call chains end",
    severity: "note",
    page: include_str!("../../pages/no-frame-pointer.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-fno-omit-frame-pointer"),
        Remedy::new(Compiler::Clang, (1, 0), "-fno-omit-frame-pointer"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C force-frame-pointers=yes"),
    ],
    // For good: it is a matter of taste, and a compiler's default.
    preview: true,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    if image.kind == Kind::Relocatable || !context.is_named(RULE.id) {
        return None;
    }
    let found = context.of_build(FramePointers::of);
    let percent = (found.without * 100).checked_div(found.calling)?;
    if found.without < LEAST_FUNCTIONS || percent < LEAST_PERCENT {
        return None;
    }
    let at = image.svma(found.first?);
    let message = format!(
        "{} of {} functions that call others ({percent} %) keep no frame pointer: a profiler's call chains end there",
        found.without, found.calling
    );
    let evidence = vec![
        ("functions", Value::Number(found.without)),
        ("of_functions", Value::Number(found.calling)),
        ("percent", Value::Number(percent)),
    ];
    Some(context.finding(RULE.id, Severity::Note, at, message, evidence))
}
