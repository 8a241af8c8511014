//! Patch stage: the operations of A64 that the prover understands, on values.
//!
//! In: nothing; these are the types that `decode` makes and symbolic execution runs. The registers of a pair
//! are each named, whatever the encoding makes of them. The floating-point and vector registers are no part
//! of the state, so that no operation names them.

use super::cause::Cause;

/// A general register: 0 to 30, the stack pointer (31), or the zero register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Register(pub(crate) u8);

pub(crate) const SP: Register = Register(31);
pub(crate) const ZERO: Register = Register(32);

/// 64 or 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Width(pub(crate) usize);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Shift {
    Left,
    Right,
    Arithmetic,
    Rotate,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operand {
    Value(u64),
    Shifted(Register, Shift, usize),
    /// The low bits of a register, with sign or without, then shifted left.
    Extended {
        rm: Register,
        bits: usize,
        signed: bool,
        by: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Field {
    Signed,
    Insert,
    Unsigned,
}

/// What a read-modify-write leaves in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AtomicOp {
    Swap,
    Add,
    Clear,
    Xor,
    Set,
    Maximum { signed: bool },
    Minimum { signed: bool },
}

/// Size in bits, base register and order of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reference {
    pub(crate) bits: usize,
    pub(crate) base: Register,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
}

/// When a branch is taken; the others are unconditional.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Test {
    Always,
    Condition(u8),
    /// `cbz`, `cbnz`, `tbz`, `tbnz`: whether any of `bits` bits from bit `from` is set.
    Bits {
        rt: Register,
        from: usize,
        bits: usize,
        set: bool,
    },
}

/// An instruction of a sequence: its operation, or why there is none.
pub(crate) type Step = Result<Insn, Cause>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Insn {
    Nothing,
    ClearExclusive,
    /// `movz`, `movn`.
    Move {
        width: Width,
        rd: Register,
        value: u64,
    },
    /// `movk`.
    Keep {
        width: Width,
        rd: Register,
        at: usize,
        value: u64,
    },
    AddSubtract {
        width: Width,
        subtract: bool,
        flags: bool,
        rd: Register,
        rn: Register,
        operand: Operand,
    },
    Logical {
        width: Width,
        logic: Logic,
        invert: bool,
        flags: bool,
        rd: Register,
        rn: Register,
        operand: Operand,
    },
    Bitfield {
        width: Width,
        field: Field,
        rd: Register,
        rn: Register,
        immr: usize,
        imms: usize,
    },
    Extract {
        width: Width,
        rd: Register,
        rn: Register,
        rm: Register,
        lsb: usize,
    },
    ShiftBy {
        width: Width,
        shift: Shift,
        rd: Register,
        rn: Register,
        rm: Register,
    },
    MultiplyAdd {
        width: Width,
        subtract: bool,
        rd: Register,
        rn: Register,
        rm: Register,
        ra: Register,
    },
    Select {
        width: Width,
        condition: u8,
        invert: bool,
        increment: bool,
        rd: Register,
        rn: Register,
        rm: Register,
    },
    Compare {
        width: Width,
        subtract: bool,
        condition: u8,
        nzcv: u8,
        rn: Register,
        operand: Operand,
    },
    /// Offset in instructions from the branch itself.
    Branch {
        test: Test,
        offset: i64,
    },
    LoadExclusive {
        reference: Reference,
        rt: Register,
    },
    StoreExclusive {
        reference: Reference,
        rs: Register,
        rt: Register,
    },
    Update {
        reference: Reference,
        change: AtomicOp,
        rs: Register,
        rt: Register,
    },
    CompareAndSwap {
        reference: Reference,
        rs: Register,
        rt: Register,
    },
    /// Of a pair of registers, of which the first holds the low half of memory; a reference has the bits of
    /// both.
    LoadExclusivePair {
        reference: Reference,
        rt: [Register; 2],
    },
    StoreExclusivePair {
        reference: Reference,
        rs: Register,
        rt: [Register; 2],
    },
    CompareAndSwapPair {
        reference: Reference,
        rs: [Register; 2],
        rt: [Register; 2],
    },
    /// `dmb` with its option.
    Barrier(u8),
    /// A plain load of 8 bytes.
    Load {
        rt: Register,
        base: Register,
        offset: i64,
    },
    /// A plain load of 8 bytes from the base itself, to which `by` is added.
    LoadAndAdd {
        rt: Register,
        base: Register,
        by: i64,
    },
    /// A plain load of what a compare-and-swap is then to find, zeros above it.
    Guess {
        bits: usize,
        rt: Register,
        base: Register,
    },
    /// Two plain loads of 8 bytes, of which the second reads what follows the first.
    LoadPair {
        rt: Register,
        second: Register,
        base: Register,
        offset: i64,
    },
}

impl Insn {
    /// Shows each register that it names, in an order of its own; `f` may put others in their place. All
    /// registers 0 to 30 are alike to every instruction here: there is none that reads or writes one that it
    /// does not name.
    pub(crate) fn for_each_register(&mut self, mut f: impl FnMut(&mut Register)) {
        let mut all = |registers: &mut [&mut Register]| registers.iter_mut().for_each(|register| f(register));
        match self {
            Insn::Nothing | Insn::ClearExclusive | Insn::Barrier(_) => {}
            Insn::Move { rd, width: _, value: _ } | Insn::Keep { rd, width: _, at: _, value: _ } => {
                all(&mut [rd])
            }
            Insn::AddSubtract { rd, rn, operand, width: _, subtract: _, flags: _ }
            | Insn::Logical { rd, rn, operand, width: _, logic: _, invert: _, flags: _ } => {
                all(&mut [rd, rn]);
                operand.register_mut().into_iter().for_each(|rm| all(&mut [rm]));
            }
            Insn::Compare { rn, operand, width: _, subtract: _, condition: _, nzcv: _ } => {
                all(&mut [rn]);
                operand.register_mut().into_iter().for_each(|rm| all(&mut [rm]));
            }
            Insn::Bitfield { rd, rn, width: _, field: _, immr: _, imms: _ } => all(&mut [rd, rn]),
            Insn::Extract { rd, rn, rm, width: _, lsb: _ }
            | Insn::ShiftBy { rd, rn, rm, width: _, shift: _ }
            | Insn::Select { rd, rn, rm, width: _, condition: _, invert: _, increment: _ } => {
                all(&mut [rd, rn, rm])
            }
            Insn::MultiplyAdd { rd, rn, rm, ra, width: _, subtract: _ } => all(&mut [rd, rn, rm, ra]),
            Insn::Branch { test: Test::Always | Test::Condition(_), offset: _ } => {}
            Insn::Branch { test: Test::Bits { rt, from: _, bits: _, set: _ }, offset: _ } => all(&mut [rt]),
            Insn::LoadExclusive { reference, rt } => all(&mut [&mut reference.base, rt]),
            Insn::StoreExclusive { reference, rs, rt }
            | Insn::Update { reference, rs, rt, change: _ }
            | Insn::CompareAndSwap { reference, rs, rt } => all(&mut [&mut reference.base, rs, rt]),
            Insn::Guess { rt, base, bits: _ } => all(&mut [base, rt]),
            Insn::LoadExclusivePair { reference, rt: [low, high] } => {
                all(&mut [&mut reference.base, low, high])
            }
            Insn::StoreExclusivePair { reference, rs, rt: [low, high] } => {
                all(&mut [&mut reference.base, rs, low, high]);
            }
            Insn::CompareAndSwapPair { reference, rs: [expected, above], rt: [low, high] } => {
                all(&mut [&mut reference.base, expected, above, low, high]);
            }
            Insn::Load { rt, base, offset: _ } | Insn::LoadAndAdd { rt, base, by: _ } => all(&mut [base, rt]),
            Insn::LoadPair { rt, second, base, offset: _ } => all(&mut [base, rt, second]),
        }
    }

    /// The register that a plain instruction writes, the zero register for one that only sets flags. `None`:
    /// an access, a branch, a barrier.
    pub(crate) fn destination(&self) -> Option<Register> {
        match *self {
            Insn::Move { rd, .. }
            | Insn::Keep { rd, .. }
            | Insn::AddSubtract { rd, .. }
            | Insn::Logical { rd, .. }
            | Insn::Bitfield { rd, .. }
            | Insn::Extract { rd, .. }
            | Insn::ShiftBy { rd, .. }
            | Insn::MultiplyAdd { rd, .. }
            | Insn::Select { rd, .. } => Some(rd),
            Insn::Compare { .. } | Insn::Nothing => Some(ZERO),
            _ => None,
        }
    }

    /// Whether a plain instruction reads a register.
    pub(crate) fn reads(&self, register: Register) -> bool {
        let has = |operand: Operand| operand.register() == Some(register);
        match *self {
            Insn::Keep { rd, .. } => rd == register,
            Insn::AddSubtract { rn, operand, .. }
            | Insn::Logical { rn, operand, .. }
            | Insn::Compare { rn, operand, .. } => rn == register || has(operand),
            Insn::Bitfield { field, rd, rn, .. } => {
                rn == register || field == Field::Insert && rd == register
            }
            Insn::Extract { rn, rm, .. } | Insn::ShiftBy { rn, rm, .. } | Insn::Select { rn, rm, .. } => {
                rn == register || rm == register
            }
            Insn::MultiplyAdd { rn, rm, ra, .. } => [rn, rm, ra].contains(&register),
            Insn::Branch { test: Test::Bits { rt, .. }, .. } => rt == register,
            _ => false,
        }
    }

    /// Whether it runs on CPUs with FEAT_LSE only.
    pub(crate) fn is_lse(&self) -> bool {
        matches!(self, Insn::Update { .. } | Insn::CompareAndSwap { .. } | Insn::CompareAndSwapPair { .. })
    }

    /// Whether it sets the flags.
    pub(crate) fn sets_flags(&self) -> bool {
        matches!(
            self,
            Insn::AddSubtract { flags: true, .. } | Insn::Logical { flags: true, .. } | Insn::Compare { .. }
        )
    }
}

impl Operand {
    /// The register that it is made of.
    pub(crate) fn register(mut self) -> Option<Register> {
        self.register_mut().copied()
    }

    fn register_mut(&mut self) -> Option<&mut Register> {
        match self {
            Operand::Value(_) => None,
            Operand::Shifted(rm, _, _) | Operand::Extended { rm, bits: _, signed: _, by: _ } => Some(rm),
        }
    }
}
