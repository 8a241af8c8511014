//! Patch stage: where control comes from.
//!
//! In: an image and its program. Out: [`Edges`]: every direct branch and call of the file by its target, from
//! every instruction of code, whatever function it is taken to belong to. A word of data that happens to
//! decode as a branch is none, unless control can reach that data.

use super::Places;
use deburr_core::address::CodeOffset;
use deburr_core::function::Program;
use deburr_core::image::Image;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Instructions that one thread reads together.
const PIECE: usize = 1 << 16;
/// Bytes of code whose edges are found together.
const PAGE: u32 = 1 << 12;
/// Instructions that all threads read together.
const PART: usize = 1 << 22;

/// Branches and calls, and where indirect jumps are known to go: target and source, in that order.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    by_target: Vec<(CodeOffset, CodeOffset)>,
    targets: Places,
    /// Where, among all edges, those into each page begin.
    pages: Vec<u32>,
    /// Sources that are indirect jumps.
    indirect: FxHashSet<CodeOffset>,
    /// Data that control can reach, by address.
    reached_data: Vec<Range<CodeOffset>>,
}

impl Edges {
    /// Reads all code of a file.
    pub(crate) fn find(image: &Image<'_>, program: &Program) -> Edges {
        let mut edges: Vec<(CodeOffset, CodeOffset)> = Vec::new();
        for code in &image.code {
            // Not at once: what threads find is in memory twice until it is put together.
            for (part, words) in code.bytes.as_chunks::<4>().0.chunks(PART).enumerate() {
                let start = code.at + (part * PART * 4) as u32;
                edges.par_extend(direct(image, start, words).filter(|&(_, from)| !program.is_data(from)));
            }
        }
        edges.par_sort_unstable_by_key(by_target);
        let mut edges = Edges { by_target: edges, ..Edges::default() };
        edges.sort();
        edges.add_reachable_data(image, program);
        edges
    }

    /// Takes in where indirect jumps go, target and source, instead of what was said of it before.
    pub(crate) fn set_indirect(
        &mut self,
        image: &Image<'_>,
        program: &Program,
        indirect: Vec<(CodeOffset, CodeOffset)>,
    ) {
        let before: FxHashSet<CodeOffset> = std::mem::take(&mut self.indirect);
        if !before.is_empty() {
            self.by_target.retain(|(_, from)| !before.contains(from));
        }
        self.indirect = indirect.iter().map(|&(_, from)| from).collect();
        self.by_target.extend(indirect);
        self.sort();
        self.add_reachable_data(image, program);
    }

    /// Adds the branches in data that control can reach after all: it was taken for data and is code.
    fn add_reachable_data(&mut self, image: &Image<'_>, program: &Program) {
        let pointed = |run: &Range<CodeOffset>| {
            let after = image.pointers.partition_point(|&to| to < image.svma(run.start));
            image.pointers.get(after).is_some_and(|&to| to < image.svma(run.end))
        };
        let is_reachable = |run: &&Range<CodeOffset>| {
            let before = run.start.checked_sub(4).and_then(|at| image.word_at(image.svma(at)));
            before.is_some_and(falls_through) || !self.range((*run).clone()).is_empty() || pointed(run)
        };
        let is_new = |run: &&Range<CodeOffset>| !self.reached_data.contains(*run);
        let new: Vec<_> = program.data().iter().filter(is_new).filter(is_reachable).cloned().collect();
        if new.is_empty() {
            return;
        }
        let words =
            new.iter().flat_map(|run| CodeOffset(run.start.0.next_multiple_of(4)).words_until(run.end));
        let added = words.filter_map(|from| {
            let at = image.svma(from);
            Some((image.code_offset(at.offset(distance(image.word_at(at)?)?))?, from))
        });
        let added: Vec<_> = added.collect();
        self.by_target.extend(added);
        self.sort();
        self.reached_data.extend(new);
    }

    /// Whether a place is in data that control can reach.
    pub(crate) fn reach_data(&self, at: CodeOffset) -> bool {
        self.reached_data.iter().any(|run| run.contains(&at))
    }

    /// Whether control comes to a place from elsewhere than the instruction before it.
    pub(crate) fn is_target(&self, at: CodeOffset) -> bool {
        self.targets.contains(at)
    }

    /// Where control comes to a place from, except for the instruction before it.
    pub(crate) fn sources(&self, to: CodeOffset) -> impl Iterator<Item = CodeOffset> {
        let edges = if self.is_target(to) { self.range(to..to + 1) } else { &[] };
        edges.iter().map(|&(_, from)| from)
    }

    /// Brings the edges in order, most of which are: then the stable sort merges.
    fn sort(&mut self) {
        self.by_target.sort_by_key(by_target);
        self.targets = Places::default();
        self.pages.clear();
        for (index, &(to, _)) in (0..).zip(&self.by_target) {
            self.targets.insert(to);
            let page = (to.0 / PAGE) as usize;
            if self.pages.len() <= page {
                self.pages.resize(page + 1, index);
            }
        }
    }

    /// Where, among all edges, those into a page begin.
    fn first_of_page(&self, page: u32) -> usize {
        self.pages.get(page as usize).map_or(self.by_target.len(), |&first| first as usize)
    }

    /// Targets in a range, each with its source, by target.
    pub(crate) fn range(&self, range: Range<CodeOffset>) -> &[(CodeOffset, CodeOffset)] {
        let (page, last_page) = (range.start.0 / PAGE, range.end.0 / PAGE);
        let first = self.first_of_page(page);
        let inside = self.by_target.get(first..self.first_of_page(page + 1)).unwrap_or_default();
        let from = first + inside.partition_point(|&(to, _)| to < range.start);
        let last = self.first_of_page(last_page + 1);
        let rest = self.by_target.get(from..last).unwrap_or_default();
        rest.get(..rest.partition_point(|&(to, _)| to < range.end)).unwrap_or_default()
    }
}

/// The order of edges: as one number each, which is faster to compare than two.
fn by_target(&(to, from): &(CodeOffset, CodeOffset)) -> u64 {
    u64::from(to) << 32 | u64::from(from)
}

/// The direct branches and calls among instructions from a place on: target and source.
fn direct<'a>(
    image: &'a Image<'_>,
    start: CodeOffset,
    words: &'a [[u8; 4]],
) -> impl ParallelIterator<Item = (CodeOffset, CodeOffset)> + 'a {
    words.par_chunks(PIECE).enumerate().flat_map_iter(move |(piece, words)| {
        let start = start + (piece * PIECE * 4) as u32;
        words.iter().zip(start.words()).filter_map(move |(word, from)| {
            let to = image.svma(from).offset(distance(u32::from_le_bytes(*word))?);
            Some((image.code_offset(to)?, from))
        })
    })
}

/// How far, in bytes, a direct branch or call goes (DDI 0487 C4.1, "Branches, Exception Generating and System
/// instructions").
pub(crate) fn distance(word: u32) -> Option<i64> {
    match word >> 24 {
        0x14..=0x17 | 0x94..=0x97 => Some(field(word, 0, 26)),
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => Some(field(word, 5, 19)),
        0x36 | 0x37 | 0xb6 | 0xb7 => Some(field(word, 5, 14)),
        // FEAT_CMPBR
        0x74 | 0x75 | 0xf4 | 0xf5 => Some(field(word, 5, 9)),
        _ => None,
    }
}

/// The distance of `adr`, in bytes, or of `adrp`, in pages; but for the lowest two bits, that of a literal in bytes.
pub(crate) fn address_distance(word: u32) -> i64 {
    field(word, 5, 19) | i64::from(word >> 29 & 3)
}

/// A signed field that counts instructions, in bytes.
fn field(word: u32, low: u32, bits: u32) -> i64 {
    i64::from(((word >> low) << (32 - bits)).cast_signed() >> (32 - bits)) * 4
}

/// Whether an instruction is no branch, no exception and no system instruction.
pub(crate) const fn is_plain(word: u32) -> bool {
    word >> 26 & 7 != 5
}

/// Whether the next instruction can run after an instruction; a call comes back. What is not allocated traps,
/// and is taken to go on.
pub(crate) fn falls_through(word: u32) -> bool {
    // b; br, ret, eret, drps and their signed forms, blr excepted; udf
    let is_jump = word >> 26 == 0b00_0101;
    let is_indirect = word & 0xfe00_0000 == 0xd600_0000 && !is_indirect_call(word);
    !is_jump && !is_indirect && word >> 16 != 0
}

/// `blr` and its signed forms.
pub(crate) fn is_indirect_call(word: u32) -> bool {
    word & 0xfeff_f000 == 0xd63f_0000
}

/// `bl`
pub(crate) fn is_call(word: u32) -> bool {
    word >> 26 == 0b10_0101
}

/// `br` and its signed forms; `ret` through another register than x30.
pub(crate) fn is_indirect_jump(word: u32) -> bool {
    word & 0xfeff_f000 == 0xd61f_0000 || word & 0xffff_fc1f == 0xd65f_0000 && word >> 5 & 31 != 30
}

/// `ret` through x30, `retaa`, `retab`.
pub(crate) fn is_return(word: u32) -> bool {
    word == 0xd65f_03c0 || word & 0xffff_fbff == 0xd65f_0bff
}

/// Whether an instruction other than a load or a call writes x30: a result of data processing.
pub(crate) const fn computes_return(word: u32) -> bool {
    let is_immediate = word & 0x1c00_0000 == 0x1000_0000;
    let is_of_registers = word & 0x0e00_0000 == 0x0a00_0000;
    word & 31 == 30 && (is_immediate || is_of_registers)
}
