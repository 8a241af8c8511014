//! Which file it is, whatever its names: by it, input is read once, and is not written over.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The (device, inode) of a file.
pub(crate) type Identity = (u64, u64);

/// Which file it is.
pub(crate) fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}
