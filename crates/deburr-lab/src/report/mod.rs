//! What benchmark programs print → numbers by name.
//!
//! In: the text of one program's report, or of several of its reports one after the other, as `for i in …; do pgbench …; done >> a.txt`
//! leaves them. Out: a [`Measurement`] for each metric, its values in the order in which they were measured where the program
//! keeps that. No file is opened here, and nothing is guessed: what is cut off, is no number, or is said twice in one report, is
//! refused with its line or field.
//!
//! Names are `[SUBJECT:]METRIC[:pPERCENTILE]`: `tps`, `SET:latency:p99`, `BM_Sort/64:real_time`. Times are in seconds and sizes in bytes,
//! whatever unit a program prints, so that reports of different scales compare. Go's names end in its own unit: `Encode-8:sec/op`.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![forbid(unsafe_code)]

mod criterion;
mod fio;
mod gathered;
mod go;
mod google_benchmark;
mod hyperfine;
mod json;
mod memtier;
mod pgbench;
mod quantity;
mod redis_benchmark;
mod sniff;
mod sysbench;
mod values;
mod wrk;

pub use go::written;
pub use sniff::sniff;

use crate::stats::Direction;
use quantity::Quantity;
use std::fmt;
use std::str::FromStr;

/// The values of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What it is called.
    pub name: String,
    /// `s`, `B`, `1/s`, `B/s`, one of Go's units, or nothing.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// In the order in which they were measured, where the format keeps that.
    pub values: Vec<f64>,
}

/// A program's way to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// PostgreSQL's pgbench: text.
    Pgbench,
    /// sysbench 0.4 to 1.1: text.
    Sysbench,
    /// redis-benchmark: text, `-q`, `--csv`.
    RedisBenchmark,
    /// memtier_benchmark: text, `--json-out-file`.
    Memtier,
    /// wrk and wrk2: text.
    Wrk,
    /// fio: `--output-format=json`.
    FioJson,
    /// Google Benchmark: `--benchmark_format=json`.
    GoogleBenchmark,
    /// `go test -bench`: text.
    Go,
    /// criterion: `sample.json`, `raw.csv`, `cargo criterion --message-format=json`.
    Criterion,
    /// hyperfine: `--export-json`.
    Hyperfine,
    /// Numbers, one a line.
    Values,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 11] = [
        Format::Pgbench,
        Format::Sysbench,
        Format::RedisBenchmark,
        Format::Memtier,
        Format::Wrk,
        Format::FioJson,
        Format::GoogleBenchmark,
        Format::Go,
        Format::Criterion,
        Format::Hyperfine,
        Format::Values,
    ];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Pgbench => "pgbench",
            Format::Sysbench => "sysbench",
            Format::RedisBenchmark => "redis-benchmark",
            Format::Memtier => "memtier",
            Format::Wrk => "wrk",
            Format::FioJson => "fio",
            Format::GoogleBenchmark => "google-benchmark",
            Format::Go => "go",
            Format::Criterion => "criterion",
            Format::Hyperfine => "hyperfine",
            Format::Values => "values",
        }
    }

    /// Names of its metrics, without subject and percentile; nothing where each report has its own.
    pub fn metrics(self) -> impl Iterator<Item = &'static str> {
        self.table().iter().map(|(name, _)| *name)
    }

    /// The metrics that each of its reports has under the same name, the first the usual one; nothing where names depend on what
    /// is measured.
    pub const fn usual(self) -> &'static [&'static str] {
        match self {
            Format::Pgbench => &["tps", "latency"],
            Format::Memtier => &["ops", "latency"],
            Format::Wrk => &["requests", "latency"],
            _ => &[],
        }
    }

    /// Unit and direction of a metric by its name; `None`: it has none of that name.
    pub fn quantity(self, name: &str) -> Option<(String, Direction)> {
        if self == Format::Go {
            let unit = name.rsplit_once(':')?.1;
            return (!unit.is_empty()).then(|| (unit.to_owned(), go::direction(unit)));
        }
        let Quantity { unit, direction } = self.find(name)?;
        Some((unit.to_owned(), direction))
    }

    /// Where a metric stands among those of its subject: what is decided by comes first, then what goes with it.
    fn rank(self, metric: &str) -> usize {
        self.table().iter().position(|(known, _)| *known == metric).unwrap_or(self.table().len())
    }

    fn find(self, name: &str) -> Option<Quantity> {
        let (_, metric) = parts(name);
        let known = self.table().iter().find(|(known, _)| *known == metric).map(|(_, quantity)| *quantity);
        match self {
            Format::GoogleBenchmark if !metric.is_empty() => {
                Some(known.unwrap_or_else(|| google_benchmark::counter(metric)))
            }
            _ => known,
        }
    }

    const fn table(self) -> &'static [(&'static str, Quantity)] {
        match self {
            Format::Pgbench => pgbench::METRICS,
            Format::Sysbench => sysbench::METRICS,
            Format::RedisBenchmark => redis_benchmark::METRICS,
            Format::Memtier => memtier::METRICS,
            Format::Wrk => wrk::METRICS,
            Format::FioJson => fio::METRICS,
            Format::GoogleBenchmark => google_benchmark::METRICS,
            Format::Go => &[],
            Format::Criterion => criterion::METRICS,
            Format::Hyperfine => hyperfine::METRICS,
            Format::Values => values::METRICS,
        }
    }
}

/// Subject and metric of a name, without its percentile.
fn parts(name: &str) -> (&str, &str) {
    let name = match name.rsplit_once(":p") {
        Some((rest, percentile)) if percentile.parse::<f64>().is_ok() => rest,
        _ => name,
    };
    name.rsplit_once(':').unwrap_or(("", name))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            format!("unknown format {text:?}; expected one of {names}")
        })
    }
}

/// Why a text is no report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadError {
    /// Where: a line, counted from 1, or a field of a JSON document; `None`: in all of it.
    pub place: Option<Place>,
    /// What is wrong there.
    pub reason: String,
}

/// A place in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Counted from 1.
    Line(usize),
    /// `jobs[0].read.iops`, in the document that begins at a line.
    Field(usize, String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Field(1, field) => f.write_str(field),
            Place::Field(line, field) => write!(f, "{field} in the document at line {line}"),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    fn at(place: Place, reason: impl Into<String>) -> ReadError {
        ReadError { place: Some(place), reason: reason.into() }
    }

    fn line(line: usize, reason: impl Into<String>) -> ReadError {
        ReadError::at(Place::Line(line), reason)
    }

    fn whole(reason: impl Into<String>) -> ReadError {
        ReadError { place: None, reason: reason.into() }
    }
}

/// Reads reports of a program. There is at least one measurement, and each has at least one value, all of them finite.
///
/// # Errors
/// [`ReadError`], where it is no such report, or one that is cut off, has something else where a number belongs, or the same metric
/// twice.
pub fn read(format: Format, text: &str) -> Result<Vec<Measurement>, ReadError> {
    match format {
        Format::Pgbench => pgbench::read(text),
        Format::Sysbench => sysbench::read(text),
        Format::RedisBenchmark => redis_benchmark::read(text),
        Format::Memtier => memtier::read(text),
        Format::Wrk => wrk::read(text),
        Format::FioJson => fio::read(text),
        Format::GoogleBenchmark => google_benchmark::read(text),
        Format::Go => go::read(text),
        Format::Criterion => criterion::read(text),
        Format::Hyperfine => hyperfine::read(text),
        Format::Values => values::read(text),
    }
}
