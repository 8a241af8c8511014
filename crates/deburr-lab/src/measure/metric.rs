//! Measuring stage: what is read of a run.
//!
//! In: what it took, and what it printed. Out: a number by name. A pattern has to match once: what is printed
//! twice is as wrong as what is not printed at all, since it is not known which of the two is meant.

use super::process::{Count, Event, Usage};
use crate::readers::{self, Format, Measurement, ReadError};
use regex::Regex;
use std::collections::HashMap;
use std::fmt;

/// How many names of other metrics a message has room for.
const MOST_NAMES: usize = 12;

/// A number that every run has.
#[derive(Debug, Clone)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where a number comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Wall time, in seconds.
    Wall,
    /// CPU time outside of the kernel, in seconds.
    User,
    /// CPU time in the kernel, in seconds.
    System,
    /// CPU time of both kinds, in seconds.
    Cpu,
    /// Peak memory, in bytes.
    PeakMemory,
    /// How often it touched memory that it did not have yet.
    PageFaults,
    /// How often it waited for something.
    VoluntarySwitches,
    /// How often it lost its processor.
    InvoluntarySwitches,
    /// What the processor counts.
    Counted(Event),
    /// Instructions, by Valgrind.
    ValgrindInstructions,
    /// What the first group of an expression matches, or the whole of it where it has none.
    Pattern(Regex),
    /// What a benchmark program reports of itself under a name.
    Reported(Format, String),
}

impl Source {
    /// Whether it counts the time in which a run waits for a processor, as everything does but what the
    /// kernel counts of the process.
    pub fn counts_waiting(&self) -> bool {
        matches!(self, Source::Wall | Source::Pattern(_) | Source::Reported(..))
    }
}

/// What a run took, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub struct Taken<'r> {
    /// What the kernel counted.
    pub usage: &'r Usage,
    /// What the processor counted.
    pub counts: &'r [Count],
    /// What Valgrind counted.
    pub instructions: Option<f64>,
}

/// Why a run has no such number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoNumber {
    /// It was not counted.
    NotCounted,
    /// The pattern matches nothing.
    NoMatch,
    /// It matches more than once.
    Matches(usize),
    /// What it matches is no number.
    Text(String),
    /// What was printed is no report, and why.
    NoReport(String),
    /// The report has no such metric; those that it has.
    NotReported(Vec<String>),
    /// The report has it so many times.
    Reported(usize),
}

impl fmt::Display for NoNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoNumber::NotCounted => f.write_str(
                "it was not counted: the processor had no counter free, or a process was killed before its end",
            ),
            NoNumber::NoMatch => f.write_str("its pattern matches nothing of what the command printed"),
            NoNumber::Matches(times) => {
                write!(f, "its pattern matches {times} times, where once is expected: which one is meant?")
            }
            NoNumber::Text(text) => write!(f, "its pattern matches {text:?}, which is no number"),
            NoNumber::NoReport(why) => write!(f, "what the command printed is no report of it: {why}"),
            NoNumber::NotReported(names) => {
                write!(f, "not in what the command reported, which is {}", names.join(", "))
            }
            NoNumber::Reported(times) => {
                write!(
                    f,
                    "the command reported it {times} times, where once is expected: which one is meant?"
                )
            }
        }
    }
}

impl Metric {
    /// What the processor has to count for it.
    pub fn event(&self) -> Option<Event> {
        match self.source {
            Source::Counted(event) => Some(event),
            _ => None,
        }
    }

    /// Whether it is sought in what a run prints.
    pub fn is_printed(&self) -> bool {
        matches!(self.source, Source::Pattern(_) | Source::Reported(..))
    }

    /// The number of a run; reports that were read before it are in `reports`, as is the one that it reads.
    fn read(&self, taken: &Taken<'_>, text: &str, reports: &mut Reports) -> Result<f64, NoNumber> {
        let usage = taken.usage;
        match &self.source {
            Source::Wall => Ok(usage.wall),
            Source::User => Ok(usage.user),
            Source::System => Ok(usage.system),
            Source::Cpu => Ok(usage.user + usage.system),
            Source::PeakMemory => Ok(usage.peak_memory as f64),
            Source::PageFaults => Ok(usage.page_faults as f64),
            Source::VoluntarySwitches => Ok(usage.voluntary_switches as f64),
            Source::InvoluntarySwitches => Ok(usage.involuntary_switches as f64),
            Source::Counted(event) => {
                let count = taken.counts.iter().find(|count| count.event == *event && count.share > 0.0);
                count.map(|count| count.value).ok_or(NoNumber::NotCounted)
            }
            Source::ValgrindInstructions => taken.instructions.ok_or(NoNumber::NotCounted),
            Source::Pattern(pattern) => matched(pattern, text),
            Source::Reported(format, name) => {
                let report = reports.entry(*format).or_insert_with(|| readers::read(*format, text));
                reported(report.as_deref().map_err(|error| NoNumber::NoReport(error.to_string()))?, name)
            }
        }
    }
}

/// What was printed, as reports.
type Reports = HashMap<Format, Result<Vec<Measurement>, ReadError>>;

/// The numbers of a run, in the order of the metrics. A report is read once, whatever the number of metrics
/// in it.
///
/// # Errors
/// Of each [`NoNumber`], for what was not counted, a pattern that does not match once, or matches no number, and
/// for a report without such a number.
pub fn read_all(metrics: &[Metric], taken: &Taken<'_>, text: &str) -> Vec<Result<f64, NoNumber>> {
    let mut reports = Reports::new();
    metrics.iter().map(|metric| metric.read(taken, text, &mut reports)).collect()
}

fn matched(pattern: &Regex, text: &str) -> Result<f64, NoNumber> {
    let mut matches = pattern.captures_iter(text);
    let first = matches.next().ok_or(NoNumber::NoMatch)?;
    match matches.count() {
        0 => {}
        more => return Err(NoNumber::Matches(more + 1)),
    }
    let found = first.get(1).or_else(|| first.get(0)).map_or("", |found| found.as_str());
    // As people write large numbers.
    let digits = found.trim().replace([',', '_'], "");
    let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| NoNumber::Text(found.to_owned()))
}

fn reported(report: &[Measurement], name: &str) -> Result<f64, NoNumber> {
    let found = report.iter().find(|found| found.name == *name);
    match found.map(|found| found.values.as_slice()) {
        Some([value]) => Ok(*value),
        Some(values) => Err(NoNumber::Reported(values.len())),
        None => {
            let names = report.iter().take(MOST_NAMES).map(|found| found.name.clone());
            Err(NoNumber::NotReported(names.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        wall: 2.0,
        user: 1.5,
        system: 0.25,
        peak_memory: 4096,
        memory_floor: 0,
        page_faults: 300,
        voluntary_switches: 1,
        involuntary_switches: 2,
        queued: None,
    };

    const TAKEN: Taken<'_> = Taken {
        usage: &USAGE,
        counts: &[
            Count { event: Event::Cycles, value: 7e9, share: 1.0 },
            Count { event: Event::CacheMisses, value: 0.0, share: 0.0 },
        ],
        instructions: None,
    };

    fn read(source: Source, text: &str) -> Result<f64, NoNumber> {
        let metric = Metric { name: "it".to_owned(), source };
        read_all(&[metric], &TAKEN, text).remove(0)
    }

    fn pattern(pattern: &str, text: &str) -> Result<f64, NoNumber> {
        read(Source::Pattern(Regex::new(pattern).expect("an expression")), text)
    }

    #[test]
    fn what_a_run_took_is_read_as_it_is() {
        let sources = [
            (Source::Wall, 2.0),
            (Source::User, 1.5),
            (Source::System, 0.25),
            (Source::Cpu, 1.75),
            (Source::PeakMemory, 4096.0),
            (Source::PageFaults, 300.0),
            (Source::VoluntarySwitches, 1.0),
            (Source::InvoluntarySwitches, 2.0),
        ];
        for (source, value) in sources {
            let is_the_process_alone = !matches!(source, Source::Wall);
            assert_eq!(source.counts_waiting(), !is_the_process_alone);
            assert_eq!(read(source, ""), Ok(value));
        }
    }

    #[test]
    fn what_was_never_counted_is_no_zero() {
        assert_eq!(read(Source::Counted(Event::Cycles), ""), Ok(7e9));
        for source in [
            Source::Counted(Event::CacheMisses),
            Source::Counted(Event::Branches),
            Source::ValgrindInstructions,
        ] {
            assert_eq!(read(source, ""), Err(NoNumber::NotCounted));
        }
    }

    #[test]
    fn patterns_match_one_number() {
        assert_eq!(pattern(r"tps = ([0-9.]+)", "tps = 1234.5 (x)"), Ok(1234.5));
        assert_eq!(pattern(r"[0-9,]+ ops", "1,234,567 ops"), Err(NoNumber::Text("1,234,567 ops".to_owned())));
        assert_eq!(pattern(r"([0-9,]+) ops", "1,234,567 ops"), Ok(1_234_567.0));
        assert_eq!(pattern(r"-?[0-9.]+e-?[0-9]+", "x 1.5e-3"), Ok(0.0015));
    }

    #[test]
    fn reports_have_numbers_by_name() {
        let reported =
            |name: &str, text: &str| read(Source::Reported(Format::Pgbench, name.to_owned()), text);
        let text = "latency average = 2 ms\ntps = 1234.5 (without initial connection time)\n";
        assert_eq!((reported("tps", text), reported("latency", text)), (Ok(1234.5), Ok(0.002)));
        let names = ["tps", "latency"].map(str::to_owned).to_vec();
        assert_eq!(reported("speed", text), Err(NoNumber::NotReported(names)));
        let twice = format!("transaction type: x\n{text}").repeat(2);
        assert_eq!(reported("tps", &twice), Err(NoNumber::Reported(2)));
        let why = "no result of pgbench in it".to_owned();
        assert_eq!(reported("tps", "pgbench: error\n"), Err(NoNumber::NoReport(why)));
    }

    #[test]
    fn several_numbers_of_one_report_come_in_the_order_of_their_metrics() {
        let metric = |name: &str, source| Metric { name: name.to_owned(), source };
        let reported = |format, name: &str| metric(name, Source::Reported(format, name.to_owned()));
        let metrics = [
            reported(Format::Pgbench, "tps"),
            metric("wall", Source::Wall),
            reported(Format::Wrk, "requests"),
            reported(Format::Pgbench, "latency"),
            reported(Format::Pgbench, "speed"),
        ];
        let text = "latency average = 2 ms\ntps = 1234.5 (without initial connection time)\n";
        let numbers = read_all(&metrics, &TAKEN, text);
        let [Ok(tps), Ok(wall), Err(NoNumber::NoReport(_)), Ok(latency), Err(NoNumber::NotReported(_))] =
            numbers.as_slice()
        else {
            panic!("{numbers:?}")
        };
        assert_eq!([*tps, *wall, *latency], [1234.5, 2.0, 0.002]);
    }

    #[test]
    fn a_pattern_that_does_not_match_once_gives_no_number() {
        assert_eq!(pattern(r"tps = ([0-9.]+)", "none"), Err(NoNumber::NoMatch));
        assert_eq!(pattern(r"tps = ([0-9.]+)", "tps = 1\ntps = 2\ntps = 3"), Err(NoNumber::Matches(3)));
        assert_eq!(pattern(r"tps = (\w+)", "tps = none"), Err(NoNumber::Text("none".to_owned())));
        assert_eq!(pattern(r"tps = (\w+)", "tps = inf"), Err(NoNumber::Text("inf".to_owned())));
    }
}
