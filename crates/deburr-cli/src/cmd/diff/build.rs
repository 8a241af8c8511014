//! One build: a path → its files, packages among them.

use crate::batch::plan::BatchPlan;
use crate::cmd::failure::Failure;
use crate::input::walk::{self, InputFile};
use crate::render::diff::NotCompared;
use deburr_text::ShownPath as _;
use std::path::{Path, PathBuf};

/// A build.
pub(super) struct Build {
    root: PathBuf,
    pub(super) files: Vec<InputFile>,
}

impl Build {
    /// Finds the files. What is in a folder and cannot be read is noted; what the user named must be there.
    pub(super) fn walk(
        root: &Path,
        plan: &BatchPlan,
        skipped: &mut Vec<NotCompared>,
    ) -> Result<Build, Failure> {
        let mut walked = walk::walk(&[root.to_owned()], plan.threads, &[], plan.limits.depth > 0);
        walked.exclude(&plan.excluded);
        for skip in walked.skipped {
            if skip.named {
                return Err(Failure::Message(format!("{}: {}", skip.path, skip.reason)));
            }
            skipped.push(NotCompared { path: skip.path, reason: skip.reason, is_fault: skip.fault });
        }
        Ok(Build { root: root.to_owned(), files: walked.files })
    }

    /// Whether it is one file, or a folder that is one container image.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.files.as_slice(), [file] if file.path == self.root)
    }

    /// A file's path in the build; a file that is all of it goes by its own name.
    pub(super) fn name(&self, file: &InputFile) -> String {
        let path = match file.path.strip_prefix(&self.root) {
            Ok(below) if below != Path::new("") => below,
            _ => file.path.file_name().map_or(file.path.as_path(), Path::new),
        };
        path.shown().into_owned()
    }
}
