//! The runs of both sides as hyperfine's `--export-json` has them, for its scripts and whatever else reads that.
//!
//! In: a document with runs. Out: hyperfine's schema, version 2: a result for each side, or for each side at each
//! value of what was swept over, with all runs and their summaries. Each result also has the fields of version 1
//! (`mean`, `times`, …), which version 2 leaves free. `parameters`, which both have, is that of version 2.

use super::document::CompareDocument;
use deburr_lab::bench::moment::rfc3339;
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::process::End;
use deburr_lab::measure::record::RecordedRun;
use deburr_lab::side::Side;
use deburr_lab::stats::moments;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// A metric of hyperfine's: its name in version 2, its unit, and what it is of a run.
type HyperfineMetric = (&'static str, &'static str, fn(&RecordedRun) -> f64);

/// What hyperfine measures of every run.
const METRICS: [HyperfineMetric; 5] = [
    ("time_wall_clock", "second", |run| run.usage.wall),
    ("time_cpu", "second", |run| run.usage.user + run.usage.system),
    ("time_user", "second", |run| run.usage.user),
    ("time_system", "second", |run| run.usage.system),
    ("memory_peak_resident", "byte", |run| run.usage.peak_memory as f64),
];

/// Writes the document.
pub(crate) fn render(document: &CompareDocument, out: &mut dyn Write) -> io::Result<()> {
    let parameter = document.sweep.as_ref().map(|(name, _)| name.as_str());
    let results: Vec<Value> = document
        .runs
        .iter()
        .flat_map(|(value, pairs)| {
            Side::BOTH.map(|side| result(document, parameter.zip(Some(value)), pairs, side))
        })
        .collect();
    let runs = document.runs.iter().flat_map(|(_, pairs)| pairs).flat_map(|pair| &pair.runs);
    let began = runs.map(|run| run.began).fold(f64::INFINITY, f64::min);
    let mut metadata = Map::new();
    metadata.insert("deburr_version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    if began.is_finite() && began >= 0.0 {
        metadata.insert("start_time".to_owned(), json!(rfc3339(began as u64)));
    }
    let whole = json!({
        "schema_version": 2,
        "metadata": metadata,
        "primary_metric": METRICS[0].0,
        "results": results,
    });
    serde_json::to_writer_pretty(&mut *out, &whole)?;
    writeln!(out)
}

/// One side's runs at a value of what was swept over.
fn result(document: &CompareDocument, at: Option<(&str, &String)>, pairs: &[Pair], side: Side) -> Value {
    let runs: Vec<&RecordedRun> = pairs.iter().map(|pair| &pair.runs[side.index()]).collect();
    let commands = document.measured.sides();
    let given = &commands[side.index()];
    let command =
        at.map_or_else(|| given.clone(), |(name, value)| given.replace(&format!("{{{name}}}"), value));
    let mut result = Map::new();
    let mut put = |name: &str, value: Value| result.insert(name.to_owned(), value);
    if commands[0] == commands[1] {
        let side = if side == Side::A { "A" } else { "B" };
        put("name", json!(format!("{side}: {command}")));
    }
    put("command", json!(command));
    if let Some((name, value)) = at {
        put("parameters", json!({ name: {"value": value} }));
    }
    put("measurements", runs.iter().map(|run| measurement(run)).collect());
    let summaries = METRICS.iter().map(|(name, unit, of)| {
        let values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
        ((*name).to_owned(), summary(unit, &values))
    });
    put("summary", Value::Object(summaries.collect()));
    let of = |of: fn(&RecordedRun) -> f64| -> Vec<f64> { runs.iter().map(|run| of(run)).collect() };
    let times = of(|run| run.usage.wall);
    if let Value::Object(of_times) = summary("second", &times) {
        let fields = ["mean", "stddev", "median", "min", "max"].into_iter();
        fields.filter_map(|name| Some((name, of_times.get(name)?.clone()))).for_each(|(name, value)| {
            put(name, value);
        });
    }
    put("user", json!(moments::mean(&of(|run| run.usage.user))));
    put("system", json!(moments::mean(&of(|run| run.usage.system))));
    put("times", json!(times));
    put("memory_usage_byte", runs.iter().map(|run| json!(run.usage.peak_memory)).collect());
    put("exit_codes", runs.iter().map(|run| exit_code(run)).collect());
    Value::Object(result)
}

fn measurement(run: &RecordedRun) -> Value {
    let values =
        METRICS.iter().map(|(name, unit, of)| ((*name).to_owned(), json!({"value": of(run), "unit": unit})));
    let mut fields: Map<String, Value> = values.collect();
    fields.insert("exit_code".to_owned(), exit_code(run));
    Value::Object(fields)
}

/// A run that a signal ended has none.
fn exit_code(run: &RecordedRun) -> Value {
    match run.end {
        End::Status(status) => json!(status),
        End::Signal(_) | End::TimedOut | End::Interrupted => Value::Null,
    }
}

fn summary(unit: &str, values: &[f64]) -> Value {
    let deviation = moments::standard_deviation(values);
    json!({
        "unit": unit,
        "count": values.len(),
        "mean": moments::mean(values),
        "stddev": deviation.is_finite().then_some(deviation),
        "median": moments::median(values),
        "min": values.iter().copied().fold(f64::INFINITY, f64::min),
        "max": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}
