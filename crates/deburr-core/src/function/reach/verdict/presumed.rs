//! Which words of unknown origin hold answers of the CPU, going by a vocabulary that the file itself defines.
//!
//! In: the functions that stay unknown, and what the file's own queries learnt. Out: [`Presumption`]. What a query returns
//! gives bits or levels a meaning: bit 9 is AVX2. Code that chooses functions tests such bits in fields and arguments whose
//! origin is not followed. Where the bits that are tested there agree with what the chosen functions use, again and again,
//! the word is presumed to be a copy of the answer. That is never a proof, and is kept apart from those.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::block::Graph;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::abi;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::machine::memory::{Memory, Presumed};
use crate::function::reach::machine::summaries::Summaries;
use crate::function::reach::verdict::checks::{Checks, Copy, Origin, Place, Presumption};
use crate::function::reach::verdict::edges;
use crate::function::reach::verdict::evidence::Gap;
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source};
use crate::function::reach::verdict::slice::Closure;
use crate::insn::sweep::FeatureHit;
use crate::insn::{self, FeatureGroup, Reg};
use deburr_cpu::FeatureSet;
use std::cell::LazyCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Bytes of a word.
const WIDTHS: [u8; 2] = [4, 8];
/// Sets of features that a word must distinguish to be a vocabulary.
const MEANINGS: usize = 3;
/// Vocabularies that are tried, those with most meanings first.
const VOCABULARIES: usize = 6;
/// Fields that are tried for each width, those that are tested most first, and arguments.
const FIELDS: usize = 12;
const ARGUMENTS: u8 = 4;
/// Apt agreements, and sets of features that differ among them, without which a word is not presumed.
const AGREEMENTS: u32 = 4;
const DIFFERENT: usize = 2;
/// Agreements for each contradiction.
const FOR_EACH: u32 = 10;
/// Maximum of functions that are run for it.
const FUNCTIONS: usize = 512;
/// And for each unknown function.
const FOR_EACH_UNKNOWN: usize = 4;

/// What the search needs.
pub(crate) struct Search<'s, 'w, 'a> {
    pub file: &'s View<'w, 'a>,
    pub roots: &'s BTreeMap<CodeOffset, Source>,
    pub learnt: &'s Learnt,
    pub closure: &'s Closure,
    pub checks: &'s Checks,
    /// The functions that stay unknown, with what they need.
    pub unknown: &'s BTreeMap<CodeOffset, FeatureSet>,
    /// The functions that ran a second time, with what may be flags taken for such.
    pub again: &'s BTreeSet<CodeOffset>,
    /// What every CPU has.
    pub permitted: FeatureSet,
}

impl Search<'_, '_, '_> {
    /// Presumes what the file's vocabularies suggest; `None` if nothing agrees.
    pub(crate) fn presume(&self) -> Option<Presumption> {
        if self.unknown.len() < AGREEMENTS as usize {
            return None;
        }
        let hits = self.hits();
        let groups =
            || hits.values().flatten().copied().flatten().map(|hit| hit.group).collect::<HashSet<_>>();
        let mut needs: BTreeSet<FeatureSet> = self.unknown.values().copied().collect();
        if needs.len() < DIFFERENT {
            needs.extend(groups().into_iter().map(|group| self.needs(group)));
        }
        if needs.len() < DIFFERENT {
            return None;
        }
        let vocabularies = self.vocabularies();
        if vocabularies.is_empty() {
            return None;
        }
        let choosers = self.choosers();
        let places = places(&choosers);
        let (near, part) = self.near(&choosers);
        // Only where a test contradicts.
        let cpus = LazyCell::new(|| {
            let cpus = deburr_cpu::cpus_by_features(self.file.image.arch).into_iter();
            cpus.map(|(_, has)| has.union(self.permitted)).collect::<Vec<_>>()
        });
        let tried = vocabularies.into_iter().filter_map(|(origin, word, width)| {
            let of_width = places.iter().filter(|(_, (_, of))| *of == width);
            let all: BTreeMap<u8, Place> = of_width.map(|(bit, (place, _))| (*bit, *place)).collect();
            let presumed = self.presumed(&near, &word, width, &all);
            // What reads none of these words proves nothing by them.
            let readers = near.iter().filter(|(start, operands)| operands.read_any(&presumed, **start));
            let learnt = self.run(presumed.clone(), &readers.map(|(start, _)| *start).collect());
            let edges = edges::incoming_from_code(self.file, &part, &learnt);
            let copies = self.agreeing((&edges, &learnt.facts), (&hits, &cpus), &all);
            let apt: u32 = copies.values().map(|copy| copy.apt).sum();
            (apt > 0).then_some((apt, origin, word, width, copies))
        });
        let (_, origin, word, width, copies) = tried.max_by_key(|(apt, ..)| *apt)?;
        let only = copies.iter().map(|(bit, copy)| (*bit, copy.place)).collect();
        let presumed = self.presumed(&choosers, &word, width, &only);
        let due = choosers.iter().filter(|(start, operands)| {
            operands.read_any(&presumed, **start) || !self.is_up_to_date(**start, operands)
        });
        let due = due.map(|(start, _)| *start).collect();
        let mut learnt = self.run(presumed, &due);
        for (start, facts) in &self.learnt.facts {
            learnt.facts.entry(*start).or_insert_with(|| Arc::clone(facts));
        }
        let edges = edges::incoming(self.file, self.roots, self.closure, &learnt);
        let checks = Checks { edges, facts: learnt.facts, any: learnt.any, ..Checks::default() };
        Some(Presumption { origin, copies: copies.into_values().collect(), checks })
    }

    /// By unknown function, the instructions of it and its parts that are above the first level.
    fn hits(&self) -> Hits<'_> {
        let mut found = Hits::new();
        for (function, hits) in self.file.program.hits_by_function() {
            let start = function.map(|function| self.file.program.whole(function).start);
            if let Some(start) = start.filter(|start| self.unknown.contains_key(start)) {
                found.entry(start).or_default().push(hits);
            }
        }
        found
    }

    /// What instructions of a group need that is not permitted.
    fn needs(&self, group: FeatureGroup) -> FeatureSet {
        insn::features_of(self.file.image.arch, group).minus(self.permitted)
    }

    /// Words with several meanings, each with its width in bytes.
    fn vocabularies(&self) -> Vec<(Origin, Value, u8)> {
        let returned =
            self.learnt.facts.iter().map(|(start, facts)| (Origin::Returned(*start), &facts.returned));
        let words = self.learnt.memory.words.iter().map(|((at, _), word)| (Origin::Word(*at), word));
        let mut found: Vec<(usize, Origin, &Value)> = returned
            .chain(words)
            .map(|(origin, word)| (word.meanings().len(), origin, word))
            .filter(|(meanings, ..)| *meanings >= MEANINGS)
            .collect();
        found.sort_by_key(|(meanings, origin, _)| (Reverse(*meanings), *origin));
        let mut different: Vec<(Origin, Value, u8)> = Vec::new();
        for (_, origin, word) in found {
            if different.len() < VOCABULARIES && different.iter().all(|(_, known, _)| known != word) {
                let width = if word.truncate(4) == *word { 4 } else { 8 };
                different.push((origin, word.clone(), width));
            }
        }
        different
    }

    /// The functions that lead to unknown ones, the nearest first, of these the ones that choose most.
    fn choosers(&self) -> Choosers {
        let most = FUNCTIONS.min(self.unknown.len().saturating_mul(FOR_EACH_UNKNOWN));
        let mut found: BTreeSet<CodeOffset> = BTreeSet::new();
        let mut frontier: Vec<Node> = self.unknown.keys().map(|&start| Node::Function(start)).collect();
        let mut seen: BTreeSet<Node> = frontier.iter().copied().collect();
        while found.len() < most && !frontier.is_empty() {
            let mut counts: BTreeMap<Node, usize> = BTreeMap::new();
            let edges = frontier.iter().flat_map(|node| self.checks.edges.into.get(node)).flatten();
            for edge in edges {
                if let Source::Node(from) = edge.from {
                    *counts.entry(from).or_default() += 1;
                }
            }
            let mut nodes: Vec<(usize, Node)> =
                counts.into_iter().map(|(node, count)| (count, node)).collect();
            nodes.sort_by_key(|(count, node)| (Reverse(*count), *node));
            for (_, node) in &nodes {
                if let Node::Function(start) = *node
                    && found.len() < most
                {
                    found.extend(self.file.whole_at(start).map(|function| function.start));
                }
            }
            frontier = nodes.into_iter().map(|(_, node)| node).filter(|node| seen.insert(*node)).collect();
        }
        // A few may test for themselves.
        if self.unknown.len() <= FUNCTIONS {
            found.extend(self.unknown.keys());
        }
        let inlined = &self.learnt.summaries.inlined;
        let run_inside = self.file.callers_of(&inlined.iter().copied().collect());
        let operands = |start: CodeOffset| {
            let graph = self.file.whole_at(start).and_then(|function| self.file.graph(function));
            Operands::of(graph.as_deref(), !inlined.is_empty() && run_inside.contains(&start))
        };
        found.into_iter().map(|start| (start, operands(start))).collect()
    }

    /// The choosers whose code refers to unknown functions, or to data that leads to functions of interest: only these can
    /// choose an unknown function. With them the part of the closure that leads there.
    fn near(&self, choosers: &Choosers) -> (Choosers, Closure) {
        let (closure, file) = (self.closure, self.file);
        let is_far = |start: &CodeOffset| closure.far.contains(&Node::Function(*start));
        let mut near: BTreeSet<CodeOffset> = self.unknown.keys().copied().collect();
        let mut part = Closure { entries: closure.entries.clone(), ..Closure::default() };
        let mut sites: Vec<CodeOffset> = Vec::new();
        for (&start, &features) in self.unknown {
            part.needs.insert(start, features);
            if let Some(direct) = closure.direct.get(&start) {
                sites.extend(direct.iter().map(|edge| edge.from));
                part.direct.insert(start, direct.clone());
            }
            if let Some(taken) = closure.taken.get(&start) {
                sites.extend(taken);
                part.taken.insert(start, taken.clone());
            }
            let node = Node::Function(start);
            if let Some(cells) = closure.cells.get(&node) {
                let cell = |(cell, _): &(Svma, u64)| closure.references_in(Extent::sized(*cell, 1));
                part.references.extend(cells.iter().flat_map(cell));
                part.cells.insert(node, cells.clone());
            }
        }
        part.references.sort_unstable();
        part.references.dedup();
        let readers = self.learnt.readers.values().flatten().map(|(from, _)| *from);
        let referring = closure.references.iter().map(|reference| reference.from).chain(readers);
        sites.extend(referring.filter_map(|from| file.image.code_offset(from)));
        near.extend(sites.into_iter().filter_map(|from| Some(file.whole_at(from)?.start)));
        let is_unknown = |address: u64| {
            file.image.code_offset(Svma(address)).is_some_and(|at| self.unknown.contains_key(&at))
        };
        let returns = self.learnt.summaries.returns.iter();
        let returns = returns.filter(|(_, value)| value.choices().iter().any(|choice| is_unknown(choice.0)));
        let inlined = self.learnt.summaries.inlined.iter().copied().filter(|start| near.contains(start));
        let callees = returns.map(|(start, _)| *start).chain(inlined).collect();
        near.extend(file.callers_of(&callees));
        let uses = |start: &CodeOffset| {
            let facts = self.learnt.facts.get(start);
            facts.is_some_and(|facts| facts.uses.iter().any(|used| is_unknown(used.address.0)))
        };
        // What leads to these was not collected.
        let is_any = self.unknown.keys().any(is_far);
        let near = choosers.iter().filter(|(start, _)| is_any || near.contains(start) || uses(start));
        (near.map(|(start, operands)| (*start, operands.clone())).collect(), part)
    }

    /// What the words at some places are presumed to hold, for some functions.
    fn presumed(
        &self,
        choosers: &Choosers,
        word: &Value,
        width: u8,
        places: &BTreeMap<u8, Place>,
    ) -> Presumed {
        let mut presumed = Presumed { width, ..Presumed::default() };
        let registers = abi::arguments(self.file.image.arch);
        for (&bit, &place) in places {
            let value = word.presumed(1 << bit);
            match place {
                Place::Field(at) => drop(presumed.fields.insert(at, value)),
                Place::Argument(number) => {
                    let Some(&reg) = registers.get(usize::from(number)) else { continue };
                    for &start in choosers.keys().filter(|&&start| self.tests(start, reg, width)) {
                        presumed.arguments.entry(start).or_default().push((reg, value.clone()));
                    }
                }
            }
        }
        presumed
    }

    /// Runs some functions with some words presumed.
    fn run(&self, presumed: Presumed, functions: &BTreeSet<CodeOffset>) -> Learnt {
        let memory = Memory { presumed, ..self.learnt.memory.clone() };
        Learnt {
            facts: run(self.file, &self.learnt.summaries, &memory, functions),
            memory,
            summaries: Summaries::default(),
            readers: self.learnt.readers.clone(),
            flags: self.learnt.flags.clone(),
            any: self.learnt.any,
        }
    }

    /// Whether a run without presumed words would show nothing else of a function than what is known.
    fn is_up_to_date(&self, start: CodeOffset, operands: &Operands) -> bool {
        let memory = &self.learnt.memory;
        let mut entries = self.file.incoming.inner.get(&start).into_iter().flatten().copied().chain([start]);
        let has_run = entries
            .all(|entry| self.learnt.facts.contains_key(&entry) && !memory.arguments.contains_key(&entry));
        let reads_flags = operands.runs_others && !memory.fields.is_empty()
            || operands.fields.iter().any(|(at, _)| memory.fields.contains(at));
        has_run && !reads_flags && !self.again.contains(&start)
    }

    /// Whether a function first uses an argument as a number of at most so many bytes, never as an address.
    fn tests(&self, start: CodeOffset, reg: Reg, width: u8) -> bool {
        let graph = self.file.whole_at(start).and_then(|function| self.file.graph(function));
        let Some(graph) = graph else { return false };
        for insn in graph.blocks.iter().flat_map(|block| &block.insns) {
            if insn.memory.is_some_and(|memory| [memory.base, memory.index].contains(&Some(reg))) {
                return false;
            }
            if insn.src.contains(&Some(reg)) {
                return insn.width <= width;
            }
            if insn.writes.contains(reg) {
                return false;
            }
        }
        false
    }

    /// The places whose tests agree with what they choose, by bit. Of the edges and facts only those matter that presumed
    /// words have a part in. `cpus`: what each known CPU has.
    fn agreeing<F: FnOnce() -> Vec<FeatureSet>>(
        &self,
        (edges, facts): (&BTreeMap<Node, Vec<IncomingEdge>>, &FactsByFunction),
        (hits, cpus): (&Hits<'_>, &LazyCell<Vec<FeatureSet>, F>),
        places: &BTreeMap<u8, Place>,
    ) -> BTreeMap<u8, Copy> {
        let mut tallies: BTreeMap<u8, Tally> = BTreeMap::new();
        let mut count = |start: CodeOffset, proof: Proof, needs: FeatureSet| {
            if proof.presumed == 0 || proof.features.is_empty() {
                return;
            }
            // What no known CPU has alone is as good as tested.
            let gap = Gap { proven: proof.features, missing: needs };
            let is_agreeing = needs.is_subset(proof.features);
            let is_contradicted = !is_agreeing && cpus.iter().any(|&has| gap.endangers(has));
            let is_apt = is_agreeing && !proof.features.strongest().intersection(needs).is_empty();
            for bit in places.keys().filter(|&&bit| proof.presumed >> bit & 1 != 0) {
                let tally = tallies.entry(*bit).or_default();
                if is_agreeing {
                    tally.agreeing.insert(start);
                    if is_apt {
                        tally.apt.insert(start);
                        tally.needs.insert(needs);
                    }
                } else if is_contradicted {
                    tally.contradicting.insert(start);
                }
            }
        };
        for (&start, &needs) in self.unknown {
            for edge in edges.get(&Node::Function(start)).into_iter().flatten() {
                count(start, edge.proof, needs);
            }
        }
        for (start, facts) in facts {
            let is_presumed = facts.blocks.iter().any(|block| block.proof.is_some_and(|it| it.presumed != 0));
            let hits = hits.get(start).filter(|_| is_presumed);
            for hit in hits.into_iter().flatten().copied().flatten() {
                let needs = self.needs(hit.group);
                if let Some(proof) =
                    facts.at(hit.at).and_then(|block| block.proof).filter(|_| !needs.is_empty())
                {
                    count(*start, proof, needs);
                }
            }
        }
        let copies = tallies.iter().filter_map(|(bit, tally)| Some((*bit, tally.copy(*places.get(bit)?)?)));
        copies.collect()
    }
}

/// By function, instructions above the first level.
type Hits<'h> = BTreeMap<CodeOffset, Vec<&'h [FeatureHit]>>;

/// The functions that may choose, by where they begin.
type Choosers = BTreeMap<CodeOffset, Operands>;

/// The memory operands of a function that may be fields of structures of unknown place.
#[derive(Debug, Clone, Default)]
struct Operands {
    /// Their offsets and sizes in bytes, sorted.
    fields: Vec<(i64, u8)>,
    /// Those that are read and have no index, with how often: eight times each where a number is next to it.
    tested: Vec<((i64, u8), u32)>,
    /// Whether other functions are run inside this one.
    runs_others: bool,
}

impl Operands {
    fn of(graph: Option<&Graph>, runs_others: bool) -> Operands {
        let mut operands = Operands { runs_others, ..Operands::default() };
        let mut tested: BTreeMap<(i64, u8), u32> = BTreeMap::new();
        for insn in graph.into_iter().flat_map(|graph| &graph.blocks).flat_map(|block| &block.insns) {
            let memory = insn.memory.filter(|memory| !memory.is_static && memory.index.is_none());
            let Some(memory) = memory else { continue };
            let (at, size) = (memory.displacement, u8::try_from(memory.size).unwrap_or(u8::MAX));
            // Vectors are read by halves.
            operands.fields.extend([(at, size.min(8)), (at.wrapping_add(8), size.saturating_sub(8).min(8))]);
            if memory.read && memory.base.is_some() {
                let weight = if insn.imm.is_some() { 8 } else { 1 };
                *tested.entry((at, size)).or_default() += weight;
            }
        }
        operands.fields.retain(|(_, size)| *size > 0);
        operands.fields.sort_unstable();
        operands.fields.dedup();
        operands.tested = tested.into_iter().collect();
        operands
    }

    /// Whether the function that begins at `start` reads any of the presumed words.
    fn read_any(&self, presumed: &Presumed, start: CodeOffset) -> bool {
        let is_presumed = |&(at, size): &(i64, u8)| {
            presumed.word_at(at, size).is_some_and(|word| presumed.fields.contains_key(&word))
        };
        presumed.arguments.contains_key(&start)
            || self.runs_others && !presumed.fields.is_empty()
            || self.fields.iter().any(is_presumed)
    }
}

/// The fields and arguments that may be copies, by the bit that stands for each, with the width of each in bytes.
fn places(choosers: &Choosers) -> BTreeMap<u8, (Place, u8)> {
    let mut found = Vec::new();
    for width in WIDTHS {
        let presumed = Presumed { width, ..Presumed::default() };
        let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
        for &((at, size), count) in choosers.values().flat_map(|operands| &operands.tested) {
            if let Some(word) = presumed.word_at(at, size).filter(|_| size <= width) {
                *counts.entry(word).or_default() += count;
            }
        }
        let mut counts: Vec<(i64, u32)> = counts.into_iter().collect();
        counts.sort_by_key(|(at, count)| (Reverse(*count), *at));
        let fields = counts.into_iter().take(FIELDS).map(|(at, _)| Place::Field(at));
        let all = fields.chain((0..ARGUMENTS).map(Place::Argument));
        found.extend(all.map(|place| (place, width)));
    }
    (0..).zip(found).collect()
}

/// What the tests of one place choose.
#[derive(Debug, Default)]
struct Tally {
    agreeing: BTreeSet<CodeOffset>,
    /// Those of them that use the very feature of the test. Any test for AVX-512 agrees with all that use less.
    apt: BTreeSet<CodeOffset>,
    contradicting: BTreeSet<CodeOffset>,
    /// What the apt ones need.
    needs: BTreeSet<FeatureSet>,
}

impl Tally {
    /// The place as a copy of the answer, if there is enough that speaks for it, and little against it.
    fn copy(&self, place: Place) -> Option<Copy> {
        let count = |functions: &BTreeSet<CodeOffset>| u32::try_from(functions.len()).unwrap_or(u32::MAX);
        let (agreements, contradictions) = (count(&self.agreeing), count(&self.contradicting));
        let is_copy = count(&self.apt) >= AGREEMENTS
            && count(&self.apt) >= agreements / 2
            && self.needs.len() >= DIFFERENT
            && contradictions.saturating_mul(FOR_EACH) <= agreements;
        is_copy.then_some(Copy { place, agreements, apt: count(&self.apt), contradictions })
    }
}
