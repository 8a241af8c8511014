//! Patch stage: a patched file → the original.
//!
//! In: the bytes of a file that `apply` wrote. Out: the bytes that it was given, which the SHA-256 in the
//! note vouches for.

use crate::apply::bytes_of;
use crate::header;
use crate::note::{Added, Note, NoteError, sha256};
use std::fmt;

/// Why a file does not give its original back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevertError {
    /// It has no note that says how.
    Note(NoteError),
    /// The original is said to be as long as the file or longer.
    Length {
        /// Length of the original by the note.
        original: u64,
        /// Length of the file.
        file: u64,
    },
    /// The note places what it holds outside of the original.
    Outside {
        /// Where.
        file_offset: u64,
    },
    /// What comes out is not the original: the file was changed once more.
    NotTheOriginal {
        /// SHA-256 of the original by the note.
        expected: String,
        /// SHA-256 of what came out.
        found: String,
    },
}

impl fmt::Display for RevertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevertError::Note(error) => write!(f, "{error}"),
            RevertError::Length { original, file } => {
                write!(f, "deburr's note tells of an original of {original} bytes in a file of {file}")
            }
            RevertError::Outside { file_offset } => {
                write!(
                    f,
                    "deburr's note places bytes at file offset {file_offset:#x}, outside of the original"
                )
            }
            RevertError::NotTheOriginal { expected, found } => {
                write!(f, "changed since it was patched: the SHA-256 is {found} instead of {expected}")
            }
        }
    }
}

impl std::error::Error for RevertError {}

/// The original of a patched file, byte for byte.
pub fn revert(patched: &[u8]) -> Result<Vec<u8>, RevertError> {
    let note = Note::of(patched).map_err(RevertError::Note)?;
    let about = &note.original;
    let length = RevertError::Length { original: about.length, file: patched.len() as u64 };
    let kept = usize::try_from(about.length).ok().filter(|length| *length < patched.len());
    let kept = kept.and_then(|length| patched.get(..length)).ok_or(length)?;
    let mut original = kept.to_vec();
    let mut put = |file_offset: u64, bytes: &[u8]| {
        let at = usize::try_from(file_offset).ok();
        let done = at.and_then(|at| header::put(&mut original, at, bytes));
        done.ok_or(RevertError::Outside { file_offset })
    };
    for (_, _, file_offset, old) in note.sites() {
        put(file_offset, &bytes_of(old))?;
    }
    if let Some(at) = about.build_id_replaced_at {
        put(at, about.build_id.as_ref().map_or(&[], |id| &id.0))?;
    }
    if let Some(Added { phoff, phnum, .. }) = note.trampolines {
        Added::put(phoff, phnum, &mut original).ok_or(RevertError::Outside { file_offset: 0 })?;
    }
    about.header.put(&mut original).ok_or(RevertError::Outside { file_offset: 0 })?;
    let found = sha256(&original);
    if found != about.sha256 {
        return Err(RevertError::NotTheOriginal { expected: about.sha256.clone(), found });
    }
    Ok(original)
}
