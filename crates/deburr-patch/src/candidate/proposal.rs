//! Patch stage: what is proposed for one place, before it is proven and before its surroundings are known.
//!
//! A [`View`] is what candidates are made from. A place has several [`Candidate`]s, which are tried in their
//! order; each says how to write over the place, and on what its proof rests.

use crate::around::Surroundings;
use crate::prove::Given;
use crate::request::PlanRequest;
use crate::site::Reason;
use deburr_core::address::{Extent, Svma};
use deburr_core::function::Program;
use deburr_core::function::atomics::Atomics;
use deburr_core::image::Image;

/// A file, and what is wanted of it.
pub(crate) struct View<'v, 'f, 'a> {
    pub(crate) image: &'f Image<'a>,
    pub(crate) program: &'f Program,
    pub(crate) atomics: &'v Atomics,
    pub(crate) around: &'v Surroundings<'f, 'a>,
    pub(crate) request: &'v PlanRequest<'v>,
}

/// The candidates of a place, or why there are none.
pub(crate) type Proposed = Result<Candidates, NoCandidates>;

/// What a place may become.
#[derive(Debug, Clone)]
pub(crate) struct Candidates {
    /// The id of the rule that finds the place.
    pub(crate) rule: &'static str,
    /// Where the rule finds it.
    pub(crate) at: Svma,
    /// Those that were not tried yet, in their order.
    pub(crate) untried: Vec<Candidate>,
}

/// A place without candidates.
#[derive(Debug, Clone)]
pub(crate) struct NoCandidates {
    pub(crate) rule: &'static str,
    pub(crate) at: Svma,
    pub(crate) reason: Reason,
}

/// One possibility of writing over a place.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Where the old instructions are.
    pub(crate) start: Svma,
    pub(crate) old: Vec<u32>,
    /// Any of these may take their place: the first that is proven does.
    pub(crate) replacements: Vec<Vec<u32>>,
    /// Whether it is a compare-and-swap that tries again at once where it fails.
    pub(crate) spins: bool,
    /// Whether the replacements are of any length, in the form of `trampoline`.
    pub(crate) is_trampoline: bool,
    pub(crate) proof: Basis,
    /// From where on nothing may enter, except at the first instruction.
    pub(crate) entry: Svma,
}

/// How a replacement is shown to do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Exclusives: over all states in which something is given, except for dead registers where `lossy`.
    Exclusives { given: Vec<Given>, lossy: bool },
    /// Exclusives, by a compare-and-swap that is tried again; except for dead registers where `lossy`.
    Retry { lossy: bool },
    /// Plain loads.
    Loads,
    /// Nothing to compute with: the instructions follow from a fixed pattern.
    Pattern,
}

impl Basis {
    pub(crate) const PLAIN: Basis = Basis::Exclusives { given: Vec::new(), lossy: false };

    /// Whether registers are left out of the comparison that are dead.
    pub(crate) fn is_lossy(&self) -> bool {
        matches!(self, Basis::Exclusives { lossy: true, .. } | Basis::Retry { lossy: true })
    }
}

impl Candidate {
    pub(crate) fn extent(&self) -> Extent {
        Extent::sized(self.start, 4 * self.old.len() as u64)
    }

    /// What only its first instruction may be entered at.
    pub(crate) fn closed(&self) -> Extent {
        Extent { start: self.entry, end: self.extent().end }
    }
}
