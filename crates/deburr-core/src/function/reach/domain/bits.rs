//! A word bit by bit: what the CPU has when each bit is set, and when it is clear.
//!
//! Few bits of a word have proofs of their own. All others are alike ([`Bits::rest`]), so that an operation treats the
//! few one by one and the others once. A tainted word is ⊤ that carries taint.

use crate::function::reach::domain::proof::Proof;
use deburr_cpu::FeatureSet;
use std::collections::BTreeSet;

/// What the CPU has when a bit is set, and when it is clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BitProofs {
    pub set: Proof,
    pub clear: Proof,
}

impl BitProofs {
    pub(crate) const fn new(set: Proof, clear: Proof) -> BitProofs {
        BitProofs { set, clear }
    }

    /// Of a bit that is always set.
    pub(crate) const SET: BitProofs = BitProofs::new(Proof::EMPTY, Proof::IMPOSSIBLE);

    /// Nothing that could be proven.
    fn is_empty(&self) -> bool {
        [self.set, self.clear].iter().all(|proof| proof.is_empty() || proof.is_impossible())
    }

    /// Whether either proves features.
    fn has_features(&self) -> bool {
        [self.set, self.clear].iter().any(|proof| !proof.features.is_empty() && !proof.is_impossible())
    }

    /// The same where the CPU is known to have `proven`.
    fn under(self, proven: Proof) -> BitProofs {
        BitProofs::new(self.set.union(proven), self.clear.union(proven))
    }

    /// For the opposite of the bit.
    pub(crate) const fn flipped(self) -> BitProofs {
        BitProofs::new(self.clear, self.set)
    }
}

/// A word, bit by bit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bits {
    /// The bits that are always clear.
    pub zeros: u64,
    /// The bits that prove something else than the rest, except `zeros`.
    distinct: u64,
    /// What they prove, from the lowest on.
    proofs: Vec<BitProofs>,
    /// What any other bit proves.
    rest: BitProofs,
    /// Whether those bits depend on an answer of the CPU.
    pub tainted: bool,
}

/// The positions of the bits of a mask.
pub(crate) fn positions(mask: u64) -> impl Iterator<Item = u8> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let bit = left.trailing_zeros() as u8;
        (left != 0).then(|| {
            left &= left - 1;
            bit
        })
    })
}

impl Bits {
    /// A word in which some bits are clear, and nothing is known of the others.
    pub(crate) fn plain(zeros: u64) -> Bits {
        Bits { zeros, ..Bits::default() }
    }

    /// A word that depends on an answer of the CPU, and how is not known.
    pub(crate) fn tainted() -> Bits {
        Bits { tainted: true, ..Bits::default() }
    }

    /// Builds a word: bits that are always clear, the bits that may prove something else than the rest, what these
    /// prove, and what the rest does.
    pub(crate) fn build(
        zeros: u64,
        distinct: u64,
        of: impl Fn(u8) -> BitProofs,
        rest: BitProofs,
        tainted: bool,
    ) -> Bits {
        let mut bits = Bits { zeros, rest, tainted, ..Bits::default() };
        for bit in positions(distinct & !zeros) {
            let proofs = of(bit);
            if proofs != rest {
                bits.distinct |= 1 << bit;
                bits.proofs.push(proofs);
            }
        }
        bits
    }

    /// What a bit proves that is not always clear.
    pub(crate) fn bit(&self, bit: u8) -> Option<BitProofs> {
        let here = 1u64 << bit;
        if self.zeros & here != 0 {
            return None;
        }
        let before = (self.distinct & (here - 1)).count_ones() as usize;
        let proofs = self.proofs.get(before).filter(|_| self.distinct & here != 0);
        Some(proofs.copied().unwrap_or(self.rest))
    }

    /// What a bit proves; nothing where it is always clear.
    pub(crate) fn proofs_of(&self, bit: u8) -> BitProofs {
        self.bit(bit).unwrap_or_default()
    }

    /// What any bit proves that is not distinct.
    pub(crate) const fn rest(&self) -> BitProofs {
        self.rest
    }

    /// The distinct bits.
    pub(crate) const fn distinct(&self) -> u64 {
        self.distinct
    }

    /// The bits that are not always clear.
    pub(crate) const fn open(&self) -> u64 {
        !self.zeros
    }

    /// What its bits prove that are not always clear.
    pub(crate) fn all(&self) -> impl Iterator<Item = BitProofs> {
        let has_rest = self.open() & !self.distinct != 0;
        self.proofs.iter().copied().chain(has_rest.then_some(self.rest))
    }

    /// Whether it says nothing of the CPU.
    pub(crate) fn is_plain(&self) -> bool {
        self.proofs.iter().all(BitProofs::is_empty) && self.rest.is_empty() && !self.tainted
    }

    /// Whether each bit says the same of the CPU set as clear.
    pub(crate) fn say_the_same_either_way(&self) -> bool {
        let is_same = |bit: &BitProofs| bit.set.features == bit.clear.features;
        is_same(&self.rest) && self.proofs.iter().all(is_same)
    }

    /// Whether some bit proves features.
    pub(crate) fn has_features(&self) -> bool {
        self.rest.has_features() || self.proofs.iter().any(BitProofs::has_features)
    }

    /// Whether it is the CPU's answer as a whole, rather than a flag made of it.
    pub(crate) fn is_answer(&self) -> bool {
        const SEVERAL: usize = 4;
        let has_features =
            |proofs: &&BitProofs| !proofs.set.features.is_empty() && !proofs.set.is_impossible();
        !self.tainted && self.proofs.iter().filter(has_features).count() >= SEVERAL
    }

    /// The same where the CPU is known to have `proven`.
    pub(crate) fn under(mut self, proven: Proof) -> Bits {
        self.rest = self.rest.under(proven);
        self.proofs.iter_mut().for_each(|proofs| *proofs = proofs.under(proven));
        self
    }

    /// The same where what it says depends on presumed words.
    pub(crate) fn presumed(mut self, words: u32) -> Bits {
        let presume = |proof: &mut Proof| {
            if !proof.features.is_empty() && !proof.is_impossible() {
                proof.presumed |= words;
            }
        };
        for proofs in self.proofs.iter_mut().chain([&mut self.rest]) {
            presume(&mut proofs.set);
            presume(&mut proofs.clear);
        }
        self
    }

    /// Whether it depends on an answer of the CPU, and nothing else is known.
    pub(crate) fn is_lost(&self) -> bool {
        self.tainted && self.zeros == 0 && self.proofs.is_empty() && self.rest == BitProofs::default()
    }

    /// Whether anything that it says is presumed.
    pub(crate) fn is_presumed(&self) -> bool {
        let mut proofs = self.proofs.iter().chain([&self.rest]);
        proofs.any(|proofs| proofs.set.presumed | proofs.clear.presumed != 0)
    }

    /// The different sets of features that single bits prove when they are set.
    pub(crate) fn meanings(&self) -> BTreeSet<FeatureSet> {
        let sets = self.proofs.iter().map(|proofs| proofs.set).filter(|set| !set.is_impossible());
        sets.map(|set| set.features).filter(|features| !features.is_empty()).collect()
    }

    /// The same, with nothing known of bits that mean none of some features.
    pub(crate) fn restricted_to(&self, features: FeatureSet) -> Bits {
        let means = |proof: Proof| {
            !proof.is_impossible() && !proof.features.strongest().intersection(features).is_empty()
        };
        let proofs = |bit| {
            let proofs = self.proofs_of(bit);
            if means(proofs.set) || means(proofs.clear) { proofs } else { BitProofs::default() }
        };
        Bits::build(self.zeros, self.distinct, proofs, BitProofs::default(), self.tainted)
    }

    /// The bits of a mask.
    pub(crate) fn masked(&self, mask: u64) -> Bits {
        Bits::build(self.zeros | !mask, self.distinct, |bit| self.proofs_of(bit), self.rest, self.tainted)
    }

    /// What the open bits of a mask prove, combined; `None` if there are none.
    pub(crate) fn reduce(
        &self,
        mask: u64,
        pick: impl Fn(BitProofs) -> Proof,
        with: impl Fn(Proof, Proof) -> Proof,
    ) -> Option<Proof> {
        let open = self.open() & mask;
        let distinct = positions(open & self.distinct).map(|bit| self.proofs_of(bit));
        let rest = (open & !self.distinct != 0).then_some(self.rest);
        distinct.chain(rest).map(pick).reduce(with)
    }

    /// Of two words, where a bit may come from either; of a bit that is clear in one of them, what the other proves.
    pub(crate) fn merged(
        &self,
        other: &Bits,
        both: impl Fn(BitProofs, BitProofs) -> BitProofs,
        one: impl Fn(BitProofs) -> BitProofs,
    ) -> Bits {
        let rest = match (self.open(), other.open()) {
            (0, _) => one(other.rest),
            (_, 0) => one(self.rest),
            _ => both(self.rest, other.rest),
        };
        // Where only one is open it may prove something else than both.
        let differs = if one(self.rest) == rest && one(other.rest) == rest { 0 } else { u64::MAX };
        let distinct = self.distinct | other.distinct | (self.zeros ^ other.zeros) & differs;
        let of = |bit: u8| match (self.bit(bit), other.bit(bit)) {
            (Some(a), Some(b)) => both(a, b),
            (Some(proofs), None) | (None, Some(proofs)) => one(proofs),
            (None, None) => BitProofs::default(),
        };
        Bits::build(self.zeros & other.zeros, distinct, of, rest, self.tainted || other.tainted)
    }

    /// The values that the open bits can make, each with what its bits prove.
    pub(crate) fn enumerate(&self, open: u64) -> Vec<(u64, Proof)> {
        let mut values = vec![(0u64, Proof::EMPTY)];
        for bit in positions(open) {
            let BitProofs { set, clear } = self.proofs_of(bit);
            let split = |(value, proof): (u64, Proof)| {
                [(value, proof.union(clear)), (value | 1 << bit, proof.union(set))]
            };
            values = values.into_iter().flat_map(split).collect();
        }
        values.retain(|(_, proof)| !proof.is_impossible());
        values.sort_unstable_by_key(|(value, _)| *value);
        values
    }
}
