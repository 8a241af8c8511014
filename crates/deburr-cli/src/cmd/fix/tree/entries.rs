//! A directory as it is: all below it, links as links, by path.

use crate::system_error::error_text;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Something in a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    /// From the directory on; empty for itself.
    pub(crate) relative: PathBuf,
    pub(crate) metadata: Metadata,
}

/// A directory and all below it, each folder before what is in it; and what could not be read.
pub(crate) fn read(root: &Path) -> (Vec<Entry>, Vec<(PathBuf, String)>) {
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    let mut waiting = vec![PathBuf::new()];
    while let Some(relative) = waiting.pop() {
        let path = below(root, &relative);
        let is_root = relative.as_os_str().is_empty();
        // A link that is named is followed.
        let found = if is_root { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let listed = found.and_then(|metadata| {
            if metadata.is_dir() {
                for entry in fs::read_dir(&path)? {
                    waiting.push(relative.join(entry?.file_name()));
                }
            }
            Ok(metadata)
        });
        match listed {
            Ok(metadata) => entries.push(Entry { relative, metadata }),
            Err(error) => faults.push((path, error_text(&error))),
        }
    }
    entries.sort_unstable_by(|a, b| a.relative.cmp(&b.relative));
    (entries, faults)
}

/// A path in a directory; the directory's own without a `/` at its end.
pub(crate) fn below(root: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str().is_empty() { root.to_owned() } else { root.join(relative) }
}

/// Whether a file is a blob of an image layout (`blobs/ALGORITHM/DIGEST`), or a layer of what `docker save`
/// wrote, unpacked.
pub(crate) fn is_part_of_image(path: &Path) -> bool {
    let above = |levels: usize| path.ancestors().nth(levels);
    let name = path.file_name().unwrap_or_default();
    let is_digest = name.len() >= 64 && name.as_bytes().iter().all(u8::is_ascii_hexdigit);
    let is_blob = is_digest && above(2).and_then(Path::file_name).is_some_and(|folder| folder == "blobs");
    let is_layer = name == "layer.tar";
    is_blob || is_layer && above(2).is_some_and(|folder| folder.join("manifest.json").is_file())
}
