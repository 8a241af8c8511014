//! The page's part of one comparison, made while both builds are at hand: rows of findings and functions, and code.
//!
//! In: two builds of a file, and what differs. Out: [`DrawnFile`], as far as the page has room.

use super::listed::ListedFunction;
use crate::render::page::view::room::Rooms;
use crate::render::page::view::texts::{Texts, row, shown_value};
use deburr_core::diff::{
    BuiltFunction, FileDiff, FindingGroup, FunctionPair, Inspection, function_pairs, remaining,
};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The columns of findings that are alike. `from`: the function that they moved from.
pub(super) const FINDING: [&str; 11] =
    ["change", "rule", "severity", "name", "at", "in", "message", "source", "line", "count", "from"];

/// The columns of a function. `what`: what became of it, what matters most first; `old` and `new`: address, section, size,
/// level and how many have the name; one of `changes`: what, old and new; `calls`: old and new.
pub(super) const FUNCTION: [&str; 8] = ["name", "what", "old", "new", "changes", "gained", "lost", "calls"];

/// What is held of a file of one build.
#[derive(Debug)]
pub(crate) struct InspectedFile {
    pub(crate) inspection: Inspection,
    /// The functions with findings, where a page is wanted.
    pub(crate) code: Vec<ListedFunction>,
    /// Functions with findings that are not listed.
    pub(crate) left_out: u64,
}

/// What became of findings, they, and the function that they moved from.
type FindingRow<'d> = (&'static str, &'d FindingGroup, Option<&'d str>);

/// What the page has of one comparison.
#[derive(Debug, Default)]
pub(crate) struct DrawnFile {
    pub(super) findings: Value,
    pub(super) functions: Value,
    pub(super) texts: Value,
    /// Rules that found something in either build.
    pub(super) rules: BTreeSet<String>,
    /// Named functions that differ, and those that do not: how many, and their bytes in the new build.
    pub(super) differing: (u64, u64),
    pub(super) unchanged: (u64, u64),
    /// Bytes of code, old and new.
    pub(super) bytes: (u64, u64),
    pub(super) advice: Value,
    /// Functions with findings in the new build, and those of the old build with findings that went.
    pub(super) new_code: Vec<String>,
    pub(super) old_code: Vec<String>,
}

impl DrawnFile {
    /// Draws a comparison.
    pub(crate) fn of(
        old: Option<&InspectedFile>,
        new: &InspectedFile,
        diff: &FileDiff,
        rooms: &mut Rooms,
    ) -> DrawnFile {
        let before = old.map(|old| &old.inspection);
        let after = &new.inspection;
        let mut texts = Texts::default();
        let bytes = |it: &Inspection| it.report.coverage.executable_bytes;
        let mut drawn = DrawnFile {
            bytes: (before.map_or(0, bytes), bytes(after)),
            advice: shown_value(json!(after.report.advice)),
            ..DrawnFile::default()
        };
        drawn.add_findings(before, after, diff, (rooms, &mut texts));
        drawn.add_functions(&function_pairs(before, after, diff), (rooms, &mut texts));
        drawn.texts = texts.finish();
        rooms.code.leave_out(new.left_out);
        drawn.new_code = fitting(new.code.iter(), rooms);
        if let Some(old) = old {
            let (code, left_out) = code_of(&diff.went, &old.code);
            rooms.code.leave_out(left_out);
            drawn.old_code = fitting(code.into_iter(), rooms);
        }
        drawn
    }

    fn add_findings(
        &mut self,
        old: Option<&Inspection>,
        new: &Inspection,
        diff: &FileDiff,
        (rooms, texts): (&mut Rooms, &mut Texts),
    ) {
        let remained = old.map(|old| remaining(old, new)).unwrap_or_default();
        fn plain<'g>(
            change: &'static str,
            groups: &'g [FindingGroup],
        ) -> impl Iterator<Item = FindingRow<'g>> + Clone {
            groups.iter().map(move |group| (change, group, None))
        }
        let moved = diff.moved.iter().map(|moved| ("moved", &moved.group, Some(&*moved.from)));
        let rows = plain("appeared", &diff.came)
            .chain(plain("gone", &diff.went))
            .chain(moved)
            .chain(plain("remained", &remained));
        let count = rooms.findings.take(rows.clone().count());
        self.rules.extend(rows.clone().map(|(_, group, _)| group.rule.to_string()));
        let finding = |(change, group, from): FindingRow<'_>| {
            let source = group.source.as_deref();
            row([
                texts.number(change),
                texts.number(&group.rule),
                texts.number(group.severity.name()),
                texts.optional(group.function.as_deref()),
                group.svma.to_string().into(),
                texts.optional(group.section.as_deref()),
                texts.number(&group.message),
                texts.optional(source.map(|source| source.file.as_str())),
                source.map_or(Value::Null, |source| source.line.into()),
                if group.count > 1 { group.count.into() } else { Value::Null },
                texts.optional(from),
            ])
        };
        self.findings = rows.take(count).map(finding).collect();
    }

    fn add_functions(&mut self, pairs: &[FunctionPair], (rooms, texts): (&mut Rooms, &mut Texts)) {
        let new_size = |pair: &FunctionPair| pair.new.as_ref().map_or(0, |it| it.size);
        let size = |pair: &FunctionPair| new_size(pair).max(pair.old.as_ref().map_or(0, |it| it.size));
        let mut differing: Vec<(Vec<&str>, &FunctionPair)> = Vec::new();
        for pair in pairs {
            let what = pair.what();
            let sums = if what.is_empty() { &mut self.unchanged } else { &mut self.differing };
            *sums = (sums.0 + 1, sums.1.saturating_add(new_size(pair)));
            if !what.is_empty() {
                differing.push((what, pair));
            }
        }
        let count = rooms.functions.take(differing.len());
        if count < differing.len() {
            // Those with other findings and levels first, and then the largest.
            let is_of_findings = |(what, _): &(Vec<&str>, &FunctionPair)| {
                what.iter().any(|what| ["gained", "raised", "lost", "lowered"].contains(what))
            };
            differing.sort_by_key(|it| (!is_of_findings(it), Reverse(size(it.1))));
        }
        self.functions =
            differing.iter().take(count).map(|(what, pair)| function(what, pair, texts)).collect();
    }
}

fn function(what: &[&str], pair: &FunctionPair, texts: &mut Texts) -> Value {
    let what = what.iter().map(|what| texts.number(what)).collect();
    let mut side = |built: &Option<BuiltFunction>| {
        built.as_ref().map_or(Value::Null, |built| {
            row([
                built.svma.to_string().into(),
                texts.optional(built.section.as_deref()),
                built.size.into(),
                texts.number(&built.level),
                if built.count > 1 { built.count.into() } else { Value::Null },
            ])
        })
    };
    let (old, new) = (side(&pair.old), side(&pair.new));
    let changes: Vec<Value> = pair
        .changes
        .iter()
        .map(|it| json!([texts.number(it.what), texts.number(&it.old), texts.number(&it.new)]))
        .collect();
    row([
        texts.number(&pair.name),
        what,
        old,
        new,
        if changes.is_empty() { Value::Null } else { Value::Array(changes) },
        pair.findings.0.into(),
        pair.findings.1.into(),
        pair.calls.map_or(Value::Null, |(old, new)| json!([old, new])),
    ])
}

/// The functions that findings are in, and how many are not listed. Of code without a name nobody knows what is one function:
/// each place counts as one.
pub(super) fn code_of<'c>(
    groups: &[FindingGroup],
    code: &'c [ListedFunction],
) -> (Vec<&'c ListedFunction>, u64) {
    let (named, nameless): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.function.is_some());
    let names: BTreeSet<&str> = named.iter().filter_map(|group| group.function.as_deref()).collect();
    let places: BTreeSet<_> = nameless.iter().map(|group| (group.section.clone(), group.svma)).collect();
    let is_wanted = |code: &&ListedFunction| match code.name.as_deref() {
        Some(name) => names.contains(name),
        None => code.about.iter().any(|place| places.contains(place)),
    };
    let wanted: Vec<_> = code.iter().filter(is_wanted).collect();
    let listed_names: BTreeSet<&str> = wanted.iter().filter_map(|code| code.name.as_deref()).collect();
    let listed_places: BTreeSet<_> = wanted.iter().flat_map(|code| &code.about).cloned().collect();
    let left_out = names.difference(&listed_names).count() + places.difference(&listed_places).count();
    (wanted, left_out as u64)
}

/// The code that has room.
fn fitting<'c>(code: impl Iterator<Item = &'c ListedFunction>, rooms: &mut Rooms) -> Vec<String> {
    code.filter(|function| rooms.code.take_all(function.insns))
        .map(|function| function.json.clone())
        .collect()
}
