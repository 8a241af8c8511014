//! What links a file's code to its data, to its loader and to other files; read on demand, since only the analysis of
//! run-time checks needs it.
//!
//! In: the bytes of the ELF file that an [`Image`] was made from. Out: [`Linkage`]: the data, the pointers in it, what the
//! loader fills in, and what other files can call. Follows the gABI and the psABI supplements' relocations.

use super::elf::{
    Elf, PF_X, PT_LOAD, SHT_DYNSYM, SHT_FINI_ARRAY, SHT_INIT_ARRAY, SHT_PREINIT_ARRAY, SHT_RELA, SHT_SYMTAB, Section,
    range_of, u64_at,
};
use super::relocations::{Dynamic, dynamic_kind, dynamic_tables, entries_of, relr};
use super::symbols::{RawSymbol, SymbolTable};
use super::{Image, Kind};
use crate::address::{Extent, Svma};
use std::collections::BTreeSet;

/// A run of bytes that are loaded and not executable: a section, or without sections a segment.
#[derive(Debug, Clone)]
pub struct Data<'a> {
    /// Where it is.
    pub extent: Extent,
    /// Its bytes; empty for `.bss`, shorter than `extent` where zeros follow.
    pub bytes: &'a [u8],
    /// Whether the program may write it while it runs (a read-only section after relocation is not writable).
    pub is_writable: bool,
}

/// Eight bytes of data that hold an address of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Where they are.
    pub at: Svma,
    /// What they hold, in code or in data.
    pub to: Svma,
}

/// A cell that the loader fills with the result of a resolver (`R_*_IRELATIVE`, or a relocation by an ifunc symbol).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resolved {
    /// The cell.
    pub at: Svma,
    /// The resolver.
    pub resolver: Svma,
}

/// A cell that the loader fills with the address of another file's symbol; a `COPY` relocation's target is the object
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import<'a> {
    /// The cell, or for a copied object the object.
    pub at: Svma,
    /// The symbol, without its version.
    pub name: &'a str,
    /// Whether the loader copies the object to `at` instead of filling in its address.
    pub is_copy: bool,
}

/// A named object in data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object<'a> {
    /// Where it is.
    pub extent: Extent,
    /// The name as the file has it.
    pub name: &'a str,
}

/// What links code, data, loader and other files. Every list is sorted by its first field, without duplicates.
#[derive(Debug, Clone, Default)]
pub struct Linkage<'a> {
    /// The data, by address, without overlap.
    pub data: Vec<Data<'a>>,
    /// Addresses of this file that data holds, those of the GOT included.
    pub cells: Vec<Cell>,
    /// Cells that hold what a resolver returns.
    pub resolved: Vec<Resolved>,
    /// Cells that hold addresses of other files.
    pub imports: Vec<Import<'a>>,
    /// Functions that other files can call: global and weak symbols of `.dynsym` that are defined in code and not
    /// hidden; of relocatable objects those of `.symtab`. Resolvers (`STT_GNU_IFUNC`) are not among them.
    pub exports: Vec<Svma>,
    /// `STT_GNU_IFUNC` symbols of either table: the resolvers.
    pub resolvers: Vec<Svma>,
    /// Named objects in data (`STT_OBJECT`), of all symbol tables.
    pub objects: Vec<Object<'a>>,
}

/// A writable segment, as the gABI numbers it.
const PF_W: u32 = 2;
const SHF_WRITE: u64 = 1;
const SHF_TLS: u64 = 0x400;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;

impl<'a> Linkage<'a> {
    /// Reads it. What cannot be read is left out: the image's own parsing has reported it.
    pub fn parse(bytes: &'a [u8], debug_file: Option<&'a [u8]>, image: &Image<'_>) -> Linkage<'a> {
        let Ok(elf) = Elf::parse(bytes) else { return Linkage::default() };
        let mut linkage = Linkage { data: data(&elf, image), ..Linkage::default() };
        linkage.symbols(&elf, image);
        if let Some(debug) = debug_file.and_then(|bytes| Elf::parse(bytes).ok()) {
            linkage.objects_of(&debug, SymbolTable::of_kind(&debug, SHT_SYMTAB));
        }
        if elf.kind == Kind::Relocatable {
            linkage.relocatable(&elf);
        } else {
            linkage.linked(&elf);
        }
        if elf.is_fixed {
            linkage.fixed(image);
        }
        linkage.sort();
        linkage
    }

    fn sort(&mut self) {
        self.cells.sort_unstable();
        self.cells.dedup_by_key(|cell| cell.at);
        self.resolved.sort_unstable();
        self.resolved.dedup();
        self.imports.sort_by_key(|import| import.at);
        self.imports.dedup_by_key(|import| import.at);
        self.objects.sort_by_key(|object| (object.extent.start, std::cmp::Reverse(object.extent.end)));
        self.objects.dedup_by_key(|object| object.extent.start);
        for list in [&mut self.exports, &mut self.resolvers] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Exports, resolvers and objects.
    fn symbols(&mut self, elf: &Elf<'a>, image: &Image<'_>) {
        let is_object = elf.kind == Kind::Relocatable;
        let dynamic = SymbolTable::dynamic(elf);
        let local = SymbolTable::of_kind(elf, SHT_SYMTAB);
        for (table, exports) in [(dynamic, true), (local, is_object)] {
            for (index, symbol) in entries(table) {
                let Some(svma) = table.and_then(|table| table.svma(elf, &symbol, index)).map(Svma) else { continue };
                let (kind, binding) = (symbol.info & 15, symbol.info >> 4);
                if image.code_at(svma).is_none() {
                    continue;
                }
                match kind {
                    STT_GNU_IFUNC => self.resolvers.push(svma),
                    0 | STT_FUNC if exports && binding != 0 => self.exports.push(svma),
                    _ => {}
                }
            }
            self.objects_of(elf, table);
        }
    }

    fn objects_of(&mut self, elf: &Elf<'a>, table: Option<SymbolTable<'a>>) {
        for (index, symbol) in entries(table) {
            let Some(table) = table.filter(|_| symbol.info & 15 == STT_OBJECT && symbol.size != 0) else { continue };
            if let Some(svma) = table.svma(elf, &symbol, index).map(Svma)
                && self.data_at(svma).is_some()
            {
                let extent = Extent::sized(svma, symbol.size);
                self.objects.push(Object { extent, name: table.text(&symbol) });
            }
        }
    }

    /// What the loader fills in.
    fn linked(&mut self, elf: &Elf<'a>) {
        let symbols = SymbolTable::dynamic(elf);
        for rela in dynamic_tables(elf).into_iter().flat_map(entries_of) {
            let at = Svma(rela.offset);
            let is_copy = matches!((elf.arch, rela.kind), (deburr_cpu::Arch::X86_64, 5) | (deburr_cpu::Arch::Aarch64, 1024));
            let symbol = || symbols.and_then(|table| Some((table, table.get(rela.symbol)?)));
            if is_copy {
                if let Some((table, symbol)) = symbol() {
                    self.imports.push(Import { at, name: unversioned(table.text(&symbol)), is_copy });
                }
                continue;
            }
            match dynamic_kind(elf.arch, rela.kind) {
                Some(Dynamic::Relative) => {
                    self.cells.push(Cell { at, to: Svma(rela.addend.cast_unsigned()) });
                }
                Some(Dynamic::Irelative) => {
                    self.resolved.push(Resolved { at, resolver: Svma(rela.addend.cast_unsigned()) });
                }
                Some(Dynamic::Absolute | Dynamic::Slot) => {
                    let Some((table, symbol)) = symbol() else { continue };
                    match table.svma(elf, &symbol, rela.symbol) {
                        Some(svma) if symbol.info & 15 == STT_GNU_IFUNC => {
                            self.resolved.push(Resolved { at, resolver: Svma(svma) });
                        }
                        Some(svma) => {
                            self.cells.push(Cell { at, to: Svma(svma.wrapping_add_signed(rela.addend)) });
                        }
                        None => {
                            self.imports.push(Import { at, name: unversioned(table.text(&symbol)), is_copy });
                        }
                    }
                }
                None => {}
            }
        }
        let cells = &mut self.cells;
        relr(elf, |at, to| cells.push(Cell { at: Svma(at), to: Svma(to) }));
    }

    /// Pointers in the data of an object.
    fn relocatable(&mut self, elf: &Elf<'a>) {
        for section in elf.sections.iter().filter(|section| section.kind == SHT_RELA) {
            let target = usize::try_from(section.info).ok().and_then(|index| elf.sections.get(index));
            let Some(target) = target.filter(|target| target.is_alloc() && !target.is_executable()) else { continue };
            if target.name.starts_with(".eh_frame") {
                continue;
            }
            let symbols =
                usize::try_from(section.link).ok().and_then(|index| SymbolTable::of_section(elf, index));
            let (Some(symbols), Some(table)) = (symbols, elf.data(section)) else { continue };
            for rela in entries_of(table).filter(|rela| dynamic_kind(elf.arch, rela.kind) == Some(Dynamic::Absolute)) {
                let Some(symbol) = symbols.get(rela.symbol) else { continue };
                let at = Svma(target.svma.wrapping_add(rela.offset));
                match symbols.svma(elf, &symbol, rela.symbol) {
                    Some(svma) => self.cells.push(Cell { at, to: Svma(svma.wrapping_add_signed(rela.addend)) }),
                    None => self.imports.push(Import { at, name: symbols.text(&symbol), is_copy: false }),
                }
            }
        }
    }

    /// Pointers in the data of a file that is loaded where it says: each aligned word that holds where a function or
    /// an object may begin.
    fn fixed(&mut self, image: &Image<'_>) {
        let symbols = image.symbols.iter().map(|symbol| symbol.svma);
        let starts: BTreeSet<Svma> =
            symbols.chain(image.frames.iter().map(|frame| frame.extent.start)).chain(image.entries.iter().copied()).collect();
        let known: BTreeSet<Svma> = self.cells.iter().map(|cell| cell.at).collect();
        let mut found = Vec::new();
        for data in &self.data {
            let skip = data.extent.start.0.wrapping_neg() & 7;
            let words = usize::try_from(skip).ok().and_then(|skip| data.bytes.get(skip..)).unwrap_or_default();
            let first = data.extent.start.offset(skip.cast_signed());
            for (word, offset) in words.chunks_exact(8).zip((0i64..).step_by(8)) {
                let to = Svma(u64_at(word, 0).unwrap_or(0));
                let is_pointer =
                    if image.code_at(to).is_some() { starts.contains(&to) } else { to.0 % 8 == 0 && self.data_at(to).is_some() };
                let at = first.offset(offset);
                if is_pointer && !known.contains(&at) {
                    found.push(Cell { at, to });
                }
            }
        }
        self.cells.extend(found);
    }

    /// The cell at an address.
    pub fn cell(&self, at: Svma) -> Option<Svma> {
        let index = self.cells.binary_search_by_key(&at, |cell| cell.at).ok()?;
        self.cells.get(index).map(|cell| cell.to)
    }

    /// The other file's symbol whose address, or whose copy, lies at an address.
    pub fn import(&self, at: Svma) -> Option<&Import<'a>> {
        let index = self.imports.binary_search_by_key(&at, |import| import.at).ok()?;
        self.imports.get(index)
    }

    /// The run of data that holds an address.
    pub fn data_at(&self, svma: Svma) -> Option<&Data<'a>> {
        let after = self.data.partition_point(|data| data.extent.start <= svma);
        self.data.get(after.checked_sub(1)?).filter(|data| data.extent.contains(svma))
    }

    /// The named object that holds an address.
    pub fn object_at(&self, svma: Svma) -> Option<&Object<'a>> {
        let after = self.objects.partition_point(|object| object.extent.start <= svma);
        self.objects.get(after.checked_sub(1)?).filter(|object| object.extent.contains(svma))
    }
}

/// The entries of a symbol table, with their numbers.
fn entries(table: Option<SymbolTable<'_>>) -> impl Iterator<Item = (u64, RawSymbol)> {
    table.into_iter().flat_map(|table| (0u64..).map_while(move |index| Some((index, table.get(index)?))))
}

/// `memcpy@GLIBC_2.14` → `memcpy`.
fn unversioned(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// The loaded bytes that are not code.
fn data<'a>(elf: &Elf<'a>, image: &Image<'_>) -> Vec<Data<'a>> {
    let is_code = |extent: Extent| image.code.iter().any(|code| code.extent.start < extent.end && extent.start < code.extent.end);
    let relro = elf.segments.iter().find(|segment| segment.kind == PT_GNU_RELRO);
    let is_read_only = |svma: u64| relro.is_some_and(|relro| svma.checked_sub(relro.svma).is_some_and(|into| into < relro.memory_size));
    let mut found: Vec<Data<'a>> = Vec::new();
    let of_section = |section: &Section<'a>| Data {
        extent: section.extent(),
        bytes: elf.data(section).unwrap_or_default(),
        is_writable: section.flags & SHF_WRITE != 0
            && !is_read_only(section.svma)
            && !matches!(section.kind, SHT_INIT_ARRAY | SHT_FINI_ARRAY | SHT_PREINIT_ARRAY)
            && !section.name.starts_with(".data.rel.ro"),
    };
    let is_data = |section: &&Section<'a>| {
        section.is_alloc()
            && !section.is_executable()
            && section.flags & SHF_TLS == 0
            && !matches!(section.kind, SHT_DYNSYM | SHT_RELA)
            && !section.name.starts_with(".eh_frame")
    };
    found.extend(elf.sections.iter().filter(is_data).map(of_section));
    if !elf.sections.iter().any(Section::is_alloc) {
        let loads = elf.segments.iter().filter(|segment| segment.kind == PT_LOAD && segment.flags & PF_X == 0);
        found.extend(loads.map(|segment| Data {
            extent: Extent::sized(Svma(segment.svma), segment.memory_size.max(segment.file_size)),
            bytes: range_of(elf.bytes, segment.offset, segment.file_size).unwrap_or_default(),
            is_writable: segment.flags & PF_W != 0,
        }));
    }
    found.retain(|data| !data.extent.is_empty() && !is_code(data.extent));
    found.sort_by_key(|data| data.extent.start);
    let mut end = Svma(0);
    found.retain(|data| {
        let is_free = data.extent.start >= end;
        if is_free {
            end = data.extent.end;
        }
        is_free
    });
    found
}
