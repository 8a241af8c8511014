//! What running a function shows, and the sink that its instructions write it to.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::state::State;
use crate::function::reach::domain::told::Told;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::view::View;
use crate::function::reach::machine::memory::{Argument, Memory, overlapping};
use crate::function::reach::machine::summaries::Summaries;
use crate::image::Linkage;
use crate::insn::Insn;
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What is known at a block, and at those after it of which the same is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockFacts {
    /// The first instruction.
    pub start: CodeOffset,
    /// What tests in this function have proven on every path to it; `None`: no path leads there.
    pub proof: Option<Proof>,
    /// The last branch that proved something.
    pub check: Option<Svma>,
    /// A test on every path to it that was not followed.
    pub doubt: Option<Svma>,
    /// Whether the run stopped before it was settled what is known here.
    pub is_cut: bool,
}

/// Something that a function stores where others find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Where.
    pub at: u64,
    /// In how many bytes.
    pub width: u8,
    /// What, with what is proven there.
    pub value: Value,
    /// Features that are missing there.
    pub absent: FeatureSet,
}

/// What becomes of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum UseKind {
    /// Called or jumped to.
    Called,
    /// Stored in the word at an address.
    Stored(u64),
    /// Returned.
    Returned,
    /// Stored elsewhere, or passed on.
    LetOut,
}

/// An address of this file that a function lets out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    /// The address, of code or of data.
    pub address: Svma,
    /// Where.
    pub from: Svma,
    /// What becomes of it.
    pub kind: UseKind,
    /// What is proven where it is used.
    pub proof: Proof,
    /// The last branch that proved something.
    pub check: Option<Svma>,
}

/// What running a function shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// Its blocks, by address, where what is known changes.
    pub blocks: Vec<BlockFacts>,
    /// What is known at jumps out of the function, when they are taken, by the jump.
    pub exits: Vec<(CodeOffset, BlockFacts)>,
    /// Offsets in structures of unknown place at which it stores flags after a check.
    pub fields: BTreeSet<i64>,
    /// The arguments in which it gives others what says something of the CPU.
    pub arguments: BTreeSet<(CodeOffset, Argument)>,
    /// The arguments in which it gives others a constant, and whether that is zero. Only on request.
    pub constants: BTreeSet<(CodeOffset, Argument, bool)>,
    /// What it stores in words of known place.
    pub stores: Vec<Stored>,
    /// Addresses that it lets out.
    pub uses: Vec<Use>,
    /// What it returns.
    pub returned: Value,
    /// What it shows of the CPU to code that is not run with it: by calls, and by stores where nobody follows. Only on
    /// request, as is `inside`.
    pub told: Told,
    /// The functions that were run inside it to see that.
    pub inside: BTreeSet<CodeOffset>,
    /// What all of this depends on.
    pub inputs: Inputs,
}

/// What a run of a function used of what is learnt of the file, and what that was. What the run needs again it takes from
/// here. Within one fixpoint: `fields`, `arguments` and what is presumed stay as they are, and are not noted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// Where the function begins: two may have an entry in common.
    pub start: CodeOffset,
    /// The words that it loaded, by address and width in bytes.
    pub words: BTreeMap<(u64, u8), Value>,
    /// Ranges of data, and whether some word in them says what the CPU has.
    pub ranges: BTreeMap<Extent, bool>,
    /// The functions that it called without running them, and what these return, where that is known.
    pub callees: BTreeMap<CodeOffset, Option<Value>>,
    /// How many functions are run inside their callers. They only become more.
    pub inlined: usize,
    /// Whether it began again, with blocks that begin where tables lead. What showed where these lead is not noted.
    pub is_restarted: bool,
}

impl Inputs {
    /// Whether it loaded some byte of a word.
    pub(crate) fn loads(&self, word: (u64, u8)) -> bool {
        overlapping(&self.words, word).next().is_some()
    }

    /// Whether all of it is the same now, so that a run of a function, from the same entry and in the same fixpoint, would
    /// show the same.
    pub(crate) fn hold(
        &self,
        start: CodeOffset,
        linkage: &Linkage<'_>,
        summaries: &Summaries,
        memory: &Memory,
    ) -> bool {
        !self.is_restarted
            && self.start == start
            && self.inlined == summaries.inlined.len()
            && self.callees.iter().all(|(start, returned)| summaries.returns.get(start) == returned.as_ref())
            && self.ranges.iter().all(|(&range, &informs)| memory.informs_in(range) == informs)
            && self.words.iter().all(|(&(at, width), value)| memory.load(linkage, at, width) == *value)
    }
}

impl Facts {
    /// What is known when control leaves from an offset.
    pub(crate) fn leaving(&self, at: CodeOffset) -> Option<&BlockFacts> {
        let exit = self.exits.binary_search_by_key(&at, |exit| exit.0).ok();
        exit.and_then(|index| self.exits.get(index)).map(|(_, facts)| facts).or_else(|| self.at(at))
    }

    /// The features that its tests prove, and the flags that it stores or returns.
    pub(crate) fn tested(&self) -> FeatureSet {
        /// A word with more meanings is an answer of the CPU, which is kept and not tested here.
        const FLAGS: usize = 3;
        let known = self.blocks.iter().chain(self.exits.iter().map(|(_, facts)| facts));
        let proven = known.filter_map(|facts| facts.proof).filter(|proof| !proof.is_impossible());
        let values = self.stores.iter().map(|stored| &stored.value).chain([&self.returned]);
        let meanings = values.map(Value::meanings).filter(|meanings| meanings.len() <= FLAGS);
        let meant = meanings.flatten().filter(|&features| features != FeatureSet::ALL);
        proven.map(|proof| proof.features).chain(meant).fold(FeatureSet::EMPTY, FeatureSet::union)
    }

    /// What is known at an offset.
    pub(crate) fn at(&self, at: CodeOffset) -> Option<&BlockFacts> {
        let after = self.blocks.partition_point(|block| block.start <= at);
        self.blocks.get(after.checked_sub(1)?)
    }
}

/// The sink of one function's run.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) facts: Facts,
    /// The place of each among the facts' uses.
    used: FxHashMap<(Svma, Svma, UseKind), usize>,
    /// What it has used of what is learnt.
    pub(crate) inputs: RefCell<Inputs>,
}

impl Effects {
    /// Records the addresses of this file among a value's constants.
    pub(crate) fn let_out(
        &mut self,
        file: &View<'_, '_>,
        value: &Value,
        insn: &Insn,
        kind: UseKind,
        state: &State,
    ) {
        for &(address, proof) in value.choices() {
            if file.is_place(Svma(address)) {
                let proof = proof.union(state.proof());
                let check = state.check.or(Some(insn.svma)).filter(|_| !proof.is_empty());
                let address = Svma(address);
                let place = *self.used.entry((address, insn.svma, kind)).or_insert(self.facts.uses.len());
                match self.facts.uses.get_mut(place) {
                    // The block has run before, with less known of the paths to it.
                    Some(known) => known.proof = known.proof.intersection(proof),
                    None => self.facts.uses.push(Use { address, from: insn.svma, kind, proof, check }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::reach::domain::proof::Proof;
    use deburr_cpu::Feature;

    #[test]
    fn inputs_hold_until_one_of_them_is_another() {
        let linkage = Linkage::default();
        let (callee, word) = (CodeOffset(16), (0x2000, 4));
        let answer = Value::word([(3, Proof::of(FeatureSet::of(&[Feature::AVX])))], 4);
        let memory = Memory { words: BTreeMap::from([(word, answer.clone())]), ..Memory::default() };
        let summaries = Summaries::default();
        let range = Extent::sized(Svma(0x2000), 8);
        let start = CodeOffset(64);
        let inputs = Inputs {
            start,
            words: BTreeMap::from([(word, answer.clone()), ((0x3000, 8), Value::Unknown)]),
            ranges: BTreeMap::from([(range, true)]),
            callees: BTreeMap::from([(callee, None)]),
            inlined: 0,
            is_restarted: false,
        };
        assert!(inputs.hold(start, &linkage, &summaries, &memory));
        assert!(!inputs.hold(callee, &linkage, &summaries, &memory), "another function");
        let restarted = Inputs { is_restarted: true, ..inputs.clone() };
        assert!(!restarted.hold(start, &linkage, &summaries, &memory), "more inputs than are noted");
        let with = |(at, width): (u64, u8)| {
            let mut memory = memory.clone();
            memory.words.insert((at, width), Value::Tainted);
            memory
        };
        for place in [(0x2000, 4), (0x1ffc, 8), (0x3000, 8), (0x3007, 1)] {
            assert!(!inputs.hold(start, &linkage, &summaries, &with(place)), "{place:x?}");
        }
        // A word that it has not read, and a part of one that is known as a whole.
        for place in [(0x2008, 4), (0x2002, 1)] {
            assert!(inputs.hold(start, &linkage, &summaries, &with(place)), "{place:x?}");
        }
        // What it has asked of a range, without loading from it.
        let inputs_of_range = Inputs { words: BTreeMap::new(), ..inputs.clone() };
        assert!(inputs_of_range.hold(start, &linkage, &summaries, &memory));
        assert!(!inputs_of_range.hold(start, &linkage, &summaries, &Memory::default()));
        let mut returning = summaries.clone();
        returning.returns.insert(CodeOffset(32), Value::Tainted);
        assert!(inputs.hold(start, &linkage, &returning, &memory));
        returning.returns.insert(callee, Value::Tainted);
        assert!(!inputs.hold(start, &linkage, &returning, &memory));
        let mut inlining = summaries.clone();
        inlining.inlined.insert(CodeOffset(48));
        assert!(!inputs.hold(start, &linkage, &inlining, &memory));
    }
}
