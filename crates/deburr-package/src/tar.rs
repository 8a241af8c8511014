//! tar: POSIX pax, ustar, GNU and V7 headers, by the `tar` crate, with bounded headers.
//!
//! A header with all that extends it may take 1 MiB, which the crate itself does not bound. Archives in
//! memory are listed here, and names in streams shown; members are read in [`crate::read`].

use crate::name::tidied;
use crate::sniff::BLOCK;
use ::tar::{Archive, EntryType};
use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;

/// Bytes of one header and its extensions.
pub(crate) const HEADER: u64 = 1 << 20;

/// Longer names cannot be used: Linux opens no path above PATH_MAX.
pub(crate) const LONGEST_NAME: usize = 4096;

/// A reader that lets a header take only so much.
pub(crate) struct Guarded<R> {
    pub(crate) inner: R,
    pub(crate) gauge: Rc<Gauge>,
}

/// How far a reader is, and how far it may go.
#[derive(Default)]
pub(crate) struct Gauge {
    pub(crate) position: Cell<u64>,
    /// Bytes that may still be read.
    pub(crate) allowed: Cell<u64>,
    pub(crate) saw_end: Cell<bool>,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.gauge.allowed.get()).unwrap_or(usize::MAX).min(into.len());
        if most == 0 && !into.is_empty() {
            return Err(io::Error::other(format!("a header of more than {HEADER} bytes")));
        }
        let read = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        if read == 0 && most > 0 {
            self.gauge.saw_end.set(true);
        }
        self.gauge.allowed.set(self.gauge.allowed.get() - read as u64);
        self.gauge.position.set(self.gauge.position.get() + read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Guarded<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.inner.seek(to)?;
        self.gauge.position.set(position);
        Ok(position)
    }
}

pub(crate) fn slice_of(bytes: &[u8], start: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

/// An entry of an archive in memory, for the index of an image.
pub(crate) struct TarEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) link: Option<Vec<u8>>,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// Lists an archive in memory; stops where it is damaged, and where `wanted` says so.
pub(crate) fn list(bytes: &[u8], mut wanted: impl FnMut(TarEntry) -> bool) {
    let gauge = Rc::new(Gauge::default());
    let mut archive = Archive::new(Guarded { inner: Cursor::new(bytes), gauge: Rc::clone(&gauge) });
    gauge.allowed.set(HEADER);
    let Ok(entries) = archive.entries_with_seek() else { return };
    for entry in entries {
        gauge.allowed.set(HEADER);
        let Ok(entry) = entry else { return };
        let kind = entry.header().entry_type();
        if !matches!(kind, EntryType::Regular | EntryType::Symlink | EntryType::Link) {
            continue;
        }
        let link =
            entry.link_name_bytes().filter(|_| kind != EntryType::Regular).map(|name| name.into_owned());
        let name = tidied(&entry.path_bytes()).to_vec();
        let (start, size) = (entry.raw_file_position(), entry.size());
        if name.len() > LONGEST_NAME || !wanted(TarEntry { name, link, start, size }) {
            return;
        }
    }
}

/// Shows the names in an archive that comes as a stream, as far as it can be read.
pub(crate) fn names(stream: &mut dyn Read, mut show: impl FnMut(&[u8])) {
    // What cannot be read is reported elsewhere.
    let _ = entries(stream, |name, _| show(name));
}

/// Shows the names and kinds of the entries in an archive that comes as a stream.
///
/// # Errors
/// Where it cannot be read to its end.
pub(crate) fn entries(stream: &mut dyn Read, mut show: impl FnMut(&[u8], EntryType)) -> io::Result<()> {
    let gauge = Rc::new(Gauge::default());
    let mut archive = Archive::new(Guarded { inner: stream, gauge: Rc::clone(&gauge) });
    gauge.allowed.set(HEADER);
    let entries = archive.entries()?;
    for entry in entries {
        let mut entry = entry?;
        show(tidied(&entry.path_bytes()), entry.header().entry_type());
        gauge.allowed.set(u64::MAX);
        io::copy(&mut entry, &mut io::sink())?;
        // What is left of the last block, and the next header.
        gauge.allowed.set(HEADER + BLOCK as u64);
    }
    Ok(())
}
