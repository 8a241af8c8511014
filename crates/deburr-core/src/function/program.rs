//! The program model: functions and parts by address, and what the sweep found in them.
//!
//! In: what [`super::discover`] found. Out: [`Program`], which answers what is at an offset and hands on calls,
//! references, marks and loops in order of address.

use super::coverage::Coverage;
use crate::address::CodeOffset;
use crate::address::Extent;
use crate::budget::Budget;
use crate::image::{Image, Symbol};
use crate::insn::FeatureGroup;
use crate::insn::sweep::{BackEdge, ComputingLoop, Edge, FeatureHit, Mark, Reference, Sweep};
use std::ops::Range;

/// Index of no symbol.
pub(super) const UNNAMED: u32 = u32::MAX;
/// Index of no function.
pub(super) const WHOLE: u32 = u32::MAX;
/// Bits of an offset within a page of code.
const PAGE: u32 = 12;

/// A function, or a part that the compiler split off from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// Where it begins.
    pub start: CodeOffset,
    /// Where it ends; padding is outside.
    pub end: CodeOffset,
    /// Index into [`Image::symbols`].
    pub(super) symbol: u32,
    /// Index of the function that this is a part of.
    pub(super) owner: u32,
}

impl Function {
    /// Whether the offset is in it.
    pub const fn contains(&self, at: CodeOffset) -> bool {
        self.start.0 <= at.0 && at.0 < self.end.0
    }

    /// Whether it is a part (`.cold`) of another function.
    pub const fn is_part(&self) -> bool {
        self.owner != WHOLE
    }

    /// Its addresses.
    pub fn extent(&self, image: &Image<'_>) -> Extent {
        Extent { start: image.svma(self.start), end: image.svma(self.end) }
    }
}

/// What is known of all code of a file.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// All functions and parts, by address, without overlap.
    pub(super) functions: Vec<Function>,
    /// Runs of data in code, by address, without overlap.
    data: Vec<Range<CodeOffset>>,
    /// What the sweep found, chunk by chunk in order of address.
    pub(super) chunks: Vec<Sweep>,
    /// Where each chunk begins.
    chunk_starts: Vec<CodeOffset>,
    /// By page of code, how many functions begin before it.
    before_page: Vec<u32>,
    /// Every executable byte, accounted for.
    pub coverage: Coverage,
    /// What its analyses may cost.
    budget: Budget,
}

impl Program {
    /// Puts together what [`discover`] found: functions and chunks by address, each with where it begins.
    pub(super) fn new(
        functions: Vec<Function>,
        data: Vec<Range<CodeOffset>>,
        chunks: Vec<(CodeOffset, Sweep)>,
        coverage: Coverage,
    ) -> Program {
        let mut before_page = Vec::new();
        for (before, function) in (0u32..).zip(&functions) {
            // A function's last page needs the number as well, even if nothing begins there.
            let pages = |at: CodeOffset| (at.0 >> PAGE) as usize + 1;
            before_page.resize(before_page.len().max(pages(function.start)), before);
            before_page.resize(before_page.len().max(pages(function.end)), before + 1);
        }
        let (chunk_starts, chunks) = chunks.into_iter().unzip();
        Program { functions, data, chunks, chunk_starts, before_page, coverage, budget: Budget::default() }
    }

    /// Sets what its analyses may cost.
    pub(crate) fn limit(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// What its analyses may cost.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// All functions and parts, by address.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Runs of data in code, by address.
    pub fn data(&self) -> &[Range<CodeOffset>] {
        &self.data
    }

    /// The function or part that holds an offset.
    pub fn function_at(&self, at: CodeOffset) -> Option<&Function> {
        self.functions.get(self.index_at(at)?)
    }

    /// The place among all functions of the one that holds an offset.
    pub(crate) fn index_at(&self, at: CodeOffset) -> Option<usize> {
        let page = (at.0 >> PAGE) as usize;
        let before = |page: usize| self.before_page.get(page).map(|&count| count as usize);
        let (from, to) = (before(page)?, before(page + 1).unwrap_or(self.functions.len()));
        let after = from + self.functions.get(from..to)?.partition_point(|function| function.start <= at);
        let index = after.checked_sub(1)?;
        self.functions.get(index).filter(|function| function.contains(at)).map(|_| index)
    }

    /// The place among all functions of the whole one that an offset is in.
    pub fn whole_index_at(&self, at: CodeOffset) -> Option<usize> {
        let index = self.index_at(at)?;
        let owner = self.functions.get(index)?.owner;
        Some(if owner == WHOLE { index } else { owner as usize })
    }

    /// The function that begins at an offset.
    pub fn function_from(&self, start: CodeOffset) -> Option<&Function> {
        self.function_at(start).filter(|function| function.start == start)
    }

    /// The whole function that a part belongs to; a whole function itself.
    pub fn whole<'a>(&'a self, function: &'a Function) -> &'a Function {
        self.functions.get(function.owner as usize).unwrap_or(function)
    }

    /// The function's name as the file has it; a part has its owner's.
    pub fn name<'a>(&self, function: &Function, image: &'a Image<'_>) -> Option<&'a str> {
        self.symbol(function, image).map(|symbol| &*symbol.name)
    }

    /// The symbol that names the function; that of its owner for a part.
    pub fn symbol<'i, 'a>(&self, function: &Function, image: &'i Image<'a>) -> Option<&'i Symbol<'a>> {
        image.symbols.get(self.whole(function).symbol as usize)
    }

    /// Instructions above the architecture's first level, in runs that are in one function; a long function may
    /// have several runs.
    pub fn hits_by_function(&self) -> impl Iterator<Item = (Option<&Function>, &[FeatureHit])> {
        self.chunks.iter().flat_map(move |chunk| {
            let mut rest = chunk.hits.as_slice();
            std::iter::from_fn(move || {
                let first = rest.first()?;
                let function = self.function_at(first.at);
                let is_here = |hit: &FeatureHit| function.is_none_or(|function| hit.at < function.end);
                let length = match function {
                    Some(_) => rest.iter().position(|hit| !is_here(hit)).unwrap_or(rest.len()),
                    None => 1,
                };
                let (run, after) = rest.split_at_checked(length)?;
                rest = after;
                Some((function, run))
            })
        })
    }

    /// Changes what these instructions need.
    pub(super) fn regroup(&mut self, group: impl Fn(&FeatureHit) -> FeatureGroup) {
        for Sweep { hits, groups, .. } in &mut self.chunks {
            for hit in hits {
                let (before, after) = (hit.group, group(hit));
                if before != after {
                    hit.group = after;
                    groups.resize(groups.len().max(usize::from(after.0) + 1), 0);
                    for (group, change) in [(before, -1), (after, 1)] {
                        if let Some(count) = groups.get_mut(usize::from(group.0)) {
                            *count = count.saturating_add_signed(change);
                        }
                    }
                }
            }
        }
    }

    /// The same, with other instructions in the place of those above the first level.
    pub(crate) fn with_hits(&self, hit: impl Fn(Mark) -> Option<FeatureHit>) -> Program {
        let mut program = self.clone();
        for chunk in &mut program.chunks {
            chunk.hits = chunk.marks.iter().filter_map(|mark| hit(*mark)).collect();
        }
        program
    }

    /// What the sweep found, in pieces in order of address that threads can share.
    pub(super) fn chunks(&self) -> &[Sweep] {
        &self.chunks
    }

    /// Instructions whose class some rule wants, by address.
    pub fn marks(&self) -> impl Iterator<Item = Mark> {
        self.chunks.iter().flat_map(|chunk| chunk.marks.iter().copied())
    }

    /// Short loops, of the kind that was requested, by address of the jump that closes them.
    pub fn back_edges(&self) -> impl Iterator<Item = BackEdge> {
        self.chunks.iter().flat_map(|chunk| chunk.back_edges.iter().copied())
    }

    /// Loops that compute, where they were requested, by address of the jump that closes them.
    pub fn computing_loops(&self) -> impl Iterator<Item = ComputingLoop> {
        self.chunks.iter().flat_map(|chunk| chunk.computing_loops.iter().copied())
    }

    /// Direct calls, by address of the call.
    pub fn calls(&self) -> impl Iterator<Item = Edge> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.calls.iter().copied())
    }

    /// Direct jumps out of a function or of a run of code without known functions, by address of the jump.
    pub fn jumps(&self) -> impl Iterator<Item = Edge> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.jumps.iter().copied())
    }

    /// Direct calls, and jumps out of a function, that begin in a range: calls first, chunk by chunk.
    pub(crate) fn edges_from(&self, range: Range<CodeOffset>) -> impl Iterator<Item = Edge> {
        let first = self.chunk_starts.partition_point(|&start| start <= range.start).saturating_sub(1);
        let last = self.chunk_starts.partition_point(|&start| start < range.end).max(first);
        let chunks = self.chunks.get(first..last).unwrap_or_default().iter();
        chunks.flat_map(|chunk| [&chunk.calls, &chunk.jumps]).flat_map(move |edges| {
            let first = edges.partition_point(|edge| edge.from < range.start);
            let rest = edges.get(first..).unwrap_or_default().iter().copied();
            rest.take_while(move |edge| edge.from < range.end)
        })
    }

    /// References from code to places in code, chunk by chunk.
    pub fn references(&self) -> impl Iterator<Item = Reference> {
        self.chunks.iter().flat_map(|chunk| chunk.references.iter().copied())
    }

    /// How many instructions need each feature group.
    pub fn group_counts(&self) -> impl Iterator<Item = (FeatureGroup, u64)> {
        let mut counts: Vec<u64> = Vec::new();
        for chunk in &self.chunks {
            if counts.len() < chunk.groups.len() {
                counts.resize(chunk.groups.len(), 0);
            }
            for (sum, count) in counts.iter_mut().zip(&chunk.groups) {
                *sum += count;
            }
        }
        counts
            .into_iter()
            .enumerate()
            .filter(|&(_, count)| count > 0)
            .filter_map(|(group, count)| Some((FeatureGroup(u16::try_from(group).ok()?), count)))
    }

    /// The runs of data that end after an offset; none if there is no offset.
    pub(super) fn data_from(&self, at: Option<CodeOffset>) -> impl Iterator<Item = &Range<CodeOffset>> {
        let first = at.map(|at| self.data.partition_point(|run| run.end <= at));
        first.and_then(|first| self.data.get(first..)).unwrap_or_default().iter()
    }

    /// Whether an address is in a run of data.
    pub fn is_data(&self, at: CodeOffset) -> bool {
        let after = self.data.partition_point(|run| run.start <= at);
        after.checked_sub(1).and_then(|i| self.data.get(i)).is_some_and(|run| at < run.end)
    }
}
