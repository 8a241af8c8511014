//! One path through a compare-and-swap loop: what registers hold, and what its branches depend on.
//!
//! In: the instructions of a path, one after another. Out: the compare-and-swap on it, in terms of what registers held
//! where the path began. Whatever is not of the shapes in question ends the path: a store, a call, a branch on anything
//! but the outcome of the compare-and-swap.

use super::Operation;
use crate::insn::{Class, Condition, Flow, Insn, Memory, Operation as InsnOperation, Reg, RegSet};

/// A value that an operation can start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Atom {
    /// What a register held where the path began.
    Entry(Reg),
    /// Something made of what a register held there and of nothing else: shifted, or extended from less.
    MadeOf(Reg),
    /// What a plain load read from memory.
    Loaded,
    /// What the compare-and-swap, or its load-exclusive, read from memory.
    Returned,
    Constant(i64),
}

/// What a register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    Atom(Atom),
    /// An operation on two values, in its order.
    Made(Operation, Atom, Atom),
    /// Zero where the compare-and-swap succeeded, else one: the status of a store-exclusive.
    Failed,
    /// The opposite.
    Succeeded,
    Unknown,
}

/// What the flags show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flags {
    Unknown,
    Compared(Atom, Atom),
    /// "Equal" says that the compare-and-swap succeeded; with `false` that it failed.
    Outcome(bool),
}

/// A place in memory, in terms of what registers held where the path began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    base: Option<Atom>,
    index: Option<(Atom, u8)>,
    displacement: i64,
}

impl Place {
    /// The registers that it depends on.
    pub(super) fn registers(&self) -> impl Iterator<Item = Reg> {
        [self.base, self.index.map(|index| index.0)].into_iter().flatten().filter_map(register)
    }
}

/// The register that a value is made of.
pub(super) fn register(atom: Atom) -> Option<Reg> {
    match atom {
        Atom::Entry(reg) | Atom::MadeOf(reg) => Some(reg),
        _ => None,
    }
}

/// How the compare-and-swap of a loop is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Site {
    /// By the one instruction.
    Instruction,
    /// By a load-exclusive and a store-exclusive.
    Exclusives,
    /// By a call of a helper: expected value, new value and address in `x0`, `x1` and `x2`, the old value back in `x0`.
    Helper,
}

/// A compare-and-swap as a path passes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Swap {
    pub(super) place: Place,
    /// `None` of exclusives, until they are compared.
    pub(super) expected: Option<Atom>,
    /// `None` of exclusives, until they store.
    pub(super) desired: Option<Term>,
}

/// Where control goes at a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// What was known before decides it.
    Known { taken: bool },
    /// The compare-and-swap decides it.
    Outcome { taken_if_equal: bool },
}

/// A path so far.
#[derive(Debug, Clone)]
pub(super) struct Path {
    site: Site,
    /// Bytes of the compare-and-swap.
    size: u16,
    registers: [Term; 32],
    flags: Flags,
    /// How the flags have already been found.
    flags_are_equal: Option<bool>,
    /// Where a plain load read.
    loaded: Option<Place>,
    pub(super) swap: Option<Swap>,
    /// Whether the compare-and-swap succeeded, once a branch has tested it.
    pub(super) succeeded: Option<bool>,
}

/// The argument of a helper of this number.
const ARGUMENTS: [Reg; 3] = [Reg::general(0), Reg::general(1), Reg::general(2)];
/// The first register that AArch64's callees preserve.
const FIRST_PRESERVED: u8 = 19;

impl Path {
    pub(super) fn new(site: Site, size: u16) -> Path {
        let mut registers = [Term::Unknown; 32];
        for (register, number) in registers.iter_mut().zip(0..) {
            *register = Term::Atom(Atom::Entry(if number == 31 { Reg::SP } else { Reg::general(number) }));
        }
        Path {
            site,
            size,
            registers,
            flags: Flags::Unknown,
            flags_are_equal: None,
            loaded: None,
            swap: None,
            succeeded: None,
        }
    }

    /// What a register holds.
    pub(super) fn holds(&self, reg: Reg) -> Term {
        reg.index().and_then(|index| self.registers.get(index)).copied().unwrap_or(Term::Unknown)
    }

    fn set(&mut self, reg: Reg, term: Term) {
        if let Some(slot) = reg.index().and_then(|index| self.registers.get_mut(index)) {
            *slot = term;
        }
    }

    /// Where a plain load that was compared with read, if the expected value comes from one.
    pub(super) fn loaded(&self) -> Option<Place> {
        self.loaded
    }

    /// Passes an instruction that is no branch. `None` where the path is none of those in question.
    pub(super) fn pass(&mut self, insn: &Insn, is_site: bool) -> Option<()> {
        if is_site {
            return self.pass_site(insn);
        }
        let memory = insn.memory.filter(|memory| memory.read || memory.write);
        match insn.class {
            Class::StoreExclusive => return self.store_exclusive(insn),
            Class::ClearExclusive | Class::Barrier | Class::Hint => return Some(()),
            Class::Load | Class::Other => {}
            _ => return None,
        }
        let is_stack =
            matches!(insn.operation, InsnOperation::Push | InsnOperation::Pop | InsnOperation::Leave);
        if insn.flow != Flow::Next || is_stack || memory.is_some_and(|memory| memory.write) {
            return None;
        }
        let term = match memory {
            Some(memory) => self.load(insn, memory),
            None => self.value(insn),
        };
        self.note_flags(insn);
        self.forget(insn.writes);
        if let Some(dst) = insn.dst {
            self.set(dst, term);
        }
        Some(())
    }

    fn forget(&mut self, written: RegSet) {
        for reg in written.general() {
            self.set(reg, Term::Unknown);
        }
    }

    /// Passes the compare-and-swap, or its load-exclusive.
    fn pass_site(&mut self, insn: &Insn) -> Option<()> {
        if self.swap.is_some() {
            return None;
        }
        let [first, second, third] = ARGUMENTS;
        let (place, expected, desired, returned) = match self.site {
            Site::Helper => {
                let place = self.place_of(self.holds(third), 0)?;
                (place, Some(self.atom(Some(first))?), Some(self.holds(second)), first)
            }
            Site::Instruction => {
                let [expected, desired, _] = insn.src;
                let desired = desired.map_or(Term::Atom(Atom::Constant(0)), |reg| self.holds(reg));
                (self.place(&insn.memory?)?, Some(self.atom(expected)?), Some(desired), insn.dst?)
            }
            Site::Exclusives => (self.place(&insn.memory?)?, None, None, insn.dst?),
        };
        if self.site == Site::Helper {
            self.forget((0..FIRST_PRESERVED).chain([30]).map(Reg::general).fold(RegSet::EMPTY, RegSet::with));
        }
        self.forget(insn.writes);
        self.set(returned, Term::Atom(Atom::Returned));
        self.flags_are_equal = None;
        // `cmpxchg` shows it in the flags; the others leave them, or may change them.
        let shows = self.site == Site::Instruction && insn.writes.contains(Reg::FLAGS);
        self.flags = if shows { Flags::Outcome(true) } else { Flags::Unknown };
        self.swap = Some(Swap { place, expected, desired });
        Some(())
    }

    fn store_exclusive(&mut self, insn: &Insn) -> Option<()> {
        let place = self.place(&insn.memory?)?;
        let stored = insn.src[0].map_or(Term::Atom(Atom::Constant(0)), |reg| self.holds(reg));
        let swap = self.swap.as_mut().filter(|swap| swap.place == place && swap.desired.is_none())?;
        swap.desired = Some(stored);
        swap.expected?;
        self.set(insn.dst?, Term::Failed);
        Some(())
    }

    /// The value in a register, if it is simple; no register is the zero register.
    fn atom(&self, reg: Option<Reg>) -> Option<Atom> {
        match reg.map_or(Term::Atom(Atom::Constant(0)), |reg| self.holds(reg)) {
            Term::Atom(atom) => Some(atom),
            _ => None,
        }
    }

    fn place(&self, memory: &Memory) -> Option<Place> {
        if memory.write_back {
            return None;
        }
        let index = match memory.index {
            Some(reg) => Some((self.atom(Some(reg))?, memory.index_as.shift)),
            None => None,
        };
        let place = match memory.base {
            Some(reg) => self.place_of(self.holds(reg), memory.displacement)?,
            None => Place { base: None, index: None, displacement: memory.displacement },
        };
        Some(Place { index, ..place })
    }

    fn place_of(&self, base: Term, displacement: i64) -> Option<Place> {
        let (base, more) = match base {
            Term::Atom(Atom::Constant(address)) => (None, address),
            Term::Atom(base @ Atom::Entry(_)) => (Some(base), 0),
            Term::Made(Operation::Add, base @ Atom::Entry(_), Atom::Constant(more)) => (Some(base), more),
            _ => return None,
        };
        Some(Place { base, index: None, displacement: displacement.wrapping_add(more) })
    }

    fn load(&mut self, insn: &Insn, memory: Memory) -> Term {
        // Only one load can be that of the old value, and what is on the stack is none.
        let on_stack = memory.base.is_some_and(|base| self.holds(base) == Term::Atom(Atom::Entry(Reg::SP)));
        let place = self.place(&memory);
        if insn.class != Class::Load || memory.size != self.size || self.loaded.is_some() || on_stack {
            return Term::Unknown;
        }
        self.loaded = place;
        place.map_or(Term::Unknown, |_| Term::Atom(Atom::Loaded))
    }

    /// What an instruction without a memory access makes.
    fn value(&self, insn: &Insn) -> Term {
        let is_narrow = insn.width != 0 && u16::from(insn.width) < self.size;
        if is_narrow && insn.operation != InsnOperation::SetCondition || insn.high_byte {
            return Term::Unknown;
        }
        let whole = |bytes: i64| bytes >= i64::from(self.size);
        match insn.operation {
            InsnOperation::Move | InsnOperation::Address => match (insn.imm, insn.src[0]) {
                (Some(imm), _) => Term::Atom(Atom::Constant(imm)),
                (None, reg) => reg.map_or(Term::Atom(Atom::Constant(0)), |reg| self.holds(reg)),
            },
            InsnOperation::Extend if insn.imm.is_some_and(whole) => {
                insn.src[0].map_or(Term::Unknown, |reg| self.holds(reg))
            }
            InsnOperation::Add => self.binary(insn, Operation::Add),
            InsnOperation::Sub => self.binary(insn, Operation::Sub),
            InsnOperation::And if insn.imm.is_some() && insn.imm == self.mask() => {
                insn.src[0].map_or(Term::Unknown, |reg| self.holds(reg))
            }
            InsnOperation::And => self.binary(insn, Operation::And),
            InsnOperation::Or => self.binary(insn, Operation::Or),
            InsnOperation::Xor => self.binary(insn, Operation::Xor),
            InsnOperation::AndNot => self.binary(insn, Operation::AndNot),
            InsnOperation::OrNot => self.binary(insn, Operation::OrNot),
            InsnOperation::XorNot => self.binary(insn, Operation::XorNot),
            InsnOperation::EffectiveAddress => self.effective_address(insn),
            InsnOperation::Select => self.select(insn),
            InsnOperation::SetCondition => match (self.flags_tell(), insn.condition) {
                (Some(succeeded), Some(Condition::Equal)) => succeeded,
                (Some(Term::Succeeded), Some(Condition::NotEqual)) => Term::Failed,
                (Some(_), Some(Condition::NotEqual)) => Term::Succeeded,
                _ => Term::Unknown,
            },
            _ => Term::Unknown,
        }
    }

    /// All ones in as many bytes as the compare-and-swap has, where a register has more.
    fn mask(&self) -> Option<i64> {
        (self.size < 4).then(|| (1 << (8 * self.size)) - 1)
    }

    fn binary(&self, insn: &Insn, operation: Operation) -> Term {
        let right = match insn.imm {
            Some(imm) => Some(Atom::Constant(imm)),
            None => self.atom(insn.src[1]),
        };
        let (Some(left), Some(right)) = (self.atom(insn.src[0]), right) else { return Term::Unknown };
        let right = match (self.takes_whole(insn), right) {
            (true, right) => right,
            (false, Atom::Entry(reg) | Atom::MadeOf(reg)) => Atom::MadeOf(reg),
            _ => return Term::Unknown,
        };
        match (operation, left, right) {
            (Operation::Add, Atom::Constant(left), Atom::Constant(right)) => {
                Term::Atom(Atom::Constant(left.wrapping_add(right)))
            }
            // x86's idiom for zero.
            (Operation::Xor | Operation::Sub, left, right) if left == right => Term::Atom(Atom::Constant(0)),
            _ => Term::Made(operation, left, right),
        }
    }

    /// Whether the last source counts as it is, as far as the compare-and-swap goes.
    fn takes_whole(&self, insn: &Insn) -> bool {
        !insn.modified
            || insn
                .modifier
                .is_some_and(|modifier| modifier.shift == 0 && u16::from(modifier.bytes) >= self.size)
    }

    /// `lea` as an addition.
    fn effective_address(&self, insn: &Insn) -> Term {
        let Some(memory) = insn.memory else { return Term::Unknown };
        let (base, index) = (memory.base.map(|reg| self.holds(reg)), memory.index.map(|reg| self.holds(reg)));
        let scale = memory.index_as.shift;
        match (base, index, memory.displacement) {
            (Some(Term::Atom(left)), None, right) => Term::Made(Operation::Add, left, Atom::Constant(right)),
            (None, Some(Term::Atom(left)), right) if scale == 0 => {
                Term::Made(Operation::Add, left, Atom::Constant(right))
            }
            (Some(Term::Atom(left)), Some(Term::Atom(right)), 0) if scale == 0 => {
                Term::Made(Operation::Add, left, right)
            }
            (Some(Term::Atom(left)), Some(Term::Atom(Atom::Entry(reg))), 0) => {
                Term::Made(Operation::Add, left, Atom::MadeOf(reg))
            }
            _ => Term::Unknown,
        }
    }

    /// A minimum or maximum: one of the two values that were compared by order.
    fn select(&self, insn: &Insn) -> Term {
        let by_order = matches!(
            insn.condition,
            Some(
                Condition::UnsignedLess
                    | Condition::UnsignedGreaterEqual
                    | Condition::UnsignedGreater
                    | Condition::UnsignedLessEqual
                    | Condition::SignedLess
                    | Condition::SignedGreaterEqual
                    | Condition::SignedGreater
                    | Condition::SignedLessEqual
            )
        );
        match (self.flags, self.atom(insn.src[0]), self.atom(insn.src[1])) {
            (Flags::Compared(a, b), Some(left), Some(right))
                if by_order && ((a, b) == (left, right) || (a, b) == (right, left)) =>
            {
                Term::Made(Operation::MinMax, left, right)
            }
            _ => Term::Unknown,
        }
    }

    /// [`Term::Succeeded`] where "equal" says that the compare-and-swap succeeded, [`Term::Failed`] where that it
    /// failed.
    fn flags_tell(&self) -> Option<Term> {
        match self.flags {
            Flags::Outcome(true) => Some(Term::Succeeded),
            Flags::Outcome(false) => Some(Term::Failed),
            // Of exclusives equal values do not yet mean success.
            Flags::Compared(a, b) if self.site != Site::Exclusives && self.is_outcome(a, b) => {
                Some(Term::Succeeded)
            }
            _ => None,
        }
    }

    /// Whether two values are the old one and the expected one.
    fn is_outcome(&self, a: Atom, b: Atom) -> bool {
        let expected = self.swap.and_then(|swap| swap.expected);
        [(a, b), (b, a)].iter().any(|&(old, other)| old == Atom::Returned && Some(other) == expected)
    }

    fn note_flags(&mut self, insn: &Insn) {
        if !insn.writes.contains(Reg::FLAGS) {
            return;
        }
        self.flags_are_equal = None;
        let is_narrow = insn.width != 0 && u16::from(insn.width) < self.size;
        let first = insn.src[0].map_or(Term::Unknown, |reg| self.holds(reg));
        self.flags = match (insn.operation, first) {
            _ if insn.memory.is_some() => Flags::Unknown,
            // The status of a store-exclusive, or a condition as a number, against zero.
            (InsnOperation::Compare, Term::Failed) if insn.imm == Some(0) => Flags::Outcome(true),
            (InsnOperation::Compare, Term::Succeeded) if insn.imm == Some(0) => Flags::Outcome(false),
            (InsnOperation::Test, Term::Failed) if insn.src[0] == insn.src[1] => Flags::Outcome(true),
            (InsnOperation::Test, Term::Succeeded) if insn.src[0] == insn.src[1] => Flags::Outcome(false),
            (InsnOperation::Compare, Term::Atom(left)) if !is_narrow && self.takes_whole(insn) => {
                let right = match insn.imm {
                    Some(imm) => Some(Atom::Constant(imm)),
                    None => self.atom(insn.src[1]),
                };
                right.map_or(Flags::Unknown, |right| Flags::Compared(left, right))
            }
            _ => Flags::Unknown,
        };
    }

    /// What decides a branch. `None` where it is not the compare-and-swap alone.
    pub(super) fn decide(&mut self, insn: &Insn) -> Option<Decision> {
        let on_zero = match insn.condition? {
            Condition::Equal => true,
            Condition::NotEqual => false,
            _ => return None,
        };
        if insn.operation == InsnOperation::BranchCondition {
            if let Some(equal) = self.flags_are_equal {
                return Some(Decision::Known { taken: equal == on_zero });
            }
            return match self.flags {
                Flags::Outcome(equal) => Some(Decision::Outcome { taken_if_equal: equal == on_zero }),
                Flags::Compared(a, b) => {
                    self.compare_exclusives(a, b);
                    self.is_outcome(a, b).then_some(Decision::Outcome { taken_if_equal: on_zero })
                }
                Flags::Unknown => None,
            };
        }
        let is_one_bit = insn.operation == InsnOperation::BranchBit && insn.imm == Some(0);
        if insn.operation != InsnOperation::BranchZero && !is_one_bit {
            return None;
        }
        match insn.src[0].map_or(Term::Atom(Atom::Constant(0)), |reg| self.holds(reg)) {
            Term::Atom(Atom::Constant(constant)) => {
                let is_zero = if is_one_bit { constant & 1 == 0 } else { constant == 0 };
                Some(Decision::Known { taken: is_zero == on_zero })
            }
            Term::Failed => Some(Decision::Outcome { taken_if_equal: on_zero }),
            Term::Succeeded => Some(Decision::Outcome { taken_if_equal: !on_zero }),
            _ => None,
        }
    }

    /// Of exclusives the comparison shows what value is expected.
    fn compare_exclusives(&mut self, a: Atom, b: Atom) {
        if let Some(swap) = self.swap.as_mut().filter(|swap| swap.expected.is_none()) {
            swap.expected = match (a, b) {
                (Atom::Returned, other) | (other, Atom::Returned) => Some(other),
                _ => None,
            };
        }
    }

    /// Follows one edge of a branch that the compare-and-swap decides.
    pub(super) fn follow(&mut self, insn: &Insn, equal: bool) {
        if insn.operation == InsnOperation::BranchCondition {
            let on_outcome = self.flags != Flags::Outcome(false);
            self.flags_are_equal = Some(equal == on_outcome);
        }
        // Equal values are success only once they have been stored.
        let has_stored = self.swap.is_some_and(|swap| swap.desired.is_some());
        self.succeeded = if equal && !has_stored { None } else { Some(equal) };
    }
}
