//! A plan → files.
//!
//! In: what goes where. Out: the tree, in a folder that exists and is empty; or, where it is split, a tree for each package.

use super::AssembleError;
use super::Mechanism;
use super::plan::{Levels, Plan, table_of};
use super::tree::{Entry, Trees};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The package of all that needs no more than the lowest level.
pub(super) const BASE: &str = "base";

/// The trees that are written: one, or one for each package.
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    /// The roots below a folder, by the indices of levels.
    pub(super) fn below(folder: &Path, levels: &Levels, is_split: bool) -> Roots {
        let names = levels.sources.iter().enumerate().map(|(index, source)| match index {
            0 => BASE,
            _ => source.level.as_str(),
        });
        Roots(names.map(|name| if is_split { folder.join(name) } else { folder.to_owned() }).collect())
    }
}

/// Writes the trees.
pub(super) fn place(plan: &Plan, levels: &Levels, trees: &Trees, roots: &Roots) -> Result<(), AssembleError> {
    let lowest = &levels.sources[0].tree;
    let Roots(roots) = roots;
    let to = &roots[0];
    make_folder(to)?;
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
            let (from, to) = (levels.sources[*index].tree.join(&several.path), roots[*index].join(path));
            copy(&from, &to)?;
            if several.mechanism == Mechanism::Launcher {
                // The launcher has the set-user-ID bit; the kernel keeps the rights over its execve.
                set_mode(&to, mode(&from)? & 0o777)?;
            }
        }
        for (path, target) in &several.links {
            // A link is in the package of the variant that needs it.
            let needs_it = several.files.iter().find(|(_, file)| file.parent() == path.parent());
            let path = needs_it.map_or(to, |(index, _)| &roots[*index]).join(path);
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
        for folder in roots.iter().map(|root| root.join(path)).filter(|folder| folder.is_dir()) {
            set_mode(&folder, mode(&lowest.join(path))?)?;
        }
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
    fs::copy(from, to).map_err(|error| {
        let at_fault = if fs::File::open(from).is_ok() { to } else { from };
        AssembleError::Io(at_fault.to_owned(), error)
    })?;
    let modified = fs::metadata(from).and_then(|metadata| metadata.modified());
    let keep = |time| fs::File::options().write(true).open(to)?.set_modified(time);
    // A file that its owner must not write to keeps the time of the copy.
    let _ = modified.and_then(keep);
    set_mode(to, mode(from)?)
}
