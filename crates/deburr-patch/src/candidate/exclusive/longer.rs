//! Patch stage: replacements that are longer than their sequence, for space of their own.
//!
//! In: a sequence, and what would replace it if there were room. Out: instructions in the form of
//! `trampoline`. All that goes on inside comes first. Then comes a branch to after the sequence, and one for
//! each other exit, so that no exit is too far away for a conditional branch. What no LSE instruction
//! computes is computed between a plain load and a compare-and-swap, again until that succeeds.

use super::sequence::{Sequence, Status, Step};
use crate::candidate::trampoline::leave;
use crate::semantics::encode;
use crate::semantics::{Register, ZERO, decode};

impl Sequence<'_> {
    /// As `finish`, of any length.
    fn finish_trampoline(&self, first: Vec<u32>, steps: &[Step], status: Status) -> Option<Vec<u32>> {
        let mut new = first;
        let mut exits = Vec::new();
        for step in steps {
            exits.extend(step.to.map(|to| (new.len(), step.word, to)));
            new.push(step.word);
        }
        match status {
            Status::Zero { flags } => new.push(encode::zero(self.status, flags)),
            Status::Left => {}
        }
        new.extend(&self.tail);
        let back = new.len();
        let length = back + 1 + exits.len();
        new.push(leave(back, self.goes_to.unwrap_or(self.end as i64), self.end, length)?);
        for (at, word, to) in exits {
            let stub = new.len();
            *new.get_mut(at)? = encode::retargeted(word, stub as i64 - at as i64)?;
            new.push(leave(stub, to, self.end, length)?);
        }
        Some(new)
    }

    /// Where the loaded value goes around a body that runs between load and compare-and-swap: the body must
    /// leave it there.
    fn guess(&self, scratch: Option<Register>) -> Option<Register> {
        let overwrites = |register| self.body.iter().any(|step| step.insn.destination() == Some(register));
        let is_kept = self.old != ZERO && self.old != self.status && !overwrites(self.old);
        scratch.or(Some(self.old).filter(|_| is_kept))
    }

    /// `guess` and the status register hold what was loaded; the latter gets what is there at the end. The
    /// body runs once more on that, so that whatever depends on what was loaded depends on the access.
    fn retrying(&self, guess: Register, flags: bool) -> Option<Vec<u32>> {
        let width = self.width();
        let body = || self.body.iter().map(|step| step.word);
        let mut new = vec![encode::load(self.reference.bits, guess, self.reference.base)];
        if guess != self.old && self.old != ZERO {
            new.push(encode::copy(width, self.old, guess));
        }
        new.extend(body());
        new.push(encode::copy(width, self.status, guess));
        new.push(encode::compare_and_swap(self.reference, self.status, self.new));
        new.push(encode::exclusive_or(width, guess, self.status));
        new.push(encode::branch_unless_zero(width, guess, -(new.len() as i64))?);
        if self.old != ZERO {
            new.push(encode::copy(width, self.old, self.status));
        }
        self.finish_trampoline(new, &self.body, Status::Zero { flags })
    }
}

/// As [`propose`](super::propose), where nothing limits the length.
pub(crate) fn propose_longer(words: &[u32]) -> Vec<Vec<u32>> {
    let Some(sequence) = read(words) else { return Vec::new() };
    let exit = sequence.body.iter().position(|step| step.to.is_some());
    let atomics = match exit {
        Some(at) => sequence.compare_and_swaps(at),
        None => sequence.updates(),
    };
    let flags: &[bool] = if sequence.compares_status { &[false, true] } else { &[false] };
    let both = atomics.iter().flat_map(|atomic| flags.iter().map(move |&flags| (atomic, flags)));
    let words = both.filter_map(|(atomic, flags)| {
        let access = atomic.setup.into_iter().chain([atomic.word]);
        let status = Status::Zero { flags };
        match atomic.hoists {
            true => {
                let first = sequence.body.iter().map(|step| step.word).chain(access).collect();
                sequence.finish_trampoline(first, &[], status)
            }
            false => sequence.finish_trampoline(access.collect(), &sequence.body, status),
        }
    });
    words.collect()
}

/// A compare-and-swap around the body of a sequence that always stores. `scratch`: a register that is dead
/// after the sequence and that it does not name, where the body overwrites what was loaded.
pub(crate) fn retrying(words: &[u32], scratch: Option<Register>) -> Vec<Vec<u32>> {
    let Some(sequence) = read(words) else { return Vec::new() };
    let stores = sequence.body.iter().all(|step| step.to.is_none());
    let named = words.get(..sequence.end).unwrap_or_default();
    let is_free = scratch.is_none_or(|scratch| !named.iter().any(|&word| names(word, scratch)));
    let Some(guess) = sequence.guess(scratch).filter(|_| stores && is_free) else { return Vec::new() };
    let flags: &[bool] = if sequence.compares_status { &[false, true] } else { &[false] };
    flags.iter().filter_map(|&flags| sequence.retrying(guess, flags)).collect()
}

fn names(word: u32, register: Register) -> bool {
    let mut found = false;
    if let Ok(mut insn) = decode(word) {
        insn.for_each_register(|named| found |= *named == register);
    }
    found
}

/// How many instructions the sequence has that begins with a load-exclusive, and where it goes on after a
/// failed comparison, in instructions from there.
pub(crate) fn measure(words: &[u32]) -> Option<(usize, Vec<i64>)> {
    let sequence = read(words)?;
    Some((sequence.end, sequence.body.iter().filter_map(|step| step.to).collect()))
}

/// A sequence of one register.
fn read(words: &[u32]) -> Option<Sequence<'_>> {
    Sequence::read(words).ok().filter(|sequence| sequence.high.is_none())
}
