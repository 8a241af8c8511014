//! Arithmetic of a thread: values and what they depend on.
//!
//! In: a state and an instruction without access or branch. Out: the state after it. Only the instructions that the sites and
//! their surroundings have; `csel`, `csinc` and `ccmp` choose, so that what they test is a "pick" dependency alone.

use super::event::Dependency;
use super::state::{State, Value, field};

/// Whether the instruction is one of these.
pub(super) fn compute(state: &mut State, word: u32) -> bool {
    immediate(state, word) || operands(state, word) || choice(state, word)
}

fn width(word: u32) -> u32 {
    32 << (word >> 31)
}

fn cut(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

fn set(state: &mut State, word: u32, bits: u64, dependency: Dependency) -> bool {
    state.set(field(word, 0, 5), Value { bits: cut(bits, width(word)), dependency });
    true
}

/// `add`, `sub`, and with flags.
fn add(state: &mut State, word: u32, left: Value, right: Value) -> bool {
    let bits = width(word);
    let dependency = left.dependency.and(right.dependency);
    let subtracts = field(word, 30, 1) == 1;
    if field(word, 29, 1) == 1 {
        state.flags = Value { bits: flags(left.bits, right.bits, subtracts, bits), dependency };
    }
    let result = match subtracts {
        true => left.bits.wrapping_sub(right.bits),
        false => left.bits.wrapping_add(right.bits),
    };
    set(state, word, result, dependency)
}

/// N, Z, C, V of a sum or a difference.
fn flags(left: u64, right: u64, subtracts: bool, bits: u32) -> u64 {
    let (left, right) = (cut(left, bits), cut(if subtracts { !right } else { right }, bits));
    let whole = u128::from(left) + u128::from(right) + u128::from(subtracts);
    let result = cut(whole as u64, bits);
    let sign = |value: u64| value >> (bits - 1) & 1;
    let overflow = u64::from(sign(left) == sign(right) && sign(left) != sign(result));
    sign(result) << 3 | u64::from(result == 0) << 2 | ((whole >> bits) as u64 & 1) << 1 | overflow
}

/// Whether a condition holds.
pub(super) fn holds(condition: u32, flags: u64) -> bool {
    let [v, c, z, n] = [0, 1, 2, 3].map(|bit| flags >> bit & 1 == 1);
    let base = match condition >> 1 {
        0 => z,
        1 => c,
        2 => n,
        3 => v,
        4 => c && !z,
        5 => n == v,
        6 => n == v && !z,
        _ => return true,
    };
    base != (condition & 1 == 1)
}

/// Instructions with a constant.
fn immediate(state: &mut State, word: u32) -> bool {
    let bits = width(word);
    let source = state.register(field(word, 5, 5));
    // movn, movz, movk
    if word & 0x1f80_0000 == 0x1280_0000 {
        let by = 16 * field(word, 21, 2);
        let value = u64::from(field(word, 5, 16)) << by;
        let kept = state.register(field(word, 0, 5));
        return match field(word, 29, 2) {
            0 => set(state, word, !value, Dependency::default()),
            2 => set(state, word, value, Dependency::default()),
            _ => set(state, word, kept.bits & !(0xffff << by) | value, kept.dependency),
        };
    }
    // add, sub
    if word & 0x1f80_0000 == 0x1100_0000 {
        let value = u64::from(field(word, 10, 12)) << (12 * field(word, 22, 1));
        return add(state, word, source, Value { bits: value, ..Value::default() });
    }
    // and, orr, eor
    if word & 0x1f80_0000 == 0x1200_0000 {
        let value = bit_mask(field(word, 22, 1), field(word, 16, 6), field(word, 10, 6), bits);
        return logical(state, word, source, Value { bits: value, ..Value::default() });
    }
    // sbfm, ubfm
    if word & 0x1f80_0000 == 0x1300_0000 && field(word, 29, 1) == 0 {
        let (rotate, last) = (field(word, 16, 6), field(word, 10, 6));
        let is_signed = field(word, 30, 1) == 0;
        let extend = |value: u64, length: u32| match is_signed {
            true => ((value << (64 - length)) as i64 >> (64 - length)) as u64,
            false => cut(value, length),
        };
        let value = match last >= rotate {
            true => extend(cut(source.bits, bits) >> rotate, last - rotate + 1),
            false => extend(source.bits, last + 1) << (bits - rotate),
        };
        return set(state, word, value, source.dependency);
    }
    false
}

/// DecodeBitMasks of the manual.
fn bit_mask(n: u32, rotate: u32, last: u32, bits: u32) -> u64 {
    let length = 31 - (n << 6 | !last & 0x3f).leading_zeros();
    let size = 1 << length;
    let (ones, by) = ((last & (size - 1)) + 1, rotate & (size - 1));
    let element = u64::MAX >> (64 - ones);
    let turned = if by == 0 { element } else { cut(element >> by | element << (size - by), size) };
    let repeated = (0..64 / size).fold(0, |all, part| all | turned << (part * size));
    cut(repeated, bits)
}

fn logical(state: &mut State, word: u32, left: Value, right: Value) -> bool {
    let bits = width(word);
    let dependency = left.dependency.and(right.dependency);
    let result = match field(word, 29, 2) {
        0 | 3 => left.bits & right.bits,
        1 => left.bits | right.bits,
        _ => left.bits ^ right.bits,
    };
    if field(word, 29, 2) == 3 {
        let result = cut(result, bits);
        let flags = result >> (bits - 1) << 3 | u64::from(result == 0) << 2;
        state.flags = Value { bits: flags, dependency };
    }
    set(state, word, result, dependency)
}

fn shifted(value: u64, kind: u32, by: u32, bits: u32) -> u64 {
    let value = cut(value, bits);
    match kind {
        _ if by == 0 => value,
        0 => cut(value << by, bits),
        1 => value >> by,
        2 => cut((((value << (64 - bits)) as i64) >> (64 - bits + by)) as u64, bits),
        _ => cut(value >> by | value << (bits - by), bits),
    }
}

fn extended(value: u64, option: u32, by: u32) -> u64 {
    let length = 8 << (option & 3);
    let value = match option >= 4 {
        true => ((value << (64 - length)) as i64 >> (64 - length)) as u64,
        false => cut(value, length),
    };
    value << by
}

/// Instructions with registers.
fn operands(state: &mut State, word: u32) -> bool {
    let bits = width(word);
    let [left, right, third] = [5, 16, 10].map(|low| state.register(field(word, low, 5)));
    let both = left.dependency.and(right.dependency);
    match word & 0x1f20_0000 {
        0x0b00_0000 => {
            let value = shifted(right.bits, field(word, 22, 2), field(word, 10, 6), bits);
            add(state, word, left, Value { bits: value, ..right })
        }
        0x0b20_0000 => {
            let value = extended(right.bits, field(word, 13, 3), field(word, 10, 3));
            add(state, word, left, Value { bits: value, ..right })
        }
        0x0a00_0000 | 0x0a20_0000 => {
            let value = shifted(right.bits, field(word, 22, 2), field(word, 10, 6), bits);
            let value = if field(word, 21, 1) == 1 { !value } else { value };
            logical(state, word, left, Value { bits: value, ..right })
        }
        // madd
        0x1b00_0000 if word & 0x7fe0_8000 == 0x1b00_0000 => {
            let value = left.bits.wrapping_mul(right.bits).wrapping_add(third.bits);
            set(state, word, value, both.and(third.dependency))
        }
        // lslv
        _ if word & 0x7fe0_fc00 == 0x1ac0_2000 => {
            let by = right.bits as u32 % bits;
            set(state, word, shifted(left.bits, 0, by, bits), both)
        }
        _ => false,
    }
}

fn choice(state: &mut State, word: u32) -> bool {
    let bits = width(word);
    let [left, right] = [5, 16].map(|low| state.register(field(word, low, 5)));
    let is_true = holds(field(word, 12, 4), state.flags.bits);
    let tested = state.flags.dependency;
    // csel, csinc, csinv, csneg
    if word & 0x3fe0_0800 == 0x1a80_0000 {
        let value = match (is_true, field(word, 30, 1), field(word, 10, 1)) {
            (true, ..) => left,
            (_, 0, 0) => right,
            (_, 0, _) => Value { bits: right.bits.wrapping_add(1), ..right },
            (_, _, 0) => Value { bits: !right.bits, ..right },
            _ => Value { bits: right.bits.wrapping_neg(), ..right },
        };
        return set(state, word, value.bits, value.dependency.chosen_by(tested));
    }
    // ccmp of registers
    if word & 0x7fe0_0c10 == 0x7a40_0000 {
        let compared = left.dependency.and(right.dependency);
        state.flags = match is_true {
            true => {
                let bits = flags(left.bits, right.bits, true, bits);
                Value { bits, dependency: compared.chosen_by(tested) }
            }
            false => {
                let dependency = Dependency::default().chosen_by(tested);
                Value { bits: u64::from(field(word, 0, 4)), dependency }
            }
        };
        return true;
    }
    false
}

/// What `ldadd`, `ldclr`, `ldeor`, `ldset`, `ldsmax`, `ldsmin`, `ldumax` and `ldumin` store, by their number.
pub(super) fn update(operation: u32, old: u64, operand: u64, bits: u32) -> u64 {
    let operand = cut(operand, bits);
    let sign = |value: u64| (value << (64 - bits)) as i64;
    match operation {
        0 => old.wrapping_add(operand),
        1 => old & !operand,
        2 => old ^ operand,
        3 => old | operand,
        4 => {
            if sign(old) > sign(operand) {
                old
            } else {
                operand
            }
        }
        5 => {
            if sign(old) < sign(operand) {
                old
            } else {
                operand
            }
        }
        6 => old.max(operand),
        _ => old.min(operand),
    }
}
