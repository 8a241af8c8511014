//! sysbench 0.4 to 1.1 (its `src/sysbench.c`, `report_cumulative`, and those of its tests).
//!
//! A report begins with `sysbench VERSION`. `events` is what it prints (1.1 twice, once with more digits);
//! tests that print no rate at all (`threads`, `mutex`, and `cpu` before 1.0) have their events divided by
//! their time. A megabyte is 1,048,576 bytes, also where it is written `MB` or `Mb`.

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{
    BANDWIDTH, RATE, TIME, UnitFactor, lines, milliseconds, number, percentile, scaled,
};

pub(super) const METRICS: Metrics = Metrics::fixed(&[
    ("events", RATE),
    ("transactions", RATE),
    ("queries", RATE),
    ("requests", RATE),
    ("operations", RATE),
    ("reads", RATE),
    ("writes", RATE),
    ("fsyncs", RATE),
    ("transferred", BANDWIDTH),
    ("read", BANDWIDTH),
    ("written", BANDWIDTH),
    ("latency", TIME),
]);

const MEBI: f64 = 1_048_576.0;

/// What of a report is known only at its end.
#[derive(Debug, Default)]
struct Report {
    line: usize,
    /// As printed, with the line.
    events: Option<(usize, f64)>,
    /// The same with more digits.
    exact_events: Option<(usize, f64)>,
    count: Option<f64>,
    seconds: Option<f64>,
    has_rate: bool,
}

impl Report {
    fn end(&self, found: &mut Gathered) -> Result<(), ReadError> {
        if let Some((line, events)) = self.exact_events.or(self.events) {
            return found.once(ReportPlace::Line(line), "events", events);
        }
        match (self.count, self.seconds) {
            (Some(count), Some(seconds)) if !self.has_rate && seconds > 0.0 => {
                found.once(ReportPlace::Line(self.line), "events", count / seconds)
            }
            _ => Ok(()),
        }
    }
}

/// Rates in the form `name:   COUNT   (RATE per sec.)`.
const COUNTED: [(&str, &str); 5] = [
    ("transactions:", "transactions"),
    ("queries:", "queries"),
    ("read/write requests:", "requests"),
    ("Total operations:", "operations"),
    ("Operations performed:", "operations"),
];

/// Sizes a second in the form `… transferred … (RATE MiB/sec)`.
const SIZES: &[(&str, UnitFactor)] = &[
    ("b/sec", UnitFactor::Times(1.0)),
    ("Kb/sec", UnitFactor::Times(1024.0)),
    ("Mb/sec", UnitFactor::Times(MEBI)),
    ("MB/sec", UnitFactor::Times(MEBI)),
    ("MiB/sec", UnitFactor::Times(MEBI)),
    ("Gb/sec", UnitFactor::Times(1024.0 * MEBI)),
    ("Tb/sec", UnitFactor::Times(1_048_576.0 * MEBI)),
];

/// Rates in the form `name:   RATE`.
const PLAIN: [(&str, &str, f64); 5] = [
    ("reads/s:", "reads", 1.0),
    ("writes/s:", "writes", 1.0),
    ("fsyncs/s:", "fsyncs", 1.0),
    ("read, MiB/s:", "read", MEBI),
    ("written, MiB/s:", "written", MEBI),
];

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Sysbench, METRICS);
    let mut report = Report { line: 1, ..Report::default() };
    for (number_of_line, line) in lines(text) {
        let is_head =
            line.strip_prefix("sysbench ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if is_head {
            report.end(&mut found)?;
            found.report(number_of_line)?;
            report = Report { line: number_of_line, ..Report::default() };
        } else {
            read_line(number_of_line, line.trim(), &mut report, &mut found)?;
        }
    }
    report.end(&mut found)?;
    found.finish_alike()
}

fn read_line(
    number_of_line: usize,
    line: &str,
    report: &mut Report,
    found: &mut Gathered,
) -> Result<(), ReadError> {
    let place = ReportPlace::Line(number_of_line);
    let value = |what: &str, text: &str| number(place.clone(), what, text);
    let time = |what: &str, text: &str| {
        let text = text.trim();
        value(what, text.strip_suffix("ms").unwrap_or(text)).map(milliseconds)
    };
    let twice = |what: &str| {
        ReadError::line(number_of_line, format!("{what} a second time in one report of sysbench"))
    };
    if let Some(rest) = line.strip_prefix("events per second:") {
        let events = (number_of_line, value("events per second", rest)?);
        return report.events.replace(events).map_or(Ok(()), |_| Err(twice("events per second")));
    }
    if let Some(rest) = line.strip_prefix("events/s (eps):") {
        let events = (number_of_line, value("events/s", rest)?);
        return report.exact_events.replace(events).map_or(Ok(()), |_| Err(twice("events/s")));
    }
    if let Some(rest) = line.strip_prefix("total number of events:") {
        report.count = Some(value("total number of events", rest)?);
        return Ok(());
    }
    if let Some(rest) = line.strip_prefix("total time:") {
        let rest = rest.trim();
        report.seconds = Some(value("total time", rest.strip_suffix('s').unwrap_or(rest))?);
        return Ok(());
    }
    if let Some(rest) = line.strip_prefix("avg:") {
        return found.once(place.clone(), "latency", time("avg", rest)?);
    }
    if let Some((share, rest)) = line.split_once("percentile:") {
        let share = share.trim().trim_start_matches("approx.").trim();
        let share = share.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let name = format!("latency:{}", percentile(place.clone(), share)?);
        return found.once(place.clone(), name, time("percentile", rest)?);
    }
    if let Some(rest) = line.strip_suffix("Requests/sec executed") {
        report.has_rate = true;
        return found.once(place.clone(), "requests", value("Requests/sec", rest)?);
    }
    for (head, name, factor) in PLAIN {
        if let Some(rest) = line.strip_prefix(head) {
            report.has_rate = true;
            return found.once(place.clone(), name, value(name, rest)? * factor);
        }
    }
    // Since 1.1: `read:  IOPS=1234.56 19.29 MiB/s (20.23 MB/s)`.
    for (head, name) in [("read:", "reads"), ("write:", "writes"), ("fsync:", "fsyncs")] {
        if let Some(rest) = line.strip_prefix(head).and_then(|rest| rest.trim_start().strip_prefix("IOPS=")) {
            report.has_rate = true;
            let digits = rest.split_whitespace().next().unwrap_or_default();
            return found.once(place.clone(), name, value(name, digits)?);
        }
    }
    let Some((_, rate)) = line.rsplit_once('(') else { return Ok(()) };
    if line.contains("transferred") {
        report.has_rate = true;
        let rate = scaled(place.clone(), "transferred", rate.trim_end_matches(')'), SIZES)?;
        return found.once(place.clone(), "transferred", rate);
    }
    if let Some((_, name)) = COUNTED.into_iter().find(|(head, _)| line.starts_with(head)) {
        report.has_rate = true;
        let end = rate.find(|c: char| c.is_alphabetic()).unwrap_or(rate.len());
        return found.once(place.clone(), name, value(name, rate.get(..end).unwrap_or_default())?);
    }
    Ok(())
}
