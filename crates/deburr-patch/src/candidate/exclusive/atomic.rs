//! Patch stage: the one access of a replacement, and the replacement around it.
//!
//! In: a sequence, and the LSE instruction that is to access memory in its place. Out: the instructions of
//! whole replacements: what sets the access up, the access, the sequence's arithmetic once more.

use super::sequence::{Sequence, Status};
use crate::semantics::{Operand, Register, Shift};

/// The one access of a replacement, and what comes before it.
pub(super) struct Atomic {
    /// Instructions of the body that run before it instead of after it: none, or all.
    pub(super) hoists: bool,
    pub(super) setup: Option<u32>,
    pub(super) word: u32,
    /// The register that only has to be right in its low bits if it is known to be extended.
    pub(super) operand: Option<Register>,
}

impl Sequence<'_> {
    /// The instructions of a replacement; several where it is not clear what has to become of the flags.
    pub(super) fn assemble(&self, atomic: &Atomic) -> Vec<Vec<u32>> {
        let finishes: &[bool] = if self.compares_status { &[false, true] } else { &[false] };
        finishes.iter().filter_map(|&flags| self.assemble_one(atomic, flags)).collect()
    }

    pub(super) fn assemble_one(&self, atomic: &Atomic, flags: bool) -> Option<Vec<u32>> {
        let access = atomic.setup.into_iter().chain([atomic.word]);
        match atomic.hoists {
            true => {
                let first = self.body.iter().map(|step| step.word).chain(access).collect();
                self.finish(first, &[], Status::Zero { flags })
            }
            false => self.finish(access.collect(), &self.body, Status::Zero { flags }),
        }
    }
}

/// An operand, and where its extension goes beyond the bits that count, the register itself first.
pub(super) fn operands(operand: Operand, bits: usize) -> Vec<Operand> {
    match operand {
        Operand::Extended { rm, bits: extended, by: 0, .. } if extended >= bits => {
            vec![Operand::Shifted(rm, Shift::Left, 0), operand]
        }
        _ => vec![operand],
    }
}
