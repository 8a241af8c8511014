//! What vector registers hold, as far as compilers carry flags and pointers through them.
//!
//! In: the halves of the registers and of memory that an instruction reads. Out: the halves that it leaves. Only whole
//! lanes are followed ([`Lanes`]); any arithmetic leaves [`Value::Tainted`] (⊤ that carries taint) or nothing.

use crate::function::reach::domain::value::Value;
use crate::insn::Lanes;

/// The low and the high 64 bits of a vector register.
pub(crate) type Halves = [Value; 2];

/// What an instruction leaves in its destination: `old` is what that held, `from` the source's halves, `width` the
/// bytes of a general register or a memory operand.
pub(crate) fn arranged(lanes: Lanes, old: &Halves, from: &Halves, width: u8, index: u64) -> Halves {
    let [old_low, old_high] = old;
    let [low, high] = from;
    let zero = || Value::constant(0);
    match lanes {
        Lanes::Whole => from.clone(),
        Lanes::Low => [low.truncate(width), zero()],
        Lanes::LowHalf => [low.clone(), old_high.clone()],
        Lanes::HighHalf => [old_low.clone(), low.clone()],
        Lanes::Zero => [zero(), zero()],
        Lanes::InterleaveLow32 => {
            let pair = |a: &Value, b: &Value| a.truncate(4).or(&b.truncate(4).shift(32));
            [pair(old_low, low), pair(&old_low.shift(-32), &low.shift(-32))]
        }
        Lanes::InterleaveLow64 => [old_low.clone(), low.clone()],
        Lanes::InterleaveHigh64 => [old_high.clone(), high.clone()],
        Lanes::And => [old_low.and(low), old_high.and(high)],
        Lanes::AndNot => [old_low.xor_mask(u64::MAX).and(low), old_high.xor_mask(u64::MAX).and(high)],
        Lanes::Or => [old_low.or(low), old_high.or(high)],
        Lanes::Xor => [old_low.xor(low), old_high.xor(high)],
        Lanes::Shuffle32 => {
            let lane = |n: u64| {
                let half = if index >> (2 * n) & 2 == 0 { low } else { high };
                if index >> (2 * n) & 1 == 0 { half.truncate(4) } else { half.shift(-32) }
            };
            // The same lane twice is one value.
            let pair = |n: u64| {
                let is_twice = index >> (2 * n) & 3 == index >> (2 * n + 2) & 3;
                if is_twice { lane(n).twice() } else { lane(n).or(&lane(n + 1).shift(32)) }
            };
            [pair(0), pair(2)]
        }
        Lanes::Insert => {
            let lane = |half: &Value, is_high: bool| match is_high {
                false => half.and_mask(!0xffff_ffff).or(&low.truncate(4)),
                true => half.truncate(4).or(&low.truncate(4).shift(32)),
            };
            match (width, index & 3) {
                (8, index) if index & 1 == 0 => [low.clone(), old_high.clone()],
                (8, _) => [old_low.clone(), low.clone()],
                (_, index @ 0..=1) => [lane(old_low, index == 1), old_high.clone()],
                (_, index) => [old_low.clone(), lane(old_high, index == 3)],
            }
        }
    }
}
