//! Which functions are worth running: those that query the CPU, directly or through others, that read or call what says
//! something of it, and that try instructions.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::Function;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::foreign::import_of;
use crate::function::reach::file::names;
use crate::function::reach::file::references::Access;
use crate::function::reach::file::view::View;
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::serializing::is_serializing_only;
use crate::function::reach::machine::summaries::Summaries;
use crate::insn::Class;
use deburr_cpu::Arch;
use memchr::memmem;
use std::collections::{BTreeMap, BTreeSet};

/// Functions with instructions that query the CPU, or that read what the kernel says of it from a file.
pub(crate) fn query_functions(file: &View<'_, '_>) -> Vec<Function> {
    let marks = file.program.marks().filter(|mark| mark.class == Class::FeatureQuery);
    let mut functions: Vec<Function> = marks.filter_map(|mark| file.whole_at(mark.at).copied()).collect();
    let readers = file.auxv_readers().iter();
    functions.extend(readers.filter_map(|&start| file.program.function_from(start)));
    functions.sort_unstable_by_key(|function| function.start);
    functions.dedup();
    functions
}

/// Whether a function that queries the CPU may have learnt something by it when it comes back.
pub(crate) fn learns(file: &View<'_, '_>, function: &Function) -> bool {
    let Some(graph) = file.graph(function) else { return true };
    let all = graph.blocks.iter().flat_map(|block| &block.insns);
    let mut queries = all.filter(|insn| insn.class == Class::FeatureQuery).peekable();
    queries.peek().is_none() || queries.any(|query| !is_serializing_only(&graph, query.svma))
}

/// Functions that call one of some informative names.
pub(crate) fn callers_by_name(file: &View<'_, '_>, is_meant: impl Fn(&str) -> bool) -> BTreeSet<CodeOffset> {
    let named = file.names.iter().filter(|(_, name)| is_meant(name));
    let meant: BTreeSet<CodeOffset> = named.filter_map(|(svma, _)| file.image.code_offset(*svma)).collect();
    let mut callers = file.callers_of(&meant);
    let imports = file.linkage.imports.iter().filter(|import| is_meant(import.name));
    let cells: Vec<Extent> = imports.map(|import| Extent::sized(import.at, 8)).collect();
    callers.extend(referrers_to(file, &cells));
    callers
}

/// Functions that read a pointer to one that is run inside its callers, and that nothing writes to: a pointer that is
/// written to leads to what was chosen.
pub(crate) fn callers_by_pointer(file: &View<'_, '_>, summaries: &Summaries) -> BTreeSet<CodeOffset> {
    let places = summaries.inlined.iter().map(|&start| Extent::sized(file.image.svma(start), 1));
    let mut cells = pointers_to(file, &places.collect::<Vec<_>>());
    let references = file.references_to(&cells).into_iter();
    let writes = references.filter(|reference| reference.access == Access::Write);
    let written: BTreeSet<Svma> = writes.map(|reference| reference.to).collect();
    cells.retain(|cell| !written.contains(&cell.start));
    // Also through the GOT.
    cells.extend(pointers_to(file, &cells));
    referrers_to(file, &cells)
}

/// The cells that hold an address in one of some places.
pub(crate) fn pointers_to(file: &View<'_, '_>, places: &[Extent]) -> Vec<Extent> {
    let cells = places.iter().flat_map(|&place| file.incoming.cells_to(place));
    cells.map(|&(_, cell)| Extent::sized(cell, 8)).collect()
}

/// The functions that refer to some places in data.
pub(crate) fn referrers_to(file: &View<'_, '_>, places: &[Extent]) -> BTreeSet<CodeOffset> {
    let references = file.references_to(places).into_iter();
    references.filter_map(|reference| start_of(file, reference.from)).collect()
}

fn start_of(file: &View<'_, '_>, svma: Svma) -> Option<CodeOffset> {
    Some(file.whole_at(file.image.code_offset(svma)?)?.start)
}

pub(crate) fn extend_by_callers(
    file: &View<'_, '_>,
    summaries: &Summaries,
    subjects: &mut BTreeSet<CodeOffset>,
    returns: &BTreeMap<CodeOffset, Value>,
) {
    let informative: BTreeSet<CodeOffset> = returns.keys().chain(&summaries.inlined).copied().collect();
    subjects.extend(file.callers_of(&informative));
}

/// Whether readers of a word learn what the CPU has. What a pointer to code leads to is known from the stores to it.
/// What is doubtful says no more than that: its readers are run when they are on a path without a check.
pub(crate) fn informs(file: &View<'_, '_>, word: &Value) -> bool {
    word.discriminates(false) && !is_pointer(file, word)
}

/// Whether a word may hold an address of code.
pub(crate) fn is_pointer(file: &View<'_, '_>, word: &Value) -> bool {
    word.choices().iter().any(|&(value, _)| file.image.code_offset(Svma(value)).is_some())
}

/// What refers to a word refers to this place: the word, or the cell that another file's word is found by.
pub(crate) fn place_of(file: &View<'_, '_>, at: u64, width: u8) -> Option<Extent> {
    match import_of(at) {
        Some((import, _)) => file.linkage.imports.get(import).map(|import| Extent::sized(import.at, 8)),
        None => Some(Extent::sized(Svma(at), width.into())),
    }
}

/// Adds the functions that refer to the words of known meaning, also through the pointers in the GOT.
pub(crate) fn extend_by_readers(
    file: &View<'_, '_>,
    subjects: &mut BTreeSet<CodeOffset>,
    followed: &mut BTreeSet<(u64, u8)>,
    memory: &Memory,
) {
    let new = memory.words.iter().filter(|(place, value)| !followed.contains(*place) && informs(file, value));
    let new: Vec<(u64, u8)> = new.map(|(place, _)| *place).collect();
    let mut places: Vec<Extent> = Vec::new();
    for &(at, width) in &new {
        followed.insert((at, width));
        places.extend(place_of(file, at, width));
        // A structure is found by its start, too: by the object's, or by what points into it.
        let object = file.linkage.object_at(Svma(at)).map(|object| object.extent.start);
        places.extend(object.map(|start| Extent::sized(start, 1)));
    }
    places.extend(pointers_to(file, &places));
    subjects.extend(referrers_to(file, &places));
}

/// Functions that name SIGILL and a place for its handler to come back to.
pub(crate) fn trap_functions(file: &View<'_, '_>) -> BTreeSet<CodeOffset> {
    let is_small = |start: &CodeOffset| {
        file.whole_at(*start).is_some_and(|function| function.end - function.start <= TRIES)
    };
    let named = callers_by_name(file, names::is_return_point).into_iter();
    named.filter(is_small).filter(|&start| names_sigill(file, start)).collect()
}

/// Whether a function has the number of SIGILL for an argument.
pub(crate) fn names_sigill(file: &View<'_, '_>, start: CodeOffset) -> bool {
    // mov edi, 4; mov w0, #4
    let named: &[u8] = match file.image.arch {
        Arch::X86_64 => &[0xbf, 4, 0, 0, 0],
        Arch::Aarch64 => &[0x80, 0, 0x80, 0x52],
    };
    let code = file.whole_at(start).and_then(|function| {
        let length = (function.end - function.start) as usize;
        file.image.bytes_at(file.image.svma(function.start))?.get(..length)
    });
    code.is_some_and(|code| memmem::find(code, named).is_some())
}

/// Maximum of bytes of a function that tries instructions.
const TRIES: u32 = 4096;
