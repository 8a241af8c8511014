//! What is known at one place of a function: registers, flags, the frame, and what tests have proven on the way.

use super::proof::Proof;
use super::value::{Outcome, Value};
use crate::address::Svma;
use crate::insn::{Condition, Reg, RegSet};
use deburr_cpu::{Arch, FeatureSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// General registers and, on AArch64, the stack pointer.
const REGISTERS: usize = 32;
/// Frame slots at most that are followed.
const SLOTS: usize = 256;

/// What the flags tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Flags {
    /// Nothing that is followed.
    #[default]
    Unknown,
    /// How a value, `width` bytes wide, compares with zero.
    Result(Value, u8),
    /// How two values compare.
    Compare(Value, Value, u8),
    /// The carry flag is bit 0 of a value.
    Carry(Value),
}

/// What is known at one place of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    registers: Vec<Value>,
    /// The vector registers that hold an answer of the CPU somewhere.
    vectors: RegSet,
    /// What the frame holds, by offset from the stack pointer at the entry, with its width in bytes.
    frame: Arc<BTreeMap<i64, (u8, Value)>>,
    pub(super) flags: Flags,
    /// Features that every way to here has tested.
    pub(super) proven: FeatureSet,
    /// Features that every way to here has found missing.
    pub(super) absent: FeatureSet,
    /// Tests on every way to here that were not followed: the branch, and whether it was taken.
    doubts: Vec<(Svma, bool)>,
    /// The last branch that proved something.
    pub(super) check: Option<Svma>,
}

impl State {
    /// At a function's entry.
    pub(super) fn entry(arch: Arch) -> State {
        let mut state = State {
            registers: vec![Value::Unknown; REGISTERS],
            vectors: RegSet::EMPTY,
            frame: Arc::default(),
            flags: Flags::Unknown,
            proven: FeatureSet::EMPTY,
            absent: FeatureSet::EMPTY,
            doubts: Vec::new(),
            check: None,
        };
        state.write(stack_pointer(arch), Value::Stack(0));
        state
    }

    /// What a register holds.
    pub(super) fn read(&self, reg: Reg) -> Value {
        reg.index().and_then(|index| self.registers.get(index)).cloned().unwrap_or_default()
    }

    /// Sets a register; vector, mask and other registers are not followed.
    pub(super) fn write(&mut self, reg: Reg, value: Value) {
        if let Some(register) = reg.index().and_then(|index| self.registers.get_mut(index)) {
            *register = value;
        }
    }

    /// Whether one of some registers is a vector register that holds an answer of the CPU.
    pub(super) fn holds_answer(&self, of: RegSet) -> bool {
        self.vectors.intersects(of)
    }

    /// Says whether a vector register holds an answer of the CPU.
    pub(super) fn set_vector(&mut self, reg: Reg, holds_answer: bool) {
        self.vectors = if holds_answer { self.vectors.with(reg) } else { self.vectors.without(reg) };
    }

    /// What the frame holds.
    pub(super) fn load(&self, at: i64, width: u8) -> Value {
        if let Some((stored, value)) = self.frame.get(&at)
            && *stored >= width
        {
            return value.truncate(width);
        }
        let end = at.saturating_add(i64::from(width));
        let mut whole: Option<Value> = None;
        let mut covered = 0u8;
        for (&from, (stored, value)) in self.frame.range(at.saturating_sub(8)..end) {
            let until = from.saturating_add(i64::from(*stored));
            if until <= at {
                continue;
            }
            let shift = i32::try_from((from - at) * 8).unwrap_or(0);
            let part = value.shift(shift).truncate(width);
            covered = covered.saturating_add(u8::try_from(until.min(end) - from.max(at)).unwrap_or(0));
            whole = Some(whole.map_or(part.clone(), |whole| whole.or(&part)));
        }
        match whole {
            Some(whole) if covered == width => whole,
            Some(whole) => whole.mixed(&Value::Unknown),
            None => Value::Unknown,
        }
    }

    /// Stores into the frame.
    pub(super) fn store(&mut self, at: i64, width: u8, value: Value) {
        let end = at.saturating_add(i64::from(width));
        let overlapping: Vec<i64> = (self.frame.range(at.saturating_sub(8)..end))
            .filter(|(from, (stored, _))| from.saturating_add(i64::from(*stored)) > at)
            .map(|(from, _)| *from)
            .collect();
        if overlapping == [at] && self.frame.get(&at).is_some_and(|known| *known == (width, value.clone())) {
            return;
        }
        let frame = Arc::make_mut(&mut self.frame);
        for from in overlapping {
            frame.remove(&from);
        }
        if frame.len() < SLOTS && (value != Value::Unknown) {
            frame.insert(at, (width, value));
        }
    }

    /// What the frame holds from an address on, as far as it is one of a few constants.
    pub(super) fn frame_from(&self, from: i64) -> Vec<Value> {
        let values = self.frame.range(from..).map(|(_, (_, value))| value);
        values.filter(|value| !value.choices().is_empty()).cloned().collect()
    }

    /// Forgets the frame from an address on: somebody else may write there.
    pub(super) fn forget_frame(&mut self, from: i64) {
        Arc::make_mut(&mut self.frame).split_off(&from);
    }

    /// Everything that is known here, as one proof.
    pub(super) fn proof(&self) -> Proof {
        Proof { features: self.proven, is_doubtful: !self.doubts.is_empty() }
    }

    /// What holds after a test at `branch` came out one way; `None` if it cannot.
    pub(super) fn after(&self, outcome: &Outcome, branch: Svma, taken: bool) -> Option<State> {
        if outcome.impossible {
            return None;
        }
        let mut state = self.clone();
        if !outcome.proven.features.is_subset(state.proven) {
            state.proven = state.proven.union(outcome.proven.features);
            state.check = Some(branch);
        }
        state.absent = state.absent.union(outcome.absent);
        if outcome.proven.is_doubtful
            && let Err(place) = state.doubts.binary_search(&(branch, taken))
        {
            state.doubts.insert(place, (branch, taken));
        }
        Some(state)
    }

    /// Takes in another way to the same place. Returns whether that changed what is known.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let proven = self.proven.intersection(other.proven);
        let doubts: Vec<_> =
            self.doubts.iter().filter(|doubt| other.doubts.contains(doubt)).copied().collect();
        // What only one way has proven goes with the values that only it makes.
        let own = |state: &State| Proof {
            features: state.proven.minus(proven),
            is_doubtful: state.doubts.len() > doubts.len(),
        };
        let (mine, others) = (own(self), own(other));
        let join = |a: &Value, b: &Value| match (a, b) {
            _ if a == b => a.clone(),
            (Value::Unknown | Value::Stack(_), _) | (_, Value::Unknown | Value::Stack(_)) => a.join(b),
            _ => a.under(mine).join(&b.under(others)),
        };
        let registers: Vec<Value> =
            self.registers.iter().zip(&other.registers).map(|(a, b)| join(a, b)).collect();
        let frame = if Arc::ptr_eq(&self.frame, &other.frame) && mine == others {
            Arc::clone(&self.frame)
        } else {
            // What one way has not written is as good as unknown there.
            let unknown = (0, Value::Unknown);
            let other_at = |at: &i64, width: u8| {
                other.frame.get(at).filter(|(other, _)| *other == width).unwrap_or(&unknown)
            };
            let mine_first = self
                .frame
                .iter()
                .map(|(&at, (width, value))| (at, (*width, join(value, &other_at(&at, *width).1))));
            let others_only = other.frame.iter().filter(|(at, _)| !self.frame.contains_key(at));
            let others_only =
                others_only.map(|(&at, (width, value))| (at, (*width, join(&unknown.1, value))));
            let frame = mine_first.chain(others_only).filter(|(_, (_, value))| *value != Value::Unknown);
            let frame: BTreeMap<i64, (u8, Value)> = frame.collect();
            if frame == *self.frame { Arc::clone(&self.frame) } else { Arc::new(frame) }
        };
        let flags = if self.flags == other.flags { self.flags.clone() } else { Flags::Unknown };
        let check =
            if proven.is_empty() { None } else { self.check.min(other.check).or(self.check).or(other.check) };
        let joined = State {
            registers,
            vectors: self.vectors.union(other.vectors),
            frame,
            flags,
            proven,
            absent: self.absent.intersection(other.absent),
            doubts,
            check,
        };
        let changed = joined != *self;
        *self = joined;
        changed
    }

    /// Takes in another way to the same place, and gives up all numbers that it changes. Returns whether that changed
    /// what is known.
    pub(super) fn widen(&mut self, other: &State) -> bool {
        let before = self.clone();
        if !self.join(other) {
            return false;
        }
        let widened = |old: &Value, new: &Value| match new {
            _ if old == new => new.clone(),
            _ if new.is_telling() => new.as_bits(),
            _ => Value::Unknown,
        };
        for (new, old) in self.registers.iter_mut().zip(&before.registers) {
            *new = widened(old, new);
        }
        let unknown = (0, Value::Unknown);
        let frame = self.frame.iter().map(|(&at, (width, value))| {
            (at, (*width, widened(&before.frame.get(&at).unwrap_or(&unknown).1, value)))
        });
        self.frame = Arc::new(frame.filter(|(_, (_, value))| *value != Value::Unknown).collect());
        *self != before
    }

    /// What the flags say of a condition: when it holds, and when it does not.
    pub(super) fn test(&self, condition: Condition) -> (Outcome, Outcome) {
        use Condition as C;
        let swapped = |(a, b): (Outcome, Outcome)| (b, a);
        match (&self.flags, condition) {
            (Flags::Unknown, _) => Default::default(),
            (Flags::Carry(value), C::UnsignedLess) => swapped(value.equals(0, 1)),
            (Flags::Carry(value), C::UnsignedGreaterEqual) => value.equals(0, 1),
            (Flags::Carry(value), _) => doubt(&[value]),
            (Flags::Result(value, width), C::Equal | C::UnsignedLessEqual) => value.equals(0, *width),
            (Flags::Result(value, width), C::NotEqual | C::UnsignedGreater) => {
                swapped(value.equals(0, *width))
            }
            (Flags::Result(value, width), C::Negative | C::SignedLess) => value.sign(*width),
            (Flags::Result(value, width), C::NotNegative | C::SignedGreaterEqual) => {
                swapped(value.sign(*width))
            }
            (Flags::Result(value, width), _) => compare(value, 0, *width, condition),
            (Flags::Compare(left, right, width), _) => match (left.as_constant(), right.as_constant()) {
                (_, Some(right)) => compare(left, right, *width, condition),
                (Some(left), None) => compare(right, left, *width, mirrored(condition)),
                _ => doubt(&[left, right]),
            },
        }
    }
}

/// How a value compares with a constant.
fn compare(value: &Value, constant: u64, width: u8, condition: Condition) -> (Outcome, Outcome) {
    use Condition as C;
    let constant = constant & super::value::mask_of(width);
    let extend = |value: u64| match width {
        1 => i64::from(value as u8 as i8),
        2 => i64::from(value as u16 as i16),
        4 => i64::from(value as u32 as i32),
        _ => value as i64,
    };
    let signed = extend(constant);
    match condition {
        C::Equal => value.equals(constant, width),
        C::NotEqual => {
            let (equal, unequal) = value.equals(constant, width);
            (unequal, equal)
        }
        C::UnsignedLess => value.compares(|value| value < constant, width),
        C::UnsignedLessEqual => value.compares(|value| value <= constant, width),
        C::UnsignedGreater => value.compares(|value| value > constant, width),
        C::UnsignedGreaterEqual => value.compares(|value| value >= constant, width),
        C::SignedLess => value.compares(|value| extend(value) < signed, width),
        C::SignedLessEqual => value.compares(|value| extend(value) <= signed, width),
        C::SignedGreater => value.compares(|value| extend(value) > signed, width),
        C::SignedGreaterEqual => value.compares(|value| extend(value) >= signed, width),
        C::Negative | C::NotNegative | C::Other => doubt(&[value]),
    }
}

/// The condition with its operands exchanged.
fn mirrored(condition: Condition) -> Condition {
    use Condition as C;
    match condition {
        C::UnsignedLess => C::UnsignedGreater,
        C::UnsignedLessEqual => C::UnsignedGreaterEqual,
        C::UnsignedGreater => C::UnsignedLess,
        C::UnsignedGreaterEqual => C::UnsignedLessEqual,
        C::SignedLess => C::SignedGreater,
        C::SignedLessEqual => C::SignedGreaterEqual,
        C::SignedGreater => C::SignedLess,
        C::SignedGreaterEqual => C::SignedLessEqual,
        same => same,
    }
}

/// Both ways of a test that is not followed.
fn doubt(of: &[&Value]) -> (Outcome, Outcome) {
    let proven = Proof::doubt(of.iter().any(|value| value.is_telling()));
    let outcome = Outcome { proven, ..Outcome::default() };
    (outcome, outcome)
}

/// The register that points to the frame.
pub(super) const fn stack_pointer(arch: Arch) -> Reg {
    match arch {
        Arch::X86_64 => Reg::general(4),
        Arch::Aarch64 => Reg::SP,
    }
}
