//! Why a text is no report of its program, and where that shows.
//!
//! The place is a line, counted from 1, or a field of a JSON document, with the line at which that document
//! begins.

use std::fmt;

/// Why a text is no report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadError {
    /// Where: a line, counted from 1, or a field of a JSON document; `None`: in all of it.
    pub place: Option<ReportPlace>,
    /// What is wrong there.
    pub reason: String,
}

/// A place in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportPlace {
    /// Counted from 1.
    Line(usize),
    /// `jobs[0].read.iops`, in the document that begins at a line.
    Field(usize, String),
}

impl fmt::Display for ReportPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportPlace::Line(line) => write!(f, "line {line}"),
            ReportPlace::Field(1, field) => f.write_str(field),
            ReportPlace::Field(line, field) => write!(f, "{field} in the document at line {line}"),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    pub(super) fn at(place: ReportPlace, reason: impl Into<String>) -> ReadError {
        ReadError { place: Some(place), reason: reason.into() }
    }

    pub(super) fn line(line: usize, reason: impl Into<String>) -> ReadError {
        ReadError::at(ReportPlace::Line(line), reason)
    }

    pub(super) fn whole(reason: impl Into<String>) -> ReadError {
        ReadError { place: None, reason: reason.into() }
    }
}
