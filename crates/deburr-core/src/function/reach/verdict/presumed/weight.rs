//! How many agreements presume something, and how many contradictions forbid it.

use std::collections::BTreeSet;

use deburr_cpu::FeatureSet;

/// Apt agreements, and sets of features that differ among them, without which nothing is presumed.
pub(crate) const AGREEMENTS: u32 = 4;
pub(crate) const DIFFERENT: usize = 2;
/// Agreements for each contradiction.
const FOR_EACH: u32 = 10;

/// What speaks for something and against it, in functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    /// Those that use no more than is tested or named.
    pub agreements: u32,
    /// Those among them that use just that.
    pub apt: u32,
    /// Those that use more, so that some known CPU has what is tested or named and lacks what they use.
    pub contradictions: u32,
}

impl Weight {
    /// Whether there is enough that speaks for it, and little against it. `different`: the sets of features of the apt ones.
    pub(crate) fn suffices(self, different: &BTreeSet<FeatureSet>) -> bool {
        self.apt >= AGREEMENTS
            && self.apt >= self.agreements / 2
            && different.len() >= DIFFERENT
            && self.contradictions.saturating_mul(FOR_EACH) <= self.agreements
    }

    /// A number of functions.
    pub(crate) fn count(functions: usize) -> u32 {
        u32::try_from(functions).unwrap_or(u32::MAX)
    }
}
