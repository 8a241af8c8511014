//! Patch stage: what a sequence does as a whole.
//!
//! In: the instructions of a sequence. Out: where its branches lead, which registers it writes, and whether
//! it may start again with another value in one of them.

use super::decode::decode;
use super::insn::{Insn, Register};

/// Whether a sequence writes a register and may then go back, to its own start or before that. After the
/// store-exclusive it only goes back where that failed.
pub(crate) fn goes_back_with_another(words: &[u32], register: Register) -> bool {
    let mut is_written = false;
    for (&word, at) in words.iter().zip(0_i64..) {
        match decode(word) {
            Ok(Insn::StoreExclusive { .. } | Insn::StoreExclusivePair { .. }) => break,
            Ok(Insn::Branch { offset, .. }) if is_written && at + offset <= 0 => return true,
            Ok(Insn::LoadExclusive { rt, .. }) => is_written |= rt == register,
            Ok(Insn::LoadExclusivePair { rt, .. }) => is_written |= rt.contains(&register),
            Ok(insn) => is_written |= insn.destination() == Some(register),
            Err(_) => return true,
        }
    }
    false
}

/// Where branches among some instructions lead, in instructions from the first.
pub(crate) fn exits(words: &[u32]) -> impl Iterator<Item = i64> {
    words.iter().zip(0_i64..).filter_map(|(&word, at)| match decode(word) {
        Ok(Insn::Branch { offset, .. }) => Some(at + offset),
        _ => None,
    })
}

/// The registers that some instructions write: bit n is xn.
pub(crate) fn written(words: &[u32]) -> u32 {
    let registers = words.iter().filter_map(|&word| decode(word).ok()).flat_map(|insn| match insn {
        Insn::LoadExclusive { rt, .. } | Insn::Update { rt, .. } => [Some(rt), None],
        Insn::StoreExclusive { rs, .. }
        | Insn::StoreExclusivePair { rs, .. }
        | Insn::CompareAndSwap { rs, .. } => [Some(rs), None],
        Insn::LoadExclusivePair { rt: pair, .. } | Insn::CompareAndSwapPair { rs: pair, .. } => {
            pair.map(Some)
        }
        insn => [insn.destination(), None],
    });
    let registers = registers.flatten();
    registers.filter(|register| register.0 < 31).fold(0, |all, register| all | 1 << register.0)
}
