//! `instrumentation-left-in`: tracing, sanitizers, coverage and profiling hooks in a file that is shipped. One finding for each kind.

use super::{Context, Rule, functions};
use crate::finding::{Finding, Severity, Value};
use crate::image::demangle;
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::Instrumentation;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "instrumentation-left-in",
    summary: "tracing, sanitizers, coverage or profiling hooks in a file that is shipped",
    severity: "warning",
    page: include_str!("../../pages/instrumentation-left-in.md"),
    // Flags are to be left out, and not to be given.
    remedies: &[],
    preview: false,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| {
        let kinds = context.of_build(Instrumentation::of);
        kinds.iter().filter_map(|kind| finding(context, kind)).collect()
    },
};

fn finding(context: &Context<'_>, kind: &Instrumentation) -> Option<Finding> {
    let image = context.image;
    let at = match kind.first {
        Some(first) => image.svma(first),
        None => context.start()?,
    };
    let function = demangle(&kind.function);
    let calls = match (kind.calls, kind.callers) {
        (0, _) => format!("the file needs {function}"),
        (1, _) => format!("a call of {function}"),
        (calls, callers) => format!("{calls} calls in {}, among others of {function}", functions(callers)),
    };
    let message = format!("{} was left in: {calls}; build {}", kind.name, kind.advice);
    let evidence = vec![
        ("kind", Value::Text(kind.name.into())),
        ("function", Value::Text(kind.function.as_str().into())),
        ("calls", Value::Number(kind.calls)),
        ("callers", Value::Number(kind.callers)),
    ];
    Some(context.finding(RULE.id, Severity::Warning, at, message, evidence))
}
