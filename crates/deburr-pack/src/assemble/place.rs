//! A plan → files.
//!
//! In: what goes where. Out: the tree, in a folder that exists and is empty.

use super::AssembleError;
use super::Mechanism;
use super::plan::{Levels, Plan, table_of};
use super::tree::{Entry, Trees};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Writes the tree into a folder.
pub(super) fn place(plan: &Plan, levels: &Levels, trees: &Trees, to: &Path) -> Result<(), AssembleError> {
    let lowest = &levels.sources[0].tree;
    for path in trees.entries.iter().filter(|(_, entry)| **entry == Entry::Folder).map(|(path, _)| path) {
        make_folder(&to.join(path))?;
    }
    // Files of several names, by device and inode: where the first of them went.
    let mut linked: BTreeMap<(u64, u64), PathBuf> = BTreeMap::new();
    for path in &plan.copies {
        match &trees.entries[path] {
            Entry::Link(target) => {
                symlink(target, to.join(path)).map_err(|error| AssembleError::Io(to.join(path), error))?;
            }
            _ => {
                let (from, to) = (lowest.join(path), to.join(path));
                let data = fs::metadata(&from).map_err(|error| AssembleError::Io(from.clone(), error))?;
                match linked.get(&(data.dev(), data.ino())).filter(|_| data.nlink() > 1) {
                    Some(first) => {
                        fs::hard_link(first, &to).map_err(|error| AssembleError::Io(to, error))?;
                    }
                    None => {
                        copy(&from, &to)?;
                        linked.insert((data.dev(), data.ino()), to);
                    }
                }
            }
        }
    }
    for several in &plan.several {
        for (index, path) in &several.files {
            let (from, to) = (levels.sources[*index].tree.join(&several.path), to.join(path));
            copy(&from, &to)?;
            if several.mechanism == Mechanism::Launcher {
                // The launcher has the set-user-ID bit; the kernel keeps the rights over its execve.
                set_mode(&to, mode(&from)? & 0o777)?;
            }
        }
        for (path, target) in &several.links {
            let path = to.join(path);
            if fs::symlink_metadata(&path).is_err() {
                symlink(target, &path).map_err(|error| AssembleError::Io(path, error))?;
            }
        }
        let Some(table) = &several.table else { continue };
        let fault = |error| AssembleError::Table(several.path.clone(), error);
        if several.mechanism == Mechanism::Launcher {
            let path = to.join(&several.path);
            write(&path, &deburr_launcher::launcher(table).map_err(fault)?)?;
            set_mode(&path, mode(&lowest.join(&several.path))?)?;
        } else {
            write(&to.join(table_of(&several.path)), &table.encode().map_err(fault)?)?;
        }
    }
    // Last, because a folder may be one that its owner must not write to.
    for (path, _) in trees.entries.iter().rev().filter(|(_, entry)| **entry == Entry::Folder) {
        set_mode(&to.join(path), mode(&lowest.join(path))?)?;
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), AssembleError> {
    fs::create_dir_all(path).map_err(|error| AssembleError::Io(path.to_owned(), error))
}

fn mode(path: &Path) -> Result<u32, AssembleError> {
    let metadata = fs::metadata(path).map_err(|error| AssembleError::Io(path.to_owned(), error))?;
    Ok(metadata.permissions().mode() & 0o7777)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), AssembleError> {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(|error| AssembleError::Io(path.to_owned(), error))
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), AssembleError> {
    fs::write(path, bytes).map_err(|error| AssembleError::Io(path.to_owned(), error))
}

fn copy(from: &Path, to: &Path) -> Result<(), AssembleError> {
    if let Some(folder) = to.parent() {
        make_folder(folder)?;
    }
    fs::copy(from, to).map_err(|error| AssembleError::Io(from.to_owned(), error))?;
    let modified = fs::metadata(from).and_then(|metadata| metadata.modified());
    let keep = |time| fs::File::options().write(true).open(to)?.set_modified(time);
    // A file that its owner must not write to keeps the time of the copy.
    let _ = modified.and_then(keep);
    set_mode(to, mode(from)?)
}
