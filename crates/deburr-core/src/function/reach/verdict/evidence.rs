//! A verdict on one function, with its evidence.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::verdict::kind::{GuardKind, Reach};
use crate::function::reach::verdict::unknown::cause::Because;
use deburr_cpu::{Arch, FeatureSet};

/// The check in front of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// What kind of check it is.
    pub kind: GuardKind,
    /// The branch, or where the guarded path begins.
    pub svma: Svma,
    /// Features that it proves.
    pub features: FeatureSet,
}

/// A step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The function or the data.
    pub svma: Svma,
    /// Whether it is a function.
    pub is_function: bool,
    /// Whether the step before it only stores or passes on its address, instead of calling it.
    pub is_stored: bool,
}

/// CPUs that get to an instruction and lack what it needs: those that have all of `proven` and not all of `missing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Features that some check has proven on the path; none where there is no check.
    pub proven: FeatureSet,
    /// Features that the instruction needs as well.
    pub missing: FeatureSet,
}

/// What each known CPU has, with what every one is taken to have.
pub(crate) fn known_cpus(arch: Arch, permitted: FeatureSet) -> Vec<FeatureSet> {
    deburr_cpu::cpus_by_features(arch).into_iter().map(|(_, has)| has.union(permitted)).collect()
}

impl Gap {
    /// Whether a CPU gets there and lacks something.
    pub fn endangers(self, features: FeatureSet) -> bool {
        self.proven.is_subset(features) && !self.missing.is_subset(features)
    }
}

/// A check that chooses a function, and proves less than the function uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The CPUs that it lets through, sorted.
    pub gaps: Vec<Gap>,
    /// The first instruction that needs more.
    pub at: CodeOffset,
    /// The check.
    pub guard: Option<Guard>,
    /// Whether it tests a word that is only presumed to hold what the CPU has.
    pub is_presumed: bool,
}

/// What is found of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Where the function begins.
    pub start: CodeOffset,
    /// Whether the program reaches it without a check.
    pub reach: Reach,
    /// Features that its instructions of this verdict need and that nothing has proven; where it is guarded or
    /// unreached, all that they need. Of a required one, those of its under-guarded instructions too.
    pub features: FeatureSet,
    /// Features that its guarded instructions need, whatever the verdict.
    pub guarded: FeatureSet,
    /// The first instruction of this verdict.
    pub at: CodeOffset,
    /// Its instructions beyond what is permitted.
    pub instructions: u64,
    /// From a root to the function; empty unless a path without a sufficient check is known.
    pub path: Vec<Step>,
    /// Of what is required and under-guarded in it, sorted.
    pub gaps: Vec<Gap>,
    /// The check, if there is one.
    pub guard: Option<Guard>,
    /// Where it is unknown: a check that chooses it through a pointer, and proves less than it uses.
    pub contradiction: Option<Box<Contradiction>>,
    /// Why it is unknown; `None` for other verdicts, `covered` and `presumed` among them.
    pub because: Option<Because>,
}
