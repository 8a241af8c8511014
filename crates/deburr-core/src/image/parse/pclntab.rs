//! Go's function table → [`Symbol`]s.
//!
//! In: `.gopclntab`, or wherever the linker merged it: in an externally linked PIE it is in `.data.rel.ro` and
//! is found by its magic. Out: a function symbol per entry, as long as the distance to the next entry.
//! Format: the Go sources, `src/internal/abi/symtab.go` and `src/debug/gosym/pclntab.go`, Go 1.16 and later.

use super::cold::{ColdNames, is_cold};
use super::ranges::CodeRanges;
use super::{build, relocations, symbols};
use crate::address::Svma;
use crate::image::elf::{Elf, SHT_NOBITS, range_of, string_at, u32_at, u64_at};
use crate::image::name::{LIMIT, Name};
use crate::image::{Symbol, SymbolKind, SymbolOrigin};

const GO_1_16: u32 = 0xffff_fffa;
const GO_1_18: u32 = 0xffff_fff0;
const GO_1_20: u32 = 0xffff_fff1;

/// The part of the header that names functions.
#[derive(Debug, Clone, Copy)]
struct Header {
    magic: u32,
    count: u64,
    text: u64,
    names: u64,
    /// Where the names end: the next part begins there.
    names_end: u64,
    table: u64,
}

/// The header, if the bytes are that of a table for a 64-bit little-endian program.
fn header(bytes: &[u8], minimum_instruction: u8) -> Option<Header> {
    let magic = u32_at(bytes, 0)?;
    let [0, 0, quantum, 8] = *bytes.get(4..8)? else { return None };
    if quantum != minimum_instruction {
        return None;
    }
    let (count, after) = (u64_at(bytes, 8)?, |word: usize| u64_at(bytes, word.saturating_mul(8)));
    let header = match magic {
        // nfunc, nfiles, textStart, funcnameOffset, cuOffset, filetabOffset, pctabOffset, pclnOffset
        GO_1_18 | GO_1_20 => {
            Header { magic, count, text: after(3)?, names: after(4)?, names_end: after(5)?, table: after(8)? }
        }
        GO_1_16 => Header { magic, count, text: 0, names: after(3)?, names_end: after(4)?, table: after(7)? },
        _ => return None,
    };
    let row = if magic == GO_1_16 { 16 } else { 8 };
    range_of(bytes, header.table, count.checked_mul(row)?.checked_add(row / 2)?)?;
    (header.names < bytes.len() as u64).then_some(header)
}

/// Finds the table: by section name, else by magic at the aligned positions of data sections.
fn find<'a>(elf: &Elf<'a>) -> Option<(&'a [u8], Header)> {
    let quantum = if elf.arch == deburr_cpu::Arch::X86_64 { 1 } else { 4 };
    for name in [".gopclntab", ".data.rel.ro.gopclntab"] {
        let bytes = elf.section_data(name);
        if let Some(found) = bytes.and_then(|bytes| Some((bytes, header(bytes, quantum)?))) {
            return Some(found);
        }
    }
    // Only where Go was at work: the search reads whole sections.
    if !build::is_go(elf) {
        return None;
    }
    let data: Vec<&'a [u8]> = if elf.sections.iter().any(crate::image::elf::Section::is_alloc) {
        let kept = |section: &&crate::image::elf::Section<'a>| {
            section.is_alloc() && section.kind != SHT_NOBITS && !section.is_executable()
        };
        elf.sections.iter().filter(kept).filter_map(|section| elf.data(section)).collect()
    } else {
        let loads = elf.segments.iter().filter(|segment| segment.kind == crate::image::elf::PT_LOAD);
        loads.filter_map(|segment| range_of(elf.bytes, segment.offset, segment.file_size)).collect()
    };
    for bytes in data {
        // Sections keep the table aligned to 32 bytes, and to 8 at the least.
        for at in (0..bytes.len()).step_by(8) {
            let Some([low, 0xff, 0xff, 0xff, 0, 0, step, 8]) = bytes.get(at..at.saturating_add(8)) else {
                continue;
            };
            if !matches!(low, 0xf1 | 0xf0 | 0xfa) || *step != quantum {
                continue;
            }
            let table = bytes.get(at..).unwrap_or(&[]);
            if let Some(header) = header(table, quantum) {
                return Some((table, header));
            }
        }
    }
    None
}

/// Where Go's text begins, if the header leaves it to a relocation, as in position-independent programs, or to the
/// symbol `runtime.text`, as from Go 1.26 on. C code may be before it in `.text`.
fn text_start(elf: &Elf<'_>, table: &[u8], before_entry: impl Fn() -> Option<u64>) -> u64 {
    let offset = (table.as_ptr().addr()).wrapping_sub(elf.bytes.as_ptr().addr()) as u64;
    let inside = |start: u64, size: u64| offset.checked_sub(start).filter(|&into| into < size);
    let sections = elf.sections.iter().filter(|section| section.is_alloc() && section.kind != SHT_NOBITS);
    let mut places = sections
        .map(|section| (section.offset, section.size, section.svma))
        .chain(elf.segments.iter().map(|segment| (segment.offset, segment.file_size, segment.svma)));
    let svma =
        places.find_map(|(start, size, svma)| inside(start, size).map(|into| svma.saturating_add(into)));
    let relocated = svma.and_then(|svma| relocations::addend_at(elf, svma.saturating_add(24)));
    relocated
        .or_else(|| symbols::address_of(elf, b"runtime.text"))
        .or_else(|| elf.section(".text").map(|section| section.svma))
        .or_else(|| elf.entry.checked_sub(before_entry()?))
        .unwrap_or(elf.entry)
}

/// How far into Go's text the program's entry is, by its name: without section headers this shows where the text
/// begins.
fn offset_of_entry(elf: &Elf<'_>, rows: &[u8], names: &[u8], count: usize) -> Option<u64> {
    let entry: &[u8] = match elf.arch {
        deburr_cpu::Arch::Aarch64 => b"_rt0_arm64_linux",
        deburr_cpu::Arch::X86_64 => b"_rt0_amd64_linux",
    };
    let mut table = rows.chunks_exact(8).take(count);
    table.find_map(|row| {
        let record = usize::try_from(u32_at(row, 4)?).ok()?;
        let name = u32_at(rows, record.checked_add(4)?)?;
        let is_entry = string_at(names, u64::from(name)) == Some(entry);
        is_entry.then(|| u32_at(row, 0).map(u64::from)).flatten()
    })
}

/// The name that some bytes begin with, if it is UTF-8.
fn read_name(bytes: &[u8]) -> Option<Name<'_>> {
    let name = string_at(bytes, 0)?;
    let name = name.get(..name.len().min(LIMIT))?;
    std::str::from_utf8(name).ok().map(|_| Name::shown(name))
}

/// Adds a symbol for each function of the table.
pub(crate) fn add_symbols<'a>(
    elf: &Elf<'a>,
    ranges: &CodeRanges,
    out: &mut Vec<Symbol<'a>>,
    faults: &mut Vec<String>,
) {
    let Some((bytes, header)) = find(elf) else { return };
    let rows = usize::try_from(header.table).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let names = usize::try_from(header.names).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let Ok(count) = usize::try_from(header.count) else { return };
    let text = if header.text == 0 && header.magic != GO_1_16 {
        let before_entry = || offset_of_entry(elf, rows, names, count);
        text_start(elf, bytes, before_entry)
    } else {
        header.text
    };
    // Where the names are text as a whole, they need not be read to see that each is.
    let length = header.names_end.checked_sub(header.names);
    let known_text = length.and_then(|length| range_of(names, 0, length));
    let known_text = known_text.filter(|names| names.ends_with(&[0]));
    let known_text = known_text.and_then(deburr_text::plain_table).unwrap_or("");
    let mut cold = ColdNames::of(known_text.as_bytes());
    let is_wide = header.magic == GO_1_16;
    let row = |index: usize| -> Option<(u64, u64)> {
        if is_wide {
            let at = index.checked_mul(16)?;
            Some((u64_at(rows, at)?, u64_at(rows, at.checked_add(8)?).unwrap_or(0)))
        } else {
            let at = index.checked_mul(8)?;
            let entry = text.checked_add(u64::from(u32_at(rows, at)?))?;
            Some((entry, u64::from(u32_at(rows, at.checked_add(4)?).unwrap_or(0))))
        }
    };
    let mut added = 0usize;
    for index in 0..count {
        let Some((svma, record)) = row(index) else { break };
        let end = row(index.saturating_add(1)).map_or(svma, |(next, _)| next);
        if !ranges.contains(svma) {
            continue;
        }
        // The function record: entry (8 bytes before Go 1.18, 4 since), then the name's offset.
        let at = usize::try_from(record)
            .ok()
            .and_then(|record| record.checked_add(if is_wide { 8 } else { 4 }))
            .and_then(|at| u32_at(rows, at))
            .map(|at| at as usize)
            .filter(|&at| names.get(at).is_some_and(|&first| first != 0));
        let Some(at) = at else { continue };
        let unread = Name::unread(known_text, at).filter(|_| at < known_text.len());
        let is_unread = unread.is_some();
        let Some(name) = unread.or_else(|| read_name(names.get(at..)?)) else { continue };
        let has_cold = if is_unread { cold.has(at) } else { is_cold(&name) };
        added = added.saturating_add(1);
        out.push(Symbol {
            svma: Svma(svma),
            size: end.saturating_sub(svma),
            is_cold: has_cold,
            name,
            kind: SymbolKind::Function,
            origin: SymbolOrigin::Pclntab,
            is_global: false,
        });
    }
    if added == 0 && count > 0 {
        faults.push("Go function table: no entry is in code: left out".to_owned());
    }
}
