//! Result files, line by line: benchmark lines, `key: value` lines, `Unit` lines.
//!
//! In: a file's text (golang.org/design/14313-benchmark-format). Out: records in the file's order, and syntax
//! errors with their lines. Everything else in the file is passed over.
//!
//! Upstream keeps the unit as it was written where the value is the same in base units, as 0 is, so that
//! `0 ns/op` is of another unit than `1 ns/op`. That is a fault, which [`Upstream::AsPrinted`] has, too.

use super::unit::tidy;
use crate::stats::benchstat::Upstream;
use std::collections::HashMap;
use std::fmt;
use std::num::{IntErrorKind, ParseIntError};

/// A line that was meant to be a result and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The file's path.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.reason)
    }
}

/// A configuration key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `goos`, `pkg`, or `.file`.
    pub key: String,
    /// Not empty.
    pub value: String,
    /// Whether the file itself says so; `.file` is only ours.
    pub from_file: bool,
}

/// A measurement in base units.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Finite.
    pub value: f64,
    /// Tidied: `sec/op`; as it was written where upstream leaves it.
    pub unit: String,
}

/// One benchmark line, with the configuration above it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// In the order in which keys came up.
    pub config: Vec<Config>,
    /// Without `Benchmark`.
    pub name: String,
    /// How many times the operation ran.
    pub iterations: i64,
    /// At least one.
    pub values: Vec<Value>,
}

/// What `Unit` lines say of units: by tidied unit and key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Units {
    said: HashMap<(String, String), String>,
}

impl Units {
    /// The value of `key` (`assume`, `better`) for a unit, tidied or not.
    pub fn get(&self, unit: &str, key: &str) -> Option<&str> {
        self.said.get(&(tidy(1.0, unit).1, key.to_owned())).map(String::as_str)
    }
}

/// Hands every result in `text` to `take`, and what is said of units to `units`. `label` becomes the key
/// `.file`.
pub fn parse(
    text: &str,
    path: &str,
    label: &str,
    upstream: Upstream,
    units: &mut Units,
    mut take: impl FnMut(Record),
) -> Vec<SyntaxError> {
    let mut problems = Vec::new();
    let mut config = vec![Config { key: ".file".to_owned(), value: label.to_owned(), from_file: false }];
    for (index, line) in text.lines().enumerate() {
        let mut report =
            |reason: String| problems.push(SyntaxError { path: path.to_owned(), line: index + 1, reason });
        if let Some(rest) = line.strip_prefix("Benchmark") {
            match benchmark(rest, upstream) {
                Ok(None) => {}
                Ok(Some((name, iterations, values))) => {
                    take(Record { config: config.clone(), name, iterations, values });
                }
                Err(reason) => report(reason),
            }
        } else if let Some(rest) =
            line.strip_prefix("Unit").filter(|rest| rest.starts_with(char::is_whitespace) || rest.is_empty())
        {
            unit_line(rest, units, &mut report);
        } else if let Some((key, value)) = key_value(line) {
            set(&mut config, key, value);
        }
    }
    problems
}

/// An empty value takes the key away: the last key then has its place.
fn set(config: &mut Vec<Config>, key: &str, value: &str) {
    let place = config.iter().position(|known| known.key == key);
    match (place, value.is_empty()) {
        (Some(place), true) => {
            config.swap_remove(place);
        }
        (Some(place), false) => {
            if let Some(known) = config.get_mut(place) {
                known.value = value.to_owned();
            }
        }
        (None, true) => {}
        (None, false) => {
            config.push(Config { key: key.to_owned(), value: value.to_owned(), from_file: true });
        }
    }
}

/// `key: value`, the key beginning in lower case and without spaces or upper case.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |c: char| !c.is_whitespace() && !c.is_uppercase();
    if !key.chars().next()?.is_lowercase() || !key.chars().all(plain) {
        return None;
    }
    let trimmed = value.trim_start_matches([' ', '\t']);
    (value.is_empty() || trimmed.len() < value.len()).then_some((key, trimmed))
}

type Measured = (String, i64, Vec<Value>);

/// After `Benchmark`: name, iterations, and pairs of value and unit. A name alone is what `go test -v` prints
/// first.
fn benchmark(rest: &str, upstream: Upstream) -> Result<Option<Measured>, String> {
    let name_end = rest.find(char::is_whitespace);
    let Some((name, rest)) = name_end.and_then(|end| rest.split_at_checked(end)) else { return Ok(None) };
    let mut fields = rest.split_whitespace();
    let iterations = fields.next().ok_or("missing iteration count")?;
    let iterations = iterations.parse().map_err(|error: ParseIntError| {
        let is_large = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
        let what = if is_large { "value out of range" } else { "invalid syntax" };
        format!("parsing iteration count: {what}")
    })?;
    let mut values = Vec::new();
    while let Some(field) = fields.next() {
        let value: f64 = field.parse().map_err(|_| "parsing measurement: invalid syntax".to_owned())?;
        let unit = fields.next().ok_or("missing units")?;
        let (tidied, base) = tidy(value, unit);
        if !tidied.is_finite() {
            return Err("parsing measurement: value out of range".to_owned());
        }
        let is_left = upstream == Upstream::AsPrinted && tidied == value;
        // What a program rounds to −0 is 0.
        values.push(Value { value: tidied + 0.0, unit: if is_left { unit.to_owned() } else { base } });
    }
    if values.is_empty() {
        return Err("missing measurements".to_owned());
    }
    Ok(Some((name.to_owned(), iterations, values)))
}

/// After `Unit`: the unit and what is said of it, `key=value` by `key=value`.
fn unit_line(rest: &str, units: &mut Units, report: &mut impl FnMut(String)) {
    let mut fields = rest.split_whitespace();
    let Some(unit) = fields.next() else { return report("missing unit".to_owned()) };
    let tidied = tidy(1.0, unit).1;
    for field in fields {
        let Some((key, value)) = field.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            report("expected key=value".to_owned());
            continue;
        };
        let known = units.said.entry((tidied.clone(), key.to_owned())).or_insert_with(|| value.to_owned());
        if known != value {
            report(format!("metadata {key} of unit {unit} already set to {known}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> (Vec<Record>, Vec<String>) {
        let (mut records, mut units) = (Vec::new(), Units::default());
        let problems =
            parse(text, "f.txt", "f.txt", Upstream::Corrected, &mut units, |record| records.push(record));
        (records, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lines_are_results_keys_or_passed_over() {
        let (records, problems) = records(
            "goos: linux\nPASS\nnote:\nBenchmarkA-8  10  5 ns/op  2 MB/s\nBenchmarkA-8\nnot A: key\n",
        );
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(records.len(), 1);
        assert_eq!((records[0].name.as_str(), records[0].iterations), ("A-8", 10));
        assert_eq!(records[0].values[1], Value { value: 2e6, unit: "B/s".to_owned() });
        assert_eq!(records[0].config[1].value, "linux");
    }

    #[test]
    fn zero_is_of_the_base_unit_except_where_upstream_leaves_it() {
        let unit = |text: &str, upstream: Upstream| {
            let mut found = Vec::new();
            let mut units = Units::default();
            let problems = parse(text, "", "", upstream, &mut units, |record| found.push(record));
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(units.get("ns/op", "assume"), units.get("sec/op", "assume"));
            found[0].values[0].unit.clone()
        };
        for (value, printed) in [("0", "ns/op"), ("-0.0", "ns/op"), ("1", "sec/op")] {
            let text = format!("Unit ns/op assume=exact\nBenchmarkA 1 {value} ns/op\n");
            assert_eq!(unit(&text, Upstream::Corrected), "sec/op");
            assert_eq!(unit(&text, Upstream::AsPrinted), printed);
        }
    }

    #[test]
    fn an_empty_value_takes_a_key_away() {
        let (records, _) = records("goos: linux\nnote: x\nBenchmarkA 1 1 s\ngoos:\nBenchmarkA 1 1 s\n");
        assert_eq!(records[0].config.len(), 3);
        let keys: Vec<&str> = records[1].config.iter().map(|config| config.key.as_str()).collect();
        assert_eq!(keys, [".file", "note"]);
    }

    #[test]
    fn bad_lines_are_reported_with_their_place() {
        let text = "BenchmarkA x 1 s\nBenchmarkA 1\nBenchmarkA 1 1\nBenchmarkA 1 y s\nBenchmarkA 1 inf s\nBenchmarkA \nUnit\nUnit s =\nUnit s a=1\nUnit s a=2\n";
        let (records, problems) = records(text);
        assert!(records.is_empty());
        assert_eq!(
            problems,
            [
                "f.txt:1: parsing iteration count: invalid syntax",
                "f.txt:2: missing measurements",
                "f.txt:3: missing units",
                "f.txt:4: parsing measurement: invalid syntax",
                "f.txt:5: parsing measurement: value out of range",
                "f.txt:6: missing iteration count",
                "f.txt:7: missing unit",
                "f.txt:8: expected key=value",
                "f.txt:10: metadata a of unit s already set to 1",
            ]
        );
    }
}
