//! Relocation tables in other formats than RELA → their entries, with the addends that they have.
//!
//! In: the dynamic section. Out: the entries of `DT_REL`, whose addends are in the words that they change (gABI,
//! "Relocation"), and of Android's packed tables, `DT_ANDROID_REL` and `DT_ANDROID_RELA` (bionic,
//! `linker_reloc_iterators.h`); and what could not be read.

use super::entries::{Dynamic, Rela, dynamic_kind};
use crate::image::elf::{Elf, u64_at};
use gimli::{EndianSlice, LittleEndian, Reader};

const DT_PLTRELSZ: u64 = 2;
const DT_REL: u64 = 17;
const DT_RELSZ: u64 = 18;
const DT_PLTREL: u64 = 20;
const DT_JMPREL: u64 = 23;
const DT_ANDROID_REL: u64 = 0x6000_000f;
const DT_ANDROID_RELSZ: u64 = 0x6000_0010;
const DT_ANDROID_RELA: u64 = 0x6000_0011;
const DT_ANDROID_RELASZ: u64 = 0x6000_0012;
/// What a packed table begins with.
const PACKED: &[u8] = b"APS2";

/// What tables of other formats have.
#[derive(Debug, Default)]
pub(crate) struct OtherTables {
    pub(crate) entries: Vec<Rela>,
    pub(crate) faults: Vec<String>,
}

/// Reads the tables that are not RELA.
pub(crate) fn other_tables(elf: &Elf<'_>) -> OtherTables {
    let mut found = OtherTables::default();
    let mut plain = vec![(DT_REL, DT_RELSZ)];
    if elf.dynamic_value(DT_PLTREL) == Some(DT_REL) {
        plain.push((DT_JMPREL, DT_PLTRELSZ));
    }
    for (table, size) in plain {
        found.add(elf, (table, size), "relocations without addends", |bytes| Some(plain_entries(elf, bytes)));
    }
    for (table, size) in [(DT_ANDROID_REL, DT_ANDROID_RELSZ), (DT_ANDROID_RELA, DT_ANDROID_RELASZ)] {
        // Every entry changes a word of the file; a malformed table may name the same word again and again.
        let limit = elf.bytes.len() / 8;
        let has_addends = table == DT_ANDROID_RELA;
        found.add(elf, (table, size), "packed relocations", |bytes| {
            let mut entries = packed_entries(bytes, limit)?;
            for entry in entries.iter_mut().filter(|_| !has_addends) {
                entry.addend = addend_in_place(elf, entry);
            }
            Some(entries)
        });
    }
    found
}

impl OtherTables {
    /// Adds the entries of a table that two tags of the dynamic section describe, by address and size in bytes.
    fn add(
        &mut self,
        elf: &Elf<'_>,
        (table, size): (u64, u64),
        what: &str,
        entries: impl FnOnce(&[u8]) -> Option<Vec<Rela>>,
    ) {
        let Some(at) = elf.dynamic_value(table) else { return };
        let size = elf.dynamic_value(size).unwrap_or(0);
        match elf.bytes_of(at, size).and_then(entries) {
            Some(entries) => self.entries.extend(entries),
            None => self.faults.push(format!("{at:#x}: expected {what} of {size} bytes: left out")),
        }
    }
}

fn plain_entries(elf: &Elf<'_>, table: &[u8]) -> Vec<Rela> {
    let (entries, _) = table.as_chunks::<8>();
    let (entries, _) = entries.as_chunks::<2>();
    let entries = entries.iter().map(|&[offset, info]| {
        let info = u64::from_le_bytes(info);
        let entry =
            Rela { offset: u64::from_le_bytes(offset), kind: info as u32, symbol: info >> 32, addend: 0 };
        Rela { addend: addend_in_place(elf, &entry), ..entry }
    });
    entries.collect()
}

/// The addend that the word to be changed has. Slots have none: what is there leads to the lazy binding.
fn addend_in_place(elf: &Elf<'_>, entry: &Rela) -> i64 {
    if dynamic_kind(elf.arch, entry.kind) == Some(Dynamic::Slot) {
        return 0;
    }
    let word = elf.bytes_at(entry.offset).and_then(|bytes| u64_at(bytes, 0));
    word.unwrap_or(0).cast_signed()
}

/// The entries of a packed table; `None` where it ends early, or has more than `limit`.
fn packed_entries(table: &[u8], limit: usize) -> Option<Vec<Rela>> {
    const GROUPED_BY_INFO: i64 = 1;
    const GROUPED_BY_OFFSET_DELTA: i64 = 2;
    const GROUPED_BY_ADDEND: i64 = 4;
    const HAS_ADDEND: i64 = 8;
    let mut rest = EndianSlice::new(table.strip_prefix(PACKED)?, LittleEndian);
    let mut next = || rest.read_sleb128().ok();
    let count = usize::try_from(next()?).ok().filter(|&count| count <= limit)?;
    let mut offset = next()?;
    let mut addend = 0i64;
    let mut found = Vec::new();
    while found.len() < count {
        let size = usize::try_from(next()?).ok().filter(|&size| (1..=count - found.len()).contains(&size))?;
        let flags = next()?;
        let has = |flag: i64| flags & flag != 0;
        let delta = if has(GROUPED_BY_OFFSET_DELTA) { Some(next()?) } else { None };
        let info = if has(GROUPED_BY_INFO) { Some(next()?) } else { None };
        if !has(HAS_ADDEND) {
            addend = 0;
        } else if has(GROUPED_BY_ADDEND) {
            addend = addend.wrapping_add(next()?);
        }
        for _ in 0..size {
            offset = offset.wrapping_add(match delta {
                Some(delta) => delta,
                None => next()?,
            });
            let info = match info {
                Some(info) => info,
                None => next()?,
            }
            .cast_unsigned();
            if has(HAS_ADDEND) && !has(GROUPED_BY_ADDEND) {
                addend = addend.wrapping_add(next()?);
            }
            found.push(Rela {
                offset: offset.cast_unsigned(),
                kind: info as u32,
                symbol: info >> 32,
                addend,
            });
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::packed_entries;

    /// Two relative entries in a group of one kind and distance, then one with an addend of its own.
    const TABLE: &[u8] = &[
        b'A', b'P', b'S', b'2', 3, 0x80, 0x20, // 3 entries, from 0x1000 on
        2, 11, 8, 0x83, 0x08, 0x90, 0x01,
        0x08, // group of 2: info 1027, 8 bytes apart, addends 0x90, 0x98
        1, 8, 16, 0x81, 0x02, 0x70, // group of 1: 16 bytes on, info 257, addend 0x88
    ];

    #[test]
    fn groups_share_what_they_have_in_common() {
        let entries = packed_entries(TABLE, 16).expect("reads");
        let found: Vec<_> = entries.iter().map(|it| (it.offset, it.kind, it.symbol, it.addend)).collect();
        assert_eq!(found, [(0x1008, 1027, 0, 0x90), (0x1010, 1027, 0, 0x98), (0x1020, 257, 0, 0x88)]);
    }

    #[test]
    fn a_table_that_ends_early_or_names_too_many_is_not_read() {
        for end in 0..TABLE.len() {
            assert!(packed_entries(&TABLE[..end], 16).is_none(), "{end} bytes");
        }
        assert!(packed_entries(TABLE, 2).is_none());
    }
}
