//! Where an ELF file ends, by its own headers (gABI, chapter 4), and which of its bytes are not loaded.
//!
//! In: the bytes of a file that begins as one. Out: the end of all that its headers lead to, sections that a program may read
//! as data of its own, the bytes before the end that nothing leads to, and where its notes are. Headers that lead past the end of
//! the file are cut there. Of segments only what is loaded counts, and the notes of a core dump: the range of any other segment
//! (`PT_GNU_STACK`) may have any bytes in it.

use crate::number::{le16, le32, le64};
use std::ops::Range;

/// What the headers of an ELF file lead to.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    /// The end of the last thing.
    pub(crate) end: usize,
    /// The end of the program headers.
    pub(crate) after_headers: usize,
    pub(crate) has_sections: bool,
    /// Sections that are not loaded.
    pub(crate) unloaded: Vec<Unloaded>,
    /// Bytes before the end that no header leads to.
    pub(crate) gaps: Vec<Range<usize>>,
    /// `PT_NOTE`.
    pub(crate) notes: Vec<Range<usize>>,
    loaded: Vec<Range<usize>>,
    /// The end of what is loaded, in memory.
    memory_end: u64,
    covered: Vec<Range<usize>>,
}

/// A section that is not loaded.
#[derive(Debug)]
pub(crate) struct Unloaded {
    pub(crate) name: Vec<u8>,
    pub(crate) range: Range<usize>,
    /// `SHT_PROGBITS`: its form is the program's own.
    pub(crate) is_progbits: bool,
}

const ET_CORE: u16 = 4;
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const SHT_PROGBITS: u32 = 1;
const SHT_NOBITS: u32 = 8;
const SHF_ALLOC: u64 = 2;

/// Fields that differ in place and width.
struct Layout {
    is_64: bool,
}

impl Layout {
    /// A number as wide as an address, at one of two places.
    fn wide(&self, bytes: &[u8], at_64: usize, at_32: usize) -> Option<u64> {
        if self.is_64 { le64(bytes, at_64) } else { le32(bytes, at_32).map(u64::from) }
    }

    fn half(&self, bytes: &[u8], at_64: usize, at_32: usize) -> Option<usize> {
        le16(bytes, if self.is_64 { at_64 } else { at_32 }).map(usize::from)
    }
}

/// Section header tables of 64-bit files are aligned to this many bytes (gABI, `Elf64_Off`).
pub(crate) const TABLE_ALIGNMENT: usize = 8;

/// The extent of a little-endian ELF file; `None` of another, and where there is no header.
pub(crate) fn extent(bytes: &[u8]) -> Option<Extent> {
    let layout = match bytes {
        [0x7f, b'E', b'L', b'F', 1, 1, ..] => Layout { is_64: false },
        [0x7f, b'E', b'L', b'F', 2, 1, ..] => Layout { is_64: true },
        _ => return None,
    };
    let mut extent = Extent::default();
    extent.cover(0..if layout.is_64 { 64 } else { 52 });
    segments(bytes, &layout, &mut extent)?;
    sections(bytes, &layout, &mut extent)?;
    extent.end = extent.end.min(bytes.len());
    extent.find_gaps();
    Some(extent)
}

impl Extent {
    /// Notes that something is there.
    fn cover(&mut self, range: Range<usize>) {
        self.end = self.end.max(range.end);
        self.covered.push(range);
    }

    fn find_gaps(&mut self) {
        self.covered.sort_unstable_by_key(|range| range.start);
        let mut end = 0;
        for range in &self.covered {
            let start = range.start.min(self.end);
            if start > end {
                self.gaps.push(end..start);
            }
            end = end.max(range.end);
        }
    }

    /// The length of a section header table at the start of some bytes of a 64-bit file of so many bytes, in bytes. Every field has to
    /// be one that a section can have, so that the table has no room for code: flags are known ones, and addresses end where memory does.
    pub(crate) fn section_headers(&self, bytes: &[u8], file: usize) -> usize {
        const HEADER: usize = 64;
        const MAX_SECTIONS: u32 = 0xffff;
        // The flags of the gABI, with SHF_GNU_RETAIN, SHF_X86_64_LARGE and SHF_EXCLUDE.
        const FLAGS: u64 = 0xff7 | 0x0020_0000 | 0x1000_0000 | 0x8000_0000;
        let file = file as u64;
        let is_header = |header: &&[u8]| {
            let half = |at: usize| le32(header, at).map_or(u64::MAX, u64::from);
            let word = |at: usize| le64(header, at).unwrap_or(u64::MAX);
            let (kind, address, offset, size, alignment) = (half(4), word(16), word(24), word(32), word(48));
            // The types of the gABI, and the range of operating systems.
            let has_type = (1..=20).contains(&kind) || (0x6fff_0000..=0x6fff_ffff).contains(&kind);
            let has_place = offset <= file && (kind == u64::from(SHT_NOBITS) || size <= file - offset);
            let has_links = half(0) <= file && half(40) <= u64::from(MAX_SECTIONS) && half(44) <= file;
            let is_aligned = alignment == 0 || alignment.is_power_of_two() && address % alignment == 0;
            let is_in_memory = address <= self.memory_end && size <= file.max(self.memory_end);
            let has_entries = word(56) <= HEADER as u64;
            has_type
                && word(8) & !FLAGS == 0
                && has_place
                && has_links
                && is_aligned
                && is_in_memory
                && has_entries
        };
        HEADER * bytes.chunks_exact(HEADER).take_while(is_header).count()
    }

    fn loads(&self, range: &Range<usize>) -> bool {
        self.loaded.iter().any(|loaded| loaded.start <= range.start && range.end <= loaded.end)
    }
}

/// The entries of a table, as far as they are there.
fn table(bytes: &[u8], at: u64, size: usize, count: usize) -> impl Iterator<Item = &[u8]> {
    let start = start_of(at);
    let end = start.saturating_add(size.saturating_mul(count)).min(bytes.len());
    bytes.get(start..end).unwrap_or_default().chunks_exact(size.max(1))
}

/// The end of a table, or of a part.
fn end_of(at: u64, size: u64) -> usize {
    usize::try_from(at.saturating_add(size)).unwrap_or(usize::MAX)
}

fn start_of(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn range(at: u64, size: u64, most: usize) -> Range<usize> {
    let end = end_of(at, size).min(most);
    start_of(at).min(end)..end
}

fn segments(bytes: &[u8], layout: &Layout, extent: &mut Extent) -> Option<()> {
    let at = layout.wide(bytes, 32, 28)?;
    let (size, count) = (layout.half(bytes, 54, 42)?, layout.half(bytes, 56, 44)?);
    if at == 0 || count == 0 {
        return Some(());
    }
    extent.after_headers = end_of(at, (size * count) as u64);
    extent.cover(start_of(at)..extent.after_headers);
    let is_core = le16(bytes, 16) == Some(ET_CORE);
    for header in table(bytes, at, size, count) {
        let (Some(offset), Some(length)) = (layout.wide(header, 8, 4), layout.wide(header, 32, 16)) else {
            continue;
        };
        let place = range(offset, length, bytes.len());
        match le32(header, 0) {
            Some(PT_LOAD) => {
                if let (Some(address), Some(size)) = (layout.wide(header, 16, 8), layout.wide(header, 40, 20))
                {
                    extent.memory_end = extent.memory_end.max(address.saturating_add(size));
                }
                extent.cover(place.clone());
                extent.loaded.push(place);
            }
            Some(PT_NOTE) => {
                if is_core {
                    extent.cover(place.clone());
                }
                extent.notes.push(place);
            }
            _ => {}
        }
    }
    Some(())
}

fn sections(bytes: &[u8], layout: &Layout, extent: &mut Extent) -> Option<()> {
    let at = layout.wide(bytes, 40, 32)?;
    let (size, mut count) = (layout.half(bytes, 58, 46)?, layout.half(bytes, 60, 48)?);
    let mut names = layout.half(bytes, 62, 50)?;
    if at == 0 || size == 0 {
        return Some(());
    }
    // Where there are more than a half can say, the first section says it.
    let first = table(bytes, at, size, 1).next()?;
    if count == 0 {
        count = usize::try_from(layout.wide(first, 32, 20)?).ok()?;
    }
    if names == 0xffff {
        names = le32(first, if layout.is_64 { 40 } else { 24 })? as usize;
    }
    extent.has_sections = count > 0;
    extent.cover(start_of(at)..end_of(at, size as u64 * count as u64));
    let part =
        |header: &[u8]| Some(range(layout.wide(header, 24, 16)?, layout.wide(header, 32, 20)?, bytes.len()));
    let strings = table(bytes, at, size, count).nth(names).and_then(part);
    let strings = strings.and_then(|range| bytes.get(range)).unwrap_or_default();
    for header in table(bytes, at, size, count) {
        let (Some(kind), Some(flags)) = (le32(header, 4), layout.wide(header, 8, 8)) else { continue };
        let Some(place) = part(header).filter(|_| kind != SHT_NOBITS && kind != 0) else { continue };
        extent.cover(place.clone());
        // What is flagged as loaded may be in no segment that is; an object file has none.
        let is_loaded = flags & SHF_ALLOC != 0 && (extent.loaded.is_empty() || extent.loads(&place));
        if !is_loaded {
            let name = le32(header, 0).and_then(|at| strings.get(at as usize..)).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let (name, is_progbits) = (name.to_vec(), kind == SHT_PROGBITS);
            extent.unloaded.push(Unloaded { name, range: place, is_progbits });
        }
    }
    Some(())
}
