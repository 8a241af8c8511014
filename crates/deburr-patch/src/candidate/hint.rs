//! Patch stage: `isb` in the place of `yield`, in a loop that is proven to wait.
//!
//! In: the hints that `function::spin` finds. Out: one candidate each. Neither instruction changes a register
//! or memory, so that there is nothing to prove.

use super::pattern::fixed;
use super::proposal::{Proposed, View};
use deburr_core::function::spin;

const YIELD: u32 = 0xd503_203f;
const ISB: u32 = 0xd503_3fdf;

/// Candidates for every `yield` that a loop waits with.
pub(crate) fn candidates(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    let hints = spin::hints(view.image, view.program, view.atomics);
    hints.iter().map(|hint| fixed(view.image, rule, hint.at, &[(YIELD, ISB)])).collect()
}
