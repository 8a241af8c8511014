//! Patch stage: operations → the A64 instructions that a replacement is made of, the reverse of `decode`.
//!
//! In: operations and registers. Out: instructions, or `None` where no single one does it. Arm ARM, C4.1 and
//! C6.2.

use crate::semantics::{AtomicOp, Field, Operand, Reference, Register, Shift, Width, ZERO};

/// `nop`
pub(crate) const NOP: u32 = 0xd503_201f;
/// `sb`, of FEAT_SB. It is no hint: CPUs without it do not run it.
pub(crate) const SB: u32 = 0xd503_30ff;

/// The number in a register field: SP and the zero register are both 31.
fn number(register: Register) -> u32 {
    u32::from(register.0.min(31))
}

/// The field at bit 31.
fn sf(width: Width) -> u32 {
    u32::from(width.0 == 64) << 31
}

fn size_field(bits: usize) -> u32 {
    bits.trailing_zeros().saturating_sub(3) << 30
}

/// An LSE read-modify-write: `rs` is the operand, `rt` gets the old value.
pub(crate) fn update(change: AtomicOp, reference: Reference, rs: Register, rt: Register) -> u32 {
    let operation = match change {
        AtomicOp::Add => 0b0000,
        AtomicOp::Clear => 0b0001,
        AtomicOp::Xor => 0b0010,
        AtomicOp::Set => 0b0011,
        AtomicOp::Maximum { signed: true } => 0b0100,
        AtomicOp::Minimum { signed: true } => 0b0101,
        AtomicOp::Maximum { signed: false } => 0b0110,
        AtomicOp::Minimum { signed: false } => 0b0111,
        AtomicOp::Swap => 0b1000,
    };
    let order = u32::from(reference.acquire) << 23 | u32::from(reference.release) << 22;
    let registers = number(rs) << 16 | number(reference.base) << 5 | number(rt);
    0x3820_0000 | size_field(reference.bits) | order | operation << 12 | registers
}

/// `cas`: `rs` is what is expected and gets the old value, `rt` is stored.
pub(crate) fn compare_and_swap(reference: Reference, rs: Register, rt: Register) -> u32 {
    let order = u32::from(reference.acquire) << 22 | u32::from(reference.release) << 15;
    let registers = number(rs) << 16 | number(reference.base) << 5 | number(rt);
    0x08a0_7c00 | size_field(reference.bits) | order | registers
}

/// `casp`, for pairs of which the first is even and the second follows; `None` for others.
pub(crate) fn compare_and_swap_pair(
    reference: Reference,
    rs: [Register; 2],
    rt: [Register; 2],
) -> Option<u32> {
    let is_pair = |[low, high]: [Register; 2]| low.0 % 2 == 0 && high.0 == low.0 + 1 && high.0 < 30;
    let size = u32::from(reference.bits == 128) << 30;
    let order = u32::from(reference.acquire) << 22 | u32::from(reference.release) << 15;
    let registers = number(rs[0]) << 16 | number(reference.base) << 5 | number(rt[0]);
    (is_pair(rs) && is_pair(rt)).then_some(0x0820_7c00 | size | order | registers)
}

/// `mov rd, #value`: `movz`, `movn`, or `orr` with a bitmask.
pub(crate) fn move_value(width: Width, rd: Register, value: u64) -> Option<u32> {
    let mask = if width.0 == 64 { u64::MAX } else { u64::from(u32::MAX) };
    let value = value & mask;
    let wide = |value: u64, opcode: u32| {
        let at = (0..width.0 as u32 / 16).find(|at| value & !(0xffff << (16 * at)) == 0)?;
        let immediate = (value >> (16 * at)) as u32 & 0xffff;
        Some(opcode | sf(width) | at << 21 | immediate << 5 | number(rd))
    };
    wide(value, 0x5280_0000).or_else(|| wide(!value & mask, 0x1280_0000)).or_else(|| {
        let fields = bitmask(width, value)?;
        Some(0x3200_0000 | sf(width) | fields << 10 | number(ZERO) << 5 | number(rd))
    })
}

/// N, immr and imms of a logical immediate: the reverse of the Arm ARM's `DecodeBitMasks`.
fn bitmask(width: Width, value: u64) -> Option<u32> {
    let value = if width.0 == 32 { value << 32 | value & 0xffff_ffff } else { value };
    (1..=6).map(|log| 1_u32 << log).find_map(|size| {
        let mask = if size == 64 { u64::MAX } else { (1 << size) - 1 };
        let element = value & mask;
        let is_repeated = (0..64 / size).all(|at| value >> (at * size) & mask == element);
        let ones = element.count_ones();
        if !is_repeated || ones == 0 || ones == size {
            return None;
        }
        let run = (1_u64 << ones) - 1;
        let turned = |by: u32| (run >> by | run << ((size - by) % size)) & mask;
        let by = (0..size).find(|&by| turned(by) == element)?;
        let n = u32::from(size == 64);
        let imms = !(2 * size - 1) & 0x3f | (ones - 1);
        (width.0 == 64 || n == 0).then_some(n << 12 | by << 6 | imms)
    })
}

/// `mov rd, rn`, the zero register included.
pub(crate) fn copy(width: Width, rd: Register, rn: Register) -> u32 {
    0x2a00_03e0 | sf(width) | number(rn) << 16 | number(rd)
}

/// A plain load of so many bits, zeros above them.
pub(crate) fn load(bits: usize, rt: Register, base: Register) -> u32 {
    0x3940_0000 | size_field(bits) | number(base) << 5 | number(rt)
}

/// `eor rd, rd, rm`
pub(crate) fn exclusive_or(width: Width, rd: Register, rm: Register) -> u32 {
    0x4a00_0000 | sf(width) | number(rm) << 16 | number(rd) << 5 | number(rd)
}

/// `cbnz`, by an offset in instructions.
pub(crate) fn branch_unless_zero(width: Width, rt: Register, offset: i64) -> Option<u32> {
    retargeted(0x3500_0000 | sf(width) | number(rt), offset)
}

/// What is done to an operand that is moved into a scratch register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prepare {
    AsIs,
    Negate,
    Invert,
}

/// One instruction that puts an operand into `rd`. `None`: it would take more.
pub(crate) fn prepare(prepare: Prepare, width: Width, rd: Register, operand: Operand) -> Option<u32> {
    match (operand, prepare) {
        (Operand::Value(value), Prepare::AsIs) => move_value(width, rd, value),
        (Operand::Value(value), Prepare::Negate) => move_value(width, rd, value.wrapping_neg()),
        (Operand::Value(value), Prepare::Invert) => move_value(width, rd, !value),
        (Operand::Shifted(rm, shift, by), _) => {
            let opcode = match prepare {
                Prepare::AsIs => 0x2a00_03e0,
                Prepare::Negate if shift == Shift::Rotate => return None,
                Prepare::Negate => 0x4b00_03e0,
                Prepare::Invert => 0x2a20_03e0,
            };
            let kind = match shift {
                Shift::Left => 0,
                Shift::Right => 1,
                Shift::Arithmetic => 2,
                Shift::Rotate => 3_u32,
            };
            Some(opcode | sf(width) | kind << 22 | number(rm) << 16 | (by as u32) << 10 | number(rd))
        }
        (Operand::Extended { rm, bits, signed, by }, Prepare::AsIs) => {
            let field = if signed { Field::Signed } else { Field::Unsigned };
            let imms = bits.min(width.0 - by) - 1;
            Some(bitfield(field, width, rd, rm, (width.0 - by) % width.0, imms))
        }
        (Operand::Extended { .. }, _) => None,
    }
}

fn bitfield(field: Field, width: Width, rd: Register, rn: Register, immr: usize, imms: usize) -> u32 {
    let opcode = match field {
        Field::Signed => 0x1300_0000,
        Field::Insert => 0x3300_0000,
        Field::Unsigned => 0x5300_0000,
    };
    let n = u32::from(width.0 == 64) << 22;
    opcode | sf(width) | n | (immr as u32) << 16 | (imms as u32) << 10 | number(rn) << 5 | number(rd)
}

/// An instruction on two registers that reads another one in the place of one.
pub(crate) fn with_source(word: u32, old: Register, new: Register) -> u32 {
    [5, 16].into_iter().fold(word, |word, low| match word >> low & 31 == number(old) {
        true => word & !(31 << low) | number(new) << low,
        false => word,
    })
}

/// `mov rd, wzr`, or `subs rd, wzr, wzr`, which sets the flags as a comparison of 0 with 0 does.
pub(crate) fn zero(rd: Register, flags: bool) -> u32 {
    if flags { 0x6b1f_03e0 | number(rd) } else { copy(Width(32), rd, ZERO) }
}

/// `b`, by an offset in instructions.
pub(crate) fn branch(offset: i64) -> Option<u32> {
    retargeted(0x1400_0000, offset)
}

/// A branch with another offset, in instructions. `None`: no branch, or too far for it.
pub(crate) fn retargeted(word: u32, offset: i64) -> Option<u32> {
    let (bits, low) = match word >> 24 {
        0x14..=0x17 => (26, 0),
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => (19, 5),
        0x36 | 0x37 | 0xb6 | 0xb7 => (14, 5),
        _ => return None,
    };
    let reach = 1_i64 << (bits - 1);
    let mask = (1_u32 << bits) - 1;
    let field = offset as u32 & mask;
    (-reach..reach).contains(&offset).then_some(word & !(mask << low) | field << low)
}

/// A conditional branch that is taken where this one is not.
pub(crate) fn inverted(word: u32) -> Option<u32> {
    match word >> 24 {
        0x34..=0x37 | 0xb4..=0xb7 => Some(word ^ 1 << 24),
        // `b.al` and `b.nv` are both always taken.
        0x54 if word & 0xe != 0xe => Some(word ^ 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::{Insn, Logic, Test, decode};

    const X: [Register; 3] = [Register(1), Register(2), Register(3)];

    #[test]
    fn atomics_decode_to_what_they_were_made_of() {
        let changes = [AtomicOp::Swap, AtomicOp::Add, AtomicOp::Clear, AtomicOp::Xor, AtomicOp::Set]
            .into_iter()
            .chain([true, false].map(|signed| AtomicOp::Maximum { signed }))
            .chain([true, false].map(|signed| AtomicOp::Minimum { signed }));
        let orders = [(false, false), (true, false), (false, true), (true, true)];
        for change in changes {
            for (bits, (acquire, release)) in [8, 16, 32, 64].into_iter().flat_map(|b| orders.map(|o| (b, o)))
            {
                let reference = Reference { bits, base: Register(31), acquire, release };
                let [rs, rt, _] = X;
                let made = update(change, reference, rs, rt);
                assert_eq!(decode(made), Ok(Insn::Update { reference, change, rs, rt }), "{made:08x}");
                let made = compare_and_swap(reference, rs, rt);
                assert_eq!(decode(made), Ok(Insn::CompareAndSwap { reference, rs, rt }), "{made:08x}");
            }
        }
    }

    #[test]
    fn words_around_a_body_are_what_they_were_made_of() {
        use crate::semantics::plain_load;
        for bits in [8, 16, 32, 64] {
            let made = plain_load(load(bits, X[0], Register(31)));
            assert_eq!(made, Some(Insn::Guess { bits, rt: X[0], base: Register(31) }));
        }
        assert_eq!(load(32, X[0], X[1]), 0xb940_0041); // ldr w1, [x2]
        assert_eq!(exclusive_or(Width(64), X[0], X[1]), 0xca02_0021); // eor x1, x1, x2
        assert_eq!(branch_unless_zero(Width(32), X[2], -5), Some(0x35ff_ff63)); // cbnz w3, #-20
    }

    #[test]
    fn pairs_decode_to_what_they_were_made_of() {
        let orders = [(false, false), (true, false), (false, true), (true, true)];
        let pair = |first: u8| [Register(first), Register(first + 1)];
        for (bits, (acquire, release)) in [64, 128].into_iter().flat_map(|bits| orders.map(|o| (bits, o))) {
            let reference = Reference { bits, base: Register(31), acquire, release };
            for (first, second) in (0..30).flat_map(|first| (0..30).map(move |second| (first, second))) {
                let (rs, rt) = (pair(first), pair(second));
                let Some(made) = compare_and_swap_pair(reference, rs, rt) else {
                    assert!(first % 2 == 1 || second % 2 == 1);
                    continue;
                };
                assert_eq!(decode(made), Ok(Insn::CompareAndSwapPair { reference, rs, rt }), "{made:08x}");
            }
            let (apart, zero) = ([Register(2), Register(4)], [Register(30), ZERO]);
            assert_eq!(compare_and_swap_pair(reference, apart, pair(0)), None);
            assert_eq!(compare_and_swap_pair(reference, pair(0), zero), None);
        }
    }

    #[test]
    fn moved_values_are_read_back() {
        let values = [0, 1, 0xffff, 0x10000, 0xffff_fffe, 0xffff_ffff, 0x00ff_00ff, 0xffff_ffff_ffff_fffe];
        let masks = (1..64).map(|ones| ((1_u64 << ones) - 1).rotate_right(ones / 2));
        let mut made = 0;
        for value in values.into_iter().chain(masks) {
            for width in [Width(32), Width(64)] {
                let wanted = if width.0 == 64 { value } else { value & 0xffff_ffff };
                let read = move_value(width, X[0], value).map(decode);
                let read = match read {
                    Some(Ok(Insn::Move { value, .. })) => value,
                    Some(Ok(Insn::Logical { logic: Logic::Or, operand: Operand::Value(value), .. })) => value,
                    None => continue,
                    other => panic!("{value:#x}: {other:?}"),
                };
                let mask = if width.0 == 64 { u64::MAX } else { 0xffff_ffff };
                assert_eq!(read & mask, wanted, "{value:#x}");
                made += usize::from(width.0 == 64);
            }
        }
        // All masks, and of the values all but 0x00ff_00ff, which as 64 bits is none.
        assert_eq!(made, 63 + 7);
        assert_eq!(move_value(Width(64), X[0], 0x1234_5678), None);
    }

    #[test]
    fn branches_keep_their_test_and_have_limits() {
        let cbnz = 0x3500_0003; // cbnz w3, #0
        let moved = retargeted(cbnz, -5).expect("near");
        let Ok(Insn::Branch { test: Test::Bits { rt, set: true, .. }, offset: -5 }) = decode(moved) else {
            panic!("{moved:08x}");
        };
        assert_eq!(rt, X[2]);
        assert_eq!(retargeted(cbnz, 1 << 18), None);
        assert_eq!(retargeted(NOP, 1), None);
        assert_eq!(branch(-1), Some(0x17ff_ffff)); // b #-4
    }
}
