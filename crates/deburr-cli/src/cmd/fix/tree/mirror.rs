//! A copy of a tree, with rewritten files where there is something to rewrite: links stay links, and names of
//! one file stay names of one file.

use super::entries::below;
use crate::cmd::failure::Failure;
use crate::cmd::fix::file::destination::Goal;
use crate::cmd::fix::file::install;
use crate::cmd::fix::run::FixRun;
use crate::cmd::fix::trouble::Trouble;
use crate::output::target;
use crate::system_error::error_text;
use deburr_text::ShownPath as _;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

impl FixRun<'_> {
    /// Copies a tree, with rewritten files where there is something to rewrite.
    pub(crate) fn mirror(&mut self, root: &Path, output: &Path) -> Result<(), Failure> {
        let complain = |path: &Path, error: &io::Error| {
            Failure::Message(format!("{}: {}", path.shown(), error_text(error)))
        };
        if target::is_named_stdout(output) {
            return Err(Failure::Message(format!("{}: a directory, which needs one to go to", root.shown())));
        }
        let inside = fs::canonicalize(root).map_err(|error| complain(root, &error))?;
        if lands_at(output).map_err(|error| complain(output, &error))?.starts_with(&inside) {
            let (output, root) = (output.shown(), root.shown());
            return Err(Failure::Message(format!("{output}: is in {root}, which is to be copied")));
        }
        if self.options.revert {
            return Err(Failure::Message(format!("{}: give a file to --revert", root.shown())));
        }
        let entries = self.read_tree(root)?;
        install::new_folder(output).map_err(Failure::Message)?;
        // Several names of one file stay that.
        let mut names: HashMap<(u64, u64), PathBuf> = HashMap::new();
        for entry in &entries {
            let (from, to) = (below(root, &entry.relative), below(output, &entry.relative));
            let kind = entry.metadata.file_type();
            let identity = (entry.metadata.dev(), entry.metadata.ino());
            let done = match names.get(&identity) {
                _ if kind.is_dir() && to == output => Ok(()),
                _ if kind.is_dir() => fs::create_dir(&to),
                _ if kind.is_symlink() => {
                    fs::read_link(&from).and_then(|target| std::os::unix::fs::symlink(target, &to))
                }
                Some(first) => fs::hard_link(first, &to),
                None if kind.is_file() => {
                    self.member(&from, Goal::New(&to))?;
                    // Where it was left as it is.
                    let copied = if to.exists() { Ok(()) } else { copy(&from, &to) };
                    if entry.metadata.nlink() > 1 {
                        names.insert(identity, to.clone());
                    }
                    copied
                }
                None => {
                    self.leave(&from, Trouble::left("no regular file: not copied"), false);
                    Ok(())
                }
            };
            if let Err(error) = done {
                self.leave(&to, Trouble::fault(error_text(&error)), false);
            }
        }
        // Folders at last: one that may not be written to could not be filled.
        for entry in entries.iter().rev().filter(|entry| entry.metadata.is_dir()) {
            let to = below(output, &entry.relative);
            let own = std::os::unix::fs::chown(&to, Some(entry.metadata.uid()), Some(entry.metadata.gid()));
            // As with cp, they are the user's own where they cannot be another's.
            let _ = own
                .and_then(|()| fs::set_permissions(&to, entry.metadata.permissions()))
                .or_else(|_| fs::set_permissions(&to, entry.metadata.permissions()));
        }
        Ok(())
    }
}

/// Where a folder is, or will be, with links followed.
fn lands_at(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let folder = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
            Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
        }
        found => found,
    }
}

/// Copies a file of a tree.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let metadata = from.metadata()?;
    install::copy(&mut from, &metadata, to, true)
}
