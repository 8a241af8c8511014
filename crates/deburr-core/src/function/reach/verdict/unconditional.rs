//! Unconditionally reachable functions: those that control reaches before anything has queried the CPU.
//!
//! In: the calls and jumps of a file, and what is proven where. Out: [`Unconditional`]. Most of a large program is
//! called from its entry without any check in between. Nothing more needs to be known of such a function, so that only
//! the few others are analysed closely.

use crate::address::CodeOffset;
use crate::address::Svma;
use crate::function::reach::file::incoming::transfers;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::verdict::node::{Source, Stated};
use crate::function::{Function, Program};
use crate::insn::sweep::{Edge, ReferenceKind};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The functions that some others lead to by calls without a check before them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unconditional {
    /// By a function's place among all: the place of its caller on a shortest path, or its own if the path begins
    /// there.
    callers: Vec<Option<u32>>,
}

/// Where the CPU is known to have been queried.
pub(crate) struct Tested<'k, 'w, 'a> {
    pub file: &'k View<'w, 'a>,
    pub facts: &'k FactsByFunction,
    /// Functions that the user knows to be guarded.
    pub stated: &'k Stated,
}

impl Tested<'_, '_, '_> {
    /// Goes on from the roots. Of what other files may call, only those functions count that this file does not refer
    /// to itself.
    pub(crate) fn unconditional_from(&self, roots: &BTreeMap<CodeOffset, Source>) -> Unconditional {
        let (image, program) = (self.file.image, self.file.program);
        let is_root = |function: &Function, source: &Source| match source {
            Source::Root => true,
            Source::Export { is_interface } => *is_interface && !self.file.is_referred_to(function),
            Source::Offer { .. } | Source::Node(_) => false,
        };
        let roots = roots.iter().filter_map(|(&start, source)| Some((program.function_from(start)?, source)));
        let roots =
            roots.filter(|(function, source)| is_root(function, source)).map(|(function, _)| function);
        let entry = image.entry_point.and_then(|svma| image.code_offset(svma));
        let mains = entry.into_iter().flat_map(|entry| handed_out(self.file, entry));
        self.spread(roots.chain(mains.filter_map(|start| program.function_from(start))))
    }

    /// Whether control gets to a function that something points to, and from there to this one, before anything has
    /// queried the CPU. `known`: what was found before.
    pub(crate) fn is_pointed_to(&self, start: CodeOffset, known: &mut FxHashMap<CodeOffset, bool>) -> bool {
        let mut seen = BTreeSet::from([start]);
        let mut pending = vec![start];
        let mut is_pointed_to = false;
        while let Some(callee) = pending.pop().filter(|_| !is_pointed_to) {
            let function = self.file.program.function_from(callee).filter(|_| self.is_simple(callee));
            let Some(function) = function else { continue };
            match known.get(&callee) {
                // What leads there is known as well.
                Some(false) => continue,
                Some(true) => is_pointed_to = true,
                None => is_pointed_to = self.file.is_pointed_to(callee),
            }
            for edge in self.file.edges_into(function) {
                if let Some(caller) = self.file.whole_at(edge.from).map(|caller| caller.start)
                    && is_unchecked(self.facts.get(&caller).map(AsRef::as_ref), edge.from)
                    && seen.insert(caller)
                {
                    pending.push(caller);
                }
            }
        }
        if is_pointed_to {
            known.insert(start, true);
        } else {
            known.extend(seen.into_iter().map(|start| (start, false)));
        }
        is_pointed_to
    }

    /// Whether a function is entered at its start only, and not known to be guarded.
    fn is_simple(&self, start: CodeOffset) -> bool {
        !self.file.incoming.inner.contains_key(&start) && !self.stated.contains_key(&start)
    }

    /// Goes on from some functions along calls without a check before them. What runs after an entry in the middle of a
    /// function is another matter.
    fn spread<'f>(&self, from: impl Iterator<Item = &'f Function>) -> Unconditional {
        let file = self.file;
        let functions = file.program.functions();
        let is_simple =
            |place: usize| functions.get(place).is_some_and(|function| self.is_simple(function.start));
        let mut callers: Vec<Option<u32>> = vec![None; functions.len()];
        let mut pending = VecDeque::new();
        let mut reach = |place: usize, caller: Option<u32>, pending: &mut VecDeque<u32>| {
            let (Some(known), Ok(number)) = (callers.get_mut(place), u32::try_from(place)) else { return };
            if known.is_none() && is_simple(place) {
                *known = Some(caller.unwrap_or(number));
                pending.push_back(number);
            }
        };
        for function in from {
            if let Some(place) = file.program.index_at(function.start) {
                reach(place, None, &mut pending);
            }
        }
        while let Some(caller) = pending.pop_front() {
            let Some(function) = functions.get(caller as usize) else { continue };
            let facts = self.facts.get(&function.start).map(AsRef::as_ref);
            for edge in edges_from(file, function).filter(|edge| is_unchecked(facts, edge.from)) {
                if let Some(callee) = file.program.whole_index_at(edge.to) {
                    reach(callee, Some(caller), &mut pending);
                }
            }
        }
        Unconditional { callers }
    }
}

/// The direct calls and jumps that a function and its parts make.
fn edges_from(file: &View<'_, '_>, function: &Function) -> impl Iterator<Item = Edge> {
    file.with_parts(function).flat_map(|part| {
        file.program.edges_from(part.start..part.end).chain(transfers(file.image, part.extent(file.image)))
    })
}

impl Unconditional {
    /// Whether control reaches the function that begins there.
    pub(crate) fn contains(&self, file: &View<'_, '_>, start: CodeOffset) -> bool {
        let place = file.program.index_at(start);
        place.and_then(|place| self.callers.get(place)).is_some_and(Option::is_some)
    }

    /// The functions on the path to the one that begins there, from the root on, itself left out.
    pub(crate) fn path_to(&self, program: &Program, start: CodeOffset) -> Vec<CodeOffset> {
        let caller = |&place: &usize| {
            let caller = self.callers.get(place).copied().flatten()? as usize;
            (caller != place).then_some(caller)
        };
        let first = program.index_at(start).and_then(|place| caller(&place));
        let places = std::iter::successors(first, caller);
        let functions = places.filter_map(|place| program.functions().get(place));
        let mut path: Vec<CodeOffset> = functions.map(|function| function.start).collect();
        path.reverse();
        path
    }
}

/// The functions whose addresses the entry point hands to the C library: `main`.
pub(crate) fn handed_out(file: &View<'_, '_>, entry: CodeOffset) -> Vec<CodeOffset> {
    let (image, program) = (file.image, file.program);
    let Some(function) = program.function_from(entry) else { return Vec::new() };
    let mut handed: Vec<CodeOffset> = program
        .references()
        .filter(|reference| reference.kind == ReferenceKind::Address && function.contains(reference.from))
        .map(|reference| reference.to)
        .collect();
    let Some(graph) = file.graph(function) else { return handed };
    let operands = graph.blocks.iter().flat_map(|block| &block.insns).filter_map(|insn| insn.memory);
    let cells = operands.filter(|memory| memory.is_static && memory.read);
    let held = cells.filter_map(|memory| file.linkage.cell(Svma(memory.displacement as u64)));
    handed.extend(held.filter_map(|svma| image.code_offset(svma)));
    handed.retain(|&start| program.function_from(start).is_some());
    handed
}

/// Whether control gets to an instruction, and nothing is known of the CPU there.
fn is_unchecked(facts: Option<&Facts>, at: CodeOffset) -> bool {
    match facts.and_then(|facts| facts.leaving(at)) {
        Some(block) => block.proof.is_some_and(|proof| proof.is_empty()),
        None => true,
    }
}
