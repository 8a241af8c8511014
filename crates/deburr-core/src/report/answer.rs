//! The answer of a report: whether every machine of a baseline runs the file, the functions that decide it, and the
//! payloads that were not read. `baseline.rs` makes it.

use serde::{Deserialize, Serialize};

/// Whether the machines of a baseline run a file. Ordered: the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// No machine of the baseline reaches code that it cannot execute.
    Runs,
    /// As above, if checks mean what they appear to mean.
    RunsPresumed,
    /// Paths that were not followed may reach code that a machine of the baseline cannot execute.
    Undecided,
    /// A path reaches code that a machine of the baseline cannot execute.
    Dies,
}

impl Answer {
    /// All answers, the best first.
    pub const ALL: [Answer; 4] = [Answer::Runs, Answer::RunsPresumed, Answer::Undecided, Answer::Dies];

    /// The name in reports: `runs`, `runs_presumed`, `undecided`, `dies`.
    pub const fn name(self) -> &'static str {
        match self {
            Answer::Runs => "runs",
            Answer::RunsPresumed => "runs_presumed",
            Answer::Undecided => "undecided",
            Answer::Dies => "dies",
        }
    }
}

/// The functions that decide an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct OnBaseline {
    /// The baseline, or the level of the claim: `x86-64-v2`.
    pub name: String,
    /// Whether the program refuses to start on a machine that has the baseline and nothing more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses: bool,
    /// Functions that a path without a sufficient check reaches, on some machine of the baseline.
    pub dying_functions: u64,
    /// Of those, functions that no check precedes: a machine that has the baseline and nothing more dies.
    pub required_functions: u64,
    /// Functions that paths which were not followed may reach.
    pub undecided_functions: u64,
    /// Functions after checks that are presumed to mean what they appear to mean.
    pub presumed_functions: u64,
    /// The known CPUs that have the baseline and die, those with the fewest features first.
    pub dies_on: Vec<String>,
}

/// Data in or after a file that may hold machine code and was not read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct UnreadPayload {
    /// Its format: `squashfs`.
    pub format: String,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Why it was not read, in one sentence.
    pub reason: String,
}

impl UnreadPayload {
    /// A payload at an offset.
    pub const fn new(format: String, offset: u64, bytes: u64, reason: String) -> UnreadPayload {
        UnreadPayload { format, offset, bytes, reason }
    }
}
