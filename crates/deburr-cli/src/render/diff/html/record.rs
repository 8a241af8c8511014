//! The data of the page: one record for each comparison, and one of the run.
//!
//! A comparison's record is an element of an array in a `<script type="application/json" class="files">`:
//!
//! - `path` and `old`, the paths in the new build and in the old one; `level` and `old_level`; `levels` as in
//!   `deburr diff --format json`; `build`: rows of what changed of how the file was built, before, after, and whether it is worse;
//!   `worse`; the sums `came`, `went`, `moved`, `same`, `functions_came` and `functions_went`, and `came_by_severity`: errors,
//!   warnings and notes, whether or not there is room for their rows;
//! - `advice`: what removes findings of the new build, as in its report;
//! - `bytes` of code, old and new; `differing` and `unchanged`: how many named functions, and their bytes in the new build;
//! - `texts`: the texts of its rows, which refer to them by number;
//! - `findings` and `functions` (those that differ): rows whose columns [`drawn`](super::drawn) names.
//!
//! Code is in a `<script class="code" data-file="N">` of its own, that of the old build in one with `data-build="old"`. The
//! record of the run (`id="run"`) has the columns, the verdict, the rules that found something, and what was left out.

use super::drawn::{FINDING, FUNCTION};
use crate::render::diff::{Compared, DiffSummary, optimisation_texts};
use crate::render::page::view::code::INSN;
use crate::render::page::view::room::{Rooms, SKIPPED};
use crate::render::page::view::rules;
use crate::render::page::view::texts::{is_something, shown, shown_value};
use deburr_core::diff::{FileDiff, FindingGroup};
use deburr_core::finding::Severity;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The record of one comparison.
pub(super) fn file(it: &Compared, summary: &DiffSummary) -> Value {
    let diff = &it.diff;
    let sum = |groups: &[FindingGroup]| groups.iter().map(|group| group.count).sum::<u64>();
    let texts = shown_value(json!({
        "old": it.old,
        "old_level": it.old_level,
        "level": it.level,
        "old_answer": it.answers.old_answer,
        "answer": it.answers.answer,
        "levels": diff.levels,
        "build": build(diff),
    }));
    let numbers = json!({
        "worse": it.balance(summary.failing).is_worse(),
        "came": sum(&diff.came),
        "came_by_severity": came_by_severity(&diff.came),
        "went": sum(&diff.went),
        "moved": diff.moved.iter().map(|moved| moved.count).sum::<u64>(),
        "same": diff.same,
        "functions_came": diff.functions_came,
        "functions_went": diff.functions_went,
    });
    let drawn = it.drawn.as_ref().map(|drawn| {
        json!({
            "bytes": [drawn.bytes.0, drawn.bytes.1],
            "differing": [drawn.differing.0, drawn.differing.1],
            "unchanged": [drawn.unchanged.0, drawn.unchanged.1],
            "advice": drawn.advice,
            "texts": drawn.texts,
            "findings": drawn.findings,
            "functions": drawn.functions,
        })
    });
    let path = json!({"path": shown(&it.new)});
    let parts = [Some(path), Some(texts), Some(numbers), drawn].into_iter().flatten();
    let members = parts.filter_map(|part| match part {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(members.flatten().filter(|(_, value)| value.is_number() || is_something(value)).collect())
}

/// What changed of how a file was built, as rows: what, before, after, and whether it is worse.
fn build(diff: &FileDiff) -> Vec<Value> {
    let optimisation = diff.optimisation.map(|change| {
        let (old, new) = optimisation_texts(&change);
        json!(["unoptimised code", old, new, change.worse])
    });
    let others = diff.build.iter().map(|it| json!([it.what.name(), it.old, it.new, it.worse]));
    optimisation.into_iter().chain(others).collect()
}

/// How many errors, warnings and notes.
fn came_by_severity(came: &[FindingGroup]) -> [u64; 3] {
    [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| came.iter().filter(|group| group.severity == severity).map(|group| group.count).sum())
}

/// The record of the run.
pub(super) fn run(compared: &[Compared], summary: &DiffSummary, rooms: &Rooms) -> Value {
    let found: BTreeSet<String> = compared
        .iter()
        .filter_map(|it| it.drawn.as_ref())
        .flat_map(|drawn| drawn.rules.iter().cloned())
        .collect();
    let only_old = summary.only_old.iter().take(SKIPPED).map(|path| shown(path).into_owned());
    let skipped = summary.skipped.iter().take(SKIPPED).map(|it| json!([shown(&it.path), shown(&it.reason)]));
    json!({
        "kind": "diff",
        "version": env!("CARGO_PKG_VERSION"),
        "columns": {"finding": FINDING, "function": FUNCTION, "insn": INSN},
        "old": shown(&summary.old),
        "new": shown(&summary.new),
        "worse": summary.balance.is_worse(),
        "better": summary.balance.is_better(),
        "fail_on": summary.failing.threshold.map(deburr_core::finding::Severity::name),
        "rules": rules(&found),
        "only_old": only_old.collect::<Vec<String>>(),
        "only_old_count": summary.only_old.len(),
        "skipped": skipped.collect::<Vec<Value>>(),
        "skipped_count": summary.skipped.len(),
        "room": rooms.value(),
    })
}
