//! Build stage: the folder of a pack → the right to build in it, for one run at a time (flock(2)).
//!
//! In: the folder. Out: a lock, until it and what inherited it end; or an error while another run has it.

use super::request::{BuildError, at};
use deburr_text::ShownPath as _;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The lock's file in the folder.
const FILE: &str = "lock";

/// The right to build in a folder.
pub(super) struct Lock(File);

impl Lock {
    pub(super) fn of(pack: &Path) -> Result<Lock, BuildError> {
        let path = pack.join(FILE);
        let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(BuildError::Request(format!(
                "{}: another run builds there, or one that was killed still ends what it started; \
                 wait for it, or name another folder with -o",
                pack.shown()
            ))),
            // A file system without locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Lock(file)),
            Err(TryLockError::Error(error)) => Err(at(&path)(error)),
        }
    }

    /// The same lock, for a process that is to keep it.
    pub(super) fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}
