//! One reader for each program, and the choice among them by [`Format`].
//!
//! In: the text of reports. Out: measurements, gathered by [`super::gathered`]. A reader knows no other.

mod criterion;
mod fio;
mod go;
mod google_benchmark;
mod hyperfine;
mod memtier;
mod pgbench;
mod redis_benchmark;
mod sniff;
mod sysbench;
mod values;
mod wrk;

pub use go::written;
pub use sniff::sniff;

use super::error::ReadError;
use super::format::Format;
use super::measurement::Measurement;
use super::metrics::Metrics;
use crate::stats::Direction;

impl Format {
    /// Names of its metrics, without subject and percentile; nothing where each report has its own.
    pub fn metrics(self) -> impl Iterator<Item = &'static str> {
        self.declared().names()
    }

    /// Unit and direction of a metric by its name; `None`: it has none of that name.
    pub fn quantity(self, name: &str) -> Option<(String, Direction)> {
        self.declared().quantity(name)
    }

    const fn declared(self) -> Metrics {
        match self {
            Format::Pgbench => pgbench::METRICS,
            Format::Sysbench => sysbench::METRICS,
            Format::RedisBenchmark => redis_benchmark::METRICS,
            Format::Memtier => memtier::METRICS,
            Format::Wrk => wrk::METRICS,
            Format::FioJson => fio::METRICS,
            Format::GoogleBenchmark => google_benchmark::METRICS,
            Format::Go => go::METRICS,
            Format::Criterion => criterion::METRICS,
            Format::Hyperfine => hyperfine::METRICS,
            Format::Values => values::METRICS,
        }
    }
}

/// Reads reports of a program. There is at least one measurement, and each has at least one value, all of
/// them finite.
///
/// # Errors
/// [`ReadError`], where it is no such report, or one that is cut off, has something else where a number
/// belongs, or the same metric twice.
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
