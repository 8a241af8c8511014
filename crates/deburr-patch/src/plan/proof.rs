//! Patch stage: one candidate → the first of its replacements that is proven.
//!
//! In: a candidate, and what is around its place. Out: the new instructions, or the reason why none is
//! proven. The surroundings say which registers are dead; `prove` compares all that is not.

use crate::around::{Detail, Surroundings};
use crate::candidate::{Basis, Candidate, trampoline};
use crate::prove::{Dead, Prover, Refusal};
use crate::semantics::effects;
use crate::site::NoShape;
use crate::site::Reason;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The first replacement that is proven, if nothing around the place speaks against it.
pub(crate) fn proven(
    around: &Surroundings<'_, '_>,
    prover: &Prover,
    candidate: &Candidate,
) -> Result<Vec<u32>, (Reason, Option<Detail>)> {
    let exclusives = matches!(candidate.proof, Basis::Exclusives { .. } | Basis::Retry { .. });
    let exclusives = exclusives.then_some(&*candidate.old);
    if let Some((obstacle, detail)) = around.obstacle(candidate.extent(), candidate.closed(), exclusives) {
        return Err((Reason::Obstacle(obstacle), detail));
    }
    let mut reason = None;
    for new in &candidate.replacements {
        match prove(around, prover, candidate, new) {
            Ok(()) => return Ok(new.clone()),
            Err(refusal) => reason = reason.or(Some(Reason::Unproven(refusal))),
        }
    }
    Err((reason.unwrap_or(Reason::NoShape(NoShape::Operation)), None))
}

/// Proves one of the replacements.
fn prove(
    around: &Surroundings<'_, '_>,
    prover: &Prover,
    candidate: &Candidate,
    new: &[u32],
) -> Result<(), Refusal> {
    let dead = || dead(around, candidate, new);
    let (mut old, mut wide) = (Cow::Borrowed(&*candidate.old), Cow::Borrowed(new));
    if candidate.is_trampoline {
        let width = trampoline::width(old.len(), new.len());
        old = trampoline::widened(&old, width).ok_or(Refusal::TooLarge)?.into();
        wide = trampoline::filled(new.to_vec(), width).into();
    }
    let proof = match &candidate.proof {
        Basis::Exclusives { given, .. } => prover.prove_with(&old, &wide, given, &dead()),
        Basis::Retry { .. } => prover.prove_retrying(&old, &wide, &dead()),
        Basis::Loads => prover.prove_loads(&old, &wide),
        Basis::Pattern => return Ok(()),
    };
    proof.map(drop)
}

/// The registers that a replacement may leave other values in.
fn dead(around: &Surroundings<'_, '_>, candidate: &Candidate, new: &[u32]) -> Vec<Dead> {
    if !candidate.proof.is_lossy() {
        return Vec::new();
    }
    let own = effects::written(&candidate.old);
    let written = own | effects::written(new);
    let length = candidate.old.len();
    let end = length as i64;
    let exits = effects::exits(&candidate.old).filter(|exit| !(0..end).contains(exit)).chain([end]);
    let dead_at = |exit: i64| {
        let numbers = (0..31).filter(|number| written >> number & 1 != 0);
        let at = candidate.start.offset(4 * exit);
        let dead = numbers.filter(|&number| around.is_dead(at, number, own >> number & 1 == 0));
        let exit = trampoline::exit(exit, length, trampoline::width(length, new.len()));
        Dead { exit, registers: dead.fold(0, |all, number| all | 1 << number) }
    };
    exits.collect::<BTreeSet<i64>>().into_iter().map(dead_at).collect()
}
