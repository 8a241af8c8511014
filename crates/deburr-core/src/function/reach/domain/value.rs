//! What a register or a word of memory may hold, as far as it says what the CPU has.
//!
//! A value is either one of a few constants or a word of bits. With each constant go the features that the CPU is known
//! to have when the value is that constant. With each bit go those when it is set, and when it is clear. Every
//! operation may lose facts and never invents one. [`Value::Tainted`] is ⊤ that carries taint: it depends on an answer
//! of the CPU, and how was lost.

use crate::function::reach::domain::bits::{BitProofs, Bits, positions};
use crate::function::reach::domain::proof::Proof;
use crate::insn::Modifier;
use deburr_cpu::FeatureSet;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// Maximum of constants that a value is distinguished by; beyond, only its bits are.
const MANY: usize = 24;

/// Maximum of bits of which each value is distinguished.
const FEW: u32 = 2;

/// Bytes between a frame and the one that an aligned stack pointer begins; larger than frames are.
const ALIGNED_BELOW: i64 = 1 << 24;

/// What a register or a word of memory may hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Value {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It depends on an answer of the CPU, and how is not known.
    Tainted,
    /// The stack pointer at the function's entry, plus so many bytes.
    Stack(i64),
    /// One of these constants, sorted, each with the features that the CPU then has. None at all: no value yet.
    Choice(Arc<[(u64, Proof)]>),
    /// Bits, each with the features that the CPU has when it is set or clear.
    Bits(Arc<Bits>),
}

/// The constants that are shared: most of those in code are small.
const SMALL: usize = 64;

thread_local! {
    static CONSTANTS: [Arc<[(u64, Proof)]>; SMALL] =
        std::array::from_fn(|value| Arc::from([(value as u64, Proof::EMPTY)]));
}

/// All bits of a width in bytes.
pub(crate) const fn mask_of(width: u8) -> u64 {
    match width {
        1 => 0xff,
        2 => 0xffff,
        4 => 0xffff_ffff,
        _ => u64::MAX,
    }
}

/// The low `width` bytes, extended by their sign.
pub(crate) const fn sign_extended(value: u64, width: u8) -> u64 {
    match width {
        1 => value as u8 as i8 as i64 as u64,
        2 => value as u16 as i16 as i64 as u64,
        4 => value as u32 as i32 as i64 as u64,
        _ => value,
    }
}

/// What is known after one outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// What the CPU then has.
    pub proven: Proof,
    /// Features that the CPU then lacks, as the program sees it.
    pub absent: FeatureSet,
    /// Whether it cannot have this outcome.
    pub impossible: bool,
}

impl Value {
    /// A constant.
    pub(crate) fn constant(value: u64) -> Value {
        let small = usize::try_from(value).ok().filter(|&value| value < SMALL);
        let shared = small.and_then(|value| CONSTANTS.with(|constants| constants.get(value).cloned()));
        Value::Choice(shared.unwrap_or_else(|| Arc::from([(value, Proof::EMPTY)])))
    }

    /// One number.
    fn single(value: u64, proof: Proof) -> Value {
        if proof == Proof::EMPTY {
            Value::constant(value)
        } else {
            Value::Choice(Arc::from([(value, proof)]))
        }
    }

    /// No value yet: what a join leaves as it is.
    pub(crate) fn none() -> Value {
        Value::Choice(Arc::from([]))
    }

    /// A word whose bits stand for features.
    pub(crate) fn word(set: impl IntoIterator<Item = (u8, Proof)>, width: u8) -> Value {
        let set: BTreeMap<u8, Proof> = set.into_iter().collect();
        let distinct = set.keys().fold(0, |distinct, bit| distinct | 1 << bit);
        let proofs = |bit: u8| BitProofs::new(set.get(&bit).copied().unwrap_or_default(), Proof::EMPTY);
        Value::Bits(Arc::new(Bits::build(!mask_of(width), distinct, proofs, BitProofs::default(), false)))
    }

    /// The constant, if it can only be one.
    pub(crate) fn as_constant(&self) -> Option<u64> {
        match self {
            Value::Choice(choice) => match **choice {
                [(value, _)] => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The constants that it may be.
    pub(crate) fn choices(&self) -> &[(u64, Proof)] {
        match self {
            Value::Choice(choice) => choice,
            _ => &[],
        }
    }

    /// Whether it says anything of the CPU.
    pub(crate) fn is_informative(&self) -> bool {
        match self {
            Value::Unknown | Value::Stack(_) => false,
            Value::Tainted => true,
            Value::Choice(choice) => choice.iter().any(|(_, features)| !features.is_empty()),
            Value::Bits(bits) => !bits.is_plain(),
        }
    }

    /// Whether its value shows what the CPU has: some of its values or bits mean more than the others. On request also
    /// whether it depends on the CPU, and how was lost.
    pub(crate) fn discriminates(&self, or_is_tainted: bool) -> bool {
        match self {
            Value::Unknown | Value::Stack(_) => false,
            Value::Tainted => or_is_tainted,
            Value::Choice(choice) => {
                let common = choice.iter().map(|(_, proof)| proof.features).reduce(FeatureSet::intersection);
                choice.iter().any(|(_, proof)| Some(proof.features) != common)
            }
            Value::Bits(bits) => bits.tainted && or_is_tainted || bits.has_features(),
        }
    }

    /// Whether it is a number of any kind that was made after a check, such as what an atomic operation gives.
    pub(crate) fn is_made_after_check(&self) -> bool {
        matches!(self, Value::Bits(bits) if bits.say_the_same_either_way())
    }

    /// Whether it is true or false, in its low byte, and depends on the CPU in a manner that was lost.
    pub(crate) fn is_tainted_flag(&self) -> bool {
        matches!(self, Value::Bits(bits) if bits.tainted && bits.zeros & mask_of(1) == mask_of(1) ^ 1)
    }

    fn bits(&self) -> Cow<'_, Bits> {
        Cow::Owned(match self {
            Value::Unknown | Value::Stack(_) => Bits::default(),
            Value::Tainted => Bits::tainted(),
            Value::Bits(bits) => return Cow::Borrowed(bits),
            Value::Choice(choice) => {
                let meet = |bit: u8, wanted: u64| {
                    let with = choice.iter().filter(|(value, _)| value >> bit & 1 == wanted);
                    with.map(|(_, proof)| *proof).reduce(Proof::intersection).unwrap_or(Proof::IMPOSSIBLE)
                };
                let proofs = |bit| BitProofs::new(meet(bit, 1), meet(bit, 0));
                Bits::build(self.zeros(), u64::MAX, proofs, BitProofs::default(), false)
            }
        })
    }

    /// The bits that are always clear.
    fn zeros(&self) -> u64 {
        match self {
            Value::Unknown | Value::Tainted | Value::Stack(_) => 0,
            Value::Choice(choice) => !choice.iter().fold(0, |set, (value, _)| set | value),
            Value::Bits(bits) => bits.zeros,
        }
    }

    /// The sum with a constant.
    pub(crate) fn plus(&self, constant: u64) -> Value {
        match self {
            Value::Stack(at) => Value::Stack(at.wrapping_add(constant as i64)),
            _ if constant == 0 => self.clone(),
            Value::Choice(choice) => Value::map(choice, |value| value.wrapping_add(constant)),
            // No carries: the sum is the union.
            Value::Bits(bits) if bits.zeros & constant == constant => self.or(&Value::constant(constant)),
            _ => Value::Unknown.mixed(self),
        }
    }

    /// The same, without saying which constants it may be.
    pub(crate) fn as_bits(&self) -> Value {
        Value::of_bits(self.bits().into_owned())
    }

    fn of_bits(bits: Bits) -> Value {
        if bits.zeros == u64::MAX {
            return Value::constant(0);
        }
        if bits.is_plain() && bits.zeros == 0 {
            return Value::Unknown;
        }
        // Constants go through more operations than bits do.
        if bits.open().count_ones() <= FEW && !bits.tainted {
            return Value::Choice(bits.enumerate(bits.open()).into());
        }
        Value::Bits(Arc::new(bits))
    }

    /// The constants, each mapped; equal results keep what is known of both.
    fn map(choice: &[(u64, Proof)], to: impl Fn(u64) -> u64) -> Value {
        if let [(value, proof)] = *choice {
            return Value::single(to(value), proof);
        }
        Value::of_choice(choice.iter().map(|&(value, features)| (to(value), features)).collect())
    }

    fn of_choice(mut choice: Vec<(u64, Proof)>) -> Value {
        choice.sort_by_key(|(value, _)| *value);
        choice.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.intersection(later.1);
            }
            same
        });
        let value = Value::Choice(choice.into());
        if value.choices().len() > MANY { value.as_bits() } else { value }
    }

    /// The same value where the CPU is known to have `proven`.
    pub(crate) fn under(&self, proven: Proof) -> Value {
        if proven.is_empty() {
            return self.clone();
        }
        match self {
            Value::Choice(choice) => Value::Choice(
                choice.iter().map(|&(value, features)| (value, features.union(proven))).collect(),
            ),
            Value::Stack(_) => self.clone(),
            _ => Value::Bits(Arc::new(self.bits().into_owned().under(proven))),
        }
    }

    /// The same value where it is presumed of some words.
    pub(crate) fn presumed(&self, words: u32) -> Value {
        match self {
            Value::Choice(choice) => {
                let presumed = |&(value, proof): &(u64, Proof)| {
                    let words = if proof.features.is_empty() { 0 } else { words };
                    (value, Proof { presumed: proof.presumed | words, ..proof })
                };
                Value::Choice(choice.iter().map(presumed).collect())
            }
            Value::Bits(bits) => Value::Bits(Arc::new(Bits::clone(bits).presumed(words))),
            value => value.clone(),
        }
    }

    /// Whether anything that it says is presumed.
    fn is_presumed(&self) -> bool {
        match self {
            Value::Unknown | Value::Tainted | Value::Stack(_) => false,
            Value::Choice(choice) => choice.iter().any(|(_, proof)| proof.presumed != 0),
            Value::Bits(bits) => bits.is_presumed(),
        }
    }

    /// Whether it is ⊤ that carries taint, in either form.
    fn is_lost(&self) -> bool {
        match self {
            Value::Tainted => true,
            Value::Bits(bits) => bits.is_lost(),
            _ => false,
        }
    }

    /// ⊤ as bits, which much that is lost comes to.
    fn tainted_bits() -> Value {
        static TAINTED: LazyLock<Arc<Bits>> = LazyLock::new(|| Arc::new(Bits::tainted()));
        Value::Bits(Arc::clone(&TAINTED))
    }

    /// The different sets of features that its bits, or its values, stand for.
    pub(crate) fn meanings(&self) -> BTreeSet<FeatureSet> {
        match self {
            Value::Choice(choice) => {
                let sets = choice.iter().map(|(_, proof)| proof.features);
                sets.filter(|features| !features.is_empty()).collect()
            }
            Value::Bits(bits) => bits.meanings(),
            _ => BTreeSet::new(),
        }
    }

    /// The same, with nothing known of its bits that mean none of some features.
    pub(crate) fn restricted_to(&self, features: FeatureSet) -> Value {
        match self {
            Value::Bits(bits) => Value::Bits(Arc::new(bits.restricted_to(features))),
            value => value.clone(),
        }
    }

    /// Whether its bits, or its values, mean the same as those of another.
    pub(crate) fn means_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Bits(a), Value::Bits(b)) => (0..64).all(|bit| {
                let features = |bits: &Bits| bits.bit(bit).map(|proofs| proofs.set.features);
                features(a) == features(b)
            }),
            _ => self == other,
        }
    }

    /// What a bit proves, set and clear; nothing where it is always clear.
    pub(crate) fn proofs_of(&self, bit: u8) -> BitProofs {
        self.bits().proofs_of(bit)
    }

    /// The constants that pass; `None` if it is not distinguished by constants, or all of them pass.
    pub(crate) fn filtered(&self, keep: impl Fn(u64) -> bool) -> Option<Value> {
        match self {
            Value::Choice(choice) if choice.iter().any(|(value, _)| !keep(*value)) => {
                Some(Value::Choice(choice.iter().filter(|(value, _)| keep(*value)).copied().collect()))
            }
            _ => None,
        }
    }

    /// The low bytes, extended by their sign.
    pub(crate) fn sign_extend(&self, width: u8) -> Value {
        match self {
            Value::Choice(choice) => Value::map(choice, |value| sign_extended(value, width)),
            Value::Bits(old) if width < 8 => {
                let top = width * 8 - 1;
                let zeros = sign_extended(old.zeros, width);
                let distinct = old.distinct() | !mask_of(width);
                Value::of_bits(Bits::build(
                    zeros,
                    distinct,
                    |bit| old.proofs_of(bit.min(top)),
                    old.rest(),
                    old.tainted,
                ))
            }
            _ => self.truncate(width).mixed(&Value::Unknown),
        }
    }

    /// The low bytes, shifted right with copies of their sign coming in.
    pub(crate) fn shift_signed(&self, count: u64, width: u8) -> Value {
        let top = width.min(8) * 8 - 1;
        let count = count & u64::from(top);
        match self {
            // Only copies of the sign.
            Value::Bits(bits) if count == u64::from(top) && !bits.tainted => {
                let zeros = !1 | bits.zeros >> top;
                let one = Bits::build(zeros, 1, |_| bits.proofs_of(top), BitProofs::default(), false);
                Value::of_bits(one).negate().truncate(width)
            }
            Value::Bits(bits) => {
                let from = |bit: u8| bit.saturating_add(count as u8).min(top);
                let unset = (0..=top).filter(|&bit| bits.bit(from(bit)).is_none());
                let zeros = unset.fold(!mask_of(width), |zeros, bit| zeros | 1 << bit);
                let proofs = |bit: u8| bits.proofs_of(from(bit));
                Value::of_bits(Bits::build(zeros, u64::MAX, proofs, bits.rest(), bits.tainted))
            }
            Value::Choice(choice) => Value::map(choice, |value| {
                (sign_extended(value, width) as i64 >> count) as u64 & mask_of(width)
            }),
            _ => self.truncate(width).mixed(&Value::Unknown).truncate(width),
        }
    }

    /// What an operand makes of a register.
    pub(crate) fn modified(&self, by: Modifier) -> Value {
        let extended = match by {
            Modifier { bytes: 8.., .. } => self.clone(),
            Modifier { is_signed: true, bytes, .. } => self.sign_extend(bytes),
            Modifier { bytes, .. } => self.truncate(bytes),
        };
        if by.shift == 0 { extended } else { extended.shift(by.shift.into()) }
    }

    /// An operation on two values of which each can only be a few constants.
    fn pairs(&self, other: &Value, of: impl Fn(u64, u64) -> u64) -> Option<Value> {
        let (Value::Choice(a), Value::Choice(b)) = (self, other) else { return None };
        if let ([a], [b]) = (&**a, &**b) {
            return Some(Value::single(of(a.0, b.0), a.1.union(b.1)));
        }
        if a.len() * b.len() > MANY {
            return None;
        }
        let pairs =
            a.iter().flat_map(|a| b.iter().map(|b| (of(a.0, b.0), a.1.union(b.1))).collect::<Vec<_>>());
        Some(Value::of_choice(pairs.collect()))
    }

    /// What it may be when it comes from either of two places.
    pub(crate) fn join(&self, other: &Value) -> Value {
        if self == other {
            return self.clone();
        }
        match (self, other) {
            (Value::Choice(choice), value) | (value, Value::Choice(choice)) if choice.is_empty() => {
                value.clone()
            }
            (Value::Choice(a), Value::Choice(b)) => {
                Value::of_choice(a.iter().chain(b.iter()).copied().collect())
            }
            (Value::Stack(_), _) | (_, Value::Stack(_)) => self.mixed(other),
            _ if !self.is_informative() && !other.is_informative() => Value::Unknown,
            // Nothing is proven by what is lost.
            (lost, value) | (value, lost) if lost.is_lost() && !value.is_presumed() => Value::tainted_bits(),
            // What a user puts in the place of the CPU's answer (an environment variable) is the user's own account.
            (Value::Bits(answer), plain) | (plain, Value::Bits(answer))
                if answer.is_answer() && !plain.is_informative() && plain.choices().is_empty() =>
            {
                Value::Bits(Arc::clone(answer))
            }
            // Nothing that one side proves is proven by the other.
            (Value::Bits(bits), Value::Unknown) | (Value::Unknown, Value::Bits(bits)) => match bits.tainted {
                true => Value::tainted_bits(),
                false => Value::Unknown,
            },
            _ => self.merged(other),
        }
    }

    /// An answer of the CPU in whose place a user may put something: where that is an answer as well it proves what the answer
    /// does, and of other numbers nothing is known.
    pub(crate) fn stated_as(&self, stated: &Value) -> Value {
        match (self, stated) {
            _ if stated.is_informative() => self.join(stated),
            (_, Value::Stack(_)) => self.join(stated),
            (Value::Choice(answers), Value::Choice(stated)) => {
                let is_answer = |stated: u64| answers.iter().any(|&(value, _)| value == stated);
                let others = stated.iter().filter(|&&(value, _)| !is_answer(value));
                let others = others.map(|&(value, _)| (value, Proof::doubt(true)));
                Value::of_choice(answers.iter().copied().chain(others).collect())
            }
            _ => self.as_bits(),
        }
    }

    /// What each bit may be when it comes from either of two places.
    pub(super) fn merged(&self, other: &Value) -> Value {
        let both = |a: BitProofs, b: BitProofs| {
            BitProofs::new(a.set.intersection(b.set), a.clear.intersection(b.clear))
        };
        // Always clear on one side: set, it comes from the other; clear, from either.
        let one = |proofs: BitProofs| BitProofs::new(proofs.set, Proof::EMPTY);
        Value::of_bits(self.bits().merged(&other.bits(), both, one))
    }

    /// The low bytes, zero-extended.
    pub(crate) fn truncate(&self, width: u8) -> Value {
        if width >= 8 || width == 0 { self.clone() } else { self.and_mask(mask_of(width)) }
    }

    /// The bits of a mask.
    pub(crate) fn and_mask(&self, mask: u64) -> Value {
        match self {
            _ if self.zeros() | mask == u64::MAX => self.clone(),
            Value::Unknown if mask == mask_of(4) => {
                // Every result of 32 bits that nothing is known of.
                static HALF: LazyLock<Arc<Bits>> = LazyLock::new(|| Arc::new(Bits::plain(!mask_of(4))));
                Value::Bits(Arc::clone(&HALF))
            }
            Value::Choice(choice) => Value::map(choice, |value| value & mask),
            // Aligned down by a distance that is not known: what is there is not addressed from above.
            Value::Stack(at) if (!mask).wrapping_add(1).is_power_of_two() => {
                Value::Stack(at.wrapping_sub(ALIGNED_BELOW))
            }
            Value::Stack(_) => Value::Unknown,
            _ => Value::of_bits(self.bits().masked(mask)),
        }
    }

    /// `self & other`.
    pub(crate) fn and(&self, other: &Value) -> Value {
        if let Some(mask) = other.as_constant() {
            return self.and_mask(mask).under_constant(other);
        }
        if let Some(mask) = self.as_constant() {
            return other.and_mask(mask).under_constant(self);
        }
        if let (Value::Unknown, Value::Unknown) = (self, other) {
            return Value::Unknown;
        }
        if let Some(value) = self.pairs(other, |a, b| a & b) {
            return value;
        }
        let (a, b) = (self.bits(), other.bits());
        // A set bit is set on both sides.
        let proofs =
            |a: BitProofs, b: BitProofs| BitProofs::new(a.set.union(b.set), a.clear.intersection(b.clear));
        let of = |bit| proofs(a.proofs_of(bit), b.proofs_of(bit));
        let rest = proofs(a.rest(), b.rest());
        let (zeros, distinct) = (a.zeros | b.zeros, a.distinct() | b.distinct());
        Value::of_bits(Bits::build(zeros, distinct, of, rest, a.tainted || b.tainted))
    }

    /// Keeps what is known of the one constant that the operation was with.
    fn under_constant(self, constant: &Value) -> Value {
        match constant.choices() {
            [(_, features)] => self.under(*features),
            _ => self,
        }
    }

    /// `self | other`, and `self ^ other` or `self + other` where no bit can be set in both.
    pub(crate) fn or(&self, other: &Value) -> Value {
        if let (Value::Unknown, Value::Unknown) = (self, other) {
            return Value::Unknown;
        }
        if let Some(value) = self.pairs(other, |a, b| a | b) {
            return value;
        }
        // Clear, it is clear on both sides.
        let both =
            |a: BitProofs, b: BitProofs| BitProofs::new(a.set.intersection(b.set), a.clear.union(b.clear));
        Value::of_bits(self.bits().merged(&other.bits(), both, |proofs| proofs))
    }

    /// `self ^ other`.
    pub(crate) fn xor(&self, other: &Value) -> Value {
        match (other.as_constant(), self.as_constant()) {
            (Some(mask), _) => self.xor_mask(mask).under_constant(other),
            (_, Some(mask)) => other.xor_mask(mask).under_constant(self),
            _ => self.pairs(other, |a, b| a ^ b).unwrap_or_else(|| self.mixed(other)),
        }
    }

    /// `self ^ mask`.
    pub(crate) fn xor_mask(&self, mask: u64) -> Value {
        match self {
            Value::Choice(choice) => Value::map(choice, |value| value ^ mask),
            Value::Stack(_) => Value::Unknown,
            _ => {
                let old = self.bits();
                let proofs = |bit: u8| match (mask >> bit & 1 != 0, old.bit(bit)) {
                    (false, proofs) => proofs.unwrap_or_default(),
                    // Always clear becomes always set.
                    (true, proofs) => proofs.map_or(BitProofs::SET, BitProofs::flipped),
                };
                let distinct = if old.rest() == BitProofs::default() { old.distinct() } else { u64::MAX };
                Value::of_bits(Bits::build(
                    old.zeros & !mask,
                    distinct,
                    proofs,
                    BitProofs::default(),
                    old.tainted,
                ))
            }
        }
    }

    /// `self << count` or, for a negative count, `self >> -count` with zeros coming in.
    pub(crate) fn shift(&self, count: i32) -> Value {
        let shift = |value: u64| match count {
            0..=63 => value << count,
            -63..=-1 => value >> -count,
            _ => 0,
        };
        match self {
            _ if count == 0 => self.clone(),
            Value::Choice(choice) => Value::map(choice, shift),
            Value::Unknown => Value::of_bits(Bits::plain(!shift(u64::MAX))),
            Value::Stack(_) => Value::Unknown,
            _ => {
                let old = self.bits();
                let proofs = |bit| old.proofs_of(u8::try_from(i32::from(bit) - count).unwrap_or(0));
                let (open, distinct) = (shift(old.open()), shift(old.distinct()));
                Value::of_bits(Bits::build(!open, distinct, proofs, old.rest(), old.tainted))
            }
        }
    }

    /// `self + other`, exactly for constants and addresses.
    pub(crate) fn add(&self, other: &Value) -> Value {
        match (self, other) {
            (Value::Stack(at), value) | (value, Value::Stack(at)) => match value.as_constant() {
                Some(by) => Value::Stack(at.wrapping_add(by as i64)),
                None => Value::Unknown,
            },
            (Value::Choice(a), Value::Choice(b)) if a.len() * b.len() <= MANY => {
                self.pairs(other, u64::wrapping_add).unwrap_or_default()
            }
            // No carries: the sum is the union.
            _ if self.zeros() | other.zeros() == u64::MAX => self.or(other),
            _ => self.mixed(other),
        }
    }

    /// `-self`, exactly for constants; of 0 and 1 it makes no bits and all bits.
    pub(crate) fn negate(&self) -> Value {
        match self {
            Value::Choice(choice) => Value::map(choice, u64::wrapping_neg),
            Value::Bits(bits) if bits.zeros | 1 == u64::MAX => self.spread(),
            _ => self.mixed(&Value::Unknown),
        }
    }

    /// All bits like bit 0.
    pub(crate) fn spread(&self) -> Value {
        let old = self.bits();
        let Some(proofs) = old.bit(0) else { return Value::constant(0) };
        Value::of_bits(Bits::build(0, 0, |_| proofs, proofs, old.tainted))
    }

    /// The low 32 bits in both halves.
    pub(crate) fn twice(&self) -> Value {
        match self {
            Value::Choice(choice) => Value::map(choice, |value| value << 32 | value & 0xffff_ffff),
            _ => self.truncate(4).or(&self.shift(32)),
        }
    }

    /// What is left of two values that an operation mixed in a manner not followed.
    pub(crate) fn mixed(&self, other: &Value) -> Value {
        if self.is_informative() || other.is_informative() { Value::Tainted } else { Value::Unknown }
    }

    /// A truth value, from what is known when it is true and when it is false.
    pub(crate) fn truth(if_true: &Outcome, if_false: &Outcome) -> Value {
        if if_true.impossible || if_false.impossible {
            return Value::constant(u64::from(if_false.impossible));
        }
        Value::Choice(Arc::from([(0, if_false.proven), (1, if_true.proven)]))
    }

    /// What is known when it equals a constant, and when it does not, in the low `width` bytes.
    pub(crate) fn equals(&self, constant: u64, width: u8) -> (Outcome, Outcome) {
        let constant = constant & mask_of(width);
        let value = self.truncate(width);
        if let Value::Choice(choice) = &value {
            return (meet(choice, |value| value == constant), meet(choice, |value| value != constant));
        }
        let bits = value.bits();
        let doubt = Proof::doubt(bits.tainted);
        let (mut equal, mut unequal) = (Outcome::of(doubt), Outcome::of(doubt));
        equal.impossible = constant & bits.zeros != 0;
        let set = bits.reduce(constant, |proofs| proofs.set, Proof::union);
        let clear = bits.reduce(!constant, |proofs| proofs.clear, Proof::union);
        equal.proven = equal.proven.union(set.unwrap_or_default()).union(clear.unwrap_or_default());
        let open = bits.open() & mask_of(width);
        if constant == 0 {
            // Some bit is set, and which is not known.
            let sets = bits.reduce(open, |proofs| proofs.set, Proof::intersection);
            unequal.proven = unequal.proven.union(sets.unwrap_or_default());
            unequal.impossible = open == 0;
            equal.absent = unequal.proven.features;
        } else {
            unequal.absent = equal.proven.features;
            if open == constant && open.is_power_of_two() {
                let clear = positions(open).map(|bit| bits.proofs_of(bit).clear).next();
                unequal.proven = unequal.proven.union(clear.unwrap_or_default());
                equal.absent = unequal.proven.features;
            }
        }
        (equal.normal(), unequal.normal())
    }

    /// What is known when its highest bit in `width` bytes is set, and when it is clear.
    pub(crate) fn sign(&self, width: u8) -> (Outcome, Outcome) {
        let top = mask_of(width) ^ (mask_of(width) >> 1);
        let (zero, nonzero) = self.and_mask(top).equals(0, width);
        (nonzero, zero)
    }

    /// What is known when a comparison with a constant holds, and when it does not.
    pub(crate) fn compares(&self, holds: impl Fn(u64) -> bool, width: u8) -> (Outcome, Outcome) {
        /// Maximum of bits whose every value is tried.
        const TRIED: u32 = 3;
        let value = self.truncate(width);
        let choice = match &value {
            Value::Choice(choice) => choice.to_vec(),
            _ => {
                let bits = value.bits();
                let open = bits.open() & mask_of(width);
                if bits.tainted || open.count_ones() > TRIED {
                    let (_, nonzero) = value.equals(0, width);
                    let nonzero = Outcome { absent: FeatureSet::EMPTY, ..nonzero };
                    let open = Outcome::of(Proof::doubt(bits.tainted));
                    // The side that zero is not on is not zero.
                    return if holds(0) { (open, nonzero) } else { (nonzero, open) };
                }
                bits.enumerate(open)
            }
        };
        (meet(&choice, &holds), meet(&choice, |value| !holds(value)))
    }
}

impl Outcome {
    /// After this test and another.
    pub(crate) fn and(&self, other: &Outcome) -> Outcome {
        Outcome {
            proven: self.proven.union(other.proven),
            absent: self.absent.union(other.absent),
            impossible: self.impossible || other.impossible,
        }
    }

    /// After either of two tests.
    pub(crate) fn or(&self, other: &Outcome) -> Outcome {
        match (self.impossible, other.impossible) {
            (true, _) => *other,
            (_, true) => *self,
            _ => Outcome {
                proven: self.proven.intersection(other.proven),
                absent: self.absent.minus(self.absent.minus(other.absent)),
                impossible: false,
            },
        }
    }

    fn of(proven: Proof) -> Outcome {
        Outcome { proven, ..Outcome::default() }
    }

    /// The same, with nothing proven where it cannot be.
    fn normal(self) -> Outcome {
        match self.proven.is_impossible() {
            true => Outcome { impossible: true, ..Outcome::default() },
            false if self.absent == FeatureSet::ALL => Outcome { absent: FeatureSet::EMPTY, ..self },
            false => self,
        }
    }
}

/// What is known of the CPU when the value is one of the constants that pass.
fn meet(choice: &[(u64, Proof)], passes: impl Fn(u64) -> bool) -> Outcome {
    let sets = |wanted: bool| {
        choice
            .iter()
            .filter(|(value, _)| passes(*value) == wanted)
            .map(|(_, features)| *features)
            .reduce(Proof::intersection)
    };
    let proven = sets(true);
    let (has, lacks) = (proven.unwrap_or_default(), sets(false).unwrap_or_default());
    Outcome {
        proven: has,
        absent: lacks.features.minus(has.features),
        impossible: proven.is_none() && !choice.is_empty(),
    }
}
