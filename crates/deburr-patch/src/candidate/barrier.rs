//! Patch stage: `nop` in the place of a `dmb ish` next to an LSE instruction that is a barrier itself.
//!
//! In: the barriers that `function::atomics` finds next to atomics. Out: a candidate for each whose atomic
//! has acquire and release and always stores. Such an instruction orders all before it before all after it
//! (DDI 0487 B2.3.3, barrier-ordered-before); a compare-and-swap that fails does not. Where the atomic comes
//! first, nothing may enter between the two.

use super::pattern::fixed;
use super::proposal::{NoCandidates, Proposed, View};
use crate::semantics::encode::NOP;
use crate::semantics::{Insn, ZERO, decode};
use crate::site::Reason;
use deburr_core::address::Svma;
use deburr_core::function::atomics::{BarrierKind, atomic_barriers};
use deburr_core::image::Image;

const DMB_ISH: u32 = 0xd503_3bbf;

/// Candidates for every barrier next to an atomic.
pub(crate) fn candidates(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    let found = atomic_barriers(view.image, view.program, view.atomics);
    let proposed = found.iter().map(|barrier| {
        let at = barrier.at;
        let refuse = |reason| Err(NoCandidates { rule, at, reason });
        let next_to = if barrier.is_before { at.offset(4) } else { at.offset(-4) };
        if barrier.kind != BarrierKind::FullBarrier || !is_full(view.image, next_to) {
            return refuse(Reason::Barrier);
        }
        if let Some((obstacle, _)) = view.around.needs_barriers() {
            return refuse(Reason::Obstacle(obstacle));
        }
        let mut proposed = fixed(view.image, rule, at, &[(DMB_ISH, NOP)])?;
        for candidate in proposed.untried.iter_mut().filter(|_| !barrier.is_before) {
            candidate.entry = next_to;
        }
        Ok(proposed)
    });
    proposed.collect()
}

/// Whether the instruction at a place acquires, releases and always stores.
fn is_full(image: &Image<'_>, at: Svma) -> bool {
    matches!(
        image.word_at(at).map(decode),
        Some(Ok(Insn::Update { reference, rt, .. })) if reference.acquire && reference.release && rt != ZERO
    )
}
