//! Files are put in their places: bytes → a new file that was read again before it got its name.
//!
//! A file is written under a passing name in the folder that it belongs in, synchronised, checked, and renamed (POSIX,
//! rename: whoever opens the name sees the old file or the new one, whole). If anything fails, the passing file goes away.

use super::work::Trouble;
use crate::cmd::passing::Passing;
use crate::input::mapped::Bytes;
use crate::input::walk::error_text;
use rustix::fs::XattrFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Attributes that vouch for the very bytes of a file: of no use on others.
const MEASURED: [&str; 2] = ["security.ima", "security.evm"];

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy)]
pub(super) enum Existing<'p> {
    /// It goes.
    Replace,
    /// It gets another name, which no file may have yet.
    Rename(&'p Path),
}

/// What the new file inherits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inherited<'f> {
    /// Whose mode it gets, and whose owner where that is permitted.
    pub(super) metadata: &'f Metadata,
    /// The file in whose place it comes, if it does: then the owner must be the same, and it gets the attributes.
    pub(super) replaced: Option<&'f File>,
}

/// Writes a file; `check` sees what was written. Returns the attributes that could not be kept.
pub(super) fn put(
    bytes: &[u8],
    destination: &Path,
    inherited: Inherited<'_>,
    existing: Existing<'_>,
    check: impl FnOnce(&[u8]) -> Result<(), Trouble>,
) -> Result<Vec<String>, Trouble> {
    let complain = |path: &Path, error: &io::Error| {
        Trouble::fault(format!("writing {}: {}", path.display(), error_text(error)))
    };
    let fault = |error: io::Error| complain(destination, &error);
    let mut passing = Passing::beside(destination, 0o600).map_err(fault)?;
    passing.file.write_all(bytes).map_err(fault)?;
    let lost = dress(&passing.file, inherited).map_err(fault)?;
    passing.file.sync_all().map_err(fault)?;
    let written = passing.file.try_clone().and_then(Bytes::of).map_err(fault)?;
    check(&written)?;
    if !written.is_intact() || *written != *bytes {
        return Err(Trouble::fault(format!(
            "{}: the file changed while it was written",
            destination.display()
        )));
    }
    drop(written);
    if let Existing::Rename(backup) = existing {
        keep(destination, backup).map_err(|error| complain(backup, &error))?;
    }
    if let Err(error) = passing.rename_to(destination) {
        if let Existing::Rename(backup) = existing {
            let _ = fs::remove_file(backup);
        }
        return Err(fault(error));
    }
    // The name is there; that it outlives a crash is more than a file system may be able to promise.
    let folder = destination.parent().filter(|folder| !folder.as_os_str().is_empty());
    let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    Ok(lost)
}

/// Gives a file a second name, or makes a copy where there are no second names; the name must be free.
fn keep(path: &Path, backup: &Path) -> io::Result<()> {
    match fs::hard_link(path, backup) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let mut from = File::open(path)?;
            let metadata = from.metadata()?;
            let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(backup)?;
            let copied = io::copy(&mut from, &mut to).and_then(|_| {
                dress(&to, Inherited { metadata: &metadata, replaced: None })?;
                to.sync_all()
            });
            copied.inspect_err(|_| {
                let _ = fs::remove_file(backup);
            })
        }
        done => done,
    }
}

/// Owner, attributes and mode. Returns the attributes that could not be kept.
fn dress(file: &File, inherited: Inherited<'_>) -> io::Result<Vec<String>> {
    let (own, wanted) = (file.metadata()?, inherited.metadata);
    let is_same = (own.uid(), own.gid()) == (wanted.uid(), wanted.gid());
    let is_kept = is_same || fchown(file, Some(wanted.uid()), Some(wanted.gid())).is_ok();
    if inherited.replaced.is_some() && !is_kept {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its owner and group cannot be kept; -o OUT writes a file of your own",
        ));
    }
    let lost = inherited.replaced.map_or_else(Vec::new, |from| copy_attributes(from, file));
    // Set-user-id and its like speak of an owner.
    let mode = wanted.mode() & if is_kept { 0o7777 } else { 0o777 };
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(lost)
}

fn copy_attributes(from: &File, to: &File) -> Vec<String> {
    let mut lost = Vec::new();
    for name in attributes(from).into_iter().filter(|name| !MEASURED.iter().any(|known| name == known)) {
        let copied = attribute(from, &name)
            .filter(|value| attribute(to, &name).as_ref() == Some(value) || set(to, &name, value));
        if copied.is_none() {
            lost.push(name.to_string_lossy().into_owned());
        }
    }
    lost
}

fn set(file: &File, name: &OsStr, value: &[u8]) -> bool {
    rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()).is_ok()
}

/// The names of a file's extended attributes; none where the file system has none.
fn attributes(file: &File) -> Vec<OsString> {
    let length = rustix::fs::flistxattr_query(file).unwrap_or(0);
    let mut names = vec![0; length];
    let length = rustix::fs::flistxattr(file, &mut names[..]).unwrap_or(0);
    names.truncate(length);
    let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.map(|name| OsString::from_vec(name.to_vec())).collect()
}

fn attribute(file: &File, name: &OsStr) -> Option<Vec<u8>> {
    let mut value = vec![0; rustix::fs::fgetxattr_query(file, name).ok()?];
    let length = rustix::fs::fgetxattr(file, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

/// Whether the kernel holds a file against a hash or a signature (IMA, EVM).
pub(super) fn is_measured(file: &File) -> bool {
    MEASURED.iter().any(|name| rustix::fs::fgetxattr_query(file, *name).is_ok())
}

/// A folder for new files: one that does not exist yet, or that is empty.
pub(super) fn new_folder(path: &Path) -> Result<(), String> {
    let complain = |reason: &str| format!("{}: {reason}", path.display());
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(complain("exists and is not empty")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(path).map_err(|error| complain(&error_text(&error)))
        }
        Err(error) => Err(complain(&error_text(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder that goes away.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("deburr-place-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn file_that_fails_its_check_leaves_nothing_behind() {
        let scratch = Scratch::new("check");
        let path = scratch.0.join("program");
        fs::write(&path, b"old").unwrap();
        let (metadata, backup) = (fs::metadata(&path).unwrap(), scratch.0.join("program.orig"));
        let inherited = Inherited { metadata: &metadata, replaced: None };
        let done = put(b"new", &path, inherited, Existing::Rename(&backup), |written| {
            assert_eq!(written, b"new");
            Err(Trouble::fault("no"))
        });
        assert_eq!(done.unwrap_err().reason, "no");
        assert_eq!(
            (scratch.names(), fs::read(&path).unwrap()),
            (vec!["program".to_owned()], b"old".to_vec())
        );
    }

    #[test]
    fn backup_is_never_overwritten() {
        let scratch = Scratch::new("backup");
        let [path, backup] = ["program", "program.orig"].map(|name| scratch.0.join(name));
        fs::write(&path, b"old").unwrap();
        fs::write(&backup, b"older").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let inherited = Inherited { metadata: &metadata, replaced: None };
        let done = put(b"new", &path, inherited, Existing::Rename(&backup), |_| Ok(()));
        assert!(done.unwrap_err().reason.contains("exists"));
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&backup).unwrap()),
            (b"old".to_vec(), b"older".to_vec())
        );
        assert_eq!(scratch.names(), ["program", "program.orig"]);
    }

    #[test]
    fn replaced_file_keeps_its_mode_and_attributes() {
        let scratch = Scratch::new("mode");
        let [path, backup] = ["program", "program.orig"].map(|name| scratch.0.join(name));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4751)).unwrap();
        let file = File::open(&path).unwrap();
        // Not every file system has attributes.
        let has_attributes = set(&file, OsStr::new("user.origin"), b"here");
        let inherited = Inherited { metadata: &file.metadata().unwrap(), replaced: Some(&file) };
        let lost = put(b"new", &path, inherited, Existing::Rename(&backup), |_| Ok(())).unwrap();
        let new = File::open(&path).unwrap();
        assert_eq!((lost.len(), new.metadata().unwrap().mode() & 0o7777), (0, 0o4751));
        let expected = has_attributes.then(|| b"here".to_vec());
        assert_eq!(attribute(&new, OsStr::new("user.origin")), expected);
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&backup).unwrap()),
            (b"new".to_vec(), b"old".to_vec())
        );
    }
}
