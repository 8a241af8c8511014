//! What is requested of a build, what it reports while it runs, and why it may end without a pack.

use super::follow::Progress;
use crate::check::Fault;
use crate::record::{CheckRecord, RecordError};
use crate::same::NotComparable;
use deburr_cpu::Target;
use deburr_text::ShownPath as _;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is requested of a build.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// The targets, one variant each, in the order in which they are built.
    pub targets: Vec<Target>,
    /// The command that builds, with its arguments.
    pub command: Vec<OsString>,
    /// The tree of sources that each variant gets a copy of.
    pub source: PathBuf,
    /// The folder below `source` that the command runs in; empty for `source` itself.
    pub folder: PathBuf,
    /// The folder of the pack.
    pub pack: PathBuf,
    /// Files and folders of the copy to take, relative to it; empty: what was installed, or else what was linked.
    pub take: Vec<PathBuf>,
    /// The build makes a Python wheel; the folder in which its variants will be, which is no source.
    pub wheel: Option<PathBuf>,
    /// Whether variants that are done are built again.
    pub fresh: bool,
    /// Whether variants are believed to be what their levels say.
    pub no_check: bool,
}

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A variant begins to build.
    Begins(&'a str),
    /// A variant is as the request wants it already: how it was checked.
    Kept(&'a str, &'a CheckRecord),
    /// A variant is built, and nothing is known against it: how it was checked.
    Done(&'a str, Duration, &'a CheckRecord),
    /// The check of a variant took longer than its build.
    SlowCheck(&'a str, Duration),
    /// A variant's command failed: why, the log, and its last lines.
    Failed(&'a str, String, &'a Path, String),
    /// A variant is not what its level says.
    Rejected(&'a str, &'a [Fault]),
    /// Compilers of `PATH` do not know a target, and others do; a build that calls the first ones fails.
    Unknown {
        /// The variant.
        level: &'a str,
        /// Those that do not know it.
        unable: &'a [String],
        /// Those that do.
        able: &'a [String],
    },
    /// The sources hold object files, which the command may take as they are: the first one, and how many there are.
    Objects(&'a Path, usize),
    /// A flag of the project's own comes after those of the target, and so overrides them.
    OwnFlag(&'a str, &'a str),
    /// A variant has no instruction that needs more than another target has.
    NothingAbove {
        /// The variant.
        level: &'a str,
        /// The other target.
        below: &'a str,
    },
    /// A variant has the same code as the one before it: in these files, and in so many others it has not.
    Same {
        /// The variant.
        level: &'a str,
        /// The variant before it.
        below: &'a str,
        /// Files with the same code.
        same: &'a [PathBuf],
        /// How many other files the variant has.
        others: usize,
    },
}

/// Who follows a build.
pub trait Observer {
    /// Something happened.
    fn happened(&self, event: &Event<'_>);
    /// A variant is so far; several times in a second.
    fn proceeds(&self, progress: &Progress<'_>);
    /// Whether the build is to end.
    fn is_stop_wanted(&self) -> bool;
    /// Whether it is to end at once: who wants to stop insists, or what runs had its time to end.
    fn is_stop_urgent(&self) -> bool;
    /// The build command starts, or has ended. While it runs, who wants to stop is heard, and it is ended first; at any other
    /// time nothing is lost where this process ends at once.
    fn attends(&self, is_running: bool);
}

/// Why a build ended without a pack.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The request cannot be met: why, and what to do.
    Request(String),
    /// A file or folder could not be read or written.
    Io(PathBuf, io::Error),
    /// The record could not be written.
    Record(RecordError),
    /// Two variants could not be compared.
    NotComparable(PathBuf, NotComparable),
    /// It was interrupted; the same command goes on.
    Interrupted,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Request(reason) => f.write_str(reason),
            BuildError::Io(path, error) => write!(f, "{}: {error}", path.shown()),
            BuildError::Record(error) => error.fmt(f),
            BuildError::NotComparable(path, error) => write!(f, "{}: {error}", path.shown()),
            BuildError::Interrupted => f.write_str("interrupted; the same command goes on with the variant"),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<RecordError> for BuildError {
    fn from(error: RecordError) -> BuildError {
        BuildError::Record(error)
    }
}

/// The error of a path.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> BuildError + '_ {
    move |error| BuildError::Io(path.to_owned(), error)
}
