//! Patch stage: candidates by fixed patterns.
//!
//! In: a place, with the instructions that must be there and those that take their place. Out: the one
//! candidate, if the file has the former.

use super::proposal::{Basis, Candidate, Candidates, NoCandidates, Proposed};
use crate::site::NoShape;
use crate::site::Reason;
use deburr_core::address::Svma;
use deburr_core::image::Image;

/// Given instructions over given ones, with nothing to prove.
pub(crate) fn fixed(image: &Image<'_>, rule: &'static str, at: Svma, pairs: &[(u32, u32)]) -> Proposed {
    based(image, rule, at, pairs, Basis::Pattern)
}

/// As [`fixed`], with a proof.
pub(crate) fn based(
    image: &Image<'_>,
    rule: &'static str,
    at: Svma,
    pairs: &[(u32, u32)],
    proof: Basis,
) -> Proposed {
    let (old, new): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
    let found = (0..).zip(&old).all(|(index, word)| image.word_at(at.offset(4 * index)) == Some(*word));
    if !found {
        return Err(NoCandidates { rule, at, reason: Reason::NoShape(NoShape::Operation) });
    }
    let candidate = Candidate {
        start: at,
        old,
        replacements: vec![new],
        spins: false,
        is_trampoline: false,
        proof,
        entry: at,
    };
    Ok(Candidates { rule, at, untried: vec![candidate] })
}
