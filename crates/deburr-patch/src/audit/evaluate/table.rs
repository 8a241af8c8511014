//! Patch stage, audit, evaluate: instructions of A64 → operations, by a table.
//!
//! In: 32 bits, and what a branch's target is. Out: an [`Operation`], or nothing for what is not in the table. A row has
//! the fixed bits of an encoding; its form says how the fields are read, and refuses what is unallocated or constrained
//! unpredictable. Follows the Arm ARM (DDI 0487), C4.1, without the code of `semantics`.

use super::operation::{
    Access, Change, Compute, Field, Held, Operation, Place, Right, SP, Shift, Test, ZERO,
};

/// How the fields of an encoding are read.
#[derive(Clone, Copy)]
enum Form {
    AddImmediate,
    LogicalImmediate,
    MoveWide,
    Bitfield,
    Extract,
    LogicalShifted,
    AddShifted,
    AddExtended,
    MultiplyAdd,
    CompareIf,
    Select,
    ShiftBy,
    Jump,
    CompareAndBranch,
    TestAndBranch,
    BranchIf,
    Nothing,
    ClearExclusive,
    Barrier,
    LoadExclusive,
    StoreExclusive,
    CompareSwap,
    LoadExclusivePair,
    StoreExclusivePair,
    CompareSwapPair,
    Update,
    Guess,
    Load,
    LoadThenMove,
    LoadTwo,
}

/// Mask, fixed bits, form.
const TABLE: [(u32, u32, Form); 31] = [
    (0x1f80_0000, 0x1100_0000, Form::AddImmediate),
    (0x1f80_0000, 0x1200_0000, Form::LogicalImmediate),
    (0x1f80_0000, 0x1280_0000, Form::MoveWide),
    (0x1f80_0000, 0x1300_0000, Form::Bitfield),
    (0x7fa0_0000, 0x1380_0000, Form::Extract),
    (0x1f00_0000, 0x0a00_0000, Form::LogicalShifted),
    (0x1f20_0000, 0x0b00_0000, Form::AddShifted),
    (0x1fe0_0000, 0x0b20_0000, Form::AddExtended),
    (0x7fe0_0000, 0x1b00_0000, Form::MultiplyAdd),
    (0x3fe0_0410, 0x3a40_0000, Form::CompareIf),
    (0x3fe0_0800, 0x1a80_0000, Form::Select),
    (0x7fe0_f000, 0x1ac0_2000, Form::ShiftBy),
    (0xfc00_0000, 0x1400_0000, Form::Jump),
    (0x7e00_0000, 0x3400_0000, Form::CompareAndBranch),
    (0x7e00_0000, 0x3600_0000, Form::TestAndBranch),
    (0xff00_0010, 0x5400_0000, Form::BranchIf),
    // nop, yield; bti with each of its targets.
    (0xffff_ffdf, 0xd503_201f, Form::Nothing),
    (0xffff_ff3f, 0xd503_241f, Form::Nothing),
    (0xffff_f0ff, 0xd503_305f, Form::ClearExclusive),
    (0xffff_f0ff, 0xd503_30bf, Form::Barrier),
    (0x3fff_7c00, 0x085f_7c00, Form::LoadExclusive),
    (0x3fe0_7c00, 0x0800_7c00, Form::StoreExclusive),
    (0x3fa0_7c00, 0x08a0_7c00, Form::CompareSwap),
    (0xbfff_0000, 0x887f_0000, Form::LoadExclusivePair),
    (0xbfe0_0000, 0x8820_0000, Form::StoreExclusivePair),
    (0xbfa0_7c00, 0x0820_7c00, Form::CompareSwapPair),
    (0x3f20_0c00, 0x3820_0000, Form::Update),
    (0x3fff_fc00, 0x3940_0000, Form::Guess),
    (0xffe0_0c00, 0xf840_0000, Form::Load),
    (0xffe0_0c00, 0xf840_0400, Form::LoadThenMove),
    (0xffc0_0000, 0xa940_0000, Form::LoadTwo),
];

/// The fields of an instruction.
#[derive(Clone, Copy)]
struct Fields(u32);

impl Fields {
    fn bits(self, low: u32, length: u32) -> u32 {
        self.0 >> low & ((1 << length) - 1)
    }

    fn flag(self, bit: u32) -> bool {
        self.0 >> bit & 1 != 0
    }

    fn signed(self, low: u32, length: u32) -> i64 {
        i64::from((self.0 << (32 - low - length)).cast_signed() >> (32 - length))
    }

    /// A register; 31 is the zero register.
    fn register(self, low: u32) -> u8 {
        match self.bits(low, 5) {
            31 => ZERO,
            number => number as u8,
        }
    }

    /// A register; 31 is the stack pointer.
    fn base(self, low: u32) -> u8 {
        self.bits(low, 5) as u8
    }

    fn is_wide(self) -> bool {
        self.flag(31)
    }

    fn width(self) -> u32 {
        if self.is_wide() { 64 } else { 32 }
    }

    /// An access of 1, 2, 4 or 8 bytes.
    fn access(self, acquires: bool, releases: bool) -> Access {
        Access { bits: 8 << self.bits(30, 2), base: self.base(5), acquires, releases }
    }

    /// An access of two registers.
    fn access_of_two(self, acquires: bool, releases: bool) -> Access {
        Access { bits: 64 << self.bits(30, 1), base: self.base(5), acquires, releases }
    }

    /// A register by its number and the one after it: undefined from an odd one on, and here not understood from x30 on.
    fn two_from(self, low: u32) -> Option<Held> {
        let first = self.bits(low, 5) as u8;
        (first.is_multiple_of(2) && first < 30).then_some(Held { low: first, high: Some(first + 1) })
    }

    fn shifted(self) -> Option<Right> {
        let by = self.bits(10, 6);
        let shift = shift(self.bits(22, 2));
        (by < self.width()).then_some(Right::Shifted { from: self.register(16), shift, by })
    }
}

fn shift(number: u32) -> Shift {
    match number {
        0 => Shift::Left,
        1 => Shift::Right,
        2 => Shift::Arithmetic,
        _ => Shift::Rotate,
    }
}

const fn single(low: u8) -> Held {
    Held { low, high: None }
}

/// What an instruction does; `place` says where a branch over so many instructions goes.
pub(crate) fn operation(word: u32, place: impl Fn(i64) -> Place) -> Option<Operation> {
    let (_, _, form) = TABLE.iter().find(|(mask, bits, _)| word & mask == *bits)?;
    let fields = Fields(word);
    match form {
        Form::AddImmediate | Form::LogicalImmediate | Form::MoveWide | Form::Bitfield | Form::Extract => {
            immediate(*form, fields)
        }
        Form::LogicalShifted
        | Form::AddShifted
        | Form::AddExtended
        | Form::MultiplyAdd
        | Form::CompareIf
        | Form::Select
        | Form::ShiftBy => of_registers(*form, fields),
        Form::Jump => Some(Operation::Branch { test: Test::Always, to: place(fields.signed(0, 26)) }),
        Form::CompareAndBranch => {
            let mask = u64::MAX >> (64 - fields.width());
            let test = Test::Bits { from: fields.register(0), mask, is_set: fields.flag(24) };
            Some(Operation::Branch { test, to: place(fields.signed(5, 19)) })
        }
        Form::TestAndBranch => {
            let mask = 1 << (fields.bits(31, 1) << 5 | fields.bits(19, 5));
            let test = Test::Bits { from: fields.register(0), mask, is_set: fields.flag(24) };
            Some(Operation::Branch { test, to: place(fields.signed(5, 14)) })
        }
        Form::BranchIf => {
            let test = Test::Condition(fields.bits(0, 4) as u8);
            Some(Operation::Branch { test, to: place(fields.signed(5, 19)) })
        }
        Form::Nothing => Some(Operation::Nothing),
        Form::ClearExclusive => Some(Operation::ClearExclusive),
        Form::Barrier => Some(Operation::Barrier(fields.bits(8, 4) as u8)),
        _ => access(*form, fields),
    }
}

fn immediate(form: Form, fields: Fields) -> Option<Operation> {
    let (is_wide, width) = (fields.is_wide(), fields.width());
    let (opc, is_alike) = (fields.bits(29, 2), fields.flag(22) == fields.is_wide());
    match form {
        Form::AddImmediate => {
            let sets_flags = fields.flag(29);
            Some(Operation::Compute {
                compute: if fields.flag(30) { Compute::Subtract } else { Compute::Add },
                is_wide,
                sets_flags,
                to: if sets_flags { fields.register(0) } else { fields.base(0) },
                left: fields.base(5),
                right: Right::Value(u64::from(fields.bits(10, 12)) << (12 * fields.bits(22, 1))),
            })
        }
        Form::LogicalImmediate => Some(Operation::Compute {
            compute: logical(opc, false),
            is_wide,
            sets_flags: opc == 3,
            to: if opc == 3 { fields.register(0) } else { fields.base(0) },
            left: fields.register(5),
            right: Right::Value(bitmask(fields)?),
        }),
        Form::MoveWide => {
            let (to, at) = (fields.register(0), 16 * fields.bits(21, 2));
            let value = u64::from(fields.bits(5, 16)) << at;
            let narrow = u64::MAX >> (64 - width);
            match opc {
                _ if at >= width => None,
                0 => Some(Operation::Constant { to, value: !value & narrow }),
                2 => Some(Operation::Constant { to, value }),
                3 => Some(Operation::Keep { is_wide, to, at, value }),
                _ => None,
            }
        }
        Form::Bitfield => {
            let field = match opc {
                0 => Field::Signed,
                1 => Field::Insert,
                2 => Field::Unsigned,
                _ => return None,
            };
            let (rotate, last) = (fields.bits(16, 6), fields.bits(10, 6));
            let (to, from) = (fields.register(0), fields.register(5));
            let is_allocated = is_alike && rotate < width && last < width;
            is_allocated.then_some(Operation::Bitfield { field, is_wide, to, from, rotate, last })
        }
        _ => {
            let at = fields.bits(10, 6);
            let (high, low) = (fields.register(5), fields.register(16));
            let extract = Operation::Extract { is_wide, to: fields.register(0), high, low, at };
            (is_alike && at < width).then_some(extract)
        }
    }
}

fn logical(opc: u32, inverts: bool) -> Compute {
    match (opc, inverts) {
        (1, false) => Compute::Or,
        (1, true) => Compute::OrNot,
        (2, false) => Compute::Xor,
        (2, true) => Compute::XorNot,
        (_, false) => Compute::And,
        (_, true) => Compute::AndNot,
    }
}

/// The immediate of a logical instruction: an element of 2 to 64 bits, repeated; in it a run of ones, rotated
/// (`DecodeBitMasks`).
fn bitmask(fields: Fields) -> Option<u64> {
    let (n, rotate, ones) = (fields.bits(22, 1), fields.bits(16, 6), fields.bits(10, 6));
    let size = match (n, ones) {
        (1, _) => 64,
        (_, 0..=0b01_1111) => 32,
        (_, 0b10_0000..=0b10_1111) => 16,
        (_, 0b11_0000..=0b11_0111) => 8,
        (_, 0b11_1000..=0b11_1011) => 4,
        (_, 0b11_1100 | 0b11_1101) => 2,
        _ => return None,
    };
    let (ones, rotate) = ((ones & (size - 1)) + 1, rotate & (size - 1));
    if ones == size || size > fields.width() {
        return None;
    }
    let run = u64::MAX >> (64 - ones);
    let element = match rotate {
        0 => run,
        _ => (run >> rotate | run << (size - rotate)) & (u64::MAX >> (64 - size)),
    };
    Some((0..64 / size).fold(0, |all, index| all | element << (index * size)))
}

fn of_registers(form: Form, fields: Fields) -> Option<Operation> {
    let (is_wide, opc) = (fields.is_wide(), fields.bits(29, 2));
    let (to, left, right) = (fields.register(0), fields.register(5), fields.register(16));
    let sets_flags = fields.flag(29);
    let sum = if fields.flag(30) { Compute::Subtract } else { Compute::Add };
    let condition = fields.bits(12, 4) as u8;
    Some(match form {
        Form::LogicalShifted => {
            let compute = logical(opc, fields.flag(21));
            Operation::Compute { compute, is_wide, sets_flags: opc == 3, to, left, right: fields.shifted()? }
        }
        Form::AddShifted => {
            // No sum rotates.
            (fields.bits(22, 2) != 3).then_some(())?;
            Operation::Compute { compute: sum, is_wide, sets_flags, to, left, right: fields.shifted()? }
        }
        Form::AddExtended => {
            let (option, by) = (fields.bits(13, 3), fields.bits(10, 3));
            (by <= 4).then_some(())?;
            Operation::Compute {
                compute: sum,
                is_wide,
                sets_flags,
                to: if sets_flags { to } else { fields.base(0) },
                left: fields.base(5),
                right: Right::Extended { from: right, bits: 8 << (option & 3), is_signed: option >= 4, by },
            }
        }
        Form::MultiplyAdd => {
            let (subtracts, with) = (fields.flag(15), fields.register(10));
            Operation::Multiply { is_wide, subtracts, to, left, right, with }
        }
        Form::CompareIf => Operation::CompareIf {
            is_wide,
            subtracts: fields.flag(30),
            condition,
            otherwise: fields.bits(0, 4) as u8,
            left,
            right: match fields.flag(11) {
                true => Right::Value(u64::from(fields.bits(16, 5))),
                false => Right::Shifted { from: right, shift: Shift::Left, by: 0 },
            },
        },
        Form::Select => {
            let (inverts, increments) = (fields.flag(30), fields.flag(10));
            Operation::Select { is_wide, condition, inverts, increments, to, left, right }
        }
        _ => Operation::Compute {
            compute: Compute::Shift(shift(fields.bits(10, 2))),
            is_wide,
            sets_flags: false,
            to,
            left,
            right: Right::Shifted { from: right, shift: Shift::Left, by: 0 },
        },
    })
}

fn access(form: Form, fields: Fields) -> Option<Operation> {
    let (rt, base, ordered) = (fields.register(0), fields.base(5), fields.flag(15));
    let (rt2, rs) = (fields.register(10), fields.register(16));
    match form {
        Form::LoadExclusive => {
            Some(Operation::LoadExclusive { access: fields.access(ordered, false), to: single(rt) })
        }
        // Constrained unpredictable: the status is what is stored, or the base.
        Form::StoreExclusive => {
            let (access, from) = (fields.access(false, ordered), single(rt));
            (rs != rt && rs != base).then_some(Operation::StoreExclusive { access, status: rs, from })
        }
        Form::LoadExclusivePair => {
            let (access, to) = (fields.access_of_two(ordered, false), Held { low: rt, high: Some(rt2) });
            (rt != rt2).then_some(Operation::LoadExclusive { access, to })
        }
        Form::StoreExclusivePair => {
            let (access, from) = (fields.access_of_two(false, ordered), Held { low: rt, high: Some(rt2) });
            let is_predictable = rs != rt && rs != rt2 && rs != base;
            is_predictable.then_some(Operation::StoreExclusive { access, status: rs, from })
        }
        // With the zero register as destination an atomic loses acquire, and is no load to `dmb ishld`.
        Form::CompareSwap => {
            let (access, from) = (fields.access(fields.flag(22), ordered), single(rt));
            (rs != ZERO).then_some(Operation::CompareSwap { access, expected: single(rs), from })
        }
        Form::CompareSwapPair => Some(Operation::CompareSwap {
            access: fields.access_of_two(fields.flag(22), ordered),
            expected: fields.two_from(16)?,
            from: fields.two_from(0)?,
        }),
        Form::Update => {
            let change = match fields.bits(12, 4) {
                0 => Change::Add,
                1 => Change::Clear,
                2 => Change::Xor,
                3 => Change::Set,
                4 => Change::Maximum { is_signed: true },
                5 => Change::Minimum { is_signed: true },
                6 => Change::Maximum { is_signed: false },
                7 => Change::Minimum { is_signed: false },
                8 => Change::Swap,
                _ => return None,
            };
            let access = fields.access(fields.flag(23), fields.flag(22));
            (rt != ZERO).then_some(Operation::Update { access, change, with: rs, to: rt })
        }
        Form::Guess => Some(Operation::Guess { bits: 8 << fields.bits(30, 2), to: rt, base }),
        Form::Load => Some(Operation::Load { to: rt, base, offset: fields.signed(12, 9), moves: 0 }),
        // Constrained unpredictable: the base is what is loaded.
        Form::LoadThenMove => {
            let load = Operation::Load { to: rt, base, offset: 0, moves: fields.signed(12, 9) };
            (rt != base).then_some(load)
        }
        // At an odd multiple of 8 from the stack pointer, which is aligned: with FEAT_LSE2 the two are one access where
        // both are in the same aligned 16 bytes.
        Form::LoadTwo => {
            let (seven, load) = (fields.signed(15, 7), [rt, rt2]);
            let is_two = base == SP && seven % 2 != 0 && rt != rt2;
            is_two.then_some(Operation::LoadTwo { to: load, offset: 8 * seven })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::states::Random;
    use super::*;
    use crate::semantics::{Insn, decode, plain_load};

    /// What the prover understands, the audit does, and nothing else.
    #[test]
    fn every_word_that_the_prover_understands_is_in_the_table() {
        let (mut random, mut understood) = (Random(1), 0);
        for round in 0..3_000_000_u32 {
            let drawn = random.next();
            // Half of the words are of the table, with any bits that its rows leave open.
            let (mask, bits, _) = TABLE[(drawn >> 40) as usize % TABLE.len()];
            let word = if round % 2 == 0 { drawn as u32 } else { drawn as u32 & !mask | bits };
            let loses_order = match decode(word) {
                Ok(Insn::Update { rt, .. }) => rt.0 == ZERO,
                Ok(Insn::CompareAndSwap { rs, .. }) => rs.0 == ZERO,
                _ => false,
            };
            let is_proven = decode(word).is_ok() && !loses_order || plain_load(word).is_some();
            let is_read = operation(word, |_| Place::End).is_some();
            assert_eq!(is_read, is_proven, "{word:#010x}: {:?}", decode(word));
            understood += u32::from(is_read);
        }
        assert!(understood > 500_000, "{understood}");
    }
}
