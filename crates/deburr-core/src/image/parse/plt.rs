//! Procedure linkage tables → a [`Symbol`] per entry, named after the slot it jumps through: `memcpy@plt`.
//!
//! In: the code of `.plt`, `.plt.sec`, `.plt.got` and `.iplt`, and what each slot will hold. Out: the symbols.
//! The entries are recognised by their instructions: x86-64 psABI, "Procedure Linkage Table" (with and without
//! `endbr64` and `bnd`); AArch64 ELF supplement, "Procedure linkage table" (with and without `bti c`).

use super::cold::is_cold;
use super::relocations::Slot;
use crate::address::Svma;
use crate::image::elf::{Elf, u32_at};
use crate::image::{Code, Image, Kind, Symbol, SymbolKind, SymbolOrigin};
use deburr_cpu::Arch;

/// `bti c`
const BTI_C: u32 = 0xd503_245f;

/// An entry: where it begins, how long it is, and the slot it jumps through.
type Entry = (u64, u64, u64);

/// Entries of an x86-64 table: 16 bytes each, or 8 in `.plt.got` without `endbr64`.
fn entries_x86_64(code: &Code<'_>) -> Vec<Entry> {
    let start = code.extent.start.0;
    let stride: u64 =
        if code.name == ".plt.got" && code.bytes.get(..2) == Some(&[0xff, 0x25]) { 8 } else { 16 };
    let mut found = Vec::new();
    for (index, entry) in code.bytes.chunks_exact(usize::try_from(stride).unwrap_or(16)).enumerate() {
        let at = start.saturating_add((index as u64).saturating_mul(stride));
        let mut skipped = 0u64;
        let mut rest = entry;
        if let Some(after) = rest.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]) {
            (skipped, rest) = (4, after);
        }
        if let Some(after) = rest.strip_prefix(&[0xf2]) {
            (skipped, rest) = (skipped + 1, after);
        }
        let [0xff, 0x25, _, _, _, _, ..] = rest else { continue };
        let Some(distance) = u32_at(rest, 2) else { continue };
        let next = at.saturating_add(skipped).saturating_add(6);
        found.push((at, stride, next.wrapping_add_signed(i64::from(distance.cast_signed()))));
    }
    found
}

/// Entries of an AArch64 table: `adrp x16; ldr x17, [x16, #imm]; add; br x17`, where the header is distinguished by
/// the push in front of it.
fn entries_aarch64(code: &Code<'_>) -> Vec<Entry> {
    let start = code.extent.start.0;
    let words: Vec<u32> = code.bytes.chunks_exact(4).filter_map(|word| u32_at(word, 0)).collect();
    let mut found: Vec<Entry> = Vec::new();
    for (index, pair) in words.windows(2).enumerate() {
        let &[page, load] = pair else { continue };
        // adrp x16; ldr x17, [x16, #imm]
        if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
            continue;
        }
        let at = start.saturating_add((index as u64).saturating_mul(4));
        let before = index.checked_sub(1).and_then(|before| words.get(before)).copied();
        // The header pushes x16 and x30 first: stp x16, x30, [sp, #-16]!
        if before == Some(0xa9bf_7bf0) {
            continue;
        }
        let immediate = (page >> 29 & 3) | (page >> 3 & 0x1f_fffc);
        let pages = i64::from((immediate << 11).cast_signed() >> 11);
        let slot =
            (at & !0xfff).wrapping_add_signed(pages << 12).wrapping_add(u64::from(load >> 10 & 0xfff) * 8);
        let (at, length) = if before == Some(BTI_C) { (at.saturating_sub(4), 24) } else { (at, 16) };
        found.push((at, length, slot));
    }
    // The last one of a table may be shorter than the distance suggests, and clang pads without `bti`.
    let ends: Vec<u64> = found.iter().skip(1).map(|&(at, _, _)| at).chain([code.extent.end.0]).collect();
    for (entry, end) in found.iter_mut().zip(ends) {
        entry.1 = entry.1.min(end.saturating_sub(entry.0));
    }
    found
}

/// The entries of all procedure linkage tables whose slot is known.
pub(crate) fn entries<'a>(elf: &Elf<'a>, image: &Image<'a>, slots: &[(u64, Slot<'a>)]) -> Vec<Symbol<'a>> {
    if elf.kind == Kind::Relocatable || slots.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for code in image.code.iter().filter(|code| code.is_linkage_table()) {
        let entries = match elf.arch {
            Arch::X86_64 => entries_x86_64(code),
            Arch::Aarch64 => entries_aarch64(code),
        };
        for (at, size, slot) in entries {
            // Of several relocations of one slot, the last counts.
            let after = slots.partition_point(|&(at, _)| at <= slot);
            let last = after.checked_sub(1).and_then(|last| slots.get(last));
            let name = match last.filter(|&&(at, _)| at == slot).map(|&(_, slot)| slot) {
                Some(Slot::Symbol(name)) if !name.is_empty() => [name, "@plt"].concat(),
                Some(Slot::Resolver(resolver)) => match function_at(image, resolver) {
                    Some(name) => [name, "@plt"].concat(),
                    None => format!("*ABS*+{resolver:#x}@plt"),
                },
                _ => continue,
            };
            found.push(Symbol {
                is_cold: is_cold(&name),
                svma: Svma(at),
                size,
                name: name.into(),
                kind: SymbolKind::Function,
                origin: SymbolOrigin::Plt,
                is_global: false,
            });
        }
    }
    found
}

/// The best name at an address.
fn function_at<'s>(image: &'s Image<'_>, svma: u64) -> Option<&'s str> {
    let first = image.symbols.partition_point(|symbol| symbol.svma.0 < svma);
    let symbol = image.symbols.get(first).filter(|symbol| symbol.svma.0 == svma)?;
    Some(&symbol.name)
}
