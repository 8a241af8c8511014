//! `fast-math-at-load`: a library that changes the floating-point arithmetic of the process that loads it. One finding a file.

use super::{Context, Rule};
use crate::finding::{Finding, Severity, Value};
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::FastMath;
use crate::remedy::{Compiler, Remedy};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "fast-math-at-load",
    summary: "library that makes the whole process flush subnormal numbers to zero",
    severity: "error",
    page: include_str!("../../pages/fast-math-at-load.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (13, 1), "-mno-daz-ftz"),
        Remedy::new(Compiler::Gcc, (1, 0), "-fno-fast-math"),
        Remedy::new(Compiler::Clang, (1, 0), "-fno-fast-math"),
    ],
    preview: false,
    // Wrong numbers, and no time.
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    let found = context.of_build(FastMath::of)?;
    let message = format!(
        "{} sets the processor to flush subnormal numbers to zero, for the whole process that loads the library",
        found.runs
    );
    let evidence = vec![("runs", Value::Text(found.runs.as_str().into()))];
    Some(context.finding(RULE.id, Severity::Error, found.at, message, evidence))
}
