//! redis-benchmark (its `src/redis-benchmark.c`, `showLatencyReport`), as of Redis 2 to 7 and Valkey.
//!
//! Subjects are its tests: `SET`, `LRANGE_100 (first 100 elements)`. The same test once more is another run
//! of it. Three forms: a block for each test, a line for each (`-q`), and comma-separated values (`--csv`,
//! with a head since 6.2).

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{RATE, TIME, lines, milliseconds, number};

pub(super) const METRICS: Metrics = Metrics::fixed(&[("requests", RATE), ("latency", TIME)]);

/// What a column of its tables is called here; `None`: extremes, which say little.
fn column(name: &str) -> Option<String> {
    match name {
        "avg" => Some("latency".to_owned()),
        "min" | "max" => None,
        percentile => Some(format!("latency:{percentile}")),
    }
}

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::RedisBenchmark, METRICS);
    let mut test: Option<&str> = None;
    let mut head: Vec<String> = Vec::new();
    let mut columns: Option<Vec<&str>> = None;
    // A table's head is the line after its title, its values the one after that.
    let mut expects_columns = false;
    for (number_of_line, line) in lines(text) {
        let (place, line) = (ReportPlace::Line(number_of_line), line.trim());
        let in_a_test = |what: &str| {
            test.ok_or_else(|| {
                ReadError::line(number_of_line, format!("{what} of no test: its head is missing"))
            })
        };
        if let Some(name) = line.strip_prefix("====== ").and_then(|rest| rest.strip_suffix(" ======")) {
            test = Some(name.trim());
        } else if line.starts_with('"') {
            read_fields(number_of_line, line, &mut head, &mut found)?;
        } else if line == "latency summary (msec):" {
            expects_columns = true;
        } else if expects_columns {
            (columns, expects_columns) = (Some(line.split_whitespace().collect()), false);
        } else if let Some(columns) = columns.take() {
            let values: Vec<&str> = line.split_whitespace().collect();
            if values.len() != columns.len() {
                let reason = format!("{} values under {} columns", values.len(), columns.len());
                return Err(ReadError::line(number_of_line, reason));
            }
            for (name, text) in columns.into_iter().zip(values) {
                let Some(name) = column(name) else { continue };
                let name = format!("{}:{name}", in_a_test("latencies")?);
                let value = milliseconds(number(place.clone(), &name, text)?);
                found.push(place.clone(), name, value)?;
            }
        } else if let Some((before, after)) = line.split_once(" requests per second") {
            let (name, rate) = match before.strip_prefix("throughput summary:") {
                Some(rate) => (in_a_test("a rate")?, rate),
                None => match before.rsplit_once(": ") {
                    Some((name, rate)) => (name, rate),
                    // Before 6.2.
                    None => (in_a_test("a rate")?, before),
                },
            };
            found.push(place.clone(), format!("{name}:requests"), number(place.clone(), name, rate)?)?;
            // With `-q`: `, p50=0.039 msec`.
            let Some((percentile, time)) = after.trim_start_matches(", ").split_once('=') else { continue };
            let name = format!("{name}:latency:{percentile}");
            let time = time.trim_end().trim_end_matches("msec");
            found.push(place.clone(), name.as_str(), milliseconds(number(place, &name, time)?))?;
        }
    }
    found.finish()
}

/// A line of comma-separated values, all of them in quotes.
fn read_fields(
    number_of_line: usize,
    line: &str,
    head: &mut Vec<String>,
    found: &mut Gathered,
) -> Result<(), ReadError> {
    let place = ReportPlace::Line(number_of_line);
    let unquoted = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|_| line.len() > 1);
    let fields = unquoted.ok_or_else(|| ReadError::line(number_of_line, "a quote is not closed"))?;
    let fields: Vec<&str> = fields.split("\",\"").collect();
    let Some((test, values)) = fields.split_first() else { return Ok(()) };
    if *test == "test" {
        *head = values.iter().map(|&name| name.to_owned()).collect();
        return Ok(());
    }
    let usual = ["rps".to_owned()];
    let head = if head.is_empty() { usual.as_slice() } else { head.as_slice() };
    if values.len() != head.len() {
        let reason = format!("{} values under {} columns", values.len(), head.len());
        return Err(ReadError::line(number_of_line, reason));
    }
    for (name, text) in head.iter().zip(values) {
        let value = || number(place.clone(), name, text);
        if name == "rps" {
            found.push(place.clone(), format!("{test}:requests"), value()?)?;
        } else if let Some(column) = name.strip_suffix("_latency_ms").and_then(column) {
            found.push(place.clone(), format!("{test}:{column}"), milliseconds(value()?))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn before_version_6_2_there_are_rates_only() {
        let found = read("====== SET ======\n  100000 requests completed in 0.88 seconds\n\n99.9% <= 1 milliseconds\n113636.37 requests per second\n\n").unwrap();
        assert_eq!((found[0].name.as_str(), found[0].values[0]), ("SET:requests", 113_636.37));
        let found = read("\"SET\",\"113636.37\"\n\"GET\",\"5\"\n\"SET\",\"7\"\n").unwrap();
        assert_eq!((found.len(), found[0].values.as_slice()), (2, [113_636.37, 7.0].as_slice()));
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_the_line() {
        assert_eq!(error("nothing\n"), "no result of redis-benchmark in it");
        assert_eq!(
            error("  throughput summary: 5 requests per second\n"),
            "line 1: a rate of no test: its head is missing"
        );
        assert_eq!(error("SET: many requests per second\n"), "line 1: SET: \"many\" is no number");
        assert_eq!(error("\"SET\",\"5\",\"6\"\n"), "line 1: 2 values under 1 columns");
        assert_eq!(error("\"SET\",\"5\n"), "line 1: a quote is not closed");
        assert_eq!(error("\"\n"), "line 1: a quote is not closed");
        let text = "====== SET ======\n latency summary (msec):\n avg min\n 0.1\n";
        assert_eq!(error(text), "line 4: 1 values under 2 columns");
    }
}
