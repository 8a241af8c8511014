//! Patch stage: what stands in the place of single instructions: calls of outlined helpers, `yield`, the epilogues of Go's
//! small frames, barriers beside atomics that are barriers.
//!
//! In: what the rules find. Out: drafts, in words that follow from fixed patterns. A helper is read word by word: where the
//! target has LSE, it does nothing but the one instruction that takes the call's place.

use crate::around::{Surroundings, helper};
use crate::candidate::exclusive::NoShape;
use crate::plan::{Attempt, Basis, Draft, Drafted, Reason};
use crate::prove::Prover;
use crate::semantics::encode::NOP;
use crate::semantics::{Change, Insn, ZERO, decode};
use deburr_core::address::Svma;
use deburr_core::function::Program;
use deburr_core::function::atomics::{Atomics, BarrierKind, HelperCall, atomic_barriers};
use deburr_core::function::spin;
use deburr_core::idiom::split_frame::split_frames;
use deburr_core::image::Image;
use deburr_cpu::{Feature, FeatureSet};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

const YIELD: u32 = 0xd503_203f;
const ISB: u32 = 0xd503_3fdf;
const RET: u32 = 0xd65f_03c0;
const DMB_ISH: u32 = 0xd503_3bbf;
/// `ldp x29, x30, [sp, #-8]`, and Go 1.24's `ldur x29, [sp, #-8]` and `ldr x30, [sp], #0`; the immediate is in bits 12 to 20.
const LOAD_BOTH: u32 = 0xa97f_fbfd;
const LOAD_FRAME: u32 = 0xf85f_83fd;
const LOAD_LINK: u32 = 0xf840_07fe;

/// Drafts for all findings of the rules that are asked for.
pub(crate) fn drafts(
    (image, program): (&Image<'_>, &Program),
    around: &Surroundings<'_, '_>,
    atomics: &Atomics,
    target: Option<FeatureSet>,
    is_asked: impl Fn(&str) -> bool,
) -> Vec<Drafted> {
    let mut drafts = Vec::new();
    if is_asked("outlined-atomic") {
        drafts.extend(calls((image, program), around, atomics, target));
    }
    if is_asked("yield-in-spin-loop") {
        let hints = spin::hints(image, program, atomics);
        drafts.extend(hints.iter().map(|hint| fixed(image, "yield-in-spin-loop", hint.at, &[(YIELD, ISB)])));
    }
    if is_asked("split-frame-reload") {
        let frames = split_frames(image, program);
        drafts.extend(
            frames.iter().flat_map(|frame| frame.reloads.iter().map(|&at| reload(image, at, frame.size))),
        );
    }
    if is_asked("barrier-around-atomic") {
        drafts.extend(barriers((image, program), around, atomics));
    }
    drafts
}

/// A draft that writes given words over given ones.
fn fixed(image: &Image<'_>, rule: &'static str, at: Svma, words: &[(u32, u32)]) -> Drafted {
    based(image, rule, at, words, Basis::Pattern)
}

fn based(image: &Image<'_>, rule: &'static str, at: Svma, words: &[(u32, u32)], proof: Basis) -> Drafted {
    let (old, new): (Vec<u32>, Vec<u32>) = words.iter().copied().unzip();
    let found = (0..).zip(&old).all(|(index, word)| image.word_at(at.offset(4 * index)) == Some(*word));
    if !found {
        return Err((at, rule, Reason::NoShape(NoShape::Operation)));
    }
    let attempt = Attempt {
        start: at,
        old,
        candidates: vec![new],
        spins: false,
        is_trampoline: false,
        proof,
        entry: at,
    };
    Ok(Draft { rule, at, attempts: vec![attempt] })
}

/// The two loads of Go 1.24 in the place of `ldp` and `add`.
fn reload(image: &Image<'_>, at: Svma, size: u32) -> Drafted {
    const RULE: &str = "split-frame-reload";
    /// The largest immediate of a load with post-index.
    const LARGEST: u32 = 255;
    if size > LARGEST {
        return Err((at, RULE, Reason::LargeFrame));
    }
    let release = 0x9100_03ff | size << 10; // add sp, sp, #size
    based(image, RULE, at, &[(LOAD_BOTH, LOAD_FRAME), (release, LOAD_LINK | size << 12)], Basis::Loads)
}

/// A `dmb ish` right beside an LSE instruction with acquire and release that always stores. Such an instruction orders all
/// before it against all behind it (DDI 0487 B2.3.3, barrier-ordered-before); a compare-and-swap that fails does not.
///
/// What control comes to the barrier from is the atomic before it, so that nothing may enter between the two.
fn barriers(
    (image, program): (&Image<'_>, &Program),
    around: &Surroundings<'_, '_>,
    atomics: &Atomics,
) -> Vec<Drafted> {
    const RULE: &str = "barrier-around-atomic";
    let found = atomic_barriers(image, program, atomics);
    let drafted = found.iter().map(|barrier| {
        let next_to = if barrier.is_before { barrier.at.offset(4) } else { barrier.at.offset(-4) };
        let is_full = matches!(
            image.word_at(next_to).map(decode),
            Some(Ok(Insn::Update { reference, rt, .. })) if reference.acquire && reference.release && rt != ZERO
        );
        if barrier.kind != BarrierKind::FullBarrier || !is_full {
            return Err((barrier.at, RULE, Reason::Barrier));
        }
        if let Some((obstacle, _)) = around.needs_barriers() {
            return Err((barrier.at, RULE, Reason::Obstacle(obstacle)));
        }
        let mut draft = fixed(image, RULE, barrier.at, &[(DMB_ISH, NOP)])?;
        for attempt in draft.attempts.iter_mut().filter(|_| !barrier.is_before) {
            attempt.entry = next_to;
        }
        Ok(draft)
    });
    drafted.collect()
}

/// The instruction of a helper in the place of each call of it.
fn calls(
    (image, program): (&Image<'_>, &Program),
    around: &Surroundings<'_, '_>,
    atomics: &Atomics,
    target: Option<FeatureSet>,
) -> Vec<Drafted> {
    const RULE: &str = "outlined-atomic";
    let has_lse = target.is_some_and(|target| target.contains(Feature::FEAT_LSE));
    // Bodies by name; a file that two compilers made has some of them twice.
    let mut bodies: HashMap<&str, HashSet<Option<u32>>> = HashMap::new();
    let sound = match has_lse && !atomics.calls.is_empty() {
        true => helper::instructions(around.flow(), &Prover::default(), &atomics.helpers),
        false => HashMap::new(),
    };
    for helper in &atomics.helpers {
        let word = sound.get(&helper.extent.start).copied().filter(|&word| stands_in_a_call(word));
        bodies.entry(&helper.name).or_default().insert(word);
    }
    let draft = |call: &HelperCall| {
        let refuse = |reason| Err((call.from, RULE, reason));
        if !has_lse {
            return refuse(Reason::TargetWithoutLse);
        }
        let body = bodies.get(&*call.helper).filter(|words| words.len() == 1);
        let word = body.and_then(|words| words.iter().next().copied().flatten());
        let (Some(word), Some(old)) = (word.filter(|_| !call.is_external), image.word_at(call.from)) else {
            return refuse(Reason::Helper);
        };
        let next = call.from.offset(4);
        match old >> 26 {
            // bl
            0x25 if !around.is_free_of_call(next) => refuse(Reason::LiveRegister),
            0x25 => fixed(image, RULE, call.from, &[(old, word)]),
            // b, with padding behind it
            0x05 if image.word_at(next) == Some(NOP) && is_between_functions(image, program, next) => {
                fixed(image, RULE, call.from, &[(old, word), (NOP, RET)])
            }
            _ => refuse(Reason::TailCall),
        }
    };
    atomics.calls.par_iter().map(draft).collect()
}

/// Whether the instruction that is all that a helper does can take a call's place.
fn stands_in_a_call(word: u32) -> bool {
    match decode(word) {
        Ok(Insn::Update { rt, change, .. }) => rt != ZERO || change == Change::Swap,
        Ok(Insn::CompareAndSwap { .. } | Insn::CompareAndSwapPair { .. }) => true,
        _ => false,
    }
}

/// Whether no function holds an address.
fn is_between_functions(image: &Image<'_>, program: &Program, at: Svma) -> bool {
    image.code_offset(at).is_some_and(|at| program.function_at(at).is_none() && !program.is_data(at))
}
