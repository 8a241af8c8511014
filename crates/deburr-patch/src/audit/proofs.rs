//! Patch stage, audit: what a replacement of exclusives needs to be the same.
//!
//! In: a graph and a change. Out: the registers that must be dead, by exit, as few as the proof gets by with.
//! First nothing is taken as known; then what this audit knows of the high bits of registers; and last which
//! registers nobody reads.

use super::fields::{self, ALL, Flow};
use super::graph::Graph;
use super::registers;
use super::subject::Subject;
use crate::candidate::trampoline;
use crate::prove::{Dead, Given, Prover};
use deburr_core::address::CodeOffset;
use std::collections::BTreeSet;

/// What a replacement rests on: exits, in instructions from its first, each with a register that nobody may
/// read there.
pub(crate) type Needs = Vec<(i64, u8)>;

/// A change in the form that is proven.
struct Query<'a> {
    prover: &'a Prover,
    old: Vec<u32>,
    new: Vec<u32>,
    /// Instructions of the sequence, before it was widened.
    length: usize,
    may_retry: bool,
}

/// The exits of a sequence, in instructions from its first.
pub(crate) fn exits(words: &[u32]) -> BTreeSet<i64> {
    let length = words.len() as i64;
    let mut exits = branches(words);
    exits.insert(length);
    exits
}

/// Where the branches of a sequence leave it.
pub(crate) fn branches(words: &[u32]) -> BTreeSet<i64> {
    let length = words.len() as i64;
    let target = |(index, word): (i64, &u32)| match fields::flow(*word) {
        Flow::Jump(bytes) | Flow::Branch(bytes) => Some(index + bytes / 4),
        _ => None,
    };
    (0..).zip(words).filter_map(target).filter(|target| !(0..length).contains(target)).collect()
}

/// What a change needs; `None`: it is not proven whatever is dead.
pub(crate) fn needs(
    graph: &Graph<'_>,
    prover: &Prover,
    subject: &Subject<'_>,
    at: CodeOffset,
) -> Option<Needs> {
    let query = Query::of(prover, subject)?;
    if query.proves(&[], &[]) {
        return Some(Vec::new());
    }
    let read = subject.old.iter().fold(0, |all, word| all | fields::registers(*word).reads);
    let numbers = |set: u32| (0..31_u8).filter(move |number| set >> number & 1 != 0);
    let given: Vec<Given> = numbers(read)
        .map(|register| Given { register, zero_from: registers::zero_from(graph, at, register) })
        .filter(|given| given.zero_from < 64)
        .collect();
    let given = if query.may_retry { Vec::new() } else { given };
    if !given.is_empty() && query.proves(&given, &[]) {
        return Some(Vec::new());
    }
    let words = query.old.iter().chain(&query.new);
    let written = words.fold(0, |all, word| all | fields::registers(*word).writes) & ALL;
    let mut needed: BTreeSet<(i64, u8)> = exits(subject.old)
        .into_iter()
        .flat_map(|exit| numbers(written).map(move |register| (exit, register)))
        .collect();
    let given = [Vec::new(), given].into_iter().find(|given| query.proves(given, &query.dead(&needed)))?;
    for one in needed.clone() {
        needed.remove(&one);
        if !query.proves(&given, &query.dead(&needed)) {
            needed.insert(one);
        }
    }
    Some(needed.into_iter().collect())
}

impl<'a> Query<'a> {
    fn of(prover: &'a Prover, subject: &Subject<'_>) -> Option<Query<'a>> {
        let length = subject.old.len();
        let Some(added) = subject.trampoline else {
            let (old, new) = (subject.old.to_vec(), subject.new.to_vec());
            return Some(Query { prover, old, new, length, may_retry: false });
        };
        let new = trampoline::read(subject.at, subject.new, added)?;
        let width = trampoline::width(length, new.len());
        let old = trampoline::widened(subject.old, width)?;
        Some(Query { prover, old, new: trampoline::filled(new, width), length, may_retry: true })
    }

    fn proves(&self, given: &[Given], dead: &[Dead]) -> bool {
        self.prover.prove_with(&self.old, &self.new, given, dead).is_ok()
            || self.may_retry && self.prover.prove_retrying(&self.old, &self.new, dead).is_ok()
    }

    fn dead(&self, registers: &BTreeSet<(i64, u8)>) -> Vec<Dead> {
        let exits: BTreeSet<i64> = registers.iter().map(|(exit, _)| *exit).collect();
        let dead = exits.into_iter().map(|exit| {
            let here = registers.iter().filter(|(other, _)| *other == exit);
            let registers = here.fold(0, |all, (_, register)| all | 1 << register);
            Dead { exit: trampoline::exit(exit, self.length, self.old.len()), registers }
        });
        dead.collect()
    }
}
