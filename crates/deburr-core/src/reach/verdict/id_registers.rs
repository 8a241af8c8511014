//! Whether the program reads identification registers of AArch64 only where the kernel says that it may.
//!
//! In: an image, its linkage and its functions. Out: a verdict of each function that reads one: the evaluation's, where it knows,
//! on a kernel that does not set HWCAP_CPUID.

use super::judge::{Evaluation, Fate};
use crate::address::CodeOffset;
use crate::function::Program;
use crate::function::reach::{Reach, Verdict, id_register_verdicts};
use crate::image::{Image, Linkage};

/// Judges every function that reads identification registers, by address; empty if each read is tested.
pub(crate) fn unchecked_reads(image: &Image<'_>, linkage: &Linkage<'_>, program: &Program) -> Vec<Verdict> {
    let Some(mut reads) = id_register_verdicts(image, linkage, program) else { return Vec::new() };
    let Some(evaluation) = Evaluation::over(image, linkage, &reads.program, &reads.roots) else {
        return reads.verdicts;
    };
    let hits = evaluation.hits();
    for verdict in &mut reads.verdicts {
        let Some(hits) = hits.get(&verdict.start) else { continue };
        revise(verdict, hits.iter().map(|hit| (hit.at, evaluation.where_registers_are_hidden(hit.at))));
    }
    reads.verdicts
}

/// Changes the verdict on a function by what becomes of its reads.
fn revise(verdict: &mut Verdict, fates: impl Iterator<Item = (CodeOffset, Fate)>) {
    let mut are_dead = true;
    for (at, fate) in fates {
        match fate {
            Fate::Executed { path } => {
                (verdict.reach, verdict.at, verdict.path) = (Reach::Required, at, path);
                return;
            }
            Fate::Dead => {}
            Fate::Open => are_dead = false,
        }
    }
    if are_dead {
        verdict.reach = Reach::Guarded;
        verdict.path.clear();
    }
}
