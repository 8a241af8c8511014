//! What an operation makes of two values.
//!
//! Numbers that are listed are worked out one by one. Otherwise bits and bounds say what they can (tristate numbers after
//! Vishwanathan et al., CGO 2022, with an unsigned interval and a signed one). An address plus what is not known stays in its object.

use super::limits::{MAX_ENUMERATED, MAX_PAIRS, MAX_RESULTS};
use super::pool::{Bits, Pool, Shape, Value};
use super::region::region;
use crate::insn::operations::Arithmetic;

/// The numbers of so many bytes.
pub(crate) const fn mask(size: u8) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (size as u32 * 8)) - 1 }
}

fn signed(number: u64, size: u8) -> i64 {
    let unused = 64 - u32::from(size.clamp(1, 8)) * 8;
    (number << unused).cast_signed() >> unused
}

/// What an operation makes of two numbers, on so many bytes.
pub(crate) fn concrete(kind: Arithmetic, left: u64, right: u64, size: u8) -> u64 {
    use Arithmetic as A;
    let mask = mask(size);
    let width = u32::from(size) * 8;
    let number = left & mask;
    let count = (right & if size == 8 { 63 } else { 31 }) as u32;
    let bit = 1_u64.checked_shl(right as u32 % width.max(1)).unwrap_or(0);
    let rotated = |to_left: u32| {
        let (up, down) = (to_left % width.max(1), (width - to_left % width.max(1)) % width.max(1));
        if up == 0 {
            number
        } else {
            number.checked_shl(up).unwrap_or(0) | number.checked_shr(down).unwrap_or(0)
        }
    };
    let result = match kind {
        A::Add => left.wrapping_add(right),
        A::Sub => left.wrapping_sub(right),
        A::And => left & right,
        A::Or => left | right,
        A::Xor => left ^ right,
        A::Multiply => left.wrapping_mul(right),
        A::ShiftLeft => number.checked_shl(count).unwrap_or(0),
        A::ShiftRight => number.checked_shr(count).unwrap_or(0),
        A::ShiftRightSigned => signed(number, size).checked_shr(count).unwrap_or(0).cast_unsigned(),
        A::RotateLeft => rotated(count),
        A::RotateRight => rotated(width - count % width.max(1)),
        A::SetBit => left | bit,
        A::ClearBit => left & !bit,
        A::FlipBit => left ^ bit,
        A::Not => !left,
        A::Negate => left.wrapping_neg(),
        A::SwapBytes => number.swap_bytes().checked_shr(64 - width).unwrap_or(0),
        A::LowestBit if number == 0 => u64::from(width),
        A::LowestBit => u64::from(number.trailing_zeros()),
        A::HighestBit => u64::from(63 - (number | 1).leading_zeros()),
        A::LeadingZeros => u64::from(number.leading_zeros().saturating_sub(64 - width)),
        A::CountBits => u64::from(number.count_ones()),
        A::SignExtend => signed(left, right as u8).cast_unsigned(),
        A::Extract => left.checked_shr(right as u32 & 63).unwrap_or(0),
    };
    result & mask
}

impl Pool {
    /// What an operation makes of two values, on so many bytes; the rest is zero.
    pub(crate) fn compute(&mut self, kind: Arithmetic, left: Value, right: Value, size: u8) -> Value {
        let open = left.is_doubt() || right.is_doubt();
        let (left, right) = (left.closed(), right.closed());
        if left.is_bottom() || right.is_bottom() {
            return Value::BOTTOM;
        }
        let key = (kind as u8, size, left, right);
        let result = self.results.get(&key).copied().unwrap_or_else(|| {
            let result = self.computed(kind, left, right, size);
            self.results.insert(key, result);
            result
        });
        if self.forgets(kind, result, right) {
            // An address that comes out as anything is lost: an event of each operation, not only of the first.
            self.lose(left);
            self.lose(right);
        }
        // Where one number is possible, no answer is left open.
        result.opened(open && self.as_constant(result).is_none())
    }

    /// Whether an address may have gone where it is no longer followed. What tests and masks the low bits of one, or takes the
    /// difference of two, leaves no address.
    fn forgets(&self, kind: Arithmetic, result: Value, right: Value) -> bool {
        use Arithmetic as A;
        let keeps = match kind {
            A::Add | A::Sub | A::Or | A::Xor | A::ShiftLeft | A::Extract | A::RotateLeft | A::RotateRight => {
                true
            }
            A::And => self.as_constant(right).is_none_or(|mask| mask > 0xffff),
            A::SwapBytes | A::Not | A::Negate | A::Multiply | A::SetBit | A::ClearBit | A::FlipBit => true,
            _ => false,
        };
        keeps && (result.is_any() || matches!(self.shape(result), Shape::Bits(_)))
    }

    /// The low bytes of a value.
    pub(crate) fn truncate(&mut self, value: Value, size: u8) -> Value {
        if size >= 8 {
            return value;
        }
        let mask = self.constant(mask(size));
        self.compute(Arithmetic::And, value, mask, 8)
    }

    /// The low bytes of a value, extended by their sign to more.
    pub(crate) fn extend(&mut self, value: Value, from: u8, to: u8) -> Value {
        let (low, bytes) = (self.truncate(value, from), self.constant(from.into()));
        self.compute(Arithmetic::SignExtend, low, bytes, to)
    }

    /// The sum with a number.
    pub(crate) fn plus(&mut self, value: Value, number: u64) -> Value {
        if number == 0 {
            return value;
        }
        let number = self.constant(number);
        self.compute(Arithmetic::Add, value, number, 8)
    }

    fn has_address(&self, numbers: &[u64]) -> bool {
        numbers.iter().any(|&number| self.places.is_address(number))
    }

    /// The numbers of a value, where they are few.
    fn enumerated(&self, value: Value) -> Option<Vec<u64>> {
        let bits = match self.shape(value) {
            Shape::Numbers(numbers) => return Some(numbers.to_vec()),
            Shape::Bits(bits) => bits,
            _ => return None,
        };
        let step = 1_u64.checked_shl(bits.known.trailing_ones()).unwrap_or(1);
        if bits.high.checked_sub(bits.low)? / step > MAX_ENUMERATED {
            return None;
        }
        let first = (bits.low & !(step - 1)) | (bits.value & (step - 1));
        let numbers = std::iter::successors(Some(first), |number| number.checked_add(step));
        let numbers = numbers.take_while(|&number| number <= bits.high);
        let fits = |&number: &u64| number >= bits.low && number & bits.known == bits.value;
        Some(numbers.filter(fits).collect())
    }

    fn computed(&mut self, kind: Arithmetic, left: Value, right: Value, size: u8) -> Value {
        if let (Some(one), Some(other)) = (self.enumerated(left), self.enumerated(right)) {
            let has_address = self.has_address(&one) || self.has_address(&other);
            let is_listed = |value| matches!(self.shape(value), Shape::Numbers(_));
            let is_few = one.len() * other.len() <= if has_address { MAX_PAIRS / 2 } else { MAX_PAIRS };
            if is_few && (has_address || is_listed(left) && is_listed(right)) {
                let pairs = one.iter().flat_map(|&left| other.iter().map(move |&right| (left, right)));
                let mut all: Vec<u64> =
                    pairs.map(|(left, right)| concrete(kind, left, right, size)).collect();
                all.sort_unstable();
                all.dedup();
                if size == 8 && matches!(kind, Arithmetic::Add | Arithmetic::Sub) {
                    self.keep_inside(&mut all, left, right);
                }
                return match all.len() > MAX_RESULTS && !self.has_address(&all) {
                    true => self.summarized(all),
                    false => self.one_of(all),
                };
            }
        }
        if let Some(value) = self.moved(kind, left, right, size) {
            return value;
        }
        let lost = left.is_lost() || right.is_lost();
        let (Some(one), Some(other)) = (self.bits(left), self.bits(right)) else {
            return self.fitted(Bits::ANY, size, true);
        };
        let is_pointer = |pool: &Pool, value| !pool.addresses(value).is_empty();
        let lost = lost || is_pointer(self, left) || is_pointer(self, right);
        let bits = combined(kind, one, other, size);
        self.fitted(bits, size, lost)
    }

    /// An index of which only bounds are known leads nowhere past its object: the bound of a loop that was widened is none.
    fn keep_inside(&self, results: &mut Vec<u64>, left: Value, right: Value) {
        let (address, index) = if self.addresses(left).is_empty() { (right, left) } else { (left, right) };
        let Some(address) = self.as_constant(address).filter(|address| region(*address).is_none()) else {
            return;
        };
        if !matches!(self.shape(index), Shape::Bits(_)) || !self.places.is_address(address) {
            return;
        }
        let object = self.places.object(address);
        let is_inside = |place: &u64| self.places.object(*place) == object;
        if results.iter().any(is_inside) {
            results.retain(is_inside);
        }
    }

    /// An address that moves within its object.
    fn moved(&mut self, kind: Arithmetic, left: Value, right: Value, size: u8) -> Option<Value> {
        if size != 8 {
            return None;
        }
        let (one, other) = (self.addresses(left), self.addresses(right));
        let aligns = |pool: &Pool| {
            let mask = pool.as_constant(right).map(u64::cast_signed);
            mask.is_some_and(|mask| (-4096..0).contains(&mask))
        };
        match kind {
            Arithmetic::Add | Arithmetic::Sub if !one.is_empty() && other.is_empty() => {
                Some(self.within(one.into_iter()))
            }
            Arithmetic::Add if one.is_empty() && !other.is_empty() => Some(self.within(other.into_iter())),
            Arithmetic::And if !one.is_empty() && other.is_empty() && aligns(self) => {
                Some(self.within(one.into_iter()))
            }
            _ => None,
        }
    }

    /// The value of bits and bounds on so many bytes, made to agree.
    pub(crate) fn fitted(&mut self, bits: Bits, size: u8, lost: bool) -> Value {
        let mask = mask(size);
        if size >= 8 && bits == Bits::ANY {
            return if lost { Value::LOST } else { Value::TOP };
        }
        let known = bits.known | !mask;
        let value = bits.value & mask & known;
        let (low, high) = if bits.high > mask { (0, mask) } else { (bits.low, bits.high) };
        let (low, high) = (low.max(value), high.min(value | !known));
        let unknown = !known;
        let value = if low > high {
            self.intern(Shape::Bits(Bits { known, value, low: value, high: value | !known, ..Bits::ANY }))
        } else if unknown.count_ones() <= 2 && low < high {
            let one = unknown & unknown.wrapping_neg();
            let all = [0, one, unknown & !one, unknown].map(|more| value | more);
            self.one_of(all.into_iter().filter(|number| (low..=high).contains(number)).collect())
        } else {
            // Of fewer bytes the sign is another.
            let (least, most) = if size < 4 { (i32::MIN, i32::MAX) } else { (bits.least, bits.most) };
            self.intern(Shape::Bits(Bits { known, value, low, high, least, most }))
        };
        value.opened(lost)
    }
}

/// What an operation makes of bits and bounds.
fn combined(kind: Arithmetic, one: Bits, other: Bits, size: u8) -> Bits {
    use Arithmetic as A;
    let (ones, zeros) = (|it: Bits| it.known & it.value, |it: Bits| it.known & !it.value);
    let mask = mask(size);
    let count = (other.low == other.high).then_some(other.low);
    let limit = if size == 8 || kind == A::Extract { 63 } else { 31 };
    let bit = count.and_then(|count| 1_u64.checked_shl(count as u32 % (u32::from(size) * 8).max(1)));
    match kind {
        A::And => {
            let (zero, one_bits) = (zeros(one) | zeros(other), ones(one) & ones(other));
            let high = one.high.min(other.high);
            // What clears none of the low four bytes' bits leaves their sign.
            let is_kept = |mask: Bits| mask.low == mask.high && mask.low & 0xffff_ffff == 0xffff_ffff;
            let (least, most) = match (is_kept(one), is_kept(other)) {
                (_, true) => (one.least, one.most),
                (true, _) => (other.least, other.most),
                _ => (i32::MIN, i32::MAX),
            };
            Bits { known: zero | one_bits, value: one_bits, low: 0, high, least, most }
        }
        A::Or => {
            let (zero, one_bits) = (zeros(one) & zeros(other), ones(one) | ones(other));
            let low = one.low.max(other.low);
            Bits { known: zero | one_bits, value: one_bits, low, high: !zero, ..Bits::ANY }
        }
        A::Xor => {
            let known = one.known & other.known;
            Bits { known, value: (one.value ^ other.value) & known, ..Bits::ANY }
        }
        A::Add | A::Sub | A::Multiply => {
            let same = one.known.trailing_ones().min(other.known.trailing_ones());
            let known = 1_u64.checked_shl(same).map_or(u64::MAX, |bit| bit - 1);
            let value = concrete(kind, one.value, other.value, 8) & known;
            let bounds = match kind {
                A::Add => one.low.checked_add(other.low).zip(one.high.checked_add(other.high)),
                A::Sub => one.low.checked_sub(other.high).zip(one.high.checked_sub(other.low)),
                _ => one.low.checked_mul(other.low).zip(one.high.checked_mul(other.high)),
            };
            let (low, high) = bounds.filter(|bounds| bounds.1 <= mask).unwrap_or((0, u64::MAX));
            Bits { known, value, low, high, ..Bits::ANY }
        }
        A::ShiftLeft => match count.map(|count| count & limit) {
            Some(count) => {
                let known = one.known << count | ((1_u64 << count) - 1);
                let is_over = count > 0
                    && (one.high & mask) >> (u64::from(size) * 8).saturating_sub(count).min(63) != 0;
                let (low, high) = if is_over { (0, u64::MAX) } else { (one.low << count, one.high << count) };
                Bits { known, value: one.value << count, low, high, ..Bits::ANY }
            }
            None => Bits::ANY,
        },
        A::ShiftRight | A::Extract => match count.map(|count| count & limit) {
            Some(count) => {
                let narrow = size < 8 && kind != A::Extract;
                let known = if narrow { one.known | !mask } else { one.known };
                let value = if narrow { one.value & mask } else { one.value };
                let (low, high) = match narrow && one.high > mask {
                    true => (0, mask),
                    false => (one.low, one.high),
                };
                let entered = if count == 0 { 0 } else { !(u64::MAX >> count) };
                Bits {
                    known: known >> count | entered,
                    value: value >> count,
                    low: low >> count,
                    high: high >> count,
                    ..Bits::ANY
                }
            }
            None if kind == A::Extract => Bits { high: one.high, ..Bits::ANY },
            None => Bits { high: one.high.min(mask), ..Bits::ANY },
        },
        A::Not => {
            let (least, most) = (!one.most, !one.least);
            Bits {
                known: one.known,
                value: !one.value & one.known,
                low: !one.high,
                high: !one.low,
                least,
                most,
            }
        }
        A::SignExtend => {
            let bytes = count.unwrap_or(8) as u8;
            match bytes {
                _ if one.high <= self::mask(bytes) >> 1 => one,
                4 if one.least >= 0 => {
                    Bits::between(one.least.cast_unsigned().into(), one.most.cast_unsigned().into())
                }
                // The low four bytes stay what they are.
                4.. => Bits { least: one.least, most: one.most, ..Bits::ANY },
                _ => Bits::ANY,
            }
        }
        A::SetBit => {
            bit.map_or(Bits::ANY, |bit| Bits { known: one.known | bit, value: one.value | bit, ..Bits::ANY })
        }
        A::ClearBit => {
            bit.map_or(Bits::ANY, |bit| Bits { known: one.known | bit, value: one.value & !bit, ..Bits::ANY })
        }
        A::CountBits | A::LowestBit | A::HighestBit | A::LeadingZeros => {
            Bits::between(0, u64::from(size) * 8)
        }
        A::RotateLeft | A::RotateRight if count.is_some() && size >= 4 => {
            let turned = |bits: u64| concrete(kind, bits, other.low, size);
            Bits { known: turned(one.known), value: turned(one.value), ..Bits::ANY }
        }
        _ => Bits::ANY,
    }
}
