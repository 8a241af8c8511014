//! Flags, and which outcomes a condition can have.

use super::arithmetic::mask;
use super::limits::{MAX_COMPARED, MAX_PAIRS};
use super::pool::{Bits, Pool, Shape, Value, low_bytes};
use crate::insn::operations::{Arithmetic, Condition, Nzcv, Test};

/// What the flags were made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flags {
    /// The difference of two, so many bytes.
    Difference(Value, Value, u8),
    /// The result of a logical operation: carry and overflow are clear.
    Result(Value, u8),
    /// Only whether this is zero or negative.
    Sign(Value, u8),
    /// The sum of two.
    Sum(Value, Value, u8),
    /// The carry flag alone: this is not zero.
    Carry(Value),
    /// These, if the value is not ⊥.
    Given(Value, Nzcv),
    /// The difference of two, so many bytes, or these.
    Either(Value, Value, u8, Nzcv),
    /// Not known, because of this.
    Unknown(Value),
}

impl Flags {
    /// Whether a test of the flags holds also where what they compare is not compared at all.
    pub(crate) fn may_be_given(self, test: Test, holds: Condition) -> bool {
        match (self, test) {
            (Flags::Either(.., given), Test::Flags(_)) => given.holds(holds),
            _ => false,
        }
    }
}

/// What a value is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comparison {
    /// One of a few numbers.
    pub with: Value,
    /// How many bytes are compared.
    pub size: u8,
    /// Whether the value is on the right side.
    pub is_right: bool,
}

/// Which outcomes a condition can have, and why both, if both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcomes {
    /// It may not hold.
    pub may_fail: bool,
    /// It may hold.
    pub may_hold: bool,
    /// Whether it rests on what was lost or is open.
    pub is_doubt: bool,
}

impl Outcomes {
    const NONE: Outcomes = Outcomes { may_fail: false, may_hold: false, is_doubt: false };

    fn both(is_doubt: bool) -> Outcomes {
        Outcomes { may_fail: true, may_hold: true, is_doubt }
    }
    fn decided(holds: bool) -> Outcomes {
        Outcomes { may_fail: !holds, may_hold: holds, is_doubt: false }
    }
    fn negated(self, negates: bool) -> Outcomes {
        match negates {
            true => Outcomes { may_fail: self.may_hold, may_hold: self.may_fail, ..self },
            false => self,
        }
    }
    /// Whether nothing is known yet of what it tests.
    pub(crate) fn is_none(self) -> bool {
        !self.may_fail && !self.may_hold
    }
    pub(crate) fn is_both(self) -> bool {
        self.may_fail && self.may_hold
    }
}

const OVERFLOW: u8 = 0;
const BELOW: u8 = 2;
const EQUAL: u8 = 4;
const NOT_ABOVE: u8 = 6;
const NEGATIVE: u8 = 8;
const PARITY: u8 = 10;
const LESS: u8 = 12;
const NOT_GREATER: u8 = 14;

/// Whether a condition holds after the comparison of two numbers.
pub(crate) fn holds(condition: Condition, left: u64, right: u64, size: u8) -> bool {
    let mask = mask(size);
    let (left, right) = (left & mask, right & mask);
    let unused = 64 - u32::from(size.clamp(1, 8)) * 8;
    let signed = |number: u64| (number << unused).cast_signed() >> unused;
    let difference = signed(left.wrapping_sub(right) & mask);
    let holds = match condition.family() {
        OVERFLOW => i128::from(difference) != i128::from(signed(left)) - i128::from(signed(right)),
        BELOW => left < right,
        EQUAL => left == right,
        NOT_ABOVE => left <= right,
        NEGATIVE => difference < 0,
        PARITY => (difference as u8).count_ones().is_multiple_of(2),
        LESS => signed(left) < signed(right),
        _ => signed(left) <= signed(right),
    };
    holds != condition.is_negation()
}

impl Pool {
    /// Which outcomes a condition can have.
    pub(crate) fn outcomes(&mut self, condition: Condition, flags: Flags) -> Outcomes {
        let both_of = |values: &[Value]| match values.iter().any(|value| value.is_bottom()) {
            true => Outcomes::NONE,
            false => Outcomes::both(values.iter().any(|value| value.is_doubt())),
        };
        if condition == Condition::UNKNOWN {
            return Outcomes::both(false);
        }
        let family = condition.family();
        let zero = self.constant(0);
        let (left, right, size) = match flags {
            Flags::Difference(left, right, size) => (left, right, size),
            Flags::Result(result, size) => (result, zero, size),
            Flags::Sign(result, size) if matches!(family, EQUAL | NEGATIVE) => (result, zero, size),
            Flags::Sign(result, _) => return both_of(&[result]),
            Flags::Sum(left, right, size) if matches!(family, EQUAL | NEGATIVE) => {
                (self.compute(Arithmetic::Add, left, right, size), zero, size)
            }
            Flags::Sum(left, right, size) if family == BELOW => {
                return self.carries(condition, left, right, size);
            }
            Flags::Sum(left, right, _) => return both_of(&[left, right]),
            Flags::Carry(value) if family == BELOW => {
                let is_set = Condition(if condition.is_negation() { EQUAL } else { EQUAL | 1 });
                return self.compared(is_set, value, zero, 8);
            }
            Flags::Given(value, _) if value.is_bottom() => return Outcomes::NONE,
            Flags::Given(value, given) => {
                return Outcomes { is_doubt: value.is_doubt(), ..Outcomes::decided(given.holds(condition)) };
            }
            Flags::Either(left, right, size, given) => {
                let found = self.compared(condition, left, right, size);
                let holds = given.holds(condition);
                let (may_hold, may_fail) = (found.may_hold || holds, found.may_fail || !holds);
                return if found.is_none() { found } else { Outcomes { may_hold, may_fail, ..found } };
            }
            Flags::Carry(value) | Flags::Unknown(value) => return both_of(&[value]),
        };
        self.compared(condition, left, right, size)
    }

    /// Whether a sum has a carry.
    fn carries(&mut self, condition: Condition, left: Value, right: Value, size: u8) -> Outcomes {
        let is_doubt = left.is_doubt() || right.is_doubt();
        if left.is_bottom() || right.is_bottom() {
            return Outcomes::NONE;
        }
        let (Some(one), Some(other)) = (self.as_constant(left), self.as_constant(right)) else {
            return Outcomes::both(is_doubt);
        };
        let mask = mask(size);
        let carries = u128::from(one & mask) + u128::from(other & mask) > u128::from(mask);
        Outcomes::decided(carries).negated(condition.is_negation())
    }

    fn compared(&mut self, condition: Condition, left: Value, right: Value, size: u8) -> Outcomes {
        if left.is_bottom() || right.is_bottom() {
            return Outcomes::NONE;
        }
        let is_doubt = left.is_doubt() || right.is_doubt();
        if let (Shape::Numbers(one), Shape::Numbers(other)) = (self.shape(left), self.shape(right))
            && one.len() * other.len() <= 4 * MAX_PAIRS
        {
            let mut found = Outcomes { is_doubt, ..Outcomes::NONE };
            for holds in one
                .iter()
                .flat_map(|&left| other.iter().map(move |&right| holds(condition, left, right, size)))
            {
                found.may_hold |= holds;
                found.may_fail |= !holds;
            }
            return found;
        }
        let (left, right) = (self.truncate(left, size), self.truncate(right, size));
        let (Some(one), Some(other)) = (self.bits(left), self.bits(right)) else {
            return Outcomes::both(is_doubt);
        };
        match decided(condition.family(), one, other, mask(size)) {
            Some(holds) => Outcomes::decided(holds).negated(condition.is_negation()),
            None => Outcomes::both(is_doubt),
        }
    }

    /// Whether a value is one of so few numbers that it is compared number by number.
    pub(crate) fn is_few(&self, value: Value) -> bool {
        matches!(self.shape(value), Shape::Numbers(numbers) if numbers.len() <= MAX_COMPARED)
    }

    /// The part of a value for which a comparison with one of a few numbers holds.
    pub(crate) fn narrowed_by(&mut self, value: Value, condition: Condition, by: Comparison) -> Value {
        let Comparison { with, size, is_right } = by;
        let condition = match is_right {
            true => mirrored(condition),
            false => Some(condition),
        };
        let (Some(condition), Shape::Numbers(numbers)) = (condition, self.shape(with).clone()) else {
            return value;
        };
        let mut sum = Value::BOTTOM;
        for number in numbers {
            let part = self.narrowed(value, condition, number, size);
            sum = self.join(sum, part, false);
        }
        if sum.closed() == value.closed() { value } else { sum.opened(with.is_open()) }
    }

    /// The part of a value for which a comparison with a number holds.
    pub(crate) fn narrowed(&mut self, value: Value, condition: Condition, number: u64, size: u8) -> Value {
        let open = value.is_open();
        if let Shape::Numbers(numbers) = self.shape(value) {
            let kept = numbers.iter().copied().filter(|&it| holds(condition, it, number, size)).collect();
            return self.one_of(kept).opened(open);
        }
        if value.is_bottom() || matches!(self.shape(value), Shape::Within(_)) {
            return value;
        }
        let Some(bits) = self.bits(value) else { return value };
        let mask = mask(size);
        let bits = match signed_part(bits, condition, number).filter(|_| size == 4) {
            Some(part) if part.least > part.most => return Value::BOTTOM,
            Some(part) => part,
            None => bits,
        };
        // What is above the compared bytes is not known.
        if bits.high > mask {
            if size == 4 && (bits.least, bits.most) != (i32::MIN, i32::MAX) {
                return self.fitted(bits, 8, value.is_lost()).opened(open || value.is_lost());
            }
            let is_exact = size == 8 && condition == Condition::EQUAL;
            return if is_exact { self.constant(number).opened(open) } else { value };
        }
        let number = number & mask;
        let is_positive = number <= mask >> 1 && bits.high <= mask >> 1;
        let (mut low, mut high) = (bits.low, bits.high);
        match (condition.family(), condition.is_negation()) {
            (EQUAL, false) => (low, high) = (low.max(number), high.min(number)),
            (EQUAL, true) if low == number => low = low.saturating_add(1),
            (EQUAL, true) if high == number => high = high.saturating_sub(1),
            (BELOW, false) if number == 0 => return Value::BOTTOM,
            (BELOW, false) => high = high.min(number - 1),
            (BELOW, true) => low = low.max(number),
            (NOT_ABOVE, false) => high = high.min(number),
            (NOT_ABOVE, true) => low = low.max(number.saturating_add(1)),
            (LESS, false) if is_positive && number > 0 => high = high.min(number - 1),
            (LESS, true) if is_positive => low = low.max(number),
            (NOT_GREATER, false) if is_positive => high = high.min(number),
            (NOT_GREATER, true) if is_positive => low = low.max(number.saturating_add(1)),
            _ if size == 4 => {}
            _ => return value,
        }
        if low > high {
            return Value::BOTTOM;
        }
        if number & bits.known != bits.value && condition == Condition::EQUAL {
            return Value::BOTTOM;
        }
        self.fitted(Bits { low, high, ..bits }, size, false).opened(open)
    }
}

/// The condition on the right side of a comparison, as one on the left.
fn mirrored(condition: Condition) -> Option<Condition> {
    let family = match condition.family() {
        BELOW => NOT_ABOVE,
        NOT_ABOVE => BELOW,
        LESS => NOT_GREATER,
        NOT_GREATER => LESS,
        EQUAL => return Some(condition),
        _ => return None,
    };
    // `left < right` is `!(right <= left)`.
    Some(Condition(family | u8::from(!condition.is_negation())))
}

/// The part of a value of which the low four bytes, signed, are so compared with a number; `None` where the condition is another.
fn signed_part(bits: Bits, condition: Condition, number: u64) -> Option<Bits> {
    let number = low_bytes(number);
    let (from, to) = match (condition.family(), condition.is_negation()) {
        (LESS, false) => (Some(i32::MIN), number.checked_sub(1)),
        (LESS, true) => (Some(number), Some(i32::MAX)),
        (NOT_GREATER, false) => (Some(i32::MIN), Some(number)),
        (NOT_GREATER, true) => (number.checked_add(1), Some(i32::MAX)),
        (NEGATIVE, false) if number == 0 => (Some(i32::MIN), Some(-1)),
        (NEGATIVE, true) if number == 0 => (Some(0), Some(i32::MAX)),
        _ => return None,
    };
    // No number is below the least, or above the greatest.
    let (from, to) = from.zip(to).unwrap_or((i32::MAX, i32::MIN));
    Some(Bits { least: bits.least.max(from), most: bits.most.min(to), ..bits })
}

/// Whether a comparison of the low four bytes, signed, has one outcome.
fn decided_signed(family: u8, one: Bits, other: Bits) -> Option<bool> {
    match family {
        EQUAL if one.most < other.least || other.most < one.least => Some(false),
        LESS if one.most < other.least => Some(true),
        LESS if one.least >= other.most => Some(false),
        NOT_GREATER if one.most <= other.least => Some(true),
        NOT_GREATER if one.least > other.most => Some(false),
        NEGATIVE if (other.least, other.most) == (0, 0) && one.most < 0 => Some(true),
        NEGATIVE if (other.least, other.most) == (0, 0) && one.least >= 0 => Some(false),
        _ => None,
    }
}

/// Whether a comparison of bits and bounds has one outcome.
fn decided(family: u8, one: Bits, other: Bits, mask: u64) -> Option<bool> {
    if mask == u64::from(u32::MAX)
        && let Some(holds) = decided_signed(family, one, other)
    {
        return Some(holds);
    }
    let (one_high, other_high) = (one.high.min(mask), other.high.min(mask));
    let below = || match () {
        () if one_high < other.low => Some(true),
        () if one.low >= other_high => Some(false),
        () => None,
    };
    let not_above = || match () {
        () if one_high <= other.low => Some(true),
        () if one.low > other_high => Some(false),
        () => None,
    };
    let half = mask >> 1;
    let is_positive = one_high <= half && other_high <= half;
    match family {
        BELOW => below(),
        NOT_ABOVE => not_above(),
        EQUAL => {
            let differs = (one.value ^ other.value) & one.known & other.known != 0;
            (differs || one_high < other.low || other_high < one.low).then_some(false)
        }
        LESS if is_positive => below(),
        NOT_GREATER if is_positive => not_above(),
        NEGATIVE if is_positive => below(),
        LESS | NEGATIVE if other_high == 0 && one.low > half => Some(true),
        _ => None,
    }
}
