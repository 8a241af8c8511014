//! What is known at one place of a function: registers, flags, the frame, and what tests have proven on the path.

use crate::address::Svma;
use crate::engine::sorted::SortedMap;
use crate::function::reach::domain::doubts::{Doubts, Side};
use crate::function::reach::domain::lanes::Halves;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::trap::Trap;
use crate::function::reach::domain::value::{Outcome, Value, mask_of, sign_extended};
use crate::insn::{Condition, Insn, Operation, Reg, RegSet};
use deburr_cpu::{Arch, FeatureSet};
use std::sync::Arc;

/// Maximum of frame slots that are followed.
const SLOTS: usize = 256;
/// Maximum of words at known addresses that are followed in one function.
const WORDS: usize = 48;

/// What the flags show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Flags {
    /// Nothing that is followed.
    #[default]
    Unknown,
    /// How a value, `width` bytes wide, compares with zero.
    Result(Value, u8),
    /// Whether a value is zero and its sign, `width` bytes wide; it may have carried or overflowed.
    Zero(Value, u8),
    /// How two values compare.
    Compare(Value, Value, u8),
    /// The carry flag is bit 0 of a value.
    Carry(Value),
    /// A64's conditional comparison.
    Either(Box<Either>),
}

/// What the flags show after a conditional comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Either {
    /// What was known where the condition before it held, and where it did not.
    pub before: (Outcome, Outcome),
    /// The comparison.
    pub then: Flags,
    /// The flags N, Z, C and V that replace it.
    pub otherwise: u8,
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Register(Reg),
    /// In the frame, and in how many bytes.
    Frame(i64, u8),
    /// At an address, and in how many bytes.
    Word(u64, u8),
}

impl Holder {
    /// In how many bytes.
    pub(crate) fn width(self) -> u8 {
        match self {
            Holder::Register(_) => 8,
            Holder::Frame(_, width) | Holder::Word(_, width) => width,
        }
    }

    fn overlaps(self, other: Holder) -> bool {
        let meets = |a: u64, b: u64, a_width: u8, b_width: u8| {
            b.wrapping_sub(a) < a_width.into() || a.wrapping_sub(b) < b_width.into()
        };
        match (self, other) {
            (Holder::Register(a), Holder::Register(b)) => a == b,
            (Holder::Frame(a, a_width), Holder::Frame(b, b_width)) => {
                meets(a as u64, b as u64, a_width, b_width)
            }
            (Holder::Word(a, a_width), Holder::Word(b, b_width)) => meets(a, b, a_width, b_width),
            _ => false,
        }
    }
}

/// What the flags were made of: `(holder + offset) & mask`, in the low `width` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub holder: Holder,
    pub offset: u64,
    pub mask: u64,
    pub width: u8,
}

/// What is known at one place of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// The general registers and, on AArch64, the stack pointer.
    registers: Arc<[Value]>,
    /// Words at known addresses that are known better here than everywhere: stored or tested since the last call.
    words: Arc<SortedMap<(u64, u8), Value>>,
    /// Registers that hold what is also elsewhere, zero-extended.
    copies: Arc<Vec<(Reg, Holder)>>,
    /// What the flags were made of.
    subject: Option<Subject>,
    /// What is known of the vector registers.
    vectors: Arc<SortedMap<Reg, Halves>>,
    /// The registers that a callee left something in, and that nothing has written since on any path.
    leftovers: RegSet,
    /// The registers that hold the text of an environment variable.
    texts: RegSet,
    /// The registers that hold a number made of such a text: what the user says, not the CPU.
    stated: RegSet,
    /// Whether every path to here has found such a text to be there: what is set here may be what the user says.
    is_set: bool,
    /// What the frame holds, by offset from the stack pointer at the entry, with its width in bytes.
    frame: Arc<SortedMap<i64, (u8, Value)>>,
    pub(crate) flags: Flags,
    /// Features that every path to here has tested.
    pub(crate) proven: FeatureSet,
    /// The presumed words that it depends on.
    presumed: u32,
    /// Features that every path to here has found missing.
    pub(crate) absent: FeatureSet,
    /// Tests that were not followed and that control gets here by.
    doubts: Doubts,
    /// The last branch that proved something.
    pub(crate) check: Option<Svma>,
    /// What happens where the CPU lacks an instruction.
    pub(crate) trap: Trap,
}

impl State {
    /// At a function's entry.
    pub(crate) fn entry(arch: Arch) -> State {
        let registers = match arch {
            Arch::X86_64 => 16,
            Arch::Aarch64 => 32,
        };
        let mut state = State {
            registers: std::iter::repeat_n(Value::Unknown, registers).collect(),
            words: Arc::default(),
            copies: Arc::default(),
            subject: None,
            vectors: Arc::default(),
            leftovers: RegSet::EMPTY,
            texts: RegSet::EMPTY,
            stated: RegSet::EMPTY,
            is_set: false,
            frame: Arc::default(),
            flags: Flags::Unknown,
            proven: FeatureSet::EMPTY,
            presumed: 0,
            absent: FeatureSet::EMPTY,
            doubts: Doubts::default(),
            check: None,
            trap: Trap::Deadly,
        };
        state.write(stack_pointer(arch), Value::Stack(0));
        state
    }

    /// What a register holds.
    pub(crate) fn read(&self, reg: Reg) -> Value {
        reg.index().and_then(|index| self.registers.get(index)).cloned().unwrap_or_default()
    }

    /// Sets a register; vector, mask and other registers are not followed.
    pub(crate) fn write(&mut self, reg: Reg, value: Value) {
        self.changed(Holder::Register(reg));
        self.leftovers = self.leftovers.without(reg);
        self.texts = self.texts.without(reg);
        self.stated = self.stated.without(reg);
        self.put(reg, value);
    }

    /// A register holds the text of an environment variable.
    pub(crate) fn set_text(&mut self, reg: Reg) {
        self.write(reg, Value::Unknown);
        self.texts = self.texts.with(reg);
    }

    /// Whether a register holds such a text.
    pub(crate) fn is_text(&self, reg: Reg) -> bool {
        self.texts.contains(reg)
    }

    /// A register was made by moving another one, whole or its low half.
    pub(crate) fn moved(&mut self, reg: Reg, from: Reg) {
        if self.texts.contains(from) {
            self.texts = self.texts.with(reg);
        }
        if self.stated.contains(from) {
            self.stated = self.stated.with(reg);
        }
    }

    /// A register holds a number made of such a text.
    pub(crate) fn set_stated(&mut self, reg: Reg) {
        self.write(reg, Value::Unknown);
        self.stated = self.stated.with(reg);
    }

    /// Whether a register holds such a number.
    pub(crate) fn is_stated(&self, reg: Reg) -> bool {
        self.stated.contains(reg)
    }

    /// A callee leaves something in some registers.
    pub(crate) fn leave(&mut self, regs: RegSet) {
        let is_lost = |place: Holder| matches!(place, Holder::Register(reg) if regs.contains(reg));
        self.retain_copies(|&(reg, of)| !regs.contains(reg) && !is_lost(of));
        self.subject = self.subject.filter(|subject| !is_lost(subject.holder));
        self.texts = self.texts.minus(regs);
        self.stated = self.stated.minus(regs);
        self.leftovers = self.leftovers.union(regs);
        for reg in regs.general() {
            self.put(reg, Value::Unknown);
        }
    }

    /// Whether a register holds what a callee left there.
    pub(crate) fn is_left(&self, reg: Reg) -> bool {
        self.leftovers.contains(reg)
    }

    fn put(&mut self, reg: Reg, value: Value) {
        if let Some(index) = reg.index()
            && self.registers.get(index).is_some_and(|register| *register != value)
        {
            self.set_register(index, value);
        }
    }

    fn set_register(&mut self, index: usize, value: Value) {
        if let Some(register) = Arc::make_mut(&mut self.registers).get_mut(index) {
            *register = value;
        }
    }

    /// What was in a place is no longer what is elsewhere.
    fn changed(&mut self, place: Holder) {
        self.retain_copies(|(reg, from)| !place.overlaps(Holder::Register(*reg)) && !place.overlaps(*from));
        if self.subject.is_some_and(|subject| place.overlaps(subject.holder)) {
            self.subject = None;
        }
    }

    /// Forgets copies; returns whether there were such.
    fn retain_copies(&mut self, is_kept: impl Fn(&(Reg, Holder)) -> bool) -> bool {
        let is_changed = !self.copies.iter().all(&is_kept);
        if is_changed {
            Arc::make_mut(&mut self.copies).retain(is_kept);
        }
        is_changed
    }

    /// A register and a place hold the same, zero-extended.
    pub(crate) fn set_copy(&mut self, reg: Reg, of: Holder) {
        /// Maximum of copies that are followed.
        const MOST: usize = 32;
        if reg.index().is_some() && self.copies.len() < MOST && !self.copies.contains(&(reg, of)) {
            Arc::make_mut(&mut self.copies).push((reg, of));
        }
    }

    /// A register holds what another one does.
    pub(crate) fn set_same(&mut self, reg: Reg, as_other: Reg) {
        let of: Vec<Holder> =
            self.copies.iter().filter(|(other, _)| *other == as_other).map(|(_, of)| *of).collect();
        for of in of {
            self.set_copy(reg, of);
        }
        if reg != as_other {
            self.set_copy(reg, Holder::Register(as_other));
        }
    }

    /// Says what the flags were made of.
    pub(crate) fn set_subject(&mut self, subject: Option<Subject>) {
        self.subject = subject;
    }

    /// What a word at an address holds, if that is known better here than everywhere.
    pub(crate) fn word(&self, at: u64, width: u8) -> Option<&Value> {
        if self.words.is_empty() { None } else { self.words.get((at, width)) }
    }

    /// Stores at an address.
    pub(crate) fn store_word(&mut self, at: u64, width: u8, value: Value) {
        self.changed(Holder::Word(at, width));
        self.put_word(at, width, value);
    }

    /// Records what a word is known to hold everywhere, so that a test can show more.
    pub(crate) fn note_word(&mut self, at: u64, width: u8, value: &Value) {
        if self.word(at, width).is_none() {
            self.put_word(at, width, value.clone());
        }
    }

    fn put_word(&mut self, at: u64, width: u8, value: Value) {
        let place = Holder::Word(at, width);
        let near = (at.saturating_sub(8), 0)..(at.saturating_add(8), 0);
        let overlaps = |(at, width): (u64, u8)| place.overlaps(Holder::Word(at, width));
        if value == Value::Unknown && !self.words.range(near.clone()).any(|(key, _)| overlaps(key)) {
            return;
        }
        let words = Arc::make_mut(&mut self.words);
        words.remove_in(near, |key, _| overlaps(key));
        if value != Value::Unknown && words.len() < WORDS {
            words.insert((at, width), value);
        }
    }

    /// Forgets the words at known addresses: other code may write there.
    pub(crate) fn forget_words(&mut self) {
        if !self.words.is_empty() {
            self.words = Arc::default();
        }
        self.retain_copies(|(_, of)| !matches!(of, Holder::Word(..)));
        if self.subject.is_some_and(|subject| matches!(subject.holder, Holder::Word(..))) {
            self.subject = None;
        }
    }

    /// Leaves out the values that a test has ruled out, wherever what was tested is. `only`: the one that it may be.
    fn narrow(&mut self, subject: Subject, holds: impl Fn(u64) -> bool, only: Option<u64>) {
        if let Holder::Register(reg) = subject.holder
            && self.is_text(reg)
            && subject.offset == 0
            && !holds(0)
        {
            self.is_set = true;
        }
        let keep =
            |value: u64| holds(value.wrapping_add(subject.offset) & subject.mask & mask_of(subject.width));
        let all = mask_of(subject.width);
        let only = only.filter(|_| subject.mask & all == all);
        let only = only.map(|value| value.wrapping_sub(subject.offset) & all);
        let narrowed = |value: &Value| match (value, only) {
            (Value::Choice(_), _) => value.filtered(keep),
            // What it was is proven now.
            (_, Some(only)) if *value == value.truncate(subject.width) => Some(Value::constant(only)),
            _ => None,
        };
        let held = narrowed(&self.at(subject.holder));
        let copies = Arc::clone(&self.copies);
        let is_copied = |reg: Reg| Holder::Register(reg) == subject.holder;
        let held_in: Vec<Holder> =
            copies.iter().filter(|(copy, _)| is_copied(*copy)).map(|(_, of)| *of).collect();
        let is_held = |place: Holder| place == subject.holder || held_in.contains(&place);
        let registers = copies.iter().filter(|(_, of)| is_held(*of)).map(|(copy, _)| Holder::Register(*copy));
        for holder in std::iter::once(subject.holder).chain(held_in.iter().copied()).chain(registers) {
            let here = match holder {
                // What the memory holds for all code is what was loaded from it.
                Holder::Word(at, width) if self.word(at, width).is_none() => held.clone(),
                _ => narrowed(&self.at(holder)),
            };
            if let Some(here) = here {
                self.put_at(holder, &here);
            }
        }
    }

    fn at(&self, holder: Holder) -> Value {
        match holder {
            Holder::Register(reg) => self.read(reg),
            Holder::Frame(at, width) => self.load(at, width),
            Holder::Word(at, width) => self.word(at, width).cloned().unwrap_or_default(),
        }
    }

    fn put_at(&mut self, place: Holder, value: &Value) {
        match place {
            Holder::Register(reg) => self.put(reg, value.clone()),
            Holder::Frame(at, width) => {
                if self.frame.get(at).is_some_and(|(stored, _)| *stored == width) {
                    Arc::make_mut(&mut self.frame).insert(at, (width, value.truncate(width)));
                }
            }
            Holder::Word(at, width) => self.put_word(at, width, value.truncate(width)),
        }
    }

    /// Whether one of some registers is a vector register that holds an answer of the CPU.
    pub(crate) fn holds_answer(&self, of: RegSet) -> bool {
        self.vectors.iter().any(|(reg, halves)| of.contains(reg) && halves.iter().any(Value::is_informative))
    }

    /// What a vector register holds.
    pub(crate) fn vector(&self, reg: Reg) -> Halves {
        self.vectors.get(reg).cloned().unwrap_or_default()
    }

    /// Sets a vector register.
    pub(crate) fn set_vector(&mut self, reg: Reg, halves: Halves) {
        if halves.iter().all(|half| *half == Value::Unknown) {
            if self.vectors.get(reg).is_some() {
                Arc::make_mut(&mut self.vectors).remove(reg);
            }
        } else {
            Arc::make_mut(&mut self.vectors).insert(reg, halves);
        }
    }

    /// Forgets the vector registers: a callee may change them.
    pub(crate) fn forget_vectors(&mut self) {
        if !self.vectors.is_empty() {
            self.vectors = Arc::default();
        }
    }

    /// What the frame holds.
    pub(crate) fn load(&self, at: i64, width: u8) -> Value {
        if let Some((stored, value)) = self.frame.get(at)
            && *stored >= width
        {
            return value.truncate(width);
        }
        let end = at.saturating_add(i64::from(width));
        let mut whole: Option<Value> = None;
        let mut covered = 0u8;
        for (from, (stored, value)) in self.frame.range(at.saturating_sub(8)..end) {
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
    pub(crate) fn store(&mut self, at: i64, width: u8, value: Value) {
        self.changed(Holder::Frame(at, width));
        let near = at.saturating_sub(8)..at.saturating_add(i64::from(width));
        let overlaps = |from: i64, stored: u8| from.saturating_add(i64::from(stored)) > at;
        let is_known = {
            let near = self.frame.range(near.clone());
            let mut others = near.filter(|&(from, (stored, _))| overlaps(from, *stored));
            match (others.next(), others.next()) {
                (None, _) => value == Value::Unknown,
                (Some((from, known)), None) => from == at && known.0 == width && known.1 == value,
                _ => false,
            }
        };
        if is_known {
            return;
        }
        let frame = Arc::make_mut(&mut self.frame);
        frame.remove_in(near, |from, (stored, _)| overlaps(from, *stored));
        if frame.len() < SLOTS && (value != Value::Unknown) {
            frame.insert(at, (width, value));
        }
    }

    /// What the frame holds from an address on, as far as it is one of a few constants.
    pub(crate) fn frame_from(&self, from: i64) -> Vec<Value> {
        let values = self.frame_between(from, i64::MAX).map(|(_, value)| value);
        values.filter(|value| !value.choices().is_empty()).cloned().collect()
    }

    /// What the frame holds in a range of addresses, and where.
    pub(crate) fn frame_between(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, &Value)> {
        self.frame.range(from..to).map(|(at, (_, value))| (at, value))
    }

    /// Forgets the frame from an address on: other code may write there. What is passed on of the frame leads to no
    /// argument that the function has got itself.
    pub(crate) fn forget_frame(&mut self, from: i64) {
        let end = if from < 0 { 0 } else { i64::MAX };
        if self.frame.range(from..end).next().is_some() {
            Arc::make_mut(&mut self.frame).retain(|at, _| !(from..end).contains(&at));
        }
        let is_lost = |place: &Holder| match place {
            Holder::Frame(at, width) => at.saturating_add((*width).into()) > from && *at < end,
            _ => false,
        };
        self.retain_copies(|(_, of)| !is_lost(of));
        self.subject = self.subject.filter(|subject| !is_lost(&subject.holder));
    }

    /// A structure in the frame depends on the CPU in a manner that is not followed.
    pub(crate) fn taint_frame(&mut self, from: i64) {
        /// Maximum of bytes of the structure, whose size nothing says.
        const STRUCTURE: i64 = 128;
        let end = from.saturating_add(STRUCTURE).min(if from < 0 { 0 } else { i64::MAX });
        for at in (from..end).step_by(8) {
            self.store(at, 8, Value::Tainted);
        }
    }

    /// Forgets the frame below an address: what a callee left there means nothing.
    pub(crate) fn forget_below(&mut self, at: i64) {
        if self.frame.range(..at).next().is_some() {
            Arc::make_mut(&mut self.frame).retain(|from, _| from >= at);
        }
        let is_lost = |place: &Holder| matches!(place, Holder::Frame(from, _) if *from < at);
        self.retain_copies(|(_, of)| !is_lost(of));
        self.subject = self.subject.filter(|subject| !is_lost(&subject.holder));
    }

    /// Everything that is known here, as one proof.
    pub(crate) fn proof(&self) -> Proof {
        Proof { features: self.proven, is_doubtful: !self.doubts.is_empty(), presumed: self.presumed }
    }

    /// A test on every path to here that was not followed: the last one, by address.
    pub(crate) fn doubt(&self) -> Option<Svma> {
        self.doubts.last()
    }

    /// The same where a condition on the flags holds, or does not: values that this rules out are left out.
    pub(crate) fn narrowed(mut self, condition: Condition, holds: bool) -> State {
        let Some(subject) = self.subject else { return self };
        let width = subject.width;
        let is_equal = (condition == Condition::Equal) == holds
            && matches!(condition, Condition::Equal | Condition::NotEqual);
        let mut only = is_equal.then_some(0);
        let passes = match &self.flags {
            Flags::Result(..) => Comparison::of(condition, 0, width),
            Flags::Zero(..) => match condition {
                Condition::Equal | Condition::NotEqual | Condition::Negative | Condition::NotNegative => {
                    Comparison::of(condition, 0, width)
                }
                _ => None,
            },
            Flags::Carry(_) => match condition {
                Condition::UnsignedLess => Comparison::of(Condition::NotEqual, 0, width),
                Condition::UnsignedGreaterEqual => Comparison::of(Condition::Equal, 0, width),
                _ => None,
            },
            Flags::Compare(_, right, _) => {
                let right = right.as_constant();
                only = only.and(right);
                right.and_then(|right| Comparison::of(condition, right, width))
            }
            _ => None,
        };
        if let Some(passes) = passes {
            self.narrow(subject, |value| passes.holds(value) == holds, only);
        }
        self
    }

    /// The same where a register, or some of its bits, are zero or are not.
    pub(crate) fn narrowed_by_zero(mut self, reg: Reg, width: u8, mask: u64, is_zero: bool) -> State {
        let subject = Subject { holder: Holder::Register(reg), offset: 0, mask, width };
        self.narrow(subject, |value| (value == 0) == is_zero, is_zero.then_some(0));
        self
    }

    /// Something at `place` has proven features.
    pub(crate) fn prove(&mut self, proven: Proof, place: Svma) {
        if !proven.features.is_subset(self.proven) {
            self.proven = self.proven.union(proven.features);
            self.presumed |= proven.presumed;
            self.check = Some(place);
        }
    }

    /// What holds after one outcome of a test at `branch`; `None` if it cannot have that.
    pub(crate) fn after(mut self, outcome: &Outcome, branch: Svma, taken: bool) -> Option<State> {
        if outcome.impossible {
            return None;
        }
        self.prove(outcome.proven, branch);
        self.absent = self.absent.union(outcome.absent);
        if outcome.proven.is_doubtful {
            self.doubts.add(branch, if taken { Side::Taken } else { Side::Passed });
        }
        Some(self)
    }

    /// A jump through a table, chosen in a manner that was not followed, led here.
    pub(crate) fn chosen_at(mut self, place: Svma) -> State {
        self.doubts.add(place, Side::Chosen);
        self
    }

    /// How many values it keeps apart from registers: what joining it with another may take.
    pub(crate) fn size(&self) -> usize {
        self.frame.len() + self.words.len() + self.vectors.len()
    }

    /// Joins another path to the same place. Returns whether that changed what is known.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let proven = self.proven.intersection(other.proven);
        let doubts = self.doubts.join(&other.doubts);
        // What only one path has proven goes with the values that only it makes.
        let own = |state: &State| Proof {
            features: state.proven.minus(proven),
            is_doubtful: !state.doubts.is_empty() && state.doubts != doubts,
            presumed: state.presumed,
        };
        let (mine, others) = (own(self), own(other));
        let (mine_set, others_set) = (self.is_set, other.is_set);
        let join = move |a: &Value, b: &Value| match (a, b) {
            _ if a == b => a.clone(),
            // What a user puts in the place of the CPU's answer is the user's own account.
            (stated, answer) if mine_set && !others_set && b.discriminates(false) => {
                answer.under(others).stated_as(stated)
            }
            (answer, stated) if others_set && !mine_set && a.discriminates(false) => {
                answer.under(mine).stated_as(stated)
            }
            (Value::Unknown | Value::Stack(_), _) | (_, Value::Unknown | Value::Stack(_)) => a.join(b),
            _ => a.under(mine).join(&b.under(others)),
        };
        let mut changed = false;
        if !Arc::ptr_eq(&self.registers, &other.registers) {
            // What a user puts in the place of the CPU's answer is the user's own account.
            let is_stated = |state: &State, index: usize| {
                let reg = u8::try_from(index).map(Reg::general);
                reg.is_ok_and(|reg| state.is_stated(reg))
            };
            for (index, b) in other.registers.iter().enumerate() {
                let Some(a) = self.registers.get(index).filter(|a| *a != b) else { continue };
                let joined = match (is_stated(self, index), is_stated(other, index)) {
                    (true, false) if b.discriminates(false) => b.under(others).as_bits(),
                    (false, true) if a.discriminates(false) => a.under(mine).as_bits(),
                    _ => join(a, b),
                };
                if joined != *a {
                    self.set_register(index, joined);
                    changed = true;
                }
            }
        }
        if !Arc::ptr_eq(&self.frame, &other.frame) {
            // What one path has not written is as good as unknown there, and what it has written in a wider slot is there.
            let unknown = Value::Unknown;
            let part = |state: &State, at: i64, width: u8| match state.frame.is_empty() {
                true => Value::Unknown,
                false => state.load(at, width),
            };
            let unlike = self.frame.both(&other.frame).filter(|(_, mine, others)| mine != others);
            let both = unlike.map(|(at, mine, others)| match (mine, others) {
                (Some((width, a)), Some((other, b))) if width == other => (at, *width, a.clone(), b.clone()),
                (Some(&(mine, _)), Some(&(others, _))) => {
                    let width = mine.min(others);
                    (at, width, part(self, at, width), part(other, at, width))
                }
                (Some((width, a)), None) => (at, *width, a.clone(), part(other, at, *width)),
                (None, Some((width, b))) => (at, *width, part(self, at, *width), b.clone()),
                (None, None) => (at, 1, unknown.clone(), unknown.clone()),
            });
            let kept = |at: i64, width: u8| self.frame.get(at).is_some_and(|(own, _)| *own == width);
            let differing = both.filter(|(at, width, a, b)| a != b || !kept(*at, *width));
            let joined = differing.map(|(at, width, a, b)| (at, width, join(&a, &b), a));
            let changes = joined.filter(|(at, width, joined, a)| match kept(*at, *width) {
                true => joined != a,
                false => *joined != Value::Unknown || self.frame.get(*at).is_some(),
            });
            let changes: Vec<(i64, u8, Value)> =
                changes.map(|(at, width, joined, _)| (at, width, joined)).collect();
            if !changes.is_empty() {
                changed = true;
                let frame = Arc::make_mut(&mut self.frame);
                for (at, width, value) in changes {
                    match value {
                        Value::Unknown => frame.remove(at),
                        value => frame.insert(at, (width, value)),
                    }
                }
            }
        }
        if !Arc::ptr_eq(&self.words, &other.words) && self.words != other.words {
            let both = self.words.both(&other.words);
            let both = both.filter_map(|(key, mine, others)| Some((key, join(mine?, others?))));
            let words = both.filter(|(_, value)| *value != Value::Unknown).collect();
            changed |= replace(&mut self.words, Arc::new(words));
        }
        if !Arc::ptr_eq(&self.vectors, &other.vectors) && self.vectors != other.vectors {
            let known = self.vectors.both(&other.vectors);
            let halves = |(reg, mine, others): (Reg, Option<&Halves>, Option<&Halves>)| {
                let ([a, b], [c, d]) =
                    (mine.cloned().unwrap_or_default(), others.cloned().unwrap_or_default());
                (reg, [join(&a, &c), join(&b, &d)])
            };
            let is_known = |(_, halves): &(Reg, Halves)| halves.iter().any(|half| *half != Value::Unknown);
            let vectors = known.map(halves).filter(is_known).collect();
            changed |= replace(&mut self.vectors, Arc::new(vectors));
        }
        if self.flags != other.flags {
            changed |= replace(&mut self.flags, Flags::Unknown);
        }
        if !Arc::ptr_eq(&self.copies, &other.copies) {
            changed |= self.retain_copies(|copy| other.copies.contains(copy));
        }
        if self.subject != other.subject {
            changed |= replace(&mut self.subject, None);
        }
        let leftovers = self.leftovers.intersection(other.leftovers);
        changed |= replace(&mut self.leftovers, leftovers);
        let texts = self.texts.intersection(other.texts);
        changed |= replace(&mut self.texts, texts);
        let stated = self.stated.intersection(other.stated);
        changed |= replace(&mut self.stated, stated);
        let is_set = self.is_set && other.is_set;
        changed |= replace(&mut self.is_set, is_set);
        let check =
            if proven.is_empty() { None } else { self.check.min(other.check).or(self.check).or(other.check) };
        let trap = self.trap.min(other.trap);
        changed |= replace(&mut self.trap, trap);
        changed |= replace(&mut self.check, check);
        changed |= replace(&mut self.proven, proven);
        let presumed = self.presumed | other.presumed;
        changed |= replace(&mut self.presumed, presumed);
        let absent = self.absent.intersection(other.absent);
        changed |= replace(&mut self.absent, absent);
        changed | replace(&mut self.doubts, doubts)
    }

    /// Widens by another path to the same place: gives up all numbers that it changes. Returns whether that changed
    /// what is known.
    pub(crate) fn widen(&mut self, other: &State) -> bool {
        let before = self.clone();
        if !self.join(other) {
            return false;
        }
        let widened = |old: &Value, new: &Value| match new {
            _ if old == new => new.clone(),
            _ if new.is_informative() => new.as_bits(),
            _ => Value::Unknown,
        };
        let registers = before.registers.iter().zip(&*self.registers).map(|(old, new)| widened(old, new));
        self.registers = registers.collect();
        let unknown = (0, Value::Unknown);
        let frame = self.frame.iter().map(|(at, (width, value))| {
            (at, (*width, widened(&before.frame.get(at).unwrap_or(&unknown).1, value)))
        });
        self.frame = Arc::new(frame.filter(|(_, (_, value))| *value != Value::Unknown).collect());
        *self != before
    }

    /// What the flags say of a condition: when it holds, and when it does not.
    pub(crate) fn test(&self, condition: Condition) -> (Outcome, Outcome) {
        test(&self.flags, condition)
    }
}

/// Puts a value in a place; returns whether it was another.
fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let is_other = *place != value;
    if is_other {
        *place = value;
    }
    is_other
}

/// What flags say of a condition: when it holds, and when it does not.
fn test(flags: &Flags, condition: Condition) -> (Outcome, Outcome) {
    use Condition as C;
    let swapped = |(a, b): (Outcome, Outcome)| (b, a);
    match (flags, condition) {
        (Flags::Unknown, _) => Default::default(),
        (Flags::Carry(value), C::UnsignedLess) => swapped(value.equals(0, 1)),
        (Flags::Carry(value), C::UnsignedGreaterEqual) => value.equals(0, 1),
        (Flags::Carry(value), _) => doubt(&[value]),
        (Flags::Either(either), _) => {
            let Either { before: (held, failed), then, otherwise } = &**either;
            let compared = test(then, condition);
            let both = |outcome: &Outcome| held.and(outcome);
            match nzcv_passes(*otherwise, condition) {
                Some(true) => (failed.or(&both(&compared.0)), both(&compared.1)),
                Some(false) => (both(&compared.0), failed.or(&both(&compared.1))),
                None => {
                    let known = [held, failed, &compared.0, &compared.1];
                    let is_informative = known.into_iter().any(|outcome| !outcome.proven.is_empty());
                    let outcome = Outcome { proven: Proof::doubt(is_informative), ..Outcome::default() };
                    (outcome, outcome)
                }
            }
        }
        (Flags::Result(value, width), C::Equal | C::UnsignedLessEqual) => value.equals(0, *width),
        (Flags::Result(value, width), C::NotEqual | C::UnsignedGreater) => swapped(value.equals(0, *width)),
        (Flags::Result(value, width), C::Negative | C::SignedLess) => value.sign(*width),
        (Flags::Result(value, width), C::NotNegative | C::SignedGreaterEqual) => swapped(value.sign(*width)),
        (Flags::Result(value, width), _) => compare(value, 0, *width, condition),
        (Flags::Zero(value, width), C::Equal) => value.equals(0, *width),
        (Flags::Zero(value, width), C::NotEqual) => swapped(value.equals(0, *width)),
        (Flags::Zero(value, width), C::Negative) => value.sign(*width),
        (Flags::Zero(value, width), C::NotNegative) => swapped(value.sign(*width)),
        (Flags::Zero(value, _), _) => doubt(&[value]),
        (Flags::Compare(left, right, width), _) => match (left.as_constant(), right.as_constant()) {
            (_, Some(right)) => compare(left, right, *width, condition),
            (Some(left), None) => compare(right, left, *width, mirrored(condition)),
            _ => doubt(&[left, right]),
        },
    }
}

/// Whether a condition holds with given flags N, Z, C and V (DDI 0487 C1.2.4).
fn nzcv_passes(nzcv: u8, condition: Condition) -> Option<bool> {
    use Condition as C;
    let [n, z, c, v] = [8, 4, 2, 1].map(|flag| nzcv & flag != 0);
    Some(match condition {
        C::Equal => z,
        C::NotEqual => !z,
        C::UnsignedLess => !c,
        C::UnsignedGreaterEqual => c,
        C::UnsignedGreater => c && !z,
        C::UnsignedLessEqual => !c || z,
        C::SignedLess => n != v,
        C::SignedGreaterEqual => n == v,
        C::SignedGreater => !z && n == v,
        C::SignedLessEqual => z || n != v,
        C::Negative => n,
        C::NotNegative => !n,
        C::Other => return None,
    })
}

/// A comparison with a constant, in some width.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    condition: Condition,
    constant: u64,
    width: u8,
}

impl Comparison {
    /// `None` if the condition is not one of order.
    fn of(condition: Condition, constant: u64, width: u8) -> Option<Comparison> {
        use Condition as C;
        match condition {
            // The sign of the difference, which is the value's own only where nothing is taken off.
            C::Negative | C::NotNegative if constant & mask_of(width) != 0 => None,
            C::Other => None,
            _ => Some(Comparison { condition, constant, width }),
        }
    }

    /// Whether a value passes.
    fn holds(self, value: u64) -> bool {
        use Condition as C;
        let masked = |number: u64| number & mask_of(self.width);
        let extended = |number: u64| sign_extended(number, self.width) as i64;
        let (value, constant) = (masked(value), masked(self.constant));
        match self.condition {
            C::Equal => value == constant,
            C::NotEqual => value != constant,
            C::UnsignedLess => value < constant,
            C::UnsignedLessEqual => value <= constant,
            C::UnsignedGreater => value > constant,
            C::UnsignedGreaterEqual => value >= constant,
            C::SignedLess => extended(value) < extended(constant),
            C::SignedLessEqual => extended(value) <= extended(constant),
            C::SignedGreater => extended(value) > extended(constant),
            C::SignedGreaterEqual => extended(value) >= extended(constant),
            C::Negative => extended(value) < 0,
            C::NotNegative => extended(value) >= 0,
            C::Other => false,
        }
    }
}

/// How a value compares with a constant.
fn compare(value: &Value, constant: u64, width: u8, condition: Condition) -> (Outcome, Outcome) {
    match (condition, Comparison::of(condition, constant, width)) {
        (Condition::Equal, _) => value.equals(constant, width),
        (Condition::NotEqual, _) => {
            let (equal, unequal) = value.equals(constant, width);
            (unequal, equal)
        }
        (_, Some(passes)) => value.compares(|value| passes.holds(value), width),
        (_, None) => doubt(&[value]),
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

/// Both outcomes of a test that is not followed.
fn doubt(of: &[&Value]) -> (Outcome, Outcome) {
    let proven = Proof::doubt(of.iter().any(|value| value.is_informative()));
    let outcome = Outcome { proven, ..Outcome::default() };
    (outcome, outcome)
}

/// The register that points to the frame.
pub(crate) const fn stack_pointer(arch: Arch) -> Reg {
    match arch {
        Arch::X86_64 => Reg::general(4),
        Arch::Aarch64 => Reg::SP,
    }
}

/// What is left of what is known on one edge out of a branch.
pub(crate) fn narrowed(branch: &Insn, state: State, is_taken: bool) -> State {
    let Some(condition) = branch.condition else { return state };
    let is_zero = (condition == Condition::Equal) == is_taken;
    match (branch.operation, branch.src[0]) {
        (Operation::BranchCondition, _) => state.narrowed(condition, is_taken),
        (Operation::BranchZero, Some(reg)) => {
            let width = if branch.width == 0 { 8 } else { branch.width };
            state.narrowed_by_zero(reg, width, u64::MAX, is_zero)
        }
        (Operation::BranchBit, Some(reg)) => {
            let bit = branch.imm.and_then(|bit| u32::try_from(bit).ok()).unwrap_or(0);
            state.narrowed_by_zero(reg, 8, 1u64.checked_shl(bit).unwrap_or(0), is_zero)
        }
        _ => state,
    }
}
