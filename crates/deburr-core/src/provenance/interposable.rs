//! Calls of a shared library's own exported functions that go through its procedure linkage table, or through a slot of its global offset
//! table (`-fno-plt`), so that another file may take them.
//!
//! In: an image, its functions and its linkage. Out: the calls, each with the name of the callee.

use super::imported::calls_through_slots;
use super::source::Source;
use crate::address::{CodeOffset, Svma};
use crate::image::{Kind, SymbolOrigin};
use std::collections::{HashMap, HashSet};

/// Calls that another file may take, each with the callee's name.
#[derive(Default)]
pub(crate) struct Interposable<'a> {
    /// Through the procedure linkage table: calls before jumps.
    pub(crate) through_table: Vec<(CodeOffset, &'a str)>,
    /// Through slots of the global offset table, by address.
    pub(crate) through_slots: Vec<(CodeOffset, &'a str)>,
}

impl<'a> Interposable<'a> {
    /// All calls.
    pub(crate) fn all(&self) -> impl Iterator<Item = (CodeOffset, &'a str)> {
        self.through_table.iter().chain(&self.through_slots).copied()
    }
}

/// The calls of a file.
pub(crate) fn interposable_calls<'a>(source: &Source<'a, '_>) -> Interposable<'a> {
    let (image, program) = (source.image, source.program);
    let has_table = image.symbols.iter().any(|symbol| symbol.origin == SymbolOrigin::Plt);
    if image.kind == Kind::Relocatable || image.kind == Kind::Executable && !has_table {
        return Interposable::default();
    }
    let entries = own_entries(source);
    let transfers = program.calls().chain(program.jumps()).filter(|_| !entries.is_empty());
    let through_table = transfers.filter_map(|edge| Some((edge.from, *entries.get(&image.svma(edge.to))?)));
    let own = (source.linkage)().own_slots.iter().filter(|slot| !is_meant_to_be_replaced(slot.name));
    let through_slots = calls_through_slots(image, &own.map(|slot| (slot.at, slot.name)).collect());
    Interposable {
        through_table: through_table.collect(),
        through_slots: through_slots.into_iter().map(|call| (call.from, call.name)).collect(),
    }
}

/// The entries of the procedure linkage table that lead to a function of the file itself, each with its name.
fn own_entries<'a>(source: &Source<'a, '_>) -> HashMap<Svma, &'a str> {
    let symbols = source.image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt);
    let entries: Vec<(Svma, &str)> =
        symbols.filter_map(|symbol| Some((symbol.svma, symbol.name.strip_suffix("@plt")?))).collect();
    if entries.is_empty() {
        return HashMap::new();
    }
    let exports: HashSet<&str> = (source.linkage)().named_exports.iter().map(|export| export.name).collect();
    let own =
        entries.into_iter().filter(|(_, name)| exports.contains(name) && !is_meant_to_be_replaced(name));
    own.collect()
}

/// Whether programs replace a function on purpose: allocators, and C++'s replaceable functions (`[replacement.functions]`).
fn is_meant_to_be_replaced(name: &str) -> bool {
    const ALLOCATORS: [&str; 13] = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "cfree",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "valloc",
        "pvalloc",
        "malloc_usable_size",
        "malloc_trim",
    ];
    let is_operator = ["_Znw", "_Zna", "_Zdl", "_Zda"].iter().any(|start| name.starts_with(start));
    ALLOCATORS.contains(&name) || is_operator
}
