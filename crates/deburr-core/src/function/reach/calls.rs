//! Direct control flow between functions, and which of them it reaches before anything has asked the CPU.
//!
//! In: the calls and jumps of a file. Out: [`Calls`], by function, and from it [`Unasked`]. Most of a large program is
//! called from its entry without any check in between; nothing more needs to be known of such a function, so that only
//! the few others are looked at closely.

use super::World;
use super::edges::Source;
use super::interpret::{Facts, FactsByFunction};
use crate::address::Svma;
use crate::image::TransferTarget;
use crate::insn::sweep::{CodeOffset, ReferenceKind};
use deburr_cpu::FeatureSet;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// A call or jump from one whole function into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    /// Where the calling function begins.
    pub caller: CodeOffset,
    /// The call or jump.
    pub at: CodeOffset,
    /// Where it goes: to the start of a function, or into the middle.
    pub to: CodeOffset,
    /// Where the function begins that it goes to.
    pub callee: CodeOffset,
}

/// Direct control flow between the functions of a file.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Sorted by caller.
    calls: Vec<Call>,
    /// Where functions begin that something in the file refers to: by a call, an address in code, or a cell.
    referred: HashSet<CodeOffset>,
    /// Of those the ones whose address is made in code, or held in a cell.
    pointed: BTreeSet<CodeOffset>,
    /// Of functions that others jump into the middle of, the entries, the start among them.
    pub inner: BTreeMap<CodeOffset, BTreeSet<CodeOffset>>,
}

impl Calls {
    /// Collects the control flow of a file.
    pub(super) fn of(world: &World<'_, '_>) -> Calls {
        let (image, program) = (world.image, world.program);
        let edges = program.calls().chain(program.jumps()).map(|edge| (edge.from, edge.to));
        let transfers = image.transfers.iter().filter_map(|transfer| match transfer.to {
            TransferTarget::Here(to) => Some((image.code_offset(transfer.from)?, image.code_offset(to)?)),
            TransferTarget::Elsewhere(_) => None,
        });
        let mut calls: Vec<Call> = edges
            .chain(transfers)
            .filter_map(|(at, to)| {
                let (caller, callee) = (world.whole_at(at)?.start, world.whole_at(to)?.start);
                (caller != callee).then_some(Call { caller, at, to, callee })
            })
            .collect();
        calls.sort_unstable();
        let made = program.references().filter(|reference| reference.kind == ReferenceKind::Address);
        let addresses = image.addresses.iter().filter_map(|&(_, to)| image.code_offset(to));
        let cells = world.linkage.cells.iter().filter_map(|cell| image.code_offset(cell.to));
        let pointed = made.map(|reference| reference.to).chain(addresses).chain(cells);
        let pointed: BTreeSet<CodeOffset> =
            pointed.filter(|&start| program.function_from(start).is_some()).collect();
        let referred = calls.iter().map(|call| call.callee).chain(pointed.iter().copied()).collect();
        let mut inner: BTreeMap<CodeOffset, BTreeSet<CodeOffset>> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.to != call.callee) {
            inner.entry(call.callee).or_insert_with(|| BTreeSet::from([call.callee])).insert(call.to);
        }
        Calls { calls, referred, pointed, inner }
    }

    /// The calls that a function makes.
    fn from(&self, caller: CodeOffset) -> &[Call] {
        let first = self.calls.partition_point(|call| call.caller < caller);
        let rest = self.calls.get(first..).unwrap_or_default();
        rest.split_at(rest.partition_point(|call| call.caller == caller)).0
    }

    /// Goes on from some functions along calls that no check stands before; of each, where it is called from. What runs
    /// after an entry in the middle of a function is another matter.
    fn spread(
        &self,
        facts: &FactsByFunction,
        stated: &HashMap<CodeOffset, FeatureSet>,
        mut from: BTreeSet<CodeOffset>,
    ) -> HashMap<CodeOffset, Option<CodeOffset>> {
        let is_simple = |start: CodeOffset| !self.inner.contains_key(&start) && !stated.contains_key(&start);
        from.retain(|&start| is_simple(start));
        let mut pending: VecDeque<CodeOffset> = from.iter().copied().collect();
        let mut callers: HashMap<CodeOffset, Option<CodeOffset>> =
            from.into_iter().map(|start| (start, None)).collect();
        while let Some(start) = pending.pop_front() {
            let facts = facts.get(&start);
            for call in self.from(start) {
                if !callers.contains_key(&call.callee)
                    && is_simple(call.callee)
                    && is_unchecked(facts, call.at)
                {
                    callers.insert(call.callee, Some(start));
                    pending.push_back(call.callee);
                }
            }
        }
        callers
    }
}

/// Functions that are reached before anything has asked the CPU.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    /// Of those that control reaches, by where each begins, its caller on a shortest way from a root; `None` for a root.
    callers: HashMap<CodeOffset, Option<CodeOffset>>,
    /// Where those begin that something refers to, and those that these call: control may get there by a pointer.
    pointed: HashSet<CodeOffset>,
}

impl Unasked {
    /// Goes on from the roots along calls that no check stands before. Of what other files may call, only those functions
    /// count that this file does not refer to itself. `stated`: functions that the user knows to be guarded.
    pub(super) fn of(
        world: &World<'_, '_>,
        calls: &Calls,
        facts: &FactsByFunction,
        roots: &BTreeMap<CodeOffset, Source>,
        stated: &HashMap<CodeOffset, FeatureSet>,
    ) -> Unasked {
        let roots = roots.iter().filter(|&(start, source)| match source {
            Source::Root => true,
            Source::Export { is_interface } => *is_interface && !calls.referred.contains(start),
            Source::Node(_) => false,
        });
        let entry = world.image.entry_point.and_then(|svma| world.image.code_offset(svma));
        let mains = entry.into_iter().flat_map(|entry| handed_out(world, entry));
        let roots = roots.map(|(&start, _)| start).chain(mains).collect();
        let callers = calls.spread(facts, stated, roots);
        let pointed = calls.spread(facts, stated, calls.pointed.clone()).into_keys().collect();
        Unasked { callers, pointed }
    }

    /// Whether control reaches the function that begins there.
    pub(super) fn contains(&self, start: CodeOffset) -> bool {
        self.callers.contains_key(&start)
    }

    /// Whether control may get to the function that begins there by a pointer.
    pub(super) fn is_pointed_to(&self, start: CodeOffset) -> bool {
        self.pointed.contains(&start)
    }

    /// The functions on the way to the one that begins there, from the root on, itself left out.
    pub(super) fn way_to(&self, start: CodeOffset) -> Vec<CodeOffset> {
        let caller = |start: &CodeOffset| self.callers.get(start).copied().flatten();
        let mut way: Vec<CodeOffset> = std::iter::successors(caller(&start), caller).collect();
        way.reverse();
        way
    }
}

/// The functions whose addresses the entry point hands to the C library: `main`.
fn handed_out(world: &World<'_, '_>, entry: CodeOffset) -> Vec<CodeOffset> {
    let (image, program) = (world.image, world.program);
    let Some(function) = program.function_from(entry) else { return Vec::new() };
    let mut handed: Vec<CodeOffset> = program
        .references()
        .filter(|reference| reference.kind == ReferenceKind::Address && function.contains(reference.from))
        .map(|reference| reference.to)
        .collect();
    let Some(graph) = world.graph(function) else { return handed };
    let operands = graph.blocks.iter().flat_map(|block| &block.insns).filter_map(|insn| insn.memory);
    let cells = operands.filter(|memory| memory.is_static && memory.read);
    let held = cells.filter_map(|memory| world.linkage.cell(Svma(memory.displacement as u64)));
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
