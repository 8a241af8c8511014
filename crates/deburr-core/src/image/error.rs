//! Why a file cannot be checked.

use std::fmt;

/// Why a file cannot be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Not a file for deburr: no ELF file, or an ELF file of another kind (`32-bit Arm`, `big-endian AArch64`, `core
    /// dump`).
    Unsupported(String),
    /// The file contradicts itself or ends early.
    Malformed {
        /// Where in the file, in bytes from its start.
        offset: u64,
        /// What was expected there.
        expected: String,
    },
    /// Larger than deburr handles: more than 4 GiB of code.
    TooLarge(String),
    /// The request names a rule that there is none of.
    UnknownRule(String),
    /// Decoded, data and undecoded bytes do not add up to the executable ones: a fault of deburr, not of the file.
    Inconsistent(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported(what) => write!(f, "{what}: not supported"),
            Error::Malformed { offset, expected } => {
                write!(f, "malformed at file offset {offset:#x}: expected {expected}")
            }
            Error::TooLarge(what) => write!(f, "too large: {what}"),
            Error::UnknownRule(id) => write!(f, "{id}: no such rule"),
            Error::Inconsistent(what) => write!(f, "a fault of deburr, please report it: {what}"),
        }
    }
}

impl std::error::Error for Error {}
