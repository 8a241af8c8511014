//! The files of a tree, each rewritten like one that is named; what is left alone is noted.
//!
//! In: the path of a directory. Out: each file in it planned for, rewritten, or noted with the reason why it
//! is left alone.

use super::entries::{self, Entry, below, is_part_of_image};
use crate::cmd::failure::Failure;
use crate::cmd::fix::file::destination::Goal;
use crate::cmd::fix::file::source::Source;
use crate::cmd::fix::package::contents::has_binaries;
use crate::cmd::fix::run::FixRun;
use crate::cmd::fix::trouble::{Stop, Trouble};
use crate::input::content::Content;
use crate::input::mapped::Bytes;
use crate::output::temporary;
use crate::system_error::error_text;
use deburr_text::ShownPath as _;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl FixRun<'_> {
    /// Plans for all files of a tree, or rewrites them where they are.
    pub(crate) fn tree(&mut self, root: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        let entries = self.read_tree(root)?;
        if self.options.in_place {
            let folders = entries.iter().filter(|entry| entry.metadata.is_dir());
            folders.for_each(|folder| temporary::clean(&below(root, &folder.relative)));
        }
        let files = entries.iter().filter(|entry| entry.metadata.is_file());
        // Those of another run, which are none yet.
        for entry in files.filter(|entry| !temporary::is_temporary(entry.relative.as_os_str())) {
            let path = root.join(&entry.relative);
            // Otherwise a second run would rewrite what the first one kept.
            if self.options.in_place && self.is_backup(&path) {
                self.leave(&path, Trouble::left("the backup of a file next to it"), false);
            } else {
                self.member(&path, goal)?;
            }
        }
        Ok(())
    }

    pub(crate) fn read_tree(&mut self, root: &Path) -> Result<Vec<Entry>, Failure> {
        self.summary.is_tree = true;
        let (entries, faults) = entries::read(root);
        for (path, reason) in faults {
            self.leave(&path, Trouble::fault(reason), false);
        }
        Ok(entries)
    }

    /// A file of a tree.
    pub(crate) fn member(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        if self.options.revert {
            return Err(Failure::Message(format!("{}: give files to --revert", path.shown())));
        }
        match Bytes::open(path).map(|bytes| Content::of_all(&bytes)) {
            Ok(Content::Jitdump | Content::Empty | Content::Known(_) | Content::Other) => {
                self.summary.other_files += 1
            }
            Ok(Content::Package | Content::Layout) => self.package_of_tree(path, goal)?,
            Ok(_) if is_part_of_image(path) => self.package_of_tree(path, goal)?,
            Ok(_) => match self.rewrite(path, goal) {
                Ok(()) => {}
                Err(Stop::Failure(failure)) => return Err(failure),
                Err(Stop::Trouble(trouble)) => self.leave(path, trouble, false),
            },
            Err(error) => self.leave(path, Trouble::fault(error_text(&error)), false),
        }
        Ok(())
    }

    /// A package in a tree, which is rewritten like one that is named; what cannot be is a fault if there is
    /// something in it that could be rewritten.
    fn package_of_tree(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        let done = match is_part_of_image(path) {
            true => Err(Stop::Trouble(Trouble::left(
                "a part of a container image, which other files name by its digest: give the image as a tar archive",
            ))),
            false => self.rewrite(path, goal),
        };
        let trouble = match done {
            Ok(()) => return Ok(()),
            Err(Stop::Failure(failure)) => return Err(failure),
            Err(Stop::Trouble(trouble)) => trouble,
        };
        let limits = self.options.batch.packages.limits();
        let is_missed = !trouble.is_fault && limits.depth > 0 && {
            let name = path.shown().into_owned();
            let read = Source::open(path).and_then(|it| has_binaries(&name, &it.bytes, &limits));
            read.unwrap_or(true)
        };
        self.leave(path, Trouble { is_fault: trouble.is_fault || is_missed, ..trouble }, false);
        Ok(())
    }

    /// Whether a file is the backup of one next to it.
    fn is_backup(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_bytes();
        bytes.strip_suffix(self.options.suffix().as_bytes()).is_some_and(|rest| {
            let rest = Path::new(OsStr::from_bytes(rest));
            rest.parent() == path.parent() && rest.exists()
        })
    }
}
