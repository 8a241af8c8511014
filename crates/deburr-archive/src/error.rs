//! What went wrong, and what was left out, each with its place in an index.

use deburr_text::shown;
use std::fmt;
use std::io;

/// Why the entries of an archive are not complete.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// What the selection lacks, or what it names that the archive does not have.
    Selection(String),
    /// An index cannot be read.
    Read {
        /// Its path.
        index: String,
        /// How far it was read.
        place: Place,
        /// Why.
        error: io::Error,
    },
    /// An index is not what it should be.
    Index {
        /// Its path.
        index: String,
        /// Where in it.
        place: Place,
        /// What is wrong there.
        what: String,
    },
}

/// A place in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The index, or its end.
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A package, a file or a link, from 1, in the order of the index.
    Record(u64),
}

/// What was left out, or could not be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The index that says it.
    pub index: String,
    /// Where in it.
    pub place: Place,
    /// What was left out, and why.
    pub what: String,
}

/// What was left out of an archive's entries. An index with a fault in every record does not fill the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// The first thousand.
    pub first: Vec<Remark>,
    /// How many more there were.
    pub more: u64,
}

impl Remarks {
    const MOST: usize = 1000;

    pub(crate) fn add(&mut self, index: &str, place: Place, what: String) {
        self.append(Remarks { first: vec![Remark { index: index.to_owned(), place, what }], more: 0 });
    }

    pub(crate) fn append(&mut self, other: Remarks) {
        let room = Remarks::MOST.saturating_sub(self.first.len());
        self.more += other.more + other.first.len().saturating_sub(room) as u64;
        self.first.extend(other.first.into_iter().take(room));
    }

    /// An index that is faulty, and without which the others are whole.
    pub(crate) fn left_out(&mut self, index: &str, error: &Error) {
        let (place, what) = match error {
            Error::Selection(what) => (Place::Whole, what.clone()),
            Error::Read { place, error, .. } => (*place, error.to_string()),
            Error::Index { place, what, .. } => (*place, what.clone()),
        };
        self.add(index, place, format!("{what}: left out"));
    }
}

impl Error {
    pub(crate) fn index(index: &str, place: Place, what: impl Into<String>) -> Error {
        Error::Index { index: index.to_owned(), place, what: what.into() }
    }

    pub(crate) fn read(index: &str, place: Place, error: io::Error) -> Error {
        Error::Read { index: index.to_owned(), place, error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Selection(what) => f.write_str(what),
            Error::Read { index, place, error } => write!(f, "{}{place}: {error}", name(index)),
            Error::Index { index, place, what } => write!(f, "{}{place}: {what}", name(index)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Line(line) => write!(f, ", line {line}"),
            Place::Record(record) => write!(f, ", record {record}"),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", name(&self.index), self.place, self.what)
    }
}

fn name(index: &str) -> String {
    shown(index.as_bytes()).into_owned()
}

/// What another library says of an index, which may repeat a part of it: short, and free of control characters.
pub(crate) fn said(error: &dyn fmt::Display) -> String {
    const MOST: usize = 200;
    let text: String = error.to_string().chars().take(MOST).collect();
    shown(text.as_bytes()).into_owned()
}

/// Text of an index, for people: in quotes, short, and free of control characters.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    let short: String = text.chars().take(MOST).collect();
    let rest = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{rest}\"", shown(short.as_bytes()))
}
