//! `go test -bench`: Go's benchmark format, by [`crate::benchfmt`]; and measurements of any program in that
//! format, for benchstat's tables.
//!
//! Names are `Encode/format=json-8:sec/op`; with their package in front where there are several. `Unit` lines
//! may say whether more or less is better; else more is, where something is counted a second.

use crate::benchfmt::{self, Record, Units};
use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::stats::Direction;
use crate::stats::benchstat::Upstream;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Its names end in their units.
pub(super) const METRICS: Metrics = Metrics::open(&[], |name| {
    let unit = name.rsplit_once(':')?.1;
    (!unit.is_empty()).then(|| (unit.to_owned(), direction(unit)))
});

/// Which direction of a unit is better, unless its file says otherwise.
fn direction(unit: &str) -> Direction {
    match unit.ends_with("/s") || unit.ends_with("/sec") {
        true => Direction::Larger,
        false => Direction::Smaller,
    }
}

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let (mut records, mut units) = (Vec::new(), Units::default());
    let problems =
        benchfmt::parse(text, "", "", Upstream::Corrected, &mut units, |record| records.push(record));
    if let Some(problem) = problems.into_iter().next() {
        return Err(ReadError::line(problem.line, problem.reason));
    }
    let package = |record: &Record| {
        record
            .config
            .iter()
            .find(|config| config.key == "pkg")
            .map_or_else(String::new, |config| config.value.clone())
    };
    let packages: BTreeSet<String> = records.iter().map(package).collect();
    let mut found = Gathered::new(Format::Go, METRICS);
    for record in &records {
        let subject = match packages.len() {
            0 | 1 => record.name.clone(),
            _ => format!("{}.{}", package(record), record.name),
        };
        for value in &record.values {
            found.push(ReportPlace::Line(1), format!("{subject}:{}", value.unit), value.value)?;
        }
    }
    let mut measurements = found.finish()?;
    for measurement in &mut measurements {
        match units.get(&measurement.unit, "better") {
            Some("higher") => measurement.direction = Direction::Larger,
            Some("lower") => measurement.direction = Direction::Smaller,
            _ => {}
        }
    }
    Ok(measurements)
}

/// Measurements in Go's format, a line for each value.
pub fn written(measurements: &[Measurement]) -> String {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join("_");
    let mut text = String::new();
    for Measurement { name, unit, values, .. } in measurements {
        let unit = match unit.as_str() {
            // As Go calls it: benchstat then scales it with the prefixes of seconds.
            "s" => "sec".to_owned(),
            "" => "value".to_owned(),
            unit => plain(unit),
        };
        for value in values {
            // Writing to a text never fails.
            let _ = writeln!(text, "Benchmark{} 1 {value} {unit}", plain(name));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_the_unit_and_packages_distinguish_them() {
        let text = "pkg: a/x\nBenchmarkE-8 10 5 ns/op 3 MB/s\nBenchmarkE-8 10 8 ns/op 4 MB/s\n";
        let found = read(text).unwrap();
        assert_eq!(
            (found[0].name.as_str(), found[0].values.as_slice()),
            ("E-8:sec/op", [5e-9, 8e-9].as_slice())
        );
        assert_eq!((found[1].unit.as_str(), found[1].direction), ("B/s", Direction::Larger));
        let found = read(&format!("{text}pkg: a/y\nBenchmarkE-8 1 1 ns/op\n")).unwrap();
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["a/x.E-8:sec/op", "a/x.E-8:B/s", "a/y.E-8:sec/op"]);
        let found = read("Unit hits better=higher\nBenchmarkE 1 5 hits\n").unwrap();
        assert_eq!(found[0].direction, Direction::Larger);
    }

    #[test]
    fn bad_lines_are_refused() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(error("PASS\n"), "no result of go in it");
        assert_eq!(error("goos: x\nBenchmarkE 1 y s\n"), "line 2: parsing measurement: invalid syntax");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let measurement = |name: &str, unit: &str, values: &[f64]| Measurement {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction: Direction::Smaller,
            values: values.to_vec(),
        };
        let all = [measurement("a b:time", "s", &[0.125, 1e-300]), measurement("v", "", &[3.0])];
        assert_eq!(written(&all).lines().last(), Some("Benchmarkv 1 3 value"));
        let found = read(&written(&all)).unwrap();
        assert_eq!(
            (found[0].name.as_str(), found[0].values.as_slice()),
            ("a_b:time:sec", [0.125, 1e-300].as_slice())
        );
    }
}
