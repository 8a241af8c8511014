//! Patch stage, audit, evaluate: what an instruction does, as data.
//!
//! In: nothing; these are the types that `table` makes, `machine` runs and `order` follows. A register is a number:
//! 0 to 30, [`SP`] or [`ZERO`]. Widths are a flag, as an instruction works on 32 or 64 bits.

/// The stack pointer.
pub(crate) const SP: u8 = 31;
/// The zero register.
pub(crate) const ZERO: u8 = 32;

/// What two values make.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Compute {
    Add,
    Subtract,
    And,
    Or,
    Xor,
    AndNot,
    OrNot,
    XorNot,
    /// By the low bits of the second value.
    Shift(Shift),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Shift {
    Left,
    Right,
    Arithmetic,
    Rotate,
}

/// The second value of a computation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Right {
    Value(u64),
    Shifted { from: u8, shift: Shift, by: u32 },
    Extended { from: u8, bits: u32, is_signed: bool, by: u32 },
}

/// What a bit field does to the rest of its register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Field {
    Signed,
    Insert,
    Unsigned,
}

/// What an atomic makes of what memory holds and its operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Change {
    Swap,
    Add,
    Clear,
    Xor,
    Set,
    Maximum { is_signed: bool },
    Minimum { is_signed: bool },
}

/// When a branch is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Test {
    Always,
    Condition(u8),
    /// Whether some of the bits of a mask are set, or none.
    Bits {
        from: u8,
        mask: u64,
        is_set: bool,
    },
}

/// A place where control may go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// An instruction of the code, by its index.
    Inside(usize),
    /// The instruction after the code that is replaced.
    End,
    /// Elsewhere, in instructions from the first that is replaced.
    At(i64),
}

/// One register, or two, of which the first has the low half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Held {
    pub(crate) low: u8,
    pub(crate) high: Option<u8>,
}

/// An access to memory: bits, base register, order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Access {
    pub(crate) bits: u32,
    pub(crate) base: u8,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operation {
    Nothing,
    /// `movz`, `movn`.
    Constant {
        to: u8,
        value: u64,
    },
    /// `movk`: 16 bits of a register.
    Keep {
        is_wide: bool,
        to: u8,
        at: u32,
        value: u64,
    },
    Compute {
        compute: Compute,
        is_wide: bool,
        sets_flags: bool,
        to: u8,
        left: u8,
        right: Right,
    },
    Multiply {
        is_wide: bool,
        subtracts: bool,
        to: u8,
        left: u8,
        right: u8,
        with: u8,
    },
    /// `sbfm`, `bfm`, `ubfm`.
    Bitfield {
        field: Field,
        is_wide: bool,
        to: u8,
        from: u8,
        rotate: u32,
        last: u32,
    },
    Extract {
        is_wide: bool,
        to: u8,
        high: u8,
        low: u8,
        at: u32,
    },
    Select {
        is_wide: bool,
        condition: u8,
        inverts: bool,
        increments: bool,
        to: u8,
        left: u8,
        right: u8,
    },
    /// `ccmp`, `ccmn`.
    CompareIf {
        is_wide: bool,
        subtracts: bool,
        condition: u8,
        otherwise: u8,
        left: u8,
        right: Right,
    },
    Branch {
        test: Test,
        to: Place,
    },
    LoadExclusive {
        access: Access,
        to: Held,
    },
    StoreExclusive {
        access: Access,
        status: u8,
        from: Held,
    },
    /// `ld<op>`, `swp`.
    Update {
        access: Access,
        change: Change,
        with: u8,
        to: u8,
    },
    /// `cas`, `casp`.
    CompareSwap {
        access: Access,
        expected: Held,
        from: Held,
    },
    /// `dmb` with its option.
    Barrier(u8),
    ClearExclusive,
    /// A plain load of what a compare-and-swap is to find.
    Guess {
        bits: u32,
        to: u8,
        base: u8,
    },
    /// A plain load of 8 bytes; its base moves afterwards.
    Load {
        to: u8,
        base: u8,
        offset: i64,
        moves: i64,
    },
    /// Two plain loads of 8 bytes from the stack pointer, one after the other.
    LoadTwo {
        to: [u8; 2],
        offset: i64,
    },
}

/// Bit n is register n, [`SP`] and [`ZERO`] among them.
pub(crate) type Set = u64;

pub(crate) const fn one(register: u8) -> Set {
    1 << register
}

impl Right {
    fn inputs(self) -> Set {
        match self {
            Right::Value(_) => 0,
            Right::Shifted { from, .. } | Right::Extended { from, .. } => one(from),
        }
    }
}

impl Held {
    fn set(self) -> Set {
        one(self.low) | self.high.map_or(0, one)
    }
}

impl Operation {
    /// The registers whose values it computes with, addresses aside.
    pub(crate) fn inputs(&self) -> Set {
        match *self {
            Operation::Keep { to, .. } => one(to),
            Operation::Compute { left, right, .. } | Operation::CompareIf { left, right, .. } => {
                one(left) | right.inputs()
            }
            Operation::Multiply { left, right, with, .. } => one(left) | one(right) | one(with),
            Operation::Bitfield { field: Field::Insert, to, from, .. } => one(to) | one(from),
            Operation::Bitfield { from, .. } => one(from),
            Operation::Extract { high, low, .. } => one(high) | one(low),
            Operation::Select { left, right, .. } => one(left) | one(right),
            Operation::Branch { test: Test::Bits { from, .. }, .. } => one(from),
            Operation::StoreExclusive { from, .. } => from.set(),
            Operation::Update { with, .. } => one(with),
            Operation::CompareSwap { expected, from, .. } => expected.set() | from.set(),
            _ => 0,
        }
    }

    /// The registers that it writes.
    pub(crate) fn outputs(&self) -> Set {
        match *self {
            Operation::Constant { to, .. }
            | Operation::Keep { to, .. }
            | Operation::Compute { to, .. }
            | Operation::Multiply { to, .. }
            | Operation::Bitfield { to, .. }
            | Operation::Extract { to, .. }
            | Operation::Select { to, .. }
            | Operation::Update { to, .. }
            | Operation::Guess { to, .. } => one(to),
            Operation::LoadExclusive { to, .. } => to.set(),
            Operation::StoreExclusive { status, .. } => one(status),
            Operation::CompareSwap { expected, .. } => expected.set(),
            Operation::Load { to, base, moves, .. } => one(to) | if moves == 0 { 0 } else { one(base) },
            Operation::LoadTwo { to: [first, second], .. } => one(first) | one(second),
            _ => 0,
        }
    }

    /// The registers that hold addresses.
    pub(crate) fn bases(&self) -> Set {
        match *self {
            Operation::LoadExclusive { access, .. }
            | Operation::StoreExclusive { access, .. }
            | Operation::Update { access, .. }
            | Operation::CompareSwap { access, .. } => one(access.base),
            Operation::Guess { base, .. } | Operation::Load { base, .. } => one(base),
            Operation::LoadTwo { .. } => one(SP),
            _ => 0,
        }
    }

    /// Whether it computes with the flags.
    pub(crate) fn reads_flags(&self) -> bool {
        matches!(
            self,
            Operation::Select { .. }
                | Operation::CompareIf { .. }
                | Operation::Branch { test: Test::Condition(_), .. }
        )
    }

    /// Whether it writes the flags.
    pub(crate) fn writes_flags(&self) -> bool {
        matches!(self, Operation::CompareIf { .. } | Operation::Compute { sets_flags: true, .. })
    }

    /// Values that its result turns on.
    pub(crate) fn constant(&self) -> Option<u64> {
        match *self {
            Operation::Constant { value, .. }
            | Operation::Keep { value, .. }
            | Operation::Compute { right: Right::Value(value), .. }
            | Operation::CompareIf { right: Right::Value(value), .. }
            | Operation::Branch { test: Test::Bits { mask: value, .. }, .. } => Some(value),
            _ => None,
        }
    }
}
