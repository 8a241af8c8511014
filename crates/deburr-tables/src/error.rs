//! Why tables could not be made or written.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::fmt;

/// Why tables could not be made or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The writer of the caller failed, with its reason.
    Write(Box<dyn std::error::Error + Send + Sync>),
    /// Rows do not fit their table.
    Rows(ArrowError),
    /// They do not fit the format.
    Format(ParquetError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Write(error) => error.fmt(f),
            Error::Rows(error) => write!(f, "rows do not fit their table: {error}"),
            Error::Format(error) => write!(f, "rows do not fit Parquet: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        Error::Rows(error)
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        match error {
            ParquetError::External(error) => Error::Write(error),
            other => Error::Format(other),
        }
    }
}
