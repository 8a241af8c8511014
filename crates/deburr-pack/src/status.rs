//! Status: the folder of a pack or of an assembled tree → what it holds, and whether all of it is there.
//!
//! In: a record. Out: for each file of several variants whether it is the one that was laid out. Files are compared by what a
//! launcher compares: the build ID, or where there is none the part that is loaded, so that a file that was stripped is whole.

use crate::assemble::build_of;
use crate::build::tree::binaries;
use crate::record::{BuiltVariant, LaidFile, Record, RecordError, State};
use deburr_launcher::Build;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its record, without the files.
    #[serde(flatten)]
    pub record: Record,
    /// The files of several variants of a tree, or the programs and libraries of a pack's variants.
    pub found: Vec<FoundFile>,
    /// To what the link leads that the machine chooses by; `None` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<PathBuf>,
    /// Whether every variant is built and every file is whole.
    pub is_whole: bool,
}

/// A file, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundFile {
    /// The file as it was laid out.
    #[serde(flatten)]
    pub file: LaidFile,
    /// What is there now.
    pub state: FileState,
}

/// What is where a file was laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// The file.
    Whole,
    /// No file.
    Missing,
    /// A file of another build, or none that can be read.
    Other,
}

/// Reads the record of a folder, and looks at its files.
///
/// # Errors
/// [`RecordError`], where there is no record, or a built tree cannot be read.
pub fn status(folder: &Path) -> Result<Status, RecordError> {
    let mut record = Record::read(folder)?;
    let mut found = Vec::new();
    for file in std::mem::take(&mut record.files) {
        let state = state_of(folder, &file);
        found.push(FoundFile { file, state });
    }
    if found.is_empty() {
        for variant in record.variants.iter().filter(|variant| variant.state == State::Done) {
            found.extend(built(folder, variant)?);
        }
    }
    let is_whole = record.variants.iter().all(|variant| variant.state == State::Done)
        && found.iter().all(|file| file.state == FileState::Whole);
    let selected = record.selection.as_ref().and_then(|link| fs::read_link(folder.join(link)).ok());
    let is_whole = is_whole && (record.selection.is_none() || selected.is_some());
    Ok(Status { record, found, selected, is_whole })
}

fn state_of(folder: &Path, file: &LaidFile) -> FileState {
    let bytes = match fs::read(folder.join(&file.path)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return FileState::Missing,
        Err(_) => return FileState::Other,
    };
    let wanted = Build { id: file.build_id.clone(), loaded: file.loaded };
    let found = build_of(&bytes);
    let is_whole = wanted.is_of(&found) && found.loaded <= bytes.len() as u64;
    if is_whole { FileState::Whole } else { FileState::Other }
}

/// The programs and libraries of a variant that is built, or one missing file where its tree is gone.
fn built(folder: &Path, variant: &BuiltVariant) -> Result<Vec<FoundFile>, RecordError> {
    let tree = folder.join(&variant.tree);
    let level = || variant.level.clone();
    if !tree.is_dir() {
        let file = LaidFile { level: level(), path: variant.tree.clone(), build_id: None, loaded: 0 };
        return Ok(vec![FoundFile { file, state: FileState::Missing }]);
    }
    let mut found = Vec::new();
    for path in binaries(&tree).map_err(|error| RecordError::Io(tree.clone(), error))? {
        let whole = tree.join(&path);
        let bytes = fs::read(&whole).map_err(|error| RecordError::Io(whole.clone(), error))?;
        let Build { id, loaded } = build_of(&bytes);
        let file = LaidFile { level: level(), path: variant.tree.join(path), build_id: id, loaded };
        let state = if loaded <= bytes.len() as u64 { FileState::Whole } else { FileState::Other };
        found.push(FoundFile { file, state });
    }
    Ok(found)
}
