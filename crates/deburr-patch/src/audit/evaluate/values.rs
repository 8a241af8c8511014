//! Patch stage, audit, evaluate: arithmetic on 32 and 64 bits.
//!
//! In: values. Out: values and flags, as the pseudocode of the Arm ARM has them (DDI 0487, C6.2 and J1). Flags are four
//! bits: N, Z, C and V from bit 3 down. What has 32 bits has zeros above them.

use super::operation::{Change, Compute, Field, Shift};

pub(crate) const NEGATIVE: u8 = 8;
pub(crate) const ZERO_FLAG: u8 = 4;
pub(crate) const CARRY: u8 = 2;
pub(crate) const OVERFLOW: u8 = 1;

/// The low bits of a value, 1 to 64 of them.
pub(crate) fn low(value: u64, bits: u32) -> u64 {
    value & u64::MAX >> (64 - bits.clamp(1, 64))
}

/// The low bits of a value with their sign.
pub(crate) fn signed(value: u64, bits: u32) -> i64 {
    let by = 64 - bits.clamp(1, 64);
    (value << by).cast_signed() >> by
}

pub(crate) const fn width(is_wide: bool) -> u32 {
    if is_wide { 64 } else { 32 }
}

/// N and Z of a result.
fn sign_and_zero(result: u64, width: u32) -> u8 {
    let negative = if signed(result, width) < 0 { NEGATIVE } else { 0 };
    negative | if low(result, width) == 0 { ZERO_FLAG } else { 0 }
}

/// A sum with its flags: `AddWithCarry`.
fn sum(left: u64, right: u64, carry: bool, width: u32) -> (u64, u8) {
    let (left, right) = (low(left, width), low(right, width));
    let whole = u128::from(left) + u128::from(right) + u128::from(carry);
    let with_sign = i128::from(signed(left, width)) + i128::from(signed(right, width)) + i128::from(carry);
    let result = low(whole as u64, width);
    let carries = if whole >> width != 0 { CARRY } else { 0 };
    let overflows = if i128::from(signed(result, width)) != with_sign { OVERFLOW } else { 0 };
    (result, sign_and_zero(result, width) | carries | overflows)
}

/// What two values make, and the flags where it sets them.
pub(crate) fn compute(compute: Compute, left: u64, right: u64, is_wide: bool) -> (u64, u8) {
    let width = width(is_wide);
    let result = match compute {
        Compute::Add => return sum(left, right, false, width),
        Compute::Subtract => return sum(left, !right, true, width),
        Compute::And => left & right,
        Compute::Or => left | right,
        Compute::Xor => left ^ right,
        Compute::AndNot => left & !right,
        Compute::OrNot => left | !right,
        Compute::XorNot => left ^ !right,
        Compute::Shift(shift) => shifted(left, shift, (right % u64::from(width)) as u32, is_wide),
    };
    let result = low(result, width);
    (result, sign_and_zero(result, width))
}

pub(crate) fn shifted(value: u64, shift: Shift, by: u32, is_wide: bool) -> u64 {
    let width = width(is_wide);
    let value = low(value, width);
    let result = match (shift, by) {
        (_, 0) => value,
        (Shift::Left, _) => value << by,
        (Shift::Right, _) => value >> by,
        (Shift::Arithmetic, _) => (signed(value, width) >> by).cast_unsigned(),
        (Shift::Rotate, _) => value >> by | value << (width - by),
    };
    low(result, width)
}

/// Whether a condition holds; 14 and 15 always do.
pub(crate) fn holds(condition: u8, flags: u8) -> bool {
    let is_set = |flag: u8| flags & flag != 0;
    let is_less = is_set(NEGATIVE) != is_set(OVERFLOW);
    let holds = match condition >> 1 {
        0 => is_set(ZERO_FLAG),
        1 => is_set(CARRY),
        2 => is_set(NEGATIVE),
        3 => is_set(OVERFLOW),
        4 => is_set(CARRY) && !is_set(ZERO_FLAG),
        5 => !is_less,
        6 => !is_less && !is_set(ZERO_FLAG),
        _ => return true,
    };
    holds != (condition & 1 != 0)
}

/// A bit field: bits `rotate` to `last` of a value moved down to bit 0, or its low bits up to `last` moved up, whichever
/// there is.
pub(crate) fn bitfield(field: Field, from: u64, into: u64, (rotate, last): (u32, u32), is_wide: bool) -> u64 {
    let width = width(is_wide);
    let (bits, length, at) = match last >= rotate {
        true => (low(from, width) >> rotate, last - rotate + 1, 0),
        false => (from, last + 1, width - rotate),
    };
    let result = match field {
        Field::Unsigned => low(bits, length) << at,
        Field::Signed => signed(bits, length).cast_unsigned() << at,
        Field::Insert => {
            let mask = low(u64::MAX, length) << at;
            into & !mask | low(bits, length) << at
        }
    };
    low(result, width)
}

/// What an atomic leaves in memory.
pub(crate) fn changed(change: Change, memory: u64, operand: u64, bits: u32) -> u64 {
    let is_less = |is_signed: bool| match is_signed {
        true => signed(memory, bits) < signed(operand, bits),
        false => low(memory, bits) < low(operand, bits),
    };
    let result = match change {
        Change::Swap => operand,
        Change::Add => memory.wrapping_add(operand),
        Change::Clear => memory & !operand,
        Change::Xor => memory ^ operand,
        Change::Set => memory | operand,
        Change::Maximum { is_signed } => {
            if is_less(is_signed) {
                operand
            } else {
                memory
            }
        }
        Change::Minimum { is_signed } => {
            if is_less(is_signed) {
                memory
            } else {
                operand
            }
        }
    };
    low(result, bits)
}
