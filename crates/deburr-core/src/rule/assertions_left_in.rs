//! `assertions-left-in`: assertions, and Rust's overflow checks, in a file that is shipped. One finding a file.

use super::{Context, Rule, functions};
use crate::finding::{Finding, Severity, Value};
use crate::image::demangle;
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::Assertions;
use crate::remedy::{Compiler, Remedy};

/// Assertions of a file that are reported: a few are meant to stay.
const LEAST_CALLS: u64 = 10;
/// Messages of overflow checks that are reported: code may ask for some.
const LEAST_MESSAGES: u64 = 3;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "assertions-left-in",
    summary: "assertions or overflow checks in a file that is shipped",
    severity: "note",
    page: include_str!("../../pages/assertions-left-in.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-DNDEBUG"),
        Remedy::new(Compiler::Clang, (1, 0), "-DNDEBUG"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C debug-assertions=off"),
    ],
    preview: true,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    let found = context.of_build(Assertions::of);
    let has_calls = found.calls >= LEAST_CALLS;
    let has_checks = found.overflow_messages >= LEAST_MESSAGES;
    if !has_calls && !has_checks {
        return None;
    }
    let at = match found.first.filter(|_| has_calls) {
        Some(first) => image.svma(first),
        None => context.start()?,
    };
    let mut names: Vec<(&String, &u64)> = found.by_name.iter().collect();
    names.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let names: Vec<String> =
        names.into_iter().map(|(name, count)| format!("{} ({count})", demangle(name))).collect();
    let calls = || {
        format!("{} assertions in {}: calls of {}", found.calls, functions(found.callers), names.join(", "))
    };
    let checks = || format!("overflow checks of Rust, with {} messages", found.overflow_messages);
    let message = match (has_calls, has_checks) {
        (true, true) => format!("{}; {}", calls(), checks()),
        (true, false) => calls(),
        (false, _) => checks(),
    };
    let evidence = vec![
        ("calls", Value::Number(found.calls)),
        ("callers", Value::Number(found.callers)),
        ("overflow_messages", Value::Number(found.overflow_messages)),
    ];
    Some(context.finding(RULE.id, Severity::Note, at, message, evidence))
}
