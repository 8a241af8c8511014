//! [`Image`] → [`Program`]: one parallel sweep over all code, then the functions from everything that is
//! known of their bounds.
//!
//! Bounds come from symbols, frame descriptions and `.gopclntab` (the image has merged these), and where
//! none of them reaches, from direct call targets, pointers in data, addresses that code makes, and what follows padding.

use super::coverage::Coverage;
use super::data::{called_by, code_data, known_data, references_to_data};
use super::known::{
    Cursor, Known, bytes, is_known, known_functions, known_starts, offset_length, outside, sections,
    trailing_padding,
};
use super::offsets::Offsets;
use super::owners::find_owners;
use super::padding;
use super::partition::{Unit, partition};
use super::program::{Function, Program, UNNAMED, WHOLE};
use super::streaming::settle_streaming;
use crate::address::CodeOffset;
use crate::image::Image;
use crate::insn;
use crate::insn::sweep::{Interest, ReferenceKind, Sweep, Wants};
use deburr_cpu::Arch;
use rayon::prelude::*;
use std::ops::Range;

/// Finds the functions of an image and sweeps its code once, noting what is wanted.
pub fn discover(image: &Image<'_>, wants: Wants) -> Program {
    let mut known = known_functions(image);
    let mut data = known_data(image);
    let starts = known_starts(image, &known);
    let chunks: Vec<Vec<Unit>> =
        sections(image).flat_map(|section| partition(section, &starts, &data)).collect();
    let mut chunks = sweep_chunks(image, chunks, wants);
    let sweeps: Vec<&Sweep> = chunks.iter().map(|(_, sweep)| sweep).collect();
    let (called, references) = rayon::join(
        || called_by(image, sweeps.iter().flat_map(|sweep| &sweep.calls)),
        || references_to_data(image, &known, &sweeps),
    );
    let (candidates, found) = rayon::join(
        || candidate_starts(image, &known, &called, &sweeps),
        || code_data(image, &known, &data, &sweeps, &called, &references),
    );
    if !found.is_empty() {
        leave_out(image, &mut chunks, &found, wants);
        data = merge(data, found);
    }
    let coverage = Coverage {
        executable: image.code.iter().map(|code| code.extent.len()).sum(),
        decoded: chunks.iter().map(|(_, chunk)| chunk.decoded).sum(),
        data: data.iter().map(|run| u64::from(run.end - run.start)).sum(),
        undecoded: chunks.iter().map(|(_, chunk)| chunk.undecoded).sum(),
    };
    // Of a chunk in which all turned out to be data nothing begins.
    let firsts = chunks.iter().scan(CodeOffset::ZERO, |last, (units, _)| {
        *last = units.first().map_or(*last, |unit| unit.start);
        Some(*last)
    });
    let starts: Vec<CodeOffset> = firsts.collect();
    let by_start = starts.into_iter().zip(chunks.into_iter().map(|(_, sweep)| sweep)).collect();
    end_before_next(image, &mut known, &candidates);
    let functions = fill_gaps(image, &known, &data, &candidates);
    let mut program = Program::new(functions, data, by_start, coverage);
    find_owners(image, &known, &mut program);
    settle_streaming(image, &mut program);
    program
}

/// Sweeps all chunks in parallel. A chunk that begins at an arbitrary cut is first tried where a short run-up says. It
/// is swept again from where the sweep of the chunk before it really ended, if that differs. The result is that of one
/// sequential sweep.
fn sweep_chunks(image: &Image<'_>, chunks: Vec<Vec<Unit>>, wants: Wants) -> Vec<(Vec<Unit>, Sweep)> {
    let after_cut: Vec<bool> = std::iter::once(false)
        .chain(chunks.iter().map(|chunk| chunk.last().is_some_and(Unit::is_cut)))
        .collect();
    let mut swept: Vec<(Vec<Unit>, Sweep, CodeOffset)> = chunks
        .into_par_iter()
        .zip(after_cut.par_iter())
        .map_init(Sweep::default, |scratch, (mut units, &after_cut)| {
            if let Some(first) = units.first_mut().filter(|_| after_cut) {
                first.start = run_up(image, first.start);
            }
            let (sweep, end) = sweep_units(image, &units, wants, scratch);
            (units, sweep, end)
        })
        .collect();
    let mut scratch = Sweep::default();
    for i in 1..swept.len() {
        let Some([(.., before_end), (units, sweep, end)]) = swept.get_mut(i - 1..=i) else { continue };
        if let Some(first) =
            units.first_mut().filter(|first| first.start != *before_end && after_cut.get(i) == Some(&true))
        {
            first.start = (*before_end).min(first.limit);
            first.end = first.end.max(first.start);
            (*sweep, *end) = sweep_units(image, units, wants, &mut scratch);
        }
    }
    swept.into_iter().map(|(units, sweep, _)| (units, sweep)).collect()
}

/// The first instruction at or after `at`, as a decoder sees it that starts a little before: x86-64 decoding
/// falls into step within a few instructions.
fn run_up(image: &Image<'_>, at: CodeOffset) -> CodeOffset {
    const DISTANCE: u32 = 256;
    let mut position = at.saturating_sub(DISTANCE);
    while position < at {
        let svma = image.svma(position);
        let code = image.bytes_at(svma).unwrap_or_default();
        position += insn::decode(image.arch, code, svma).map_or(1, |insn| u32::from(insn.length));
    }
    position
}

/// Sweeps the units of one chunk; returns also where the last instruction ended. Lists grow in `scratch`, which the
/// next chunk finds grown already, so that those returned take no more memory than they need.
fn sweep_units(image: &Image<'_>, units: &[Unit], wants: Wants, scratch: &mut Sweep) -> (Sweep, CodeOffset) {
    /// Bytes that a sweep may read beyond a unit to be quick up to its end.
    const AHEAD: u32 = 16;
    scratch.clear();
    let mut end = units.first().map_or(CodeOffset::ZERO, |unit| unit.start);
    let code_length = sections(image).next_back().map_or(CodeOffset::ZERO, |section| section.end);
    for unit in units {
        let interest = Interest {
            wants,
            code_length,
            code_base: image.code_base,
            // Only where functions are known is a branch out of the unit a branch out of a function.
            conditional_exits: !unit.is_cut(),
        };
        let code = bytes(image, unit.start..unit.limit.saturating_add(AHEAD));
        let (length, limit) = ((unit.end - unit.start) as usize, (unit.limit - unit.start) as usize);
        end = insn::sweep_unit(image.arch, code, length, limit, unit.start, &interest, scratch);
    }
    (scratch.clone(), end)
}

/// Sweeps again the chunks in which data was found, without it.
fn leave_out(image: &Image<'_>, chunks: &mut [(Vec<Unit>, Sweep)], data: &[Range<CodeOffset>], wants: Wants) {
    /// Bytes of the longest instruction: so far a sweep reads beyond a chunk's end.
    const LONGEST: u32 = 15;
    chunks.par_iter_mut().for_each(|(units, sweep)| {
        let end =
            units.last().map_or(CodeOffset::ZERO, |unit| unit.limit.min(unit.end.saturating_add(LONGEST)));
        let first =
            units.first().and_then(|unit| data.get(data.partition_point(|run| run.end <= unit.start)));
        if first.is_none_or(|run| run.start >= end) {
            return;
        }
        let pieces: Vec<Unit> = units.iter().flat_map(|unit| unit_without(*unit, data)).collect();
        if pieces != *units {
            (*sweep, _) = sweep_units(image, &pieces, wants, &mut Sweep::default());
            *units = pieces;
        }
    });
}

/// A unit without the data in it.
fn unit_without(unit: Unit, data: &[Range<CodeOffset>]) -> Vec<Unit> {
    let first = data.partition_point(|run| run.end <= unit.start);
    let runs = data.get(first..).unwrap_or_default();
    let mut pieces = Vec::new();
    let mut start = unit.start;
    for run in runs.iter().take_while(|run| run.start < unit.limit) {
        if run.start > start && start < unit.end {
            pieces.push(Unit { start, end: run.start.min(unit.end), limit: run.start });
        }
        start = start.max(run.end);
    }
    if start < unit.end {
        pieces.push(Unit { start, ..unit });
    }
    pieces
}

/// Two sorted lists of disjoint runs as one.
fn merge(mut known: Vec<Range<CodeOffset>>, found: Vec<Range<CodeOffset>>) -> Vec<Range<CodeOffset>> {
    known.extend(found);
    known.sort_by_key(|run| run.start);
    known
}

/// The known functions, and those found in the gaps between them.
fn fill_gaps(
    image: &Image<'_>,
    known: &[Known],
    data: &[Range<CodeOffset>],
    candidates: &[CodeOffset],
) -> Vec<Function> {
    /// Gaps that one thread examines together.
    const SHARD: usize = 1024;
    let mut gaps: Vec<Range<CodeOffset>> = Vec::with_capacity(known.len() + image.code.len());
    let mut between = known.iter().peekable();
    for section in sections(image) {
        let mut at = section.start;
        while let Some(function) = between.next_if(|function| function.start < section.end) {
            gaps.push(at..function.start);
            at = function.end;
        }
        gaps.push(at..section.end);
    }
    let found: Vec<Vec<Function>> = gaps
        .par_chunks(SHARD)
        .map(|gaps| {
            let mut found = Vec::new();
            for gap in gaps.iter().filter(|gap| !gap.is_empty()) {
                fill_gap(image, gap.clone(), candidates, data, &mut found);
            }
            found
        })
        .collect();
    let mut functions = Vec::with_capacity(known.len() + found.iter().map(Vec::len).sum::<usize>());
    let mut known = known
        .iter()
        .map(|known| Function { start: known.start, end: known.end, symbol: known.symbol, owner: WHOLE })
        .peekable();
    for found in found.into_iter().flatten() {
        functions.extend(std::iter::from_fn(|| known.next_if(|known| known.start < found.start)));
        functions.push(found);
    }
    functions.extend(known);
    functions
}

/// Ends functions of unknown size where the next one seems to begin.
fn end_before_next(image: &Image<'_>, known: &mut [Known], candidates: &[CodeOffset]) {
    for function in known.iter_mut().filter(|function| function.is_open) {
        let next = candidates.get(candidates.partition_point(|&start| start <= function.start));
        if let Some(&next) = next.filter(|&&next| next < function.end) {
            function.end = next - trailing_padding(image, function.start..next);
        }
    }
}

/// Offsets outside known functions, or in one whose end nothing states, at which code seems to begin a function: direct call targets, entries, pointers in
/// data, and addresses that known functions make. Sorted.
fn candidate_starts(
    image: &Image<'_>,
    known: &[Known],
    called: &Offsets,
    sweeps: &[&Sweep],
) -> Vec<CodeOffset> {
    /// Pointers that one thread examines together.
    const SHARD: usize = 8192;
    let pointed: Vec<Vec<CodeOffset>> = image
        .pointers
        .par_chunks(SHARD)
        .map(|pointers| {
            let pointers = pointers.iter().filter_map(|&pointer| image.code_offset(pointer));
            let mut free = Free::among(known);
            let is_new = |&to: &CodeOffset| free.has(to) && !called.contains(to) && follows_an_end(image, to);
            pointers.filter(is_new).collect()
        })
        .collect();
    let mut is_outside = outside(known);
    let mut free = Free::among(known);
    let is_start = |&to: &CodeOffset| is_outside(to) || free.has(to) && follows_an_end(image, to);
    let mut starts: Vec<CodeOffset> = called.iter().filter(is_start).collect();
    // What is known to be a function's code, or follows where a call leads, makes addresses of functions; what else was
    // swept may be data.
    let is_code = |at: CodeOffset, cursor: &mut Cursor| {
        let last = cursor.count(&starts, |&start| start <= at).checked_sub(1);
        let last = last.and_then(|index| starts.get(index));
        is_known(known, at) || last.is_some_and(|&start| none_begins_between(known, start, at))
    };
    let made = sweeps.par_iter().flat_map_iter(|sweep| {
        let (mut free, mut cursor) = (Free::among(known), Cursor::default());
        let made = sweep.references.iter().filter(|made| made.kind == ReferenceKind::Address);
        made.filter(move |made| {
            free.has(made.to)
                && is_code(made.from, &mut cursor)
                && !called.contains(made.to)
                && follows_an_end(image, made.to)
        })
    });
    let made: Vec<CodeOffset> = made.map(|reference| reference.to).collect();
    let entries = image.entries.iter().filter_map(|&entry| image.code_offset(entry));
    starts.extend(pointed.into_iter().flatten());
    starts.extend(made);
    starts.extend(entries);
    // A few runs by address, which a stable sort merges.
    starts.sort();
    starts.dedup();
    starts
}

/// Whether no known function begins from an offset to another one, both included.
fn none_begins_between(known: &[Known], from: CodeOffset, until: CodeOffset) -> bool {
    let first = known.partition_point(|function| function.start < from);
    known.get(first).is_none_or(|function| function.start > until)
}

/// Where a function may begin as far as the known ones show.
struct Free<'k> {
    known: &'k [Known],
    cursor: Cursor,
}

impl<'k> Free<'k> {
    fn among(known: &'k [Known]) -> Free<'k> {
        Free { known, cursor: Cursor::default() }
    }

    /// Whether one may begin at an offset.
    fn has(&mut self, at: CodeOffset) -> bool {
        let before = self.cursor.count(self.known, |function| function.start <= at).checked_sub(1);
        let before = before.and_then(|index| self.known.get(index));
        before.is_none_or(|function| at >= function.end || function.is_open && at > function.start)
    }
}

/// Whether the bytes before an offset look like the end of a function: padding, a return, a jump or a trap.
/// Data points into the middle of functions too (jump tables).
fn follows_an_end(image: &Image<'_>, at: CodeOffset) -> bool {
    let before = bytes(image, at.saturating_sub(5)..at);
    match image.arch {
        Arch::Aarch64 => {
            let Some(word) = before.last_chunk::<4>() else { return true };
            let svma = image.svma(at.saturating_sub(4));
            u32::from_le_bytes(*word) == 0xd503_201f // nop
                || insn::decode(image.arch, word, svma).is_none_or(|insn| !insn.flow.falls_through())
        }
        Arch::X86_64 => {
            matches!(before.last(), None | Some(0xc3 | 0xcc | 0x90 | 0x00))
                || matches!(before, [.., 0x0f, 0x0b])
                || matches!(before, [0xe9, ..])
                || matches!(before, [.., 0xeb, _])
        }
    }
}

/// The functions of one gap: from each candidate, and from the first byte that is no padding, to the next.
fn fill_gap(
    image: &Image<'_>,
    gap: Range<CodeOffset>,
    candidates: &[CodeOffset],
    data: &[Range<CodeOffset>],
    functions: &mut Vec<Function>,
) {
    /// Pieces from which on threads share the work.
    const MANY: usize = 4096;
    // Between described functions there is nothing but padding, a hundred thousand times.
    if padding::leading(image.arch, bytes(image, gap.clone())) == (gap.end - gap.start) as usize {
        return;
    }
    let within = |sorted: &[CodeOffset]| {
        let first = sorted.partition_point(|&start| start <= gap.start);
        let last = sorted.partition_point(|&start| start < gap.end);
        first..last.max(first)
    };
    let candidates = candidates.get(within(candidates)).unwrap_or_default();
    let first = data.partition_point(|run| run.end <= gap.start);
    let runs = data.get(first..).unwrap_or_default().iter().take_while(|run| run.start < gap.end);
    let mut cuts: Vec<CodeOffset> = Vec::with_capacity(candidates.len() + 2);
    cuts.extend([gap.start, gap.end]);
    cuts.extend(candidates);
    cuts.extend(runs.flat_map(|run| [run.start, run.end]).map(|at| at.clamp(gap.start, gap.end)));
    cuts.sort_unstable();
    cuts.dedup();
    let function = |piece: &[CodeOffset]| {
        let &[start, end] = piece else { return None };
        if run_at(data, start).is_some() {
            return None;
        }
        let code = bytes(image, start..end);
        let start = start + offset_length(padding::leading(image.arch, code) as u64);
        let end = end - trailing_padding(image, start.min(end)..end);
        (start < end).then_some(Function { start, end, symbol: UNNAMED, owner: WHOLE })
    };
    if cuts.len() > MANY {
        let found: Vec<Function> = cuts.par_windows(2).filter_map(function).collect();
        functions.extend(found);
    } else {
        functions.extend(cuts.windows(2).filter_map(function));
    }
}

/// The run of data that holds an offset.
fn run_at(data: &[Range<CodeOffset>], at: CodeOffset) -> Option<&Range<CodeOffset>> {
    let after = data.partition_point(|run| run.start <= at);
    data.get(after.checked_sub(1)?).filter(|run| at < run.end)
}
