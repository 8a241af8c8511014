//! Google Benchmark's JSON (its `docs/user_guide.md`, "Output Formats", and `src/json_reporter.cc`).
//!
//! Repetitions of a benchmark are values of one metric; means, medians and the like are computed from them
//! and left out, and so are benchmarks that failed or were skipped. Nothing says whether more or less of a
//! user's counter is better: a name that speaks of a rate is taken for one, of everything else less is
//! better.

use crate::readers::error::ReadError;
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::json::{self, JsonField};
use crate::readers::measurement::Measurement;
use crate::readers::metrics::{Metrics, parts};
use crate::readers::quantity::{BANDWIDTH, Quantity, RATE, TIME};
use crate::stats::Direction;

pub(super) const METRICS: Metrics = Metrics::open(
    &[("real_time", TIME), ("cpu_time", TIME), ("bytes_per_second", BANDWIDTH), ("items_per_second", RATE)],
    |name| {
        let (_, metric) = parts(name);
        (!metric.is_empty()).then(|| {
            let Quantity { unit, direction } = counter(metric);
            (unit.to_owned(), direction)
        })
    },
);

/// Numbers that are no results.
const SETTINGS: [&str; 8] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
];

/// A counter of the user's own.
fn counter(name: &str) -> Quantity {
    let is_rate = ["per_second", "per_sec", "/s", "rate", "throughput", "bandwidth"]
        .iter()
        .any(|word| name.to_ascii_lowercase().ends_with(word));
    let direction = if is_rate { Direction::Larger } else { Direction::Smaller };
    Quantity { unit: "", direction }
}

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::GoogleBenchmark, METRICS);
    let mut has_aggregates = false;
    for document in json::documents(text)? {
        for benchmark in document.root().get("benchmarks")?.items()? {
            let name = benchmark.find("run_name").map_or_else(|| benchmark.get("name"), Ok)?.text()?;
            if is_aggregate(&benchmark)? {
                has_aggregates = true;
            } else if !["error_occurred", "skipped"]
                .iter()
                .any(|flag| benchmark.find(flag).is_some_and(|flag| flag.is_true()))
            {
                add(name, &benchmark, &mut found)?;
            }
        }
    }
    found.finish().map_err(|error| match has_aggregates {
        true => ReadError::whole("means only: run it without --benchmark_report_aggregates_only"),
        false => error,
    })
}

/// Before 1.5 only the name shows it.
fn is_aggregate(benchmark: &JsonField<'_>) -> Result<bool, ReadError> {
    match benchmark.find("run_type") {
        Some(kind) => Ok(kind.text()? != "iteration"),
        None => {
            let name = benchmark.get("name")?.text()?;
            let ends = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
            Ok(ends.iter().any(|end| name.ends_with(end)))
        }
    }
}

fn add(name: &str, benchmark: &JsonField<'_>, found: &mut Gathered) -> Result<(), ReadError> {
    let a_second = match benchmark.find("time_unit") {
        None => 1e9,
        Some(unit) => match unit.text()? {
            "ns" => 1e9,
            "us" => 1e6,
            "ms" => 1e3,
            "s" => 1.0,
            other => return Err(ReadError::at(unit.place(), format!("unknown unit {other:?}"))),
        },
    };
    for time in ["real_time", "cpu_time"] {
        let field = benchmark.get(time)?;
        found.push(field.place(), format!("{name}:{time}"), field.number()? / a_second)?;
    }
    for (counter, field) in benchmark.fields()? {
        if let Some(value) = field.as_number().filter(|_| !SETTINGS.contains(&counter)) {
            found.push(field.place(), format!("{name}:{counter}"), value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_a_rate_where_its_name_says_so() {
        for (name, direction) in
            [("rows/s", Direction::Larger), ("HitRate", Direction::Larger), ("misses", Direction::Smaller)]
        {
            assert_eq!(counter(name).direction, direction, "{name}");
        }
    }

    #[test]
    fn means_alone_are_refused_and_fields_are_named() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        let aggregate = r#"{"benchmarks":[{"name":"a_mean","run_name":"a","run_type":"aggregate"}]}"#;
        assert_eq!(error(aggregate), "means only: run it without --benchmark_report_aggregates_only");
        let older = r#"{"benchmarks":[{"name":"a_mean","real_time":1}]}"#;
        assert!(error(older).starts_with("means only"));
        assert_eq!(error(r#"{"benchmarks":[{"name":"a"}]}"#), "benchmarks[0]: no field \"real_time\"");
        let unit = r#"{"benchmarks":[{"name":"a","time_unit":"d","real_time":1,"cpu_time":1}]}"#;
        assert_eq!(error(unit), "benchmarks[0].time_unit: unknown unit \"d\"");
        assert_eq!(error("{}"), "the document: no field \"benchmarks\"");
        assert_eq!(error(r#"{"benchmarks":[]}"#), "no result of google-benchmark in it");
    }
}
