//! Findings and functions as rows of the page's data.
//!
//! In: a report, and what a profile says of it. Out: one array for each, in the order of the columns named here. Texts are
//! numbers in the file's table.

use crate::render::check::renderer::CodeOfFile;
use crate::render::check::text::profile::said_by;
use crate::render::page::view::code::weight;
use crate::render::page::view::texts::{Texts, row, shown_value};
use deburr_core::Report;
use deburr_core::listing::FunctionSize;
use deburr_core::report::{CallerWeight, Guard, Hex, IsaFunction, PlacedFinding};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The columns of a finding. `evidence` is a number in the file's `evidence`; one of `callers`
/// is a name, the address of the call, and its weight.
pub(super) const FINDING: [&str; 17] = [
    "rule", "severity", "name", "near", "at", "in", "extent", "loop", "calls", "message", "evidence",
    "source", "line", "compiler", "weight", "by", "callers",
];

/// The columns of a function above the first level. `uses` alternates features and numbers of instructions; a step of `path`
/// is a name, an address and whether it is only stored; `guard` is kind, address, name and features.
pub(super) const FUNCTION: [&str; 16] = [
    "name",
    "near",
    "at",
    "in",
    "size",
    "level",
    "reach",
    "uses",
    "path",
    "root",
    "guard",
    "because",
    "group",
    "endangered",
    "tried",
    "weight",
];

/// The columns of a function of the first level that findings are in, or that took much of a run.
pub(super) const OTHER: [&str; 6] = ["name", "near", "at", "in", "size", "weight"];

/// Findings, and their evidence, each once.
pub(super) fn findings(chosen: &[&PlacedFinding], texts: &mut Texts) -> (Value, Value) {
    let mut evidence: Vec<Value> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut rows = Vec::with_capacity(chosen.len());
    for finding in chosen {
        let facts = serde_json::to_value(&finding.evidence).unwrap_or_default();
        let number = *known.entry(facts.to_string()).or_insert_with(|| {
            evidence.push(shown_value(facts));
            evidence.len() - 1
        });
        let source = finding.source.as_deref();
        let compiler = finding.compiler.as_ref().and_then(|maker| serde_json::to_value(maker).ok());
        rows.push(row([
            texts.number(&finding.rule),
            texts.number(finding.severity.name()),
            texts.optional(finding.function.as_deref()),
            texts.optional(finding.near.as_deref()),
            finding.svma.to_string().into(),
            texts.optional(finding.section.as_deref()),
            finding.extent.into(),
            u8::from(finding.in_loop).into(),
            finding.calls.into(),
            texts.number(&finding.message),
            number.into(),
            texts.optional(source.map(|source| source.file.as_str())),
            source.map_or(Value::Null, |source| source.line.into()),
            compiler.map_or(Value::Null, shown_value),
            weight(finding.weight.map(|weight| weight.share)),
            texts.optional(finding.weight.and_then(|weight| said_by(weight.by))),
            callers(&finding.callers, texts),
        ]));
    }
    (Value::Array(rows), Value::Array(evidence))
}

/// The calls of the function that a finding is about, the heaviest first.
fn callers(callers: &[CallerWeight], texts: &mut Texts) -> Value {
    let cells = callers.iter().map(|caller| {
        let name = texts.optional(caller.function.as_deref());
        row([name, caller.svma.to_string().into(), weight(Some(caller.weight.share))])
    });
    if callers.is_empty() { Value::Null } else { cells.collect() }
}

type Place = (Option<Arc<str>>, Hex);

/// What is known of the sizes of functions.
pub(super) struct Sizes<'s>(HashMap<Place, &'s FunctionSize>);

impl<'s> Sizes<'s> {
    pub(super) fn of(code: CodeOfFile<'s>) -> Sizes<'s> {
        Sizes(code.sizes.iter().map(|size| ((size.section.clone(), size.svma), size)).collect())
    }
}

/// Functions above the first level.
pub(super) fn functions(chosen: &[IsaFunction], sizes: &Sizes<'_>, texts: &mut Texts) -> Value {
    let rows = chosen.iter().map(|function| {
        let section = function.section.as_deref();
        let size = sizes.0.get(&(section.map(Arc::from), function.svma));
        let uses = function
            .features
            .iter()
            .flat_map(|(name, count)| [texts.number(name), (*count).into()])
            .collect();
        let path: Vec<Value> = function
            .path
            .iter()
            .map(|step| {
                let name = texts.optional(step.function.as_deref());
                let stored = if step.is_stored { Value::from(1) } else { Value::Null };
                row([name, step.svma.to_string().into(), stored])
            })
            .collect();
        let endangered = function.endangered.as_ref();
        row([
            texts.optional(function.function.as_deref()),
            texts.optional(function.near.as_deref()),
            function.svma.to_string().into(),
            texts.optional(section),
            size.map_or(Value::Null, |size| size.size.into()),
            size.map_or(Value::Null, |size| texts.number(&size.level)),
            texts.number(function.reach.name()),
            Value::Array(uses),
            if path.is_empty() { Value::Null } else { Value::Array(path) },
            named(&function.root, texts),
            function.guard.as_ref().map_or(Value::Null, |guard| self::guard(guard, texts)),
            named(&function.because, texts),
            texts.optional(function.group.as_deref()),
            endangered.map_or(Value::Null, |cpus| cpus.iter().map(|cpu| texts.number(cpu)).collect()),
            if function.tried.is_empty() { Value::Null } else { shown_value(json!(function.tried)) },
            weight(function.share),
        ])
    });
    Value::Array(rows.collect())
}

/// Functions of the first level that findings are in, or that took much of a run.
pub(super) fn others(
    chosen: &[&PlacedFinding],
    report: &Report,
    code: CodeOfFile<'_>,
    texts: &mut Texts,
) -> Value {
    let hot = report.profile.iter().flat_map(|profile| &profile.functions);
    let hot: HashMap<Hex, &str> = hot.filter_map(|hot| Some((hot.svma, hot.function.as_deref()?))).collect();
    let above: HashSet<Place> = report
        .isa_functions
        .iter()
        .map(|function| (function.section.as_deref().map(Arc::from), function.svma))
        .collect();
    let listed: HashMap<Place, &str> = code
        .listings
        .iter()
        .filter_map(|it| {
            Some(((it.function.section.clone(), it.function.svma), it.function.name.as_deref()?))
        })
        .collect();
    let by_place: BTreeMap<Place, &PlacedFinding> =
        chosen.iter().map(|&finding| ((finding.section.clone(), finding.svma), finding)).collect();
    let is_other = |size: &&FunctionSize| !above.contains(&(size.section.clone(), size.svma));
    let rows = code.sizes.iter().filter(is_other).map(|size| {
        let from = (size.section.clone(), size.svma);
        let to = (size.section.clone(), Hex(size.svma.0.saturating_add(size.size)));
        let within = by_place.range(from..to).next().map(|(_, finding)| *finding);
        let name = listed.get(&(size.section.clone(), size.svma)).copied();
        let name = name.or_else(|| within.and_then(|finding| finding.function.as_deref()));
        let name = name.or_else(|| hot.get(&size.svma).copied().filter(|_| size.section.is_none()));
        row([
            texts.optional(name),
            texts.optional(within.and_then(|finding| finding.near.as_deref())),
            size.svma.to_string().into(),
            texts.optional(size.section.as_deref()),
            size.size.into(),
            weight(size.share),
        ])
    });
    Value::Array(rows.collect())
}

fn guard(guard: &Guard, texts: &mut Texts) -> Value {
    let kind = named(&Some(guard.kind), texts);
    let features: Vec<Value> = guard.features.iter().map(|feature| texts.number(feature)).collect();
    json!([kind, guard.svma.to_string(), texts.optional(guard.function.as_deref()), features])
}

/// A value of an enumeration, as every format spells it.
fn named(value: &Option<impl serde::Serialize>, texts: &mut Texts) -> Value {
    let name = value.as_ref().and_then(|value| serde_json::to_value(value).ok());
    texts.optional(name.as_ref().and_then(Value::as_str))
}
