//! tar → members, by the `tar` crate with bounded headers ([`crate::tar`]).
//!
//! An archive in memory or mapped is hopped through, and may be an image; one in a stream is read. In a
//! layer, hidden files are left out. What follows the marker at the end is read on: another archive as `tar --ignore-zeros` reads it,
//! anything else as a member that is named by its offset.

use super::ahead::Ahead;
use super::layers;
use super::reader::{Bytes, Flow, Nesting, Reader, Trouble};
use super::whiteouts::Covered;
use crate::appended::plain;
use crate::image::archive::find;
use crate::member::{Link, Member};
use crate::name::{shown, tidied};
use crate::sink::Sink;
use crate::sniff::{BLOCK, Format, Found, sniff};
use crate::sparse::Sparse;
use crate::tar::{Gauge, Guarded, HEADER, LONGEST_NAME, slice_of};
use ::tar::{Archive, Entries, Entry, EntryType};
use std::io::{self, Cursor, Read};
use std::rc::Rc;

/// Reads a tar archive.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    match bytes {
        Bytes::Slice(slice) => {
            if reader.layer.is_none()
                && let Some(image) = find(slice)
            {
                return layers::read(reader, path, &image.images, &image, nesting);
            }
            in_place(reader, path, slice, nesting)
        }
        Bytes::Stream(stream, _) => {
            in_stream(reader, path, &mut Ahead::new(stream), nesting)?;
            reader.drained(path, stream)
        }
    }
}

/// Reads the archives that some bytes hold, one after another, and what follows them.
fn in_place<S: Sink>(reader: &mut Reader<'_, S>, path: &str, slice: &[u8], nesting: Nesting) -> Flow {
    let mut rest = slice;
    loop {
        let (gauge, covered) = (Rc::new(Gauge::default()), reader.layer.take());
        let mut archive = Archive::new(Guarded { inner: Cursor::new(rest), gauge: Rc::clone(&gauge) });
        let (entries, context) = (archive.entries_with_seek(), Context { gauge, nesting });
        let Ended::Marker = members(reader, path, entries, Some(rest), &context, covered)? else {
            return Ok(());
        };
        let end = usize::try_from(context.gauge.position.get()).unwrap_or(usize::MAX);
        let after = rest.get(end..).unwrap_or_default();
        let Some(zeros) = after.iter().position(|byte| *byte != 0) else { return Ok(()) };
        rest = after.get(zeros..).unwrap_or_default();
        let at = (slice.len() - rest.len()) as u64;
        match sniff(rest) {
            Found::Package(Format::Tar) => {}
            Found::Other => return unknown(reader, path, rest, rest.len() as u64),
            _ => {
                return reader.content(
                    &format!("{path}!{at}"),
                    Bytes::Slice(rest),
                    nesting.within().payload(),
                );
            }
        }
    }
}

/// Reads the archives of a stream, one after another, and what follows them.
fn in_stream<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    stream: &mut Ahead<'_>,
    nesting: Nesting,
) -> Flow {
    loop {
        let (gauge, covered) = (Rc::new(Gauge::default()), reader.layer.take());
        let mut archive = Archive::new(Guarded { inner: &mut *stream, gauge: Rc::clone(&gauge) });
        let (entries, context) = (archive.entries(), Context { gauge, nesting });
        let Ended::Marker = members(reader, path, entries, None, &context, covered)? else { return Ok(()) };
        let first = match stream.after_zeros() {
            Ok([]) => return Ok(()),
            Ok(first) => first.to_vec(),
            Err(error) => return reader.failed(path, &error, true),
        };
        let at = stream.position();
        match sniff(&first) {
            Found::Package(Format::Tar) => {}
            Found::Other => {
                let size = match io::copy(stream, &mut io::sink()) {
                    Ok(size) => size,
                    Err(error) => return reader.failed(path, &error, true),
                };
                return unknown(reader, path, &first, size);
            }
            _ => {
                return reader.content(
                    &format!("{path}!{at}"),
                    Bytes::Stream(stream, None),
                    nesting.within().payload(),
                );
            }
        }
    }
}

/// Reports what follows an archive and is not recognised, unless it is too little or too plain for a program.
fn unknown<S: Sink>(reader: &mut Reader<'_, S>, path: &str, first: &[u8], size: u64) -> Flow {
    if size <= BLOCK as u64 && plain(first).is_some() {
        return Ok(());
    }
    let reason = format!("tar: unknown data, {size} bytes after its end: not read");
    reader.skip(path, &reason, true)
}

/// How an archive ends.
#[derive(PartialEq, Eq)]
enum Ended {
    /// With the marker: something may follow.
    Marker,
    /// With its last byte, or where it is damaged, which is reported.
    Over,
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
) -> Flow<Ended> {
    let gauge = &context.gauge;
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return reader.failed(path, &error, true).map(|()| Ended::Over),
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
                return reader.failed(path, &error, true).map(|()| Ended::Over);
            }
        };
        gauge.allowed.set(u64::MAX);
        let kind = entry.header().entry_type();
        let sparse = match entry.pax_extensions() {
            Ok(Some(records)) => Sparse::of(records),
            _ => Ok(None),
        };
        let own_name = sparse.as_ref().ok().and_then(|sparse| sparse.as_ref()?.name.clone());
        let name = own_name.unwrap_or_else(|| entry.path_bytes().into_owned());
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
        let inner = format!("{path}!{shown_name}");
        let leads_to = entry.link_name_bytes().and_then(|target| match kind {
            EntryType::Symlink => Some(Link::Symbolic(&target).leads_to(path, &name)),
            EntryType::Link => Some(Link::Hard(&target).leads_to(path, &name)),
            _ => None,
        });
        let is_signed = is_signed(&mut entry);
        reader.sink.member(Member { path: inner.clone(), leads_to, is_signed });
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse);
        if !is_file || is_directory || !is_new {
            continue;
        }
        let nesting = context.nesting.within();
        let sparse = match sparse {
            Ok(sparse) => sparse,
            Err(error) => {
                reader.skip(&inner, &format!("tar: {error}"), true)?;
                continue;
            }
        };
        let size = sparse.as_ref().map_or(entry.size(), |sparse| sparse.size);
        if (is_sparse || sparse.is_some()) && reader.meter.limits.is_bomb(size, stored) {
            reader.skip(&inner, &reader.meter.limits.of_bomb(), true)?;
            continue;
        }
        if let Some(what) = reader.meter.count(size.saturating_sub(stored)) {
            reader.skip(path, &what, true)?;
            return Err(Trouble::Over);
        }
        if let Some(sparse) = sparse {
            let mut filled = sparse.reader(&mut entry);
            reader.content(&inner, Bytes::Stream(&mut filled, Some(size)), nesting)?;
            continue;
        }
        match whole.filter(|_| !is_sparse) {
            None => reader.content(&inner, Bytes::Stream(&mut entry, Some(size)), nesting)?,
            Some(bytes) => match slice_of(bytes, start, size) {
                Some(slice) => reader.content(&inner, Bytes::Slice(slice), nesting)?,
                None => {
                    let reason = "cut off: the archive ends in it";
                    return reader.skip(&inner, reason, true).map(|()| Ended::Over);
                }
            },
        }
    }
    reader.layer = covered;
    // Alpine cuts the marker off where one archive follows another.
    if gauge.saw_end.get() && !is_apk {
        let reason = format!("tar: cut off{}: no end-of-archive marker", after(last.as_deref()));
        reader.skip(path, &reason, true)?;
    }
    Ok(if gauge.saw_end.get() { Ended::Over } else { Ended::Marker })
}

/// Whether a member's header holds a hash or a signature of its bytes.
fn is_signed<R: Read>(entry: &mut Entry<'_, R>) -> bool {
    let Ok(Some(records)) = entry.pax_extensions() else { return false };
    let is_measure = |key: &[u8]| key.ends_with(b".security.ima") || key.ends_with(b".security.evm");
    records.filter_map(Result::ok).any(|record| is_measure(record.key_bytes()))
}

fn after(last: Option<&str>) -> String {
    last.map(|last| format!(" after {last}")).unwrap_or_default()
}
