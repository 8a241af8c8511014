//! Patch stage: what the file around some words says against writing over them.
//!
//! In: an image, its program, and the runs of words that are to change. Out: for each run what stands in the way. A branch
//! from anywhere is looked for in every word of the file, whatever function it is taken to belong to.

use super::before;
use super::semantics::{Insn, Register, Test, decode};
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::image::Image;
use rayon::prelude::*;
use std::collections::HashSet;
use std::fmt;

/// Words around a sequence in which nothing may use the monitor as a source of events.
const NEAR: i64 = 24;
/// Words that a load-exclusive and its store-exclusive lie within (Arm ARM, B2.9.5: 128 bytes).
const ARMED: usize = 32;

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obstacle {
    /// Something goes to, or points to, a word inside.
    Entered,
    /// Data lies there.
    Data,
    /// `wfe`, `sevl` or their like close by.
    Event,
    /// A relocation changes or describes the words.
    Relocated,
    /// What is known of a register may not hold, since the function jumps through tables.
    JumpTable,
    /// A compare-and-swap at an address in read-only data, which LSE writes to even where it fails.
    ReadOnly,
    /// A store-exclusive behind a way out relies on the monitor.
    StillArmed,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::Entered => "something branches or points into it",
            Obstacle::Data => "data lies there",
            Obstacle::Event => "wfe or sevl near it may use the monitor as a source of events",
            Obstacle::Relocated => "relocations describe its words",
            Obstacle::JumpTable => {
                "the function jumps through a table, so that a register's high bits are not known"
            }
            Obstacle::ReadOnly => "it is on read-only data, where LSE would fault",
            Obstacle::StillArmed => "a store-exclusive behind a way out relies on its load-exclusive",
        })
    }
}

/// What goes to, or points to, places in some runs of words; by target, each with the branch where it is one.
pub(super) struct Entries(Vec<(Svma, Option<Svma>)>);

impl Entries {
    /// Looks in the whole file for what leads into some runs of words, in any order.
    pub(super) fn find(image: &Image<'_>, program: &Program, mut runs: Vec<Extent>) -> Entries {
        runs.sort_unstable();
        runs.dedup_by(|next, run| {
            let touches = next.start <= run.end;
            run.end = if touches { run.end.max(next.end) } else { run.end };
            touches
        });
        let is_inside = |to: Svma| {
            let after = runs.partition_point(|run| run.start <= to);
            after.checked_sub(1).and_then(|at| runs.get(at)).is_some_and(|run| run.contains(to))
        };
        let marked = image.pointers.iter().chain(&image.entries).copied();
        let marked = marked.chain(image.symbols.iter().map(|symbol| symbol.svma));
        let marked = marked.chain(image.frames.iter().map(|frame| frame.extent.start));
        let marked = marked.chain(program.functions().iter().map(|function| image.svma(function.start)));
        let marked = marked.chain(program.references().map(|reference| image.svma(reference.to)));
        let mut found: Vec<(Svma, Option<Svma>)> =
            marked.filter(|&to| is_inside(to)).map(|to| (to, None)).collect();
        const PIECE: usize = 1 << 16;
        for code in &image.code {
            let words = code.bytes.as_chunks::<4>().0;
            found.par_extend(words.par_chunks(PIECE).enumerate().flat_map_iter(|(piece, words)| {
                let start = code.extent.start.offset((piece * PIECE * 4) as i64);
                words.iter().zip((0..).step_by(4)).filter_map(move |(word, at)| {
                    let from = start.offset(at);
                    let to = from.offset(reach(u32::from_le_bytes(*word))?);
                    is_inside(to).then_some((to, Some(from)))
                })
            }));
        }
        found.sort_unstable();
        Entries(found)
    }

    /// Whether anything comes to words behind the first of `run` that does not lie in it itself, or to words behind `entry`
    /// that does not lie behind that.
    pub(super) fn lead_into(&self, run: Extent, entry: Svma) -> bool {
        let from = self.0.partition_point(|(to, _)| *to <= entry);
        let within = self.0.get(from..).unwrap_or_default().iter().take_while(|(to, _)| *to < run.end);
        let whole = Extent { start: entry, end: run.end };
        within.into_iter().any(|(to, from)| {
            let own = if *to > run.start { run } else { whole };
            from.is_none_or(|from| !own.contains(from))
        })
    }
}

/// How far, in bytes, a direct branch goes, or the address lies that `adr` makes.
fn reach(word: u32) -> Option<i64> {
    let field =
        |low: u32, bits: u32| i64::from(((word >> low) << (32 - bits)).cast_signed() >> (32 - bits)) * 4;
    match word >> 24 {
        0x14..=0x17 | 0x94..=0x97 => Some(field(0, 26)),
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => Some(field(5, 19)),
        0x36 | 0x37 | 0xb6 | 0xb7 => Some(field(5, 14)),
        0x10 | 0x30 | 0x50 | 0x70 => Some(field(5, 19) | i64::from(word >> 29 & 3)),
        _ => None,
    }
}

/// What else stands in the way of a run of words. `exclusives`: the words, where they are a sequence of exclusives.
pub(super) fn obstacle(
    image: &Image<'_>,
    program: &Program,
    run: Extent,
    exclusives: Option<&[u32]>,
) -> Option<Obstacle> {
    let is_code = |at: Svma| image.code_offset(at).is_some_and(|at| !program.is_data(at));
    if ![run.start, run.end.offset(-4)].into_iter().all(is_code) {
        return Some(Obstacle::Data);
    }
    let words = exclusives?;
    let first = run.start.offset(-4 * NEAR);
    let near = (words.len() as i64) + 2 * NEAR;
    if (0..near).filter_map(|at| image.word_at(first.offset(4 * at))).any(is_event) {
        return Some(Obstacle::Event);
    }
    let is_constant = |at: Svma| image.constants.iter().any(|(extent, _)| extent.contains(at));
    let base = words.first().and_then(|word| match decode(*word).ok()? {
        Insn::LoadExclusive { reference, .. } | Insn::LoadExclusivePair { reference, .. } => {
            Some(reference.base)
        }
        _ => None,
    });
    if base.and_then(|base| before::address(image, run.start, base)).is_some_and(is_constant) {
        return Some(Obstacle::ReadOnly);
    }
    let exits = words.iter().zip(0..).filter_map(|(&word, index)| match decode(word) {
        Ok(Insn::Branch { offset, .. }) => Some(run.start.offset(4 * (index + offset))),
        _ => None,
    });
    let outside = |at: &Svma| !run.contains(*at);
    exits.filter(outside).any(|exit| meets_store(image, exit)).then_some(Obstacle::StillArmed)
}

/// Whether the function around an address has a jump through a register that stays inside, whose targets nothing names. A
/// function that cannot be told may have one.
pub(super) fn may_jump_by_table(image: &Image<'_>, program: &Program, at: Svma) -> bool {
    let function = image.code_offset(at).and_then(|at| program.function_at(at));
    let words = function.and_then(|function| {
        let length = usize::try_from(function.extent(image).len()).ok()?;
        image.bytes_at(function.extent(image).start)?.get(..length)
    });
    // br, braa and their like
    let is_jump = |word: &[u8; 4]| u32::from_le_bytes(*word) & 0xfefe_0000 == 0xd61e_0000;
    words.is_none_or(|words| words.as_chunks::<4>().0.iter().any(is_jump))
}

/// `wfe`, `wfi`, `sev`, `sevl`; `wfet` with any register.
const fn is_event(word: u32) -> bool {
    matches!(word, 0xd503_205f | 0xd503_207f | 0xd503_209f | 0xd503_20bf) || word & !0x1f == 0xd503_1000
}

/// Whether control comes from an address to a store-exclusive with no load-exclusive, call or `clrex` before it.
fn meets_store(image: &Image<'_>, from: Svma) -> bool {
    let mut pending = vec![from];
    let mut seen = HashSet::new();
    while let Some(at) = pending.pop() {
        if seen.len() > ARMED || !seen.insert(at) {
            continue;
        }
        let Some(word) = image.word_at(at) else { continue };
        // Exclusives, of pairs too; bit 22 tells loads.
        if word & 0x3f80_0000 == 0x0800_0000 && (word & 0x0020_0000 == 0 || word >> 31 == 1) {
            if word & 0x0040_0000 == 0 {
                return true;
            }
            continue;
        }
        match decode(word) {
            Ok(Insn::ClearExclusive) => {}
            Ok(Insn::Branch { test: Test::Always, offset }) => pending.push(at.offset(4 * offset)),
            Ok(Insn::Branch { offset, .. }) => pending.extend([at.offset(4 * offset), at.offset(4)]),
            // Calls, returns and jumps through registers: what comes there has its own load-exclusive.
            Err(super::prove::Cause::Call) => {}
            Err(_) if word & 0xfe00_0000 == 0xd600_0000 => {}
            _ => pending.push(at.offset(4)),
        }
    }
    false
}

/// Whether control comes from an address to a load-exclusive with nothing but arithmetic on the way: no load that would
/// wait for another value, no call, no barrier, and nothing new to compare with.
pub(super) fn comes_back(image: &Image<'_>, from: Svma, load: Svma, expected: Option<Register>) -> bool {
    /// Instructions that a compiler writes between a failed comparison and the next try.
    const SHORT: usize = 12;
    let mut pending = vec![from];
    let mut seen = HashSet::new();
    while let Some(at) = pending.pop() {
        if at == load {
            return true;
        }
        if seen.len() >= SHORT || !seen.insert(at) {
            continue;
        }
        match image.word_at(at).map(decode) {
            Some(Ok(Insn::Branch { test: Test::Always, offset })) => pending.push(at.offset(4 * offset)),
            Some(Ok(Insn::Branch { offset, .. })) => pending.extend([at.offset(4 * offset), at.offset(4)]),
            Some(Ok(Insn::Move { .. } | Insn::ClearExclusive)) => pending.push(at.offset(4)),
            Some(Ok(insn)) if insn.destination().is_some_and(|register| Some(register) != expected) => {
                pending.push(at.offset(4));
            }
            _ => {}
        }
    }
    false
}
