//! ISO 9660 (ECMA-119) with Rock Ridge's names (IEEE P1282): directories from the root → files as members.
//!
//! In: an image, which is held in memory where it comes as a stream. Out: each file once, in place. Each directory is entered
//! once, whatever leads to it. What a boot loader finds by El Torito, and UDF, are not looked at.

use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::name::shown;
use crate::number::{le16, le32};
use crate::sink::Sink;
use crate::sniff::ISO_DESCRIPTOR;
use crate::tar::LONGEST_NAME;
use std::collections::HashSet;
use std::io::{self, Read};

/// Parts of one file: each has up to 4 GiB.
const MOST_PARTS: usize = 1024;

const DIRECTORY: u8 = 2;
const GOES_ON: u8 = 0x80;

/// A directory record.
struct Record {
    name: Vec<u8>,
    extent: u32,
    size: u32,
    flags: u8,
    /// Whether it is a link or a device, or its content is compressed (zisofs).
    is_special: bool,
    is_compressed: bool,
}

/// Reads an image.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    reader.whole(path, bytes, |reader, whole| image(reader, path, whole, nesting))
}

fn image<S: Sink>(reader: &mut Reader<'_, S>, path: &str, bytes: &[u8], nesting: Nesting) -> Flow {
    let descriptor = bytes.get(ISO_DESCRIPTOR..ISO_DESCRIPTOR + 2048);
    let root = descriptor.filter(|it| it.first() == Some(&1)).and_then(|descriptor| {
        let block = usize::from(le16(descriptor, 128)?);
        let record = record(bytes, block, descriptor.get(156..190)?)?;
        (block.is_power_of_two() && (512..=4096).contains(&block)).then_some((block, record))
    });
    let Some((block, root)) = root else {
        return reader.skip(path, "iso9660: no descriptor of a primary volume: not read", true);
    };
    let mut seen = HashSet::from([root.extent]);
    let mut pending = vec![(format!("{path}!"), root)];
    while let Some((before, directory)) = pending.pop() {
        let Some(listing) = part(bytes, block, &directory) else {
            let place = before.trim_end_matches(['!', '/']);
            reader.skip(place, "iso9660: cut off: the image ends before this directory", true)?;
            continue;
        };
        let mut below = Vec::new();
        let mut parts: Vec<Record> = Vec::new();
        for record in (Records { image: bytes, block, listing, at: 0 }) {
            let name = format!("{before}{}", shown(&record.name));
            reader.begin_member()?;
            let is_new = || !record.name.is_empty() && !record.name.contains(&b'/');
            if record.flags & DIRECTORY != 0 {
                if name.len() > path.len() + LONGEST_NAME {
                    reader.skip(&name, "iso9660: a path that is too long", true)?;
                } else if is_new() && seen.insert(record.extent) {
                    below.push((name + "/", record));
                }
                continue;
            }
            let (goes_on, is_special) = (record.flags & GOES_ON != 0, record.is_special);
            parts.push(record);
            if goes_on && parts.len() < MOST_PARTS {
                continue;
            }
            if !is_special {
                file(reader, &name, (bytes, block), &parts, nesting)?;
            }
            parts.clear();
        }
        pending.extend(below.into_iter().rev());
    }
    Ok(())
}

/// Reads one file, of one part or more.
fn file<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    (bytes, block): (&[u8], usize),
    parts: &[Record],
    nesting: Nesting,
) -> Flow {
    if parts.iter().any(|part| part.is_compressed) {
        return reader.skip(path, "iso9660: compressed by zisofs: not read", true);
    }
    let found: Option<Vec<&[u8]>> = parts.iter().map(|record| part(bytes, block, record)).collect();
    match found.as_deref() {
        None => reader.skip(path, "iso9660: cut off: the image ends in it", true),
        Some([whole]) => reader.content(path, Bytes::Slice(whole), nesting.within()),
        Some(parts) => {
            let size = parts.iter().map(|part| part.len() as u64).sum();
            let mut stream = Parts { parts, used: 0 };
            reader.content(path, Bytes::Stream(&mut stream, Some(size)), nesting.within())
        }
    }
}

/// The bytes that a record names.
fn part<'a>(image: &'a [u8], block: usize, record: &Record) -> Option<&'a [u8]> {
    let start = usize::try_from(record.extent).ok()?.checked_mul(block)?;
    image.get(start..start.checked_add(usize::try_from(record.size).ok()?)?)
}

/// Parts of a file, one after another.
struct Parts<'p> {
    parts: &'p [&'p [u8]],
    used: usize,
}

impl Read for Parts<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some((first, rest)) = self.parts.split_first() {
            let read = first.get(self.used..).unwrap_or_default().read(into)?;
            if read > 0 || into.is_empty() {
                self.used += read;
                return Ok(read);
            }
            (self.parts, self.used) = (rest, 0);
        }
        Ok(0)
    }
}

/// The records of a directory, without those of itself and of the one above.
struct Records<'i> {
    image: &'i [u8],
    block: usize,
    listing: &'i [u8],
    at: usize,
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let length = usize::from(*self.listing.get(self.at)?);
            if length == 0 {
                // No record crosses the end of a block.
                self.at = (self.at + 1).next_multiple_of(self.block);
                continue;
            }
            let bytes = self.listing.get(self.at..self.at.saturating_add(length))?;
            self.at += length;
            let is_self = bytes.get(32) == Some(&1) && matches!(bytes.get(33), Some(0 | 1));
            if !is_self {
                return record(self.image, self.block, bytes);
            }
        }
    }
}

/// Reads a record (ECMA-119, section 9.1), with what Rock Ridge adds.
fn record(image: &[u8], block: usize, bytes: &[u8]) -> Option<Record> {
    let length = usize::from(*bytes.get(32)?);
    let name = bytes.get(33..33 + length)?;
    let mut record = Record {
        name: plain(name),
        extent: le32(bytes, 2)?,
        size: le32(bytes, 10)?,
        flags: *bytes.get(25)?,
        is_special: false,
        is_compressed: false,
    };
    let system = bytes.get((33 + length).next_multiple_of(2)..).unwrap_or_default();
    rock_ridge(image, block, system, &mut record);
    Some(record)
}

/// A name without its version.
fn plain(name: &[u8]) -> Vec<u8> {
    let end = name.iter().rposition(|byte| *byte == b';').unwrap_or(name.len());
    let name = name.get(..end).unwrap_or_default();
    name.strip_suffix(b".").unwrap_or(name).to_vec()
}

/// Reads the system use entries of a record: names, kinds, and areas where they go on.
fn rock_ridge(image: &[u8], block: usize, system: &[u8], record: &mut Record) {
    let mut name: Option<Vec<u8>> = None;
    let mut area = system;
    // Each entry that leads on costs one of these.
    for _ in 0..8 {
        let mut next = None;
        while let Some(size) = area.get(2).map(|size| usize::from(*size)).filter(|size| *size >= 4) {
            let Some(entry) = area.get(..size) else { break };
            match entry {
                // 2 and 4 are the names `.` and `..`.
                [b'N', b'M', _, _, flags, part @ ..] if flags & 6 == 0 => {
                    name.get_or_insert_default().extend_from_slice(part);
                }
                [b'P', b'X', ..] => {
                    let mode = le32(entry, 4).unwrap_or_default() & 0o170_000;
                    record.is_special = !matches!(mode, 0o100_000 | 0o040_000 | 0);
                }
                [b'S', b'L', ..] => record.is_special = true,
                [b'Z', b'F', ..] => record.is_compressed = true,
                [b'C', b'E', ..] => next = goes_on(image, block, entry),
                _ => {}
            }
            area = area.get(size..).unwrap_or_default();
        }
        match next {
            Some(next) => area = next,
            None => break,
        }
    }
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        record.name = name;
    }
}

/// The area that an entry `CE` leads to.
fn goes_on<'i>(image: &'i [u8], block: usize, entry: &[u8]) -> Option<&'i [u8]> {
    let (extent, offset, size) = (le32(entry, 4)?, le32(entry, 12)?, le32(entry, 20)?);
    let start = (extent as usize).checked_mul(block)?.checked_add(offset as usize)?;
    image.get(start..start.checked_add((size as usize).min(block))?)
}
