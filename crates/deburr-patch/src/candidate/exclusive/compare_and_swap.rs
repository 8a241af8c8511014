//! Patch stage: what may take the place of a compare-and-swap of one register.
//!
//! In: a sequence that leaves before the store where the loaded value is not the expected one. Out:
//! replacements with `cas`, which get the expected value where the loaded one comes.

use super::atomic::{Atomic, operands};
use super::sequence::{Sequence, Status, Step};
use crate::semantics::encode::{self, Prepare};
use crate::semantics::{Insn, Logic, Operand, Test, Width};

impl Sequence<'_> {
    /// For a sequence that leaves by the branch `exit` of its body where the loaded value is not as expected.
    pub(super) fn compare_and_swaps(&self, exit: usize) -> Vec<Atomic> {
        let Some(expected) = self.expected(exit) else { return Vec::new() };
        let word = encode::compare_and_swap(self.reference, self.old, self.new);
        let operand = expected.register();
        let atomic = |setup: u32| Atomic { hoists: false, setup: Some(setup), word, operand };
        self.setups(expected).map(atomic).collect()
    }

    /// Instructions that bring what is compared with to where the loaded value comes.
    pub(super) fn setups(&self, expected: Operand) -> impl Iterator<Item = u32> {
        let operands = operands(expected, self.reference.bits).into_iter();
        operands.filter_map(|operand| encode::prepare(Prepare::AsIs, self.width(), self.old, operand))
    }

    /// For a compare-and-swap whose new value is made between the exclusives: it has to be made before, where
    /// nothing may need what it overwrites.
    pub(super) fn making_new_first(&self, exit: usize) -> Vec<Vec<u32>> {
        let Some(expected) = self.expected(exit) else { return Vec::new() };
        let (Some(before), Some(making)) = (self.body.get(..=exit), self.body.get(exit + 1..)) else {
            return Vec::new();
        };
        let is_made = making.iter().any(|step| step.insn.destination() == Some(self.new));
        if !is_made || making.iter().any(|step| step.insn.reads(self.old) || step.to.is_some()) {
            return Vec::new();
        }
        let words = || making.iter().map(|step| step.word);
        let again: Vec<Step> = before.iter().chain(making).copied().collect();
        let cas = |new| encode::compare_and_swap(self.reference, self.old, new);
        let zero = Status::Zero { flags: false };
        let mut found = Vec::new();
        for setup in self.setups(expected) {
            if self.new != self.old {
                let last = [setup, cas(self.new)];
                found.push(self.finish(words().chain(last).collect(), before, zero));
            }
            // In the status register, and again in its own place.
            if let [Step { word, .. }] = making {
                let first = vec![word & !31 | u32::from(self.status.0 & 31), setup, cas(self.status)];
                found.push(self.finish(first.clone(), &again, zero));
                found.push(self.finish(first, &again, Status::Left));
            }
            // Over what it is compared with, which the status register then keeps for the comparison.
            let overwritten = expected
                .register()
                .filter(|&register| making.iter().any(|step| step.insn.destination() == Some(register)));
            if let Some(register) = overwritten.filter(|_| self.new != self.old) {
                let kept = encode::copy(Width(64), self.status, register);
                let first = [kept, setup].into_iter().chain(words()).chain([cas(self.new)]).collect();
                let compared = before.iter().map(|step| match step.insn {
                    Insn::AddSubtract {
                        operand: Operand::Shifted(..) | Operand::Extended { .. }, ..
                    } => Step { word: encode::with_source(step.word, register, self.status), ..*step },
                    _ => *step,
                });
                found.push(self.finish(first, &compared.collect::<Vec<_>>(), Status::Left));
            }
        }
        found.into_iter().flatten().collect()
    }

    /// What the loaded value is compared with.
    pub(super) fn expected(&self, exit: usize) -> Option<Operand> {
        const NOT_EQUAL: u8 = 1;
        match &self.body.get(exit)?.insn {
            Insn::Branch { test: Test::Bits { rt, from: 0, bits, set: true }, .. }
                if *bits >= self.width().0 =>
            {
                if self.is_old(*rt, exit) {
                    return Some(Operand::Value(0));
                }
                let (at, insn) = self.made_by(*rt, exit)?;
                match *insn {
                    Insn::Logical { logic: Logic::Xor, invert: false, rn, operand, .. } => {
                        self.other(rn, operand, at)
                    }
                    Insn::AddSubtract { subtract: true, rn, operand, .. } => self.other(rn, operand, at),
                    _ => None,
                }
            }
            Insn::Branch { test: Test::Condition(NOT_EQUAL), .. } => {
                let mut before = self.body.get(..exit)?.iter().map(|step| &step.insn).enumerate().rev();
                let (at, insn) = before.find(|(_, insn)| insn.sets_flags())?;
                match *insn {
                    Insn::AddSubtract { subtract: true, rn, operand, .. } => self.other(rn, operand, at),
                    Insn::AddSubtract { subtract: false, rn, operand: Operand::Value(value), .. } => {
                        self.is_old(rn, at).then_some(Operand::Value(value.wrapping_neg()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
