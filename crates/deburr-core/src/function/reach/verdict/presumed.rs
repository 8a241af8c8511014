//! Which words of unknown origin hold answers of the CPU, going by a vocabulary that the file itself defines.
//!
//! In: the functions that stay unknown, and what the file's own queries learnt. Out: [`Presumption`]. What a query returns
//! gives bits or levels a meaning: bit 9 is AVX2. Code that chooses functions tests such bits in fields and arguments whose
//! origin is not followed. Where the bits that are tested there agree with what the chosen functions use, again and again,
//! the word is presumed to be a copy of the answer. That is never a proof, and is kept apart from those.

use crate::address::CodeOffset;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::abi;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::machine::memory::{Memory, Presumed};
use crate::function::reach::verdict::checks::{Checks, Copy, Origin, Place, Presumption};
use crate::function::reach::verdict::edges;
use crate::function::reach::verdict::evidence::Gap;
use crate::function::reach::verdict::node::{Node, Source};
use crate::function::reach::verdict::slice::Closure;
use crate::insn::{self, Reg};
use deburr_cpu::FeatureSet;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

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

/// What the search needs.
pub(crate) struct Search<'s, 'w, 'a> {
    pub file: &'s View<'w, 'a>,
    pub learnt: &'s Learnt,
    pub closure: &'s Closure,
    pub checks: &'s Checks,
    /// The functions that stay unknown, with what they need.
    pub unknown: &'s BTreeMap<CodeOffset, FeatureSet>,
    /// What every CPU has.
    pub permitted: FeatureSet,
}

impl Search<'_, '_, '_> {
    /// Presumes what the file's vocabularies suggest; `None` if nothing agrees.
    pub(crate) fn presume(&self) -> Option<Presumption> {
        let vocabularies = self.vocabularies();
        if vocabularies.is_empty() || self.unknown.is_empty() {
            return None;
        }
        let choosers = self.choosers();
        let places = self.places(&choosers);
        let tried = vocabularies.into_iter().filter_map(|(origin, word, width)| {
            let of_width = places.iter().filter(|(_, (_, of))| *of == width);
            let all: BTreeMap<u8, Place> = of_width.map(|(bit, (place, _))| (*bit, *place)).collect();
            let copies = self.agreeing(&self.run(&choosers, &word, width, &all), &all);
            let apt: u32 = copies.values().map(|copy| copy.apt).sum();
            (apt > 0).then_some((apt, origin, word, width, copies))
        });
        let (_, origin, word, width, copies) = tried.max_by_key(|(apt, ..)| *apt)?;
        let only = copies.iter().map(|(bit, copy)| (*bit, copy.place)).collect();
        let checks = self.run(&choosers, &word, width, &only);
        Some(Presumption { origin, copies: copies.into_values().collect(), checks })
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
    fn choosers(&self) -> BTreeSet<CodeOffset> {
        let mut found: BTreeSet<CodeOffset> = BTreeSet::new();
        let mut frontier: Vec<Node> = self.unknown.keys().map(|&start| Node::Function(start)).collect();
        let mut seen: BTreeSet<Node> = frontier.iter().copied().collect();
        while found.len() < FUNCTIONS && !frontier.is_empty() {
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
                    && found.len() < FUNCTIONS
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

    /// The fields and arguments that may be copies, by the bit that stands for each, with the width of each in bytes.
    fn places(&self, choosers: &BTreeSet<CodeOffset>) -> BTreeMap<u8, (Place, u8)> {
        let mut counts: BTreeMap<(u8, i64), u32> = BTreeMap::new();
        for function in choosers.iter().filter_map(|&start| self.file.whole_at(start)) {
            let Some(graph) = self.file.graph(function) else { continue };
            for insn in graph.blocks.iter().flat_map(|block| &block.insns) {
                let Some(memory) = insn.memory.filter(|memory| {
                    memory.read && !memory.is_static && memory.base.is_some() && memory.index.is_none()
                }) else {
                    continue;
                };
                for width in WIDTHS {
                    let presumed = Presumed { width, ..Presumed::default() };
                    let size = u8::try_from(memory.size).unwrap_or(u8::MAX);
                    if size <= width
                        && let Some(at) = presumed.word_at(memory.displacement, size)
                    {
                        let weight = if insn.imm.is_some() { 8 } else { 1 };
                        *counts.entry((width, at)).or_default() += weight;
                    }
                }
            }
        }
        let mut found = Vec::new();
        for width in WIDTHS {
            let mut of: Vec<(u32, i64)> = counts
                .iter()
                .filter(|((of, _), _)| *of == width)
                .map(|((_, at), count)| (*count, *at))
                .collect();
            of.sort_by_key(|(count, at)| (Reverse(*count), *at));
            let fields = of.into_iter().take(FIELDS).map(|(_, at)| Place::Field(at));
            let all = fields.chain((0..ARGUMENTS).map(Place::Argument));
            found.extend(all.map(|place| (place, width)));
        }
        (0..).zip(found).collect()
    }

    /// Runs the choosers with some words presumed.
    fn run(
        &self,
        choosers: &BTreeSet<CodeOffset>,
        word: &Value,
        width: u8,
        places: &BTreeMap<u8, Place>,
    ) -> Checks {
        let mut presumed = Presumed { width, ..Presumed::default() };
        let registers = abi::arguments(self.file.image.arch);
        for (&bit, &place) in places {
            let value = word.presumed(1 << bit);
            match place {
                Place::Field(at) => drop(presumed.fields.insert(at, value)),
                Place::Argument(number) => {
                    let Some(&reg) = registers.get(usize::from(number)) else { continue };
                    for &start in choosers.iter().filter(|&&start| self.tests(start, reg, width)) {
                        presumed.arguments.entry(start).or_default().push((reg, value.clone()));
                    }
                }
            }
        }
        let memory = Memory { presumed, ..self.learnt.memory.clone() };
        let mut facts = self.learnt.facts.clone();
        facts.extend(run(self.file, &self.learnt.summaries, &memory, choosers));
        let learnt = Learnt {
            facts,
            memory,
            summaries: self.learnt.summaries.clone(),
            readers: self.learnt.readers.clone(),
            flags: self.learnt.flags.clone(),
            any: self.learnt.any,
        };
        let edges = edges::incoming(self.file, self.closure, &learnt);
        Checks { edges, facts: learnt.facts, any: learnt.any, ..Checks::default() }
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

    /// The places whose tests agree with what they choose, by bit.
    fn agreeing(&self, checks: &Checks, places: &BTreeMap<u8, Place>) -> BTreeMap<u8, Copy> {
        let cpus: Vec<FeatureSet> =
            deburr_cpu::cpus_by_features(self.file.image.arch).into_iter().map(|(_, has)| has).collect();
        let mut tallies: BTreeMap<u8, Tally> = BTreeMap::new();
        let mut count = |start: CodeOffset, proof: Proof, needs: FeatureSet| {
            if proof.features.is_empty() {
                return;
            }
            // What no known CPU has alone is as good as tested.
            let gap = Gap { proven: proof.features, missing: needs };
            let is_contradicted = cpus.iter().any(|&has| gap.endangers(has.union(self.permitted)));
            let is_apt = !proof.features.strongest().intersection(needs).is_empty();
            for bit in places.keys().filter(|&&bit| proof.presumed >> bit & 1 != 0) {
                let tally = tallies.entry(*bit).or_default();
                if needs.is_subset(proof.features) {
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
            for edge in checks.edges.into.get(&Node::Function(start)).into_iter().flatten() {
                count(start, edge.proof, needs);
            }
        }
        for (function, hits) in self.file.program.hits_by_function() {
            let Some(function) = function else { continue };
            let start = self.file.program.whole(function).start;
            let facts = checks.facts.get(&start).filter(|_| self.unknown.contains_key(&start));
            for hit in facts.iter().flat_map(|_| hits) {
                let needs = insn::features_of(self.file.image.arch, hit.group).minus(self.permitted);
                let proof = facts.and_then(|facts| facts.at(hit.at)?.proof);
                if let Some(proof) = proof.filter(|_| !needs.is_empty()) {
                    count(start, proof, needs);
                }
            }
        }
        let copies = tallies.iter().filter_map(|(bit, tally)| Some((*bit, tally.copy(*places.get(bit)?)?)));
        copies.collect()
    }
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
