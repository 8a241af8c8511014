//! The rules. One file a rule; [`RULES`] is the only place that names them all.

mod above_baseline;
mod assertions_left_in;
mod barrier_around_atomic;
mod cas_for_rmw;
mod claim_exceeded;
mod claim_unused;
mod context;
mod contradicted_check;
mod debug_information_left_in;
mod dispatched_leaf;
mod false_dependency;
mod far_atomic_on_private_line;
mod fast_math_at_load;
mod instrumentation_left_in;
mod interposable_call;
mod isa_note_missing;
mod llsc_loop;
mod llsc_pair;
mod mfence;
mod narrow_store_wide_load;
mod narrow_vectors;
mod no_frame_pointer;
mod outlined_atomic;
mod page_size;
mod refused_by_loader;
mod scalar_hot_loop;
mod scalar_twin;
mod software_crc;
mod software_popcount;
mod spin_on_rmw;
mod split_frame_reload;
mod straddling_loop;
mod tls_by_call;
mod unchecked_id_register;
mod unoptimised_code;
mod unrelaxed_spin_loop;
mod wfe_without_event;
mod yield_in_spin_loop;

use context::functions;
pub use context::{Across, Context, FileAssertions, FileClaim, FileFacts, Needs, Rule, Shared};

/// All rules.
pub const RULES: &[Rule] = &[
    above_baseline::RULE,
    assertions_left_in::RULE,
    barrier_around_atomic::RULE,
    cas_for_rmw::RULE,
    claim_exceeded::RULE,
    claim_unused::RULE,
    contradicted_check::RULE,
    debug_information_left_in::RULE,
    dispatched_leaf::RULE,
    false_dependency::RULE,
    far_atomic_on_private_line::RULE,
    fast_math_at_load::RULE,
    instrumentation_left_in::RULE,
    interposable_call::RULE,
    isa_note_missing::RULE,
    llsc_loop::RULE,
    llsc_pair::RULE,
    mfence::RULE,
    narrow_store_wide_load::RULE,
    narrow_vectors::RULE,
    no_frame_pointer::RULE,
    outlined_atomic::RULE,
    page_size::RULE,
    refused_by_loader::RULE,
    scalar_hot_loop::RULE,
    scalar_twin::RULE,
    software_crc::RULE,
    software_popcount::RULE,
    spin_on_rmw::RULE,
    split_frame_reload::RULE,
    straddling_loop::RULE,
    tls_by_call::RULE,
    unchecked_id_register::RULE,
    unoptimised_code::RULE,
    unrelaxed_spin_loop::RULE,
    wfe_without_event::RULE,
    yield_in_spin_loop::RULE,
];

/// Rules that guess what a loop costs, or that find much where little is to gain: with a profile they run by themselves, and
/// only what is hot counts.
pub const WHEN_HOT: [&str; 3] = [narrow_vectors::RULE.id, scalar_hot_loop::RULE.id, straddling_loop::RULE.id];

/// Rules about what an optimiser made of code: they are silent where none has seen it.
pub(crate) const ABOUT_OPTIMISED_CODE: [&str; 4] = [
    narrow_store_wide_load::RULE.id,
    narrow_vectors::RULE.id,
    scalar_hot_loop::RULE.id,
    straddling_loop::RULE.id,
];

/// Whether a rule's finding is about a file as a whole, so that builds of it are compared by what it counts.
pub(crate) fn is_of_whole_file(id: &str) -> bool {
    let rules = [
        assertions_left_in::RULE.id,
        debug_information_left_in::RULE.id,
        fast_math_at_load::RULE.id,
        instrumentation_left_in::RULE.id,
        interposable_call::RULE.id,
        page_size::RULE.id,
    ];
    is_of_optimisation(id) || rules.contains(&id)
}

/// Whether a rule's finding says that a file, or a part of it, is unoptimised.
pub(crate) fn is_of_optimisation(id: &str) -> bool {
    id == unoptimised_code::RULE.id
}

/// The rule whose findings say why a file dies, or may die: on a baseline, or on a claim.
pub(crate) const fn of_answer(is_claim: bool) -> &'static str {
    if is_claim { claim_exceeded::RULE.id } else { above_baseline::RULE.id }
}

/// Whether a rule's findings mean that the file does not run on machines that it is for: then they count whoever wrote the
/// code.
pub fn means_the_file_dies(id: &str) -> bool {
    let rules = [
        above_baseline::RULE,
        claim_exceeded::RULE,
        contradicted_check::RULE,
        page_size::RULE,
        refused_by_loader::RULE,
        unchecked_id_register::RULE,
    ];
    rules.iter().any(|rule| rule.id == id)
}

/// Whether findings of a rule count only where they are hot. `when_hot`: as in [`Request`](crate::request::Request).
pub fn counts_when_hot(id: &str, when_hot: &[&str], context: &Context<'_>) -> bool {
    when_hot.contains(&id) || (id == dispatched_leaf::RULE.id && context.guaranteed().is_none())
}

/// What rules do in addition at the end of a run, when all files are known.
pub const ACROSS: &[Across] = &[assertions_left_in::ACROSS, claim_unused::ACROSS, scalar_twin::ACROSS];

/// The rule with an id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
