//! Patch stage: what is to be written over what.
//!
//! In: the bytes of an AArch64 file. Out: a [`Plan`], each site of which was proven, and for every place that
//! is left as it is the reason. Findings on atomics, spin loops and frames come from the functions that the
//! rules use; `rewrite.rs` says which function proposes what for them. Nothing here writes; `apply` does.
//!
//! | file | from | to |
//! |---|---|---|
//! | `settle` | candidates | sites and refusals: each candidate proven, its surroundings searched |
//! | `proof` | one candidate | the first of its replacements that is proven |
//! | `added_space` | replacements that need added space | their addresses in it |

mod added_space;
mod proof;
mod settle;

use crate::around::{Detail, Surroundings};
use crate::audit::audit;
use crate::candidate::{Proposed, View};
use crate::prove::Prover;
use crate::request::{PlanError, PlanRequest};
use crate::rewrite::Rewrite;
use crate::site::{Plan, Reason, Refused};
use crate::subject::Subject;
use crate::unfit;
use deburr_core::address::Svma;
use deburr_core::function::{atomics, discover};
use deburr_core::image::Image;
use deburr_core::insn::sweep::Wants;
use deburr_core::insn::{Class, ClassSet};
use deburr_cpu::FeatureSet;
use settle::settle;

/// Says what may be written over what, and proves each of it.
///
/// # Errors
/// [`PlanError`], where the bytes are no ELF file that deburr reads, or one that must not be changed.
pub fn plan(bytes: &[u8], request: &PlanRequest<'_>) -> Result<Plan, PlanError> {
    let is_wanted = |rewrite: &Rewrite| request.rules.is_none_or(|rules| rules.contains(&rewrite.rule));
    plan_from(bytes, request, |view| {
        let wanted = Rewrite::all().filter(is_wanted);
        wanted.flat_map(|rewrite| (rewrite.candidates)(view, rewrite.rule)).collect()
    })
}

/// Reads a file, has candidates proposed, proves them and audits what is left.
pub(crate) fn plan_from(
    bytes: &[u8],
    request: &PlanRequest<'_>,
    propose: impl FnOnce(&View<'_, '_, '_>) -> Vec<Proposed>,
) -> Result<Plan, PlanError> {
    let image = Image::parse(bytes, request.debug_file)?;
    if let Some(unfit) = unfit::unfit(&image) {
        return Err(PlanError::Unfit(unfit));
    }
    let wants = atomics::WANTS.union(atomics::BARRIER_WANTS).union(ClassSet::of(&[Class::SpinHint]));
    let program = discover(&image, Wants::classes(wants));
    let atomics = atomics::atomics(&image, &program);
    let around = Surroundings::of(&image, &program);
    let view = View { image: &image, program: &program, atomics: &atomics, around: &around, request };
    let proposed = propose(&view);
    let prover = Prover::default();
    let mut plan = settle((&image, &program), &around, &prover, proposed);
    // The audit reads the whole file again, and needs nothing of this.
    drop(around);
    drop((atomics, program));
    refuse_contradicted(&image, request.target.unwrap_or_default(), &mut plan);
    plan.refused.sort_by_key(|refused| refused.at);
    Ok(plan)
}

/// Takes out of a plan what the audit does not agree with.
fn refuse_contradicted(image: &Image<'_>, target: FeatureSet, plan: &mut Plan) {
    let subjects: Vec<Subject<'_>> = plan.sites.iter().map(Subject::from).collect();
    let found = audit(image, target, &subjects);
    let concern = |at: Svma| {
        let index = found.binary_search_by_key(&at, |contradiction| contradiction.at).ok()?;
        found.get(index).map(|contradiction| contradiction.concern)
    };
    let refused = plan.sites.extract_if(.., |site| concern(site.at).is_some());
    plan.refused.extend(refused.filter_map(|site| {
        let concern = concern(site.at)?;
        let (reason, detail) = (Reason::Contradiction(concern), concern.place().map(Detail::At));
        Some(Refused { rule: site.rule, function: site.function, at: site.at, reason, detail })
    }));
}
