//! Patch stage: `isb` or `sb` in the place of `yield`, in a loop that is proven to wait.
//!
//! In: the hints that `function::spin` finds, and the pause that is requested. Out: one candidate each. None of
//! the three changes a register or memory, so that there is nothing to prove. `sb` needs a target with FEAT_SB.

use super::pattern::fixed;
use super::proposal::{NoCandidates, Proposed, View};
use crate::request::Pause;
use crate::semantics::encode::SB;
use crate::site::Reason;
use deburr_core::function::spin;
use deburr_cpu::Feature;

const YIELD: u32 = 0xd503_203f;
const ISB: u32 = 0xd503_3fdf;

/// Candidates for every `yield` that a loop waits with.
pub(crate) fn candidates(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    let hints = spin::hints(view.image, view.program, view.atomics);
    let has_sb = view.request.target.is_some_and(|target| target.contains(Feature::FEAT_SB));
    let propose = |hint: &spin::Hint| match view.request.pause {
        Pause::Isb => fixed(view.image, rule, hint.at, &[(YIELD, ISB)]),
        Pause::Sb if has_sb => fixed(view.image, rule, hint.at, &[(YIELD, SB)]),
        Pause::Sb => Err(NoCandidates { rule, at: hint.at, reason: Reason::TargetWithoutSb }),
    };
    hints.iter().map(propose).collect()
}
