//! What is known of the CPU at a place in the program.

use deburr_cpu::FeatureSet;

/// What is known of the CPU at a place in the program, because some test came out as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proof {
    /// Features that the CPU has.
    pub features: FeatureSet,
    /// Whether a test on the path depends on the CPU in a manner that was not followed: it may prove more.
    pub is_doubtful: bool,
    /// Where the features are presumed rather than proven, the words of unknown origin that were presumed to hold answers
    /// of the CPU, one bit each.
    pub presumed: u32,
}

impl Proof {
    /// Nothing is known.
    pub const EMPTY: Proof = Proof { features: FeatureSet::EMPTY, is_doubtful: false, presumed: 0 };

    /// Of what never happens: where a bit is clear that is always set. Every claim is true of it.
    pub(crate) const IMPOSSIBLE: Proof = Proof { features: FeatureSet::ALL, is_doubtful: false, presumed: 0 };

    /// Whether it is of what never happens.
    pub(crate) fn is_impossible(self) -> bool {
        self.features == FeatureSet::ALL
    }

    /// Of a test that was understood.
    pub fn of(features: FeatureSet) -> Proof {
        Proof { features: features.with_companions(), ..Proof::EMPTY }
    }

    /// Of a test that was not.
    pub(crate) const fn doubt(is_doubtful: bool) -> Proof {
        Proof { features: FeatureSet::EMPTY, is_doubtful, presumed: 0 }
    }

    /// Whether nothing is known.
    pub fn is_empty(self) -> bool {
        self.features.is_empty() && !self.is_doubtful
    }

    /// What is known after both tests.
    #[must_use]
    pub fn union(self, other: Proof) -> Proof {
        Proof {
            features: self.features.union(other.features),
            is_doubtful: self.is_doubtful || other.is_doubtful,
            presumed: self.presumed | other.presumed,
        }
    }

    /// What is known after either test.
    #[must_use]
    pub fn intersection(self, other: Proof) -> Proof {
        Proof {
            features: self.features.intersection(other.features),
            is_doubtful: self.is_doubtful && other.is_doubtful,
            presumed: self.presumed | other.presumed,
        }
    }

    /// What this one knows beyond the other.
    #[must_use]
    pub fn minus(self, other: Proof) -> Proof {
        Proof {
            features: self.features.minus(other.features),
            is_doubtful: self.is_doubtful && !other.is_doubtful,
            presumed: self.presumed,
        }
    }
}
