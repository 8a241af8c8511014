//! What a file system knows of a file besides its bytes → the same for its copy.
//!
//! In: a file, folder or link, and its copy. Out: the copy with the owner, the mode with its set-ID bits, the extended attributes
//! (among them capabilities and access control lists) and the time of the original. What cannot be kept refuses the file: a
//! set-user-ID program that becomes another user's has that one's rights.

use super::AssembleError;
use deburr_text::ShownPath as _;
use rustix::fs::{AtFlags, CWD, Gid, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Which set-ID bits a copy gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rights {
    /// Those of the original, and its capabilities.
    Kept,
    /// Neither: the launcher of a variant has them, and the kernel keeps them over its execve.
    Without,
}

/// What carries rights beyond those of the user (capabilities(7)).
const CAPABILITY: &str = "security.capability";
/// Labels are given by the policy of the system on which a file is installed (selinux(8), restorecon).
const OF_POLICY: [&str; 1] = ["security.selinux"];

/// Makes the metadata of a copy those of its original. The bytes of `to` are in place.
pub(super) fn keep(from: &Path, to: &Path, rights: Rights) -> Result<(), AssembleError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| AssembleError::Io(path, error)
    };
    let data = fs::symlink_metadata(from).map_err(at(from))?;
    let copied = fs::symlink_metadata(to).map_err(at(to))?;
    if (data.uid(), data.gid()) != (copied.uid(), copied.gid()) {
        give(from, to, &data)?;
    }
    if !data.is_symlink() {
        // Behind the owner: giving a file away takes the set-ID bits and the capabilities.
        let writable = fs::Permissions::from_mode(data.mode() & 0o7777 | 0o200);
        fs::set_permissions(to, writable).map_err(at(to))?;
        attributes(from, to, rights)?;
        let mode = match rights {
            Rights::Kept => data.mode() & 0o7777,
            Rights::Without => data.mode() & 0o777,
        };
        fs::set_permissions(to, fs::Permissions::from_mode(mode)).map_err(at(to))?;
    }
    let time = Timespec { tv_sec: data.mtime(), tv_nsec: data.mtime_nsec() };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| AssembleError::Io(to.to_owned(), error.into()))
}

/// Makes the metadata of a copy those of its original, rights and all.
///
/// # Errors
/// [`AssembleError`], where they cannot be kept.
pub(crate) fn keep_metadata(from: &Path, to: &Path) -> Result<(), AssembleError> {
    keep(from, to, Rights::Kept)
}

/// Gives a copy to the owner of its original.
fn give(from: &Path, to: &Path, data: &Metadata) -> Result<(), AssembleError> {
    let (user, group) = (Uid::from_raw(data.uid()), Gid::from_raw(data.gid()));
    rustix::fs::chownat(CWD, to, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW).map_err(|error| {
        let reason = format!(
            "it belongs to user {} and group {}, and its copy cannot ({error}); assemble as root or under fakeroot",
            data.uid(),
            data.gid()
        );
        AssembleError::File(from.to_owned(), reason)
    })
}

/// Copies the extended attributes.
fn attributes(from: &Path, to: &Path, rights: Rights) -> Result<(), AssembleError> {
    let fault = |error: Errno| AssembleError::Io(from.to_owned(), error.into());
    for name in names(from).map_err(fault)? {
        let text = name.to_string_lossy();
        if OF_POLICY.contains(&text.as_ref()) || (text == CAPABILITY && rights == Rights::Without) {
            continue;
        }
        let mut value = vec![0; 65_536]; // The most that Linux takes (xattr(7)).
        let size = rustix::fs::getxattr(from, name.as_os_str(), value.as_mut_slice()).map_err(fault)?;
        value.truncate(size);
        rustix::fs::setxattr(to, name.as_os_str(), &value, rustix::fs::XattrFlags::empty()).map_err(
            |error| {
                let reason =
                    format!("it has the attribute {text}, and {} cannot have it ({error})", to.shown());
                AssembleError::File(from.to_owned(), reason)
            },
        )?;
    }
    Ok(())
}

/// The names of a file's extended attributes.
fn names(file: &Path) -> Result<Vec<std::ffi::OsString>, Errno> {
    let mut list = vec![0; 65_536];
    match rustix::fs::listxattr(file, list.as_mut_slice()) {
        Ok(size) => {
            list.truncate(size);
            let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            Ok(names.map(|name| OsStr::from_bytes(name).to_owned()).collect())
        }
        // A file system without them.
        Err(Errno::OPNOTSUPP) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether a program gets capabilities from its file (capabilities(7)).
pub(super) fn is_with_capabilities(file: &Path) -> bool {
    let read = rustix::fs::getxattr(file, CAPABILITY, &mut [0; 1][..]);
    read != Err(Errno::NODATA) && read != Err(Errno::OPNOTSUPP)
}
