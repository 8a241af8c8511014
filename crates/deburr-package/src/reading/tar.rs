//! tar → members, by the `tar` crate with bounded headers ([`crate::tar`]).
//!
//! An archive in memory or mapped is hopped through, and may be an image; one in a stream is read. In a
//! layer, hidden files are left out.

use super::layers;
use super::reader::{Bytes, Flow, Nesting, Reader};
use super::whiteouts::Covered;
use crate::image::archive::find;
use crate::name::{shown, tidied};
use crate::sink::Sink;
use crate::sniff::BLOCK;
use crate::tar::{Gauge, Guarded, HEADER, LONGEST_NAME, slice_of};
use ::tar::{Archive, Entries, EntryType};
use std::io::{self, Cursor, Read};
use std::rc::Rc;

/// Reads a tar archive.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    let covered = reader.layer.take();
    match bytes {
        Bytes::Slice(slice) => {
            if covered.is_none()
                && let Some(image) = find(slice)
            {
                return layers::read(reader, path, &image.images, &image, nesting);
            }
            let gauge = Rc::new(Gauge::default());
            let mut archive = Archive::new(Guarded { inner: Cursor::new(slice), gauge: Rc::clone(&gauge) });
            let entries = archive.entries_with_seek();
            members(reader, path, entries, Some(slice), &Context { gauge, nesting }, covered)
        }
        Bytes::Stream(stream, _) => {
            let gauge = Rc::new(Gauge::default());
            let mut archive = Archive::new(Guarded { inner: &mut *stream, gauge: Rc::clone(&gauge) });
            let entries = archive.entries();
            members(reader, path, entries, None, &Context { gauge, nesting }, covered)?;
            reader.drained(path, stream)
        }
    }
}

struct Context {
    gauge: Rc<Gauge>,
    nesting: Nesting,
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
        // A sparse file's map is between its header and its data.
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
        let nesting = context.nesting.within();
        match whole.filter(|_| !is_sparse) {
            None => reader.content(&inner, Bytes::Stream(&mut entry, Some(size)), nesting)?,
            Some(bytes) => match slice_of(bytes, start, size) {
                Some(slice) => reader.content(&inner, Bytes::Slice(slice), nesting)?,
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
