//! What a new file takes over from one that was there: owner, attributes, mode (chown(2), xattr(7)).
//!
//! In: a new file, and the old one. Out: the new file with them, and the names of attributes that could not
//! be kept.

use rustix::fs::XattrFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// Attributes that vouch for the very bytes of a file: of no use on others.
pub(crate) const MEASURED: [&str; 2] = ["security.ima", "security.evm"];

/// The attribute that holds a file's capabilities (capabilities(7)).
const CAPABILITY: &str = "security.capability";

/// Set-user-ID and set-group-ID.
const PRIVILEGED: u32 = 0o6000;

/// What the new file inherits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inherited<'f> {
    /// Whose mode it gets, and whose owner where that is permitted.
    pub(crate) metadata: &'f Metadata,
    /// The file in whose place it comes, if it does: then the owner must be the same, and it gets the
    /// attributes.
    pub(crate) replaced: Option<&'f File>,
    /// Whether it may run with rights that whoever starts it has not.
    pub(crate) is_privileged: bool,
}

/// Gives a file owner, attributes and mode. Returns the attributes that could not be kept.
pub(crate) fn inherit(file: &File, inherited: Inherited<'_>) -> io::Result<Vec<String>> {
    let wanted = inherited.metadata;
    let is_kept = is_owner_kept(file, wanted)?;
    if inherited.replaced.is_some() && !is_kept {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its owner and group cannot be kept; -o OUT writes a file of your own",
        ));
    }
    let lost = inherited.replaced.map_or_else(Vec::new, |from| copy_attributes(from, file));
    // Set-user-id and its like speak of an owner.
    let mut mode = wanted.mode() & if is_kept { 0o7777 } else { 0o777 };
    if !inherited.is_privileged {
        mode &= !PRIVILEGED;
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(lost)
}

/// Gives a file an owner and a group; whether it has them then.
pub(crate) fn is_owner_kept(file: &File, wanted: &Metadata) -> io::Result<bool> {
    let own = file.metadata()?;
    let is_same = (own.uid(), own.gid()) == (wanted.uid(), wanted.gid());
    Ok(is_same || fchown(file, Some(wanted.uid()), Some(wanted.gid())).is_ok())
}

/// Whether a file runs with rights that whoever starts it has not.
pub(crate) fn is_privileged(file: &File, metadata: &Metadata) -> bool {
    metadata.mode() & PRIVILEGED != 0 || has(file, CAPABILITY)
}

/// Whether a file has an attribute; not every file system lists all that it has.
pub(crate) fn has(file: &File, name: &str) -> bool {
    rustix::fs::fgetxattr_query(file, name).is_ok()
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
pub(crate) fn attributes(file: &File) -> Vec<OsString> {
    let length = rustix::fs::flistxattr_query(file).unwrap_or(0);
    let mut list = vec![0; length];
    let filled = rustix::fs::flistxattr(file, &mut list[..]).unwrap_or(0);
    list.truncate(filled);
    let names = list.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.map(|name| OsString::from_vec(name.to_vec())).collect()
}

fn attribute(file: &File, name: &OsStr) -> Option<Vec<u8>> {
    let mut value = vec![0; rustix::fs::fgetxattr_query(file, name).ok()?];
    let length = rustix::fs::fgetxattr(file, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}
