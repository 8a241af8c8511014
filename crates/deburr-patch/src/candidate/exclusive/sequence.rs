//! Patch stage: a load-exclusive/store-exclusive sequence as compilers write it.
//!
//! In: the instructions from a load-exclusive on. Out: a [`Sequence`], or the [`NoShape`] that says why it is
//! none: what is loaded, the body that computes with it, what is stored, and what tests the status. A whole
//! replacement is put together here too, as its end is the sequence's end.

use crate::semantics::encode::{self, NOP};
use crate::semantics::{Insn, Logic, Operand, Reference, Register, Shift, Test, Width, ZERO, decode};
use crate::site::NoShape;

/// Instructions of a body; compilers write no more than five.
const BODY: usize = 16;
/// Instructions that are read after the store-exclusive, up to the test of its status.
const TAIL: usize = 4;

/// What a replacement does to the status register.
#[derive(Clone, Copy)]
pub(super) enum Status {
    /// 0 in it, and flags as of a comparison with 0.
    Zero { flags: bool },
    /// Nothing more.
    Left,
}

/// An instruction between the exclusives.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) insn: Insn,
    pub(super) word: u32,
    /// Where a branch leads, in instructions from the load-exclusive.
    pub(super) to: Option<i64>,
}

/// A sequence as compilers write it: the load-exclusive, a body, the store-exclusive, and what tests its
/// status.
pub(super) struct Sequence<'a> {
    pub(super) words: &'a [u32],
    /// Index of the store-exclusive.
    pub(super) store: usize,
    /// One past its last instruction.
    pub(super) end: usize,
    /// Both orders together.
    pub(super) reference: Reference,
    pub(super) old: Register,
    pub(super) new: Register,
    /// Of a pair of registers the second ones, loaded and stored.
    pub(super) high: Option<[Register; 2]>,
    pub(super) status: Register,
    pub(super) body: Vec<Step>,
    /// Instructions after the store-exclusive that have nothing to do with its status.
    pub(super) tail: Vec<u32>,
    /// Whether the status is compared with 0, so that flags show it.
    pub(super) compares_status: bool,
    /// Where it goes on, if not after its end.
    pub(super) goes_to: Option<i64>,
}

impl Sequence<'_> {
    pub(super) fn read(words: &[u32]) -> Result<Sequence<'_>, NoShape> {
        let word_at = |at: usize| words.get(at).copied().ok_or(NoShape::Apart);
        let (reference, old, second) = match decode(word_at(0)?) {
            Ok(Insn::LoadExclusive { reference, rt }) => (reference, rt, None),
            Ok(Insn::LoadExclusivePair { reference, rt: [rt, second] }) => (reference, rt, Some(second)),
            _ => return Err(NoShape::Body),
        };
        let (mut body, mut at) = (Vec::new(), 1);
        let (stored, status, new, second_new) = loop {
            if at > BODY {
                return Err(NoShape::Apart);
            }
            let word = word_at(at)?;
            match decode(word) {
                Ok(Insn::StoreExclusive { reference, rs, rt }) => break (reference, rs, rt, None),
                Ok(Insn::StoreExclusivePair { reference, rs, rt: [rt, second] }) => {
                    break (reference, rs, rt, Some(second));
                }
                Ok(Insn::LoadExclusive { .. } | Insn::LoadExclusivePair { .. }) => {
                    return Err(NoShape::Apart);
                }
                Ok(Insn::Barrier(_) | Insn::ClearExclusive) | Err(_) => return Err(NoShape::Body),
                Ok(Insn::Branch { test: Test::Always, .. }) => return Err(NoShape::BranchInside),
                Ok(Insn::Branch { offset, .. }) => {
                    let (step, next) = exit_at(words, at, offset).ok_or(NoShape::BranchInside)?;
                    body.push(step);
                    at = next;
                    continue;
                }
                Ok(insn) => body.push(Step { insn, word, to: None }),
            }
            at += 1;
        };
        let high = second.zip(second_new).map(|(old, new)| [old, new]);
        let is_partner = high.is_some() || second.is_none() && second_new.is_none();
        if !is_partner || (stored.bits, stored.base) != (reference.bits, reference.base) {
            return Err(NoShape::Apart);
        }
        let overwrites_base = |step: &Step| step.insn.destination() == Some(reference.base);
        if [Some(old), second].contains(&Some(reference.base)) || body.iter().any(overwrites_base) {
            return Err(NoShape::Base);
        }
        let reference = Reference { acquire: reference.acquire, release: stored.release, ..reference };
        let mut sequence = Sequence {
            words,
            store: at,
            end: at + 1,
            reference,
            old,
            new,
            high,
            status,
            body,
            tail: Vec::new(),
            compares_status: false,
            goes_to: None,
        };
        sequence.find_end();
        let stays_inside = |to: i64| to > 0 && to < sequence.end as i64;
        match sequence.body.iter().filter_map(|step| step.to).any(stays_inside) {
            true => Err(NoShape::BranchInside),
            false => Ok(sequence),
        }
    }

    /// Takes in what tests the status, and what is between.
    pub(super) fn find_end(&mut self) {
        let mut tail = Vec::new();
        for at in self.store + 1..=self.store + TAIL {
            let Some(&word) = self.words.get(at) else { return };
            let Ok(insn) = decode(word) else { return };
            match insn {
                Insn::Branch { test: Test::Bits { rt, from: 0, bits: 32.., set }, offset }
                    if rt == self.status =>
                {
                    (self.tail, self.end) = (tail, at + 1);
                    if !set {
                        self.goes_to = Some(at as i64 + offset);
                        // `b` back to the load-exclusive: its place is free.
                        let next = self.words.get(at + 1).map(|&word| decode(word));
                        if matches!(next, Some(Ok(Insn::Branch { test: Test::Always, .. }))) {
                            self.end += 1;
                        }
                    }
                    return;
                }
                Insn::AddSubtract {
                    subtract: true,
                    flags: true,
                    rd: ZERO,
                    rn,
                    operand: Operand::Value(0) | Operand::Shifted(ZERO, ..),
                    ..
                } if rn == self.status => {
                    (self.tail, self.end, self.compares_status) = (tail, at + 1, true);
                    return;
                }
                Insn::Branch { .. } => return,
                _ if insn.destination().is_none() || insn.reads(self.status) => return,
                _ if insn.destination() == Some(self.status) => return,
                _ => tail.push(word),
            }
        }
    }

    pub(super) fn width(&self) -> Width {
        Width(self.reference.bits.max(32))
    }

    /// Whether a register holds the loaded value at an index of the body, or what an extension made of it.
    pub(super) fn is_old(&self, register: Register, before: usize) -> bool {
        match self.made_by(register, before) {
            None => register == self.old,
            Some((at, Insn::Bitfield { rn, immr: 0, .. })) => self.is_old(*rn, at),
            Some((
                at,
                Insn::Logical {
                    logic: Logic::And,
                    flags: false,
                    rn,
                    operand: Operand::Value(0xff | 0xffff | 0xffff_ffff),
                    ..
                },
            )) => self.is_old(*rn, at),
            Some(_) => false,
        }
    }

    /// The last instruction of the body before an index that writes a register.
    pub(super) fn made_by(&self, register: Register, before: usize) -> Option<(usize, &Insn)> {
        let body = self.body.get(..before)?.iter().map(|step| &step.insn).enumerate();
        body.rev().find(|(_, insn)| insn.destination() == Some(register) && register != ZERO)
    }

    /// A whole replacement: what comes up to the access, the steps after it, and what becomes of the status
    /// register.
    pub(super) fn finish(&self, first: Vec<u32>, steps: &[Step], status: Status) -> Option<Vec<u32>> {
        let mut new = first;
        for step in steps {
            new.push(match step.to {
                Some(to) => encode::retargeted(step.word, to - new.len() as i64)?,
                None => step.word,
            });
        }
        match status {
            Status::Zero { flags } => new.push(encode::zero(self.status, flags)),
            Status::Left => {}
        }
        new.extend(&self.tail);
        if let Some(to) = self.goes_to.filter(|&to| to != self.end as i64) {
            new.push(encode::branch(to - new.len() as i64)?);
        }
        if new.len() > self.end {
            return None;
        }
        new.resize(self.end, NOP);
        Some(new)
    }

    /// Of two operands the one that is not the loaded value.
    pub(super) fn other(&self, rn: Register, operand: Operand, at: usize) -> Option<Operand> {
        match operand {
            _ if self.is_old(rn, at) => Some(operand),
            Operand::Shifted(rm, Shift::Left, 0) if self.is_old(rm, at) => {
                Some(Operand::Shifted(rn, Shift::Left, 0))
            }
            Operand::Extended { rm, by: 0, .. } if self.is_old(rm, at) => {
                Some(Operand::Shifted(rn, Shift::Left, 0))
            }
            _ => None,
        }
    }
}

/// The branch at an index of the instructions as an exit, and the index where the body goes on. gcc and clang
/// also write the opposite branch over the exit: `cbz old, on; clrex; b out; on:`.
fn exit_at(words: &[u32], at: usize, offset: i64) -> Option<(Step, usize)> {
    let word = *words.get(at)?;
    let to = at as i64 + offset;
    let between = usize::try_from(to).ok().and_then(|to| words.get(at + 1..to)).unwrap_or_default();
    let (word, out, next) = match between.iter().map(|&word| decode(word)).collect::<Vec<_>>()[..] {
        [Ok(Insn::Branch { test: Test::Always, offset })] => {
            (encode::inverted(word)?, at as i64 + 1 + offset, at + 2)
        }
        [Ok(Insn::ClearExclusive), Ok(Insn::Branch { test: Test::Always, offset })] => {
            (encode::inverted(word)?, at as i64 + 2 + offset, at + 3)
        }
        _ => (word, to, at + 1),
    };
    Some((Step { insn: decode(word).ok()?, word, to: Some(out) }, next))
}
