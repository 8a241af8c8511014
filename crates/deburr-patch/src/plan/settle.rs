//! Patch stage: candidates → sites and refusals.
//!
//! In: the candidates of every finding. Out: a plan without overlaps, each site of which was proven and is
//! entered at its start only. All places are tried together, as their entries are found in one pass over the
//! file.

use super::added_space;
use super::proof::proven;
use crate::around::{Detail, Obstacle, Surroundings};
use crate::candidate::{Candidate, Candidates, NoCandidates, Proposed};
use crate::prove::Prover;
use crate::site::NoShape;
use crate::site::{Plan, Reason, Refused, Site};
use deburr_core::address::Svma;
use deburr_core::function::Program;
use deburr_core::image::{self, Image};
use deburr_core::report::FunctionNames;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A place that is to come into the plan, with the candidates that are left.
struct Pending {
    candidates: Candidates,
    /// Why its first candidate failed.
    reason: Option<(Reason, Option<Detail>)>,
}

/// A place of which a candidate was proven.
struct Proven {
    pending: Pending,
    candidate: Candidate,
    new: Vec<u32>,
}

/// Proves what is proposed, and searches its surroundings. Where a candidate fails in one iteration, the next
/// one tries the next candidate.
pub(crate) fn settle(
    (image, program): (&Image<'_>, &Program),
    around: &Surroundings<'_, '_>,
    prover: &Prover,
    proposed: Vec<Proposed>,
) -> Plan {
    let mut names = FunctionNames::default();
    let mut name_at = |at: Svma| names.at(image, program, at);
    let mut plan = Plan::default();
    let mut pending: Vec<Pending> = Vec::new();
    for candidates in proposed {
        match candidates {
            Ok(candidates) => pending.push(Pending { candidates, reason: None }),
            Err(NoCandidates { rule, at, reason }) => {
                plan.refused.push(Refused { rule, function: name_at(at), at, reason, detail: None });
            }
        }
    }
    let relocated = image::relocated_code(image);
    let mut added = BTreeMap::new();
    while !pending.is_empty() {
        let tried: Vec<Result<Proven, Pending>> =
            pending.into_par_iter().map(|pending| try_next(around, prover, pending)).collect();
        let (mut proven, mut failed) = (Vec::new(), Vec::new());
        for result in tried {
            match result {
                Ok(one) => proven.push(one),
                Err(pending) => failed.push(pending),
            }
        }
        proven.sort_by_key(|one| one.candidate.extent());
        let entries = around.entries(proven.iter().map(|one| one.candidate.closed()).collect());
        let mut end = Svma(0);
        for Proven { mut pending, candidate, new } in proven {
            let extent = candidate.extent();
            let is_relocated = relocated.get(relocated.partition_point(|&at| at < extent.start));
            let reason = if extent.start < end || plan.touches(extent) {
                Some((Reason::Overlaps, None))
            } else if let Some(detail) = entries.lead_into(extent, candidate.entry) {
                Some((Reason::Obstacle(Obstacle::Entered), Some(detail)))
            } else if let Some(&at) = is_relocated.filter(|&&at| at < extent.end) {
                Some((Reason::Obstacle(Obstacle::Relocated), Some(Detail::At(at))))
            } else {
                None
            };
            let (rule, at) = (pending.candidates.rule, pending.candidates.at);
            match (reason, file_offset(image, extent.start)) {
                (None, Some(file_offset)) => {
                    let function = name_at(at);
                    let Candidate { start: at, old, spins, is_trampoline, .. } = candidate;
                    let mut site =
                        Site { rule, function, at, file_offset, old, new, trampoline: None, spins };
                    if is_trampoline {
                        added.insert(at, std::mem::take(&mut site.new));
                    }
                    plan.sites.push(site);
                    end = extent.end;
                }
                (reason, _) => {
                    pending.reason = pending.reason.or(reason);
                    failed.push(pending);
                }
            }
        }
        let (again, refused): (Vec<_>, Vec<_>) =
            failed.into_iter().partition(|pending| !pending.candidates.untried.is_empty());
        plan.refused.extend(refused.into_iter().map(
            |Pending { candidates: Candidates { rule, at, .. }, reason }| {
                let (reason, detail) = reason.unwrap_or((Reason::NoShape(NoShape::Operation), None));
                Refused { rule, function: name_at(at), at, reason, detail }
            },
        ));
        plan.sites.sort_by_key(|site| site.at);
        pending = again;
    }
    added_space::place(image.bytes, &mut plan, added);
    plan
}

/// Proves the next candidate of a place.
fn try_next(around: &Surroundings<'_, '_>, prover: &Prover, mut pending: Pending) -> Result<Proven, Pending> {
    let mut untried = std::mem::take(&mut pending.candidates.untried).into_iter();
    let Some(candidate) = untried.next() else { return Err(pending) };
    pending.candidates.untried = untried.collect();
    match proven(around, prover, &candidate) {
        Ok(new) => Ok(Proven { pending, candidate, new }),
        Err(reason) => {
            pending.reason.get_or_insert(reason);
            Err(pending)
        }
    }
}

fn file_offset(image: &Image<'_>, at: Svma) -> Option<u64> {
    let code = image.code_at(at)?;
    code.file_offset.checked_add(at.since(code.extent.start)?)
}
