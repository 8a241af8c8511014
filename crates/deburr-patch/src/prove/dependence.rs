//! Patch stage: what each value of a path is computed from, and what its branches depend on.
//!
//! In: the operations of a path, one after another. Out: a [`Dependence`]. A processor orders an access after the load whose value makes its
//! address or its data, and a store after the load that a branch before it depends on, whatever the values are
//! (Arm ARM, B2.3, "Dependency definitions"). So `eor x1, x1, x1` depends on x1, and a branch to the next
//! instruction orders. The status of a store-exclusive depends on nothing that was loaded.

use crate::semantics::{Field, Insn, Operand, Register, Test};

/// A set of sources: bit n is what x`n` had at the start, 31 SP, then the flags and what the access loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sources(u64);

const FLAGS: Sources = Sources(1 << 32);
pub(crate) const LOADED: Sources = Sources(1 << 33);

impl Sources {
    fn with(self, other: Sources) -> Sources {
        Sources(self.0 | other.0)
    }

    /// Whether all of these are among others.
    pub(crate) fn are_in(self, others: Sources) -> bool {
        self.0 & !others.0 == 0
    }

    pub(crate) fn without(self, others: Sources) -> Sources {
        Sources(self.0 & !others.0)
    }
}

/// What a path has computed from what so far.
#[derive(Clone, Copy)]
pub(crate) struct Dependence {
    /// By register, SP last.
    pub(crate) registers: [Sources; 32],
    pub(crate) flags: Sources,
    /// What the branches so far depend on, and so whatever stores after them.
    pub(crate) control: Sources,
}

impl Dependence {
    /// Before the first operation.
    pub(crate) fn start() -> Dependence {
        Dependence {
            registers: std::array::from_fn(|number| Sources(1 << number)),
            flags: FLAGS,
            control: Sources::default(),
        }
    }

    fn of(&self, register: Register) -> Sources {
        self.registers.get(usize::from(register.0)).copied().unwrap_or_default()
    }

    fn of_operand(&self, operand: Operand) -> Sources {
        match operand {
            Operand::Value(_) => Sources::default(),
            Operand::Shifted(rm, _, _) | Operand::Extended { rm, .. } => self.of(rm),
        }
    }

    fn set(&mut self, register: Register, sources: Sources) {
        if let Some(slot) = self.registers.get_mut(usize::from(register.0)) {
            *slot = sources;
        }
    }

    /// Takes in the next operation.
    pub(crate) fn follow(&mut self, insn: &Insn) {
        match *insn {
            Insn::Nothing | Insn::ClearExclusive | Insn::Barrier(_) => {}
            Insn::Move { rd, .. } => self.set(rd, Sources::default()),
            // It keeps the rest of the register.
            Insn::Keep { .. } => {}
            Insn::AddSubtract { flags, rd, rn, operand, .. }
            | Insn::Logical { flags, rd, rn, operand, .. } => {
                let sources = self.of(rn).with(self.of_operand(operand));
                self.set(rd, sources);
                if flags {
                    self.flags = sources;
                }
            }
            // An insertion keeps the rest of the register.
            Insn::Bitfield { rd, rn, field: Field::Insert, .. } => {
                self.set(rd, self.of(rn).with(self.of(rd)));
            }
            Insn::Bitfield { rd, rn, .. } => self.set(rd, self.of(rn)),
            Insn::Extract { rd, rn, rm, .. } | Insn::ShiftBy { rd, rn, rm, .. } => {
                self.set(rd, self.of(rn).with(self.of(rm)));
            }
            Insn::MultiplyAdd { rd, rn, rm, ra, .. } => {
                self.set(rd, self.of(rn).with(self.of(rm)).with(self.of(ra)));
            }
            Insn::Select { rd, rn, rm, .. } => {
                self.set(rd, self.of(rn).with(self.of(rm)).with(self.flags));
            }
            Insn::Compare { rn, operand, .. } => {
                self.flags = self.flags.with(self.of(rn)).with(self.of_operand(operand));
            }
            Insn::Branch { test, .. } => {
                let tested = match test {
                    Test::Always => Sources::default(),
                    Test::Condition(_) => self.flags,
                    Test::Bits { rt, .. } => self.of(rt),
                };
                self.control = self.control.with(tested);
            }
            Insn::LoadExclusive { rt, .. } | Insn::Update { rt, .. } => self.set(rt, LOADED),
            Insn::CompareAndSwap { rs, .. } => self.set(rs, LOADED),
            Insn::LoadExclusivePair { rt: pair, .. } | Insn::CompareAndSwapPair { rs: pair, .. } => {
                pair.into_iter().for_each(|register| self.set(register, LOADED));
            }
            Insn::StoreExclusive { rs, .. } | Insn::StoreExclusivePair { rs, .. } => {
                self.set(rs, Sources::default());
            }
            // What a guess reads is not what the access loads.
            Insn::Guess { rt, .. } | Insn::Load { rt, .. } | Insn::LoadAndAdd { rt, .. } => {
                self.set(rt, Sources::default());
            }
            Insn::LoadPair { rt, second, .. } => {
                [rt, second].into_iter().for_each(|register| self.set(register, Sources::default()));
            }
        }
    }
}
