//! tar: POSIX pax, ustar, GNU and V7 headers, by the `tar` crate → members. In memory or mapped it is hopped through; as a
//! stream it is read. A header with all that extends it may take 1 MiB, which the crate itself does not bound.

use crate::image::{self, Covered};
use crate::name::{shown, tidied};
use crate::reader::{Bytes, Flow, Place, Reader};
use crate::{BLOCK, Sink};
use ::tar::{Archive, Entries, EntryType};
use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;

/// Bytes of one header and its extensions.
const HEADER: u64 = 1 << 20;

/// Longer names are nobody's: Linux opens no path above PATH_MAX.
const LONGEST_NAME: usize = 4096;

/// A reader that lets a header take only so much.
pub(crate) struct Guarded<R> {
    inner: R,
    gauge: Rc<Gauge>,
}

#[derive(Default)]
struct Gauge {
    position: Cell<u64>,
    /// Bytes that may still be read.
    allowed: Cell<u64>,
    saw_end: Cell<bool>,
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

/// Reads a tar archive.
pub(crate) fn read<S: Sink>(reader: &mut Reader<'_, S>, path: &str, bytes: Bytes<'_>, place: Place) -> Flow {
    let covered = reader.layer.take();
    match bytes {
        Bytes::Slice(slice) => {
            if covered.is_none()
                && let Some(image) = image::find(slice)
            {
                return image::read(reader, path, &image.images, &image, place);
            }
            let gauge = Rc::new(Gauge::default());
            let mut archive = Archive::new(Guarded { inner: Cursor::new(slice), gauge: Rc::clone(&gauge) });
            let entries = archive.entries_with_seek();
            members(reader, path, entries, Some(slice), &Context { gauge, place }, covered)
        }
        Bytes::Stream(stream, _) => {
            let gauge = Rc::new(Gauge::default());
            let mut archive = Archive::new(Guarded { inner: &mut *stream, gauge: Rc::clone(&gauge) });
            let entries = archive.entries();
            members(reader, path, entries, None, &Context { gauge, place }, covered)?;
            reader.drained(path, stream)
        }
    }
}

struct Context {
    gauge: Rc<Gauge>,
    place: Place,
}

fn members<S: Sink, R: Read>(
    reader: &mut Reader<'_, S>,
    path: &str,
    entries: io::Result<Entries<'_, R>>,
    whole: Option<&[u8]>,
    context: &Context,
    mut covered: Option<Covered>,
) -> Flow {
    let gauge = &context.gauge;
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return reader.failed(path, &error, true),
    };
    let (mut last, mut end, mut is_apk) = (None::<String>, 0_u64, false);
    loop {
        gauge.allowed.set(end.saturating_sub(gauge.position.get()).saturating_add(HEADER));
        let mut entry = match entries.next() {
            None => break,
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                let what = if gauge.saw_end.get() { "cut off".to_owned() } else { error.to_string() };
                // The header in hand has no name yet.
                let error = io::Error::other(format!("tar: {what}{}", after(last.as_deref())));
                return reader.failed(path, &error, true);
            }
        };
        gauge.allowed.set(u64::MAX);
        let kind = entry.header().entry_type();
        let name = entry.path_bytes().into_owned();
        let is_sparse = kind == EntryType::GNUSparse;
        let stored = if is_sparse { entry.header().entry_size().unwrap_or(0) } else { entry.size() };
        let start = entry.raw_file_position();
        // A block of a sparse file's map lies between its header and its data.
        let start = if is_sparse { gauge.position.get() } else { start };
        end = start.saturating_add(stored).div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        is_apk |= last.is_none() && (name.starts_with(b".SIGN.") || name == b".PKGINFO");
        let shown_name = shown(tidied(name.get(..LONGEST_NAME).unwrap_or(&name)));
        let is_directory = kind == EntryType::Directory || name.ends_with(b"/");
        let is_new = covered.as_mut().is_none_or(|covered| covered.is_new(tidied(&name), is_directory));
        last = Some(shown_name.clone());
        if matches!(kind, EntryType::XGlobalHeader | EntryType::Directory) {
            continue;
        }
        reader.begin_member()?;
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse);
        if !is_file || is_directory || !is_new {
            continue;
        }
        let inner = format!("{path}!{shown_name}");
        let size = entry.size();
        let place = context.place.within();
        match whole.filter(|_| !is_sparse) {
            None => reader.content(&inner, Bytes::Stream(&mut entry, Some(size)), place)?,
            Some(bytes) => match slice_of(bytes, start, size) {
                Some(slice) => reader.content(&inner, Bytes::Slice(slice), place)?,
                None => return reader.skip(&inner, "cut off: the archive ends in it", true),
            },
        }
    }
    reader.layer = covered;
    // Alpine cuts the marker off where one archive follows another.
    if gauge.saw_end.get() && !is_apk {
        let reason = format!("tar: cut off{}: no end-of-archive marker", after(last.as_deref()));
        reader.skip(path, &reason, true)?;
    }
    Ok(())
}

fn after(last: Option<&str>) -> String {
    last.map(|last| format!(" after {last}")).unwrap_or_default()
}

pub(crate) fn slice_of(bytes: &[u8], start: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

/// An entry of an archive in memory, for the index of an image.
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) link: Option<Vec<u8>>,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// Lists an archive in memory; stops where it is damaged, and where `wanted` says so.
pub(crate) fn list(bytes: &[u8], mut wanted: impl FnMut(Entry) -> bool) {
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
        if name.len() > LONGEST_NAME || !wanted(Entry { name, link, start, size }) {
            return;
        }
    }
}

/// Shows the names in an archive that comes as a stream, as far as it can be read.
pub(crate) fn names(stream: &mut dyn Read, mut show: impl FnMut(&[u8])) {
    let gauge = Rc::new(Gauge::default());
    let mut archive = Archive::new(Guarded { inner: stream, gauge: Rc::clone(&gauge) });
    gauge.allowed.set(HEADER);
    let Ok(mut entries) = archive.entries() else { return };
    loop {
        let Some(Ok(mut entry)) = entries.next() else { return };
        show(tidied(&entry.path_bytes()));
        gauge.allowed.set(u64::MAX);
        if io::copy(&mut entry, &mut io::sink()).is_err() {
            return;
        }
        // What is left of the last block, and the next header.
        gauge.allowed.set(HEADER + BLOCK as u64);
    }
}
