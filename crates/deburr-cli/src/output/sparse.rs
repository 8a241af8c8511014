//! Files with holes: bytes or a file → a file that takes no more room on disk than its model, as far as the
//! file system has holes (lseek(2), `SEEK_HOLE`).

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};

/// What file systems make holes of.
const BLOCK: usize = 4096;

/// Bytes that are written at once; a multiple of [`BLOCK`].
const BUFFER: usize = 1 << 20;

/// The bytes that `st_blocks` counts by (POSIX leaves it open; Linux has this).
const UNIT: u64 = 512;

/// Whether a file has holes.
pub(crate) fn is_sparse(metadata: &Metadata) -> bool {
    metadata.blocks() * UNIT < metadata.len()
}

/// Writes bytes, piece by piece, to the beginning of an empty file; `is_sparse`: with holes where blocks are
/// zero.
pub(crate) fn write<'p>(
    file: &mut File,
    pieces: impl Iterator<Item = &'p [u8]>,
    is_sparse: bool,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut at = 0;
    let mut put = |run: &[u8]| {
        for block in run.chunks(if is_sparse { BLOCK } else { BUFFER }) {
            if !is_sparse || block.iter().any(|byte| *byte != 0) {
                file.write_all_at(block, at)?;
            }
            at += block.len() as u64;
        }
        io::Result::Ok(())
    };
    for mut piece in pieces {
        while !piece.is_empty() {
            let (part, rest) = piece.split_at(piece.len().min(BUFFER - buffer.len()));
            buffer.extend_from_slice(part);
            piece = rest;
            if buffer.len() == BUFFER {
                put(&buffer)?;
                buffer.clear();
            }
        }
    }
    put(&buffer)?;
    file.set_len(at)
}

/// Copies a file to the beginning of an empty one, holes as holes.
pub(crate) fn copy(from: &mut File, to: &mut File) -> io::Result<()> {
    let length = from.metadata()?.len();
    let mut at = 0;
    while at < length {
        let start = match seek(&*from, SeekFrom::Data(at)) {
            Ok(start) => start,
            // A hole up to the end.
            Err(Errno::NXIO) => break,
            // No such thing here: all is data.
            Err(Errno::INVAL) => at,
            Err(error) => return Err(error.into()),
        };
        let end = seek(&*from, SeekFrom::Hole(start)).unwrap_or(length).min(length).max(start);
        from.seek(io::SeekFrom::Start(start))?;
        to.seek(io::SeekFrom::Start(start))?;
        let copied = io::copy(&mut Read::take(&mut *from, end - start), to)?;
        if copied < end - start || end == start {
            return Err(io::Error::other("the file changed while it was read"));
        }
        at = end;
    }
    to.set_len(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;
    use std::fs;
    use std::io::Write;

    #[test]
    fn holes_stay_holes_and_bytes_stay_bytes() {
        let folder = Scratch::new("sparse");
        let open = |name: &str| {
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(folder.join(name))
                .unwrap()
        };
        let mut model = open("model");
        model.set_len(8 << 20).unwrap();
        for (at, bytes) in [(0, &b"first"[..]), (3 << 20, b"second"), ((8 << 20) - 4, b"last")] {
            model.seek(io::SeekFrom::Start(at)).unwrap();
            model.write_all(bytes).unwrap();
        }
        let bytes = fs::read(folder.join("model")).unwrap();
        let (mut copied, mut written, mut plain) = (open("copied"), open("written"), open("plain"));
        copy(&mut model, &mut copied).unwrap();
        write(&mut written, bytes.chunks(12345), true).unwrap();
        write(&mut plain, bytes.chunks(12345), false).unwrap();
        for name in ["copied", "written", "plain"] {
            assert!(fs::read(folder.join(name)).unwrap() == bytes, "{name}");
        }
        // Not every file system has holes.
        if is_sparse(&model.metadata().unwrap()) {
            assert!(is_sparse(&copied.metadata().unwrap()) && is_sparse(&written.metadata().unwrap()));
            assert!(!is_sparse(&plain.metadata().unwrap()));
        }
        let (mut hole, mut empty) = (open("hole"), open("empty"));
        hole.set_len(1 << 40).unwrap();
        copy(&mut hole, &mut empty).unwrap();
        assert_eq!(empty.metadata().unwrap().len(), 1 << 40);
    }
}
