//! The data of the page: one record for each file, and one of the run.
//!
//! A file's record is an element of an array in a `<script type="application/json" class="files">`:
//!
//! - `path`, `arch`, `level`, and of `deburr check --format json` what is not empty there: `level_guarded`, `needed_by`, …;
//! - `texts`: the texts of its rows, which refer to them by number;
//! - `findings`, `functions` (above the first level), `others` (of the first level, with findings, or hot): rows whose columns
//!   `rows` names, so that a table of ten thousand is compact;
//! - `evidence`: the facts that findings rest on;
//! - `profile`, where one was read: `{"what": …, "weight": share}`. A finding, a function and an instruction may then have a `weight`, too:
//!   its share of all that the profile saw, from 0 to 1. `by` says of a finding where that comes from, if not from its code alone.
//!
//! Its code is in a `<script class="code" data-file="N">` of its own, which the page reads when it is looked at. `code` names the
//! columns. The record of the run (`id="run"`) has the columns, the sums, the rules that found something, and what was left out.

use super::rows::{self, Sizes};
use crate::render::check::answer;
use crate::render::check::renderer::Checked;
use crate::render::check::text::file::not_counted_in_words;
use crate::render::check::text::profile::seen;
use crate::render::page::view::room::Rooms;
use crate::render::page::view::texts::{Texts, is_something, shown_value};
use deburr_core::Report;
use deburr_core::report::{Atomics, PlacedFinding};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;

/// The record of one file.
pub(super) fn file(checked: Checked<'_>, rooms: &mut Rooms) -> Value {
    let Checked { report, code, .. } = checked;
    let mut record = summary(report);
    let mut texts = Texts::default();
    let counted: Vec<&PlacedFinding> = report.counted().collect();
    let room = rooms.findings.take(counted.len());
    let chosen = worst(counted, room);
    let count = rooms.functions.take(report.isa_functions.len());
    let functions = report.isa_functions.get(..count).unwrap_or_default();
    let (findings, evidence) = rows::findings(&chosen, &mut texts);
    let others = rows::others(&chosen, report, code, &mut texts);
    let functions = rows::functions(functions, &Sizes::of(code), &mut texts);
    let profile = report
        .profile
        .as_ref()
        .map(|profile| shown_value(json!({"what": seen(profile), "weight": profile.share})));
    let parts = [
        ("findings", findings),
        ("evidence", evidence),
        ("functions", functions),
        ("others", others),
        ("profile", profile.unwrap_or_default()),
        ("texts", texts.finish()),
    ];
    record.extend(
        parts
            .into_iter()
            .filter(|(_, value)| is_something(value))
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Value::Object(record)
}

/// What the report says of the file as a whole.
fn summary(report: &Report) -> Map<String, Value> {
    let coverage = report.coverage;
    let atomics = report.atomics.filter(|atomics| *atomics != Atomics::default());
    let parts = json!({
        "path": report.path,
        "arch": report.arch,
        "made_at_run_time": report.made_at_run_time.then_some(true),
        "build_id": report.build_id,
        "level": report.level,
        "needed_beyond": report.needed_beyond,
        "needed_by": report.needed_by,
        "refuses": report.refuses.as_ref().map(ToString::to_string),
        "level_guarded": report.level_guarded,
        "guarded_beyond": report.guarded_beyond,
        "not": report.runs_on.not,
        "not_followed": report.not_followed,
        "answer": report.answer,
        "answered": answer::clause(report),
        "why_undecided": answer::why_undecided(report),
        "groups": report.isa_groups,
        "atomics": atomics,
        "compilers": report.build.compilers,
        "advice": report.advice,
        "costs": report.costs,
        "tried": report.tried,
        "claim": report.claim,
        "allowed": report.allowed,
        "not_counted": not_counted_in_words(report),
        "missing_libraries": report.missing_libraries,
        "faults": report.faults,
        "bytes": [coverage.executable_bytes, coverage.decoded_bytes, coverage.data_bytes, coverage.undecoded_bytes],
        "count": coverage.functions,
    });
    match shown_value(parts) {
        Value::Object(members) => members.into_iter().filter(|(_, value)| is_something(value)).collect(),
        _ => Map::new(),
    }
}

/// So many of the findings, the worst, in the order of all.
fn worst(findings: Vec<&PlacedFinding>, count: usize) -> Vec<&PlacedFinding> {
    let is_too_many = count < findings.len();
    let mut chosen: Vec<(usize, &PlacedFinding)> = findings.into_iter().enumerate().collect();
    if is_too_many {
        chosen.sort_by_key(|(at, finding)| {
            let share = finding.weight.map(|weight| weight.share);
            (Reverse(share), Reverse(finding.severity), Reverse(finding.in_loop), Reverse(finding.calls), *at)
        });
        chosen.truncate(count);
        chosen.sort_unstable_by_key(|(at, _)| *at);
    }
    chosen.into_iter().map(|(_, finding)| finding).collect()
}
