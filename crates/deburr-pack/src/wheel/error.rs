//! Why no wheels are written.

use deburr_text::ShownPath as _;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why no wheels are written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WheelStepError {
    /// The request cannot be met: why, and what to do.
    Request(String),
    /// A wheel or an index is not what it should be: which one, and why.
    Unusable(PathBuf, String),
    /// A file or folder could not be read or written.
    Io(PathBuf, io::Error),
}

impl fmt::Display for WheelStepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WheelStepError::Request(reason) => f.write_str(reason),
            WheelStepError::Unusable(path, reason) => write!(f, "{}: {reason}", path.shown()),
            WheelStepError::Io(path, error) => write!(f, "{}: {error}", path.shown()),
        }
    }
}

impl std::error::Error for WheelStepError {}

/// The error of a path.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> WheelStepError + '_ {
    move |error| WheelStepError::Io(path.to_owned(), error)
}
