//! Patch stage: an LSE instruction in the place of the call of an outlined helper.
//!
//! In: the calls that `function::atomics` finds. Out: a candidate for each whose helper does, where the
//! target has LSE, nothing except that instruction. A tail call becomes the instruction and a return, where
//! padding leaves room for it.

use super::pattern::fixed;
use super::proposal::{NoCandidates, Proposed, View};
use crate::around::helper;
use crate::prove::Prover;
use crate::semantics::encode::NOP;
use crate::semantics::{AtomicOp, Insn, ZERO, decode};
use crate::site::Reason;
use deburr_core::address::Svma;
use deburr_core::function::Program;
use deburr_core::function::atomics::HelperCall;
use deburr_core::image::Image;
use deburr_cpu::Feature;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

const RET: u32 = 0xd65f_03c0;

/// Candidates for every call of a helper.
pub(crate) fn candidates(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    let View { image, program, atomics, around, request } = *view;
    let has_lse = request.target.is_some_and(|target| target.contains(Feature::FEAT_LSE));
    // Bodies by name; a file that two compilers made has some of them twice.
    let mut bodies: HashMap<&str, HashSet<Option<u32>>> = HashMap::new();
    let sound = match has_lse && !atomics.calls.is_empty() {
        true => helper::instructions(around.flow(), &Prover::default(), &atomics.helpers),
        false => HashMap::new(),
    };
    for helper in &atomics.helpers {
        let word = sound.get(&helper.extent.start).copied().filter(|&word| may_replace_a_call(word));
        bodies.entry(&helper.name).or_default().insert(word);
    }
    let propose = |call: &HelperCall| {
        let at = call.from;
        let refuse = |reason| Err(NoCandidates { rule, at, reason });
        if !has_lse {
            return refuse(Reason::TargetWithoutLse);
        }
        let body = bodies.get(&*call.helper).filter(|words| words.len() == 1);
        let word = body.and_then(|words| words.iter().next().copied().flatten());
        let (Some(word), Some(old)) = (word.filter(|_| !call.is_external), image.word_at(at)) else {
            return refuse(Reason::Helper);
        };
        let next = at.offset(4);
        match old >> 26 {
            // bl
            0x25 if !around.is_free_of_call(next) => refuse(Reason::LiveRegister),
            0x25 => fixed(image, rule, at, &[(old, word)]),
            // b, with padding after it
            0x05 if image.word_at(next) == Some(NOP) && is_between_functions(image, program, next) => {
                fixed(image, rule, at, &[(old, word), (NOP, RET)])
            }
            _ => refuse(Reason::TailCall),
        }
    };
    atomics.calls.par_iter().map(propose).collect()
}

/// Whether the instruction that is all that a helper does can take a call's place.
fn may_replace_a_call(word: u32) -> bool {
    match decode(word) {
        Ok(Insn::Update { rt, change, .. }) => rt != ZERO || change == AtomicOp::Swap,
        Ok(Insn::CompareAndSwap { .. } | Insn::CompareAndSwapPair { .. }) => true,
        _ => false,
    }
}

/// Whether no function holds an address.
fn is_between_functions(image: &Image<'_>, program: &Program, at: Svma) -> bool {
    image.code_offset(at).is_some_and(|at| program.function_at(at).is_none() && !program.is_data(at))
}
