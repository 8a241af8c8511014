//! Calls of a shared library's own exported functions that go through its procedure linkage table, so that another file may take them.
//!
//! In: an image, its functions and its linkage. Out: the calls, each with the name of the callee.

use super::source::Source;
use crate::address::{CodeOffset, Svma};
use crate::image::{Kind, SymbolOrigin};
use std::collections::{HashMap, HashSet};

/// The calls, with the callees' names, in the program's order: calls before jumps.
pub(crate) fn interposable_calls<'a>(source: &Source<'a, '_>) -> Vec<(CodeOffset, &'a str)> {
    let (image, program) = (source.image, source.program);
    let entries = own_entries(source);
    if image.kind == Kind::Relocatable || entries.is_empty() {
        return Vec::new();
    }
    let transfers = program.calls().chain(program.jumps());
    transfers.filter_map(|edge| Some((edge.from, *entries.get(&image.svma(edge.to))?))).collect()
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
