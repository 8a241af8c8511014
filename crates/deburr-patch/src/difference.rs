//! Patch stage: an original and its patched file → what instructions differ.
//!
//! In: the bytes of both, from whoever. Out: every change of code, to be proven again; or an error, if the
//! patched file is anything but what `apply` makes of the original with these changes. That is found out by
//! making it: a byte that is not a new instruction has only one value that it can have.

use crate::apply::{ApplyError, ApplyOptions, rewrite};
use crate::change::Change;
use crate::note::{Note, NoteError, sha256};
use crate::subject::Trampoline;
use deburr_core::image::layout::{Layout, Room};
use std::fmt;

/// Why a file is not the other one with changes of code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceError {
    /// The patched file has no note that says what was changed.
    Note(NoteError),
    /// The note is of another original.
    OtherOriginal {
        /// Length and SHA-256 by the note.
        expected: (u64, String),
        /// Length and SHA-256 of the file that is given.
        found: (u64, String),
    },
    /// A site of the note is outside of the patched file.
    Outside {
        /// Where.
        file_offset: u64,
    },
    /// The original cannot be changed as the note says.
    Apply(ApplyError),
    /// A byte differs that the changes leave alone, or one file is longer.
    Byte {
        /// The first such byte.
        file_offset: u64,
    },
}

impl fmt::Display for DifferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DifferenceError::Note(error) => write!(f, "{error}"),
            DifferenceError::OtherOriginal { expected, found } => write!(
                f,
                "not the original: {} bytes of SHA-256 {} instead of {} bytes of {}",
                found.0, found.1, expected.0, expected.1
            ),
            DifferenceError::Outside { file_offset } => {
                write!(f, "deburr's note tells of words at file offset {file_offset:#x}, outside of the file")
            }
            DifferenceError::Apply(error) => write!(f, "deburr's note contradicts the original: {error}"),
            DifferenceError::Byte { file_offset } => {
                write!(f, "another difference than deburr's note tells of at file offset {file_offset:#x}")
            }
        }
    }
}

impl std::error::Error for DifferenceError {}

/// What the patched file has changed, if that is all in which the two differ.
///
/// # Errors
/// [`DifferenceError`], where they differ in anything else.
pub fn difference(original: &[u8], patched: &[u8]) -> Result<Vec<Change>, DifferenceError> {
    difference_releasing(original, patched, &|_| {})
}

/// As [`difference`]; `release` gets parts of the patched file that are not needed any more.
pub(crate) fn difference_releasing(
    original: &[u8],
    patched: &[u8],
    release: &(dyn Fn(&[u8]) + Sync),
) -> Result<Vec<Change>, DifferenceError> {
    let note = Note::of(patched).map_err(DifferenceError::Note)?;
    let expected = (note.original.length, note.original.sha256.clone());
    let length = original.len() as u64;
    if length != note.original.length {
        return Err(DifferenceError::OtherOriginal { expected, found: (length, sha256(original)) });
    }
    let (hash, changes) =
        rayon::join(|| sha256(original), || changes_of(&note, (original, patched), release));
    match hash == note.original.sha256 {
        true => changes,
        false => Err(DifferenceError::OtherOriginal { expected, found: (length, hash) }),
    }
}

/// What the patched file has changed of an original with the note's SHA-256.
fn changes_of(
    note: &Note,
    (original, patched): (&[u8], &[u8]),
    release: &(dyn Fn(&[u8]) + Sync),
) -> Result<Vec<Change>, DifferenceError> {
    let changes = note.sites().map(|(rule, at, file_offset, old)| {
        let new = words(patched, file_offset, old.len()).ok_or(DifferenceError::Outside { file_offset })?;
        Ok(Change { rule, at, file_offset, old: old.to_vec(), new, trampoline: None })
    });
    let mut changes: Vec<Change> = changes.collect::<Result<_, _>>()?;
    add_trampolines(original, patched, note, &mut changes)?;
    // Bytes after the last section were there before, and are compared with the original like any others.
    let options = ApplyOptions { new_build_id: note.original.build_id_replaced_at.is_some(), trailer: true };
    let again = rewrite(original, &changes, &options, &note.tool, || note.original.sha256.clone())
        .map_err(DifferenceError::Apply)?;
    match again.first_difference(patched, release) {
        Some(file_offset) => Err(DifferenceError::Byte { file_offset }),
        None => Ok(changes),
    }
}

/// Finds the instructions in added space, which follow one another there.
fn add_trampolines(
    original: &[u8],
    patched: &[u8],
    note: &Note,
    changes: &mut [Change],
) -> Result<(), DifferenceError> {
    let Some(trampoline) = &note.trampolines else { return Ok(()) };
    let file = |error| DifferenceError::Apply(ApplyError::File(error));
    let space = |why| DifferenceError::Apply(ApplyError::NoSpace(why));
    let room = Layout::of(original).map_err(file)?.room().map_err(space)?;
    let mut next = Some(room.code());
    for (site, count) in &trampoline.words {
        let file_offset = next.map_or(u64::MAX, |at| room.file_offset_of(at));
        let refused = DifferenceError::Outside { file_offset };
        let (Some(at), Some(change)) = (next, changes.get_mut(*site)) else { return Err(refused) };
        let words = words(patched, file_offset, *count).ok_or(refused)?;
        let placed = Trampoline { at, words };
        next = Room::after(placed.extent().end);
        change.trampoline = Some(placed);
    }
    Ok(())
}

fn words(bytes: &[u8], file_offset: u64, count: usize) -> Option<Vec<u32>> {
    let start = usize::try_from(file_offset).ok()?;
    let range = bytes.get(start..start.checked_add(count.checked_mul(4)?)?)?;
    range.chunks_exact(4).map(|word| Some(u32::from_le_bytes(word.try_into().ok()?))).collect()
}
