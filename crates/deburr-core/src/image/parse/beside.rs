//! Executable segments → what runs or may run beside the code of an [`Image`].
//!
//! In: the program headers and the symbols of a file. Out: bytes that are mapped executable and in no section of code, and the
//! functions that symbols put there. Follows the gABI, "Program Header" and "Symbol Table".

use super::symbols::SymbolTable;
use crate::address::Svma;
use crate::image::Image;
use crate::image::elf::{Elf, PF_X, PT_LOAD, SHT_SYMTAB, Segment};

/// The bytes that the loader maps executable and that are not code of the image, by address: data in an executable segment, code in
/// sections that are not flagged as such, and what a page holds beside the segment.
pub fn executable_beside_code<'a>(image: &Image<'a>) -> Vec<(Svma, &'a [u8])> {
    /// Linux's largest page for AArch64.
    const MAX_PAGE: u64 = 1 << 16;
    let Ok(elf) = Elf::parse(image.bytes) else { return Vec::new() };
    let is_executable = |segment: &&Segment| segment.kind == PT_LOAD && segment.flags & PF_X != 0;
    let mut found = Vec::new();
    for segment in elf.segments.iter().filter(is_executable) {
        let page = segment.alignment.clamp(1 << 12, MAX_PAGE);
        let before = (segment.svma % page).min(segment.offset);
        let start = segment.svma - before;
        let after =
            segment.svma.saturating_add(segment.file_size).checked_next_multiple_of(page).unwrap_or(u64::MAX);
        let from = usize::try_from(segment.offset - before).unwrap_or(usize::MAX).min(elf.bytes.len());
        let length = usize::try_from(after.saturating_sub(start)).unwrap_or(usize::MAX);
        let bytes = elf.bytes.get(from..from.saturating_add(length).min(elf.bytes.len())).unwrap_or_default();
        let (mut at, mut rest) = (start, bytes);
        let end = start.saturating_add(bytes.len() as u64);
        let inside = image.code.iter().filter(|code| code.extent.start.0 < end && start < code.extent.end.0);
        for code in inside {
            let gap =
                usize::try_from(code.extent.start.0.saturating_sub(at)).unwrap_or(usize::MAX).min(rest.len());
            let (before, next) = rest.split_at(gap);
            found.push((Svma(at), before));
            let skipped = usize::try_from(code.extent.end.0.saturating_sub(at.max(code.extent.start.0)));
            let skipped = skipped.unwrap_or(usize::MAX).min(next.len());
            rest = next.get(skipped..).unwrap_or_default();
            at = at.max(code.extent.end.0);
        }
        found.push((Svma(at), rest));
    }
    found.retain(|(_, bytes)| !bytes.is_empty());
    found
}

/// Addresses of the functions that symbols put outside of the code of an image, in no order.
pub fn functions_beside_code(image: &Image<'_>) -> Vec<Svma> {
    const FUNCTION: u8 = 2;
    const INDIRECT_FUNCTION: u8 = 10;
    let Ok(elf) = Elf::parse(image.bytes) else { return Vec::new() };
    let tables = [SymbolTable::of_kind(&elf, SHT_SYMTAB), SymbolTable::dynamic(&elf)];
    let mut found = Vec::new();
    for table in tables.into_iter().flatten() {
        let functions =
            table.iter().filter(|(_, symbol)| matches!(symbol.kind(), FUNCTION | INDIRECT_FUNCTION));
        let places = functions.filter_map(|(index, symbol)| table.svma(&elf, &symbol, index).map(Svma));
        found.extend(places.filter(|at| image.code_at(*at).is_none()));
    }
    found
}
