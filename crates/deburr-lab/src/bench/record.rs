//! Points → the record of a machine: what is printed, kept, and set next to another machine's.
//!
//! In: [`Point`]s. Out: a [`BenchRecord`], as JSON. Times are nanoseconds, rates operations per second.

use super::experiment::{Measured, Point};
use super::machine::Machine;
use super::pace::{Pace, Think};
use super::run::{Sample, Setting};
use crate::comparison::Comparison;
use crate::stats::moments::median;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of what is written.
pub const SCHEMA_VERSION: u32 = 1;

/// What benchmarks found on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// The version of its form.
    pub schema_version: u32,
    /// The version of deburr that wrote it.
    pub tool_version: String,
    /// When measuring began: UTC, as RFC 3339 has it. `None` where that is not known.
    #[serde(default)]
    pub measured_at: Option<String>,
    /// What it ran on.
    pub machine: Machine,
    /// What an iteration costs without its work. It is part of all times here.
    pub loop_ns: f64,
    /// What a look at the clock costs.
    pub clock_ns: f64,
    /// How long a sample took, in milliseconds.
    pub sample_ms: f64,
    /// Differences up to this fraction count as none.
    pub region: f64,
    /// Whether somebody stopped it before all was measured.
    pub is_interrupted: bool,
    /// Kernels by number of threads.
    pub points: Vec<PointRecord>,
}

/// A kernel with so many threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointRecord {
    /// The suite.
    pub suite: String,
    /// The kernel.
    pub kernel: String,
    /// Where the threads' cells are.
    pub placement: String,
    /// The processor of each thread.
    pub processors: Vec<usize>,
    /// Bytes that an operation reads, where it reads more than a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// The time between two operations of a thread: `none`, or `fixed:100` and `exponential:100` with nanoseconds. It is part of
    /// all times here.
    #[serde(default = "none")]
    pub think: String,
    /// The time inside a critical section, in nanoseconds, beyond the kernel's own work.
    #[serde(default)]
    pub section_ns: f64,
    /// Rounds taken again, because something else had a processor during them.
    #[serde(default)]
    pub retaken: usize,
    /// By variant, the first of which the others are compared with.
    pub variants: Vec<VariantRecord>,
}

/// One implementation of a kernel's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// The variant.
    pub name: String,
    /// Features that the CPU lacks for it; where there are some, it did not run.
    pub lacks: Vec<String>,
    /// What was measured; `None` where it did not run.
    pub measured: Option<Rates>,
    /// Against the first variant that ran; `None` for that one.
    pub verdict: Option<VerdictRecord>,
}

/// What a variant did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Samples.
    pub rounds: usize,
    /// Operations per second of all threads together: the samples' median.
    pub rate: f64,
    /// The lowest and the highest sample.
    pub range: (f64, f64),
    /// Nanoseconds of a thread's operation: the median.
    pub ns: f64,
    /// By thread: the median of its rates.
    pub thread_rates: Vec<f64>,
    /// The slowest thread's rate as a fraction of the fastest one's: the median. 1 is fair.
    pub fairness: f64,
    /// The longest time that any thread took for `wait_operations` operations, in nanoseconds.
    pub longest_wait_ns: f64,
    /// Operations between two looks at the clock.
    pub wait_operations: u64,
    /// Operations that a thread did before another one had the word: the median. `None` where the kernel does not count that.
    #[serde(default)]
    pub run_length: Option<f64>,
    /// Samples during which something else had a processor for a hundredth of the time.
    pub preempted: usize,
}

/// What is said of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictRecord {
    /// `better`, `worse`, `same` or `inconclusive`.
    pub outcome: String,
    /// How many times as long an operation takes as with the first variant.
    pub slowdown: f64,
    /// Its interval; `None` where there were too few samples.
    pub interval: Option<(f64, f64)>,
}

/// Why a text is no record.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// It is cut off, or no such JSON.
    Json(serde_json::Error),
    /// It has another version, which is given.
    Version(u64),
    /// A text in it has control characters, which would reach a terminal.
    Control,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Json(error) => write!(f, "no record of `deburr bench --format json`: {error}"),
            RecordError::Control => write!(f, "a record with control characters in its texts"),
            RecordError::Version(version) => {
                write!(f, "a record of version {version}, where this deburr reads version {SCHEMA_VERSION}")
            }
        }
    }
}

impl std::error::Error for RecordError {}

impl BenchRecord {
    /// Reads what was written as JSON.
    ///
    /// # Errors
    /// [`RecordError`], where it is cut off, something else, or of another version.
    pub fn parse(text: &str) -> Result<BenchRecord, RecordError> {
        let document: serde_json::Value = serde_json::from_str(text).map_err(RecordError::Json)?;
        match document["schema_version"].as_u64() {
            Some(version) if version != u64::from(SCHEMA_VERSION) => Err(RecordError::Version(version)),
            _ if has_control(&document) => Err(RecordError::Control),
            _ => BenchRecord::deserialize(document).map_err(RecordError::Json),
        }
    }

    /// The variant of another record's kernel with as many threads in such places, if it is here.
    pub fn same(&self, point: &PointRecord, variant: &VariantRecord) -> Option<&VariantRecord> {
        let is_meant = |it: &&PointRecord| {
            let setting = |point: &PointRecord| {
                (point.kernel.clone(), point.placement.clone(), point.think.clone(), point.processors.len())
            };
            setting(it) == setting(point) && it.section_ns == point.section_ns
        };
        let mut variants = self.points.iter().filter(is_meant).flat_map(|point| &point.variants);
        variants.find(|it| it.name == variant.name)
    }
}

/// Whether any text has control characters. A document that was parsed is not nested deeply.
fn has_control(document: &serde_json::Value) -> bool {
    match document {
        serde_json::Value::String(text) => text.chars().any(char::is_control),
        serde_json::Value::Array(values) => values.iter().any(has_control),
        serde_json::Value::Object(fields) => fields.values().any(has_control),
        _ => false,
    }
}

impl PointRecord {
    /// The record of a point.
    pub fn of(point: &Point, setting: &Setting<'_>, pace: &Pace) -> PointRecord {
        PointRecord {
            suite: point.kernel.suite.to_owned(),
            kernel: point.kernel.name.to_owned(),
            placement: setting.placement.name().to_owned(),
            processors: setting.cpus.to_vec(),
            bytes: point.kernel.data().map(|data| data.bytes),
            think: pace.think.to_string(),
            section_ns: pace.section_ns,
            retaken: point.retaken,
            variants: point.variants.iter().map(variant).collect(),
        }
    }
}

fn none() -> String {
    Think::None.to_string()
}

fn variant(measured: &Measured) -> VariantRecord {
    VariantRecord {
        name: measured.variant.name.to_owned(),
        lacks: measured.lacks.iter().map(|feature| feature.name().to_owned()).collect(),
        measured: rates(&measured.samples),
        verdict: measured.comparison.as_ref().map(verdict),
    }
}

fn verdict(comparison: &Comparison) -> VerdictRecord {
    let (change, interval) = comparison.change();
    let slowdown = |change: f64| 1.0 / (1.0 + change);
    VerdictRecord {
        outcome: comparison.outcome().to_string(),
        slowdown: slowdown(change),
        interval: interval.map(|(low, high)| (slowdown(high), slowdown(low))),
    }
}

fn rates(samples: &[Sample]) -> Option<Rates> {
    let first = samples.first()?;
    let all: Vec<f64> = samples.iter().map(Sample::rate).collect();
    let threads = first.threads.len();
    let of_thread = |thread: usize| {
        let rates = samples.iter().filter_map(|sample| sample.threads.get(thread)).map(|it| it.rate());
        median(&rates.collect::<Vec<f64>>())
    };
    let fairness = |sample: &Sample| {
        let rates = || sample.threads.iter().map(|thread| thread.rate());
        rates().fold(f64::INFINITY, f64::min) / rates().fold(0.0, f64::max)
    };
    let longest = samples.iter().flat_map(|sample| &sample.threads).map(|thread| thread.longest_chunk);
    let rate = median(&all);
    Some(Rates {
        rounds: samples.len(),
        rate,
        range: (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max)),
        ns: 1e9 * threads as f64 / rate,
        thread_rates: (0..threads).map(of_thread).collect(),
        fairness: median(&samples.iter().map(fairness).collect::<Vec<f64>>()),
        longest_wait_ns: 1e9 * longest.fold(0.0, f64::max),
        wait_operations: first.threads.first().map_or(0, |thread| thread.chunk),
        run_length: run_length(samples),
        preempted: samples.iter().filter(|sample| sample.is_preempted()).count(),
    })
}

/// Operations of all threads for each change of the word's owner, where the kernel counts these: the median.
fn run_length(samples: &[Sample]) -> Option<f64> {
    let of = |sample: &Sample| {
        let operations: u64 = sample.threads.iter().map(|thread| thread.operations).sum();
        let handovers: u64 = sample.threads.iter().map(|thread| thread.handovers).sum::<Option<u64>>()?;
        Some(operations as f64 / handovers.max(1) as f64)
    };
    samples.iter().map(of).collect::<Option<Vec<f64>>>().map(|lengths| median(&lengths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::run::ThreadSample;

    fn sample(operations: [u64; 2], preemptions: u64) -> Sample {
        let threads = operations.map(|operations| ThreadSample {
            operations,
            seconds: 0.5,
            chunk: 64,
            handovers: None,
            longest_chunk: 1e-4 * operations as f64,
            preemptions: Some(preemptions),
        });
        Sample { threads: threads.to_vec() }
    }

    #[test]
    fn a_record_is_read_back_and_one_that_is_none_is_refused() {
        let point = PointRecord {
            suite: "atomics".to_owned(),
            kernel: "store".to_owned(),
            placement: "same-word".to_owned(),
            processors: vec![0, 1],
            bytes: None,
            think: "fixed:100".to_owned(),
            section_ns: 0.0,
            retaken: 2,
            variants: vec![VariantRecord {
                name: "xchg".to_owned(),
                lacks: Vec::new(),
                measured: rates(&[sample([100, 300], 0)]),
                verdict: None,
            }],
        };
        let machine = Machine::here("a".to_owned(), "x86_64".to_owned(), "x86-64-v1".to_owned());
        let record = BenchRecord {
            schema_version: SCHEMA_VERSION,
            tool_version: "0".to_owned(),
            measured_at: Some("2026-01-31T12:00:00Z".to_owned()),
            machine,
            loop_ns: 0.1,
            clock_ns: 20.0,
            sample_ms: 1.0,
            region: 0.03,
            is_interrupted: false,
            points: vec![point.clone()],
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(BenchRecord::parse(&text).unwrap(), record);
        assert!(!text.contains("bytes"), "{text}");
        let reads = BenchRecord {
            points: vec![PointRecord { bytes: Some(8192), ..point.clone() }],
            ..record.clone()
        };
        assert_eq!(BenchRecord::parse(&serde_json::to_string(&reads).unwrap()).unwrap(), reads);
        assert_eq!(record.same(&point, &point.variants[0]), Some(&point.variants[0]));
        let alone = PointRecord { processors: vec![0], ..point.clone() };
        assert_eq!(record.same(&alone, &point.variants[0]), None);
        let at_once = PointRecord { think: none(), ..point.clone() };
        assert_eq!(record.same(&at_once, &point.variants[0]), None);
        let longer = PointRecord { section_ns: 100.0, ..point.clone() };
        assert_eq!(record.same(&longer, &point.variants[0]), None);
        for length in 0..text.len() {
            assert!(BenchRecord::parse(&text[..length]).is_err(), "{length}");
        }
        let older = text.replacen("\"measured_at\":\"2026-01-31T12:00:00Z\",", "", 1);
        assert_eq!(BenchRecord::parse(&older).unwrap(), BenchRecord { measured_at: None, ..record.clone() });
        let other = text.replacen("\"schema_version\":1", "\"schema_version\":7", 1);
        let error = BenchRecord::parse(&other).unwrap_err().to_string();
        assert_eq!(error, "a record of version 7, where this deburr reads version 1");
        for (name, is_fine) in [("xc\\u0068g", true), ("xchg\\u001b[2J", false), ("xchg\\n", false)] {
            let named = text.replacen("xchg", name, 1);
            assert_eq!(BenchRecord::parse(&named).is_ok(), is_fine, "{named}");
        }
        assert!(BenchRecord::parse("[1]").unwrap_err().to_string().contains("no record of"));
    }

    #[test]
    fn rates_are_medians_of_the_samples() {
        let samples = [sample([100, 300], 0), sample([200, 200], 1), sample([100, 100], 0)];
        let rates = rates(&samples).unwrap();
        assert_eq!((rates.rounds, rates.rate, rates.range), (3, 800.0, (400.0, 800.0)));
        assert_eq!((rates.ns, rates.fairness, rates.preempted), (2.5e6, 1.0, 1));
        assert_eq!(rates.thread_rates, [200.0, 400.0]);
        assert!((rates.longest_wait_ns - 3e7).abs() < 1e-6 && rates.wait_operations == 64, "{rates:?}");
        assert_eq!(super::rates(&[]), None);
        assert_eq!(rates.run_length, None);
        let counted = samples.map(|mut sample| {
            sample.threads.iter_mut().for_each(|thread| thread.handovers = Some(20));
            sample
        });
        // 400, 400 and 200 operations with 40 changes each.
        assert_eq!(super::rates(&counted).unwrap().run_length, Some(10.0));
    }
}
