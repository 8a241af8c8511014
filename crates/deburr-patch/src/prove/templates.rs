//! Patch stage: proofs of many pairs, each kind of pair proven once.
//!
//! In: pairs of sequences, as for [`prove`](crate::prove()). Out: what it would answer. Real code has few
//! loops, in many registers and with many exits (176,996 sites were 6,534 pairs of sequences). So a pair is
//! first brought to the registers x0, x1 and so on, in order of appearance, and its exits to the places after
//! it, in the same order. This is done with the operations, as they are all that a proof reads of an
//! instruction. Two queries that become equal are one query under a bijection of x0 to x30 and one of the
//! exits. SP and the zero register stay what they are. So does the place after the sequence, where it is left
//! without a branch.

use super::given::{Dead, Given};
use super::path::AccessKind;
use super::query::Query;
use super::refusal::{Difference, Proof, Refusal};
use crate::semantics::Insn;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Maximum of operations that are remembered, some 100 MB; what comes after is proven each time.
const MOST: usize = 1 << 21;

type Answer = Result<Proof, Refusal>;

/// Proves pairs, and remembers what it found. Threads may share one.
///
/// ```
/// use deburr_patch::{Prover, prove};
///
/// let prover = Prover::default();
/// // ldaxr w2, [x0]; stlxr w3, w1, [x0]; cbnz w3, #-8 by swpal w1, w2, [x0]; mov w3, wzr; nop
/// assert!(prover.prove(&[0x885ffc02, 0x8803fc01, 0x35ffffc3], &[0xb8e18002, 0x2a1f03e3, 0xd503201f]).is_ok());
/// // The same with w5 for w1, w7 for w2 and x9 for x0.
/// assert!(prover.prove(&[0x885ffd27, 0x8803fd25, 0x35ffffc3], &[0xb8e58127, 0x2a1f03e3, 0xd503201f]).is_ok());
/// assert_eq!(prover.templates(), 1);
/// ```
#[derive(Default)]
pub struct Prover {
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    answers: HashMap<Query, Answer>,
    operations: usize,
}

impl Prover {
    /// As [`prove`](crate::prove()).
    ///
    /// # Errors
    /// [`Refusal`], where the replacement is not shown to do the same; so for the others.
    pub fn prove(&self, old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
        self.prove_with(old, new, &[], &[])
    }

    /// As [`prove_given`](crate::prove_given()).
    ///
    /// # Errors
    /// As for [`Prover::prove`].
    pub fn prove_given(&self, old: &[u32], new: &[u32], given: &[Given]) -> Result<Proof, Refusal> {
        self.prove_with(old, new, given, &[])
    }

    /// As [`prove_with`](crate::prove_with()).
    ///
    /// # Errors
    /// As for [`Prover::prove`].
    pub fn prove_with(
        &self,
        old: &[u32],
        new: &[u32],
        given: &[Given],
        dead: &[Dead],
    ) -> Result<Proof, Refusal> {
        self.answer(Query::new(old, new, AccessKind::Atomic, given, dead)?)
    }

    /// As [`Prover::prove_with`], for the two arms of a choice at run time: where the CPU has the atomic, it runs
    /// already, so that nobody relies on the dependencies of the exclusives.
    ///
    /// # Errors
    /// As for [`Prover::prove`].
    pub fn prove_arms(&self, old: &[u32], new: &[u32], dead: &[Dead]) -> Result<Proof, Refusal> {
        self.answer(Query::new(old, new, AccessKind::Chosen, &[], dead)?)
    }

    /// As [`prove_loads`](crate::prove_loads()).
    ///
    /// # Errors
    /// As for [`Prover::prove`].
    pub fn prove_loads(&self, old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
        self.answer(Query::new(old, new, AccessKind::Loads, &[], &[])?)
    }

    /// As [`prove_retrying`](crate::prove_retrying()).
    ///
    /// # Errors
    /// As for [`Prover::prove`].
    pub fn prove_retrying(&self, old: &[u32], new: &[u32], dead: &[Dead]) -> Result<Proof, Refusal> {
        self.answer(Query::new(old, new, AccessKind::Retry, &[], dead)?)
    }

    /// How many pairs are remembered.
    pub fn templates(&self) -> usize {
        self.known.read().unwrap_or_else(PoisonError::into_inner).answers.len()
    }

    fn answer(&self, mut query: Query) -> Answer {
        let names = query.rename();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).answers.get(&query).cloned();
        let answer = known.unwrap_or_else(|| {
            let answer = query.answer();
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let operations = known.operations.saturating_add(query.steps.len());
            if operations <= MOST {
                known.operations = operations;
                known.answers.insert(query, answer.clone());
            }
            answer
        });
        answer.map_err(|refusal| names.restored(refusal))
    }
}

/// What the registers of a template are in the pair itself.
struct Names([u8; 31]);

impl Query {
    /// To the template's registers and exits.
    fn rename(&mut self) -> Names {
        // The template's register of each of the pair's, once it has one.
        let (mut to, mut count) = ([None; 31], 0_u8);
        let mut exits: Vec<i64> = Vec::new();
        let length = self.length();
        let end = length as i64;
        for (place, step) in self.steps.iter_mut().enumerate() {
            let Ok(insn) = step else { continue };
            insn.for_each_register(|register| {
                if let Some(name) = to.get_mut(usize::from(register.0)) {
                    register.0 = *name.get_or_insert_with(|| {
                        count += 1;
                        count - 1
                    });
                }
            });
            if let Insn::Branch { offset, .. } = insn {
                let here = (place % length) as i64;
                *offset = exit(&mut exits, end, here + *offset) - here;
            }
        }
        self.dead.retain_mut(|dead| {
            let left = dead.registers;
            let named = |(from, to): (usize, &Option<u8>)| to.filter(|_| left >> from & 1 != 0);
            dead.registers = to.iter().enumerate().filter_map(named).fold(0, |all, to| all | 1 << to);
            dead.registers != 0 && (dead.exit == end || exits.contains(&dead.exit))
        });
        for dead in &mut self.dead {
            dead.exit = exit(&mut exits, end, dead.exit);
        }
        self.dead.sort_unstable();
        for given in &mut self.given {
            given.register = to.get(usize::from(given.register)).copied().flatten().unwrap_or(given.register);
        }
        self.given.sort_unstable();
        let mut names = Names([0; 31]);
        for (from, to) in (0_u8..).zip(&mut to) {
            let to = to.get_or_insert_with(|| {
                count += 1;
                count - 1
            });
            if let Some(name) = names.0.get_mut(usize::from(*to)) {
                *name = from;
            }
        }
        names
    }
}

/// Where a branch goes: inside and to the instruction after it as it is, elsewhere as the first, second and
/// so on after that.
fn exit(exits: &mut Vec<i64>, end: i64, target: i64) -> i64 {
    if (0..=end).contains(&target) {
        return target;
    }
    let known = exits.iter().position(|exit| *exit == target);
    let number = known.unwrap_or_else(|| {
        exits.push(target);
        exits.len() - 1
    });
    end + 1 + number as i64
}

impl Names {
    fn of(&self, register: u8) -> u8 {
        self.0.get(usize::from(register)).copied().unwrap_or(register)
    }

    /// In the pair's registers again.
    fn restored(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Different { difference, mut state } => {
                let renamed = state.registers;
                for (to, value) in renamed.iter().enumerate() {
                    if let Some(register) =
                        self.0.get(to).and_then(|from| state.registers.get_mut(usize::from(*from)))
                    {
                        *register = *value;
                    }
                }
                let difference = match difference {
                    Difference::Register(number) => Difference::Register(self.of(number)),
                    Difference::Dependency(number) => Difference::Dependency(self.of(number)),
                    other => other,
                };
                Refusal::Different { difference, state }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::semantics::{Register, SP, ZERO, decode};

    #[test]
    fn every_register_of_a_word_is_shown() {
        let mut state = 1_u64;
        let mut shown = 0;
        for _ in 0..2_000_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = (state >> 32) as u32;
            let Ok(mut insn) = decode(word) else { continue };
            let kind = std::mem::discriminant(&insn);
            // What Debug prints of it has as many registers, whatever the fields are called.
            let printed = format!("{insn:?}").matches("Register(").count();
            let mut seen = 0;
            insn.for_each_register(|register| {
                assert!(register.0 <= 30 || [SP, ZERO].contains(register));
                seen += 1;
                *register = Register(7);
            });
            assert_eq!(seen, printed, "{word:#010x}: {insn:?}");
            assert_eq!(format!("{insn:?}").matches("Register(7)").count(), printed, "{word:#010x}: {insn:?}");
            assert_eq!(kind, std::mem::discriminant(&insn));
            shown += seen;
        }
        assert!(shown > 400_000, "{shown}");
    }
}
