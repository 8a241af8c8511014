//! PyInstaller's archive (`PyInstaller/archive/writers.py`, `CArchiveWriter`): a table of contents → members.
//!
//! In: the archive with its cookie, 88 bytes at its end: the magic number, its length, the place and the length of the table,
//! all big-endian. An entry of the table: its own length, place, length and unpacked length of the data, whether they are
//! compressed by zlib, a letter for the kind, and the name.

use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::appended::{COOKIE, COOKIE_SIZE};
use crate::name::{shown, tidied};
use crate::number::be32;
use crate::sink::Sink;
use crate::sniff::Codec;

/// Bytes of an entry before its name.
const ENTRY: usize = 18;

/// Reads an archive.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    archive: &[u8],
    nesting: Nesting,
) -> Flow {
    let Some(mut table) = table(archive) else {
        return reader.skip(path, "PyInstaller archive: its table is not where it says", true);
    };
    while !table.is_empty() {
        let Some((entry, rest)) = be32(table, 0)
            .and_then(|size| table.split_at_checked(size as usize))
            .filter(|(entry, _)| entry.len() > ENTRY)
        else {
            return reader.skip(path, "PyInstaller archive: its table is damaged", true);
        };
        table = rest;
        reader.begin_member()?;
        member(reader, path, archive, entry, nesting)?;
    }
    Ok(())
}

fn table(archive: &[u8]) -> Option<&[u8]> {
    let cookie = archive.get(archive.len().checked_sub(COOKIE_SIZE)?..)?.strip_prefix(COOKIE)?;
    let (at, size) = (be32(cookie, 4)? as usize, be32(cookie, 8)? as usize);
    archive.get(at..at.checked_add(size)?)
}

fn member<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    archive: &[u8],
    entry: &[u8],
    nesting: Nesting,
) -> Flow {
    let name = entry.get(ENTRY..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
    let number = |at| be32(entry, at).unwrap_or_default();
    let (at, stored, size) = (number(4) as usize, number(8) as usize, number(12));
    let is_compressed = entry.get(16) == Some(&1);
    // `o` is an option of the loader, `d` is in the archive of another program.
    if matches!(entry.get(17), Some(b'o' | b'd')) || size == 0 {
        return Ok(());
    }
    let path = format!("{path}!{}", shown(tidied(name)));
    let Some(data) = archive.get(at..at.saturating_add(stored)) else {
        return reader.skip(&path, "PyInstaller archive: cut off: it ends in this member", true);
    };
    match is_compressed {
        false => reader.content(&path, Bytes::Slice(data), nesting.within()),
        true => reader.decoded(Codec::Zlib, Bytes::Slice(data), |reader, stream| {
            reader.content(&path, Bytes::Stream(stream, Some(u64::from(size))), nesting.within())
        }),
    }
}
