//! Which words of unknown origin hold answers of the CPU, going by a vocabulary that the file itself defines.
//!
//! In: the functions that stay unknown, and what the file's own queries learnt. Out: [`Presumption`]. What a query returns
//! gives bits or levels a meaning: bit 9 is AVX2. Code that chooses functions tests such bits in fields and arguments whose
//! origin is not followed. Where the bits that are tested there agree with what the chosen functions use, again and again,
//! the word is presumed to be a copy of the answer. That is never a proof, and is kept apart from those.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::file::abi;
use crate::function::reach::file::references::DataReference;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::machine::effects::UseKind;
use crate::function::reach::machine::memory::{Memory, Presumed};
use crate::function::reach::machine::summaries::Summaries;
use crate::function::reach::verdict::checks::{Checks, Copy, Place, Presumption};
use crate::function::reach::verdict::edges;
use crate::function::reach::verdict::evidence::{Gap, known_cpus};
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source};
use crate::function::reach::verdict::presumed::test::Test;
use crate::function::reach::verdict::presumed::tested::Tested;
use crate::function::reach::verdict::presumed::vocabulary::{Vocabulary, vocabularies};
use crate::function::reach::verdict::presumed::weight::{AGREEMENTS, DIFFERENT, Weight};
use crate::function::reach::verdict::slice::Closure;
use crate::insn::sweep::FeatureHit;
use crate::insn::{self, FeatureGroup, Reg};
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashSet;
use std::cell::LazyCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fields and arguments that are tried, those that may choose most first.
const PLACES: usize = 16;
/// A vocabulary is tried where some place may choose this part of the unknown functions.
const SHARE: usize = 4;
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
            || hits.values().flatten().copied().flatten().map(|hit| hit.group).collect::<FxHashSet<_>>();
        let mut needs: BTreeSet<FeatureSet> = self.unknown.values().copied().collect();
        if needs.len() < DIFFERENT {
            needs.extend(groups().into_iter().map(|group| self.needs(group)));
        }
        if needs.len() < DIFFERENT {
            return None;
        }
        let relevant = needs.iter().fold(FeatureSet::EMPTY, |all, needs| all.union(*needs));
        let vocabularies = vocabularies(self.learnt, relevant);
        if vocabularies.is_empty() {
            return None;
        }
        let choosers = self.choosers();
        let (mut near, part) = self.near(&choosers);
        if self.unknown.len() > FUNCTIONS {
            // A few may test for themselves: see `choosers`.
            near.retain(|start, _| !self.unknown.contains_key(start));
        }
        let mut operands = self.operands(near.keys().copied(), &vocabularies);
        // Only where a test contradicts.
        let cpus = LazyCell::new(|| known_cpus(self.file.image.arch, self.permitted));
        let tried = vocabularies.iter().filter_map(|vocabulary| {
            let all = places(chosen(self.unknown, &near, &operands, vocabulary), self.unknown.len());
            if all.is_empty() || self.file.program.budget().is_spent() {
                return None;
            }
            let presumed = self.presumed(&operands, vocabulary, &all);
            // What tests none of these words proves nothing by them.
            let due = near.keys().copied().filter(|start| operands.read_any(&presumed, *start)).collect();
            let learnt = self.run(presumed, &due);
            let edges = edges::incoming_from_code(self.file, &part.limited_to(self.file, &due), &learnt);
            let copies = self.agreeing((&edges, &learnt.facts), (&hits, &cpus), &all);
            let apt: u32 = copies.values().map(|copy| copy.apt).sum();
            (apt > 0)
                .then(|| (apt, Trial { vocabulary, is_final: copies.len() == all.len(), copies, learnt }))
        });
        let (_, Trial { vocabulary, is_final, copies, learnt: mut tried }) =
            tried.max_by_key(|(apt, _)| *apt)?;
        let others = choosers.iter().copied().filter(|start| !near.contains_key(start));
        operands.extend(self.operands(others, &vocabularies));
        let only = copies.iter().map(|(bit, copy)| (*bit, copy.place)).collect();
        let presumed = self.presumed(&operands, vocabulary, &only);
        if !is_final {
            tried.facts.clear();
        }
        let due = choosers.iter().copied().filter(|start| {
            !tried.facts.contains_key(start)
                && (operands.read_any(&presumed, *start) || self.reads_flags(*start))
        });
        let due = due.collect();
        let mut learnt = self.run(presumed, &due);
        for (start, facts) in tried.facts.iter().chain(&self.learnt.facts) {
            learnt.facts.entry(*start).or_insert_with(|| Arc::clone(facts));
        }
        let edges = edges::incoming(self.file, self.roots, self.closure, &learnt);
        let checks = Checks { edges, facts: learnt.facts, any: learnt.any, ..Checks::default() };
        Some(Presumption { origin: vocabulary.origin, copies: copies.into_values().collect(), checks })
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

    /// The functions that lead to unknown ones, the nearest first, of these the ones that choose most.
    fn choosers(&self) -> BTreeSet<CodeOffset> {
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
        found
    }

    /// What some functions read and test, as far as it can show what the word of a vocabulary means.
    fn operands(&self, of: impl Iterator<Item = CodeOffset>, vocabularies: &[Vocabulary]) -> Operands {
        let is_informative =
            |test: Test| vocabularies.iter().any(|vocabulary| vocabulary.may_be_shown_by(test));
        let operands = |start: CodeOffset| {
            let svma = self.file.image.svma(start);
            let graph = self.file.whole_at(start).and_then(|function| self.file.graph(function));
            let operands =
                graph.map(|graph| Tested::of(&graph, (self.file.image.arch, svma), &is_informative));
            (start, operands.unwrap_or_default())
        };
        let inlined = &self.learnt.summaries.inlined;
        let callers = self.file.callers_of(&inlined.iter().copied().collect());
        let own: BTreeMap<CodeOffset, Tested> = of.map(operands).collect();
        let callers: BTreeSet<CodeOffset> =
            callers.into_iter().filter(|start| own.contains_key(start)).collect();
        let inner = inlined.iter().copied().filter(|_| !callers.is_empty()).map(operands).collect();
        Operands { own, inner, callers }
    }

    /// The choosers that lead to unknown functions directly: only these can choose one. With the part of the closure that
    /// leads there.
    fn near(&self, choosers: &BTreeSet<CodeOffset>) -> (Near, Closure) {
        let (closure, file) = (self.closure, self.file);
        let mut near = Near::new();
        let mut part = Closure { entries: closure.entries.clone(), ..Closure::default() };
        let mut lead = |from: Option<CodeOffset>, to: CodeOffset| {
            if let Some(function) = from.and_then(|from| file.whole_at(from)) {
                near.entry(function.start).or_default().insert(to);
            }
        };
        for (&start, &features) in self.unknown {
            lead(Some(start), start);
            part.needs.insert(start, features);
            if let Some(direct) = closure.direct.get(&start) {
                direct.iter().for_each(|edge| lead(Some(edge.from), start));
                part.direct.insert(start, direct.clone());
            }
            if let Some(taken) = closure.taken.get(&start) {
                taken.iter().for_each(|from| lead(Some(*from), start));
                part.taken.insert(start, taken.clone());
            }
            let node = Node::Function(start);
            if let Some(cells) = closure.cells.get(&node) {
                let cell = |(cell, _): &(Svma, u64)| closure.references_in(Extent::sized(*cell, 1));
                let references: Vec<DataReference> = cells.iter().flat_map(cell).copied().collect();
                references.iter().for_each(|reference| lead(file.image.code_offset(reference.from), start));
                part.references.extend(references);
                part.cells.insert(node, cells.clone());
            }
        }
        part.references.sort_unstable();
        part.references.dedup();
        let unknown =
            |address: u64| file.image.code_offset(Svma(address)).filter(|at| self.unknown.contains_key(at));
        for (&start, facts) in &self.learnt.facts {
            for (used, to) in facts.uses.iter().filter_map(|used| Some((used, unknown(used.address.0)?))) {
                lead(Some(start), to);
                if let UseKind::Stored(at) = used.kind {
                    let readers = self.learnt.readers.get(&at).into_iter().flatten();
                    readers.for_each(|(from, _)| lead(file.image.code_offset(*from), to));
                }
            }
        }
        for (&callee, value) in &self.learnt.summaries.returns {
            let all: Vec<CodeOffset> = value.choices().iter().filter_map(|(to, _)| unknown(*to)).collect();
            if !all.is_empty() {
                for caller in file.callers_of(&BTreeSet::from([callee])) {
                    all.iter().for_each(|to| lead(Some(caller), *to));
                }
            }
        }
        for callee in &self.learnt.summaries.inlined {
            if let Some(all) = near.get(callee).cloned() {
                for caller in file.callers_of(&BTreeSet::from([*callee])) {
                    near.entry(caller).or_default().extend(&all);
                }
            }
        }
        near.retain(|start, _| choosers.contains(start));
        (near, part)
    }

    /// What the words at some places are presumed to hold, for some functions.
    fn presumed(
        &self,
        operands: &Operands,
        vocabulary: &Vocabulary,
        places: &BTreeMap<u8, Place>,
    ) -> Presumed {
        let Vocabulary { word, width, .. } = vocabulary;
        let mut presumed = Presumed { width: *width, ..Presumed::default() };
        let registers = abi::arguments(self.file.image.arch);
        for (&bit, &place) in places {
            let value = word.presumed(1 << bit);
            match place {
                Place::Field(at) => drop(presumed.fields.insert(at, value)),
                Place::Argument(number) => {
                    let Some(&reg) = registers.get(usize::from(number)) else { continue };
                    let tests = |start, tested: &Tested| {
                        tested.tests_argument(number, vocabulary) && self.tests(start, reg, *width)
                    };
                    for (&start, _) in operands.own.iter().filter(|(start, tested)| tests(**start, tested)) {
                        presumed.arguments.entry(start).or_default().push((reg, value.clone()));
                    }
                }
            }
        }
        let all = operands.own.values().chain(operands.inner.values());
        presumed.reads = all.flat_map(|tested| tested.informative_reads(&presumed, vocabulary)).collect();
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
            accessors: self.learnt.accessors.clone(),
            any: self.learnt.any,
        }
    }

    /// Whether a function has run, and a run with presumed words, which takes nothing for a flag, would show less of it.
    fn reads_flags(&self, start: CodeOffset) -> bool {
        let memory = &self.learnt.memory;
        let mut entries = self.file.incoming.inner.get(&start).into_iter().flatten().copied().chain([start]);
        self.again.contains(&start) || entries.any(|entry| memory.arguments.contains_key(&entry))
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

/// What was found with a vocabulary.
struct Trial<'v> {
    vocabulary: &'v Vocabulary,
    copies: BTreeMap<u8, Copy>,
    learnt: Learnt,
    /// Whether no place has turned out to be none.
    is_final: bool,
}

/// Functions, each with the unknown ones that it leads to.
type Near = BTreeMap<CodeOffset, BTreeSet<CodeOffset>>;

/// What functions read and test.
struct Operands {
    own: BTreeMap<CodeOffset, Tested>,
    /// Of the functions that are run inside others.
    inner: BTreeMap<CodeOffset, Tested>,
    /// Those that such are run inside.
    callers: BTreeSet<CodeOffset>,
}

impl Operands {
    /// Of a function, and of those that are run inside it.
    fn of(&self, start: CodeOffset) -> impl Iterator<Item = &Tested> {
        let inner = self.inner.values().filter(move |_| self.callers.contains(&start));
        self.own.get(&start).into_iter().chain(inner)
    }

    /// Whether a function reads any of the presumed words.
    fn read_any(&self, presumed: &Presumed, start: CodeOffset) -> bool {
        let reads = |tested: &Tested| tested.reads.iter().any(|read| presumed.reads.contains(&read.svma));
        presumed.arguments.contains_key(&start) || self.of(start).any(reads)
    }

    fn extend(&mut self, others: Operands) {
        self.own.extend(others.own);
        self.inner.extend(others.inner);
        self.callers.extend(others.callers);
    }
}

/// How many unknown functions each place may choose: those that a function leads to which tests the place for what they
/// need.
fn chosen(
    unknown: &BTreeMap<CodeOffset, FeatureSet>,
    near: &Near,
    operands: &Operands,
    vocabulary: &Vocabulary,
) -> BTreeMap<Place, usize> {
    let mut chosen: BTreeMap<Place, BTreeSet<CodeOffset>> = BTreeMap::new();
    for (start, all) in near {
        let mut shown: BTreeMap<Place, FeatureSet> = BTreeMap::new();
        for (place, test) in operands.of(*start).flat_map(|tested| tested.tests(vocabulary.width)) {
            let features = shown.entry(place).or_default();
            *features = features.union(vocabulary.shown_by(test));
        }
        for (place, features) in shown.into_iter().filter(|(_, features)| !features.is_empty()) {
            let is_apt = |to: &&CodeOffset| {
                unknown.get(to).is_some_and(|needs| !needs.intersection(features).is_empty())
            };
            chosen.entry(place).or_default().extend(all.iter().filter(is_apt));
        }
    }
    chosen.into_iter().map(|(place, functions)| (place, functions.len())).collect()
}

/// The places that may choose enough of some number of functions, each by its bit.
fn places(chosen: BTreeMap<Place, usize>, of: usize) -> BTreeMap<u8, Place> {
    let mut chosen: Vec<(Place, usize)> = chosen.into_iter().collect();
    chosen.retain(|(_, functions)| *functions >= AGREEMENTS as usize);
    if chosen.iter().all(|(_, functions)| functions.saturating_mul(SHARE) < of) {
        return BTreeMap::new();
    }
    chosen.sort_by_key(|(place, functions)| (Reverse(*functions), *place));
    (0u8..).zip(chosen).take(PLACES).map(|(bit, (place, _))| (bit, place)).collect()
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
        let weight = Weight {
            agreements: Weight::count(self.agreeing.len()),
            apt: Weight::count(self.apt.len()),
            contradictions: Weight::count(self.contradicting.len()),
        };
        let Weight { agreements, apt, contradictions } = weight;
        weight.suffices(&self.needs).then_some(Copy { place, agreements, apt, contradictions })
    }
}
