//! The trees of the variants → what is in them, by path.
//!
//! In: folders. Out: the entries of the lowest tree; every other tree holds the same ones. Links are not followed.

use super::{AssembleError, Source};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    /// A symbolic link, and its target.
    Link(PathBuf),
    File,
}

/// The entries of all trees, by their path below the tree.
#[derive(Debug)]
pub(super) struct Trees {
    pub(super) entries: BTreeMap<PathBuf, Entry>,
}

impl Trees {
    /// Walks all trees; a path that one of them lacks, or has as something else, is an error.
    pub(super) fn walk(sources: &[Source]) -> Result<Trees, AssembleError> {
        let mut walked = Vec::new();
        for source in sources {
            walked.push(entries_of(&source.tree)?);
        }
        let mut walked = walked.into_iter();
        let entries = walked.next().unwrap_or_default();
        for (other, source) in walked.zip(&sources[1..]) {
            let only = |path: &Path, here: &Source, there: &Source| {
                let reason = format!(
                    "it is only in the variant for {}, not in the one for {}; all trees must hold the same files",
                    here.level, there.level
                );
                Err(AssembleError::File(path.to_owned(), reason))
            };
            if let Some(path) = entries.keys().find(|path| !other.contains_key(*path)) {
                return only(path, &sources[0], source);
            }
            if let Some(path) = other.keys().find(|path| !entries.contains_key(*path)) {
                return only(path, source, &sources[0]);
            }
            if let Some((path, _)) = entries.iter().find(|(path, entry)| other.get(*path) != Some(*entry)) {
                let reason = format!(
                    "it is not the same kind of file, or another link, in the variants for {} and {}",
                    sources[0].level, source.level
                );
                return Err(AssembleError::File(path.clone(), reason));
            }
        }
        Ok(Trees { entries })
    }
}

/// What is below a folder, by its path there: sorted, folder by folder.
///
/// # Errors
/// [`AssembleError`], where it cannot be read, or has something else than files, folders and links.
pub(crate) fn entries_of(root: &Path) -> Result<BTreeMap<PathBuf, Entry>, AssembleError> {
    let mut entries = BTreeMap::new();
    descend(root, Path::new(""), &mut entries)?;
    Ok(entries)
}

fn descend(root: &Path, below: &Path, entries: &mut BTreeMap<PathBuf, Entry>) -> Result<(), AssembleError> {
    let folder = root.join(below);
    let io = |error| AssembleError::Io(folder.clone(), error);
    for entry in fs::read_dir(&folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type().map_err(io)?;
        if kind.is_dir() {
            entries.insert(path.clone(), Entry::Folder);
            descend(root, &path, entries)?;
        } else if kind.is_symlink() {
            let target =
                fs::read_link(entry.path()).map_err(|error| AssembleError::Io(entry.path(), error))?;
            entries.insert(path, Entry::Link(target));
        } else if kind.is_file() {
            entries.insert(path, Entry::File);
        } else {
            let reason = "expected a file, a folder or a symbolic link, not a device, pipe or socket";
            return Err(AssembleError::File(entry.path(), reason.to_owned()));
        }
    }
    Ok(())
}
