//! A plan → files.
//!
//! In: what goes where. Out: the tree, in a folder that exists and is empty; or, where it is split, a tree for each package.

use super::metadata::{self, Rights};
use super::plan::{Levels, Plan, table_of};
use super::tree::{Entry, Trees};
use super::{AssembleError, Mechanism, whole};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The package of all that needs no more than the lowest level.
pub(crate) const BASE: &str = "base";

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

    /// The root of a level.
    pub(super) fn of(&self, index: usize) -> &Path {
        &self.0[index]
    }

    /// The path of a file that is there without the packages of levels, relative to the folder of all trees.
    pub(super) fn in_base(&self, path: &Path, folder: &Path) -> PathBuf {
        let path = self.of(0).join(path);
        path.strip_prefix(folder).unwrap_or(&path).to_owned()
    }
}

/// Writes the trees.
pub(super) fn place(plan: &Plan, levels: &Levels, trees: &Trees, all: &Roots) -> Result<(), AssembleError> {
    let lowest = &levels.sources[0].tree;
    let Roots(roots) = all;
    let to = &roots[0];
    make_folder(to)?;
    for path in trees.entries.iter().filter(|(_, entry)| **entry == Entry::Folder).map(|(path, _)| path) {
        make_folder(&to.join(path))?;
    }
    let mut copier = Copier::default();
    for path in &plan.copies {
        let (from, to) = (lowest.join(path), to.join(path));
        match &trees.entries[path] {
            Entry::Link(target) => {
                symlink(target, &to).map_err(|error| AssembleError::Io(to.clone(), error))?;
                metadata::keep(&from, &to, Rights::Kept)?;
            }
            _ => copier.copy(&from, &to, Rights::Kept)?,
        }
    }
    for several in &plan.several {
        let rights = match several.mechanism {
            Mechanism::Launcher => Rights::Without,
            _ => Rights::Kept,
        };
        for (index, path) in &several.files {
            let (from, to) = (levels.sources[*index].tree.join(&several.path), roots[*index].join(path));
            copier.copy(&from, &to, rights)?;
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
            let path = to.join(several.launcher.as_ref().map_or(&several.path, |launcher| &launcher.path));
            path.parent().map_or(Ok(()), make_folder)?;
            write(&path, &deburr_launcher::launcher(table).map_err(fault)?)?;
            metadata::keep(&lowest.join(&several.path), &path, Rights::Kept)?;
            if let Some(launcher) = &several.launcher {
                let link = to.join(&several.path);
                let folder = several.path.parent().unwrap_or(Path::new(""));
                let target = whole::relative(folder, &launcher.called_as);
                symlink(target, &link).map_err(|error| AssembleError::Io(link, error))?;
            }
        } else {
            write(&to.join(table_of(&several.path)), &table.encode().map_err(fault)?)?;
        }
    }
    whole::write(plan, all)?;
    roots.iter().try_for_each(|root| finish(root, lowest))
}

/// Copies files; those that are one file of several names stay one.
#[derive(Default)]
struct Copier {
    /// Where the first name of a file went, by device and inode.
    first: BTreeMap<(u64, u64, Rights), PathBuf>,
}

impl Copier {
    fn copy(&mut self, from: &Path, to: &Path, rights: Rights) -> Result<(), AssembleError> {
        if let Some(folder) = to.parent() {
            make_folder(folder)?;
        }
        let data = fs::metadata(from).map_err(|error| AssembleError::Io(from.to_owned(), error))?;
        let file = (data.dev(), data.ino(), rights);
        if let Some(first) = self.first.get(&file).filter(|_| data.nlink() > 1) {
            return fs::hard_link(first, to).map_err(|error| AssembleError::Io(to.to_owned(), error));
        }
        fs::copy(from, to).map_err(|error| {
            let at_fault = if fs::File::open(from).is_ok() { to } else { from };
            AssembleError::Io(at_fault.to_owned(), error)
        })?;
        self.first.insert(file, to.to_owned());
        metadata::keep(from, to, rights)
    }
}

/// Gives the folders of a written tree the metadata of the lowest tree's, those below first: a folder may be one that its owner
/// must not write to. What is new has the mode and the time of the folder in which it is, so that the same trees give the same
/// bytes.
fn finish(root: &Path, lowest: &Path) -> Result<(), AssembleError> {
    let mut folders = vec![PathBuf::new()];
    let mut at = 0;
    while let Some(folder) = folders.get(at).map(|below| root.join(below)) {
        let below = folders[at].clone();
        at += 1;
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.map_err(|error| AssembleError::Io(folder.clone(), error))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(below.join(entry.file_name()));
            }
        }
    }
    // The root itself is where the output goes.
    for below in folders.iter().skip(1).rev().filter(|below| root.join(below).is_dir()) {
        let model = below.ancestors().map(|above| lowest.join(above)).find(|above| above.is_dir());
        if let Some(model) = model {
            metadata::keep(&model, &root.join(below), Rights::Kept)?;
        }
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), AssembleError> {
    fs::create_dir_all(path).map_err(|error| AssembleError::Io(path.to_owned(), error))
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), AssembleError> {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(|error| AssembleError::Io(path.to_owned(), error))
}

/// Writes other bytes of the same number into a file, which keeps all else, its times too.
pub(super) fn rewrite(path: &Path, bytes: &[u8]) -> Result<(), AssembleError> {
    let io = |error| AssembleError::Io(path.to_owned(), error);
    let before = fs::metadata(path).map_err(io)?;
    set_mode(path, before.permissions().mode() & 0o7777 | 0o200)?;
    write(path, bytes)?;
    let times = fs::FileTimes::new().set_modified(before.modified().map_err(io)?);
    let file = fs::File::options().write(true).open(path).map_err(io)?;
    file.set_times(times).map_err(io)?;
    set_mode(path, before.permissions().mode() & 0o7777)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), AssembleError> {
    fs::write(path, bytes).map_err(|error| AssembleError::Io(path.to_owned(), error))
}
