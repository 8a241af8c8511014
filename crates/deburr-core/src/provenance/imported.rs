//! Which code calls a function of another file, by the function's name.
//!
//! In: an image, its functions, and what other files are to define. Out: the calls that [`calls_by_name`] finds: through the procedure
//! linkage table, through the global offset table (`call *f@GOTPCREL(%rip)`; `adrp x0, :got:f`, `ldr x0, [x0, :got_lo12:f]`, `blr x0`), in
//! relocatable objects by their relocations, and in static programs of the function itself.

use crate::address::{CodeOffset, Svma};
use crate::function::Program;
use crate::image::{Code, Image, Kind, Linkage, SymbolOrigin, TransferTarget};
use crate::insn::aarch64::adrp_page;
use deburr_cpu::Arch;
use std::collections::{HashMap, HashSet};

/// Maximum number of instructions between two of a call through a slot. Of 2,001 such calls in SQLite by gcc 12 (`-O2 -fno-plt`), 1,986 are found, and four more
/// with four times as many.
const MAX_DISTANCE: usize = 64;

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
    let is_through_slots = image.kind != Kind::Relocatable
        && undefined.iter().any(|name| is_wanted(name) && !entries.contains(name));
    if is_through_slots {
        let imports = linkage().imports.iter().filter(|import| is_wanted(import.name));
        calls.extend(calls_through_slots(image, &imports.map(|import| (import.at, import.name)).collect()));
    }
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// Calls and jumps through slots that the loader fills, outside procedure linkage tables. The bytes of the instructions decide.
pub(super) fn calls_through_slots<'a>(
    image: &Image<'_>,
    slots: &HashMap<Svma, &'a str>,
) -> Vec<NamedCall<'a>> {
    if slots.is_empty() {
        return Vec::new();
    }
    let find = match image.arch {
        Arch::X86_64 => x86_64,
        Arch::Aarch64 => a64,
    };
    let found = image.code.iter().filter(|code| !code.is_linkage_table()).flat_map(|code| find(code));
    let named = found.filter_map(|(from, slot)| {
        Some(NamedCall { from: image.code_offset(from)?, name: slots.get(&slot)? })
    });
    named.collect()
}

/// Calls and jumps through words of data, each with the word. That an address of a slot is elsewhere in code by chance is one in 2³² for
/// each place.
fn x86_64(code: &Code<'_>) -> Vec<(Svma, Svma)> {
    let found = THROUGH_SLOT.iter().flat_map(|start| memchr::memmem::find_iter(code.bytes, start));
    let calls = found.filter_map(|at| {
        let distance = code.bytes.get(at + 2..)?.first_chunk()?;
        let from = code.extent.start.offset(at as i64);
        Some((from, from.offset(6).offset(i64::from(i32::from_le_bytes(*distance)))))
    });
    calls.collect()
}

/// The same for A64, where three instructions do it, which need not be neighbours. DDI 0487, C4.1.
fn a64(code: &Code<'_>) -> Vec<(Svma, Svma)> {
    let words = code.bytes.as_chunks::<4>().0;
    let at = |index: usize| code.extent.start.offset(index as i64 * 4);
    let calls = words.iter().enumerate().filter_map(|(index, bytes)| {
        let word = u32::from_le_bytes(*bytes);
        // blr, br
        let register = (word & 0xffdf_fc1f == 0xd61f_0000).then_some(word >> 5 & 31)?;
        let before = words.get(..index)?;
        let load = last_write(before, register)?;
        let word = u32::from_le_bytes(*before.get(load)?);
        // ldr x, [x, #n]
        let base = (word & 0xffc0_0000 == 0xf940_0000).then_some(word >> 5 & 31)?;
        let page = last_write(before.get(..load)?, base)?;
        let page = adrp_page(u32::from_le_bytes(*before.get(page)?), at(page))?;
        Some((at(index), page.offset(i64::from(word >> 10 & 0xfff) * 8)))
    });
    calls.collect()
}

/// The instruction that wrote a register last, on a straight line of [`MAX_DISTANCE`]: what has the register where most instructions have
/// their result. A call keeps what its callee does (AAPCS64, 6.1.1).
fn last_write(words: &[[u8; 4]], register: u32) -> Option<usize> {
    for (index, &bytes) in words.iter().enumerate().rev().take(MAX_DISTANCE) {
        let word = u32::from_le_bytes(bytes);
        // bl; blr
        let is_call = word >> 26 == 0x25 || word & 0xffff_fc1f == 0xd63f_0000;
        // b; br, ret and the like
        let is_end = word >> 26 == 5 || word & 0xff9f_fc1f == 0xd61f_0000 && !is_call;
        if is_end || is_call && !(19..29).contains(&register) {
            return None;
        }
        // cbz, tbz and b.cond write nothing, and have a register or a condition there.
        let is_branch = is_call || matches!(word >> 24 & 0x7f, 0x34..=0x37 | 0x54);
        if !is_branch && word & 31 == register {
            return Some(index);
        }
    }
    None
}
