//! `interposable-call`: calls of a shared library's own exported functions through its procedure linkage table or global offset table. One
//! finding a file.

use super::{Context, Rule};
use crate::address::CodeOffset;
use crate::finding::{Finding, Severity, Value};
use crate::image::demangle;
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::interposable::{Interposable, interposable_calls};
use crate::remedy::{Compiler, Remedy};
use std::collections::BTreeMap;

/// Calls of a file that are reported: a few are not worth a flag.
const FEW: usize = 10;
/// Callees that a message names.
const NAMED: usize = 3;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "interposable-call",
    summary: "calls of a library's own functions through its procedure linkage table or global offset table",
    severity: "note",
    page: include_str!("../../pages/interposable-call.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (4, 0), "-fvisibility=hidden"),
        Remedy::new(Compiler::Gcc, (1, 0), "-Wl,-Bsymbolic-functions"),
        Remedy::new(Compiler::Clang, (1, 0), "-fvisibility=hidden"),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,-Bsymbolic-functions"),
    ],
    preview: false,
    // What it costs is the inlining that it forbids.
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    context.of_build(|source| of_calls(context, &interposable_calls(source)))
}

fn of_calls(context: &Context<'_>, found: &Interposable<'_>) -> Option<Finding> {
    let (image, program) = (context.image, context.program);
    let calls: Vec<(CodeOffset, &str)> = found.all().collect();
    if calls.len() < FEW {
        return None;
    }
    let mut callees: BTreeMap<&str, u64> = BTreeMap::new();
    let mut callers: BTreeMap<CodeOffset, (u64, CodeOffset)> = BTreeMap::new();
    for &(from, callee) in &calls {
        *callees.entry(callee).or_default() += 1;
        let function = program.function_at(from).map_or(from, |function| program.whole(function).start);
        callers.entry(function).or_insert((0, from)).0 += 1;
    }
    let mut most: Vec<(&str, u64)> = callees.iter().map(|(&callee, &count)| (callee, count)).collect();
    most.sort_by_key(|&(callee, count)| (std::cmp::Reverse(count), callee));
    // The first call of the function that has most.
    let (&(_, at), _) =
        callers.values().zip(0..).max_by_key(|&(&(count, _), index)| (count, std::cmp::Reverse(index)))?;
    let named: Vec<String> =
        most.iter().take(NAMED).map(|(callee, count)| format!("{} ({count})", demangle(callee))).collect();
    let functions = match callees.len() {
        1 => "a function".to_owned(),
        count => format!("{count} functions"),
    };
    let tables = match (found.through_table.is_empty(), found.through_slots.is_empty()) {
        (false, true) => "procedure linkage table",
        (true, _) => "global offset table",
        (false, false) => "procedure linkage table and global offset table",
    };
    let message = format!(
        "{} calls of {functions} that the file itself exports go through its {tables}: {}",
        calls.len(),
        named.join(", ")
    );
    let evidence = vec![
        ("calls", Value::Number(calls.len() as u64)),
        ("callees", Value::Number(callees.len() as u64)),
        ("callers", Value::Number(callers.len() as u64)),
        ("exports", Value::Number(context.linkage().named_exports.len() as u64)),
        ("most_called", Value::Text(named.join(", ").into())),
    ];
    Some(context.finding(RULE.id, Severity::Note, image.svma(at), message, evidence))
}
