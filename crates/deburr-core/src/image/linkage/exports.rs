//! The dynamic symbol table → the functions that other files can call, with what their authors say of each.
//!
//! In: `.dynsym` of a shared library or program, `.symtab` of a relocatable object. Out: [`Export`]s. Follows the gABI,
//! "Symbol Table", and the LSB Core Specification, "Symbol Versioning".

use super::model::{Export, IFUNC, OBJECT, TLS};
use crate::address::Svma;
use crate::image::elf::{Elf, SHT_SYMTAB, string_at, u16_at, u32_at};
use crate::image::parse::symbols::{RawSymbol, SymbolTable};
use crate::image::{Image, Kind};

const STB_GLOBAL: u8 = 1;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;
/// Maximum number of versions that a file defines.
const VERSIONS: usize = 1 << 12;

/// Reads them, in the table's order.
pub(super) fn read<'a>(elf: &Elf<'a>, image: &Image<'_>) -> Vec<Export<'a>> {
    let is_object = elf.kind == Kind::Relocatable;
    let table = if is_object { SymbolTable::of_kind(elf, SHT_SYMTAB) } else { SymbolTable::dynamic(elf) };
    let Some(table) = table else { return Vec::new() };
    let names = if is_object { Vec::new() } else { version_names(elf) };
    let indices = elf.dynamic_value(DT_VERSYM).and_then(|at| elf.bytes_at(at)).unwrap_or(&[]);
    let mut exports = Vec::with_capacity(table.count());
    let is_exported = |symbol: &RawSymbol| {
        let is_function = !matches!(symbol.kind(), OBJECT | TLS | IFUNC);
        is_function && symbol.section != 0 && symbol.is_global() && (is_object || !symbol.is_hidden())
    };
    for (index, symbol) in table.iter_named(is_exported) {
        let Some(at) = table.svma(elf, &symbol, index).map(Svma) else { continue };
        if image.code_at(at).is_none() {
            continue;
        }
        let version = usize::try_from(index).ok().and_then(|index| u16_at(indices, index.checked_mul(2)?));
        exports.push(Export {
            at,
            name: table.text(&symbol),
            is_weak: symbol.info >> 4 != STB_GLOBAL,
            // The top bit says that it is not the default.
            version: version.and_then(|version| *names.get(usize::from(version & 0x7fff))?),
        });
    }
    exports
}

/// The names of the versions that the file defines (`Elf64_Verdef`), by index.
fn version_names<'a>(elf: &Elf<'a>) -> Vec<Option<&'a str>> {
    let mut names = Vec::new();
    let strings = elf.dynamic_value(DT_STRTAB).zip(elf.dynamic_value(DT_STRSZ));
    let strings = strings.and_then(|(at, size)| elf.bytes_of(at, size)).unwrap_or(&[]);
    let mut entry = elf.dynamic_value(DT_VERDEF).and_then(|at| elf.bytes_at(at)).unwrap_or(&[]);
    for _ in 0..VERSIONS {
        let (Some(index), Some(names_at), Some(next)) =
            (u16_at(entry, 4), u32_at(entry, 12), u32_at(entry, 16))
        else {
            break;
        };
        let name = usize::try_from(names_at).ok().and_then(|at| u32_at(entry, at));
        let name = name.and_then(|name| deburr_text::plain(string_at(strings, name.into())?));
        // The first entry is the file itself.
        if let Some(name) = name.filter(|_| index > 1) {
            let index = usize::from(index);
            names.resize(names.len().max(index.saturating_add(1)), None);
            if let Some(entry) = names.get_mut(index) {
                *entry = Some(name);
            }
        }
        let rest = usize::try_from(next).ok().filter(|&next| next != 0).and_then(|next| entry.get(next..));
        let Some(rest) = rest else { break };
        entry = rest;
    }
    names
}
