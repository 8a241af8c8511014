//! Patch stage: candidates for a load-exclusive/store-exclusive sequence.
//!
//! In: the sequences that `function::atomics` finds, or one whose replacement a file has already. Out:
//! candidates, those first that rest on least: on nothing; on what the code before says of a register; on
//! dead registers; and last those that need added space.

use super::exclusive::{self, Replacements};
use super::proposal::{Basis, Candidate, Candidates, NoCandidates, Proposed, View};
use super::trampoline;
use crate::around::{self, before};
use crate::semantics::{Register, effects, plain_load};
use crate::site::NoShape;
use crate::site::Reason;
use crate::subject::Trampoline;
use deburr_core::address::Svma;
use deburr_core::function::atomics::{Fate, Sequence};
use deburr_core::image::Image;
use rayon::prelude::*;

/// Instructions from a load-exclusive on that are read.
const LONGEST: i64 = 24;
/// Bytes that a sequence of two registers accesses.
const PAIR: u16 = 16;
/// Registers to try as a scratch register where they are dead; the platform's x18 and the frame are left
/// alone.
const SCRATCH: [u8; 15] = [16, 17, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3];

/// Candidates for every sequence of one register.
pub(crate) fn of_one_register(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    all(view, rule, |sequence| sequence.size != PAIR)
}

/// Candidates for every sequence of two registers.
pub(crate) fn of_two_registers(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    all(view, rule, |sequence| sequence.size == PAIR)
}

fn all(
    view: &View<'_, '_, '_>,
    rule: &'static str,
    is_wanted: impl Fn(&Sequence) -> bool + Sync,
) -> Vec<Proposed> {
    let sequences = view.atomics.sequences.par_iter().filter(|sequence| is_wanted(sequence));
    sequences.map(|sequence| candidates(view, rule, sequence)).collect()
}

/// What a sequence may become.
fn candidates(view: &View<'_, '_, '_>, rule: &'static str, sequence: &Sequence) -> Proposed {
    let (image, request, at) = (view.image, view.request, sequence.load);
    let refuse = |reason| Err(NoCandidates { rule, at, reason });
    if matches!(sequence.fate, Fate::InlineDispatch | Fate::RunTimeChoice) {
        return refuse(Reason::RunTimeChoice);
    }
    let words: Vec<u32> = (0..LONGEST).map_while(|index| image.word_at(at.offset(4 * index))).collect();
    let (shape, mut untried) = match exclusive::propose(&words) {
        Ok(replacements) => (NoShape::Operation, in_place(image, at, &words, replacements)),
        Err(shape @ (NoShape::NoRoom | NoShape::Operation)) if request.trampolines => (shape, Vec::new()),
        Err(shape) => return refuse(Reason::NoShape(shape)),
    };
    if request.trampolines {
        untried.extend(in_added_space(view, at, &words));
    }
    untried.retain(|candidate| !candidate.replacements.is_empty());
    if request.skip_spinning && untried.iter().any(|candidate| candidate.spins) {
        return refuse(Reason::Spins);
    }
    match untried.is_empty() {
        true => refuse(Reason::NoShape(shape)),
        false => Ok(Candidates { rule, at, untried }),
    }
}

/// Replacements over the sequence itself.
fn in_place(image: &Image<'_>, start: Svma, words: &[u32], proposed: Replacements) -> Vec<Candidate> {
    let Replacements { length, exact, lossy, operand, is_narrow, exits } = proposed;
    let plain = Candidate {
        start,
        old: words.get(..length).unwrap_or_default().to_vec(),
        replacements: exact,
        spins: spins(image, start, &exits, operand),
        is_trampoline: false,
        proof: Basis::PLAIN,
        entry: start,
    };
    let lossy = as_lossy(&plain, lossy);
    let knowing = |candidate: &Candidate| {
        operand.filter(|_| is_narrow).and_then(|operand| as_knowing(candidate, image, operand))
    };
    let [plain_knowing, lossy_knowing] = [knowing(&plain), lossy.as_ref().and_then(knowing)];
    [Some(plain), plain_knowing, lossy, lossy_knowing].into_iter().flatten().collect()
}

/// Whether a failed comparison leads to the next try at once.
fn spins(image: &Image<'_>, start: Svma, exits: &[i64], expected: Option<Register>) -> bool {
    let mut exits = exits.iter().map(|to| start.offset(4 * to));
    exits.any(|exit| around::comes_back(image, exit, start, expected))
}

/// Replacements that are longer than the sequence, in added space.
fn in_added_space(view: &View<'_, '_, '_>, start: Svma, words: &[u32]) -> Vec<Candidate> {
    let Some((length, exits)) = exclusive::measure(words) else { return Vec::new() };
    let spins = spins(view.image, start, &exits, None);
    let old = words.get(..length).unwrap_or_default().to_vec();
    let end = start.offset(4 * length as i64);
    let candidate = |replacements: Vec<Vec<u32>>, proof: Basis| {
        let old = old.clone();
        Candidate { start, old, replacements, spins, is_trampoline: true, proof, entry: start }
    };
    let is_new = |number: u8| effects::written(&old) >> number & 1 == 0;
    let is_dead = |number: u8| view.around.is_dead(end, number, is_new(number));
    let scratch = SCRATCH.into_iter().find_map(|number| {
        let replacements = exclusive::retrying(words, Some(Register(number)));
        (!replacements.is_empty() && is_dead(number)).then_some(replacements)
    });
    vec![
        candidate(exclusive::propose_longer(words), Basis::PLAIN),
        candidate(exclusive::retrying(words, None), Basis::Retry { lossy: false }),
        candidate(scratch.unwrap_or_default(), Basis::Retry { lossy: true }),
    ]
}

/// Candidates with the replacement that a file has already, at the sequence and in added space.
pub(crate) fn as_written(
    image: &Image<'_>,
    rule: &'static str,
    at: Svma,
    (old, new): (&[u32], &[u32]),
    trampoline: Option<&Trampoline>,
) -> Proposed {
    let other = NoCandidates { rule, at, reason: Reason::OtherWords };
    let new = match trampoline {
        Some(trampoline) => trampoline::read(at, new, trampoline).ok_or(other)?,
        None => new.to_vec(),
    };
    let plain = Candidate {
        start: at,
        old: old.to_vec(),
        replacements: vec![new.clone()],
        spins: false,
        is_trampoline: trampoline.is_some(),
        proof: Basis::PLAIN,
        entry: at,
    };
    // A plain load first: a compare-and-swap follows that is tried again.
    if trampoline.is_some() && new.first().is_some_and(|&word| plain_load(word).is_some()) {
        let retry = |lossy| Candidate { proof: Basis::Retry { lossy }, ..plain.clone() };
        return Ok(Candidates { rule, at, untried: [false, true].map(retry).to_vec() });
    }
    let lossy = as_lossy(&plain, vec![new]);
    let mut untried: Vec<Candidate> = [plain].into_iter().chain(lossy).collect();
    let knowing = untried
        .iter()
        .flat_map(|candidate| (0..31).filter_map(|number| as_knowing(candidate, image, Register(number))));
    let knowing: Vec<Candidate> = knowing.collect();
    untried.extend(knowing);
    Ok(Candidates { rule, at, untried })
}

/// The same candidate, resting on what the code before says of a register.
fn as_knowing(candidate: &Candidate, image: &Image<'_>, register: Register) -> Option<Candidate> {
    let (entry, given) = before::high_bits(image, candidate.start, register)?;
    // An edge back that does not pass the instruction that says so must not bring another value.
    (!effects::goes_back_with_another(&candidate.old, register)).then_some(())?;
    let proof = Basis::Exclusives { given: vec![given], lossy: candidate.proof.is_lossy() };
    Some(Candidate { proof, entry, ..candidate.clone() })
}

/// The same candidate, with replacements that leave other values in dead registers.
fn as_lossy(candidate: &Candidate, replacements: Vec<Vec<u32>>) -> Option<Candidate> {
    let proof = Basis::Exclusives { given: Vec::new(), lossy: true };
    (!replacements.is_empty()).then(|| Candidate { replacements, proof, ..candidate.clone() })
}
