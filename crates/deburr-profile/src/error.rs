//! Why a profile is refused: where in the file, and what was expected there.

use std::fmt;

/// A profile that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// Where in the file, in bytes: of the record, the line or the field. Of a compressed record it is where that begins, and of a
    /// pprof profile with gzip it is in what that unpacks to.
    pub offset: u64,
    /// What was expected there.
    pub expected: String,
}

impl Error {
    pub(crate) fn new(offset: u64, expected: impl Into<String>) -> Error {
        Error { offset, expected: expected.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at offset {:#x}: expected {}", self.offset, self.expected)
    }
}

impl std::error::Error for Error {}
