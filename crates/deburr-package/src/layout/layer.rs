//! Files → a layer of an image: image-spec, "Image Layer Filesystem Changeset"; POSIX.1-2017 `pax`, "ustar Interchange
//! Format", with GNU's entries for long names; RFC 1952.
//!
//! In: the files in the caller's order. Out: the compressed archive, as it is written, and its digests. Owner and group are
//! 0, and all times are one.

use super::named;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// A layer that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The digest of what was written.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// The digest of the archive before compression.
    pub diff_id: String,
}

/// Writes a layer.
pub struct LayerWriter<W: Write> {
    archive: Builder<Hashed<GzEncoder<Hashed<W>>>>,
    time: u64,
}

impl<W: Write> LayerWriter<W> {
    /// A layer whose files are all of one time, in seconds since 1970.
    pub fn new(to: W, time: u64) -> LayerWriter<W> {
        // 255: no system is named, so that none makes a difference.
        let gzip = GzBuilder::new().mtime(0).operating_system(255);
        let archive = Builder::new(Hashed::new(gzip.write(Hashed::new(to), Compression::best())));
        LayerWriter { archive, time }
    }

    fn header(&self, kind: EntryType, mode: u32, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode & 0o7777);
        header.set_size(size);
        header.set_mtime(self.time);
        header.set_uid(0);
        header.set_gid(0);
        header
    }

    /// A folder.
    ///
    /// # Errors
    /// Those of writing.
    pub fn folder(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        let mut header = self.header(EntryType::Directory, mode, 0);
        self.archive.append_data(&mut header, path.join(""), io::empty())
    }

    /// A file of a size in bytes.
    ///
    /// # Errors
    /// Those of reading and writing; the content has another size.
    pub fn file(&mut self, path: &Path, mode: u32, size: u64, content: &mut dyn Read) -> io::Result<()> {
        let mut header = self.header(EntryType::Regular, mode, size);
        let mut counted = Counted { inner: content.take(size), read: 0 };
        self.archive.append_data(&mut header, path, &mut counted)?;
        let read = counted.read;
        let mut more = [0];
        if read != size || counted.inner.into_inner().read(&mut more)? != 0 {
            return Err(io::Error::other("the file changed its size while it was read"));
        }
        Ok(())
    }

    /// A symbolic link.
    ///
    /// # Errors
    /// Those of writing.
    pub fn symlink(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let mut header = self.header(EntryType::Symlink, 0o777, 0);
        self.archive.append_link(&mut header, path, target)
    }

    /// Another name of a file that the layer has.
    ///
    /// # Errors
    /// Those of writing.
    pub fn hard_link(&mut self, path: &Path, mode: u32, first: &Path) -> io::Result<()> {
        let mut header = self.header(EntryType::Link, mode, 0);
        self.archive.append_link(&mut header, path, first)
    }

    /// Ends the layer, and hands back what it was written to.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<(W, Layer)> {
        let archive = self.archive.into_inner()?;
        let diff_id = archive.digest();
        let mut compressed = archive.inner.finish()?;
        compressed.flush()?;
        let layer = Layer { digest: compressed.digest(), size: compressed.size, diff_id };
        Ok((compressed.inner, layer))
    }
}

/// Hashes what goes through.
struct Hashed<W> {
    inner: W,
    hash: Sha256,
    size: u64,
}

impl<W> Hashed<W> {
    fn new(inner: W) -> Hashed<W> {
        Hashed { inner, hash: Sha256::new(), size: 0 }
    }

    fn digest(&self) -> String {
        named(self.hash.clone().finalize().as_slice())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_another_size_than_announced_is_an_error() {
        for size in [3, 5] {
            let mut writer = LayerWriter::new(Vec::new(), 0);
            let error = writer.file(Path::new("data"), 0o644, size, &mut &b"data"[..]).unwrap_err();
            assert!(error.to_string().contains("changed its size"), "{error}");
        }
        let mut writer = LayerWriter::new(Vec::new(), 0);
        writer.file(Path::new("data"), 0o644, 4, &mut &b"data"[..]).unwrap();
        let (bytes, layer) = writer.finish().unwrap();
        assert_eq!((super::super::digest(&bytes), bytes.len() as u64), (layer.digest, layer.size));
    }
}
