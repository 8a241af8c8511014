//! The operations, their operands, and blocks of them.

use crate::address::Svma;

/// The address of a memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// The number of the base register.
    pub base: Option<u8>,
    /// The number of the index register.
    pub index: Option<u8>,
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
    /// A number, extended as the instruction does.
    Immediate(u64),
    /// Memory.
    Memory(Address),
}

impl Operand {
    /// Bytes.
    pub(crate) const fn size(&self) -> u8 {
        match self {
            Operand::Register { size, .. } => *size,
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

/// When a conditional operation acts, in the encoding of x86-64: the lowest bit negates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Condition(pub(crate) u8);

impl Condition {
    /// The carry flag is set: unsigned less.
    pub(crate) const BELOW: Condition = Condition(2);
    /// The zero flag is set.
    pub(crate) const EQUAL: Condition = Condition(4);
    /// Of a counter register, which flags say nothing about.
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

/// Which half of a vector register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Bits 0 to 63.
    Low,
    /// Bits 64 to 127.
    High,
}

/// What an instruction that is not modelled may change, and what it may pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clobbered {
    /// General registers in bits 0 to 15, vector registers in bits 16 to 31: those that it may write.
    pub written: u32,
    /// The same, of those whose value may go anywhere.
    pub read: u32,
    /// Whether flags change.
    pub flags: bool,
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
    /// `to = to <kind> from`, and flags.
    Compute { kind: Arithmetic, to: Operand, from: Operand },
    /// `to = to + from + carry`, or the same with minus.
    WithCarry { is_sub: bool, to: Operand, from: Operand },
    /// `to = left * right`.
    Multiply { to: u8, size: u8, left: Operand, right: Operand },
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
    /// `to = condition ? from : to`.
    MoveIf { condition: Condition, to: Operand, from: Operand },
    /// Onto the stack.
    Push(Operand),
    /// From the stack.
    Pop(Operand),
    /// The frame pointer becomes the stack pointer and is then popped.
    Leave,
    /// Both change places.
    Exchange { left: Operand, right: Operand },
    /// `to` becomes `from` where it equals the accumulator, which gets what `to` was.
    CompareExchange { to: Operand, from: Operand },
    /// `to` becomes the sum, `from` what `to` was.
    ExchangeAdd { to: Operand, from: Operand },
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
    /// To the target where the condition holds, else to the next instruction.
    Branch { condition: Condition, target: Svma, next: Svma },
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
