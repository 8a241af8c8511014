//! Every edge into the functions of interest, with what is proven where it begins.
//!
//! In: [`Closure`], the functions of interest with what leads to them, and which tests are where. Out:
//! [`IncomingEdges`].

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::file::abi;
use crate::function::reach::file::names;
use crate::function::reach::file::references::{Access, DataReference};
use crate::function::reach::file::relative;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::machine::effects::{Facts, Use, UseKind};
use crate::function::reach::verdict::checks::IncomingEdges;
use crate::function::reach::verdict::kind::GuardKind;
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source};
use crate::function::reach::verdict::offered::Offers;
use crate::function::reach::verdict::slice::Closure;
use crate::function::reach::verdict::unconditional::handed_out;
use crate::function::reach::verdict::unknown::cause::Cause;
use crate::image::{Kind, SymbolOrigin};
use crate::insn::{self, Flow, Operation, Reg};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Where control enters the file: where the loader does, and where other files may.
pub(crate) fn roots(file: &View<'_, '_>, offers: &Offers<'_>) -> BTreeMap<CodeOffset, Source> {
    let image = file.image;
    let mut roots: BTreeMap<CodeOffset, Source> = BTreeMap::new();
    let exports = &file.linkage.named_exports;
    // What a program exports is for its own plug-ins.
    let is_module =
        image.kind == Kind::Executable || exports.iter().any(|export| names::is_module_entry(export.name));
    let variants = if is_module { HashSet::new() } else { names::variants(exports) };
    for export in exports.iter().filter(|export| !names::is_vector_variant(export.name)) {
        let Some(start) = image.code_offset(export.at) else { continue };
        if let Some(features) = offers.of_name(export.name) {
            let source = roots.entry(start).or_insert(Source::Offer { features });
            if let Source::Offer { features: known } = source {
                *known = known.intersection(features);
            }
            continue;
        }
        let is_interface = match is_module {
            true => image.kind != Kind::Executable && names::is_module_entry(export.name),
            false => !names::is_incidental(export) && !variants.contains(export.name),
        };
        let source = roots.entry(start).or_insert(Source::Export { is_interface });
        // By another name it may be called on any CPU.
        if is_interface || matches!(source, Source::Offer { .. }) {
            *source = Source::Export { is_interface };
        }
    }
    let entries = image.entries.iter().filter_map(|&svma| image.code_offset(svma));
    roots.extend(entries.chain(file.resolvers.iter().copied()).map(|start| (start, Source::Root)));
    roots
}

/// Collects the edges. `roots`: where control enters the file.
pub(crate) fn incoming(
    file: &View<'_, '_>,
    roots: &BTreeMap<CodeOffset, Source>,
    closure: &Closure,
    learnt: &Learnt,
) -> IncomingEdges {
    let mut collector = Collector::new(file, closure, learnt);
    collector.roots(roots);
    collector.unconditional();
    collector.direct();
    collector.uses();
    collector.addresses();
    collector.cells();
    collector.sufficient();
    let mut edges = collector.edges;
    for edges in edges.into.values_mut() {
        edges.sort_by_key(|edge| (edge.at, edge.is_certain));
        edges.dedup();
        // Most nodes have one.
        edges.shrink_to_fit();
    }
    edges.unconditional = closure.unconditional.clone();
    edges.pointed = pointed(file, closure, &edges.into);
    for &start in edges.pointed.keys() {
        edges.into.entry(Node::Function(start)).or_default();
    }
    edges
}

/// The exported functions that only list variants, as glibc's `__libc_ifunc_impl_list` does.
fn lists(file: &View<'_, '_>) -> BTreeSet<CodeOffset> {
    let lists = file.linkage.named_exports.iter().filter(|export| names::lists_variants(export.name));
    lists.filter_map(|export| file.image.code_offset(export.at)).collect()
}

/// The functions of interest that something holds the address of. Where the edges lead to none of them, a table of
/// offsets may.
fn pointed(
    file: &View<'_, '_>,
    closure: &Closure,
    into: &BTreeMap<Node, Vec<IncomingEdge>>,
) -> BTreeMap<CodeOffset, (Cause, Svma)> {
    let starts = closure.needs.keys().chain(&closure.has_hits).copied();
    let starts: BTreeSet<CodeOffset> = starts.collect();
    let lists = lists(file);
    let is_listed =
        |from: &CodeOffset| file.whole_at(*from).is_some_and(|taker| lists.contains(&taker.start));
    let held = |start: CodeOffset| {
        let cell = file.incoming.cells_to(Extent::sized(file.image.svma(start), 1)).first();
        let named = closure.taken.get(&start).into_iter().flatten().copied();
        let mut taken = file.incoming.addresses_of(start).chain(named).filter(|from| !is_listed(from));
        let taken = taken.next().map(|from| (Cause::AddressEscapes, file.image.svma(from)));
        cell.map(|&(_, at)| (Cause::PointerTable, at)).or(taken)
    };
    let mut pointed: BTreeMap<CodeOffset, (Cause, Svma)> =
        starts.iter().filter_map(|&start| Some((start, held(start)?))).collect();
    let reached = reached(into, &pointed);
    let lost = starts.into_iter().filter(|start| !reached.contains(&Node::Function(*start))).collect();
    let offsets = relative::offsets_to(file, &lost).into_iter();
    pointed.extend(offsets.map(|(start, at)| (start, (Cause::PointerTable, at))));
    pointed
}

/// The nodes that edges lead to from outside, or from a function whose address something holds.
fn reached(
    into: &BTreeMap<Node, Vec<IncomingEdge>>,
    pointed: &BTreeMap<CodeOffset, (Cause, Svma)>,
) -> FxHashSet<Node> {
    let mut followers: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
    let mut pending: Vec<Node> = pointed.keys().map(|&start| Node::Function(start)).collect();
    for (&node, edge) in into.iter().flat_map(|(node, edges)| edges.iter().map(move |edge| (node, edge))) {
        match edge.from {
            Source::Node(from) => followers.entry(from).or_default().push(node),
            Source::Root | Source::Export { .. } | Source::Offer { .. } => pending.push(node),
        }
    }
    let mut reached = FxHashSet::default();
    while let Some(node) = pending.pop() {
        if reached.insert(node) {
            pending.extend(followers.get(&node).into_iter().flatten());
        }
    }
    reached
}

/// Collects only the edges that begin in code, into the functions and objects of a part of the closure.
pub(crate) fn incoming_from_code(
    file: &View<'_, '_>,
    closure: &Closure,
    learnt: &Learnt,
) -> BTreeMap<Node, Vec<IncomingEdge>> {
    let mut collector = Collector::new(file, closure, learnt);
    collector.direct();
    collector.uses();
    collector.addresses();
    collector.cells();
    collector.edges.into
}

/// The functions that the entry point hands to the C library, in a program of Rust: there they only start Rust's own
/// `main`, whose address they hand to `lang_start`.
pub(crate) fn mains(file: &View<'_, '_>) -> BTreeSet<CodeOffset> {
    let build = &file.image.build;
    if !build.compilers.iter().chain(&build.producers).any(|tool| tool.contains("rustc version")) {
        return BTreeSet::new();
    }
    let entry = file.image.entry_point.and_then(|svma| file.image.code_offset(svma));
    entry.into_iter().flat_map(|entry| handed_out(file, entry)).collect()
}

struct Collector<'c, 'w, 'a> {
    file: &'c View<'w, 'a>,
    closure: &'c Closure,
    learnt: &'c Learnt,
    /// The objects of interest, with the cells in each.
    objects: BTreeMap<u64, Vec<Svma>>,
    /// The functions that start Rust's `main`.
    mains: BTreeSet<CodeOffset>,
    /// The functions that only list variants.
    lists: BTreeSet<CodeOffset>,
    /// Which function lets out the address of which node.
    used: FxHashSet<(CodeOffset, Node)>,
    edges: IncomingEdges,
}

impl<'c, 'w, 'a> Collector<'c, 'w, 'a> {
    fn new(file: &'c View<'w, 'a>, closure: &'c Closure, learnt: &'c Learnt) -> Collector<'c, 'w, 'a> {
        let mut objects: BTreeMap<u64, Vec<Svma>> = BTreeMap::new();
        for &(cell, object) in closure.cells.values().flatten() {
            objects.entry(object).or_default().push(cell);
        }
        let edges = IncomingEdges { entries: closure.entries.clone(), ..IncomingEdges::default() };
        let mains = mains(file);
        Collector {
            file,
            closure,
            learnt,
            objects,
            lists: lists(file),
            used: FxHashSet::default(),
            mains,
            edges,
        }
    }

    fn push(&mut self, to: Node, edge: IncomingEdge) {
        let edges = self.edges.into.entry(to).or_default();
        edges.push(edge);
    }

    fn facts(&self, entry: CodeOffset) -> Option<&Facts> {
        self.learnt.facts.get(&entry).map(AsRef::as_ref)
    }

    /// The edges that begin at an instruction: none if nothing ever runs there, one for each entry that leads there.
    fn edges_from(&self, at: CodeOffset, is_certain: bool, kind: GuardKind) -> Vec<IncomingEdge> {
        let svma = self.file.image.svma(at);
        let Some(function) = self.file.whole_at(at) else {
            // Code of no function: how it is reached is not known.
            let (from, proof, check) = (Source::Root, Proof::EMPTY, None);
            return vec![IncomingEdge {
                from,
                at: svma,
                proof,
                is_certain: false,
                is_loose: false,
                kind,
                check,
            }];
        };
        let entries = self.edges.entries_to(function.start, at);
        let edges = entries.filter_map(|entry| {
            let block = self.facts(entry).and_then(|facts| facts.leaving(at));
            let proof = match block {
                Some(block) => block.proof?,
                None => Proof::EMPTY,
            };
            let from = Source::Node(Node::Function(entry));
            let check = block.and_then(|block| block.check);
            Some(IncomingEdge { from, at: svma, proof, is_certain, is_loose: false, kind, check })
        });
        edges.collect()
    }

    /// Entries, resolvers and exported functions.
    fn roots(&mut self, roots: &BTreeMap<CodeOffset, Source>) {
        for (&start, &from) in roots {
            if self.closure.contains(start) {
                self.enter(start, from);
            }
        }
    }

    /// Unconditionally reachable functions: their edges are not analysed one by one.
    fn unconditional(&mut self) {
        let closure = self.closure;
        for &start in closure.needs.keys().filter(|&&start| closure.unconditional.contains(self.file, start))
        {
            self.enter(start, Source::Root);
        }
        for &node in &closure.far {
            self.enter_node(node, Source::Root, false);
        }
    }

    /// Functions that check all that is needed beyond them: any edge there suffices. What leads to those that were too far
    /// was not searched for, so that it may check or not.
    fn sufficient(&mut self) {
        let is_open = |start: CodeOffset| {
            let function = self.file.whole_at(start);
            function.is_some_and(|function| !self.closure.contains(function.start))
        };
        let mut open: BTreeMap<CodeOffset, bool> = BTreeMap::new();
        for (node, edges) in &self.edges.into {
            let is_far = self.closure.far.contains(node);
            for edge in edges {
                if let Source::Node(Node::Function(start)) = edge.from {
                    *open.entry(start).or_insert(true) &= !is_far;
                }
            }
        }
        for &start in &self.closure.has_hits {
            open.entry(start).or_insert(true);
        }
        open.retain(|start, _| is_open(*start));
        for (start, is_certain) in open {
            self.enter_node(Node::Function(start), Source::Root, is_certain);
        }
    }

    /// Control enters a function from outside.
    fn enter(&mut self, start: CodeOffset, from: Source) {
        self.enter_node(Node::Function(start), from, true);
    }

    /// Control, or a pointer, comes to a node from outside.
    fn enter_node(&mut self, node: Node, from: Source, is_certain: bool) {
        let at = match node {
            Node::Function(start) => self.file.image.svma(start),
            Node::Data(start) => Svma(start),
        };
        let (proof, kind) = match from {
            Source::Offer { features } => (Proof::of(features), GuardKind::Name),
            _ => (Proof::EMPTY, GuardKind::Branch),
        };
        let edge = IncomingEdge { from, at, proof, is_certain, is_loose: false, kind, check: None };
        self.push(node, edge);
    }

    fn direct(&mut self) {
        for (&start, sites) in &self.closure.direct {
            let has_entries = self.edges.entries.contains_key(&start);
            for site in sites {
                for edge in self.edges_from(site.from, true, GuardKind::Branch) {
                    self.push(Node::Function(if has_entries { site.to } else { start }), edge);
                }
            }
        }
    }

    /// Addresses that functions which were run let out.
    fn uses(&mut self) {
        let image = self.file.image;
        let functions = self.learnt.facts.iter();
        let mut functions: Vec<(&CodeOffset, &Facts)> =
            functions.map(|(start, facts)| (start, facts.as_ref())).collect();
        functions.sort_unstable_by_key(|(start, _)| **start);
        for (&start, facts) in functions {
            let is_resolver = self.file.is_resolver(start);
            let returned = facts.uses.iter().filter(|used| used.kind == UseKind::Returned);
            let chooses = is_resolver && returned.map(|used| used.address).collect::<BTreeSet<_>>().len() > 1;
            let choices = self.choices(facts);
            for used in &facts.uses {
                let Some(node) = self.node_of(used.address) else { continue };
                self.used.insert((start, node));
                // The flag next to it was not followed.
                if used.proof.is_empty() && self.lists.contains(&start) {
                    continue;
                }
                let (is_certain, kind) = match used.kind {
                    // Of several whose functions do not all need the same, something chooses one.
                    UseKind::Called => {
                        let is_chosen = used.proof.is_empty() && choices.contains(&(used.from, used.kind));
                        (!is_chosen, GuardKind::Branch)
                    }
                    UseKind::Returned if is_resolver => (true, GuardKind::Ifunc),
                    UseKind::Stored(at) => (self.is_called_through(at), GuardKind::Pointer),
                    UseKind::Returned | UseKind::LetOut => {
                        (self.is_callback(image.code_offset(used.from)), GuardKind::Pointer)
                    }
                };
                let is_function = matches!(node, Node::Function(_));
                let edge = IncomingEdge {
                    from: Source::Node(Node::Function(start)),
                    at: used.from,
                    // A resolver that chooses has queried the CPU, or code that did.
                    proof: used.proof.union(Proof::doubt(
                        chooses && used.kind == UseKind::Returned && used.proof.is_empty(),
                    )),
                    is_certain: is_certain && is_function,
                    is_loose: !is_certain
                        && (choices.contains(&(used.from, used.kind)) || self.calls_elsewhere(used)),
                    kind: if is_function { kind } else { GuardKind::Table },
                    check: used.check,
                };
                self.push(node, edge);
            }
        }
    }

    /// Whether an address is let out by a call of another file's function: it may be an argument, or be in the register
    /// of one by chance.
    fn calls_elsewhere(&self, used: &Use) -> bool {
        let image = self.file.image;
        let code = image.bytes_at(used.from);
        let insn = code.and_then(|code| insn::decode(image.arch, code, used.from));
        let symbols = &image.symbols;
        match insn.map(|insn| (insn.flow, insn.memory)) {
            Some((Flow::Call(to), _)) => {
                let first = symbols.partition_point(|symbol| symbol.svma < to);
                let here = symbols.get(first..).unwrap_or_default().iter();
                here.take_while(|symbol| symbol.svma == to).any(|symbol| symbol.origin == SymbolOrigin::Plt)
            }
            Some((Flow::IndirectCall, Some(memory))) => {
                memory.is_static && self.file.linkage.import(Svma(memory.displacement as u64)).is_some()
            }
            _ => false,
        }
    }

    /// Where several addresses may be let out, of which one is chosen: by one instruction, by several that store to the
    /// same place, or by what a function returns. Their functions do not all need the same.
    fn choices(&self, facts: &Facts) -> FxHashSet<(Svma, UseKind)> {
        let image = self.file.image;
        type Place = (UseKind, Option<(Option<Reg>, i64)>, Option<Svma>);
        let mut places: BTreeMap<Place, Vec<&Use>> = BTreeMap::new();
        let is_chosen = |used: &&Use| !matches!(used.kind, UseKind::Stored(_));
        for used in facts.uses.iter().filter(is_chosen) {
            let code = image.bytes_at(used.from);
            let insn = code.and_then(|code| insn::decode(image.arch, code, used.from));
            let memory = insn.and_then(|insn| insn.memory).filter(|memory| memory.write);
            let from = (memory.is_none() && used.kind != UseKind::Returned).then_some(used.from);
            let stored = memory.map(|memory| (memory.base, memory.displacement));
            places.entry((used.kind, stored, from)).or_default().push(used);
        }
        let mut choices = FxHashSet::default();
        for uses in places.into_values() {
            let needs = |used: &&Use| {
                let start = image.code_offset(used.address)?;
                Some(self.closure.needs.get(&start).copied().unwrap_or_default())
            };
            let first = uses.iter().find_map(needs);
            if uses.iter().filter_map(needs).any(|needs| Some(needs) != first) {
                choices.extend(uses.iter().map(|used| (used.from, used.kind)));
            }
        }
        choices
    }

    fn node_of(&self, address: Svma) -> Option<Node> {
        if let Some(at) = self.file.image.code_offset(address) {
            return self.closure.contains(at).then_some(Node::Function(at));
        }
        Some(Node::Data(self.object_of(address)?))
    }

    /// The object of interest that a place in data belongs to.
    fn object_of(&self, place: Svma) -> Option<u64> {
        if let Some(object) = self.file.linkage.object_at(place) {
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

    /// Addresses made by functions that were not run, or that these lost.
    fn addresses(&mut self) {
        for (&start, sites) in &self.closure.taken {
            for &from in sites {
                let taker = self.file.whole_at(from).map(|taker| taker.start);
                let is_listed = taker.is_some_and(|taker| self.lists.contains(&taker));
                if is_listed || self.is_used(from, Node::Function(start)) {
                    continue;
                }
                let is_certain = self.is_callback(Some(from));
                // A function that was run and lets it go nowhere compares it, or loses it in the frame.
                let is_loose = !is_certain && taker.is_some_and(|taker| self.facts(taker).is_some());
                for edge in self.edges_from(from, is_certain, GuardKind::Pointer) {
                    self.push(Node::Function(start), IncomingEdge { is_loose, ..edge });
                }
            }
        }
    }

    /// Whether the function at a place was seen to let out a node's address.
    fn is_used(&self, from: CodeOffset, node: Node) -> bool {
        self.file.whole_at(from).is_some_and(|function| self.used.contains(&(function.start, node)))
    }

    /// Whether an address made at a place is given to a function that calls it. The entry point gives it to the C
    /// library, or it goes to a function whose name says so.
    fn is_callback(&self, from: Option<CodeOffset>) -> bool {
        /// Maximum of instructions between the two.
        const NEAR: usize = 24;
        let Some(from) = from else { return false };
        let image = self.file.image;
        let Some(function) = self.file.whole_at(from) else { return false };
        let mut at = image.svma(from);
        for _ in 0..NEAR {
            let code = image.bytes_at(at).unwrap_or_default();
            let Some(step) = insn::step(image.arch, code, at) else { return false };
            let name = match step.flow {
                Flow::Call(target) => self.file.name_of(target),
                Flow::IndirectCall => {
                    let memory = insn::decode(image.arch, code, at).and_then(|insn| insn.memory);
                    let cell = memory.filter(|memory| memory.is_static);
                    let import =
                        cell.and_then(|cell| self.file.linkage.import(Svma(cell.displacement as u64)));
                    import.map(|import| import.name)
                }
                Flow::Next => None,
                _ => return false,
            };
            if matches!(step.flow, Flow::Call(_) | Flow::IndirectCall) {
                let is_entry = image.entries.contains(&image.svma(function.start));
                let is_main = self.mains.contains(&function.start);
                return is_entry || is_main || name.is_some_and(names::calls_back);
            }
            at = at.offset(step.length.into());
        }
        false
    }

    /// Whether code calls what an instruction loads, taken in order of address until the register holds something else.
    fn is_called_with(&self, from: CodeOffset) -> bool {
        /// Maximum of instructions between the two.
        const NEAR: usize = 256;
        let image = self.file.image;
        let Some(function) = self.file.program.function_at(from) else { return false };
        let end = function.extent(image).end;
        let next = |at: Svma| insn::decode(image.arch, image.bytes_at(at)?, at).filter(|_| at < end);
        let Some(load) = next(image.svma(from)) else { return false };
        let Some(held) = load.dst else { return false };
        let clobbered = abi::clobbered(image.arch, image.build.is_go);
        let after = std::iter::successors(next(load.next()), |insn| next(insn.next())).take(NEAR);
        for insn in after {
            match insn.flow {
                Flow::IndirectCall | Flow::IndirectJump
                    if insn.memory.is_none() && insn.reads.contains(held) =>
                {
                    return true;
                }
                Flow::Call(_) | Flow::IndirectCall if clobbered.contains(&held) => return false,
                _ if insn.writes.contains(held) => return false,
                _ => {}
            }
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
                    .filter(|reference| !self.is_comparison(reference.from))
                    .copied()
                    .collect();
                let is_replaced = self.learnt.readers.contains_key(&cell.0);
                for reference in &through {
                    let Some(from) = self.file.image.code_offset(reference.from) else { continue };
                    // It was seen what becomes of the address that is read.
                    if reference.access == Access::Read && self.is_used(from, node) {
                        continue;
                    }
                    let is_function = matches!(node, Node::Function(_));
                    // To read what nothing writes is to take the address, and no call.
                    let is_taken = reference.access == Access::Read && self.file.is_fixed_cell(cell);
                    let is_certain = match is_taken {
                        true => self.is_callback(Some(from)) || self.is_called_with(from),
                        false => !is_replaced,
                    };
                    for edge in self.edges_from(from, is_function && is_certain, GuardKind::Pointer) {
                        self.push(node, edge);
                    }
                }
                if through.is_empty() || self.is_table(object, cell) {
                    let edge = IncomingEdge {
                        from: Source::Node(Node::Data(object)),
                        at: cell,
                        proof: Proof::EMPTY,
                        is_certain: false,
                        is_loose: false,
                        kind: GuardKind::Table,
                        check: None,
                    };
                    self.push(node, edge);
                    if done.insert(object) {
                        self.object(object);
                    }
                }
            }
        }
    }

    /// Whether an instruction compares what it reads, and neither calls it nor passes it on.
    fn is_comparison(&self, at: Svma) -> bool {
        let code = self.file.image.bytes_at(at);
        let insn = code.and_then(|code| insn::decode(self.file.image.arch, code, at));
        insn.is_some_and(|insn| insn.operation == Operation::Compare)
    }

    /// Whether an instruction takes the address of the object, rather than reading the cell alone.
    fn is_table(&self, object: u64, cell: Svma) -> bool {
        self.closure
            .references_in(Extent { start: Svma(object), end: cell.offset(8) })
            .any(|reference| reference.access == Access::Address)
    }

    /// The edges to an object: what refers to it.
    fn object(&mut self, object: u64) {
        let node = Node::Data(object);
        let named = self.file.linkage.object_at(Svma(object)).map(|named| named.extent);
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
            let Some(from) = self.file.image.code_offset(reference.from) else { continue };
            if self.is_used(from, node) {
                continue;
            }
            for edge in self.edges_from(from, false, GuardKind::Table) {
                self.push(node, edge);
            }
        }
        let is_pointed_to = self.closure.cells.contains_key(&node);
        if all.is_empty() && !is_pointed_to {
            let edge = IncomingEdge {
                from: Source::Root,
                at: Svma(object),
                proof: Proof::EMPTY,
                is_certain: false,
                is_loose: false,
                kind: GuardKind::Table,
                check: None,
            };
            self.push(node, edge);
        }
    }
}
