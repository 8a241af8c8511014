//! One instruction with all its facts: [`Insn`] and what it is made of.

use super::class::Class;
use super::register::{Reg, RegSet};
use crate::address::Svma;

/// Where control goes after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the target only.
    Jump(Svma),
    /// To the target or the next instruction.
    Branch(Svma),
    /// To the target, and then back to the next instruction.
    Call(Svma),
    /// To an address in a register or in memory.
    IndirectJump,
    /// To an address in a register or in memory, and then back.
    IndirectCall,
    /// To the caller.
    Return,
    /// Nowhere: `udf`, `brk`, `ud2`, `int3`, `hlt`.
    Stop,
}

/// Where control goes from an instruction, and no more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// In bytes.
    pub length: u8,
    /// Where control goes.
    pub flow: Flow,
    /// Whether it is of [`Class::Hint`].
    pub is_hint: bool,
}

impl Flow {
    /// The static target of a jump, branch or call.
    pub const fn target(self) -> Option<Svma> {
        match self {
            Flow::Jump(target) | Flow::Branch(target) | Flow::Call(target) => Some(target),
            _ => None,
        }
    }

    /// The target of a jump or branch; a call comes back.
    pub(crate) const fn inner_target(self) -> Option<Svma> {
        match self {
            Flow::Jump(target) | Flow::Branch(target) => Some(target),
            _ => None,
        }
    }

    /// Whether a basic block ends with it.
    pub(crate) const fn ends_block(self) -> bool {
        !matches!(self, Flow::Next | Flow::Call(_) | Flow::IndirectCall)
    }

    /// Whether the next instruction can run after this one.
    pub const fn falls_through(self) -> bool {
        matches!(self, Flow::Next | Flow::Branch(_) | Flow::Call(_) | Flow::IndirectCall)
    }
}

/// What an instruction computes, for the rules that read the body of a loop. Named after A64's own
/// operations; x86-64 uses those that it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Anything not named below.
    Other,
    /// `dst = src0 + src1|imm`; also the flag-setting form.
    Add,
    /// `dst = src0 - src1|imm`; also the flag-setting form and `neg`.
    Sub,
    /// `dst = src0 & src1|imm`; also the flag-setting form.
    And,
    /// `dst = src0 | src1|imm`.
    Or,
    /// `dst = src0 ^ src1|imm`.
    Xor,
    /// `dst = src0 & ~src1`: `bic`, `andn`.
    AndNot,
    /// `dst = src0 | ~src1`: `orn`; with `src0` the zero register `mvn`.
    OrNot,
    /// `dst = src0 ^ ~src1`: `eon`.
    XorNot,
    /// `dst = src0` or `dst = imm`.
    Move,
    /// A64 `movk`: `dst = src0`, where the low 16 bits of `imm` replace the 16 bits from bit `imm >> 16` on.
    MoveKeep,
    /// Flags from `src0 - src1|imm`, no other result: `cmp`.
    Compare,
    /// Flags from `src0 + src1|imm`: `cmn`.
    CompareNegative,
    /// Flags from `src0 & src1|imm`: `tst`, `test`.
    Test,
    /// `ccmp`: flags from `src0 - src1|imm` if the condition holds, else `nzcv`.
    ConditionalCompare,
    /// `ccmn`: the same of `src0 + src1|imm`.
    ConditionalCompareNegative,
    /// `csel` and its forms, `cmovcc`. Of `csinc`, `csinv` and `csneg`, which change `src1`, the condition is `None`.
    Select,
    /// Branch when `src0` is (not) zero: `cbz`, `cbnz`.
    BranchZero,
    /// Branch on one bit of `src0`: `tbz`, `tbnz`; `imm` is the bit.
    BranchBit,
    /// Branch on flags: `b.cond`, `jcc`.
    BranchCondition,
    /// `adr`, `adrp`, `lea` of an address that is known statically: `imm` holds it.
    Address,
    /// `sxtb`, `uxth`, `movzx` and the like: an extension of the low `imm` bytes of `src0`, or of what is loaded.
    Extend,
    /// LSE `cas`, `casp`; x86 `cmpxchg`, `cmpxchg16b`.
    CompareSwap,
    /// LSE `swp`; x86 `xchg`.
    Swap,
    /// LSE `ldadd`, `stadd`; x86 `xadd`.
    FetchAdd,
    /// LSE `ldset`.
    FetchOr,
    /// LSE `ldclr`: and with the complement.
    FetchAndNot,
    /// LSE `ldeor`.
    FetchXor,
    /// LSE `ldsmax`, `ldsmin`, `ldumax`, `ldumin`.
    FetchMinMax,
    /// `prfm`, `prefetch`.
    Prefetch,
    /// `dst = src0 << src1|imm`; A64 also `lsl` as an alias of `ubfm`.
    ShiftLeft,
    /// `dst = src0 >> src1|imm`, zeros come in; A64 also `lsr` as an alias of `ubfm`.
    ShiftRight,
    /// `dst = src0 >> src1|imm`, copies of the sign come in: `sar`; A64 `asr` as an alias of `sbfm`.
    ShiftRightSigned,
    /// x86 `adc`: `dst = src0 + src1|imm + carry`.
    AddCarry,
    /// x86 `sbb` of two operands: `dst = src0 - src1|imm - carry`.
    SubBorrow,
    /// `dst = (src0 >> low) & ((1 << count) - 1)`, where `imm` is `low | count << 8`: `ubfx`, `bextr` with a constant.
    ExtractBits,
    /// x86 `bt`: the carry flag from bit `src1|imm` of `src0` (or of memory).
    BitTest,
    /// `dst = condition ? 1 : 0`: `setcc`, `cset`.
    SetCondition,
    /// `dst = condition ? -1 : 0`: x86 `sbb dst, dst`, where the condition is the carry flag; `csetm`.
    SetMask,
    /// `cpuid`.
    CpuId,
    /// `xgetbv`.
    ReadExtendedControl,
    /// `mrs`, except NZCV; `imm` is the register's number, `op0:op1:CRn:CRm:op2` in 16 bits.
    ReadSystemRegister,
    /// x86 `push` of a register, of `imm`, or of the memory operand; `width` is by how much the stack grows.
    Push,
    /// x86 `pop` into a register or into the memory operand.
    Pop,
    /// x86 `leave`: the frame pointer becomes the stack pointer and is then popped.
    Leave,
    /// `dst = ` address of the memory operand, which is not known statically: `lea` with a base or an index.
    EffectiveAddress,
}

impl Operation {
    /// Whether the flags choose between two results.
    pub const fn chooses(self) -> bool {
        matches!(self, Operation::Select | Operation::SetCondition | Operation::SetMask)
    }
}

/// When a conditional instruction acts; the names are those of a compare `src0 - src1` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The zero flag is set; `cbz`, `tbz`: the value or bit is zero.
    Equal,
    /// The zero flag is clear; `cbnz`, `tbnz`: the value or bit is not zero.
    NotEqual,
    /// x86: the carry flag is set (`jb`, `jc`); A64: it is clear (`b.lo`).
    UnsignedLess,
    /// The opposite.
    UnsignedGreaterEqual,
    /// `ja`, `b.hi`.
    UnsignedGreater,
    /// `jbe`, `b.ls`.
    UnsignedLessEqual,
    /// `jl`, `b.lt`.
    SignedLess,
    /// `jge`, `b.ge`.
    SignedGreaterEqual,
    /// `jg`, `b.gt`.
    SignedGreater,
    /// `jle`, `b.le`.
    SignedLessEqual,
    /// The sign flag is set: `js`, `b.mi`.
    Negative,
    /// The sign flag is clear: `jns`, `b.pl`.
    NotNegative,
    /// Overflow, parity, and their opposites.
    Other,
}

/// How an instruction arranges the lanes of a 128-bit vector register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// All of them as they are: `movaps`, `movdqu`; also a load or a store.
    Whole,
    /// The lowest lane alone, as wide as the other operand, the rest zero: `movd`, `movq`; also out of the register.
    Low,
    /// The low 64 bits from or to memory; the rest stays: `movlps`.
    LowHalf,
    /// The high 64 bits from or to memory; the rest stays: `movhps`.
    HighHalf,
    /// All zero: `pxor` of a register with itself.
    Zero,
    /// The low two lanes of 32 bits of the destination and of the source, by turns: `punpckldq`.
    InterleaveLow32,
    /// The low 64 bits of the destination, then of the source: `punpcklqdq`.
    InterleaveLow64,
    /// The high 64 bits of the destination, then of the source: `punpckhqdq`.
    InterleaveHigh64,
    /// Bit by bit: `pand`.
    And,
    /// The source without the bits of the destination: `pandn`.
    AndNot,
    /// Bit by bit: `por`.
    Or,
    /// Bit by bit: `pxor`.
    Xor,
    /// Each lane of 32 bits from the lane of the source that two bits of `imm` name: `pshufd`.
    Shuffle32,
    /// One lane, of the number `imm`, from a general register or memory; the rest stays: `pinsrd`, `pinsrq`.
    Insert,
}

/// What an operand makes of a register: its low bytes, extended, then shifted left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modifier {
    /// Low bytes taken: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether they are extended by their sign instead of by zeros.
    pub is_signed: bool,
    /// Bits by which the result is shifted left.
    pub shift: u8,
}

impl Modifier {
    /// The register as it is.
    pub const NONE: Modifier = Modifier { bytes: 8, is_signed: false, shift: 0 };
}

/// The memory operand of a load, store or atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Base register; `None` for absolute and PC-relative addresses.
    pub base: Option<Reg>,
    /// Index register.
    pub index: Option<Reg>,
    /// How the index counts; [`Modifier::NONE`] where there is none.
    pub index_as: Modifier,
    /// Displacement in bytes; for a PC-relative operand the address itself.
    pub displacement: i64,
    /// Bytes accessed (of a pair: both); 0 where unknown.
    pub size: u16,
    /// Whether the instruction reads the memory.
    pub read: bool,
    /// Whether the instruction writes the memory.
    pub write: bool,
    /// Whether the base register changes (pre- or post-index).
    pub write_back: bool,
    /// Whether `displacement` is a static address (PC-relative or absolute).
    pub is_static: bool,
}

/// The acquire and release letters of an atomic access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ordering {
    /// `ldaxr`, `casa`, …
    pub acquire: bool,
    /// `stlxr`, `casl`, …
    pub release: bool,
}

/// All facts of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Insn {
    /// Where it is.
    pub svma: Svma,
    /// Its length in bytes, 1 to 15.
    pub length: u8,
    /// What it is.
    pub class: Class,
    /// What it computes.
    pub operation: Operation,
    /// Where control goes.
    pub flow: Flow,
    /// The register that receives the result; of a store-exclusive the status register, of a
    /// load-exclusive or LSE atomic the old value. `None` also for the zero register.
    pub dst: Option<Reg>,
    /// Source registers in operand order, without the address registers; the zero register is `None`. Of a
    /// store-exclusive and of stores the value(s) stored; of `cas` the expected and then the new value. Where what
    /// [`Operation`] calls `src0` is in memory, as the left side of an x86 comparison can be, `src0` is `None`.
    pub src: [Option<Reg>; 3],
    /// Whether the last register source is shifted or extended before use (`add x0, x1, x2, lsl #3`,
    /// `cmp w0, w1, uxtb`); A64 only.
    pub modified: bool,
    /// How it is, if by an extension or a shift to the left; [`Modifier::NONE`] where `modified` is false.
    pub modifier: Option<Modifier>,
    /// Whether an extension or a load extends by the sign.
    pub is_signed: bool,
    /// How it arranges lanes of a vector register, if it does nothing else; x86-64's XMM registers only.
    pub lanes: Option<Lanes>,
    /// The flags N, Z, C and V, from bit 3 to bit 0, that a conditional comparison sets where its condition does not
    /// hold; A64 only.
    pub nzcv: u8,
    /// Whether the first register source, or `dst` where there is none, is one of `ah`, `bh`, `ch`, `dh`: bits 8 to 15
    /// of its register; x86-64 only.
    pub high_byte: bool,
    /// When a branch, select, set or conditional comparison acts: `dst = condition ? src0 : src1`, where x86's `cmov`
    /// keeps its destination as `src1`. `None` where it acts always (`b.al`).
    pub condition: Option<Condition>,
    /// Immediate operand, sign- or zero-extended as the instruction does.
    pub imm: Option<i64>,
    /// Width of the operation on general registers in bytes: 4 or 8 (x86-64 also 1 and 2); 0 elsewhere.
    pub width: u8,
    /// Every register read, address registers and flags included. A register that may keep its value, or part of it,
    /// counts as read, so that what is in `writes` and not here is surely and wholly overwritten.
    pub reads: RegSet,
    /// Every register that may change. A write of 32 bits of a general register is one of the whole register.
    pub writes: RegSet,
    /// Its memory operand.
    pub memory: Option<Memory>,
    /// Acquire and release letters.
    pub ordering: Ordering,
    /// The features it needs, baseline ones included.
    pub features: FeatureGroup,
}

impl Insn {
    /// The address of the instruction after it.
    pub const fn next(&self) -> Svma {
        self.svma.offset(self.length as i64)
    }
}

/// The features that one instruction needs, as an index into a small table per architecture: instructions
/// by the hundred million share some hundred sets. Group 0 needs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeatureGroup(pub u16);
