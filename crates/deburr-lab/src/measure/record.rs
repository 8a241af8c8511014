//! Measuring stage: what is known of an experiment, on disk.
//!
//! One JSON value a line: first the [`Header`], then each [`RecordedRun`] as it ends, written and flushed
//! before the next one starts. A last line that an interrupt cut off is no run. Whoever goes on with an
//! experiment gets the same header, or none.

use super::process::{End, Usage};
use super::provenance::Provenance;
use crate::side::Side;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// The version of the format.
pub const FORMAT: u32 = 1;
/// Bytes at most of one line.
const LONGEST: u64 = 1 << 20;

/// What an experiment is of: two records with the same header are of the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The program that wrote it, and its version.
    pub tool: String,
    /// The commands, as given.
    pub commands: [String; 2],
    /// What the orders of the pairs' runs come from.
    pub seed: u64,
    /// Names of the metrics, the primary one first, with where they come from.
    pub metrics: Vec<(String, String)>,
    /// Processors that the runs may use.
    pub cores: usize,
    /// Pairs at most, by which the bounds of the interim analyses are; an experiment may go on with others.
    #[serde(default)]
    pub pairs: Option<u32>,
    /// Whatever else was requested that the numbers depend on, by option.
    pub options: BTreeMap<String, String>,
    /// Where and of what it is, as far as that was known when it began; not in records of earlier versions.
    /// Whoever goes on with an experiment may do so in another state of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// The value of what is swept over; empty where nothing is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub point: String,
    /// Its pair, from 0, at this point; warm-up pairs are counted by themselves. The round, where `layout` is
    /// given.
    pub pair: u32,
    /// Where it is measured what placement does: the layout, from 0. Such a run is in no pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    /// How often the pair was measured before.
    pub attempt: u32,
    /// Whose it is.
    pub side: Side,
    /// Whether it ran first of the two.
    pub is_first: bool,
    /// Whether it only warms up, and counts for nothing.
    pub is_warm_up: bool,
    /// When it began, in seconds since 1970.
    pub began: f64,
    /// How long was waited for a quiet machine before it, in seconds.
    pub waited: f64,
    /// Whether the machine was still busy when it began, because the gate gave up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ungated: bool,
    /// How it ended.
    pub end: End,
    /// What it took.
    pub usage: Usage,
    /// Whether it was the client of a server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_client: bool,
    /// CPU time of its server meanwhile, in seconds; `None` without one, or where that cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<f64>,
    /// How long the processors that it may use were busy meanwhile, together, in seconds; `None` where the
    /// kernel does not report it.
    pub busy: Option<f64>,
    /// How long a hypervisor kept them away, in seconds.
    pub stolen: Option<f64>,
    /// How long the queues of all processors of the machine lasted meanwhile, together and at most, in seconds; `None` where the
    /// kernel does not report it, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<f64>,
    /// The share of its time in which each of its counters counted, at least; `None` where nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<f64>,
    /// Names of the processes that it left running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<String>,
    /// Its numbers, by name.
    pub metrics: BTreeMap<String, f64>,
    /// Why it counts for nothing, if it does not.
    pub fault: Option<String>,
}

/// Why there is no record.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// It could not be read or written.
    Io(io::Error),
    /// Another process writes to it.
    Taken,
    /// A line that is not what it should be, counted from 1.
    Line(usize, String),
    /// A record of another version's format.
    Format(u32),
    /// A record of another experiment: what differs.
    Other(String),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Io(error) => error.fmt(f),
            RecordError::Taken => f.write_str("another deburr writes to it right now"),
            RecordError::Line(line, why) => write!(f, "line {line}: {why}"),
            RecordError::Format(other) => write!(f, "format {other}, where this version knows {FORMAT}"),
            RecordError::Other(what) => write!(f, "a record of another experiment: {what}"),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> RecordError {
        RecordError::Io(error)
    }
}

/// A record that runs are added to.
#[derive(Debug)]
pub struct Record {
    file: File,
}

impl Record {
    /// Begins a record in a new file.
    ///
    /// # Errors
    /// Where there is such a file, or it cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Record, RecordError> {
        Record::begin(OpenOptions::new().read(true).append(true).create_new(true).open(path)?, header)
    }

    /// Begins a record in an open file that is empty, or is a pipe or a device.
    ///
    /// # Errors
    /// Where it cannot be written, or somebody else writes to it.
    pub fn begin(file: File, header: &Header) -> Result<Record, RecordError> {
        let mut record = Record::alone(file)?;
        record.line(header)?;
        Ok(record)
    }

    /// Goes on with a record; gives the runs that it has, and its header.
    ///
    /// # Errors
    /// [`RecordError`], also where it is one of another experiment.
    pub fn resume(path: &Path, header: &Header) -> Result<(Record, Vec<RecordedRun>, Header), RecordError> {
        let record = Record::alone(OpenOptions::new().read(true).append(true).open(path)?)?;
        let Contents { header: found, runs, whole } = Contents::read(&record.file)?;
        if let Some(difference) = found.difference(header) {
            return Err(RecordError::Other(difference));
        }
        // What an interrupt left of a line would spoil the next one.
        record.file.set_len(whole)?;
        Ok((record, runs, found))
    }

    /// Of a file that nothing else writes to as long as there is this record.
    fn alone(file: File) -> Result<Record, RecordError> {
        // A device is everybody's.
        if !file.metadata()?.is_file() {
            return Ok(Record { file });
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(RecordError::Taken),
            // Some file systems have no locks.
            _ => Ok(Record { file }),
        }
    }

    /// Adds a run; it is on disk when this returns, as far as the kernel goes.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add(&mut self, run: &RecordedRun) -> Result<(), RecordError> {
        self.line(run)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), RecordError> {
        let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
        line.push(b'\n');
        Ok(self.file.write_all(&line)?)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // A process that another thread is about to start has the file for a moment, too, and the lock would
        // last as long.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Reads a record.
///
/// # Errors
/// [`RecordError`].
pub fn read(path: &Path) -> Result<(Header, Vec<RecordedRun>), RecordError> {
    let contents = Contents::read(&File::open(path)?)?;
    Ok((contents.header, contents.runs))
}

struct Contents {
    header: Header,
    runs: Vec<RecordedRun>,
    /// Bytes of whole lines.
    whole: u64,
}

impl Contents {
    fn read(file: &File) -> Result<Contents, RecordError> {
        let mut reader = BufReader::new(file);
        let (mut whole, mut header, mut runs) = (0, None, Vec::new());
        for number in 1.. {
            let mut line = Vec::new();
            let read = (&mut reader).take(LONGEST).read_until(b'\n', &mut line)? as u64;
            if line.last() != Some(&b'\n') {
                if read == LONGEST {
                    return Err(RecordError::Line(number, "too long".to_owned()));
                }
                break;
            }
            whole += read;
            let wrong = |error: serde_json::Error| RecordError::Line(number, error.to_string());
            match header {
                None => header = Some(serde_json::from_slice(&line).map_err(wrong)?),
                Some(_) => runs.push(serde_json::from_slice(&line).map_err(wrong)?),
            }
        }
        let header: Header = header.ok_or(RecordError::Line(1, "no record of deburr compare".to_owned()))?;
        match header.format {
            FORMAT => Ok(Contents { header, runs, whole }),
            other => Err(RecordError::Format(other)),
        }
    }
}

impl Header {
    /// What two experiments differ in; not by which version of the tool they were made.
    fn difference(&self, other: &Header) -> Option<String> {
        let difference = |what: &str, one: &dyn fmt::Debug, other: &dyn fmt::Debug| {
            Some(format!("{what}: {one:?} there, {other:?} here"))
        };
        if self.commands != other.commands {
            return difference("commands", &self.commands, &other.commands);
        }
        if self.metrics != other.metrics {
            return difference("metrics", &self.metrics, &other.metrics);
        }
        if self.cores != other.cores {
            return difference("processors", &self.cores, &other.cores);
        }
        let names = self.options.keys().chain(other.options.keys());
        let different = names.into_iter().find(|name| self.options.get(*name) != other.options.get(*name))?;
        let [there, here] = [self, other].map(|header| match header.options.get(different) {
            Some(value) => format!("{value:?}"),
            None => "nothing".to_owned(),
        });
        Some(format!("{different}: {there} there, {here} here"))
    }
}

#[cfg(test)]
impl Header {
    /// Of an experiment that nothing is known of.
    pub(super) fn blank() -> Header {
        Header {
            format: FORMAT,
            tool: String::new(),
            commands: Default::default(),
            seed: 1,
            metrics: Vec::new(),
            cores: 1,
            pairs: None,
            options: BTreeMap::new(),
            provenance: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            format: FORMAT,
            tool: "deburr 0".to_owned(),
            commands: ["a".to_owned(), "b".to_owned()],
            seed: 7,
            metrics: vec![("wall".to_owned(), "wall".to_owned())],
            cores: 2,
            pairs: Some(40),
            options: BTreeMap::from([("timeout".to_owned(), "5".to_owned())]),
            provenance: None,
        }
    }

    fn run(pair: u32, side: Side) -> RecordedRun {
        RecordedRun {
            point: String::new(),
            pair,
            layout: None,
            attempt: 0,
            side,
            is_first: side == Side::A,
            is_warm_up: false,
            began: 1.7e9,
            waited: 0.1,
            is_ungated: side == Side::B,
            end: End::Status(0),
            usage: Usage {
                wall: 0.123_456_789,
                user: 0.1,
                system: 0.02,
                peak_memory: 1 << 20,
                memory_floor: 0,
                page_faults: 5,
                voluntary_switches: 3,
                involuntary_switches: 4,
                queued: (side == Side::A).then_some(0.003),
            },
            is_client: side == Side::B,
            served: (side == Side::B).then_some(0.05),
            busy: Some(0.2),
            stolen: None,
            queues: (side == Side::A).then_some(0.01),
            counted: (side == Side::B).then_some(0.5),
            leftovers: Vec::new(),
            metrics: BTreeMap::from([("wall".to_owned(), 0.123_456_789)]),
            fault: None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_goes_on_after_a_line_that_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        let mut record = Record::create(&path, &header()).unwrap();
        record.add(&run(0, Side::A)).unwrap();
        record.add(&run(0, Side::B)).unwrap();
        assert!(Record::create(&path, &header()).is_err());
        drop(record);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
        assert_eq!(read(&path).unwrap(), (header(), vec![run(0, Side::A)]));
        let (mut record, runs, found) = Record::resume(&path, &header()).unwrap();
        assert_eq!(found, header());
        assert_eq!(runs, [run(0, Side::A)]);
        record.add(&run(0, Side::B)).unwrap();
        drop(record);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn where_and_of_what_it_is_makes_no_other_experiment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        let known = Header { provenance: Some(Provenance::default()), ..header() };
        drop(Record::create(&path, &known).unwrap());
        let (_, _, found) = Record::resume(&path, &header()).unwrap();
        assert_eq!(found, known);
        // Earlier versions wrote none, and read this one.
        let line = serde_json::to_string(&header()).unwrap();
        assert!(!line.contains("provenance"));
        assert_eq!(serde_json::from_str::<Header>(&line).unwrap(), header());
    }

    #[test]
    fn a_record_has_one_writer_at_a_time_and_any_number_of_readers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        let resumed = || Record::resume(&path, &header());
        let begun = Record::create(&path, &header()).unwrap();
        assert_eq!(resumed().unwrap_err().to_string(), "another deburr writes to it right now");
        drop(begun);
        let gone_on = resumed().unwrap();
        assert!(matches!(resumed(), Err(RecordError::Taken)));
        assert_eq!(read(&path).unwrap().0, header());
        drop(gone_on);
        assert!(resumed().is_ok());
    }

    #[test]
    fn what_is_no_record_or_one_of_another_experiment_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        let reason = |text: &str, header: &Header| {
            std::fs::write(&path, text).unwrap();
            Record::resume(&path, header).unwrap_err().to_string()
        };
        let line = serde_json::to_string(&header()).unwrap();
        assert_eq!(reason("", &header()), "line 1: no record of deburr compare");
        assert!(reason("{}\n", &header()).starts_with("line 1: missing field"));
        assert!(reason(&format!("{line}\n{{}}\n"), &header()).starts_with("line 2: missing field"));
        assert!(reason(&"x".repeat(2 << 20), &header()).contains("too long"));
        let newer = line.replace("\"format\":1", "\"format\":2");
        assert!(reason(&format!("{newer}\n"), &header()).contains("format 2"));
        type Change = fn(&mut Header);
        let others: [(&str, Change); 4] = [
            ("commands", |header| header.commands[1] = "c".to_owned()),
            ("metrics", |header| header.metrics.clear()),
            ("processors", |header| header.cores = 3),
            ("timeout", |header| header.options.clear()),
        ];
        for (what, change) in others {
            let mut other = header();
            change(&mut other);
            let reason = reason(&format!("{line}\n"), &other);
            assert!(reason.starts_with(&format!("a record of another experiment: {what}")), "{reason}");
        }
    }
}
