//! A debug section of a relocatable object with its relocations applied.

use super::relocations::entries_of;
use super::symbols::SymbolTable;
use crate::image::elf::{Elf, SHT_RELA, Section};
use deburr_cpu::Arch;

/// A section of a relocatable object with its relocations applied, in the addresses that the sections were given.
/// Symbols of sections outside of the loaded ones (DWARF) resolve to offsets.
pub(crate) fn relocated(elf: &Elf<'_>, section: &Section<'_>, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let is_target = |other: &Section<'_>| {
        let target = usize::try_from(other.info).ok().and_then(|index| elf.sections.get(index));
        other.kind == SHT_RELA && target.is_some_and(|target| std::ptr::eq(target, section))
    };
    for table in elf.sections.iter().filter(|other| is_target(other)).take(4) {
        let symbols = usize::try_from(table.link).ok().and_then(|index| SymbolTable::of_section(elf, index));
        let (Some(symbols), Some(entries)) = (symbols, elf.data(table)) else { continue };
        for rela in entries_of(entries) {
            let Some(symbol) = symbols.get(rela.symbol) else { continue };
            let Some(defined) = symbols.section(elf, &symbol, rela.symbol) else { continue };
            let base = if defined.is_alloc() { defined.svma } else { 0 };
            let target = base.wrapping_add(symbol.value).wrapping_add_signed(rela.addend);
            let place = section.svma.wrapping_add(rela.offset);
            let (value, width) = match (elf.arch, rela.kind) {
                (Arch::X86_64, 1) | (Arch::Aarch64, 257) => (target, 8),
                (Arch::X86_64, 10 | 11) | (Arch::Aarch64, 258) => (target, 4),
                (Arch::X86_64, 24) | (Arch::Aarch64, 260) => (target.wrapping_sub(place), 8),
                (Arch::X86_64, 2) | (Arch::Aarch64, 261) => (target.wrapping_sub(place), 4),
                _ => continue,
            };
            let Ok(at) = usize::try_from(rela.offset) else { continue };
            let field = at.checked_add(width).and_then(|end| out.get_mut(at..end));
            if let (Some(field), Some(value)) = (field, value.to_le_bytes().get(..width)) {
                field.copy_from_slice(value);
            }
        }
    }
    out
}
