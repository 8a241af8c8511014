//! Files are put in their places: bytes → a new file that was read again before it got its name.
//!
//! A file is written under a temporary name in the folder that it belongs in, synchronised, checked, and
//! renamed. Whoever opens the name sees the old file or the new one, whole (POSIX, rename). If anything
//! fails, the temporary file is removed.

use crate::cmd::fix::trouble::Trouble;
use crate::input::mapped::Bytes;
use crate::output::attributes::{Inherited, inherit, is_privileged};
use crate::output::target::{self, Stream, folder_of};
use crate::output::temporary::TemporaryFile;
use crate::output::{sparse, write_over};
use crate::system_error::error_text;
use deburr_patch::Edited;
use deburr_text::ShownPath as _;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Existing<'p> {
    /// It goes.
    Replace,
    /// It gets another name, which no file may have yet.
    Rename(&'p Path),
}

/// Writes a file; `check` sees what was written. Returns the attributes that could not be kept.
pub(crate) fn put(
    new: &Edited<'_>,
    destination: &Path,
    inherited: Inherited<'_>,
    existing: Existing<'_>,
    check: impl FnOnce(&Bytes) -> Result<(), Trouble>,
) -> Result<Vec<String>, Trouble> {
    let complain = |path: &Path, error: &io::Error| {
        Trouble::fault(format!("writing {}: {}", path.shown(), error_text(error)))
    };
    let fault = |error: io::Error| complain(destination, &error);
    let mut temporary = TemporaryFile::next_to(destination, 0o600).map_err(fault)?;
    let is_sparse = sparse::is_sparse(inherited.metadata);
    sparse::write(&mut temporary.file, new.pieces(), is_sparse).map_err(fault)?;
    let lost = inherit(&temporary.file, inherited).map_err(fault)?;
    temporary.file.sync_all().map_err(fault)?;
    let written = temporary.file.try_clone().and_then(Bytes::of).map_err(fault)?;
    check(&written)?;
    let difference = new.first_difference(&written, |run| written.release(run));
    if !written.is_intact() || difference.is_some() {
        return Err(Trouble::fault(format!(
            "{}: the file changed while it was written",
            destination.shown()
        )));
    }
    drop(written);
    if let Existing::Rename(backup) = existing {
        keep(destination, backup).map_err(|error| complain(backup, &error))?;
    }
    match (temporary.rename_to(destination), existing) {
        (Ok(()), _) => {}
        // A file that is mounted has its name for as long as that lasts.
        (Err(error), Existing::Replace) if error.kind() == io::ErrorKind::ResourceBusy => {
            write_over(destination, &mut temporary.file).map_err(fault)?;
        }
        (Err(error), Existing::Replace) => return Err(fault(error)),
        (Err(error), Existing::Rename(backup)) => {
            let _ = fs::remove_file(backup);
            return Err(fault(error));
        }
    }
    // The name is there; that it outlives a crash is more than a file system may be able to promise.
    let _ = File::open(folder_of(destination)).and_then(|folder| folder.sync_all());
    Ok(lost)
}

/// Writes through what is no regular file; `check` sees the bytes first, as they cannot be read again there.
pub(crate) fn put_through(
    new: &Edited<'_>,
    mut stream: Stream,
    name: &Path,
    check: impl FnOnce(&Bytes) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let bytes = Bytes::Owned(new.to_vec());
    check(&bytes)?;
    let written = stream.file.write_all(&bytes).and_then(|()| stream.file.flush());
    written.map_err(|error| Trouble::fault(format!("writing {}: {}", name.shown(), error_text(&error))))
}

/// Gives a file a second name, or makes a copy where there are no second names; the name must be free.
///
/// What runs with another's rights is copied without them. Under a name that no package manager knows of, a
/// program with a known hole would stay one that everybody may start.
fn keep(path: &Path, backup: &Path) -> io::Result<()> {
    let mut from = File::open(path)?;
    let metadata = from.metadata()?;
    if !is_privileged(&from, &metadata) {
        match fs::hard_link(path, backup) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    copy(&mut from, &metadata, backup, false)
}

/// Copies a file to a name that must be free, with its holes and its mode; with its owner where that is
/// permitted.
pub(crate) fn copy(from: &mut File, metadata: &Metadata, to: &Path, is_privileged: bool) -> io::Result<()> {
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let copied = sparse::copy(from, &mut new).and_then(|()| {
        inherit(&new, Inherited { metadata, replaced: None, is_privileged })?;
        new.sync_all()
    });
    copied.inspect_err(|_| {
        let _ = fs::remove_file(to);
    })
}

/// A folder for new files: one that does not exist yet, or that is empty.
pub(crate) fn new_folder(path: &Path) -> Result<(), String> {
    let complain = |reason: &str| format!("{}: {reason}", path.shown());
    let path = &target::folder(path).map_err(|error| complain(&error_text(&error)))?;
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
    use crate::identity::identity;
    use deburr_test_support::Scratch;
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn file_that_fails_its_check_leaves_no_trace() {
        let scratch = Scratch::new("check");
        let path = scratch.join("program");
        fs::write(&path, b"old").unwrap();
        let (metadata, backup) = (fs::metadata(&path).unwrap(), scratch.join("program.orig"));
        let inherited = Inherited { metadata: &metadata, replaced: None, is_privileged: true };
        let done = put(&b"new"[..].into(), &path, inherited, Existing::Rename(&backup), |written| {
            assert_eq!(**written, *b"new");
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
        let [path, backup] = ["program", "program.orig"].map(|name| scratch.join(name));
        fs::write(&path, b"old").unwrap();
        fs::write(&backup, b"older").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let inherited = Inherited { metadata: &metadata, replaced: None, is_privileged: true };
        let done = put(&b"new"[..].into(), &path, inherited, Existing::Rename(&backup), |_| Ok(()));
        assert!(done.unwrap_err().reason.contains("exists"));
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&backup).unwrap()),
            (b"old".to_vec(), b"older".to_vec())
        );
        assert_eq!(scratch.names(), ["program", "program.orig"]);
    }

    #[test]
    fn replaced_file_keeps_its_rights_and_its_backup_does_not() {
        let scratch = Scratch::new("mode");
        let [path, backup] = ["program", "program.orig"].map(|name| scratch.join(name));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4751)).unwrap();
        let file = File::open(&path).unwrap();
        // Not every file system has attributes.
        let has_attributes = fsetxattr(&file, "user.origin", b"here", XattrFlags::empty()).is_ok();
        let inherited =
            Inherited { metadata: &file.metadata().unwrap(), replaced: Some(&file), is_privileged: true };
        let lost = put(&b"new"[..].into(), &path, inherited, Existing::Rename(&backup), |_| Ok(())).unwrap();
        let new = File::open(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((lost.len(), mode(&path), mode(&backup)), (0, 0o4751, 0o751));
        let found = fgetxattr(&new, "user.origin", &mut [0_u8; 8][..]);
        assert_eq!(found.ok(), has_attributes.then_some(4));
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&backup).unwrap()),
            (b"new".to_vec(), b"old".to_vec())
        );
    }

    #[test]
    fn backup_without_rights_to_lose_is_the_old_file_itself() {
        let scratch = Scratch::new("inode");
        let [path, backup] = ["program", "program.orig"].map(|name| scratch.join(name));
        fs::write(&path, b"old").unwrap();
        let file = File::open(&path).unwrap();
        let metadata = file.metadata().unwrap();
        let inherited = Inherited { metadata: &metadata, replaced: Some(&file), is_privileged: true };
        put(&b"new"[..].into(), &path, inherited, Existing::Rename(&backup), |_| Ok(())).unwrap();
        assert_eq!(identity(&fs::metadata(&backup).unwrap()), identity(&metadata));
    }
}
