//! Which code calls a function of another file, by the function's name.
//!
//! In: an image, its functions, and what other files are to define. Out: the calls that [`calls_by_name`] finds: through the procedure
//! linkage table, through the global offset table (`call *f@GOTPCREL(%rip)`, x86-64), in relocatable objects by their relocations, and
//! in static programs of the function itself.

use crate::address::{CodeOffset, Svma};
use crate::function::Program;
use crate::image::{Image, Kind, Linkage, SymbolOrigin, TransferTarget};
use deburr_cpu::Arch;
use std::collections::{HashMap, HashSet};

/// The first bytes of `call *x(%rip)` and `jmp *x(%rip)`, after which the distance follows in four.
const THROUGH_SLOT: [[u8; 2]; 2] = [[0xff, 0x15], [0xff, 0x25]];

/// A call, or a jump instead of one, of a function that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedCall<'a> {
    /// The instruction.
    pub(crate) from: CodeOffset,
    /// The function's name, as the file has it.
    pub(crate) name: &'a str,
}

/// The calls of functions whose names are wanted, by address. `linkage` is read only where one of `undefined`, the names that other
/// files define, is wanted and has no entry in a procedure linkage table.
pub(crate) fn calls_by_name<'a>(
    image: &'a Image<'_>,
    program: &Program,
    undefined: &[&str],
    linkage: &dyn Fn() -> &'a Linkage<'a>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<NamedCall<'a>> {
    let mut targets: HashMap<Svma, &'a str> = HashMap::new();
    for symbol in &image.symbols {
        let name = symbol.name.strip_suffix("@plt").unwrap_or(&symbol.name);
        if is_wanted(name) {
            targets.entry(symbol.svma).or_insert(name);
        }
    }
    let mut calls = Vec::new();
    // Few of millions of edges lead to where the targets are: entries of one table.
    if let (Some(&first), Some(&last)) = (targets.keys().min(), targets.keys().max()) {
        let edges = program.calls().chain(program.jumps());
        calls.extend(edges.filter_map(|edge| {
            let to = Some(image.svma(edge.to)).filter(|to| (first..=last).contains(to))?;
            Some(NamedCall { from: edge.from, name: targets.get(&to)? })
        }));
    }
    let elsewhere = image.transfers.iter().filter_map(|transfer| match transfer.to {
        TransferTarget::Elsewhere(name) if is_wanted(name) => {
            Some(NamedCall { from: image.code_offset(transfer.from)?, name })
        }
        _ => None,
    });
    calls.extend(elsewhere);
    let entries = image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt);
    let entries: HashSet<&str> =
        entries.filter_map(|entry| entry.name.strip_suffix("@plt")).filter(|name| is_wanted(name)).collect();
    let is_through_slots = image.arch == Arch::X86_64
        && image.kind != Kind::Relocatable
        && undefined.iter().any(|name| is_wanted(name) && !entries.contains(name));
    if is_through_slots {
        let imports = linkage().imports.iter().filter(|import| is_wanted(import.name));
        calls.extend(through_slots(image, &imports.map(|import| (import.at, import.name)).collect()));
    }
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// Calls and jumps through slots that the loader fills. Bytes alone decide: that an address of such a slot is elsewhere in code by chance
/// is one in 2³² for each place.
fn through_slots<'a>(image: &Image<'_>, slots: &HashMap<Svma, &'a str>) -> Vec<NamedCall<'a>> {
    let mut calls = Vec::new();
    if slots.is_empty() {
        return calls;
    }
    for code in &image.code {
        for start in THROUGH_SLOT {
            for at in memchr::memmem::find_iter(code.bytes, &start) {
                let Some(distance) = code.bytes.get(at + 2..).and_then(|rest| rest.first_chunk()) else {
                    continue;
                };
                let from = code.extent.start.offset(at as i64);
                let slot = from.offset(6).offset(i64::from(i32::from_le_bytes(*distance)));
                let found = slots.get(&slot).copied().zip(image.code_offset(from));
                calls.extend(found.map(|(name, from)| NamedCall { from, name }));
            }
        }
    }
    calls
}
