//! The words of a file whose bits or numbers mean features: what its own queries return or store.

use crate::address::CodeOffset;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::verdict::checks::Origin;
use crate::function::reach::verdict::presumed::test::Test;
use deburr_cpu::FeatureSet;
use std::cmp::Reverse;

/// Sets of features that a word must distinguish to be a vocabulary.
const MEANINGS: usize = 3;
/// Vocabularies that are tried, those with most meanings first.
const VOCABULARIES: usize = 6;

/// A word that gives bits or numbers a meaning.
pub(crate) struct Vocabulary {
    pub origin: Origin,
    pub word: Value,
    /// In bytes.
    pub width: u8,
    /// What each bit means, set or clear, without the features that others bring.
    bits: Vec<(u64, FeatureSet)>,
    /// And each number.
    numbers: Vec<(u64, FeatureSet)>,
}

/// Whether a learnt file has words that may be vocabularies.
pub(crate) fn has_any(learnt: &Learnt) -> bool {
    words(learnt).next().is_some()
}

/// The vocabularies of a learnt file. Of what their bits mean only that counts which is needed.
pub(crate) fn vocabularies(learnt: &Learnt, needs: FeatureSet) -> Vec<Vocabulary> {
    let mut found: Vec<(usize, Origin, Value)> = words(learnt)
        .map(|(origin, word)| (origin, word.restricted_to(needs)))
        .map(|(origin, word)| (word.meanings().len(), origin, word))
        .filter(|(meanings, ..)| *meanings > 0)
        .collect();
    found.sort_by_key(|(meanings, origin, _)| (Reverse(*meanings), *origin));
    let mut different: Vec<Vocabulary> = Vec::new();
    for (_, origin, word) in found {
        if different.len() < VOCABULARIES && different.iter().all(|known| !known.word.means_same(&word)) {
            different.push(Vocabulary::new(origin, word));
        }
    }
    different
}

/// Words with several meanings.
fn words(learnt: &Learnt) -> impl Iterator<Item = (Origin, &Value)> {
    let returned = |(start, facts): (&CodeOffset, _)| (Origin::Returned(*start), facts);
    let returned = learnt.facts.iter().map(|(start, facts)| (start, &facts.returned)).map(returned);
    let words = learnt.memory.words.iter().map(|((at, _), word)| (Origin::Word(*at), word));
    returned.chain(words).filter(|(_, word)| word.meanings().len() >= MEANINGS)
}

impl Vocabulary {
    fn new(origin: Origin, word: Value) -> Vocabulary {
        let strongest = |proof: Proof| match proof.is_impossible() {
            true => FeatureSet::EMPTY,
            false => proof.features.strongest(),
        };
        let bits = (0..64).map(|bit| {
            let proofs = word.proofs_of(bit);
            (1u64 << bit, strongest(proofs.set).union(strongest(proofs.clear)))
        });
        let bits = bits.filter(|(_, features)| !features.is_empty()).collect();
        let numbers = word.choices().iter().map(|(number, proof)| (*number, strongest(*proof))).collect();
        let width = if word.truncate(4) == word { 4 } else { 8 };
        Vocabulary { origin, word, width, bits, numbers }
    }

    /// The features whose presence a test of the word can show.
    pub(crate) fn shown_by(&self, test: Test) -> FeatureSet {
        /// Maximum of bits that one test is for.
        const SEVERAL: u32 = 16;
        let all = |of: &[(u64, FeatureSet)], is_shown: &dyn Fn(u64) -> bool| {
            let shown = of.iter().filter(|(key, _)| is_shown(*key));
            shown.fold(FeatureSet::EMPTY, |all, (_, features)| all.union(*features))
        };
        match test {
            Test::Bits(mask) if mask.count_ones() > SEVERAL => FeatureSet::EMPTY,
            Test::Bits(mask) => all(&self.bits, &|bit| bit & mask != 0),
            Test::Number(number) => all(&self.numbers, &|known| known.abs_diff(number) <= 1),
        }
    }

    /// Whether a test of some bytes of the word can show any.
    pub(crate) fn may_be_shown_by(&self, test: Test) -> bool {
        (0..u32::from(self.width)).filter_map(|bytes| test.shifted(bytes)).any(|test| self.is_shown_by(test))
    }

    /// Whether a test of the word can show any.
    pub(crate) fn is_shown_by(&self, test: Test) -> bool {
        !self.shown_by(test).is_empty()
    }
}
