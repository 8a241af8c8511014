//! A folder → the files of a layer.
//!
//! In: the tree of a variant. Out: its entries in the order of their paths, so that a folder comes before what is in it.
//! Links are not followed.

use deburr_text::ShownPath as _;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    /// A file of so many bytes.
    File(u64),
    /// A symbolic link, and its target.
    Link(PathBuf),
    /// Another name of the file at this path.
    HardLink(PathBuf),
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Permissions, with the set-user-ID, set-group-ID and sticky bits.
    pub(super) mode: u32,
}

/// The entries of a tree, by their path below it.
pub(super) type Entries = BTreeMap<PathBuf, Entry>;

/// Walks a tree.
pub(super) fn walk(root: &Path) -> Result<Entries, String> {
    let mut waiting = vec![PathBuf::new()];
    let mut found = BTreeMap::new();
    while let Some(below) = waiting.pop() {
        let folder = root.join(&below);
        let fault = |error: std::io::Error| format!("{}: {error}", folder.shown());
        for entry in fs::read_dir(&folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let path = below.join(entry.file_name());
            let metadata = entry.metadata().map_err(fault)?;
            if metadata.is_dir() {
                waiting.push(path.clone());
            }
            found.insert(path, metadata);
        }
    }
    let mut firsts: HashMap<(u64, u64), PathBuf> = HashMap::new();
    let mut entries = Entries::new();
    for (path, metadata) in found {
        let here = root.join(&path);
        let refuse = |reason: &str| Err(format!("{}: {reason}", here.shown()));
        // image-spec, "Whiteouts".
        if path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".wh.")) {
            return refuse("a name that begins with .wh. deletes files in an image; rename it");
        }
        // What is built by an ordinary user is to be root's; what was given to another one is not.
        let is_another_s = ![0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
        if metadata.mode() & 0o6000 != 0 && !metadata.is_symlink() && is_another_s {
            return refuse(&format!(
                "it is set-user-ID or set-group-ID and belongs to user {}; it would become root's: change its owner or its mode",
                metadata.uid()
            ));
        }
        let kind = if metadata.is_dir() {
            Kind::Folder
        } else if metadata.is_symlink() {
            Kind::Link(fs::read_link(&here).map_err(|error| format!("{}: {error}", here.shown()))?)
        } else if metadata.is_file() {
            if has_capabilities(&here) {
                return refuse(
                    "it has file capabilities, which the image would not have; remove them, and grant them in the container",
                );
            }
            match firsts.get(&(metadata.dev(), metadata.ino())) {
                Some(first) => Kind::HardLink(first.clone()),
                None => {
                    firsts.insert((metadata.dev(), metadata.ino()), path.clone());
                    Kind::File(metadata.len())
                }
            }
        } else {
            return refuse("expected a file, a folder or a symbolic link, not a device, pipe or socket");
        };
        entries.insert(path, Entry { kind, mode: metadata.permissions().mode() & 0o7777 });
    }
    Ok(entries)
}

fn has_capabilities(file: &Path) -> bool {
    let mut room = [0; 1];
    // A value that does not fit is there, too.
    matches!(
        rustix::fs::getxattr(file, "security.capability", &mut room[..]),
        Ok(_) | Err(rustix::io::Errno::RANGE)
    )
}
