//! A container image as a folder (OCI image-spec, "OCI Image Layout"): names of blobs → their bytes, mapped.

use super::mapped::Bytes;
use deburr_package::Blobs;
use std::path::{Path, PathBuf};

/// The folder.
pub(crate) struct ImageLayout(PathBuf);

struct Blob(Bytes);

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl ImageLayout {
    /// The image in a folder.
    pub(crate) fn new(folder: &Path) -> ImageLayout {
        ImageLayout(folder.to_owned())
    }

    /// Whether the names in a folder are those of an image layout.
    pub(crate) fn is_one<'a>(names: impl Iterator<Item = &'a std::ffi::OsStr>) -> bool {
        const FILES: [&str; 2] = ["oci-layout", "index.json"];
        names.filter(|name| FILES.iter().any(|file| name == file)).count() == FILES.len()
    }
}

impl Blobs for ImageLayout {
    fn open<'a>(&'a self, name: &str) -> Option<Box<dyn AsRef<[u8]> + 'a>> {
        let path = self.0.join(name);
        // The type is queried first: opening a fifo would wait for a writer.
        let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
        let bytes = is_file.then(|| Bytes::open(&path).ok())??;
        Some(Box::new(Blob(bytes)))
    }
}
