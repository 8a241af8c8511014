//! A temporary file in the folder that a file belongs in, renamed once it is whole: the file's own name is
//! there with all of it or not at all (POSIX, rename).
//!
//! Who makes such a file holds a lock on it (flock(2)), which the kernel gives up with the process, however
//! it ends. What a killed run left is known by that: a regular file of this user's, of such a name, whose
//! lock is free. The next run that writes into the folder removes it. Names alone prove nothing: the process
//! may be another machine's or container's.

use super::target::folder_of;
use crate::identity::identity;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The mark between the name that a file will have and the numbers of its writer.
const MARK: &[u8] = b".deburr-";

/// A file without its name yet; goes away unless it gets it.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    path: PathBuf,
    pub(crate) file: File,
    is_named: bool,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl TemporaryFile {
    /// In the folder of the file that it will be, with a mode that the process's mask may lessen.
    pub(crate) fn next_to(destination: &Path, mode: u32) -> io::Result<TemporaryFile> {
        let name = destination.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        clean_once(folder_of(destination));
        let process = std::process::id();
        for number in 0..100 {
            let mut temporary = OsString::from(".");
            // Room for what is added, where the name is as long as names may be.
            temporary.push(OsStr::from_bytes(name.as_bytes().get(..200).unwrap_or(name.as_bytes())));
            temporary.push(OsStr::from_bytes(MARK));
            temporary.push(format!("{process}-{number}"));
            let path = destination.with_file_name(temporary);
            match OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) if is_locked_at(&file, &path) => {
                    return Ok(TemporaryFile { path, file, is_named: false });
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is until it gets its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name.
    pub(crate) fn rename_to(&mut self, destination: &Path) -> io::Result<()> {
        fs::rename(&self.path, destination)?;
        self.is_named = true;
        Ok(())
    }
}

/// Whether a file is this process's from now on, and still there: whoever cleans up may have met it before it
/// was locked.
fn is_locked_at(file: &File, path: &Path) -> bool {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => false,
        // Some file systems have no locks: there, nobody cleans up.
        _ => is_at(file, path),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let there = fs::symlink_metadata(path).and_then(|there| Ok((there, file.metadata()?)));
    there.is_ok_and(|(there, own)| identity(&there) == identity(&own))
}

/// Whether the name of a file is a temporary one: `.NAME.deburr-PROCESS-NUMBER`.
pub(crate) fn is_temporary(path: &OsStr) -> bool {
    let name = path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let Some(at) = name.windows(MARK.len()).rposition(|part| part == MARK).filter(|at| *at > 1) else {
        return false;
    };
    let mut numbers = name.get(at + MARK.len()..).unwrap_or_default().split(|byte| *byte == b'-');
    let is_number = |part: &[u8]| !part.is_empty() && part.len() <= 10 && part.iter().all(u8::is_ascii_digit);
    let has_two = numbers.next().is_some_and(is_number) && numbers.next().is_some_and(is_number);
    name.first() == Some(&b'.') && has_two && numbers.next().is_none()
}

/// Removes what killed runs left in a folder, once a run.
fn clean_once(folder: &Path) {
    static CLEANED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let mut cleaned = CLEANED.lock().unwrap_or_else(PoisonError::into_inner);
    if cleaned.get_or_insert_default().insert(folder.to_owned()) {
        clean(folder);
    }
}

/// Removes what killed runs left in a folder.
pub(crate) fn clean(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok).filter(|entry| is_temporary(&entry.file_name())) {
        // What cannot be removed is no reason not to write.
        let _ = remove_abandoned(&entry.path());
    }
}

/// Removes a file, if its writer is dead: under the lock, so that nobody else takes it up meanwhile.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let there = file.metadata()?;
    let is_own = there.is_file() && there.uid() == geteuid().as_raw() && there.nlink() == 1;
    if is_own && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && is_at(&file, path) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

    #[test]
    fn temporary_names_are_known_and_others_are_not() {
        for name in [".a.deburr-1-0", ".a.deburr-2.deburr-77-99"] {
            assert!(is_temporary(OsStr::new(name)), "{name}");
        }
        for name in [
            "a.deburr-1-0",
            ".deburr-1-0",
            ".a.deburr-1",
            ".a.deburr-1-",
            ".a.deburr-x-0",
            ".a.deburr-1-0-2",
            ".a.deburr-1-0~",
        ] {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn abandoned_files_are_removed_and_nothing_else() {
        let folder = Scratch::new("temporary");
        let destination = folder.join("program");
        let alive = TemporaryFile::next_to(&destination, 0o600).unwrap();
        for name in [".program.deburr-4-0", ".program.deburr-x-0", "kept"] {
            fs::write(folder.join(name), b"part").unwrap();
        }
        std::os::unix::fs::symlink("kept", folder.join(".program.deburr-5-0")).unwrap();
        fs::create_dir(folder.join(".program.deburr-6-0")).unwrap();
        fs::write(folder.join(".program.deburr-7-0"), b"part").unwrap();
        fs::hard_link(folder.join(".program.deburr-7-0"), folder.join("second")).unwrap();
        clean(folder.path());
        let names: HashSet<String> = folder.names().into_iter().collect();
        let own = alive.path.file_name().unwrap().to_str().unwrap();
        let rest = [
            ".program.deburr-5-0",
            ".program.deburr-6-0",
            ".program.deburr-7-0",
            ".program.deburr-x-0",
            "kept",
            "second",
            own,
        ];
        assert_eq!(names, rest.map(str::to_owned).into());
        drop(alive);
    }
}
