//! Every way into the functions of interest, with what is proven where it begins.
//!
//! In: the functions with instructions above the first level. Out: [`Closure`], those and everything that leads to
//! them, and then [`Ways`], when it is known which tests stand where.

use super::World;
use super::calls::{Calls, Unasked};
use super::interpret::{Facts, FactsByFunction, Use, UseKind};
use super::kind::GuardKind;
use super::learn::Learnt;
use super::names;
use super::proof::Proof;
use super::references::{self, Access, DataReference, references_to};
use crate::address::{Extent, Svma};
use crate::function::block::Graph;
use crate::image::{Kind, TransferTarget};
use crate::insn::sweep::{CodeOffset, ReferenceKind};
use crate::insn::{self, Flow, Insn, Reg};
use deburr_cpu::FeatureSet;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Rounds of looking for who refers to the data that refers to functions.
const ROUNDS: u32 = 3;
/// Functions at most that are gone back from.
const MANY: usize = 4096;
/// Calls at most between a check and what it guards, or the data that refers to it, where a pointer leads in between.
const HOPS: u32 = 6;
/// Bytes before a pointer in which the object that it belongs to may begin, where nothing names the object.
const NEAR: u64 = 512;

/// Something that ways lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Node {
    /// The function that begins, or is jumped into, there.
    Function(CodeOffset),
    /// The object in data that begins there.
    Data(u64),
}

/// Where a way begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The loader.
    Root,
    /// A caller in another file.
    Export {
        /// Whether others are meant to call it: the name is not exported by accident of how C++, or a module that its
        /// host enters by fixed names, is linked.
        is_interface: bool,
    },
    /// In a function, or in data.
    Node(Node),
}

/// A way into a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub from: Source,
    /// The call, jump, reference or cell.
    pub at: Svma,
    /// What is proven there, beyond what is where `from` begins.
    pub proof: Proof,
    /// Whether control takes it, rather than an address.
    pub is_certain: bool,
    /// Whether it is an address that was not seen to go anywhere, or one of several that something chooses among.
    pub is_loose: bool,
    pub kind: GuardKind,
    /// The branch that proved it.
    pub check: Option<Svma>,
}

/// All ways into the nodes of interest.
#[derive(Debug, Default)]
pub(super) struct Ways {
    pub into: BTreeMap<Node, Vec<Way>>,
    /// Of functions that others jump into the middle of: each entry, the function's start among them, and the code that
    /// can run after it.
    pub entries: Entries,
    /// Functions that control reaches before anything has asked the CPU: each has a way from a root, and no others.
    pub unasked: Unasked,
}

/// By function, each entry with the code that can run after it.
pub(super) type Entries = BTreeMap<CodeOffset, Vec<(CodeOffset, Vec<Range<CodeOffset>>)>>;

impl Ways {
    /// The entries of a function from which an instruction can run.
    pub(super) fn entries_to(&self, start: CodeOffset, at: CodeOffset) -> Vec<CodeOffset> {
        match self.entries.get(&start) {
            Some(entries) => {
                let leads = |ranges: &[Range<CodeOffset>]| ranges.iter().any(|range| range.contains(&at));
                entries.iter().filter(|(_, ranges)| leads(ranges)).map(|(entry, _)| *entry).collect()
            }
            None => vec![start],
        }
    }
}

/// The functions of interest, and what leads to them.
#[derive(Debug, Default)]
pub(super) struct Closure {
    /// Where they begin, with the features that they, and what they lead to, need and that no check right at the way has
    /// proven. What leads to others does not matter.
    needs: BTreeMap<CodeOffset, FeatureSet>,
    /// Where those begin that have instructions above the first level.
    has_hits: BTreeSet<CodeOffset>,
    /// Targets and origins of calls and jumps into each from outside, by where it begins.
    direct: HashMap<CodeOffset, Vec<(CodeOffset, CodeOffset)>>,
    /// Instructions that make the address of each.
    taken: HashMap<CodeOffset, Vec<CodeOffset>>,
    /// Cells that hold the address of each node, and the object that each cell lies in.
    cells: BTreeMap<Node, Vec<(Svma, u64)>>,
    /// References to the objects and to the cells.
    references: Vec<DataReference>,
    /// The functions of interest that others jump into the middle of.
    entries: Entries,
    /// Functions that control reaches before anything has asked the CPU: what leads to them is left out.
    unasked: Unasked,
    /// Functions so far from those with hits that a check before them is no longer looked for.
    far: BTreeSet<CodeOffset>,
}

/// Control flow and addresses, by where they lead.
pub(super) struct Reverse {
    /// Target and origin of calls and jumps.
    edges: Vec<(CodeOffset, CodeOffset)>,
    /// Target and origin of addresses made in code.
    addresses: Vec<(CodeOffset, CodeOffset)>,
    /// Contents and place of cells.
    cells: Vec<(Svma, Svma)>,
}

impl Reverse {
    /// Sorts them.
    pub(super) fn of(world: &World<'_, '_>) -> Reverse {
        let (image, program) = (world.image, world.program);
        let offset = |svma: Svma| image.code_offset(svma);
        let mut edges: Vec<(CodeOffset, CodeOffset)> =
            program.calls().chain(program.jumps()).map(|edge| (edge.to, edge.from)).collect();
        edges.extend(image.transfers.iter().filter_map(|transfer| match transfer.to {
            TransferTarget::Here(to) => Some((offset(to)?, offset(transfer.from)?)),
            TransferTarget::Elsewhere(_) => None,
        }));
        let made = program.references().filter(|reference| reference.kind == ReferenceKind::Address);
        let mut addresses: Vec<(CodeOffset, CodeOffset)> =
            made.map(|reference| (reference.to, reference.from)).collect();
        addresses.extend(image.addresses.iter().filter_map(|&(from, to)| Some((offset(to)?, offset(from)?))));
        let mut cells: Vec<(Svma, Svma)> =
            world.linkage.cells.iter().map(|cell| (cell.to, cell.at)).collect();
        edges.par_sort_unstable();
        addresses.par_sort_unstable();
        cells.par_sort_unstable();
        Reverse { edges, addresses, cells }
    }

    /// Functions that take the address of one with instructions above the first level.
    pub(super) fn takers(&self, world: &World<'_, '_>) -> BTreeSet<CodeOffset> {
        let hits = world.program.hits_by_function();
        let starts: BTreeSet<CodeOffset> =
            hits.filter_map(|(function, _)| Some(world.program.whole(function?).start)).collect();
        let taken = starts.iter().flat_map(|&start| self.addresses_of(start)).map(|&(_, from)| from);
        // In code at a fixed place addresses stand in instructions as they are.
        let places = starts.iter().filter(|_| references::is_fixed(world.image));
        let places: Vec<Extent> = places.map(|&start| Extent::sized(world.image.svma(start), 1)).collect();
        let found = references_to(world, &places);
        let named = found.iter().filter_map(|reference| world.image.code_offset(reference.from));
        taken.chain(named).filter_map(|from| Some(world.whole_at(from)?.start)).collect()
    }

    /// Where the address of the function is made that begins there.
    fn addresses_of(&self, start: CodeOffset) -> &[(CodeOffset, CodeOffset)] {
        within(&self.addresses, start, start.saturating_add(1))
    }
}

/// The pairs whose first lies in a range.
fn within<T: Copy + Ord, U>(pairs: &[(T, U)], from: T, to: T) -> &[(T, U)] {
    let first = pairs.partition_point(|pair| pair.0 < from);
    let last = pairs.partition_point(|pair| pair.0 < to);
    pairs.get(first..last).unwrap_or_default()
}

impl Closure {
    /// Goes back from the functions with hits, as far as those that control reaches unasked, and as checks that prove
    /// all that is needed.
    pub(super) fn of(
        world: &World<'_, '_>,
        reverse: &Reverse,
        calls: &Calls,
        facts: &FactsByFunction,
        unasked: Unasked,
    ) -> Closure {
        let closure = Closure { unasked, ..Closure::default() };
        let (pending, objects, grown) = Default::default();
        let mut back = Back { world, reverse, calls, facts, closure, pending, objects, grown };
        back.hits();
        for _ in 0..ROUNDS {
            back.functions();
            if !back.data() {
                break;
            }
        }
        back.functions();
        let mut closure = back.closure;
        closure.references.sort_unstable();
        closure.references.dedup();
        closure.entries = inner_entries(world, &closure, calls);
        closure
    }

    /// The references to places in a range.
    fn references_in(&self, range: Extent) -> impl Iterator<Item = &DataReference> {
        let first = self.references.partition_point(|reference| reference.to < range.start);
        let rest = self.references.get(first..).unwrap_or_default();
        rest.iter().take_while(move |reference| reference.to < range.end)
    }

    /// Whether what leads to a function is known, as far as it matters.
    fn contains(&self, start: CodeOffset) -> bool {
        self.needs.contains_key(&start)
    }
}

/// Going back from the functions with hits.
struct Back<'b, 'w, 'a> {
    world: &'b World<'w, 'a>,
    reverse: &'b Reverse,
    calls: &'b Calls,
    facts: &'b FactsByFunction,
    closure: Closure,
    /// Functions that more is needed from than is known of them.
    pending: BTreeMap<CodeOffset, FeatureSet>,
    /// The objects of interest by where they begin, with what is needed of those who refer to them.
    objects: BTreeMap<u64, FeatureSet>,
    /// Places in data that more is needed from, since the last time that references to them were looked for.
    grown: Vec<Place>,
}

impl Back<'_, '_, '_> {
    /// Begins with what each function with hits needs and has not checked itself.
    fn hits(&mut self) {
        let arch = self.world.image.arch;
        let first = deburr_cpu::levels(arch).first().map_or(FeatureSet::EMPTY, |level| level.features);
        let permitted = first.union(deburr_cpu::system_features(arch));
        for (function, run) in self.world.program.hits_by_function() {
            let Some(function) = function.map(|function| self.world.program.whole(function)) else {
                continue;
            };
            self.closure.has_hits.insert(function.start);
            for hit in run {
                let needs = insn::features_of(arch, hit.group).minus(permitted);
                let proof = self.proof_at(function.start, hit.at);
                if let Some(proof) = proof.filter(|_| !needs.is_empty()) {
                    self.need(function.start, needs.minus(proof.features));
                }
            }
        }
    }

    /// What is proven at an instruction of a function; `None` if nothing ever runs there.
    fn proof_at(&self, start: CodeOffset, at: CodeOffset) -> Option<Proof> {
        // Each entry has its own.
        let facts = self.facts.get(&start).filter(|_| !self.calls.inner.contains_key(&start));
        facts.and_then(|facts| facts.leaving(at)).map_or(Some(Proof::EMPTY), |block| block.proof)
    }

    fn need(&mut self, start: CodeOffset, features: FeatureSet) {
        let known = self.closure.needs.get(&start).copied().unwrap_or_default();
        if !features.is_subset(known) {
            let pending = self.pending.entry(start).or_default();
            *pending = pending.union(features);
        }
    }

    /// The function that an instruction lies in needs what is not proven there.
    fn need_at(&mut self, from: CodeOffset, features: FeatureSet) {
        let Some(function) = self.world.whole_at(from) else { return };
        if let Some(proof) = self.proof_at(function.start, from) {
            self.need(function.start, features.minus(proof.features));
        }
    }

    /// Adds everything that leads to the pending functions by calls, jumps and addresses in code, and the cells that
    /// hold their addresses.
    fn functions(&mut self) {
        for hop in 0.. {
            if self.pending.is_empty() {
                break;
            }
            for (start, features) in std::mem::take(&mut self.pending) {
                let needs = self.closure.needs.entry(start).or_default();
                *needs = needs.union(features);
                let needs = *needs;
                let unasked = &self.closure.unasked;
                if unasked.contains(start) {
                    continue;
                }
                let is_far = hop >= HOPS && unasked.is_pointed_to(start);
                if is_far || self.closure.direct.len() >= MANY {
                    self.closure.far.insert(start);
                    continue;
                }
                self.function(start, needs);
            }
        }
    }

    /// Goes back from one function.
    fn function(&mut self, start: CodeOffset, needs: FeatureSet) {
        if !self.closure.direct.contains_key(&start) {
            self.add(start);
        }
        let direct = self.closure.direct.get(&start).into_iter().flatten().map(|&(_, from)| from);
        let taken = self.closure.taken.get(&start).into_iter().flatten().copied();
        for from in direct.chain(taken).collect::<Vec<_>>() {
            self.need_at(from, needs);
        }
        let place = Extent::sized(self.world.image.svma(start), 1);
        if references::is_fixed(self.world.image) {
            // Addresses of functions stand in instructions as they are.
            self.grown.push(Place { range: place, is_named: true, needs });
        }
        for &(_, at) in within(&self.reverse.cells, place.start, place.end) {
            self.cell(Node::Function(start), at, needs);
        }
    }

    /// Notes where control comes from outside to a function, and where its address is made.
    fn add(&mut self, start: CodeOffset) {
        let Some(function) = self.world.program.function_from(start) else { return };
        let parts = self.world.parts.get(&start).map(Vec::as_slice).unwrap_or_default();
        let mut direct = Vec::new();
        for part in std::iter::once(function).chain(parts) {
            let edges = within(&self.reverse.edges, part.start, part.end).iter();
            let is_outside =
                |from: CodeOffset| self.world.whole_at(from).is_none_or(|caller| caller.start != start);
            direct.extend(edges.filter(|&&(_, from)| is_outside(from)));
        }
        let taken = self.reverse.addresses_of(start).iter().map(|&(_, from)| from);
        self.closure.taken.entry(start).or_default().extend(taken);
        self.closure.direct.insert(start, direct);
    }

    /// A cell holds the address of a node, of which something is needed.
    fn cell(&mut self, node: Node, at: Svma, needs: FeatureSet) {
        let mut cells = vec![(node, at, needs)];
        while let Some((node, at, needs)) = cells.pop() {
            let object = holder(self.world, at);
            let held = self.closure.cells.entry(node).or_default();
            if !held.contains(&(at, object.start.0)) {
                held.push((at, object.start.0));
            }
            self.grown.push(Place { range: Extent::sized(at, 1), is_named: true, needs });
            let known = self.objects.get(&object.start.0).copied();
            if known.is_some_and(|known| needs.is_subset(known)) {
                continue;
            }
            let needs = known.unwrap_or_default().union(needs);
            self.objects.insert(object.start.0, needs);
            let is_named = self.world.linkage.object_at(at).is_some();
            self.grown.push(Place { range: object, is_named, needs });
            let pointers = within(&self.reverse.cells, object.start, object.end);
            let nearest = pointers.last().map(|&(to, _)| to);
            let pointers = pointers.iter().filter(|&&(to, _)| is_named || Some(to) == nearest);
            cells.extend(pointers.map(|&(_, at)| (Node::Data(object.start.0), at, needs)));
        }
    }

    /// Finds who refers to the data of interest. Returns whether there was any to look for.
    fn data(&mut self) -> bool {
        let mut grown = std::mem::take(&mut self.grown);
        grown.sort_unstable_by_key(|place| (place.range, place.is_named));
        grown.dedup_by(|later, kept| {
            let is_same = (later.range, later.is_named) == (kept.range, kept.is_named);
            kept.needs = if is_same { kept.needs.union(later.needs) } else { kept.needs };
            is_same
        });
        let ranges: Vec<Extent> = grown.iter().map(|place| place.range).collect();
        let found = references_to(self.world, &ranges);
        for Place { range, is_named, needs } in grown {
            let first = found.partition_point(|reference| reference.to < range.start);
            let last = found.partition_point(|reference| reference.to < range.end);
            let here = found.get(first..last).unwrap_or_default();
            // Of an unnamed object the nearest place that something refers to is its start.
            let nearest = here.last().map(|reference| reference.to);
            for reference in here.iter().filter(|reference| is_named || Some(reference.to) == nearest) {
                let Some(from) = self.world.image.code_offset(reference.from) else { continue };
                if let Some(start) = self.world.image.code_offset(reference.to) {
                    self.closure.taken.entry(start).or_default().push(from);
                }
                self.need_at(from, needs);
            }
        }
        self.closure.references.extend(found);
        !ranges.is_empty()
    }
}

/// A place in data that something is needed from.
#[derive(Debug, Clone, Copy)]
struct Place {
    range: Extent,
    /// Whether it is known to be one object, rather than the bytes in which one may begin.
    is_named: bool,
    needs: FeatureSet,
}

/// The object that a cell lies in: the named one, or some bytes before.
fn holder(world: &World<'_, '_>, at: Svma) -> Extent {
    if let Some(object) = world.linkage.object_at(at) {
        return object.extent;
    }
    let start = world.linkage.data_at(at).map_or(at, |data| data.extent.start);
    Extent { start: Svma(at.0.saturating_sub(NEAR)).max(start), end: at.offset(8) }
}

/// The entries of the functions of interest that others jump into the middle of, and what runs after each.
fn inner_entries(world: &World<'_, '_>, closure: &Closure, calls: &Calls) -> Entries {
    let mut found = BTreeMap::new();
    for (&start, entries) in calls.inner.iter().filter(|(start, _)| closure.contains(**start)) {
        let Some(function) = world.program.function_from(start) else { continue };
        let Some(graph) = world.graph(function) else { continue };
        let reached = entries.iter().map(|&entry| (entry, graph_from(world, &graph, entry)));
        found.insert(start, reached.collect());
    }
    found
}

/// The code that can run after an entry.
fn graph_from(world: &World<'_, '_>, graph: &Graph, entry: CodeOffset) -> Vec<Range<CodeOffset>> {
    let Some((first, _)) = graph.find(world.image.svma(entry)) else { return Vec::new() };
    let mut seen: BTreeSet<usize> = BTreeSet::from([first]);
    let mut pending = vec![first];
    let orphans = graph.orphans();
    let goes_anywhere =
        |insn: &Insn| matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall | Flow::IndirectJump);
    while let Some(block) = pending.pop() {
        let Some(block) = graph.blocks.get(block) else { continue };
        // Where an indirect jump leads is not known, nor what catches what a callee throws: any block that nothing else
        // leads to.
        let is_anywhere = block.insns.iter().any(goes_anywhere);
        let next = block.successors.iter().copied().chain(orphans.iter().copied().filter(|_| is_anywhere));
        pending.extend(next.filter(|&next| seen.insert(next)));
    }
    let range = |index: usize| {
        let block = graph.blocks.get(index)?;
        let start = world.image.code_offset(block.start())?;
        let end = block.last().map(|last| last.next().0 - block.start().0)?;
        // Of the block that the entry lies in, what comes before it does not run.
        Some(
            start.max(if index == first { entry } else { 0 })..start.saturating_add(u32::try_from(end).ok()?),
        )
    };
    seen.iter().filter_map(|&index| range(index)).collect()
}

/// Where control enters the file: where the loader does, and where other files may.
pub(super) fn roots(world: &World<'_, '_>) -> BTreeMap<CodeOffset, Source> {
    let image = world.image;
    let mut roots: BTreeMap<CodeOffset, Source> = BTreeMap::new();
    let exports = &world.linkage.named_exports;
    // What a program exports is for its own plug-ins.
    let is_module =
        image.kind == Kind::Executable || exports.iter().any(|export| names::is_module_entry(export.name));
    for export in exports {
        let Some(start) = image.code_offset(export.at) else { continue };
        let is_interface = match is_module {
            true => image.kind != Kind::Executable && names::is_module_entry(export.name),
            false => !names::is_incidental(export),
        };
        let source = roots.entry(start).or_insert(Source::Export { is_interface });
        if is_interface {
            *source = Source::Export { is_interface };
        }
    }
    let entries = image.entries.iter().filter_map(|&svma| image.code_offset(svma));
    roots.extend(entries.chain(world.resolvers.iter().copied()).map(|start| (start, Source::Root)));
    roots
}

/// Collects the ways.
pub(super) fn ways(world: &World<'_, '_>, closure: Closure, learnt: &Learnt) -> Ways {
    let mut objects: BTreeMap<u64, Vec<Svma>> = BTreeMap::new();
    for &(cell, object) in closure.cells.values().flatten() {
        objects.entry(object).or_default().push(cell);
    }
    let ways = Ways { entries: closure.entries.clone(), ..Ways::default() };
    // Where Rust's own detection stands between `main` and its choice, that is not always followed.
    let mains = if learnt.any { BTreeSet::new() } else { mains(world, &closure) };
    let mut ways = Collector { world, closure: &closure, learnt, objects, used: HashSet::new(), mains, ways };
    ways.roots();
    ways.unasked();
    ways.direct();
    ways.uses();
    ways.addresses();
    ways.cells();
    ways.sufficient();
    let mut ways = ways.ways;
    for ways in ways.into.values_mut() {
        ways.sort_by_key(|way| (way.at, way.is_certain));
        ways.dedup();
    }
    ways.unasked = closure.unasked;
    ways
}

/// The functions that the entry point hands to the C library, in a program of Rust: there they only start Rust's own
/// `main`, whose address they hand to `lang_start`.
fn mains(world: &World<'_, '_>, closure: &Closure) -> BTreeSet<CodeOffset> {
    let build = &world.image.build;
    if !build.compilers.iter().chain(&build.producers).any(|tool| tool.contains("rustc version")) {
        return BTreeSet::new();
    }
    let is_entry = |from: CodeOffset| {
        let function = world.whole_at(from);
        function.is_some_and(|function| world.image.entries.contains(&world.image.svma(function.start)))
    };
    let taken = closure.taken.iter().filter(|(_, sites)| sites.iter().any(|&site| is_entry(site)));
    let held = closure.cells.iter().filter_map(|(node, cells)| match node {
        Node::Function(start) => Some((start, cells)),
        Node::Data(_) => None,
    });
    let held = held.filter(|(_, cells)| {
        let references = cells.iter().flat_map(|(cell, _)| closure.references_in(Extent::sized(*cell, 1)));
        references.filter_map(|reference| world.image.code_offset(reference.from)).any(is_entry)
    });
    taken.map(|(start, _)| *start).chain(held.map(|(start, _)| *start)).collect()
}

struct Collector<'c, 'w, 'a> {
    world: &'c World<'w, 'a>,
    closure: &'c Closure,
    learnt: &'c Learnt,
    /// The objects of interest, with the cells in each.
    objects: BTreeMap<u64, Vec<Svma>>,
    /// The functions that start Rust's `main`.
    mains: BTreeSet<CodeOffset>,
    /// Which function lets out the address of which node.
    used: HashSet<(CodeOffset, Node)>,
    ways: Ways,
}

impl Collector<'_, '_, '_> {
    fn push(&mut self, to: Node, way: Way) {
        let ways = self.ways.into.entry(to).or_default();
        ways.push(way);
    }

    fn facts(&self, entry: CodeOffset) -> Option<&Facts> {
        self.learnt.facts.get(&entry)
    }

    /// The ways that begin at an instruction: none if nothing ever runs there, one for each entry that leads there.
    fn ways_from(&self, at: CodeOffset, is_certain: bool, kind: GuardKind) -> Vec<Way> {
        let svma = self.world.image.svma(at);
        let Some(function) = self.world.whole_at(at) else {
            // Code of no function: how it is reached is not known.
            let (from, proof, check) = (Source::Root, Proof::EMPTY, None);
            return vec![Way { from, at: svma, proof, is_certain: false, is_loose: false, kind, check }];
        };
        let entries = self.ways.entries_to(function.start, at).into_iter();
        let ways = entries.filter_map(|entry| {
            let block = self.facts(entry).and_then(|facts| facts.leaving(at));
            let proof = match block {
                Some(block) => block.proof?,
                None => Proof::EMPTY,
            };
            let from = Source::Node(Node::Function(entry));
            let check = block.and_then(|block| block.check);
            Some(Way { from, at: svma, proof, is_certain, is_loose: false, kind, check })
        });
        ways.collect()
    }

    /// Entries, resolvers and exported functions.
    fn roots(&mut self) {
        for (start, from) in roots(self.world) {
            if self.closure.contains(start) {
                self.enter(start, from, true);
            }
        }
    }

    /// Functions that control reaches unasked, by ways that are not looked at one by one.
    fn unasked(&mut self) {
        let closure = self.closure;
        for &start in closure.needs.keys().filter(|&&start| closure.unasked.contains(start)) {
            self.enter(start, Source::Root, true);
        }
        for &start in &closure.far {
            self.enter(start, Source::Root, false);
        }
    }

    /// Functions that check all that is needed beyond them: whatever leads there will do.
    fn sufficient(&mut self) {
        let sources = self.ways.into.values().flatten().filter_map(|way| match way.from {
            Source::Node(Node::Function(start)) => Some(start),
            _ => None,
        });
        let sources = sources.chain(self.closure.has_hits.iter().copied());
        let is_open = |start: CodeOffset| {
            let function = self.world.whole_at(start);
            function.is_some_and(|function| !self.closure.contains(function.start))
        };
        for start in sources.filter(|&start| is_open(start)).collect::<BTreeSet<_>>() {
            self.enter(start, Source::Root, true);
        }
    }

    /// Control, or a pointer, enters a function from outside.
    fn enter(&mut self, start: CodeOffset, from: Source, is_certain: bool) {
        let way = Way {
            from,
            at: self.world.image.svma(start),
            proof: Proof::EMPTY,
            is_certain,
            is_loose: false,
            kind: GuardKind::Branch,
            check: None,
        };
        self.push(Node::Function(start), way);
    }

    fn direct(&mut self) {
        for (&start, sites) in &self.closure.direct {
            let has_entries = self.ways.entries.contains_key(&start);
            for &(to, from) in sites {
                for way in self.ways_from(from, true, GuardKind::Branch) {
                    self.push(Node::Function(if has_entries { to } else { start }), way);
                }
            }
        }
    }

    /// Addresses that functions which were run let out.
    fn uses(&mut self) {
        let image = self.world.image;
        let mut functions: Vec<(&CodeOffset, &Facts)> = self.learnt.facts.iter().collect();
        functions.sort_unstable_by_key(|(start, _)| **start);
        for (&start, facts) in functions {
            let is_resolver = self.world.is_resolver(start);
            let returned = facts.uses.iter().filter(|used| used.kind == UseKind::Returned);
            let chooses = is_resolver && returned.map(|used| used.address).collect::<BTreeSet<_>>().len() > 1;
            let choices = self.choices(facts);
            for used in &facts.uses {
                let Some(node) = self.node_of(used.address) else { continue };
                self.used.insert((start, node));
                let (is_certain, kind) = match used.kind {
                    UseKind::Called => (true, GuardKind::Branch),
                    UseKind::Returned if is_resolver => (true, GuardKind::Ifunc),
                    UseKind::Stored(at) => (self.is_called_through(at), GuardKind::Pointer),
                    UseKind::Returned | UseKind::LetOut => {
                        (self.is_callback(image.code_offset(used.from)), GuardKind::Pointer)
                    }
                };
                let is_function = matches!(node, Node::Function(_));
                let way = Way {
                    from: Source::Node(Node::Function(start)),
                    at: used.from,
                    // A resolver that chooses has asked somebody.
                    proof: used.proof.union(Proof::doubt(
                        chooses && used.kind == UseKind::Returned && used.proof.is_empty(),
                    )),
                    is_certain: is_certain && is_function,
                    is_loose: !is_certain && choices.contains(&(used.from, used.kind)),
                    kind: if is_function { kind } else { GuardKind::Table },
                    check: used.check,
                };
                self.push(node, way);
            }
        }
    }

    /// Where several addresses may be let out, of which one is chosen: by one instruction, by several that store to the
    /// same place, or by what a function returns. One of them at least is of a function that needs nothing.
    fn choices(&self, facts: &Facts) -> HashSet<(Svma, UseKind)> {
        let image = self.world.image;
        type Place = (UseKind, Option<(Option<Reg>, i64)>, Option<Svma>);
        let mut places: BTreeMap<Place, Vec<&Use>> = BTreeMap::new();
        for used in facts.uses.iter().filter(|used| matches!(used.kind, UseKind::LetOut | UseKind::Returned))
        {
            let code = image.bytes_at(used.from);
            let insn = code.and_then(|code| insn::decode(image.arch, code, used.from));
            let memory = insn.and_then(|insn| insn.memory).filter(|memory| memory.write);
            let from = (memory.is_none() && used.kind == UseKind::LetOut).then_some(used.from);
            let stored = memory.map(|memory| (memory.base, memory.displacement));
            places.entry((used.kind, stored, from)).or_default().push(used);
        }
        let mut choices = HashSet::new();
        for uses in places.into_values() {
            let is_plain = |used: &&Use| {
                image.code_offset(used.address).is_some_and(|at| !self.closure.has_hits.contains(&at))
            };
            if uses.iter().any(is_plain) && !uses.iter().all(is_plain) {
                choices.extend(uses.iter().map(|used| (used.from, used.kind)));
            }
        }
        choices
    }

    fn node_of(&self, address: Svma) -> Option<Node> {
        if let Some(at) = self.world.image.code_offset(address) {
            return self.closure.contains(at).then_some(Node::Function(at));
        }
        Some(Node::Data(self.object_of(address)?))
    }

    /// The object of interest that a place in data belongs to.
    fn object_of(&self, place: Svma) -> Option<u64> {
        if let Some(object) = self.world.linkage.object_at(place) {
            return self.objects.contains_key(&object.extent.start.0).then_some(object.extent.start.0);
        }
        // Of unnamed objects the one whose pointer comes next.
        let (&object, cells) = self.objects.range(..=place.0).next_back()?;
        cells.iter().any(|cell| cell.0 >= place.0).then_some(object)
    }

    /// Whether something calls or reads the word at an address.
    fn is_called_through(&self, at: u64) -> bool {
        let readers = self.learnt.readers.get(&at).map(Vec::as_slice).unwrap_or_default();
        readers.iter().any(|(_, access)| matches!(access, Access::Read | Access::Call))
    }

    /// Addresses made by functions that were not run, or that these lost sight of.
    fn addresses(&mut self) {
        for (&start, sites) in &self.closure.taken {
            for &from in sites {
                if self.is_used(from, Node::Function(start)) {
                    continue;
                }
                let is_certain = self.is_callback(Some(from));
                // A function that was run and lets it go nowhere compares it, or loses it in the frame.
                let taker = self.world.whole_at(from).map(|taker| taker.start);
                let is_loose = !is_certain && taker.is_some_and(|taker| self.facts(taker).is_some());
                for way in self.ways_from(from, is_certain, GuardKind::Pointer) {
                    self.push(Node::Function(start), Way { is_loose, ..way });
                }
            }
        }
    }

    /// Whether the function at a place was seen to let out a node's address.
    fn is_used(&self, from: CodeOffset, node: Node) -> bool {
        self.world.whole_at(from).is_some_and(|function| self.used.contains(&(function.start, node)))
    }

    /// Whether an address made at a place is given to a function that calls it: by the entry point to the C library,
    /// or to a function whose name says so.
    fn is_callback(&self, from: Option<CodeOffset>) -> bool {
        /// Instructions at most between the two.
        const NEAR: usize = 24;
        let Some(from) = from else { return false };
        let image = self.world.image;
        let Some(function) = self.world.whole_at(from) else { return false };
        let mut at = image.svma(from);
        for _ in 0..NEAR {
            let Some(insn) = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at)) else {
                return false;
            };
            let name = match insn.flow {
                Flow::Call(target) => self.world.name_of(target),
                Flow::IndirectCall => {
                    let cell = insn.memory.filter(|memory| memory.is_static);
                    let import =
                        cell.and_then(|cell| self.world.linkage.import(Svma(cell.displacement as u64)));
                    import.map(|import| import.name)
                }
                Flow::Next => None,
                _ => return false,
            };
            if matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall) {
                let is_entry = image.entries.contains(&image.svma(function.start));
                let is_main = self.mains.contains(&function.start);
                return is_entry || is_main || name.is_some_and(names::calls_back);
            }
            at = insn.next();
        }
        false
    }

    /// Functions and objects whose addresses data holds.
    fn cells(&mut self) {
        let closure = self.closure;
        let mut done: BTreeSet<u64> = BTreeSet::new();
        for (&node, cells) in &closure.cells {
            for &(cell, object) in cells {
                let through: Vec<DataReference> = (self.closure.references_in(Extent::sized(cell, 1)))
                    .filter(|reference| matches!(reference.access, Access::Read | Access::Call))
                    .copied()
                    .collect();
                let is_replaced = self.learnt.readers.contains_key(&cell.0);
                for reference in &through {
                    let Some(from) = self.world.image.code_offset(reference.from) else { continue };
                    // It was seen what becomes of the address that is read.
                    if reference.access == Access::Read && self.is_used(from, node) {
                        continue;
                    }
                    let is_function = matches!(node, Node::Function(_));
                    for way in self.ways_from(from, is_function && !is_replaced, GuardKind::Pointer) {
                        self.push(node, way);
                    }
                }
                if through.is_empty() || self.is_table(object, cell) {
                    let way = Way {
                        from: Source::Node(Node::Data(object)),
                        at: cell,
                        proof: Proof::EMPTY,
                        is_certain: false,
                        is_loose: false,
                        kind: GuardKind::Table,
                        check: None,
                    };
                    self.push(node, way);
                    if done.insert(object) {
                        self.object(object);
                    }
                }
            }
        }
    }

    /// Whether somebody takes the address of the object, rather than reading the cell alone.
    fn is_table(&self, object: u64, cell: Svma) -> bool {
        self.closure
            .references_in(Extent { start: Svma(object), end: cell.offset(8) })
            .any(|reference| reference.access == Access::Address)
    }

    /// The ways to an object: who refers to it.
    fn object(&mut self, object: u64) {
        let node = Node::Data(object);
        let named = self.world.linkage.object_at(Svma(object)).map(|named| named.extent);
        let named = named.filter(|extent| extent.start.0 == object);
        let is_named = named.is_some();
        let last = self.objects.get(&object).and_then(|cells| cells.iter().max());
        let end =
            named.map_or_else(|| last.map_or(object, |cell| cell.0.saturating_add(8)), |extent| extent.end.0);
        let end = Svma(end);
        let all: Vec<DataReference> =
            self.closure.references_in(Extent { start: Svma(object), end }).copied().collect();
        // Of an unnamed object the nearest place that something refers to is its start.
        let nearest = all.iter().map(|reference| reference.to).max();
        for reference in all.iter().filter(|reference| is_named || Some(reference.to) == nearest) {
            let Some(from) = self.world.image.code_offset(reference.from) else { continue };
            if self.is_used(from, node) {
                continue;
            }
            for way in self.ways_from(from, false, GuardKind::Table) {
                self.push(node, way);
            }
        }
        let is_pointed_to = self.closure.cells.contains_key(&node);
        if all.is_empty() && !is_pointed_to {
            let way = Way {
                from: Source::Root,
                at: Svma(object),
                proof: Proof::EMPTY,
                is_certain: false,
                is_loose: false,
                kind: GuardKind::Table,
                check: None,
            };
            self.push(node, way);
        }
    }
}
