//! `deburr compare log`: the records of a directory → where each series of them became better or worse.
//!
//! In: the directory. Out: a document for the renderers, and the exit status by `--expect`. Records make a series
//! where they are of the same command B and of the same metric.

use super::metric::{self, ChosenMetric};
use crate::args::compare::{Expected, Log};
use crate::args::format::{Format, When};
use crate::cmd::failure::Failure;
use crate::cmd::terminal::colored;
use crate::render::compare::log::{self, LogDocument, LogSeries, LoggedRecord};
use crate::render::style::Palette;
use crate::system_error::error_text;
use deburr_lab::bench::moment::rfc3339;
use deburr_lab::comparison::history::{self, RESEMBLING};
use deburr_lab::measure::pairs::{self, Pair};
use deburr_lab::measure::provenance::Program;
use deburr_lab::measure::record::{self, Header, RecordError};
use deburr_lab::side::Side;
use deburr_lab::stats::verdict::Outcome;
use deburr_lab::stats::{Rope, moments};
use deburr_text::ShownPath as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the orders of the permutation test come from: the same records always give the same answer.
const SEED: u64 = 1;

/// A record as it was read.
struct Read {
    file: PathBuf,
    header: Header,
    chosen: ChosenMetric,
    pairs: Vec<Pair>,
    /// In seconds since 1970.
    began: f64,
}

/// Runs the verb.
pub(super) fn run(options: &Log, color: When, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let rope =
        Rope::new(options.region / 100.0).map_err(|error| Failure::Message(format!("--region: {error}")))?;
    let document = document(options, rope).map_err(Failure::Message)?;
    match options.format {
        Format::Text => {
            let palette = Palette::new(colored(color, std::io::stdout().is_terminal()));
            log::text(&document, palette, out)?;
        }
        Format::Json => log::json(&document, out)?,
    }
    let holds = document.series.iter().all(|series| holds(options.expect, series));
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Whether the last change of a series is what is expected.
fn holds(expected: Option<Expected>, series: &LogSeries) -> bool {
    let last = series.history.changes.last().map(|change| change.outcome);
    match expected {
        None => true,
        Some(Expected::Better) => last == Some(Outcome::Better),
        Some(Expected::NotWorse) => last != Some(Outcome::Worse),
        Some(Expected::Same) => !matches!(last, Some(Outcome::Better | Outcome::Worse)),
    }
}

fn document(options: &Log, rope: Rope) -> Result<LogDocument, String> {
    let folder = options.folder.shown();
    let entries =
        fs::read_dir(&options.folder).map_err(|error| format!("{folder}: {}", error_text(&error)))?;
    let (mut records, mut notes, mut others) = (Vec::new(), Vec::new(), 0);
    for entry in entries {
        let path = entry.map_err(|error| format!("{folder}: {}", error_text(&error)))?.path();
        if !path.is_file() {
            continue;
        }
        match read(&path, options.metric.as_deref()) {
            Ok(Some(record)) => records.push(record),
            Ok(None) => others += 1,
            Err(why) => notes.push(format!("{}: {why}", path.shown())),
        }
    }
    if others > 0 {
        notes.push(format!("{others} files are no records of deburr compare"));
    }
    if records.is_empty() {
        let why = if notes.is_empty() { "it is empty".to_owned() } else { notes.join("; ") };
        return Err(format!("{folder}: no records of deburr compare: {why}"));
    }
    notes.sort_unstable();
    let mut series: BTreeMap<(String, String, bool), Vec<Read>> = BTreeMap::new();
    for record in records {
        let key = (record.header.commands[1].clone(), record.chosen.text.clone(), is_aa(&record.header));
        series.entry(key).or_default().push(record);
    }
    let series =
        series.into_values().map(|records| one(records, rope)).collect::<Result<Vec<_>, String>>()?;
    Ok(LogDocument { series, notes })
}

/// Reads a record; `None` of a file that is something else.
fn read(path: &Path, metric: Option<&str>) -> Result<Option<Read>, String> {
    let (header, runs) = match record::read(path) {
        Ok(read) => read,
        Err(RecordError::Line(1, _)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let wanted = |(name, _): &&(String, String)| metric.is_none_or(|metric| name == metric);
    let Some((name, text)) = header.metrics.iter().find(wanted) else {
        let names: Vec<&str> = header.metrics.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("it has no such metric, but {}", names.join(", ")));
    };
    let known = metric::parse(text).unwrap_or_default();
    let chosen = known.into_iter().find(|chosen| chosen.question.name == *name);
    let chosen = chosen.ok_or_else(|| format!("metric {text:?}: nothing that this version knows"))?;
    if chosen.percentile.is_some() {
        return Err(format!("{name}: runs are followed, not percentiles of several: --metric names another"));
    }
    let pairs = pairs::pairs(runs);
    let began = pairs.first().map(|pair| pair.runs[0].began.min(pair.runs[1].began));
    let began = began.ok_or("no pair of runs in it")?;
    Ok(Some(Read { file: path.to_owned(), header, chosen, pairs, began }))
}

/// The series of some records.
fn one(mut records: Vec<Read>, rope: Rope) -> Result<LogSeries, String> {
    records.sort_by(|one, other| one.began.total_cmp(&other.began).then_with(|| one.file.cmp(&other.file)));
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return Err("a series without records".to_owned());
    };
    let is_aa = is_aa(&first.header);
    let is_relative = !is_aa && records.iter().all(|record| is_same_a(&first.header, &record.header));
    let (question, commands) = (first.chosen.question.clone(), last.header.commands.clone());
    let mut notes = Vec::new();
    let machines: BTreeSet<String> = records.iter().filter_map(|record| machine(&record.header)).collect();
    if machines.len() > 1 && !is_relative {
        notes.push(format!(
            "measured on {} machines: a change may be theirs; records --against the same A are not moved by that",
            machines.len()
        ));
    }
    let (mut logged, mut levels) = (Vec::new(), Vec::new());
    for record in &records {
        let metric = &record.chosen.metric.name;
        match history::level(&record.pairs, metric, question.direction, is_relative, is_aa) {
            Ok(level) => levels.push(level),
            Err(error) => {
                notes.push(format!("{}: left out: {error}", record.file.shown()));
                continue;
            }
        }
        let program = program(&record.header, Side::B);
        logged.push(LoggedRecord {
            file: record.file.clone(),
            began: rfc3339(record.began as u64),
            commit: program.and_then(|program| program.commit.clone()),
            is_dirty: program.and_then(|program| program.is_dirty) == Some(true),
            pairs: record.pairs.len(),
            value: moments::median(&history::values(&record.pairs, metric, Side::B)),
        });
    }
    let history = history::history(levels, rope, SEED).map_err(|error| error.to_string())?;
    if history.resemblance > RESEMBLING {
        notes.push(format!(
            "neighbouring records resemble each other (r = {:.2}), as on a machine that drifts: changes of level may be its",
            history.resemblance
        ));
    }
    Ok(LogSeries { question, commands, is_relative, is_aa, region: rope, records: logged, history, notes })
}

fn is_aa(header: &Header) -> bool {
    header.options.contains_key("aa") || header.commands[0] == header.commands[1]
}

/// Whether two records have the same A: the same command, and as far as that is known the same program.
fn is_same_a(one: &Header, other: &Header) -> bool {
    let id = |header| program(header, Side::A).and_then(|program| program.build_id.clone());
    one.commands[0] == other.commands[0] && id(one) == id(other)
}

fn program(header: &Header, side: Side) -> Option<&Program> {
    header.provenance.as_ref().map(|provenance| &provenance.programs[side.index()])
}

/// The name and the CPU of the machine.
fn machine(header: &Header) -> Option<String> {
    let host = &header.provenance.as_ref()?.host;
    Some(format!("{:?} {:?}", host.name, host.cpu))
}
