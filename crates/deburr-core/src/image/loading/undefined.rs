//! The dynamic symbols and their versions → what a file needs of others.
//!
//! In: the bytes of a file. Out: [`Undefined`] symbols, and [`NeededVersion`]s. Of a relocatable object, whose symbols have no versions,
//! those of `.symtab`. Follows the gABI, "Symbol Table", and the LSB Core Specification, "Symbol Versioning".

use crate::image::elf::{Elf, SHT_SYMTAB, string_at, u16_at, u32_at};
use crate::image::parse::symbols::SymbolTable;
use crate::image::{Error, Kind};

const STB_WEAK: u8 = 2;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERNEED: u64 = 0x6fff_fffe;
/// The version is needed by weak references alone, so that the loader only warns where it is not there.
const VER_FLG_WEAK: u16 = 2;
/// Maximum number of libraries with versions, and of versions of all of them. glibc 2.41 has 90.
const LIBRARIES: usize = 1 << 12;
const VERSIONS: usize = 1 << 12;

/// A symbol that another file is to define.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undefined<'a> {
    /// The name as the file has it.
    pub name: &'a str,
    /// Whether the file runs without it.
    pub is_weak: bool,
    /// The index of its version in the file, which [`NeededVersion::index`] has too; 0 and 1 where it has none.
    pub version: u16,
}

/// A version of a library that a file needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededVersion<'a> {
    /// The library: `libc.so.6`.
    pub library: &'a str,
    /// The version: `GLIBC_2.34`.
    pub name: &'a str,
    /// Its index in the file.
    pub index: u16,
    /// Whether the loader lets it be missing.
    pub is_weak: bool,
}

/// Reads the symbols that a file needs of others, in the table's order.
///
/// # Errors
/// [`Error`], where the file is not an ELF file that deburr reads.
pub fn undefined(bytes: &[u8]) -> Result<Vec<Undefined<'_>>, Error> {
    let elf = Elf::parse(bytes)?;
    let is_object = elf.kind == Kind::Relocatable;
    let table = if is_object { SymbolTable::of_kind(&elf, SHT_SYMTAB) } else { SymbolTable::dynamic(&elf) };
    let Some(table) = table else { return Ok(Vec::new()) };
    let versions = elf.dynamic_value(DT_VERSYM).and_then(|at| elf.bytes_at(at)).unwrap_or(&[]);
    let wanted = table.iter_named(|symbol| symbol.section == 0 && symbol.name != 0 && symbol.is_global());
    let undefined = wanted.map(|(index, symbol)| Undefined {
        name: table.text(&symbol),
        is_weak: symbol.info >> 4 == STB_WEAK,
        // The top bit says that it is not the default.
        version: usize::try_from(index)
            .ok()
            .and_then(|index| u16_at(versions, index.checked_mul(2)?))
            .unwrap_or(0)
            & 0x7fff,
    });
    Ok(undefined.collect())
}

/// Reads the versions that a file needs of its libraries (`Elf64_Verneed`).
///
/// # Errors
/// [`Error`], where the file is not an ELF file that deburr reads.
pub fn needed_versions(bytes: &[u8]) -> Result<Vec<NeededVersion<'_>>, Error> {
    let elf = Elf::parse(bytes)?;
    let strings = elf.dynamic_value(DT_STRTAB).zip(elf.dynamic_value(DT_STRSZ));
    let strings = strings.and_then(|(at, size)| elf.bytes_of(at, size)).unwrap_or(&[]);
    let text = |at: u32| string_at(strings, at.into()).and_then(|text| std::str::from_utf8(text).ok());
    let libraries = chain(elf.dynamic_value(DT_VERNEED).and_then(|at| elf.bytes_at(at)), 12, LIBRARIES);
    let mut needed = Vec::new();
    for entry in libraries {
        let (Some(library), Some(first)) = (u32_at(entry, 4).and_then(text), u32_at(entry, 8)) else {
            continue;
        };
        let first = usize::try_from(first).ok().and_then(|first| entry.get(first..));
        let left = VERSIONS.saturating_sub(needed.len());
        let versions = chain(first, 12, left).filter_map(|version| {
            let (flags, index) = (u16_at(version, 4)?, u16_at(version, 6)?);
            let name = text(u32_at(version, 8)?)?;
            Some(NeededVersion { library, name, index: index & 0x7fff, is_weak: flags & VER_FLG_WEAK != 0 })
        });
        needed.extend(versions);
    }
    Ok(needed)
}

/// Entries of which each says in the word at `next` how far the following one is; no more than `limit`.
fn chain<'a>(first: Option<&'a [u8]>, next: usize, limit: usize) -> impl Iterator<Item = &'a [u8]> {
    let following = move |entry: &&'a [u8]| {
        let entry: &'a [u8] = entry;
        let distance = u32_at(entry, next).filter(|&distance| distance != 0)?;
        entry.get(usize::try_from(distance).ok()?..)
    };
    std::iter::successors(first, following).take(limit)
}
