//! Patch stage: what may take the place of a read-modify-write of one register.
//!
//! In: a sequence that always stores. Out: the LSE instructions that make of the loaded value what it stores:
//! `swp`, `ldadd`, `ldset`, `ldclr`, `ldeor`, minimum or maximum.

use super::atomic::{Atomic, operands};
use super::sequence::{Sequence, Step};
use crate::semantics::encode::{self, Prepare};
use crate::semantics::{AtomicOp, Field, Insn, Logic, Operand, Register, Shift, ZERO};

impl Sequence<'_> {
    /// For a sequence that always stores.
    pub(super) fn updates(&self) -> Vec<Atomic> {
        let plain = |register: Register| Operand::Shifted(register, Shift::Left, 0);
        let Some((at, insn)) = self.maker(self.new, self.body.len()) else {
            return match self.new == self.old {
                true => self.update(AtomicOp::Add, plain(ZERO), Prepare::AsIs, false),
                false => self.update(AtomicOp::Swap, plain(self.new), Prepare::AsIs, false),
            };
        };
        let made = match *insn {
            Insn::AddSubtract { subtract, rn, operand, .. } => {
                let prepare = if subtract { Prepare::Negate } else { Prepare::AsIs };
                let other = if subtract && !self.is_old(rn, at) { None } else { self.other(rn, operand, at) };
                other.map(|other| self.update(AtomicOp::Add, other, prepare, false))
            }
            // `mvn`: all bits change.
            Insn::Logical {
                logic: Logic::Or,
                invert: true,
                rn: ZERO,
                operand: Operand::Shifted(rm, Shift::Left, 0),
                ..
            } if self.is_old(rm, at) => {
                Some(self.update(AtomicOp::Xor, Operand::Value(u64::MAX), Prepare::AsIs, false))
            }
            Insn::Logical { logic, invert, rn, operand, .. } => {
                let other = match invert && logic != Logic::Xor && !self.is_old(rn, at) {
                    true => None,
                    false => self.other(rn, operand, at),
                };
                let (change, inverts) = match logic {
                    Logic::And => (AtomicOp::Clear, !invert),
                    Logic::Or => (AtomicOp::Set, invert),
                    Logic::Xor => (AtomicOp::Xor, invert),
                };
                let prepare = if inverts { Prepare::Invert } else { Prepare::AsIs };
                other.map(|other| self.update(change, other, prepare, false))
            }
            Insn::Select { rn, rm, .. } => {
                let other = if self.is_old(rn, at) { rm } else { rn };
                let signs = [true, false].into_iter();
                let changes =
                    signs.flat_map(|signed| [AtomicOp::Maximum { signed }, AtomicOp::Minimum { signed }]);
                Some(
                    changes
                        .flat_map(|change| self.update(change, plain(other), Prepare::AsIs, false))
                        .collect(),
                )
            }
            _ => None,
        };
        let hoisted = || match self.depends_on_old() {
            true => Vec::new(),
            false => self.update(AtomicOp::Swap, plain(self.new), Prepare::AsIs, true),
        };
        made.filter(|made: &Vec<Atomic>| !made.is_empty()).unwrap_or_else(hoisted)
    }

    /// The instruction that makes what is stored, extensions aside.
    pub(super) fn maker(&self, register: Register, before: usize) -> Option<(usize, &Insn)> {
        let (at, insn) = self.made_by(register, before)?;
        match insn {
            Insn::Bitfield { field: Field::Unsigned | Field::Signed, rn, immr: 0, imms, .. }
                if imms + 1 >= self.reference.bits && !self.is_old(*rn, at) =>
            {
                self.maker(*rn, at)
            }
            _ => Some((at, insn)),
        }
    }

    pub(super) fn depends_on_old(&self) -> bool {
        self.body.iter().any(|Step { insn, .. }| insn.reads(self.old) || insn.destination() == Some(self.old))
    }

    pub(super) fn update(
        &self,
        change: AtomicOp,
        operand: Operand,
        prepare: Prepare,
        hoists: bool,
    ) -> Vec<Atomic> {
        // The zero register would be no load.
        let rt = if self.old == ZERO { self.status } else { self.old };
        let low = operand.register();
        let direct = operands(operand, self.reference.bits).into_iter().find_map(|operand| match operand {
            Operand::Shifted(register, Shift::Left, 0) if prepare == Prepare::AsIs => Some(register),
            _ => None,
        });
        let made = |setup, rs| Atomic {
            hoists,
            setup,
            word: encode::update(change, self.reference, rs, rt),
            operand: low,
        };
        if let Some(rs) = direct {
            return vec![made(None, rs)];
        }
        let scratch = operands(operand, self.reference.bits)
            .into_iter()
            .filter_map(|operand| encode::prepare(prepare, self.width(), self.status, operand));
        scratch.map(|word| made(Some(word), self.status)).collect()
    }
}
