//! Patch stage: what enters some instructions, other than at their start.
//!
//! In: how control goes through a file, and the runs of instructions that are to change. Out: [`Entries`]:
//! every branch, every known target of an indirect jump, and every place that holds the address of one of
//! them. Such places are relocations, symbols, unwind tables and their landing pads, and code that makes the
//! address. In a file that is loaded where it says (`ET_EXEC`), so are any 4 or 8 bytes with the address as
//! their value. What the loader maps executable beside code is code, too.

use super::flow::made::Maker;
use super::flow::{Flow, edges};
use super::obstacle::Detail;
use deburr_core::address::{Extent, Svma};
use deburr_core::image::Loaded;
use rayon::prelude::*;

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
        found.par_extend(pointers_beside(flow, &runs));
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
    let pads = image.landing_pads.iter().map(move |&to| mark(to, Detail::Unwind));
    let frames = image.frames.iter().map(move |frame| mark(frame.extent.start, Detail::Unwind));
    let functions =
        flow.program.functions().iter().map(move |function| mark(image.svma(function.start), Detail::Start));
    let references = flow
        .program
        .references()
        .map(move |reference| mark(image.svma(reference.to), Detail::Address(image.svma(reference.from))));
    pointers.chain(entries).chain(symbols).chain(pads).chain(frames).chain(functions).chain(references)
}

/// The addresses that code makes, and where what runs beside it goes.
fn addresses<'f>(flow: &'f Flow<'_, '_>, runs: &'f Runs) -> impl ParallelIterator<Item = Entry> + 'f {
    let image = flow.image;
    let made = flow.pieces().flat_map_iter(move |(start, words)| {
        let mut found = Vec::new();
        Maker::new(image).read(start, words, |at, to| {
            if runs.contain(to) {
                found.push(Entry { to, from: None, detail: Detail::Address(at) });
            }
        });
        found
    });
    made.chain(beside(flow, runs))
}

/// What words beside code branch to, and the addresses that they make.
fn beside(flow: &Flow<'_, '_>, runs: &Runs) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut add = |to: Svma, detail: Detail| {
        if runs.contain(to) {
            found.push(Entry { to, from: None, detail });
        }
    };
    for (at, to) in flow.beside().made(flow.image) {
        add(to, Detail::Address(at));
    }
    for (at, word) in flow.beside().words() {
        if let Some(distance) = edges::distance(word) {
            add(at.offset(distance), Detail::Branch(at));
        }
    }
    found
}

/// What is at the distance from a pointer that some jump adds to one.
fn pointers_beside<'f>(flow: &'f Flow<'_, '_>, runs: &'f Runs) -> impl ParallelIterator<Item = Entry> + 'f {
    let mut distances = flow.distances_from_pointers().to_vec();
    distances.extend(&flow.beside().distances().known);
    distances.into_par_iter().flat_map_iter(move |(distance, jump)| {
        flow.pointed_to().iter().filter_map(move |&pointed| {
            let to = flow.image.svma(pointed).offset(distance);
            runs.contain(to).then_some(Entry { to, from: None, detail: Detail::Branch(jump) })
        })
    })
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
