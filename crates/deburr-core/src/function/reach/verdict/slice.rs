//! The functions of interest, and what leads to them.
//!
//! In: the functions with instructions above the first level, and what is proven where. Out: [`Closure`]: calls,
//! addresses and data that lead to them, as far as a check may be there. The slice does not go back from
//! unconditionally reachable functions, nor from those after a check that proves all that is needed.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::block::Graph;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::file::references::{self, Access, DataReference};
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::machine::effects::{BlockFacts, Facts};
use crate::function::reach::verdict::node::{Entries, Node, Source, Stated};
use crate::function::reach::verdict::unconditional::{Tested, Unconditional};
use crate::insn::sweep::Edge;
use crate::insn::{self, Flow, Insn};
use deburr_cpu::FeatureSet;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Iterations of the search for what refers to the data that refers to functions.
const ITERATIONS: u32 = 3;
/// Maximum of functions that the slice goes back from: some, a few for each with hits, and all together.
const SOME: usize = 512;
const FEW_EACH: usize = 8;
const MANY: usize = 4096;
/// Maximum of calls between a check and what it guards, or the data that refers to it, where a pointer leads in
/// between.
const HOPS: u32 = 6;
/// Maximum of pointers from object to object that lead to a function.
const POINTERS: u32 = 4;
/// Bytes before a pointer in which the object that it belongs to may begin, where nothing names the object.
const NEAR: u64 = 512;

/// The functions of interest, and what leads to them.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    /// Where they begin, with the features that they, and what they lead to, need and that no check right at the edge
    /// has proven. What leads to others does not matter.
    pub needs: BTreeMap<CodeOffset, FeatureSet>,
    /// Where those begin that have instructions above the first level.
    pub has_hits: BTreeSet<CodeOffset>,
    /// Calls and jumps into each from outside, by where it begins.
    pub direct: FxHashMap<CodeOffset, Vec<Edge>>,
    /// Instructions that make the address of each.
    pub taken: FxHashMap<CodeOffset, Vec<CodeOffset>>,
    /// Cells that hold the address of each node, and the object that each cell is in.
    pub cells: BTreeMap<Node, Vec<(Svma, u64)>>,
    /// References to the objects and to the cells.
    pub references: Vec<DataReference>,
    /// The functions of interest that others jump into the middle of.
    pub entries: Entries,
    /// Unconditionally reachable functions: what leads to them is left out.
    pub unconditional: Unconditional,
    /// Functions and objects so far from those with hits that a check before them is no longer searched for.
    pub far: BTreeSet<Node>,
}

/// Functions that take the address of one with instructions above the first level: they make it, or load it from a cell
/// that nothing writes to once the file is loaded, such as one of the GOT.
pub(crate) fn takers(file: &View<'_, '_>) -> BTreeSet<CodeOffset> {
    let hits = file.program.hits_by_function();
    let starts: BTreeSet<CodeOffset> =
        hits.filter_map(|(function, _)| Some(file.program.whole(function?).start)).collect();
    let taken = starts.iter().flat_map(|&start| file.incoming.addresses_of(start));
    // In code at a fixed place addresses appear in instructions as they are.
    let places = starts.iter().filter(|_| references::is_fixed(file.image, file.linkage));
    let places = places.map(|&start| Extent::sized(file.image.svma(start), 1));
    let cells = starts.iter().flat_map(|&start| {
        let place = Extent::sized(file.image.svma(start), 1);
        file.incoming.cells_to(place).iter().map(|&(_, cell)| cell).filter(|&cell| file.is_fixed_cell(cell))
    });
    let places: Vec<Extent> = places.chain(cells.map(|cell| Extent::sized(cell, 8))).collect();
    let found = file.references_to(&places).into_iter();
    let found = found.filter(|reference| !matches!(reference.access, Access::Write | Access::Call));
    let named = found.filter_map(|reference| file.image.code_offset(reference.from));
    taken.chain(named).filter_map(|from| Some(file.whole_at(from)?.start)).collect()
}

impl Closure {
    /// Goes back from the functions with hits, as far as unconditionally reachable ones, and as checks that prove all
    /// that is needed.
    pub(crate) fn of(
        file: &View<'_, '_>,
        facts: &FactsByFunction,
        roots: &BTreeMap<CodeOffset, Source>,
        stated: &Stated,
    ) -> Closure {
        let tested = Tested { file, facts, stated };
        let closure = Closure { unconditional: tested.unconditional_from(roots), ..Closure::default() };
        let (pointed, pending, objects, held, grown) = Default::default();
        let mut back = Back { file, facts, tested, pointed, closure, pending, objects, held, grown };
        back.hits();
        for _ in 0..ITERATIONS {
            back.functions();
            if !back.data() {
                break;
            }
        }
        back.functions();
        let mut closure = back.closure;
        closure.references.sort_unstable();
        closure.references.dedup();
        closure.entries = inner_entries(file, &closure);
        closure
    }

    /// The part that begins in the code of some functions.
    pub(crate) fn limited_to(&self, file: &View<'_, '_>, functions: &BTreeSet<CodeOffset>) -> Closure {
        let is_from = |at: CodeOffset| file.whole_at(at).is_some_and(|from| functions.contains(&from.start));
        let direct = |(start, edges): (&CodeOffset, &Vec<Edge>)| {
            let edges: Vec<Edge> = edges.iter().filter(|edge| is_from(edge.from)).copied().collect();
            (!edges.is_empty()).then_some((*start, edges))
        };
        let taken = |(start, sites): (&CodeOffset, &Vec<CodeOffset>)| {
            let sites: Vec<CodeOffset> = sites.iter().copied().filter(|site| is_from(*site)).collect();
            (!sites.is_empty()).then_some((*start, sites))
        };
        let refers = |reference: &&DataReference| file.image.code_offset(reference.from).is_some_and(is_from);
        Closure {
            needs: self.needs.clone(),
            direct: self.direct.iter().filter_map(direct).collect(),
            taken: self.taken.iter().filter_map(taken).collect(),
            cells: self.cells.clone(),
            references: self.references.iter().filter(refers).copied().collect(),
            entries: self.entries.clone(),
            ..Closure::default()
        }
    }

    /// The references to places in a range.
    pub(crate) fn references_in(&self, range: Extent) -> impl Iterator<Item = &DataReference> {
        let first = self.references.partition_point(|reference| reference.to < range.start);
        let rest = self.references.get(first..).unwrap_or_default();
        rest.iter().take_while(move |reference| reference.to < range.end)
    }

    /// Whether what leads to a function is known, as far as it matters.
    pub(crate) fn contains(&self, start: CodeOffset) -> bool {
        self.needs.contains_key(&start)
    }
}

/// Going back from the functions with hits.
struct Back<'b, 'w, 'a> {
    file: &'b View<'w, 'a>,
    facts: &'b FactsByFunction,
    tested: Tested<'b, 'w, 'a>,
    /// Whether control may get to functions by a pointer before anything has queried the CPU, as far as it mattered.
    pointed: FxHashMap<CodeOffset, bool>,
    closure: Closure,
    /// Functions that more is needed from than is known of them.
    pending: BTreeMap<CodeOffset, FeatureSet>,
    /// The objects of interest by where they begin.
    objects: BTreeMap<u64, Object>,
    /// The cells that hold the address of each node, as the closure has them.
    held: FxHashSet<(Node, Svma)>,
    /// Places in data that more is needed from, since the last search for references to them.
    grown: Vec<Place>,
}

impl Back<'_, '_, '_> {
    /// Begins with what each function with hits needs and has not checked itself.
    fn hits(&mut self) {
        let arch = self.file.image.arch;
        let permitted = deburr_cpu::universal_features(arch);
        for (function, run) in self.file.program.hits_by_function() {
            let Some(function) = function.map(|function| self.file.program.whole(function)) else {
                continue;
            };
            self.closure.has_hits.insert(function.start);
            let mut last = None;
            for hit in run {
                let block = self.block_at(function.start, hit.at);
                let same = Some((hit.group, block.map(|block| block.start)));
                if last == same {
                    continue;
                }
                last = same;
                let needs = insn::features_of(arch, hit.group).minus(permitted);
                let proof = block.map_or(Some(Proof::EMPTY), |block| block.proof);
                if let Some(proof) = proof.filter(|_| !needs.is_empty()) {
                    self.need(function.start, needs.minus(proof.features));
                }
            }
        }
    }

    /// What is proven at an instruction of a function; `None` if nothing ever runs there.
    fn proof_at(&self, start: CodeOffset, at: CodeOffset) -> Option<Proof> {
        let facts = self.facts_of(start);
        facts.and_then(|facts| facts.leaving(at)).map_or(Some(Proof::EMPTY), |block| block.proof)
    }

    /// The block of a function that an instruction is in.
    fn block_at(&self, start: CodeOffset, at: CodeOffset) -> Option<&BlockFacts> {
        self.facts_of(start).and_then(|facts| facts.at(at))
    }

    /// What is known of a function, whose every entry is its start.
    fn facts_of(&self, start: CodeOffset) -> Option<&Facts> {
        let facts = self.facts.get(&start).map(AsRef::as_ref);
        facts.filter(|_| !self.file.incoming.inner.contains_key(&start))
    }

    fn need(&mut self, start: CodeOffset, features: FeatureSet) {
        let known = self.closure.needs.get(&start).copied().unwrap_or_default();
        if !features.is_subset(known) {
            let pending = self.pending.entry(start).or_default();
            *pending = pending.union(features);
        }
    }

    /// The function that an instruction is in needs what is not proven there.
    fn need_at(&mut self, from: CodeOffset, features: FeatureSet) {
        let Some(function) = self.file.whole_at(from) else { return };
        if let Some(proof) = self.proof_at(function.start, from) {
            self.need(function.start, features.minus(proof.features));
        }
    }

    /// Adds everything that leads to the pending functions by calls, jumps and addresses in code, and the cells that
    /// hold their addresses.
    fn functions(&mut self) {
        let most = (SOME + FEW_EACH * self.closure.has_hits.len()).min(MANY);
        for hop in 0.. {
            if self.pending.is_empty() {
                break;
            }
            for (start, features) in std::mem::take(&mut self.pending) {
                let needs = self.closure.needs.entry(start).or_default();
                *needs = needs.union(features);
                let needs = *needs;
                if self.closure.unconditional.contains(self.file, start) {
                    continue;
                }
                let is_far = hop >= HOPS && self.tested.is_pointed_to(start, &mut self.pointed);
                if is_far || self.closure.direct.len() >= most {
                    self.closure.far.insert(Node::Function(start));
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
        let direct = self.closure.direct.get(&start).into_iter().flatten().map(|edge| edge.from);
        let taken = self.closure.taken.get(&start).into_iter().flatten().copied();
        for from in direct.chain(taken).collect::<Vec<_>>() {
            self.need_at(from, needs);
        }
        let place = Extent::sized(self.file.image.svma(start), 1);
        if references::is_fixed(self.file.image, self.file.linkage) {
            // Addresses of functions appear in instructions as they are.
            self.grown.push(Place { range: place, is_named: true, needs });
        }
        for &(_, at) in self.file.incoming.cells_to(place) {
            self.cell(Node::Function(start), at, needs);
        }
    }

    /// Records where control comes from outside to a function, and where its address is made.
    fn add(&mut self, start: CodeOffset) {
        let Some(function) = self.file.program.function_from(start) else { return };
        let direct = self.file.edges_into(function);
        let taken = self.file.incoming.addresses_of(start);
        self.closure.taken.entry(start).or_default().extend(taken);
        self.closure.direct.insert(start, direct);
    }

    /// A cell holds the address of a node, of which something is needed.
    fn cell(&mut self, node: Node, at: Svma, needs: FeatureSet) {
        let mut cells = vec![(node, at, Object { needs, pointers: 0 })];
        while let Some((node, at, new)) = cells.pop() {
            let object = holder(self.file, at);
            if self.held.insert((node, at)) {
                self.closure.cells.entry(node).or_default().push((at, object.start.0));
            }
            self.grown.push(Place { range: Extent::sized(at, 1), is_named: true, needs: new.needs });
            let known = self.objects.get(&object.start.0).copied();
            let merged = known.map_or(new, |known| known.merge(new));
            if known == Some(merged) {
                continue;
            }
            self.objects.insert(object.start.0, merged);
            let is_named = self.file.linkage.object_at(at).is_some();
            self.grown.push(Place { range: object, is_named, needs: merged.needs });
            let node = Node::Data(object.start.0);
            if merged.pointers == POINTERS {
                self.closure.far.insert(node);
                continue;
            }
            self.closure.far.remove(&node);
            let pointers = self.file.incoming.cells_to(object);
            let nearest = pointers.last().map(|&(to, _)| to);
            let pointers = pointers.iter().filter(|&&(to, _)| is_named || Some(to) == nearest);
            let next = Object { pointers: merged.pointers + 1, ..merged };
            cells.extend(pointers.map(|&(_, at)| (node, at, next)));
        }
    }

    /// Finds what refers to the data of interest. Returns whether there was any to search for.
    fn data(&mut self) -> bool {
        let mut grown = std::mem::take(&mut self.grown);
        grown.sort_unstable_by_key(|place| (place.range, place.is_named));
        grown.dedup_by(|later, kept| {
            let is_same = (later.range, later.is_named) == (kept.range, kept.is_named);
            kept.needs = if is_same { kept.needs.union(later.needs) } else { kept.needs };
            is_same
        });
        let ranges: Vec<Extent> = grown.iter().map(|place| place.range).collect();
        let found = self.file.references_to(&ranges);
        for Place { range, is_named, needs } in grown {
            let first = found.partition_point(|reference| reference.to < range.start);
            let last = found.partition_point(|reference| reference.to < range.end);
            let here = found.get(first..last).unwrap_or_default();
            // Of an unnamed object the nearest place that something refers to is its start.
            let nearest = here.last().map(|reference| reference.to);
            for reference in here.iter().filter(|reference| is_named || Some(reference.to) == nearest) {
                let Some(from) = self.file.image.code_offset(reference.from) else { continue };
                if let Some(start) = self.file.image.code_offset(reference.to) {
                    self.closure.taken.entry(start).or_default().push(from);
                }
                self.need_at(from, needs);
            }
        }
        self.closure.references.extend(found);
        !ranges.is_empty()
    }
}

/// What is known of an object of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Object {
    /// What is needed of the code that refers to it.
    needs: FeatureSet,
    /// The pointers between it and the object that points to a function.
    pointers: u32,
}

impl Object {
    fn merge(self, other: Object) -> Object {
        Object { needs: self.needs.union(other.needs), pointers: self.pointers.min(other.pointers) }
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

/// The object that a cell is in: the named one, itself in the global offset table, or some bytes before.
fn holder(file: &View<'_, '_>, at: Svma) -> Extent {
    if let Some(object) = file.linkage.object_at(at) {
        return object.extent;
    }
    let data = file.linkage.data_at(at);
    let start = match data.filter(|data| !data.is_offset_table) {
        Some(data) => Svma(at.0.saturating_sub(NEAR)).max(data.extent.start),
        None => at,
    };
    Extent { start, end: at.offset(8) }
}

/// The entries of the functions of interest that others jump into the middle of, and what runs after each.
fn inner_entries(file: &View<'_, '_>, closure: &Closure) -> Entries {
    let mut found = BTreeMap::new();
    for (&start, entries) in file.incoming.inner.iter().filter(|(start, _)| closure.contains(**start)) {
        let Some(function) = file.program.function_from(start) else { continue };
        let Some(graph) = file.graph(function) else { continue };
        let reached = entries.iter().map(|&entry| (entry, graph_from(file, &graph, entry)));
        found.insert(start, reached.collect());
    }
    found
}

/// The code that can run after an entry.
fn graph_from(file: &View<'_, '_>, graph: &Graph, entry: CodeOffset) -> Vec<Range<CodeOffset>> {
    let Some((first, _)) = graph.find(file.image.svma(entry)) else { return Vec::new() };
    let mut seen = vec![false; graph.blocks.len()];
    let mut pending = vec![first];
    // Where an indirect jump leads is not known, nor what catches what a callee throws: any block that nothing else
    // leads to.
    let mut orphans = Some(graph.orphans());
    let goes_anywhere =
        |insn: &Insn| matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall | Flow::IndirectJump);
    while let Some(index) = pending.pop() {
        let (Some(block), Some(seen)) = (graph.blocks.get(index), seen.get_mut(index)) else { continue };
        if std::mem::replace(seen, true) {
            continue;
        }
        pending.extend(&block.successors);
        if orphans.is_some() && block.insns.iter().any(goes_anywhere) {
            pending.extend(orphans.take().into_iter().flatten());
        }
    }
    let range = |index: usize| {
        let block = graph.blocks.get(index)?;
        let start = file.image.code_offset(block.start())?;
        let end = block.last().map(|last| last.next().0 - block.start().0)?;
        // In the block of the entry, what comes before it does not run.
        Some(
            start.max(if index == first { entry } else { CodeOffset::ZERO })
                ..start.saturating_add(u32::try_from(end).ok()?),
        )
    };
    let ranges = seen.iter().enumerate().filter(|(_, seen)| **seen).filter_map(|(index, _)| range(index));
    let mut joined: Vec<Range<CodeOffset>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}
