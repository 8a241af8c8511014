//! A word bit by bit: what the CPU has when each bit is set, and when it is clear.
//!
//! Few bits of a word tell something of their own. All others are alike ([`Bits::rest`]), so that an operation looks at
//! the few one by one and at the others once.

use crate::function::reach::domain::proof::Proof;

/// What the CPU has when a bit is set, and when it is clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Told {
    pub set: Proof,
    pub clear: Proof,
}

impl Told {
    pub(crate) const fn new(set: Proof, clear: Proof) -> Told {
        Told { set, clear }
    }

    /// Nothing.
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.clear.is_empty()
    }

    /// Whether either tells features.
    fn has_features(&self) -> bool {
        !self.set.features.is_empty() || !self.clear.features.is_empty()
    }

    /// The same where the CPU is known to have `proven`.
    fn under(self, proven: Proof) -> Told {
        Told::new(self.set.union(proven), self.clear.union(proven))
    }

    /// For the opposite of the bit.
    pub(crate) const fn flipped(self) -> Told {
        Told::new(self.clear, self.set)
    }
}

/// A word, bit by bit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bits {
    /// The bits that are always clear.
    pub zeros: u64,
    /// The bits that tell something else than the rest, apart from `zeros`.
    apart: u64,
    /// What they tell, from the lowest on.
    told: Vec<Told>,
    /// What any other bit tells.
    rest: Told,
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

    /// Builds a word: bits that are always clear, the bits that may tell something else than the rest, what these tell,
    /// and what the rest does.
    pub(crate) fn build(zeros: u64, apart: u64, of: impl Fn(u8) -> Told, rest: Told, tainted: bool) -> Bits {
        let mut bits = Bits { zeros, rest, tainted, ..Bits::default() };
        for bit in positions(apart & !zeros) {
            let told = of(bit);
            if told != rest {
                bits.apart |= 1 << bit;
                bits.told.push(told);
            }
        }
        bits
    }

    /// What each bit tells that is not always clear.
    pub(crate) fn bit(&self, bit: u8) -> Option<Told> {
        let here = 1u64 << bit;
        if self.zeros & here != 0 {
            return None;
        }
        let before = (self.apart & (here - 1)).count_ones() as usize;
        let told = self.told.get(before).filter(|_| self.apart & here != 0);
        Some(told.copied().unwrap_or(self.rest))
    }

    /// What a bit tells; nothing where it is always clear.
    pub(crate) fn told(&self, bit: u8) -> Told {
        self.bit(bit).unwrap_or_default()
    }

    /// What any bit tells that does not stand apart.
    pub(crate) const fn rest(&self) -> Told {
        self.rest
    }

    /// The bits that stand apart.
    pub(crate) const fn apart(&self) -> u64 {
        self.apart
    }

    /// The bits that are not always clear.
    pub(crate) const fn open(&self) -> u64 {
        !self.zeros
    }

    /// Whether it tells nothing.
    pub(crate) fn is_plain(&self) -> bool {
        self.told.iter().all(Told::is_empty) && self.rest.is_empty() && !self.tainted
    }

    /// Whether some bit tells features.
    pub(crate) fn has_features(&self) -> bool {
        self.rest.has_features() || self.told.iter().any(Told::has_features)
    }

    /// Whether it is the CPU's answer as a whole, rather than a flag made of it.
    pub(crate) fn is_answer(&self) -> bool {
        const SEVERAL: usize = 4;
        let has_features = |told: &&Told| !told.set.features.is_empty();
        !self.tainted && self.told.iter().filter(has_features).count() >= SEVERAL
    }

    /// The same where the CPU is known to have `proven`.
    pub(crate) fn under(mut self, proven: Proof) -> Bits {
        self.rest = self.rest.under(proven);
        self.told.iter_mut().for_each(|told| *told = told.under(proven));
        self
    }

    /// The bits of a mask.
    pub(crate) fn masked(&self, mask: u64) -> Bits {
        Bits::build(self.zeros | !mask, self.apart, |bit| self.told(bit), self.rest, self.tainted)
    }

    /// What the open bits of a mask tell, put together; `None` if there are none.
    pub(crate) fn reduce(
        &self,
        mask: u64,
        pick: impl Fn(Told) -> Proof,
        with: impl Fn(Proof, Proof) -> Proof,
    ) -> Option<Proof> {
        let open = self.open() & mask;
        let apart = positions(open & self.apart).map(|bit| self.told(bit));
        let rest = (open & !self.apart != 0).then_some(self.rest);
        apart.chain(rest).map(pick).reduce(with)
    }

    /// Of two words, where a bit may come from either; of a bit that is clear in one of them, what the other tells.
    pub(crate) fn merged(
        &self,
        other: &Bits,
        both: impl Fn(Told, Told) -> Told,
        one: impl Fn(Told) -> Told,
    ) -> Bits {
        let rest = match (self.open(), other.open()) {
            (0, _) => one(other.rest),
            (_, 0) => one(self.rest),
            _ => both(self.rest, other.rest),
        };
        // Where only one is open it may tell something else than both.
        let differs = if one(self.rest) == rest && one(other.rest) == rest { 0 } else { u64::MAX };
        let apart = self.apart | other.apart | (self.zeros ^ other.zeros) & differs;
        let of = |bit: u8| match (self.bit(bit), other.bit(bit)) {
            (Some(a), Some(b)) => both(a, b),
            (Some(told), None) | (None, Some(told)) => one(told),
            (None, None) => Told::default(),
        };
        Bits::build(self.zeros & other.zeros, apart, of, rest, self.tainted || other.tainted)
    }

    /// The values that the open bits can make, each with what its bits prove.
    pub(crate) fn enumerate(&self, open: u64) -> Vec<(u64, Proof)> {
        let mut values = vec![(0u64, Proof::EMPTY)];
        for bit in positions(open) {
            let Told { set, clear } = self.told(bit);
            let split = |(value, proof): (u64, Proof)| {
                [(value, proof.union(clear)), (value | 1 << bit, proof.union(set))]
            };
            values = values.into_iter().flat_map(split).collect();
        }
        values.sort_unstable_by_key(|(value, _)| *value);
        values
    }
}
