//! Measuring stage: what is to be measured, and why it could not be.
//!
//! In: what the command line states, as the caller resolved it. An experiment is complete before its first run, so
//! that a record can be continued by it. [`Failure`] is what ends one before its time.

use super::machine::Gate;
use super::metric::{Metric, NoNumber};
use super::process::{End, Task};
use super::record::RecordError;
use super::server::{ServerError, Service};
use crate::side::Side;
use deburr_text::ShownPath as _;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The commands of A and B.
    pub tasks: [Task; 2],
    /// The servers that they are clients of.
    pub services: Option<[Service; 2]>,
    /// Whether a server only runs while its client does; else both run all the time.
    pub alternates: bool,
    /// The value of what is swept over, for the record.
    pub point: String,
    /// What the order inside of pairs comes from.
    pub seed: u64,
    /// Pairs that only warm up.
    pub warm_ups: u32,
    /// What is waited for before each run.
    pub gate: Option<Gate>,
    /// Runs before each run, with `DEBURR_SIDE` (`a` or `b`) in its environment.
    pub prepare: Option<Task>,
    /// What gives a side another layout, with `DEBURR_LAYOUT_SEED` also in its environment.
    pub relink: Option<Relink>,
    /// What is read of each run.
    pub metrics: Vec<Metric>,
    /// The folder that what the runs print is kept in.
    pub keeps: Option<PathBuf>,
    /// Whether a run that fails counts like any other.
    pub ignores_failure: bool,
}

/// How sides get their layouts.
#[derive(Debug, Clone)]
pub struct Relink {
    /// The command.
    pub task: Task,
    /// When it runs.
    pub when: When,
}

/// When a side gets a new layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before each of its runs.
    EachRun,
    /// Before all of them.
    Once,
}

/// Why an experiment has no end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A command could not be run at all.
    Start {
        /// What is run there.
        what: String,
        /// Why not.
        error: io::Error,
    },
    /// A run ended as it should not.
    Run {
        /// What was run.
        what: String,
        /// How it ended.
        end: End,
        /// The last that it printed.
        text: String,
    },
    /// What comes before a run ended as it should not.
    Before {
        /// What was run.
        what: String,
        /// How it ended.
        end: End,
        /// The last that it printed.
        text: String,
    },
    /// A run lacks a number.
    Metric {
        /// What was run.
        what: String,
        /// The metric's name.
        metric: String,
        /// What is wrong.
        why: NoNumber,
        /// The last that it printed.
        text: String,
    },
    /// A run printed more than is searched for numbers.
    TooLong {
        /// What was run.
        what: String,
        /// Bytes that are.
        most: u64,
    },
    /// A server does not serve.
    Server {
        /// Whose it is.
        side: Side,
        /// Why not.
        error: ServerError,
    },
    /// A run could not be written down.
    Record(RecordError),
    /// What a run printed could not be kept.
    Keep {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, text) = match self {
            Failure::Start { what, error } => return write!(f, "{what}: {error}"),
            Failure::TooLong { what, most } => {
                let most = most >> 20;
                return write!(
                    f,
                    "{what} printed more than {most} MiB, which is not looked through for metrics"
                );
            }
            Failure::Server { side, error } => return write!(f, "the server of {side} {error}"),
            Failure::Record(error) => return error.fmt(f),
            Failure::Keep { path, error } => return write!(f, "{}: {error}", path.shown()),
            Failure::Run { what, end, text } | Failure::Before { what, end, text } => {
                (format!("{what} ended with {end}"), text)
            }
            Failure::Metric { what, metric, why, text } => (format!("{what}: metric {metric}: {why}"), text),
        };
        f.write_str(&what)?;
        match text.trim() {
            "" => f.write_str("; it printed nothing"),
            text => write!(f, "; the last that it printed:\n{text}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        Failure::Record(error)
    }
}
