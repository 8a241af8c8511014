//! Symbol tables → [`Symbol`]s in code.
//!
//! In: `.symtab` or `.dynsym` of a file (or of its debug file), or without section headers the table that the
//! dynamic section points to. Out: symbols that are in code, sorted, the better name first at one address.
//! Names are borrowed from the file, and only those of symbols at one address are read. The work is linear, except where
//! many symbols have one address. Follows the gABI, "Symbol Table", and the AArch64 ELF supplement, "Mapping symbols".

use super::cold::ColdNames;
use super::ranges::CodeRanges;
use crate::address::Svma;
use crate::image::elf::{Elf, SHT_DYNSYM, SHT_SYMTAB_SHNDX, Section, range_of, string_at, u32_at};
use crate::image::name::{LIMIT, Name};
use crate::image::sorted::sort_by_address;
use crate::image::{Kind, Symbol, SymbolKind, SymbolOrigin};
use deburr_cpu::Arch;

const SYMBOL: usize = 24;
const SHN_ABS: u16 = 0xfff1;
const SHN_XINDEX: u16 = 0xffff;

/// An entry of a symbol table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawSymbol {
    pub(crate) name: u32,
    pub(crate) info: u8,
    /// `st_other`; its low two bits are the visibility.
    pub(crate) other: u8,
    pub(crate) section: u16,
    pub(crate) value: u64,
    pub(crate) size: u64,
}

/// A symbol table with its strings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SymbolTable<'a> {
    entries: &'a [u8],
    strings: &'a [u8],
    extended: &'a [u8],
}

impl<'a> SymbolTable<'a> {
    /// The table in a section.
    pub(crate) fn of_section(elf: &Elf<'a>, index: usize) -> Option<SymbolTable<'a>> {
        let section = elf.sections.get(index)?;
        let strings = elf.sections.get(usize::try_from(section.link).ok()?)?;
        let extended = elf
            .sections
            .iter()
            .find(|other| other.kind == SHT_SYMTAB_SHNDX && usize::try_from(other.link) == Ok(index))
            .and_then(|other| elf.data(other));
        Some(SymbolTable {
            entries: elf.data(section)?,
            strings: elf.data(strings)?,
            extended: extended.unwrap_or(&[]),
        })
    }

    /// The first table of a kind.
    pub(crate) fn of_kind(elf: &Elf<'a>, kind: u32) -> Option<SymbolTable<'a>> {
        let index = elf.sections.iter().position(|section| section.kind == kind)?;
        SymbolTable::of_section(elf, index)
    }

    /// The dynamic symbol table, from the section headers or else from the dynamic section.
    pub(crate) fn dynamic(elf: &Elf<'a>) -> Option<SymbolTable<'a>> {
        SymbolTable::of_kind(elf, SHT_DYNSYM).or_else(|| {
            let (table, strings) = (elf.dynamic_value(6)?, elf.dynamic_value(5)?);
            let count = dynamic_count(elf)?;
            Some(SymbolTable {
                entries: elf.bytes_of(table, count.checked_mul(SYMBOL as u64)?)?,
                strings: elf.bytes_of(strings, elf.dynamic_value(10)?)?,
                extended: &[],
            })
        })
    }

    pub(crate) fn get(&self, index: u64) -> Option<RawSymbol> {
        self.entries.as_chunks().0.get(usize::try_from(index).ok()?).map(RawSymbol::read)
    }

    /// How many entries there are.
    pub(crate) fn count(&self) -> usize {
        self.entries.len() / SYMBOL
    }

    /// The entries with their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, RawSymbol)> + use<'a> {
        (0..).zip(self.entries.as_chunks().0.iter().map(RawSymbol::read))
    }

    /// The entries that are wanted with their names, and their indices. Names are all over the strings: a block of them is
    /// touched before one is read, so that the waits for memory overlap.
    pub(crate) fn iter_named(
        &self,
        is_wanted: impl Fn(&RawSymbol) -> bool,
    ) -> impl Iterator<Item = (u64, RawSymbol)> {
        const BLOCK: usize = 64;
        let table = *self;
        let blocks = (0u64..).step_by(BLOCK).zip(self.entries.as_chunks().0.chunks(BLOCK));
        blocks.flat_map(move |(first, block)| {
            let symbols = (first..).zip(block.iter().map(RawSymbol::read));
            let wanted: Vec<(u64, RawSymbol)> = symbols.filter(|(_, symbol)| is_wanted(symbol)).collect();
            let names = wanted.iter().map(|(_, symbol)| table.strings_from(symbol).first().copied());
            std::hint::black_box(names.fold(0, |all, first| all | first.unwrap_or(0)));
            wanted
        })
    }

    pub(crate) fn name(&self, symbol: &RawSymbol) -> &'a [u8] {
        string_at(self.strings_from(symbol), 0).unwrap_or(b"")
    }

    /// The strings from a symbol's name on, as far as a name may reach.
    fn strings_from(&self, symbol: &RawSymbol) -> &'a [u8] {
        let start = symbol.name as usize;
        self.strings.get(start..self.strings.len().min(start.saturating_add(LIMIT))).unwrap_or(b"")
    }

    /// The name, if it is UTF-8 that can be shown as it is.
    pub(crate) fn text(&self, symbol: &RawSymbol) -> &'a str {
        deburr_text::plain(self.name(symbol)).unwrap_or("")
    }

    /// The section that defines a symbol.
    pub(crate) fn section<'e>(
        &self,
        elf: &'e Elf<'a>,
        symbol: &RawSymbol,
        index: u64,
    ) -> Option<&'e Section<'a>> {
        let section = match symbol.section {
            0 => return None,
            SHN_XINDEX => u32_at(self.extended, usize::try_from(index.checked_mul(4)?).ok()?)?,
            reserved if reserved >= 0xff00 => return None,
            section => u32::from(section),
        };
        elf.sections.get(usize::try_from(section).ok()?)
    }

    /// The address of a symbol that this file defines.
    pub(crate) fn svma(&self, elf: &Elf<'a>, symbol: &RawSymbol, index: u64) -> Option<u64> {
        if symbol.section == 0 || symbol.section == SHN_ABS {
            return None;
        }
        let section = self.section(elf, symbol, index);
        if elf.kind != Kind::Relocatable {
            // Assemblers mark data in debug sections too: their symbols' values are offsets, not addresses.
            return section.is_none_or(Section::is_alloc).then_some(symbol.value);
        }
        section?.svma.checked_add(symbol.value)
    }
}

impl RawSymbol {
    /// `STT_OBJECT`, `STT_FUNC`, …
    pub(crate) fn kind(&self) -> u8 {
        self.info & 15
    }

    /// Whether the binding is global, weak or unique.
    pub(crate) fn is_global(&self) -> bool {
        self.info >> 4 != 0
    }

    /// Whether the loader may take another file's symbol of this name instead (`STV_DEFAULT`, and not local).
    pub(crate) fn is_preemptible(&self) -> bool {
        self.is_global() && self.other & 3 == 0
    }

    /// Whether other files cannot refer to it (`STV_HIDDEN`, `STV_INTERNAL`).
    pub(crate) fn is_hidden(&self) -> bool {
        matches!(self.other & 3, 1 | 2)
    }

    fn read(entry: &[u8; SYMBOL]) -> RawSymbol {
        let [n0, n1, n2, n3, info, other, s0, s1, rest @ ..] = *entry;
        let [v0, v1, v2, v3, v4, v5, v6, v7, size @ ..] = rest;
        RawSymbol {
            name: u32::from_le_bytes([n0, n1, n2, n3]),
            info,
            other,
            section: u16::from_le_bytes([s0, s1]),
            value: u64::from_le_bytes([v0, v1, v2, v3, v4, v5, v6, v7]),
            size: u64::from_le_bytes(size),
        }
    }
}

/// How many entries the dynamic symbol table has: `nchain` of `DT_HASH`, or the last symbol on the chains of
/// `DT_GNU_HASH`.
fn dynamic_count(elf: &Elf<'_>) -> Option<u64> {
    if let Some(hash) = elf.dynamic_value(4) {
        return Some(u64::from(u32_at(elf.bytes_at(hash)?, 4)?));
    }
    let table = elf.bytes_at(elf.dynamic_value(0x6fff_fef5)?)?;
    let (buckets, first) = (u32_at(table, 0)?, u32_at(table, 4)?);
    let bloom = u64::from(u32_at(table, 8)?).checked_mul(8)?;
    let bucket_area = range_of(table, bloom.checked_add(16)?, u64::from(buckets).checked_mul(4)?)?;
    let chains = u64::from(buckets).checked_mul(4)?.checked_add(bloom)?.checked_add(16)?;
    let last = bucket_area.chunks_exact(4).filter_map(|bucket| u32_at(bucket, 0)).max()?;
    if last < first {
        return Some(u64::from(first));
    }
    let mut index = u64::from(last);
    loop {
        let at = index.checked_sub(u64::from(first))?.checked_mul(4)?.checked_add(chains)?;
        if u32_at(table, usize::try_from(at).ok()?)? & 1 == 1 {
            return index.checked_add(1);
        }
        index = index.checked_add(1)?;
    }
}

/// What a symbol names, if it is one to keep. `name`: the strings from its name on.
fn kind_of(symbol: &RawSymbol, name: &[u8], arch: Arch) -> Option<SymbolKind> {
    match symbol.kind() {
        2 => Some(SymbolKind::Function),
        10 => Some(SymbolKind::IfuncResolver),
        1 => Some(SymbolKind::Object),
        0 => match name {
            [b'$', b'x'] | [b'$', b'x', b'.' | 0, ..] if arch == Arch::Aarch64 => Some(SymbolKind::MapCode),
            [b'$', b'd'] | [b'$', b'd', b'.' | 0, ..] if arch == Arch::Aarch64 => Some(SymbolKind::MapData),
            [] | [0, ..] => None,
            _ => symbol.is_global().then_some(SymbolKind::Label),
        },
        _ => None,
    }
}

fn add<'a>(
    elf: &Elf<'a>,
    table: &SymbolTable<'a>,
    origin: SymbolOrigin,
    ranges: &CodeRanges,
    symbols: &mut Vec<Symbol<'a>>,
) {
    // Where the table is text as a whole, its names need not be read to see that they are.
    let text = deburr_text::plain_table(table.strings);
    let mut cold = ColdNames::of(table.strings);
    symbols.reserve(table.count());
    for (index, symbol) in table.iter() {
        let Some(svma) = table.svma(elf, &symbol, index).filter(|&svma| ranges.contains(svma)) else {
            continue;
        };
        let Some(kind) = kind_of(&symbol, table.strings_from(&symbol), elf.arch) else { continue };
        let name = text.and_then(|text| Name::unread(text, symbol.name as usize));
        symbols.push(Symbol {
            svma: Svma(svma),
            size: symbol.size,
            name: name.unwrap_or_else(|| Name::shown(table.name(&symbol))),
            kind,
            origin,
            is_global: symbol.is_global(),
            is_cold: cold.has(symbol.name as usize),
        });
    }
}

/// Adds the symbols of the first table of a kind.
pub(crate) fn from_table<'a>(
    elf: &Elf<'a>,
    kind: u32,
    origin: SymbolOrigin,
    ranges: &CodeRanges,
    symbols: &mut Vec<Symbol<'a>>,
) {
    if let Some(table) = SymbolTable::of_kind(elf, kind) {
        add(elf, &table, origin, ranges, symbols);
    }
}

/// Adds the dynamic symbols.
pub(crate) fn from_dynamic<'a>(elf: &Elf<'a>, ranges: &CodeRanges, symbols: &mut Vec<Symbol<'a>>) {
    if let Some(table) = SymbolTable::dynamic(elf) {
        add(elf, &table, SymbolOrigin::Dynsym, ranges, symbols);
    }
}

/// The address of the first symbol of a name in `.symtab`.
pub(crate) fn address_of(elf: &Elf<'_>, name: &[u8]) -> Option<u64> {
    let table = SymbolTable::of_kind(elf, crate::image::elf::SHT_SYMTAB)?;
    let is_named = |symbol: &RawSymbol| {
        let rest = table.strings_from(symbol).strip_prefix(name);
        rest.is_some_and(|rest| matches!(rest, [] | [0, ..]))
    };
    let found = table.iter().find(|(_, symbol)| symbol.section != 0 && is_named(symbol));
    found.map(|(_, symbol)| symbol.value)
}

/// Addresses of the functions among the dynamic symbols.
pub(crate) fn dynamic_functions(elf: &Elf<'_>) -> Vec<u64> {
    let Some(table) = SymbolTable::dynamic(elf) else { return Vec::new() };
    let functions = table.iter().filter(|(_, symbol)| symbol.section != 0 && matches!(symbol.kind(), 2 | 10));
    functions.map(|(_, symbol)| symbol.value).collect()
}

/// Sorts by address, better names first: functions before labels, global before local, fewer underscores in
/// front before more. One name at one address stays once.
pub(crate) fn sort(symbols: &mut Vec<Symbol<'_>>) {
    /// Symbols whose names are touched before the first of them is read.
    const BLOCK: usize = 64;
    fn underscores(name: &str) -> usize {
        name.bytes().take_while(|&byte| byte == b'_').count()
    }
    sort_by_address(symbols, |symbol| symbol.svma);
    let mut touched = 0;
    let mut rest = &mut **symbols;
    while let Some(first) = rest.first().map(|symbol| symbol.svma) {
        if touched == 0 {
            touched = BLOCK.min(rest.len());
            let twins =
                rest.windows(2).take(touched).filter(|pair| matches!(pair, [a, b] if a.svma == b.svma));
            let names = twins.flatten().map(|symbol| symbol.name.touch());
            std::hint::black_box(names.fold(0, |all, first| all | first));
        }
        let count = rest.iter().take_while(|symbol| symbol.svma == first).count();
        touched = touched.saturating_sub(count);
        let (group, after) = rest.split_at_mut(count);
        if count > 1 {
            // Each name is compared several times.
            group.iter_mut().for_each(|symbol| symbol.name.read());
            group.sort_by(|a, b| {
                (a.kind, !a.is_global).cmp(&(b.kind, !b.is_global)).then_with(|| {
                    let (left, right): (&str, &str) = (&a.name, &b.name);
                    let by_name = underscores(left).cmp(&underscores(right)).then_with(|| left.cmp(right));
                    by_name.then_with(|| (a.origin, b.size).cmp(&(b.origin, a.size)))
                })
            });
        }
        rest = after;
    }
    symbols.dedup_by(|next, kept| {
        next.svma == kept.svma
            && next.kind == kept.kind
            && next.is_global == kept.is_global
            && next.name == kept.name
    });
}

/// Adds a few symbols to sorted ones.
pub(crate) fn insert<'a>(symbols: &mut Vec<Symbol<'a>>, mut more: Vec<Symbol<'a>>) {
    sort(&mut more);
    let (Some(first), Some(last)) = (more.first(), more.last()) else { return };
    let at = symbols.partition_point(|symbol| symbol.svma < first.svma);
    if symbols.get(at).is_none_or(|next| next.svma > last.svma) {
        symbols.splice(at..at, more);
    } else {
        symbols.extend(more);
        sort(symbols);
    }
}
