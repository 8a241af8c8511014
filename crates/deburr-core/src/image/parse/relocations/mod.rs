//! Relocations → what the loader calls, what data points to, and what the linker will call.
//!
//! In: the relocation tables of a file and its init arrays. Out: entries, pointers to code, the transfers of a
//! relocatable object, and what each slot of the global offset table will hold.
//! Follows the x86-64 psABI, "Relocation Types", the AArch64 ELF supplement, "Relocation", and the gABI,
//! "Relative Relocation Table".

mod entries;
pub(crate) mod formats;

pub(crate) use entries::{Dynamic, RELA, Rela, dynamic_kind, entries_of, is_harmless, is_of_linkage_table};

use super::ranges::CodeRanges;
use super::symbols::SymbolTable;
use crate::address::{Extent, Svma};
use crate::image::elf::{
    Elf, PF_X, PT_LOAD, SHT_FINI_ARRAY, SHT_INIT_ARRAY, SHT_NOBITS, SHT_PREINIT_ARRAY, SHT_PROGBITS,
    SHT_RELA, Section, range_of, u64_at,
};
use crate::image::sorted::sort_addresses;
use crate::image::{ArrayKind, Image, Kind, Transfer, TransferTarget};
use deburr_cpu::Arch;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Where in the code of a linked file relocations apply, by address: code that the loader changes, or that another
/// section describes.
pub fn relocated_code(image: &Image<'_>) -> Vec<Svma> {
    Elf::parse(image.bytes).map_or_else(|_| Vec::new(), |elf| places_in_code(&elf))
}

/// Where in code relocations apply, by address: text relocations, and those that `--emit-relocs` keeps.
pub(crate) fn places_in_code(elf: &Elf<'_>) -> Vec<Svma> {
    let code = elf.sections.iter().filter(|section| section.is_executable() && section.is_alloc());
    let code: Vec<Extent> = code.map(Section::extent).collect();
    let tables = elf.sections.iter().filter(|section| section.kind == SHT_RELA);
    let about_code = tables.filter(|table| {
        let target = elf.sections.get(table.info as usize);
        table.is_alloc() || target.is_some_and(Section::is_executable)
    });
    let entries = about_code.filter_map(|table| elf.data(table)).flat_map(entries_of);
    let mut found: Vec<Svma> =
        entries.map(|entry| Svma(entry.offset)).filter(|&at| code.iter().any(|it| it.contains(at))).collect();
    found.sort_unstable();
    found
}

/// What a slot of the global offset table will hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot<'a> {
    /// The address of a symbol.
    Symbol(&'a str),
    /// What the resolver at this address returns.
    Resolver(u64),
}

/// What relocations say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Relocations<'a> {
    pub(crate) entries: Vec<Svma>,
    pub(crate) pointers: Vec<Svma>,
    pub(crate) transfers: Vec<Transfer<'a>>,
    pub(crate) addresses: Vec<(Svma, Svma)>,
    /// By address, and those of one address in their order.
    pub(crate) slots: Vec<(u64, Slot<'a>)>,
    pub(crate) arrays: Vec<(Extent, ArrayKind)>,
    /// Whether some of a linked file could not be read, or are of unknown types.
    pub(crate) is_incomplete: bool,
}

/// Entry point, `DT_INIT` and `DT_FINI`: addresses that need no relocation.
pub(crate) fn called_by_loader(elf: &Elf<'_>) -> Vec<u64> {
    let named = [elf.entry, elf.dynamic_value(12).unwrap_or(0), elf.dynamic_value(13).unwrap_or(0)];
    let sections = [".init", ".fini"].into_iter().filter_map(|name| elf.section(name));
    let sections = sections.filter(|_| elf.kind != Kind::Relocatable).map(|section| section.svma);
    named.into_iter().filter(|&svma| svma != 0).chain(sections).collect()
}

/// Where the arrays of functions are that the loader calls.
fn arrays(elf: &Elf<'_>) -> Vec<(Extent, ArrayKind)> {
    let kind_of = |section: &Section<'_>| match (section.kind, section.name) {
        (SHT_PREINIT_ARRAY, _) => Some(ArrayKind::Preinit),
        (SHT_INIT_ARRAY, _) | (_, ".ctors") => Some(ArrayKind::Init),
        (SHT_FINI_ARRAY, _) | (_, ".dtors") => Some(ArrayKind::Fini),
        _ => None,
    };
    let sections = elf.sections.iter().filter_map(|section| Some((section.extent(), kind_of(section)?)));
    let mut found: Vec<(Extent, ArrayKind)> = sections.collect();
    let tags = [(25, 27, ArrayKind::Init), (26, 28, ArrayKind::Fini), (32, 33, ArrayKind::Preinit)];
    for (start, size, kind) in tags {
        if let (Some(start), Some(size)) = (elf.dynamic_value(start), elf.dynamic_value(size)) {
            found.push((Extent::sized(Svma(start), size), kind));
        }
    }
    found.sort_unstable();
    found.dedup();
    // A handful in every real file; more would make each relocation go through all of them.
    found.truncate(64);
    found
}

/// The relocation tables that the loader reads.
pub(crate) fn dynamic_tables<'a>(elf: &Elf<'a>) -> Vec<&'a [u8]> {
    let sections = elf.sections.iter().filter(|section| section.kind == SHT_RELA && section.is_alloc());
    let mut found: Vec<(u64, &'a [u8])> =
        sections.filter_map(|section| Some((section.svma, elf.data(section)?))).collect();
    if found.is_empty() {
        // DT_PLTREL: of which format DT_JMPREL is.
        let is_plain = elf.dynamic_value(20) == Some(17);
        for (table, size) in [(7, 8), (23, 2)].into_iter().filter(|&(table, _)| !is_plain || table == 7) {
            if let (Some(table), Some(size)) = (elf.dynamic_value(table), elf.dynamic_value(size)) {
                found.extend(elf.bytes_of(table, size).map(|bytes| (table, bytes)));
            }
        }
    }
    let first = elf.segments.iter().find(|segment| segment.kind == PT_LOAD && segment.offset == 0);
    if let Some(first) = first.filter(|_| found.is_empty() && !elf.sections.iter().any(Section::is_alloc)) {
        let segment = Extent::sized(Svma(first.svma), first.file_size);
        found.extend(after_notes(elf, segment).map(|table| (first.svma, table)));
    }
    // Two headers over the same bytes would make the work larger than the file.
    found.sort_unstable_by_key(|&(svma, bytes)| (svma, bytes.len()));
    found.dedup_by_key(|&mut (svma, _)| svma);
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// The relocations by the ifuncs of a static program, to which no program header points: they are after the notes.
pub(crate) fn after_notes<'a>(elf: &Elf<'a>, segment: Extent) -> Option<&'a [u8]> {
    let rest = elf.bytes_at(elf.notes_end(segment))?;
    let is_irelative =
        |rela: &Rela| rela.symbol == 0 && dynamic_kind(elf.arch, rela.kind) == Some(Dynamic::Irelative);
    let count = entries_of(rest).take_while(is_irelative).count();
    rest.get(..count.checked_mul(RELA)?)
}

/// The addend of the relocation that fills in the word at an address.
pub(crate) fn addend_at(elf: &Elf<'_>, svma: u64) -> Option<u64> {
    let tables = dynamic_tables(elf);
    let mut relocations = tables.into_iter().flat_map(entries_of).chain(formats::other_tables(elf).entries);
    relocations
        .find(|rela| rela.offset == svma && dynamic_kind(elf.arch, rela.kind) == Some(Dynamic::Relative))
        .map(|rela| rela.addend.cast_unsigned())
}

/// Addresses of the words that the relative relocation tables name (`DT_RELR`, `DT_ANDROID_RELR`, `DT_AARCH64_AUTH_RELR`), and
/// the addresses that they will hold.
pub(crate) fn relr(elf: &Elf<'_>, mut found: impl FnMut(u64, u64)) {
    for (table, size) in [(36, 35), (0x6fff_e000, 0x6fff_e001)] {
        if let Some(table) = relr_table(elf, table, size) {
            words_of_relr(elf, table, &mut found);
        }
    }
    if let Some(table) = relr_table(elf, 0x7000_0012, 0x7000_0011).filter(|_| elf.arch == Arch::Aarch64) {
        // The high half says how the address is to be signed.
        words_of_relr(elf, table, &mut |at, word| found(at, i64::from(word as i32).cast_unsigned()));
    }
}

fn relr_table<'a>(elf: &Elf<'a>, table: u64, size: u64) -> Option<&'a [u8]> {
    elf.bytes_of(elf.dynamic_value(table)?, elf.dynamic_value(size)?)
}

fn words_of_relr(elf: &Elf<'_>, table: &[u8], found: &mut impl FnMut(u64, u64)) {
    // The bytes from the last word looked up on: neighbouring words come one after the other.
    let mut window: (u64, &[u8]) = (0, &[]);
    let mut word = |svma: u64| {
        let inside =
            |(start, bytes): (u64, &[u8])| u64_at(bytes, usize::try_from(svma.checked_sub(start)?).ok()?);
        let value = inside(window).or_else(|| {
            window = (svma, elf.bytes_at(svma)?);
            inside(window)
        });
        if let Some(value) = value {
            found(svma, value);
        }
    };
    let mut next = 0u64;
    for entry in table.chunks_exact(8).filter_map(|entry| u64_at(entry, 0)) {
        if entry & 1 == 0 {
            word(entry);
            next = entry.wrapping_add(8);
        } else {
            for bit in 0..63u64 {
                if entry >> (bit + 1) & 1 == 1 {
                    word(next.wrapping_add(bit * 8));
                }
            }
            next = next.wrapping_add(63 * 8);
        }
    }
}

/// Reads all that relocations say about code.
pub(crate) fn read<'a>(elf: &Elf<'a>, ranges: &CodeRanges) -> (Relocations<'a>, Vec<String>) {
    let mut faults = Vec::new();
    let mut out = Relocations { arrays: arrays(elf), ..Relocations::default() };
    let arrays: Vec<Extent> = out.arrays.iter().map(|&(extent, _)| extent).collect();
    out.entries.extend(called_by_loader(elf).into_iter().filter(|&svma| ranges.contains(svma)).map(Svma));
    if elf.kind == Kind::Relocatable {
        read_relocatable(elf, ranges, &arrays, &mut out);
    } else {
        read_linked(elf, ranges, &arrays, &mut out, &mut faults);
    }
    for array in &arrays {
        let words = elf.bytes_of(array.start.0, array.len()).unwrap_or(&[]);
        let values = words.chunks_exact(8).filter_map(|word| u64_at(word, 0));
        // An object's unrelocated zero would be the first section's first byte.
        let values = values.filter(|&value| value != 0 && ranges.contains(value));
        out.entries.extend(values.filter(|_| elf.kind != Kind::Relocatable).map(Svma));
    }
    for list in [&mut out.entries, &mut out.pointers] {
        sort_addresses(list);
        list.shrink_to_fit();
    }
    out.slots.sort_by_key(|&(at, _)| at);
    out.transfers.sort_by_key(|transfer| transfer.from);
    out.addresses.sort_unstable();
    (out, faults)
}

fn read_linked<'a>(
    elf: &Elf<'a>,
    ranges: &CodeRanges,
    arrays: &[Extent],
    out: &mut Relocations<'a>,
    faults: &mut Vec<String>,
) {
    /// Bytes of the relocations that one thread reads together: a large program has a million of them.
    const SHARD: usize = RELA << 16;
    let symbols = SymbolTable::dynamic(elf);
    let is_array = |svma: u64| arrays.iter().any(|array| array.contains(Svma(svma)));
    let shards: Vec<&[u8]> = dynamic_tables(elf).into_iter().flat_map(|table| table.chunks(SHARD)).collect();
    let found: Vec<Relocations<'a>> = shards
        .into_par_iter()
        .map(|shard| {
            let mut out = Relocations::default();
            for rela in entries_of(shard) {
                read_dynamic(elf, ranges, &is_array, symbols, &rela, &mut out);
            }
            out
        })
        .collect();
    out.pointers.reserve(found.iter().map(|found| found.pointers.len()).sum());
    let other = formats::other_tables(elf);
    out.is_incomplete = !other.faults.is_empty() || found.iter().any(|found| found.is_incomplete);
    faults.extend(other.faults);
    for rela in &other.entries {
        read_dynamic(elf, ranges, &is_array, symbols, rela, out);
    }
    for found in found {
        out.pointers.extend(found.pointers);
        out.entries.extend(found.entries);
        out.slots.extend(found.slots);
    }
    relr(elf, |svma, value| {
        if ranges.contains(value) {
            out.pointers.push(Svma(value));
            if is_array(svma) {
                out.entries.push(Svma(value));
            }
        }
    });
    if elf.is_fixed {
        let values = words_of_data(elf, ranges.bounds()).map(|(_, value)| value);
        out.pointers.extend(values.filter(|&value| ranges.contains(value)).map(Svma));
    }
}

/// Reads one relocation of a linked file.
fn read_dynamic<'a>(
    elf: &Elf<'a>,
    ranges: &CodeRanges,
    is_array: &impl Fn(u64) -> bool,
    symbols: Option<SymbolTable<'a>>,
    rela: &Rela,
    out: &mut Relocations<'a>,
) {
    let Some(kind) = dynamic_kind(elf.arch, rela.kind) else {
        out.is_incomplete |= !is_harmless(elf.arch, rela.kind);
        return;
    };
    // Nearly all are of this kind, and most of them lead to data.
    if kind == Dynamic::Relative && !ranges.contains(rela.addend.cast_unsigned()) {
        return;
    }
    let symbol = || symbols.and_then(|table| Some((table, table.get(rela.symbol)?)));
    let target = match kind {
        Dynamic::Copy => return,
        Dynamic::Relative | Dynamic::Irelative => Some(rela.addend.cast_unsigned()),
        Dynamic::Absolute | Dynamic::Slot => symbol()
            .and_then(|(table, symbol)| table.svma(elf, &symbol, rela.symbol))
            .map(|svma| svma.wrapping_add_signed(rela.addend)),
    };
    match kind {
        Dynamic::Irelative => {
            out.slots.push((rela.offset, Slot::Resolver(rela.addend.cast_unsigned())));
        }
        Dynamic::Slot => {
            if let Some((table, symbol)) = symbol() {
                out.slots.push((rela.offset, Slot::Symbol(table.text(&symbol))));
            }
        }
        Dynamic::Relative | Dynamic::Absolute | Dynamic::Copy => {}
    }
    let Some(target) = target.filter(|&target| ranges.contains(target)) else { return };
    out.pointers.push(Svma(target));
    // The loader calls resolvers itself.
    if kind == Dynamic::Irelative || is_array(rela.offset) {
        out.entries.push(Svma(target));
    }
}

/// Whether a section holds what the program itself reads or writes, and may hold addresses: neither unwind tables nor
/// what is for the loader alone.
pub(crate) fn may_hold_pointers(section: &Section<'_>) -> bool {
    section.is_alloc()
        && !section.is_executable()
        && matches!(section.kind, SHT_PROGBITS | SHT_INIT_ARRAY | SHT_FINI_ARRAY | SHT_PREINIT_ARRAY)
        && !section.name.starts_with(".eh_frame")
        && !matches!(section.name, ".gcc_except_table" | ".interp" | ".gopclntab" | ".gosymtab")
}

/// Each aligned word of data whose value is in a range, as (address, value), area by area. In a file that is loaded where
/// it says, nothing marks the words that hold addresses: each that could be one is taken for one.
pub(crate) fn words_of_data(elf: &Elf<'_>, values: Range<u64>) -> impl Iterator<Item = (u64, u64)> + use<> {
    /// Words that one thread reads together.
    const SHARD: usize = 1 << 17;
    let span = values.end.saturating_sub(values.start);
    let shards: Vec<(u64, &[[u8; 8]])> = areas_of_data(elf)
        .into_iter()
        .flat_map(|(first, words)| {
            let shards = (0u64..).zip(words.chunks(SHARD));
            shards.map(move |(index, words)| (first.wrapping_add(index * (8 * SHARD as u64)), words))
        })
        .collect();
    let found: Vec<Vec<(u64, u64)>> = shards
        .into_par_iter()
        .map(|(first, words)| {
            let words = (0u64..).zip(words).map(|(index, word)| (index, u64::from_le_bytes(*word)));
            let words = words.filter(|(_, value)| value.wrapping_sub(values.start) < span);
            words.map(|(index, value)| (first.wrapping_add(index * 8), value)).collect()
        })
        .collect();
    found.into_iter().flatten()
}

/// The data that may hold addresses, in words from the first aligned address on, by address and without overlap.
fn areas_of_data<'a>(elf: &Elf<'a>) -> Vec<(u64, &'a [[u8; 8]])> {
    let mut areas: Vec<(u64, &'a [u8])> = Vec::new();
    for section in elf.sections.iter().filter(|section| may_hold_pointers(section)) {
        areas.extend(elf.data(section).map(|bytes| (section.svma, bytes)));
    }
    if !elf.sections.iter().any(Section::is_alloc) {
        let loads = elf.segments.iter().filter(|s| s.kind == PT_LOAD && s.flags & PF_X == 0);
        for segment in loads {
            // The headers hold addresses that no program follows.
            let is_first = segment.offset == 0;
            let start = if is_first { elf.headers_end(segment.svma) } else { segment.svma };
            let skip = start.saturating_sub(segment.svma);
            let bytes = segment
                .file_size
                .checked_sub(skip)
                .and_then(|length| range_of(elf.bytes, segment.offset.checked_add(skip)?, length));
            areas.extend(bytes.map(|bytes| (start, bytes)));
        }
    }
    // Headers over the same bytes would make the work larger than the file.
    areas.sort_unstable_by_key(|&(svma, bytes)| (svma, bytes.len()));
    let mut done = 0u64;
    areas.retain(|&(svma, bytes)| {
        let is_new = svma >= done;
        if is_new {
            done = svma.saturating_add(bytes.len() as u64);
        }
        is_new
    });
    let words = areas.into_iter().filter_map(|(svma, bytes)| {
        let skip = svma.wrapping_neg() & 7;
        let bytes = bytes.get(usize::try_from(skip).ok()?..)?;
        Some((svma.checked_add(skip)?, bytes.as_chunks().0))
    });
    words.collect()
}

/// How a relocation of an object's code uses its symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InCode {
    /// A call or jump, which begins this many bytes before the relocated field.
    Transfer { before: u64, is_call: bool },
    /// An address that the code takes, relative to the end of the field (x86-64) or absolute.
    Address { is_relative: bool },
}

pub(crate) fn in_code(arch: Arch, kind: u32, code: &[u8], at: usize) -> Option<InCode> {
    let back = |bytes: usize| at.checked_sub(bytes).and_then(|at| code.get(at)).copied().unwrap_or(0);
    match (arch, kind) {
        // PC32, PLT32
        (Arch::X86_64, 2 | 4) => Some(match (back(2), back(1)) {
            (_, 0xe8) => InCode::Transfer { before: 1, is_call: true },
            (_, 0xe9) => InCode::Transfer { before: 1, is_call: false },
            (0x0f, 0x80..=0x8f) => InCode::Transfer { before: 2, is_call: false },
            _ => InCode::Address { is_relative: true },
        }),
        // GOTPCRELX before `call *symbol@GOTPCREL(%rip)` or `jmp`: the linker may make it a direct one.
        (Arch::X86_64, 9 | 41) => match (back(2), back(1)) {
            (0xff, 0x15) => Some(InCode::Transfer { before: 2, is_call: true }),
            (0xff, 0x25) => Some(InCode::Transfer { before: 2, is_call: false }),
            _ => Some(InCode::Address { is_relative: true }),
        },
        (Arch::X86_64, 42) => Some(InCode::Address { is_relative: true }),
        (Arch::X86_64, 1 | 10 | 11) => Some(InCode::Address { is_relative: false }),
        // CALL26; JUMP26, CONDBR19, TSTBR14
        (Arch::Aarch64, 283) => Some(InCode::Transfer { before: 0, is_call: true }),
        (Arch::Aarch64, 279 | 280 | 282) => Some(InCode::Transfer { before: 0, is_call: false }),
        // ABS64, ADR_PREL_LO21, ADD_ABS_LO12_NC
        (Arch::Aarch64, 257 | 274 | 277) => Some(InCode::Address { is_relative: false }),
        _ => None,
    }
}

/// A section of an object that is loaded, with its relocations.
pub(crate) struct Relocated<'e, 'a> {
    pub(crate) target: &'e Section<'a>,
    /// What the section holds before it is relocated.
    pub(crate) bytes: &'a [u8],
    /// The table, for [`entries_of`].
    pub(crate) table: &'a [u8],
    pub(crate) symbols: SymbolTable<'a>,
}

/// The relocated sections of an object.
pub(crate) fn relocated_sections<'e, 'a>(elf: &'e Elf<'a>) -> Vec<Relocated<'e, 'a>> {
    let mut tables: HashMap<u32, Option<SymbolTable<'a>>> = HashMap::new();
    // Headers over the same bytes would make the work larger than the file.
    let mut left = elf.bytes.len();
    let mut found = Vec::new();
    for section in elf.sections.iter().filter(|section| section.kind == SHT_RELA) {
        let target = usize::try_from(section.info).ok().and_then(|index| elf.sections.get(index));
        let Some(target) = target.filter(|target| target.is_alloc() && target.kind != SHT_NOBITS) else {
            continue;
        };
        // Unwind tables point to code too, but are read as what they are.
        if target.name.starts_with(".eh_frame") {
            continue;
        }
        let (Some(table), Some(bytes)) = (elf.data(section), elf.data(target)) else { continue };
        let symbols = *tables.entry(section.link).or_insert_with(|| {
            usize::try_from(section.link).ok().and_then(|index| SymbolTable::of_section(elf, index))
        });
        let Some(symbols) = symbols else { continue };
        let Some(rest) = left.checked_sub(table.len()) else { break };
        left = rest;
        found.push(Relocated { target, bytes, table, symbols });
    }
    found
}

fn read_relocatable<'a>(elf: &Elf<'a>, ranges: &CodeRanges, arrays: &[Extent], out: &mut Relocations<'a>) {
    let is_array = |svma: u64| arrays.iter().any(|array| array.contains(Svma(svma)));
    for Relocated { target, bytes: code, table, symbols } in relocated_sections(elf) {
        for rela in entries_of(table) {
            let Some(symbol) = symbols.get(rela.symbol) else { continue };
            let here = symbols.svma(elf, &symbol, rela.symbol);
            let site = target.svma.saturating_add(rela.offset);
            if !target.is_executable() {
                let is_absolute = dynamic_kind(elf.arch, rela.kind) == Some(Dynamic::Absolute);
                let pointer = here.map(|svma| svma.wrapping_add_signed(rela.addend));
                if let Some(pointer) = pointer.filter(|&svma| is_absolute && ranges.contains(svma)) {
                    out.pointers.push(Svma(pointer));
                    if is_array(site) {
                        out.entries.push(Svma(pointer));
                    }
                }
                continue;
            }
            let Some(use_) =
                usize::try_from(rela.offset).ok().and_then(|at| in_code(elf.arch, rela.kind, code, at))
            else {
                continue;
            };
            // A field relative to the next instruction has that distance, 4 bytes, in its addend.
            let is_relative = match use_ {
                InCode::Transfer { .. } => elf.arch == Arch::X86_64,
                InCode::Address { is_relative } => is_relative,
            };
            let here = here.map(|svma| {
                svma.wrapping_add_signed(rela.addend).wrapping_add(if is_relative { 4 } else { 0 })
            });
            match use_ {
                InCode::Transfer { before, is_call } => {
                    let to = match here {
                        Some(svma) => TransferTarget::Here(Svma(svma)),
                        None => TransferTarget::Elsewhere(symbols.text(&symbol)),
                    };
                    let from = Svma(site.saturating_sub(before));
                    if ranges.contains(from.0) {
                        out.transfers.push(Transfer { from, to, is_call });
                    }
                }
                InCode::Address { .. } => {
                    if let Some(to) = here.filter(|&svma| ranges.contains(svma)).map(Svma) {
                        out.pointers.push(to);
                        // Its section may be left out, where it overlaps another.
                        if ranges.contains(site) {
                            out.addresses.push((Svma(site), to));
                        }
                    }
                }
            }
        }
    }
}
