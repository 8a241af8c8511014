//! What `deburr compare log` found → text and JSON.
//!
//! In: series of records with their changes of level. Out: for people a line for each record and one for each
//! change between them; for machines one JSON value.

use super::provenance::short;
use super::quantity::{better, percent, shown};
use crate::render::style::Palette;
use deburr_lab::comparison::Question;
use deburr_lab::comparison::history::{Change, History};
use deburr_lab::stats::change_points::SHORTEST;
use deburr_lab::stats::verdict::Outcome;
use deburr_lab::stats::{Direction, Rope};
use deburr_text::ShownPath as _;
use deburr_text::one_line;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;

/// The version of the JSON's form.
const SCHEMA_VERSION: u32 = 1;

/// All that there is to show.
pub(crate) struct LogDocument {
    pub(crate) series: Vec<LogSeries>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

/// Records of the same, in the order of their time.
pub(crate) struct LogSeries {
    pub(crate) question: Question,
    /// Those of the last record.
    pub(crate) commands: [String; 2],
    /// Whether levels are how far B is ahead of A.
    pub(crate) is_relative: bool,
    pub(crate) is_aa: bool,
    pub(crate) region: Rope,
    pub(crate) records: Vec<LoggedRecord>,
    pub(crate) history: History,
    pub(crate) notes: Vec<String>,
}

/// One record.
pub(crate) struct LoggedRecord {
    pub(crate) file: PathBuf,
    /// RFC 3339, in UTC.
    pub(crate) began: String,
    /// The commit of B's program, where it is in a Git tree.
    pub(crate) commit: Option<String>,
    pub(crate) is_dirty: bool,
    pub(crate) pairs: usize,
    /// The median of B's runs, in the unit of the metric.
    pub(crate) value: f64,
}

impl LogSeries {
    /// A level, or the difference of two, as a fraction in the metric's own unit.
    fn change(&self, level: f64) -> f64 {
        self.question.direction.change(level)
    }

    /// The ends of a change's interval, the lower first.
    fn interval(&self, change: &Change) -> (f64, f64) {
        let (low, high) = change.point.interval;
        let (one, other) = (self.change(low), self.change(high));
        (one.min(other), one.max(other))
    }

    /// What a record is compared with: A, or the first record.
    fn level(&self, index: usize) -> Option<f64> {
        let level = *self.history.levels.get(index)?;
        let from = if self.is_relative { 0.0 } else { *self.history.levels.first()? };
        Some(self.change(level - from))
    }
}

/// Writes it for a terminal.
pub(crate) fn text(document: &LogDocument, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let out: &mut dyn Write = &mut palette.plain(out);
    for (index, series) in document.series.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        one(series, palette, out)?;
    }
    if !document.notes.is_empty() {
        writeln!(out)?;
    }
    document.notes.iter().try_for_each(|note| writeln!(out, "note: {}", one_line(note)))
}

fn one(series: &LogSeries, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let LogSeries { question, commands: [a, b], history, records, .. } = series;
    let relative = if series.is_relative {
        format!(", against {}", one_line(a))
    } else {
        ", against the first record".to_owned()
    };
    writeln!(
        out,
        "{} ({} is better) of {}{relative}",
        palette.bold(&one_line(&question.name)),
        better(question.direction),
        one_line(b)
    )?;
    writeln!(out)?;
    let width =
        records.iter().map(|record| shown(record.value, &question.unit).chars().count()).max().unwrap_or(0);
    for (index, record) in records.iter().enumerate() {
        if let Some(change) = history.changes.iter().find(|change| change.point.at == index) {
            writeln!(out, "  {}", palette.bold(&what(series, change)))?;
        }
        let commit = match (&record.commit, record.is_dirty) {
            (Some(commit), is_dirty) => {
                format!("{}{}", one_line(short(commit)), if is_dirty { "+" } else { " " })
            }
            (None, _) => record.file.file_name().map_or_else(String::new, |name| name.shown().into_owned()),
        };
        let value = shown(record.value, &question.unit);
        let value = one_line(&value);
        let level = series.level(index).map_or_else(String::new, percent);
        writeln!(
            out,
            "  {}  {commit:<13}  {value:>width$}  {level:>9}  {} pairs",
            record.began, record.pairs
        )?;
    }
    writeln!(out)?;
    writeln!(out, "{}", palette.bold(&headline(series)))?;
    series.notes.iter().try_for_each(|note| writeln!(out, "note: {}", one_line(note)))
}

/// What happened last, in one line.
fn headline(series: &LogSeries) -> String {
    let records = series.records.len();
    let Some(last) = series.history.changes.last() else {
        let few = if records < 11 { "; 11 records or more are needed before one can be found" } else { "" };
        return format!("no change of level in {records} records{few}");
    };
    let since = series.records.get(last.point.at).map_or_else(String::new, name);
    format!("since {since}: {}, which {} records show", what(series, last), records - last.point.at)
}

fn name(record: &LoggedRecord) -> String {
    match &record.commit {
        Some(commit) => format!("commit {}", one_line(short(commit))),
        None => record.file.shown().into_owned(),
    }
}

fn what(series: &LogSeries, change: &Change) -> String {
    let (low, high) = series.interval(change);
    let region = percent(series.region.relative());
    let region = region.trim_start_matches('+');
    let outcome = match change.outcome {
        Outcome::Better | Outcome::Worse => format!("{} by more than {region}", change.outcome),
        Outcome::Same => format!("a change within {region}"),
        Outcome::Inconclusive => format!("a change, not proven to be more than {region}"),
    };
    let p = change.point.p;
    format!(
        "{outcome}: {} [{}, {}], p = {p:.4}",
        percent(series.change(change.point.shift)),
        percent(low),
        percent(high)
    )
}

/// Writes it for machines.
pub(crate) fn json(document: &LogDocument, out: &mut dyn Write) -> io::Result<()> {
    let value = json!({
        "schema_version": SCHEMA_VERSION,
        "tool_version": env!("CARGO_PKG_VERSION"),
        "series": document.series.iter().map(series).collect::<Vec<Value>>(),
        "notes": document.notes,
        "shortest": SHORTEST,
    });
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

fn series(series: &LogSeries) -> Value {
    let LogSeries { question, commands, is_relative, is_aa, region, records, history, notes } = series;
    let record = |(index, record): (usize, &LoggedRecord)| {
        let LoggedRecord { file, began, commit, is_dirty, pairs, value } = record;
        json!({
            "file": file, "began": began, "commit": commit, "is_dirty": is_dirty, "pairs": pairs, "value": value,
            "change": series.level(index),
        })
    };
    let change = |change: &Change| {
        let (low, high) = series.interval(change);
        json!({
            "at": change.point.at, "verdict": change.outcome.to_string(), "p": change.point.p,
            "change": series.change(change.point.shift), "interval": [low, high],
        })
    };
    let better = if question.direction == Direction::Larger { "larger" } else { "smaller" };
    json!({
        "metric": {"name": question.name, "unit": question.unit, "better": better},
        "commands": commands, "is_relative": is_relative, "is_aa": is_aa, "region": region.relative(),
        "records": records.iter().enumerate().map(record).collect::<Vec<Value>>(),
        "changes": history.changes.iter().map(change).collect::<Vec<Value>>(),
        "resemblance": history.resemblance, "notes": notes,
    })
}
