//! Patch stage: what enters some instructions, other than at their start.
//!
//! In: how control goes through a file, and the runs of instructions that are to change. Out: [`Entries`]:
//! every branch, every known target of an indirect jump, and every place that holds the address of one of
//! them. Such places are relocations, symbols, unwind tables and their landing pads, and `adr`. In a file
//! that is loaded where it says (`ET_EXEC`), so are any 4 or 8 bytes with the address as their value, and any
//! `movz`/`movk` that makes it.

use super::flow::{Flow, edges};
use super::obstacle::Detail;
use deburr_core::address::{Extent, Svma};
use deburr_core::image::Loaded;
use rayon::prelude::*;

/// Instructions within which an address is put together from its 16-bit parts.
const PARTS_WITHIN: usize = 64;

/// Something that enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    to: Svma,
    /// The branch, where it is one.
    from: Option<Svma>,
    detail: Detail,
}

/// What enters some runs of instructions, by target.
pub(crate) struct Entries(Vec<Entry>);

/// The places in question.
struct Runs(Vec<Extent>);

impl Runs {
    fn new(mut runs: Vec<Extent>) -> Runs {
        runs.sort_unstable();
        runs.dedup_by(|next, run| {
            let touches = next.start <= run.end;
            run.end = if touches { run.end.max(next.end) } else { run.end };
            touches
        });
        Runs(runs)
    }

    fn contain(&self, to: Svma) -> bool {
        let after = self.0.partition_point(|run| run.start <= to);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|run| run.contains(to))
    }
}

impl Entries {
    /// Looks in the whole file for what enters some runs of instructions, in any order.
    pub(crate) fn find(flow: &Flow<'_, '_>, runs: Vec<Extent>) -> Entries {
        let runs = Runs::new(runs);
        let mut found: Vec<Entry> = Vec::new();
        for run in &runs.0 {
            let (Some(start), Some(end)) =
                (flow.image.code_offset(run.start), flow.image.code_offset(run.end.offset(-4)))
            else {
                continue;
            };
            found.extend(flow.edges.range(start..end.saturating_add(4)).iter().map(|&(to, from)| {
                let from = flow.image.svma(from);
                Entry { to: flow.image.svma(to), from: Some(from), detail: Detail::Branch(from) }
            }));
        }
        found.extend(marks(flow).filter(|entry| runs.contain(entry.to)));
        found.par_extend(addresses(flow, &runs));
        if flow.image.is_fixed {
            found.extend(values(&flow.image.loaded, &runs));
        }
        found.sort_unstable();
        Entries(found)
    }

    /// What comes to instructions after the first of `run` from outside of it, or to instructions after
    /// `entry` from outside of all from there on.
    pub(crate) fn lead_into(&self, run: Extent, entry: Svma) -> Option<Detail> {
        let from = self.0.partition_point(|found| found.to <= entry);
        let within = self.0.get(from..).unwrap_or_default().iter().take_while(|found| found.to < run.end);
        let whole = Extent { start: entry, end: run.end };
        let enters = |found: &&Entry| {
            let own = if found.to > run.start { run } else { whole };
            found.from.is_none_or(|from| !own.contains(from))
        };
        within.into_iter().find(enters).map(|found| found.detail)
    }
}

/// The places that the file itself names.
fn marks<'f>(flow: &'f Flow<'_, '_>) -> impl Iterator<Item = Entry> + 'f {
    let image = flow.image;
    let mark = |to: Svma, detail: Detail| Entry { to, from: None, detail };
    let pointers = image.pointers.iter().map(move |&to| mark(to, Detail::Pointer));
    let entries = image.entries.iter().map(move |&to| mark(to, Detail::Pointer));
    let symbols = image.symbols.iter().map(move |symbol| mark(symbol.svma, Detail::Symbol));
    let frames = image.frames.iter().map(move |frame| mark(frame.extent.start, Detail::Unwind));
    let functions =
        flow.program.functions().iter().map(move |function| mark(image.svma(function.start), Detail::Start));
    let references = flow
        .program
        .references()
        .map(move |reference| mark(image.svma(reference.to), Detail::Address(image.svma(reference.from))));
    pointers.chain(entries).chain(symbols).chain(frames).chain(functions).chain(references)
}

/// The addresses that code makes: by `adr`, and by `movz` and `movk` in a file that is loaded where it says.
fn addresses<'f>(flow: &'f Flow<'_, '_>, runs: &'f Runs) -> impl ParallelIterator<Item = Entry> + 'f {
    const PIECE: usize = 1 << 16;
    let image = flow.image;
    image.code.par_iter().flat_map(move |code| {
        let words = code.bytes.as_chunks::<4>().0;
        (0..words.len().div_ceil(PIECE)).into_par_iter().flat_map_iter(move |piece| {
            let first = piece * PIECE;
            let last = words.len().min(first + PIECE);
            (first..last).flat_map(move |index| {
                let at = image.svma(code.at + 4 * index as u32);
                let word = words.get(index).map_or(0, |word| u32::from_le_bytes(*word));
                let adr = edges::adr_distance(word).map(|distance| at.offset(distance));
                let parts = image.is_fixed.then(|| from_parts(words, index)).flatten().map(Svma);
                let made = adr.into_iter().chain(parts).filter(|&to| runs.contain(to));
                made.map(move |to| Entry { to, from: None, detail: Detail::Address(at) })
            })
        })
    })
}

/// The value that a `movk` completes in a register, with the nearest `movz` and `movk` before it.
fn from_parts(words: &[[u8; 4]], index: usize) -> Option<u64> {
    let word = u32::from_le_bytes(*words.get(index)?);
    // movz, movk
    let part = |word: u32| {
        let is_part = matches!(word & 0x7f80_0000, 0x5280_0000 | 0x7280_0000);
        is_part.then_some((word & 31, word >> 21 & 3, u64::from(word >> 5 & 0xffff)))
    };
    let (register, which, value) = part(word)?;
    let (mut value, mut known) = (value << (16 * which), 1u32 << which);
    for word in words.get(index.saturating_sub(PARTS_WITHIN)..index)?.iter().rev() {
        let word = u32::from_le_bytes(*word);
        let Some((other, which, bits)) = part(word).filter(|(other, ..)| *other == register) else {
            continue;
        };
        let _ = other;
        if known >> which & 1 == 0 {
            value |= bits << (16 * which);
            known |= 1 << which;
        }
        // movz leaves zeros elsewhere.
        if word & 0x2000_0000 == 0 {
            break;
        }
    }
    Some(value)
}

/// Every value of 4 bytes, as the low half of a pointer or as a whole one: at any place in data, and at
/// aligned ones in code.
fn values(loaded: &[Loaded<'_>], runs: &Runs) -> Vec<Entry> {
    let (Some(first), Some(last)) = (runs.0.first(), runs.0.last()) else { return Vec::new() };
    let (low, high) = (first.start.0, last.end.0);
    let in_run = |run: &Loaded<'_>| {
        let start = run.extent.start;
        let step = if run.is_executable { 4 } else { 1 };
        let windows = run.bytes.windows(4).enumerate().step_by(step);
        let found = windows.filter_map(move |(index, bytes)| {
            let value = u64::from(u32::from_le_bytes(*bytes.first_chunk()?));
            let to = Svma(value);
            let is_inside = (low..high).contains(&value) && value & 3 == 0 && runs.contain(to);
            is_inside.then(|| Entry { to, from: None, detail: Detail::Value(start.offset(index as i64)) })
        });
        found.collect::<Vec<Entry>>()
    };
    loaded.par_iter().flat_map_iter(in_run).collect()
}
