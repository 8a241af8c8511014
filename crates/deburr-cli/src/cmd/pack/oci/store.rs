//! The blobs of a layout → files in its folder.
//!
//! In: layers, documents and the base's blobs. Out: `blobs/sha256/` with each of them once, under its digest.

use super::tree::{Entry, Kind};
use super::variant::Variant;
use deburr_package::Blobs;
use deburr_package::layout::{Descriptor, Document, Layer, LayerWriter, digest};
use deburr_text::ShownPath as _;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The folder of a layout that is being written.
pub(super) struct Store {
    root: PathBuf,
}

impl Store {
    /// A layout in a folder that exists and is empty.
    pub(super) fn new(root: &Path) -> Result<Store, String> {
        let blobs = root.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(|error| format!("{}: {error}", blobs.shown()))?;
        Ok(Store { root: root.to_owned() })
    }

    /// The file of a digest.
    fn blob(&self, digest: &str) -> PathBuf {
        self.root.join("blobs/sha256").join(digest.trim_start_matches("sha256:"))
    }

    /// Writes a file next to the blobs.
    pub(super) fn file(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        fs::write(self.root.join(name), bytes).map_err(|error| format!("{name}: {error}"))
    }

    /// Writes a document.
    pub(super) fn document(&self, document: &Document) -> Result<(), String> {
        let digest = &document.descriptor.digest;
        fs::write(self.blob(digest), &document.bytes).map_err(|error| format!("{digest}: {error}"))
    }

    /// Writes the layer of a variant.
    pub(super) fn layer(&self, variant: &Variant, time: u64) -> Result<Layer, String> {
        let path = self.root.join("layer");
        let fault = |error: io::Error| format!("the layer of {}: {error}", variant.level);
        let to = BufWriter::new(File::create(&path).map_err(fault)?);
        let mut writer = LayerWriter::new(to, time);
        for (path, entry) in &variant.entries {
            append(&mut writer, variant, path, entry)
                .map_err(|error| format!("{}: {error}", variant.tree.join(path).shown()))?;
        }
        let (to, layer) = writer.finish().map_err(fault)?;
        to.into_inner().map_err(|error| fault(error.into_error()))?;
        fs::rename(&path, self.blob(&layer.digest)).map_err(fault)?;
        Ok(layer)
    }

    /// Copies a blob of the base, if it is what its digest and size say.
    pub(super) fn copied(&self, base: &dyn Blobs, blob: &Descriptor) -> Result<(), String> {
        let name = &blob.digest;
        let hash = name.strip_prefix("sha256:").filter(|hash| {
            hash.len() == 64 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        });
        let hash = hash.ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
            format!("{}: expected sha256: and 64 hexadecimal digits", shown.escape_debug())
        })?;
        let to = self.blob(name);
        // A layer of several images is there already, and is what its digest says.
        if fs::metadata(&to).is_ok_and(|there| there.len() == blob.size) {
            return Ok(());
        }
        let file = format!("blobs/sha256/{hash}");
        let bytes = base.open(&file).ok_or_else(|| format!("{name}: the base lacks this blob"))?;
        let bytes = (*bytes).as_ref();
        if digest(bytes) != *name || bytes.len() as u64 != blob.size {
            return Err(format!("{name}: the blob is not what its digest and size say; copy the base again"));
        }
        fs::write(to, bytes).map_err(|error| format!("{name}: {error}"))
    }
}

fn append<W: io::Write>(
    writer: &mut LayerWriter<W>,
    variant: &Variant,
    path: &Path,
    entry: &Entry,
) -> io::Result<()> {
    match &entry.kind {
        Kind::Folder => writer.folder(path, entry.mode),
        Kind::Link(target) => writer.symlink(path, target),
        Kind::HardLink(first) => writer.hard_link(path, entry.mode, first),
        Kind::File(size) => {
            let mut content = File::open(variant.tree.join(path))?;
            writer.file(path, entry.mode, *size, &mut content)
        }
    }
}
