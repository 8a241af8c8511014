//! What the loader reads → cells, resolved cells and imports of executables and shared objects.
//!
//! In: the dynamic relocations, those of a static program's ifuncs included, and in a file that is loaded where it
//! says every word of data. Out: the lists of [`Linkage`], not yet sorted.
//! Follows the x86-64 psABI, "Relocation Types", and the AArch64 ELF supplement, "Dynamic relocations".

use super::model::{
    Cell, FUNC, IFUNC, Import, Linkage, Resolved, TLS, ThreadTemplate, ThreadWord, ThreadWordKind,
};
use crate::address::{Extent, Svma};
use crate::image::elf::{Elf, PT_TLS, SHF_TLS, SHT_NOBITS, Section};
use crate::image::parse::relocations::{
    Dynamic, RELA, Rela, dynamic_kind, dynamic_tables, entries_of, formats, is_of_linkage_table,
    may_hold_pointers, relr, words_of_data,
};
use crate::image::parse::symbols::SymbolTable;
use crate::image::{Image, SymbolKind};
use deburr_cpu::Arch;

/// Reads what relocations, or in their absence the data itself, say.
pub(super) fn read<'a>(elf: &Elf<'a>, image: &Image<'_>, out: &mut Linkage<'a>) {
    let symbols = SymbolTable::dynamic(elf);
    let tables = dynamic_tables(elf);
    out.cells.reserve(tables.iter().map(|table| table.len() / RELA).sum());
    out.thread_template = thread_template(elf);
    let other = formats::other_tables(elf).entries;
    for rela in tables.into_iter().flat_map(entries_of).chain(other) {
        if let Some(word) = thread_word(elf, symbols.as_ref(), &rela) {
            out.thread_words.push(word);
            continue;
        }
        let Some(kind) = dynamic_kind(elf.arch, rela.kind) else { continue };
        let (at, addend) = (Svma(rela.offset), Svma(rela.addend.cast_unsigned()));
        match kind {
            Dynamic::Relative => out.cells.push(Cell { at, to: addend }),
            Dynamic::Irelative => out.resolved.push(Resolved { at, resolver: addend }),
            Dynamic::Absolute | Dynamic::Slot | Dynamic::Copy => {
                if let Some(table) = &symbols {
                    add_symbolic(elf, table, &rela, kind, out);
                }
            }
        }
    }
    // Two bits can name a word, and a malformed table the same word again and again.
    let limit = out.cells.len().saturating_add(elf.bytes.len() / 8);
    relr(elf, |at, to| {
        if out.cells.len() < limit {
            out.cells.push(Cell { at: Svma(at), to: Svma(to) });
        }
    });
    if elf.is_fixed {
        add_words(elf, image, out);
    }
}

/// What threads' variables begin as (`PT_TLS`).
fn thread_template(elf: &Elf<'_>) -> Option<ThreadTemplate> {
    let segment = elf.segments.iter().find(|segment| segment.kind == PT_TLS)?;
    let length = segment.memory_size.checked_next_multiple_of(segment.alignment.max(1))?;
    let initial = Extent::sized(Svma(segment.svma), segment.file_size);
    Some(ThreadTemplate { initial, length, alignment: segment.alignment })
}

/// The word by which a thread's variable is found, where a relocation is for one.
fn thread_word(elf: &Elf<'_>, symbols: Option<&SymbolTable<'_>>, rela: &Rela) -> Option<ThreadWord> {
    // R_X86_64_DTPMOD64, DTPOFF64, TPOFF64 and TLSDESC; R_AARCH64_TLS_DTPMOD64, DTPREL64, TPREL64 and TLSDESC.
    let [module, in_module, from_block, descriptor] = match elf.arch {
        Arch::X86_64 => [16, 17, 18, 36],
        Arch::Aarch64 => [1028, 1029, 1030, 1031],
    };
    if ![module, in_module, from_block, descriptor].contains(&rela.kind) {
        return None;
    }
    let symbol = symbols.and_then(|table| table.get(rela.symbol)).filter(|_| rela.symbol != 0);
    let offset = symbol.map_or(0, |symbol| symbol.value).wrapping_add_signed(rela.addend);
    let kind = match rela.kind {
        _ if symbol.is_some_and(|symbol| symbol.section == 0) => ThreadWordKind::Elsewhere,
        kind if kind == module => ThreadWordKind::Module,
        kind if kind == in_module => ThreadWordKind::Offset(offset),
        kind if kind == descriptor => ThreadWordKind::Descriptor(offset),
        _ => ThreadWordKind::FromBlock(offset),
    };
    Some(ThreadWord { at: Svma(rela.offset), kind })
}

/// A relocation by a symbol: of this file, of this file and resolved when it is loaded, or of another.
fn add_symbolic<'a>(
    elf: &Elf<'a>,
    table: &SymbolTable<'a>,
    rela: &Rela,
    dynamic: Dynamic,
    out: &mut Linkage<'a>,
) {
    let Some(symbol) = table.get(rela.symbol).filter(|symbol| symbol.kind() != TLS) else { return };
    let (at, is_copy) = (Svma(rela.offset), dynamic == Dynamic::Copy);
    if symbol.section == 0 || is_copy {
        let name = table.text(&symbol);
        if !name.is_empty() {
            out.imports.push(Import { at, name, is_copy });
        }
    } else if let Some(svma) = table.svma(elf, &symbol, rela.symbol).map(Svma) {
        if symbol.kind() == IFUNC {
            out.resolved.push(Resolved { at, resolver: svma });
        } else {
            out.cells.push(Cell { at, to: svma.offset(rela.addend) });
            let is_called = dynamic == Dynamic::Slot && !is_of_linkage_table(elf.arch, rela.kind);
            if is_called && symbol.kind() == FUNC && symbol.is_preemptible() {
                out.own_slots.push(Import { at, name: table.text(&symbol), is_copy: false });
            }
        }
    }
}

/// The words of data that hold addresses, in a file where no relocation marks them.
fn add_words(elf: &Elf<'_>, image: &Image<'_>, out: &mut Linkage<'_>) {
    let functions = function_starts(image);
    let pointees = pointees(elf, out);
    // Most words are none, and to search for each would cost more than all else.
    let low = functions.first().copied().into_iter().chain(pointees.first().map(|data| data.start)).min();
    let high = functions.last().copied().into_iter().chain(pointees.last().map(|data| data.end)).max();
    let (Some(low), Some(high)) = (low, high) else { return };
    let is_function = |svma: Svma| functions.binary_search(&svma).is_ok();
    let is_data = |svma: Svma| {
        let after = pointees.partition_point(|data| data.start <= svma);
        let before = after.checked_sub(1).and_then(|before| pointees.get(before));
        svma.0 & 7 == 0 && before.is_some_and(|data| data.contains(svma))
    };
    // What the loader fills in holds something else until then.
    let mut filled: Vec<Svma> = out.resolved.iter().map(|resolved| resolved.at).collect();
    filled.extend(out.imports.iter().filter(|import| !import.is_copy).map(|import| import.at));
    filled.extend(out.cells.iter().map(|cell| cell.at));
    filled.sort_unstable();
    let words = words_of_data(elf, low.0..high.0.saturating_add(1));
    let words = words.map(|(at, value)| (Svma(at), Svma(value)));
    let pointers = words
        .filter(|&(at, value)| (is_data(value) || is_function(value)) && filled.binary_search(&at).is_err());
    out.cells.extend(pointers.map(|(at, to)| Cell { at, to }));
}

/// Where functions are known to begin, sorted.
fn function_starts(image: &Image<'_>) -> Vec<Svma> {
    let symbols = image.symbols.iter().filter(|symbol| {
        matches!(symbol.kind, SymbolKind::Function | SymbolKind::IfuncResolver | SymbolKind::Label)
    });
    let frames = image.frames.iter().filter(|frame| !frame.is_part);
    let mut starts: Vec<Svma> =
        symbols.map(|symbol| symbol.svma).chain(frames.map(|frame| frame.extent.start)).collect();
    starts.extend(&image.entries);
    // Stable, since it merges these three, each of which is sorted.
    starts.sort();
    starts.dedup();
    starts
}

/// Where data is that a pointer of the program may point to, by address.
fn pointees(elf: &Elf<'_>, linkage: &Linkage<'_>) -> Vec<Extent> {
    let is_pointee = |section: &&Section<'_>| {
        may_hold_pointers(section)
            || section.is_alloc() && section.kind == SHT_NOBITS && section.flags & SHF_TLS == 0
    };
    let mut starts: Vec<u64> = elf.sections.iter().filter(is_pointee).map(|section| section.svma).collect();
    starts.sort_unstable();
    let has_sections = elf.sections.iter().any(Section::is_alloc);
    let data = linkage.data.iter().map(|data| data.extent);
    data.filter(|data| !has_sections || starts.binary_search(&data.start.0).is_ok()).collect()
}
