//! memtier_benchmark (its `run_stats.cpp`): the row and the object `Totals`.
//!
//! With `-x` there are several runs: those of `--print-all-runs` are the values, else their average is one;
//! the best and the worst run, picked for being so, are none. KB are 1024 bytes.

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::json::{self, JsonField};
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{BANDWIDTH, RATE, TIME, lines, milliseconds, number, percentile};

pub(super) const METRICS: Metrics =
    Metrics::fixed(&[("ops", RATE), ("latency", TIME), ("bandwidth", BANDWIDTH)]);

/// What a part of a report is of, by its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Run,
    Average,
    Picked,
}

impl Part {
    fn of(title: &str) -> Option<Part> {
        let title = title.trim();
        if title == "ALL STATS" || (title.starts_with("RUN #") && title.ends_with("RESULTS")) {
            Some(Part::Run)
        } else if title.starts_with("AGGREGATED AVERAGE RESULTS") {
            Some(Part::Average)
        } else if matches!(title, "BEST RUN RESULTS" | "WORST RUN RESULTS") {
            Some(Part::Picked)
        } else {
            None
        }
    }
}

/// A metric's name and value, and where it is.
type Value = (ReportPlace, String, f64);

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let is_json = text.lines().map(str::trim_start).any(|line| line.starts_with('{'));
    let parts = if is_json { of_json(text)? } else { of_text(text)? };
    let mut found = Gathered::new(Format::Memtier, METRICS);
    let wanted = match parts.iter().any(|(part, _)| *part == Part::Run) {
        true => Part::Run,
        false => Part::Average,
    };
    for (_, values) in parts.into_iter().filter(|(part, _)| *part == wanted) {
        for (place, name, value) in values {
            found.push(place, name, value)?;
        }
    }
    found.finish_in_step()
}

fn of_json(text: &str) -> Result<Vec<(Part, Vec<Value>)>, ReadError> {
    let mut parts = Vec::new();
    for document in json::documents(text)? {
        for (title, field) in document.root().fields()? {
            let Some(part) = Part::of(title) else { continue };
            parts.push((part, totals(&field.get("Totals")?)?));
        }
    }
    Ok(parts)
}

fn totals(totals: &JsonField<'_>) -> Result<Vec<Value>, ReadError> {
    let value = |field: &JsonField<'_>, name: String, to_base: fn(f64) -> f64| {
        Ok((field.place(), name, to_base(field.number()?)))
    };
    let mut values = vec![value(&totals.get("Ops/sec")?, "ops".to_owned(), |rate| rate)?];
    values.push(value(&totals.get("Latency")?, "latency".to_owned(), milliseconds)?);
    if let Some(bandwidth) = totals.find("KB/sec") {
        values.push(value(&bandwidth, "bandwidth".to_owned(), kibi)?);
    }
    if let Some(latencies) = totals.find("Percentile Latencies") {
        for (name, field) in latencies.fields()? {
            let Some(share) = name.strip_prefix('p') else { continue };
            let name = format!("latency:{}", percentile(field.place(), share)?);
            values.push(value(&field, name, milliseconds)?);
        }
    }
    Ok(values)
}

fn of_text(text: &str) -> Result<Vec<(Part, Vec<Value>)>, ReadError> {
    let (mut parts, mut part, mut head) = (Vec::new(), Part::Run, None);
    for (number_of_line, line) in lines(text) {
        let line = line.trim();
        if let Some(titled) = Part::of(line) {
            part = titled;
        } else if let Some(columns) = line.strip_prefix("Type ").filter(|columns| columns.contains("Ops/sec"))
        {
            head = Some(names(columns));
        } else if let Some(values) = line.strip_prefix("Totals ") {
            let head =
                head.take().ok_or_else(|| ReadError::line(number_of_line, "Totals without a head above"))?;
            parts.push((part, row(number_of_line, &head, values)?));
        }
    }
    Ok(parts)
}

/// Names of columns; `Avg. Latency` and `p99 Latency` are of two words.
fn names(columns: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in columns.split_whitespace() {
        match names.last_mut() {
            Some(last) if word == "Latency" && (last == "Avg." || last.starts_with('p')) => {
                last.push_str(" Latency")
            }
            _ => names.push(word.to_owned()),
        }
    }
    names
}

fn row(line: usize, head: &[String], values: &str) -> Result<Vec<Value>, ReadError> {
    let values: Vec<&str> = values.split_whitespace().collect();
    if values.len() != head.len() {
        return Err(ReadError::line(line, format!("{} values under {} columns", values.len(), head.len())));
    }
    let mut found = Vec::new();
    for (column, text) in head.iter().zip(values) {
        let place = ReportPlace::Line(line);
        let (name, to_base): (String, fn(f64) -> f64) = match column.as_str() {
            "Ops/sec" => ("ops".to_owned(), |rate| rate),
            "Latency" | "Avg. Latency" => ("latency".to_owned(), milliseconds),
            "KB/sec" => ("bandwidth".to_owned(), kibi),
            other => match other.strip_prefix('p').and_then(|rest| rest.strip_suffix(" Latency")) {
                Some(share) => (format!("latency:{}", percentile(place.clone(), share)?), milliseconds),
                None => continue,
            },
        };
        let value = to_base(number(place.clone(), column, text)?);
        found.push((place, name, value));
    }
    Ok(found)
}

fn kibi(value: f64) -> f64 {
    value * 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency   p99.9 Latency       KB/sec\n";

    fn table(title: &str, ops: u32) -> String {
        format!(
            "{title}\n=====\n{HEAD}-----\nSets 1 --- --- 1 1 1 1\nTotals {ops}.5 0.00 3.00 0.5 0.25 2 10\n\n"
        )
    }

    #[test]
    fn the_runs_count_else_their_average_and_never_the_best_and_the_worst() {
        let all: String =
            [("BEST RUN RESULTS", 9), ("WORST RUN RESULTS", 1), ("AGGREGATED AVERAGE RESULTS (2 runs)", 5)]
                .map(|(title, ops)| table(title, ops))
                .concat();
        let found = read(&all).unwrap();
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["ops", "latency", "latency:p50", "latency:p99.9", "bandwidth"]);
        let first = |found: &[Measurement]| found.iter().map(|found| found.values[0]).collect::<Vec<f64>>();
        assert_eq!(first(&found), [5.5, 0.0005, 0.00025, 0.002, 10240.0]);
        let runs = format!("{}{}{all}", table("RUN #1 RESULTS", 7), table("RUN #2 RESULTS", 8));
        assert_eq!(read(&runs).unwrap()[0].values, [7.5, 8.5]);
    }

    #[test]
    fn tables_that_do_not_fit_are_refused_with_the_line() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(error("ALL STATS\n"), "no result of memtier in it");
        assert_eq!(error("Totals 1 2\n"), "line 1: Totals without a head above");
        assert_eq!(error(&format!("{HEAD}Totals 1 2\n")), "line 2: 2 values under 7 columns");
        assert_eq!(
            error(&format!("{HEAD}Totals 1 2 3 --- 5 6 7\n")),
            "line 2: Avg. Latency: \"---\" is no number"
        );
        assert_eq!(
            error("{\"ALL STATS\":{\"Totals\":{\"Ops/sec\":-nan}}}"),
            "line 1: invalid number (cut off, or no JSON)"
        );
        assert_eq!(
            error("{\"ALL STATS\":{\"Totals\":{\"Ops/sec\":1}}}"),
            "ALL STATS.Totals: no field \"Latency\""
        );
    }
}
