//! A zip file taken apart: its directory, and each member's header, data and descriptor. Every byte must be
//! accounted for: members one after another from the first byte on, the central directory, its end. Else it
//! is refused: bytes between that belong to none are a signature, or hold an offset that would go wrong. What
//! header and directory state differently has two readings.

use super::field::{Field, field, u16_at, u32_at, u64_at, zip64};
use crate::name::shown;

const LOCAL: usize = 30;
const CENTRAL: usize = 46;
const END: usize = 22;
const END64: usize = 56;
const LOCATOR64: usize = 20;

pub(crate) const ENCRYPTED: u16 = 1;
/// A descriptor may follow the data.
pub(super) const STREAMED: u16 = 1 << 3;

pub(crate) struct Entry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) is_symlink: bool,
    /// Whether its owner may execute it.
    pub(crate) is_executable: bool,
    /// The record in the central directory, and its fields.
    pub(super) record: &'a [u8],
    pub(super) compressed: Field,
    pub(crate) size: Field,
    pub(super) offset: Field,
    /// The local header, the data and what describes them.
    pub(super) header: &'a [u8],
    pub(crate) data: &'a [u8],
    pub(super) descriptor: &'a [u8],
}

pub(crate) struct Directory<'a> {
    /// In the directory's order.
    pub(crate) entries: Vec<Entry<'a>>,
    /// Their numbers, in the order of the file.
    pub(super) order: Vec<usize>,
    /// All after the directory, and where it states the offsets of the directory and of the zip64 record.
    pub(super) tail: &'a [u8],
    pub(super) starts: Vec<Field>,
    pub(super) locator: Option<Field>,
    pub(super) length: u64,
}

/// Why a file is not taken apart.
pub(crate) enum Reason {
    Refused(String),
    /// Members.
    TooMany,
    /// What is wrong, and at which byte.
    Broken(&'static str, usize),
}

/// The records after the directory.
struct End {
    /// Where the first of them begins.
    at: usize,
    /// What they state of the directory.
    count: u64,
    length: u64,
    start: u64,
    is_split: bool,
    /// Where they state its offset, counted from `at`.
    starts: Vec<Field>,
    /// Where they state the offset of the zip64 one.
    locator: Option<Field>,
}

impl End {
    /// Section 4.3.16. The last signature must be the record's: one in its comment would be taken for it by
    /// some.
    fn find(bytes: &[u8]) -> Option<End> {
        let from = bytes.len().saturating_sub(END + usize::from(u16::MAX));
        let at = from + bytes.get(from..)?.windows(4).rposition(|window| window == b"PK\x05\x06")?;
        let record = bytes.get(at..)?;
        let (disk, first) = (u16_at(record, 4)?, u16_at(record, 6)?);
        let (here, all) = (u16_at(record, 8)?, u16_at(record, 10)?);
        let (length, start) = (u64::from(u32_at(record, 12)?), u64::from(u32_at(record, 16)?));
        let plain = End {
            at,
            count: u64::from(all),
            length,
            start,
            is_split: disk != first || here != all || disk != 0 && disk != u16::MAX,
            starts: vec![Field { at: 16, is_wide: false, value: start }],
            locator: None,
        };
        let locator = at
            .checked_sub(LOCATOR64)
            .filter(|at| bytes.get(*at..).is_some_and(|record| record.starts_with(b"PK\x06\x07")));
        let end = match locator {
            Some(locator) => plain.wide(bytes, locator)?,
            None => plain,
        };
        (record.len() == END + usize::from(u16_at(record, 20)?)).then_some(end)
    }

    /// Sections 4.3.14 and 4.3.15: what zip64 states instead.
    fn wide(self, bytes: &[u8], locator: usize) -> Option<End> {
        let pointed = bytes.get(locator..)?;
        let at = usize::try_from(u64_at(pointed, 8)?).ok()?;
        let record = bytes
            .get(at..locator)
            .filter(|record| record.starts_with(b"PK\x06\x06") && record.len() >= END64)?;
        let (here, count) = (u64_at(record, 24)?, u64_at(record, 32)?);
        let (length, start) = (u64_at(record, 40)?, u64_at(record, 48)?);
        let agrees = |narrow: u64, limit: u64, wide: u64| narrow == limit || narrow == wide;
        let is_whole = u64_at(record, 4)?.checked_add(12)? == record.len() as u64
            && agrees(self.count, u64::from(u16::MAX), count)
            && agrees(self.length, u64::from(u32::MAX), length)
            && agrees(self.start, u64::from(u32::MAX), start);
        let mut starts = vec![Field { at: 48, is_wide: true, value: start }];
        if self.start != u64::from(u32::MAX) {
            starts.push(Field { at: self.at - at + 16, is_wide: false, value: start });
        }
        let is_split = self.is_split || here != count || u64_at(record, 16)? != 0 || u32_at(pointed, 4)? != 0;
        let locator = Some(Field { at: record.len() + 8, is_wide: true, value: at as u64 });
        is_whole.then_some(End { at, count, length, start, is_split, starts, locator })
    }
}

impl<'a> Directory<'a> {
    /// `most`: so many members.
    pub(crate) fn parse(bytes: &'a [u8], most: u64) -> Result<Directory<'a>, Reason> {
        let nowhere = Reason::Broken("no end of the directory where it should be, cut off?", bytes.len());
        let End { at: end, count, length, start, is_split, starts, locator } =
            End::find(bytes).ok_or(nowhere)?;
        if is_split {
            return Err(Reason::Refused("one of several parts".to_owned()));
        }
        let Some(start) =
            usize::try_from(start).ok().filter(|_| start.checked_add(length) == Some(end as u64))
        else {
            return Err(Reason::Refused("bytes that belong to no member, around the directory".to_owned()));
        };
        let (mut entries, mut at) = (Vec::new(), start);
        while at < end {
            if entries.len() as u64 >= most {
                return Err(Reason::TooMany);
            }
            let (entry, next) =
                entry(bytes, at, end).ok_or(Reason::Broken("no record of the directory", at))?;
            entries.push(entry);
            at = next;
        }
        if entries.len() as u64 != count {
            return Err(Reason::Broken("the directory has not as many members as it states", start));
        }
        let order = placed(&mut entries, bytes, start)?;
        let tail = bytes.get(end..).unwrap_or_default();
        Ok(Directory { entries, order, tail, starts, locator, length })
    }
}

/// Finds each member's bytes, and sees that they follow one another up to the directory; the order in which
/// they do.
fn placed<'a>(entries: &mut [Entry<'a>], bytes: &'a [u8], directory: usize) -> Result<Vec<usize>, Reason> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    let offset = |at: &usize| entries.get(*at).map_or(0, |entry| entry.offset.value);
    order.sort_by_key(offset);
    let starts: Vec<u64> = order.iter().map(offset).chain([directory as u64]).collect();
    if starts.first() != Some(&0) {
        return Err(Reason::Refused("bytes that belong to no member, at byte 0".to_owned()));
    }
    for (at, bounds) in order.iter().zip(starts.windows(2)) {
        let (Some(entry), [start, end]) = (entries.get_mut(*at), bounds) else { continue };
        entry.place(bytes, *start, *end)?;
    }
    Ok(order)
}

impl<'a> Entry<'a> {
    fn place(&mut self, bytes: &'a [u8], start: u64, end: u64) -> Result<(), Reason> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let parts = || {
            let own =
                bytes.get(start..usize::try_from(end).ok()?).filter(|own| own.starts_with(b"PK\x03\x04"))?;
            let names = LOCAL + usize::from(u16_at(own, 26)?);
            let (header, rest) = own.split_at_checked(names + usize::from(u16_at(own, 28)?))?;
            let is_same = header.get(LOCAL..names)? == self.name && u16_at(header, 8)? == self.method;
            let (data, rest) = rest.split_at_checked(usize::try_from(self.compressed.value).ok()?)?;
            is_same.then_some((header, data, rest))
        };
        let Some(parts) = parts() else {
            return Err(Reason::Broken("no member where the directory says one is", start));
        };
        (self.header, self.data, self.descriptor) = parts;
        if self.is_consistent() == Some(true) {
            return Ok(());
        }
        let name = shown(self.name);
        let what = "its header and the directory differ, or bytes that belong to none follow";
        Err(Reason::Refused(format!("{name}: {what}, at byte {start}")))
    }

    /// Whether local header and descriptor state what the directory does, or leave it out.
    fn is_consistent(&self) -> Option<bool> {
        let stated = (self.crc, self.compressed.value, self.size.value);
        let is_streamed = self.flags & STREAMED != 0;
        let (crc, compressed, size) = local(self.header)?;
        let local = (crc, compressed.value, size.value);
        let is_described = match described(self.descriptor) {
            Some((crc, compressed, size)) => {
                is_streamed && (u32_at(self.descriptor, crc)?, compressed.value, size.value) == stated
            }
            None => self.descriptor.is_empty(),
        };
        Some(is_described && (local == stated || is_streamed && local == (0, 0, 0)))
    }
}

/// What a local header (section 4.3.7) states: the checksum, and the two sizes.
pub(super) fn local(header: &[u8]) -> Option<(u32, Field, Field)> {
    let mut wide = zip64(header, LOCAL + usize::from(u16_at(header, 26)?)..header.len());
    // The order in which a zip64 field has them.
    let size = field(header, 22, &mut wide)?;
    let compressed = field(header, 18, &mut wide)?;
    Some((u32_at(header, 14)?, compressed, size))
}

/// Where a descriptor (section 4.3.9) has the checksum, and the two sizes. With a signature or without, 4
/// bytes or 8 a size: its length decides.
pub(super) fn described(descriptor: &[u8]) -> Option<(usize, Field, Field)> {
    let (crc, width) = match descriptor.len() {
        12 => (0, 4),
        16 if descriptor.starts_with(b"PK\x07\x08") => (4, 4),
        20 => (0, 8),
        24 if descriptor.starts_with(b"PK\x07\x08") => (4, 8),
        _ => return None,
    };
    let field = |at: usize| {
        let is_wide = width == 8;
        let value = if is_wide { u64_at(descriptor, at)? } else { u64::from(u32_at(descriptor, at)?) };
        Some(Field { at, is_wide, value })
    };
    Some((crc, field(crc + 4)?, field(crc + 4 + width)?))
}

/// The record of the central directory at a place, and where the next begins.
fn entry(bytes: &[u8], at: usize, end: usize) -> Option<(Entry<'_>, usize)> {
    let rest = bytes.get(at..end).filter(|rest| rest.starts_with(b"PK\x01\x02"))?;
    let (name, extra) = (usize::from(u16_at(rest, 28)?), usize::from(u16_at(rest, 30)?));
    let length = CENTRAL + name + extra + usize::from(u16_at(rest, 32)?);
    let record = rest.get(..length)?;
    let mut wide = zip64(record, CENTRAL + name..CENTRAL + name + extra);
    // The order in which a zip64 field has them.
    let size = field(record, 24, &mut wide)?;
    let compressed = field(record, 20, &mut wide)?;
    let offset = field(record, 42, &mut wide)?;
    let is_unix = u16_at(record, 4)? >> 8 == 3;
    let entry = Entry {
        name: record.get(CENTRAL..CENTRAL + name)?,
        flags: u16_at(record, 8)?,
        method: u16_at(record, 10)?,
        crc: u32_at(record, 16)?,
        is_symlink: is_unix && u16_at(record, 40)? & 0o170_000 == 0o120_000,
        is_executable: is_unix && u16_at(record, 40)? & 0o100 != 0,
        record,
        compressed,
        size,
        offset,
        header: &[],
        data: &[],
        descriptor: &[],
    };
    Some((entry, at + length))
}
