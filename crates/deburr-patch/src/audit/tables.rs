//! Patch stage, audit: jumps through registers → the places that they can go to.
//!
//! In: a graph. Out: places that offset tables of 1, 2 and 4 bytes and computed addresses lead to, and the
//! functions with a jump whose target is not understood. The register of each jump is followed backwards over
//! all predecessors to whatever may have written it. A pointer that comes from memory, from a caller or from
//! a callee is a place that the graph has as an entry already. Only what adds to an address makes new ones.

use super::fields::{self, ALL, Flow};
use super::frame;
use super::graph::Graph;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Instructions that are looked at for what wrote a register.
const FAR: usize = 4096;
/// Definitions that one register may come from, and definitions of definitions.
const MOST: usize = 16;
const DEPTH: usize = 6;
/// Entries of a table whose length is not known.
const LONGEST: u64 = 4096;
/// Instructions of a function whose frame is looked at.
const SPILLED: usize = 1 << 14;

/// What jumps through registers lead to.
#[derive(Default)]
pub(crate) struct Jumps {
    /// By address, without duplicates.
    pub(crate) targets: Vec<CodeOffset>,
    /// Functions with a jump that is not understood, by address; the jump is the last.
    pub(crate) unresolved: Vec<(CodeOffset, CodeOffset, CodeOffset)>,
    /// Jumps through a table, by address, with their targets.
    pub(crate) tables: Vec<(CodeOffset, Vec<CodeOffset>)>,
}

impl Jumps {
    /// Of all jumps and calls through registers.
    pub(crate) fn of(graph: &Graph<'_>) -> Jumps {
        let all = graph.find(|word| {
            word >> 25 == 0x6b && matches!(fields::flow(word), Flow::IndirectJump | Flow::IndirectCall)
        });
        let targets: Vec<(CodeOffset, Option<Vec<CodeOffset>>)> = all
            .into_par_iter()
            .map(|at| (at, targets(graph, at)))
            .filter(|(_, targets)| targets.as_ref().is_none_or(|targets| !targets.is_empty()))
            .collect();
        let mut jumps = Jumps::default();
        for (at, targets) in targets {
            let Some(targets) = targets else {
                let (start, end) = graph.function(at);
                jumps.unresolved.push((start, end, at));
                continue;
            };
            jumps.targets.extend(&targets);
            if graph.word(at).is_some_and(|word| fields::flow(word) == Flow::IndirectJump) {
                jumps.tables.push((at, targets));
            }
        }
        jumps.targets.sort_unstable();
        jumps.targets.dedup();
        jumps.unresolved.sort_unstable();
        jumps
    }

    /// The jump of the function around an offset that is not understood.
    pub(crate) fn unresolved_around(&self, at: CodeOffset) -> Option<CodeOffset> {
        let after = self.unresolved.partition_point(|function| function.0 <= at);
        let before = self.unresolved.get(after.checked_sub(1)?)?;
        (at < before.1).then_some(before.2)
    }

    /// A place after `start` that a table or a computed address leads to.
    pub(crate) fn target_in(&self, start: CodeOffset, end: CodeOffset) -> Option<CodeOffset> {
        let at = self.targets.partition_point(|target| *target <= start);
        self.targets.get(at).copied().filter(|target| *target < end)
    }

    /// Where a jump goes that is through a table.
    pub(crate) fn of_table(&self, at: CodeOffset) -> Option<&[CodeOffset]> {
        let index = self.tables.binary_search_by_key(&at, |table| table.0).ok()?;
        self.tables.get(index).map(|table| &*table.1)
    }
}

/// New places that a jump or call through a register goes to; `None` where they are not known.
fn targets(graph: &Graph<'_>, at: CodeOffset) -> Option<Vec<CodeOffset>> {
    let register = (graph.word(at)? >> 5 & 31) as u8;
    let mut found = Vec::new();
    if comes_from_memory(graph, at, register) {
        return Some(found);
    }
    values(graph, at, register, DEPTH, &mut found)?;
    Some(found)
}

/// Whether one of the instructions right before loads a register, and control comes here from nowhere else.
/// So it is for nearly all calls through registers, of which a large program has a million.
fn comes_from_memory(graph: &Graph<'_>, at: CodeOffset, register: u8) -> bool {
    const NEAR: u32 = 16;
    let wanted = 1_u32.checked_shl(u32::from(register)).unwrap_or(0) & ALL;
    for before in (1..=NEAR).map_while(|back| at.checked_sub(4 * back)) {
        let Some(word) = graph.word(before) else { return false };
        if !matches!(fields::flow(word), Flow::Next | Flow::Branch(_) | Flow::Call(_) | Flow::IndirectCall) {
            return false;
        }
        if fields::registers(word).writes & wanted != 0 {
            return is_pointer(word) && graph.sources_into(before, at.saturating_add(4)).next().is_none();
        }
    }
    false
}

/// What may have written a register last before an instruction. `None`: too much to follow. What comes in
/// from a caller, a landing pad or anything else that is not a direct branch is no definition.
pub(crate) fn definitions(graph: &Graph<'_>, at: CodeOffset, register: u8) -> Option<Vec<CodeOffset>> {
    let wanted = 1_u32.checked_shl(u32::from(register)).unwrap_or(0) & ALL;
    let (mut found, mut seen, mut pending) = (Vec::new(), FxHashSet::default(), Vec::new());
    graph.predecessors(at, |before| pending.push(before));
    while let Some(at) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        if seen.len() > FAR || found.len() > MOST {
            return None;
        }
        let word = graph.word(at)?;
        if fields::registers(word).writes & wanted != 0 {
            found.push(at);
        } else {
            graph.predecessors(at, |before| pending.push(before));
        }
    }
    Some(found)
}

/// Adds the new places that a register may hold before an instruction. `None`: it holds more than is
/// understood.
fn values(
    graph: &Graph<'_>,
    at: CodeOffset,
    register: u8,
    depth: usize,
    found: &mut Vec<CodeOffset>,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    for definition in definitions(graph, at, register)? {
        let word = graph.word(definition)?;
        let (rn, rm) = ((word >> 5 & 31) as u8, (word >> 16 & 31) as u8);
        if is_pointer(word) {
            continue;
        }
        match word {
            // mov of a register; pointer authentication of this one
            _ if word & 0xffe0_ffe0 == 0xaa00_03e0 => values(graph, definition, rm, depth, found)?,
            _ if word & 0xffff_8000 == 0xdac1_0000 => values(graph, definition, register, depth, found)?,
            // csel
            _ if word & 0xffe0_0c00 == 0x9a80_0000 => {
                values(graph, definition, rn, depth, found)?;
                values(graph, definition, rm, depth, found)?;
            }
            // add of two registers, shifted or extended
            _ if word & 0xff20_0000 == 0x8b00_0000 || word & 0xffe0_0000 == 0x8b20_0000 => {
                sum(graph, definition, word, depth, found)?;
            }
            _ => {
                let value = constant(graph, definition, word, depth)?;
                found.extend(graph.at(Svma(value)).filter(|_| value % 4 == 0));
            }
        }
    }
    Some(())
}

/// Whether an instruction gets a register from memory, from a caller or callee, or from elsewhere whole.
fn is_pointer(word: u32) -> bool {
    // Loads of 8 bytes, of 4 for pointers of that size, and of pairs of 8.
    let loads = word & 0xbfc0_0000 == 0xb940_0000
        || word & 0xbfe0_0000 == 0xb840_0000
        || word & 0xbfe0_0c00 == 0xb860_0800
        || word & 0xbf00_0000 == 0x1800_0000
        || word & 0xfe40_0000 == 0xa840_0000
        // With authentication; ordered ones, atomics and exclusives.
        || word & 0xff20_0400 == 0xf820_0400
        || word & 0xbfff_fc00 == 0x88df_fc00
        || word & 0xbfff_fc00 == 0xb8bf_c000
        || word & 0xbf20_0c00 == 0xb820_0000
        || word & 0xbfa0_7c00 == 0x88a0_7c00
        || fields::is_load_exclusive(word);
    // mrs, as for what is kept in a thread's block; umov and fmov from a vector register.
    let moves = word & 0xfff0_0000 == 0xd530_0000
        || word & 0xffe0_fc00 == 0x4e00_3c00
        || word & 0xffff_fc00 == 0x9e66_0000;
    loads || moves || matches!(fields::flow(word), Flow::Call(_) | Flow::IndirectCall)
}

/// What an instruction makes, where that is one value.
fn constant(graph: &Graph<'_>, at: CodeOffset, word: u32, depth: usize) -> Option<u64> {
    if let Some(value) = fields::address(word, graph.svma(at).0) {
        return Some(value);
    }
    if let Some((from, by)) = fields::added(word) {
        return Some(held(graph, at, from, depth)?.wrapping_add(by));
    }
    let before = || held(graph, at, (word & 31) as u8, depth);
    fields::moved(word, None).or_else(|| fields::moved(word, before()))
}

/// The one value that a register holds before an instruction.
fn held(graph: &Graph<'_>, at: CodeOffset, register: u8, depth: usize) -> Option<u64> {
    let depth = depth.checked_sub(1)?;
    let mut values = Vec::new();
    for definition in definitions(graph, at, register)? {
        let word = graph.word(definition)?;
        let value = match word {
            _ if word & 0xffe0_ffe0 == 0xaa00_03e0 => held(graph, definition, (word >> 16 & 31) as u8, depth),
            // ldr from the frame
            _ if word & 0xffc0_0000 == 0xf940_0000 && matches!(word >> 5 & 31, 29 | 31) => {
                spilled(graph, definition, word, depth)
            }
            _ => constant(graph, definition, word, depth),
        };
        values.push(value?);
    }
    let first = values.first().copied()?;
    values.iter().all(|value| *value == first).then_some(first)
}

/// The one value that a slot of the frame holds where it is loaded: the last stores on all paths are of the whole slot and of that
/// value, and nothing else may write there.
fn spilled(graph: &Graph<'_>, at: CodeOffset, load: u32, depth: usize) -> Option<u64> {
    let (base, slot) = (load >> 5 & 31, i64::from(load >> 10 & 0xfff) * 8);
    let (start, end) = graph.function(at);
    let own = |at: CodeOffset| graph.word(at).filter(|word| word >> 5 & 31 == base);
    let is_long = start.words_until(end).nth(SPILLED).is_some();
    if is_long || frame::may_be_reached(graph, (start, end), base, slot) {
        return None;
    }
    let (mut values, mut seen, mut pending) = (Vec::new(), FxHashSet::from_iter([at]), vec![at]);
    while let Some(at) = pending.pop() {
        let mut before = Vec::new();
        graph.predecessors(at, |from| before.push(from));
        // Before the function's start nothing is in its frame; what only jumps through tables lead to says nothing, as in `definitions`.
        if at == start || graph.calls(at).next().is_some() {
            return None;
        }
        for from in before {
            let stored = own(from).and_then(|word| Some((word, fields::stored_at(word)?)));
            let covers = |(_, (start, size)): &(u32, (i64, i64))| *start < slot + 8 && slot < start + size;
            match stored.filter(covers) {
                Some((word, (start, size))) => {
                    let register = match (size, slot - start) {
                        (8, 0) | (16, 0) => word & 31,
                        (16, 8) => word >> 10 & 31,
                        _ => return None,
                    };
                    values.push(held(graph, from, register as u8, depth)?);
                }
                None if seen.insert(from) => pending.push(from),
                None => {}
            }
        }
    }
    let first = values.first().copied()?;
    values.iter().all(|value| *value == first).then_some(first)
}

/// How the elements of a table are read.
struct Element {
    load: CodeOffset,
    word: u32,
    /// What is done with it before that: bits to shift by, and whether its sign counts.
    shift: u32,
    signed: Option<u32>,
}

/// Places that the sum of two registers can be: a base and an element of a table.
fn sum(
    graph: &Graph<'_>,
    at: CodeOffset,
    word: u32,
    depth: usize,
    found: &mut Vec<CodeOffset>,
) -> Option<()> {
    let (rn, rm) = ((word >> 5 & 31) as u8, (word >> 16 & 31) as u8);
    let is_extended = word & 0x0020_0000 != 0;
    let shift = if is_extended { word >> 10 & 7 } else { word >> 10 & 63 };
    // Only lsl.
    (is_extended || word & 0x00c0_0000 == 0).then_some(())?;
    let option = word >> 13 & 7;
    let signed = (is_extended && option >= 4).then_some(8 << (option & 3));
    let with = |base: u8, offset: u8, shift: u32, signed: Option<u32>| {
        let base = held(graph, at, base, depth)?;
        let element = element(graph, at, offset, (shift, signed), depth)?;
        enumerate(graph, base, &element, depth)
    };
    let targets = with(rn, rm, shift, signed);
    let targets = targets.or_else(|| (shift == 0 && !is_extended).then(|| with(rm, rn, 0, None))?);
    found.extend(targets?);
    Some(())
}

/// The load that a register has its value from.
fn element(
    graph: &Graph<'_>,
    at: CodeOffset,
    register: u8,
    (shift, signed): (u32, Option<u32>),
    depth: usize,
) -> Option<Element> {
    let depth = depth.checked_sub(1)?;
    let definitions = definitions(graph, at, register)?;
    let [load] = *definitions.as_slice() else { return None };
    let word = graph.word(load)?;
    let rn = (word >> 5 & 31) as u8;
    match word {
        // sxtb, sxth, sxtw; uxtb and uxth, which loads have done already
        0x9340_0000..=0x937f_ffff if matches!(word >> 10 & 0xfff, 7 | 15 | 31) => {
            element(graph, load, rn, (shift, Some((word >> 10 & 63) + 1)), depth)
        }
        // lsl: ubfm of 64 bits with imms + 1 = immr
        _ if word & 0xffc0_0000 == 0xd340_0000 && (word >> 10 & 63) + 1 == word >> 16 & 63 => {
            element(graph, load, rn, (shift + 63 - (word >> 10 & 63), signed), depth)
        }
        // Loads of one register from a general base.
        _ if word & 0x3e00_0000 == 0x3800_0000 && word >> 30 != 3 && word >> 22 & 3 != 0 => {
            let opc = word >> 22 & 3;
            let signed = if opc >= 2 { Some(8 << (word >> 30)) } else { signed };
            Some(Element { load, word, shift, signed })
        }
        _ => None,
    }
}

/// Where the elements of a table lead. `None`: where it is, or what is in it, is not known.
fn enumerate(graph: &Graph<'_>, base: u64, element: &Element, depth: usize) -> Option<Vec<CodeOffset>> {
    let Element { load, word, shift, signed } = *element;
    let size = 1_u64 << (word >> 30);
    let table = held(graph, load, (word >> 5 & 31) as u8, depth)?;
    // With an immediate, one element; with a register, as many as the index may have.
    let is_indexed = word & 0x0120_0c00 == 0x0020_0800;
    let (first, count) = match is_indexed {
        true => (table, bound(graph, load, (word >> 16 & 31) as u8)),
        false if word & 0x0100_0000 != 0 => {
            (table.wrapping_add(u64::from(word >> 10 & 0xfff) * size), Some(1))
        }
        false if word & 0x0020_0c00 == 0 => {
            let by = i64::from((word << 11).cast_signed() >> 23);
            (table.wrapping_add_signed(by), Some(1))
        }
        false => return None,
    };
    let mut found: Vec<CodeOffset> = Vec::new();
    let function = graph.function(load);
    let is_inside = |at: &CodeOffset| (function.0..function.1).contains(at);
    // A table of unknown length ends where something else begins.
    let room = graph.named_after(first).map_or(LONGEST, |next| ((next - first) / size).min(LONGEST));
    for index in 0..count.unwrap_or(room) {
        let Some(value) = read(graph, first.wrapping_add(index.wrapping_mul(size)), size) else { break };
        let value = match signed {
            Some(bits) if bits < 64 => ((value << (64 - bits)).cast_signed() >> (64 - bits)).cast_unsigned(),
            _ => value,
        };
        let target = base.wrapping_add(value.wrapping_shl(shift));
        match graph.at(Svma(target)).filter(|_| target % 4 == 0) {
            // After the end of a table of unknown length comes something else.
            Some(target) if count.is_none() && !is_inside(&target) && found.last().is_some_and(is_inside) => {
                break;
            }
            Some(target) => found.push(target),
            None if count.is_none() => break,
            None => {}
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The number of bytes of a file that are loaded at an address, as a value.
fn read(graph: &Graph<'_>, at: u64, size: u64) -> Option<u64> {
    let loaded = graph.image.loaded.iter().find(|loaded| loaded.extent.contains(Svma(at)))?;
    // What may be written to may hold anything.
    (!loaded.is_writable).then_some(())?;
    let from = usize::try_from(Svma(at).since(loaded.extent.start)?).ok()?;
    let bytes = loaded.bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// How many values an index can have, by unsigned comparisons with immediates that branches on every path to
/// the load act on; `None`: some path has none.
fn bound(graph: &Graph<'_>, load: CodeOffset, index: u8) -> Option<u64> {
    const STEPS: usize = 128;
    let (mut pending, mut seen) = (vec![(load, None)], FxHashSet::default());
    let mut largest = 0;
    while let Some((at, condition)) = pending.pop() {
        if !seen.insert((at, condition)) {
            continue;
        }
        let mut before = Vec::new();
        graph.predecessors(at, |from| before.push(from));
        if before.is_empty() || seen.len() > STEPS {
            return None;
        }
        for from in before {
            match step_back(graph, from, at, condition, index)? {
                Step::Bound(count) => largest = largest.max(count),
                Step::On(condition) => pending.push((from, condition)),
            }
        }
    }
    Some(largest)
}

/// What an instruction on the path to a load says of the index.
enum Step {
    /// It compares the index with the number of its values less one, and the branch after it acts on that.
    Bound(u64),
    /// Nothing; the condition of the last branch, and whether it was taken.
    On(Option<(u32, bool)>),
}

fn step_back(
    graph: &Graph<'_>,
    from: CodeOffset,
    at: CodeOffset,
    condition: Option<(u32, bool)>,
    index: u8,
) -> Option<Step> {
    let word = graph.word(from)?;
    let overwrites = fields::registers(word).writes & 1_u32.checked_shl(u32::from(index)).unwrap_or(0) != 0;
    if overwrites {
        return None;
    }
    if word >> 24 == 0x54 {
        let Flow::Branch(bytes) = fields::flow(word) else { return None };
        let is_taken = graph.offset(from, bytes) == Some(at);
        // hs, hi: to elsewhere; lo, ls: to the load. Other conditions say nothing of the index.
        let bounds = matches!((word & 15, is_taken), (2 | 8, false) | (3 | 9, true));
        return Some(Step::On(bounds.then_some((word & 15, is_taken))));
    }
    // cmp with an immediate, of either width, not shifted
    let is_compared = word & 0x7fc0_001f == 0x7100_001f && (word >> 5 & 31) as u8 == index;
    Some(match condition {
        Some(_) if is_compared => Step::Bound(u64::from(word >> 10 & 0xfff) + 1),
        Some(_) if !keeps_flags(word) => Step::On(None),
        condition => Step::On(condition),
    })
}

/// Loads and stores, addresses, moves and additions of an immediate without flags.
const fn keeps_flags(word: u32) -> bool {
    word & 0x0a00_0000 == 0x0800_0000
        || word & 0x1f00_0000 == 0x1000_0000
        || word & 0x3f80_0000 == 0x1100_0000
        || word & 0x1f80_0000 == 0x1280_0000
}
