//! Patch stage, audit: what a replacement of exclusives needs to be the same.
//!
//! In: a graph and a change. Out: the registers that nobody may read, by exit. First nothing is taken as known; then what
//! this audit knows of the high bits of registers.

use super::evaluate::{Evaluator, Known, Manner, Need, Program};
use super::fields::{self, Flow};
use super::graph::Graph;
use super::registers;
use crate::subject::{Fact, Subject};
use deburr_core::address::CodeOffset;
use std::collections::BTreeSet;

/// Where the branches of a sequence leave it, in instructions from its first.
pub(crate) fn branches(words: &[u32]) -> BTreeSet<i64> {
    let length = words.len() as i64;
    let target = |(index, word): (i64, &u32)| match fields::flow(*word) {
        Flow::Jump(bytes) | Flow::Branch(bytes) => Some(index + bytes / 4),
        _ => None,
    };
    (0..).zip(words).filter_map(target).filter(|target| !(0..length).contains(target)).collect()
}

/// What a change needs.
///
/// # Errors
/// The [`Fact`] that differs whatever registers are read.
pub(crate) fn needs(
    graph: &Graph<'_>,
    evaluator: &Evaluator,
    subject: &Subject<'_>,
    at: CodeOffset,
) -> Result<Vec<Need>, Fact> {
    let length = subject.old.len();
    let old = Program::new(subject.old, 0, length)?;
    let new = replacement(subject)?;
    let may_retry = subject.trampoline.is_some();
    let evaluate = |known: &[Known]| {
        evaluator.evaluate([old.clone(), new.clone()], Manner::Exclusives { may_retry }, known, length)
    };
    let plain = evaluate(&[]);
    if may_retry || plain.as_ref().is_ok_and(Vec::is_empty) {
        return plain;
    }
    let read = subject.old.iter().fold(0, |all, word| all | fields::registers(*word).reads);
    let numbers = (0..31_u8).filter(|number| read >> number & 1 != 0);
    let known =
        numbers.map(|register| Known { register, zero_from: registers::zero_from(graph, at, register) });
    let known: Vec<Known> = known.filter(|known| known.zero_from < 64).collect();
    if known.is_empty() {
        return plain;
    }
    match (plain, evaluate(&known)) {
        (_, Ok(needs)) if needs.is_empty() => Ok(needs),
        (Ok(needs), _) => Ok(needs),
        (Err(_), with_known) => with_known,
    }
}

/// The new instructions: those in place, or those in added space that a branch in place leads to.
fn replacement(subject: &Subject<'_>) -> Result<Program, Fact> {
    let length = subject.old.len();
    let Some(added) = subject.trampoline else { return Program::new(subject.new, 0, length) };
    let first = subject.new.first().map(|word| fields::flow(*word));
    let bytes = added.at.0.wrapping_sub(subject.at.0).cast_signed();
    if first != Some(Flow::Jump(bytes)) || bytes % 4 != 0 {
        return Err(Fact::Exit);
    }
    Program::new(&added.words, bytes / 4, length)
}
