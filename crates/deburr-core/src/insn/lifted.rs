//! What instructions are lifted to ([`operations`](super::operations)): operations, their operands, and blocks of them.

use crate::address::Svma;

/// The address of a memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// The number of the base register.
    pub base: Option<u8>,
    /// The number of the index register.
    pub index: Option<u8>,
    /// How many low bytes of the index count.
    pub index_bytes: u8,
    /// Whether they are extended by their sign instead of by zeros.
    pub is_index_signed: bool,
    /// What the index is multiplied by.
    pub scale: u8,
    /// What is added; without registers the address itself.
    pub displacement: u64,
    /// Bytes accessed.
    pub size: u8,
    /// Whether it counts from the thread's own memory (FS).
    pub is_thread: bool,
}

impl Address {
    /// What a register points to, with a displacement.
    pub(crate) const fn based(base: u8, displacement: u64, size: u8) -> Address {
        let (index, index_bytes, is_index_signed) = (None, 8, false);
        Address {
            base: Some(base),
            index,
            index_bytes,
            is_index_signed,
            scale: 1,
            displacement,
            size,
            is_thread: false,
        }
    }

    /// A place that is known.
    pub(crate) const fn fixed(place: u64, size: u8) -> Address {
        Address { base: None, ..Address::based(0, place, size) }
    }

    /// Whether it is known without any register.
    pub(crate) const fn is_static(&self) -> bool {
        self.base.is_none() && self.index.is_none() && !self.is_thread
    }
}

/// What an operation reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// The low bytes of a general register.
    Register { number: u8, size: u8 },
    /// Bits 8 to 15 of a general register.
    HighByte(u8),
    /// A general register that is extended, shifted and inverted before it is used.
    Changed {
        /// The register, and the number of low bytes taken from it.
        taken: (u8, u8),
        /// Whether these are extended by their sign instead of by zeros.
        is_signed: bool,
        /// How it is shifted after that.
        shift: Arithmetic,
        /// By how many bits.
        count: u8,
        /// Whether it is inverted after that.
        is_inverted: bool,
        /// Bytes of the result.
        size: u8,
    },
    /// A number, extended as the instruction does.
    Immediate(u64),
    /// Memory.
    Memory(Address),
}

impl Operand {
    /// Bytes.
    pub(crate) const fn size(&self) -> u8 {
        match self {
            Operand::Register { size, .. } | Operand::Changed { size, .. } => *size,
            Operand::HighByte(_) => 1,
            Operand::Immediate(_) => 8,
            Operand::Memory(address) => address.size,
        }
    }
}

/// What an operation on vector registers reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorOperand {
    /// A vector register.
    Vector(u8),
    /// Memory.
    Memory(Address),
    /// A general register, so many bytes.
    General { number: u8, size: u8 },
}

/// What is computed of one or two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// Bit by bit.
    And,
    /// Bit by bit.
    Or,
    /// Bit by bit.
    Xor,
    /// The product.
    Multiply,
    /// To the left; zeros come in.
    ShiftLeft,
    /// To the right; zeros come in.
    ShiftRight,
    /// To the right; copies of the sign come in.
    ShiftRightSigned,
    /// To the left; what leaves comes in.
    RotateLeft,
    /// To the right; what leaves comes in.
    RotateRight,
    /// The first with one bit set, which the second counts.
    SetBit,
    /// The first with one bit clear.
    ClearBit,
    /// The first with one bit changed.
    FlipBit,
    /// The complement of the first.
    Not,
    /// The negative of the first.
    Negate,
    /// The first with its bytes in reverse.
    SwapBytes,
    /// The place of the lowest bit of the first that is set; its width where none is.
    LowestBit,
    /// The place of the highest bit of the first that is set.
    HighestBit,
    /// How many bits of the first are clear before the highest that is set.
    LeadingZeros,
    /// How many bits of the first are set.
    CountBits,
    /// The first, whose low bytes, as many as the second says, are extended by their sign.
    SignExtend,
    /// 64 bits of the first shifted to the right, whatever the width.
    Extract,
}

/// When a conditional operation acts, in the encoding of x86-64: the lowest bit negates. The carry flag is the borrow of a difference,
/// as on x86-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Condition(pub(crate) u8);

impl Condition {
    /// The carry flag is set: unsigned less.
    pub(crate) const BELOW: Condition = Condition(2);
    /// The zero flag is set.
    pub(crate) const EQUAL: Condition = Condition(4);
    /// The sign flag is set.
    pub(crate) const NEGATIVE: Condition = Condition(8);
    /// Of a counter register, or of the difference of two registers, which flags say nothing about.
    pub(crate) const UNKNOWN: Condition = Condition(16);

    /// The opposite.
    pub(crate) const fn negated(self) -> Condition {
        if self.0 < 16 { Condition(self.0 ^ 1) } else { self }
    }
    /// The condition without its negation.
    pub(crate) const fn family(self) -> u8 {
        self.0 & !1
    }
    /// Whether it is the opposite of its family.
    pub(crate) const fn is_negation(self) -> bool {
        self.0 & 1 == 1
    }
}

/// What a branch tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// Flags.
    Flags(Condition),
    /// Whether the low bytes of a general register, or one of their bits, are zero, or are not.
    Zero { number: u8, size: u8, bit: Option<u8>, is_negated: bool },
}

/// The flags N, Z, C and V of A64, from bit 3 to bit 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nzcv(pub(crate) u8);

impl Nzcv {
    /// Whether a condition holds.
    pub(crate) fn holds(self, condition: Condition) -> bool {
        let is_set = |bit: u8| self.0 >> bit & 1 == 1;
        let (negative, zero, borrow, overflow) = (is_set(3), is_set(2), !is_set(1), is_set(0));
        let holds = match condition.family() {
            0 => overflow,
            2 => borrow,
            4 => zero,
            6 => borrow || zero,
            8 => negative,
            12 => negative != overflow,
            _ => zero || negative != overflow,
        };
        holds != condition.is_negation()
    }
}

/// Which half of a vector register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Bits 0 to 63.
    Low,
    /// Bits 64 to 127.
    High,
}

/// Where vector registers begin in a set of registers as bits.
pub(crate) const VECTORS: u8 = 32;

/// What an instruction that is not modelled may change, and what it may pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clobbered {
    /// General registers in bits 0 to 31, vector registers from bit [`VECTORS`] on: those that it may write.
    pub written: u64,
    /// The same, of those whose value may go anywhere.
    pub read: u64,
    /// Whether flags change.
    pub flags: bool,
    /// What it may load from, and how many bytes.
    pub loaded: Option<(Address, u16)>,
    /// What it may store to, and how many bytes.
    pub stored: Option<(Address, u16)>,
}

/// What one instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `to = from`, extended by zeros.
    Move { to: Operand, from: Operand },
    /// `to = from`, extended by its sign.
    MoveSigned { to: Operand, from: Operand },
    /// The register becomes the address.
    TakeAddress { to: u8, size: u8, address: Address },
    /// The register becomes zero, and flags say so.
    Clear(u8),
    /// `to = left <kind> right`, and flags if it sets them.
    Compute { kind: Arithmetic, to: Operand, left: Operand, right: Operand, sets_flags: bool },
    /// `to = to + from + carry`, or the same with minus.
    WithCarry { is_sub: bool, to: Operand, from: Operand },
    /// `to = added + left * right`, or the same with minus.
    MultiplyAdd { to: Operand, added: Operand, left: Operand, right: Operand, is_sub: bool },
    /// The field of `width` bits from bit `low` of `from` on is moved to bit `to_low` of `to`. The other bits of `to` stay, or become zero.
    MoveBits { to: Operand, from: Operand, low: u8, to_low: u8, width: u8, keeps_rest: bool },
    /// `to` is shifted by a number of bits, and what comes in is from `from`.
    ShiftDouble { is_left: bool, to: Operand, from: Operand, count: Operand },
    /// `to = <kind> to`; a negation sets flags.
    Unary { kind: Arithmetic, to: Operand },
    /// Adds or subtracts one; the carry flag stays.
    Step { is_sub: bool, to: Operand },
    /// `to = <kind> from`: the place or the number of bits.
    CountBits { kind: Arithmetic, to: Operand, from: Operand },
    /// Flags from `left - right`.
    Compare { left: Operand, right: Operand },
    /// Flags from `left & right`.
    Test { left: Operand, right: Operand },
    /// The carry flag from one bit of `value`.
    TestBit { value: Operand, bit: Operand },
    /// `to = condition ? 1 : 0`.
    SetIf { condition: Condition, to: Operand },
    /// `to = condition ? then : otherwise`; the second is incremented, inverted or negated before, where `change` is [`Arithmetic::Add`],
    /// [`Arithmetic::Not`] or [`Arithmetic::Negate`].
    Select {
        condition: Condition,
        to: Operand,
        then: Operand,
        otherwise: Operand,
        change: Option<Arithmetic>,
    },
    /// Flags from `left - right` where the condition holds, else as given.
    CompareIf { condition: Condition, left: Operand, right: Operand, otherwise: Nzcv },
    /// Onto the stack.
    Push(Operand),
    /// From the stack.
    Pop(Operand),
    /// The frame pointer becomes the stack pointer and is then popped.
    Leave,
    /// Both change places.
    Exchange { left: Operand, right: Operand },
    /// `to` becomes `from` where it equals the register `expected`, which gets what `to` was.
    CompareExchange { to: Operand, from: Operand, expected: u8, sets_flags: bool },
    /// `to` becomes `to <kind> by`, or `by` alone; `old` becomes what `to` was.
    Fetch { kind: Option<Arithmetic>, to: Operand, by: Operand, old: Operand, sets_flags: bool },
    /// `to` becomes `from`, and the register zero; or `to` stays, and the register becomes one.
    StoreExclusive { status: u8, to: Operand, from: Operand },
    /// A register of the system, `op0:op1:CRn:CRm:op2` in 16 bits.
    ReadSystem { to: u8, register: u16 },
    /// Within the accumulator, from so many bytes to twice as many.
    ExtendAccumulator(u8),
    /// The sign of the accumulator fills the register that goes with it.
    SpreadSign(u8),
    /// `cpuid`.
    CpuId,
    /// `xgetbv`.
    ReadExtendedControl,
    /// So many bytes of a vector register, of memory or of a general register: 4, 8 or 16; more say nothing of the rest.
    MoveVector { to: VectorOperand, from: VectorOperand, size: u8 },
    /// 64 bits into one half of a register; the other half is that of `rest`.
    InsertLane { to: u8, rest: u8, from: VectorOperand, lane: Lane },
    /// 64 bits out of one half of a register.
    ExtractLane { to: VectorOperand, from: u8, lane: Lane },
    /// The low 64 bits of `from` in both halves.
    Duplicate { to: u8, from: VectorOperand },
    /// All bits zero.
    ClearVector(u8),
    /// `rep stos`, elements of so many bytes.
    FillMemory(u8),
    /// `rep movs`, elements of so many bytes.
    CopyMemory(u8),
    /// Anything else.
    Other(Clobbered),
}

/// Where control goes at the end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// To the instruction after it: the block was cut.
    Next(Svma),
    /// There only.
    Jump(Svma),
    /// To an address that is computed.
    JumpIndirect(Operand),
    /// To the target where the test holds, else to the next instruction.
    Branch { test: Test, target: Svma, next: Svma },
    /// Calls, and goes on.
    Call { target: Svma, next: Svma },
    /// Calls what is computed, and goes on.
    CallIndirect { target: Operand, next: Svma },
    /// To the caller.
    Return,
    /// Nowhere: a trap, or bytes that are not an instruction.
    Stop,
}

/// A run of instructions that ends where control may go elsewhere. Blocks may overlap: a jump into the middle of one begins
/// another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where it begins.
    pub start: Svma,
    /// Where the instruction after its last one begins.
    pub end: Svma,
    /// Its operations, with their addresses; what does nothing is left out.
    pub operations: Vec<(Svma, Operation)>,
    /// Where control goes.
    pub exit: Exit,
    /// The instruction that decides that.
    pub exit_at: Svma,
}

/// How an instruction names a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MentionKind {
    /// It reads or writes what is there.
    Used,
    /// It makes the address.
    Taken,
    /// It makes the address, if control comes to it from elsewhere than the code before it.
    PerhapsTaken,
    /// It calls what is there.
    Called,
    /// It jumps there.
    Jumped,
    /// Control leaves for a caller, or for a place that is computed.
    Left,
    /// It asks the CPU what it is.
    Queried,
    /// It reads or writes the thread's own memory.
    ThreadUsed,
}

/// What an instruction names or does that a whole program is looked through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The instruction.
    pub at: Svma,
    /// How.
    pub kind: MentionKind,
    /// The address; 0 for kinds without one.
    pub place: u64,
    /// Bytes that are read or written there.
    pub bytes: u16,
}
