//! Patch stage: instructions that do not fit into a sequence's own, and are written into added space instead
//! (a trampoline).
//!
//! In: a sequence, where it is, and where the added instructions are. Out: the instructions for both places;
//! and from what a file holds in both the replacement again, to be proven. The sequence's first instruction
//! becomes a branch to the added ones, which go back by branches of their own. Nothing reaches the sequence's
//! other instructions any more, and they become traps.
//!
//! Between the two a replacement has the form that the prover compares: *widened*. Sequence and added
//! instructions begin at one place, and the shorter one is filled up with `nop`, so that both are left after
//! the longer one. What follows the sequence is that much farther away, for both.

use crate::semantics::encode::{self, NOP};
use crate::semantics::{Insn, Test, decode};
use crate::subject::Trampoline;
use deburr_core::address::Svma;

/// `udf #0`
const TRAP: u32 = 0;

/// Where, in instructions from the first of both, a place is that is so many instructions from the first of a
/// sequence of `length` instructions, once that is widened. `None`: inside, where there are no instructions
/// any more.
fn widened_target(target: i64, length: usize, widened: usize) -> Option<i64> {
    match usize::try_from(target) {
        Ok(inside) if 0 < inside && inside < length => None,
        Ok(at) if at >= length => target.checked_add(i64::try_from(widened - length).ok()?),
        _ => Some(target),
    }
}

/// The reverse of [`widened_target`].
fn narrowed_target(target: i64, length: usize, widened: usize) -> Option<i64> {
    match usize::try_from(target) {
        Ok(at) if at >= widened => target.checked_sub(i64::try_from(widened - length).ok()?),
        Ok(0) | Err(_) => Some(target),
        Ok(_) => None,
    }
}

/// How many instructions a sequence and what replaces it have, both widened.
pub(crate) fn width(sequence: usize, added: usize) -> usize {
    sequence.max(added)
}

/// A place that a sequence is left at, where that is widened.
pub(crate) fn exit(exit: i64, length: usize, widened: usize) -> i64 {
    widened_target(exit, length, widened).unwrap_or(exit)
}

/// A sequence, widened. `None`: a branch in it would not reach.
pub(crate) fn widened(sequence: &[u32], width: usize) -> Option<Vec<u32>> {
    let length = sequence.len();
    let word = |(&word, at): (&u32, i64)| match decode(word) {
        Ok(Insn::Branch { offset, .. }) => {
            let target = at + offset;
            let is_inside = usize::try_from(target).is_ok_and(|target| target < length);
            match is_inside {
                true => Some(word),
                false => encode::retargeted(word, widened_target(target, length, width)? - at),
            }
        }
        _ => Some(word),
    };
    let words: Option<Vec<u32>> = sequence.iter().zip(0_i64..).map(word).collect();
    words.map(|words| filled(words, width))
}

/// Added instructions, widened.
pub(crate) fn filled(mut words: Vec<u32>, width: usize) -> Vec<u32> {
    words.resize(words.len().max(width), NOP);
    words
}

/// A branch from a place in added instructions to a target in instructions from the first of a sequence, in
/// the form that is compared.
pub(crate) fn leave(from: usize, target: i64, length: usize, added: usize) -> Option<u32> {
    let target = widened_target(target, length, width(length, added))?;
    encode::branch(target - i64::try_from(from).ok()?)
}

/// The instructions that are written: in the place of a sequence, and at an address in added space. `None`:
/// no branch reaches.
pub(crate) fn place(
    (sequence, length): (Svma, usize),
    added: &[u32],
    at: Svma,
) -> Option<(Vec<u32>, Trampoline)> {
    let width = width(length, added.len());
    // Something else follows the last instruction than what follows the sequence.
    let is_closed = |word: &u32| matches!(decode(*word), Ok(Insn::Branch { test: Test::Always, .. }));
    added.last().is_some_and(is_closed).then_some(())?;
    let word = |(&word, from): (&u32, i64)| match decode(word) {
        Ok(Insn::Branch { test, offset }) => {
            let target = from + offset;
            if usize::try_from(target).is_ok_and(|target| target < added.len()) {
                return Some(word);
            }
            // The only branch that is sure to reach.
            (test == Test::Always).then_some(())?;
            let target = sequence.offset(4 * narrowed_target(target, length, width)?);
            encode::branch(words_between(at.offset(4 * from), target)?)
        }
        _ => Some(word),
    };
    let words: Option<Vec<u32>> = added.iter().zip(0_i64..).map(word).collect();
    let mut entrance = vec![encode::branch(words_between(sequence, at)?)?];
    entrance.resize(length, TRAP);
    Some((entrance, Trampoline { at, words: words? }))
}

/// The replacement that a file holds, in the form that is compared. `None`: it is not one that [`place`]
/// makes.
pub(crate) fn read(sequence: Svma, entrance: &[u32], trampoline: &Trampoline) -> Option<Vec<u32>> {
    let (length, added) = (entrance.len(), trampoline.words.len());
    let width = width(length, added);
    let word = |(&word, from): (&u32, i64)| match decode(word) {
        Ok(Insn::Branch { offset, .. }) => {
            let target = trampoline.at.offset(4 * (from + offset));
            if trampoline.extent().contains(target) {
                return Some(word);
            }
            let target = widened_target(words_between(sequence, target)?, length, width)?;
            encode::retargeted(word, target - from)
        }
        _ => Some(word),
    };
    let words: Option<Vec<u32>> = trampoline.words.iter().zip(0_i64..).map(word).collect();
    let words = words?;
    let is_same = place((sequence, length), &words, trampoline.at)
        .is_some_and(|(again, placed)| again == entrance && placed == *trampoline);
    is_same.then_some(words)
}

/// `None`: so far that no difference says it, or not whole instructions.
fn words_between(from: Svma, to: Svma) -> Option<i64> {
    let bytes = to.0.wrapping_sub(from.0).cast_signed();
    (bytes % 4 == 0).then_some(bytes / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCE: Svma = Svma(0x1000);

    #[test]
    fn what_was_placed_is_read_back() {
        // cbnz w1, #12; nop; b to after the sequence; b 5 instructions before it
        for length in 1..8 {
            let added = [
                0x3500_0061,
                NOP,
                leave(2, length as i64, length, 4).expect("near"),
                leave(3, -5, length, 4).expect("near"),
            ];
            for at in [Svma(0x2000), Svma(0x400_0000), Svma(0x10)] {
                let (entrance, trampoline) = place((SEQUENCE, length), &added, at).expect("within reach");
                assert_eq!(entrance.len(), length);
                assert_eq!(read(SEQUENCE, &entrance, &trampoline), Some(added.to_vec()));
                let back = match decode(trampoline.words[2]) {
                    Ok(Insn::Branch { offset, .. }) => at.offset(8 + 4 * offset),
                    other => panic!("{other:?}"),
                };
                assert_eq!(back, SEQUENCE.offset(4 * length as i64));
                for bit in 0..32 {
                    let mut other = entrance.clone();
                    other[length - 1] ^= 1 << bit;
                    assert_eq!(read(SEQUENCE, &other, &trampoline), None);
                }
            }
            assert_eq!(place((SEQUENCE, length), &added, Svma(0x1000_0000)), None, "128 MiB at most");
        }
    }

    #[test]
    fn nothing_leads_into_the_words_that_are_no_more() {
        assert_eq!(leave(0, 1, 3, 5), None);
        assert!(leave(0, 0, 3, 5).is_some());
        let (entrance, mut trampoline) =
            place((SEQUENCE, 3), &[NOP, leave(1, 3, 3, 2).expect("near")], Svma(0x2000)).expect("near");
        assert!(read(SEQUENCE, &entrance, &trampoline).is_some());
        // One instruction less; on into what follows.
        for word in [trampoline.words[1] - 1, NOP] {
            trampoline.words[1] = word;
            assert_eq!(read(SEQUENCE, &entrance, &trampoline), None);
        }
        assert_eq!(place((SEQUENCE, 3), &[NOP, NOP], Svma(0x2000)), None);
    }

    #[test]
    fn a_widened_sequence_is_left_behind_its_end() {
        // cbz w0, #8; b #12; cbnz w1, #-8
        let old = [0x3400_0040, 0x1400_0003, 0x35ff_ffc1];
        let wide = widened(&old, 5).expect("near");
        assert_eq!(wide, [0x3400_0040, 0x1400_0005, 0x35ff_ffc1, NOP, NOP]);
        assert_eq!(exit(4, 3, 5), 6);
        assert_eq!(exit(-2, 3, 5), -2);
    }
}
