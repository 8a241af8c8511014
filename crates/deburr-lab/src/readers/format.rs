//! The report formats that are read, by the names that people call them.
//!
//! What metrics a format has is declared by its reader ([`super::program`]).

use std::fmt;
use std::str::FromStr;

/// The form of a program's reports.
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

    /// The metrics that each of its reports has under the same name, the first the usual one; nothing where
    /// names depend on what is measured.
    pub const fn usual(self) -> &'static [&'static str] {
        match self {
            Format::Pgbench => &["tps", "latency"],
            Format::Memtier => &["ops", "latency"],
            Format::Wrk => &["requests", "latency"],
            _ => &[],
        }
    }
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
