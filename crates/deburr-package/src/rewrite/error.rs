//! Why there is no new package: it is refused, or it cannot be read.
//!
//! Each has the path of what it is about. A failed read is explained by its decoder, where one failed.

use crate::codec::meter::Meter;
use std::fmt;
use std::io;

/// Why there is no new package.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewriteError {
    /// Such a package is not rewritten, whatever is in it.
    Refused {
        /// What it is about: `package!inner/path`, free of control characters.
        path: String,
        /// Why.
        reason: String,
    },
    /// The bytes are not what they should be, or go beyond one of the [`crate::Limits`].
    Unreadable {
        /// As above.
        path: String,
        /// What is wrong, and where.
        reason: String,
    },
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (RewriteError::Refused { path, reason } | RewriteError::Unreadable { path, reason }) = self;
        write!(f, "{path}: {reason}")
    }
}

impl std::error::Error for RewriteError {}

pub(super) type Made<T> = Result<T, RewriteError>;

/// What a failed read says: its own error, if it carries one; or why a decoder gave up.
pub(super) fn failed(path: &str, meter: &Meter, error: io::Error) -> RewriteError {
    let error = match error.downcast::<RewriteError>() {
        Ok(own) => return own,
        Err(error) => error,
    };
    RewriteError::Unreadable { path: path.to_owned(), reason: meter.reason(&error) }
}
