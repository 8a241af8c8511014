//! A file that is made under a passing name in the folder that it belongs in, so that its own name is there with all of it or not
//! at all (POSIX, rename).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file without its name yet; goes away unless it gets it.
pub(super) struct Passing {
    path: PathBuf,
    pub(super) file: File,
    is_named: bool,
}

impl Drop for Passing {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Passing {
    /// In the folder of the file that it will be, with a mode that the process's mask may lessen.
    pub(super) fn beside(destination: &Path, mode: u32) -> io::Result<Passing> {
        let name = destination.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let process = std::process::id();
        for number in 0..100 {
            let mut passing = OsString::from(".");
            // Room for what is added, where the name is as long as names may be.
            passing.push(OsStr::from_bytes(name.as_bytes().get(..200).unwrap_or(name.as_bytes())));
            passing.push(format!(".deburr-{process}-{number}"));
            let path = destination.with_file_name(passing);
            match OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok(Passing { path, file, is_named: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives it its name.
    pub(super) fn rename_to(&mut self, destination: &Path) -> io::Result<()> {
        fs::rename(&self.path, destination)?;
        self.is_named = true;
        Ok(())
    }
}
