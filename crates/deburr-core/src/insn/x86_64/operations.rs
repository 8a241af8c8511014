//! Lifts x86-64 code to [`crate::insn::operations`].
//!
//! In: the bytes of code. Out: a block, from its first instruction to the one that control leaves it by. An instruction that
//! is not modelled becomes [`Clobbered`]: the registers, the flags and the memory that it may change, by the decoder's own
//! tables. Follows the Intel SDM volume 2.

use super::decoder::{BITNESS, OPTIONS};
use super::facts::{is_conditional_move, is_conditional_set};
use crate::address::Svma;
use crate::insn::lifted::{
    Address, Arithmetic, Block, Clobbered, Condition, Exit, Lane, Mention, MentionKind, Operand, Operation,
    Test, VECTORS, VectorOperand,
};
use iced_x86::{
    ConditionCode, Decoder, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};
use std::cell::RefCell;

thread_local! {
    /// It holds memory, which is dear to get anew for each instruction.
    static FACTORY: RefCell<InstructionInfoFactory> = RefCell::new(InstructionInfoFactory::new());
}

/// Maximum of instructions of a block; a longer run is cut. Ninety-nine of a hundred blocks have fewer than 40.
const LONGEST_BLOCK: usize = 64;

/// Maximum length of an instruction in bytes (SDM volume 2, 2.3.11).
const LONGEST_INSTRUCTION: usize = 15;

/// Bytes that an instruction may store which saves all state: the largest area of XSAVE without tiles (SDM volume 1, 13.5).
const WHOLE_STATE: usize = 2696;

/// The registers with the arguments of a system call of Linux: the kernel may write where they point.
const SYSTEM_CALL_ARGUMENTS: u64 = 1 << 7 | 1 << 6 | 1 << 2 | 1 << 10 | 1 << 8 | 1 << 9;

/// The accumulator's number.
const ACCUMULATOR: u8 = 0;

/// The stack pointer's number.
const STACK_POINTER: u8 = 4;

/// Lifts the block that begins at an address; `code` are the bytes from there on.
pub(crate) fn lift(code: &[u8], svma: Svma) -> Block {
    let limit = code.len().min(LONGEST_INSTRUCTION * LONGEST_BLOCK);
    let mut decoder = Decoder::with_ip(BITNESS, code.get(..limit).unwrap_or_default(), svma.0, OPTIONS);
    let mut insn = Instruction::default();
    let mut operations = Vec::new();
    for _ in 0..LONGEST_BLOCK {
        if !decoder.can_decode() {
            break;
        }
        decoder.decode_out(&mut insn);
        let (at, next) = (Svma(insn.ip()), Svma(insn.next_ip()));
        if insn.is_invalid() {
            return Block { start: svma, end: next, operations, exit: Exit::Stop, exit_at: at };
        }
        if let Some(exit) = exit_of(&insn, next) {
            return Block { start: svma, end: next, operations, exit, exit_at: at };
        }
        let operation = modelled(&insn).unwrap_or_else(|| Operation::Other(clobbered(&insn)));
        if operation != Operation::Other(Clobbered::default()) {
            operations.push((at, operation));
        }
    }
    let end = Svma(decoder.ip());
    let exit = if decoder.can_decode() || end.0 > svma.0 { Exit::Next(end) } else { Exit::Stop };
    Block { start: svma, end, operations, exit, exit_at: end }
}

/// Where control goes, if not to the next instruction alone.
fn exit_of(insn: &Instruction, next: Svma) -> Option<Exit> {
    let target = Svma(insn.near_branch_target());
    let is_near = matches!(insn.op0_kind(), OpKind::NearBranch64 | OpKind::NearBranch32);
    let computed = || operand(insn, 0).unwrap_or(Operand::Immediate(0));
    match insn.flow_control() {
        FlowControl::Next => None,
        FlowControl::UnconditionalBranch => Some(Exit::Jump(target)),
        FlowControl::ConditionalBranch => {
            Some(Exit::Branch { test: Test::Flags(condition(insn)), target, next })
        }
        FlowControl::XbeginXabortXend if insn.mnemonic() == Mnemonic::Xbegin => {
            Some(Exit::Branch { test: Test::Flags(Condition::UNKNOWN), target, next })
        }
        FlowControl::XbeginXabortXend => None,
        FlowControl::IndirectBranch => Some(Exit::JumpIndirect(computed())),
        FlowControl::Call if is_near => Some(Exit::Call { target, next }),
        FlowControl::IndirectCall => Some(Exit::CallIndirect { target: computed(), next }),
        FlowControl::Return => Some(Exit::Return),
        // System calls come back.
        FlowControl::Call => None,
        FlowControl::Interrupt if insn.mnemonic() == Mnemonic::Int => None,
        _ => Some(Exit::Stop),
    }
}

fn condition(insn: &Instruction) -> Condition {
    use ConditionCode as C;
    Condition(match insn.condition_code() {
        C::o => 0,
        C::no => 1,
        C::b => 2,
        C::ae => 3,
        C::e => 4,
        C::ne => 5,
        C::be => 6,
        C::a => 7,
        C::s => 8,
        C::ns => 9,
        C::p => 10,
        C::np => 11,
        C::l => 12,
        C::ge => 13,
        C::le => 14,
        C::g => 15,
        C::None => return Condition::UNKNOWN,
    })
}

/// A general register's number and size, and whether it is one of `ah`, `bh`, `ch`, `dh`.
fn general(register: Register) -> Option<(u8, u8, bool)> {
    let is_high = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
    let number = register.full_register().number() as u8;
    register.is_gpr().then_some((number, register.size() as u8, is_high))
}

fn vector(register: Register) -> Option<u8> {
    (register.is_vector_register() && register.number() < 16 && register.size() >= 16)
        .then_some(register.number() as u8)
}

fn address(insn: &Instruction, size: usize) -> Address {
    let number = |register: Register| register.is_gpr().then(|| register.full_register().number() as u8);
    Address {
        base: number(insn.memory_base()),
        index: number(insn.memory_index()),
        index_bytes: 8,
        is_index_signed: false,
        scale: insn.memory_index_scale() as u8,
        displacement: insn.memory_displacement64(),
        size: size.min(64) as u8,
        // GS is the kernel's or Windows' own: its base is unknown in the same way.
        is_thread: matches!(insn.segment_prefix(), Register::FS | Register::GS),
    }
}

fn operand(insn: &Instruction, number: u32) -> Option<Operand> {
    match insn.try_op_kind(number).ok()? {
        OpKind::Register => {
            let (number, size, is_high) = general(insn.try_op_register(number).ok()?)?;
            Some(if is_high { Operand::HighByte(number & 3) } else { Operand::Register { number, size } })
        }
        OpKind::Memory => {
            let size = insn.memory_size().size();
            (1..=8).contains(&size).then(|| Operand::Memory(address(insn, size)))
        }
        _ => insn.try_immediate(number).ok().map(Operand::Immediate),
    }
}

fn vector_operand(insn: &Instruction, number: u32) -> Option<VectorOperand> {
    match insn.try_op_kind(number).ok()? {
        OpKind::Register => {
            let register = insn.try_op_register(number).ok()?;
            let general =
                || general(register).map(|(number, size, _)| VectorOperand::General { number, size });
            vector(register).map(VectorOperand::Vector).or_else(general)
        }
        OpKind::Memory => Some(VectorOperand::Memory(address(insn, insn.memory_size().size()))),
        _ => None,
    }
}

/// The operation of an instruction that is modelled.
fn modelled(insn: &Instruction) -> Option<Operation> {
    use Mnemonic as M;
    let two = || Some((operand(insn, 0)?, operand(insn, 1)?));
    let nothing = Operation::Other(Clobbered::default());
    let is_same = insn.op_count() == 2
        && insn.op0_kind() == OpKind::Register
        && insn.op1_kind() == OpKind::Register
        && insn.op0_register() == insn.op1_register();
    match insn.mnemonic() {
        M::Nop | M::Endbr64 | M::Pause | M::Mfence | M::Lfence | M::Sfence | M::Cld | M::Vzeroupper => {
            Some(nothing)
        }
        M::Prefetchnta | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchw => Some(nothing),
        M::Mov | M::Movzx => two().map(|(to, from)| Operation::Move { to, from }),
        M::Movsx | M::Movsxd => two().map(|(to, from)| Operation::MoveSigned { to, from }),
        M::Lea => {
            let (to, size, _) = general(insn.op0_register())?;
            Some(Operation::TakeAddress { to, size, address: address(insn, 8) })
        }
        M::Xor | M::Sub if is_same && general(insn.op0_register()).is_some_and(|it| it.1 >= 4) => {
            general(insn.op0_register()).map(|it| Operation::Clear(it.0))
        }
        M::Adc | M::Sbb => {
            let is_sub = insn.mnemonic() == M::Sbb;
            two().map(|(to, from)| Operation::WithCarry { is_sub, to, from })
        }
        M::Cmp => two().map(|(left, right)| Operation::Compare { left, right }),
        M::Test => two().map(|(left, right)| Operation::Test { left, right }),
        M::Bt => two().map(|(value, bit)| Operation::TestBit { value, bit }),
        M::Imul if insn.op_count() == 3 => {
            let (left, right) = (operand(insn, 1)?, operand(insn, 2)?);
            let (kind, to) = (Arithmetic::Multiply, operand(insn, 0)?);
            Some(Operation::Compute { kind, to, left, right, sets_flags: true })
        }
        M::Not | M::Neg | M::Bswap => {
            let kind = match insn.mnemonic() {
                M::Not => Arithmetic::Not,
                M::Neg => Arithmetic::Negate,
                _ => Arithmetic::SwapBytes,
            };
            Some(Operation::Unary { kind, to: operand(insn, 0)? })
        }
        M::Inc | M::Dec => Some(Operation::Step { is_sub: insn.mnemonic() == M::Dec, to: operand(insn, 0)? }),
        M::Push => Some(Operation::Push(operand(insn, 0)?)),
        M::Pop => Some(Operation::Pop(operand(insn, 0)?)),
        M::Leave => Some(Operation::Leave),
        M::Xchg => two().map(|(left, right)| Operation::Exchange { left, right }),
        M::Cmpxchg => {
            let (expected, sets_flags) = (ACCUMULATOR, true);
            two().map(|(to, from)| Operation::CompareExchange { to, from, expected, sets_flags })
        }
        M::Xadd => two().map(|(to, by)| {
            let kind = Some(Arithmetic::Add);
            Operation::Fetch { kind, to, by, old: by, sets_flags: true }
        }),
        M::Cbw => Some(Operation::ExtendAccumulator(1)),
        M::Cwde => Some(Operation::ExtendAccumulator(2)),
        M::Cdqe => Some(Operation::ExtendAccumulator(4)),
        M::Cdq => Some(Operation::SpreadSign(4)),
        M::Cqo => Some(Operation::SpreadSign(8)),
        M::Cpuid => Some(Operation::CpuId),
        M::Xgetbv => Some(Operation::ReadExtendedControl),
        M::Shld | M::Shrd => Some(Operation::ShiftDouble {
            is_left: insn.mnemonic() == M::Shld,
            to: operand(insn, 0)?,
            from: operand(insn, 1)?,
            count: operand(insn, 2)?,
        }),
        M::Stosb | M::Stosw | M::Stosd | M::Stosq if insn.has_rep_prefix() => {
            Some(Operation::FillMemory(insn.memory_size().size() as u8))
        }
        M::Movsb | M::Movsw | M::Movsd | M::Movsq
            if insn.is_string_instruction() && insn.has_rep_prefix() =>
        {
            Some(Operation::CopyMemory(insn.memory_size().size() as u8))
        }
        _ if insn.mnemonic() != M::Bt && arithmetic(insn).is_some() => {
            let kind = arithmetic(insn)?;
            two().map(|(to, right)| Operation::Compute { kind, to, left: to, right, sets_flags: true })
        }
        _ if counting(insn).is_some() => {
            let kind = counting(insn)?;
            two().map(|(to, from)| Operation::CountBits { kind, to, from })
        }
        _ if is_conditional_move(insn.mnemonic()) => two().map(|(to, then)| {
            let condition = condition(insn);
            Operation::Select { condition, to, then, otherwise: to, change: None }
        }),
        _ if is_conditional_set(insn.mnemonic()) => {
            Some(Operation::SetIf { condition: condition(insn), to: operand(insn, 0)? })
        }
        _ => vector_move(insn),
    }
}

fn arithmetic(insn: &Instruction) -> Option<Arithmetic> {
    use Mnemonic as M;
    Some(match insn.mnemonic() {
        M::Add => Arithmetic::Add,
        M::Sub => Arithmetic::Sub,
        M::And => Arithmetic::And,
        M::Or => Arithmetic::Or,
        M::Xor => Arithmetic::Xor,
        M::Shl | M::Sal => Arithmetic::ShiftLeft,
        M::Shr => Arithmetic::ShiftRight,
        M::Sar => Arithmetic::ShiftRightSigned,
        M::Rol => Arithmetic::RotateLeft,
        M::Ror => Arithmetic::RotateRight,
        M::Bts => Arithmetic::SetBit,
        M::Btr => Arithmetic::ClearBit,
        M::Btc => Arithmetic::FlipBit,
        M::Imul if insn.op_count() == 2 => Arithmetic::Multiply,
        _ => return None,
    })
}

fn counting(insn: &Instruction) -> Option<Arithmetic> {
    use Mnemonic as M;
    Some(match insn.mnemonic() {
        M::Bsf | M::Tzcnt => Arithmetic::LowestBit,
        M::Bsr => Arithmetic::HighestBit,
        M::Lzcnt => Arithmetic::LeadingZeros,
        M::Popcnt => Arithmetic::CountBits,
        _ => return None,
    })
}

/// What moves through vector registers as a whole or by halves.
fn vector_move(insn: &Instruction) -> Option<Operation> {
    use Mnemonic as M;
    let is_memory = |number: u32| matches!(insn.try_op_kind(number), Ok(OpKind::Memory));
    let sized = |size: u8| {
        let (to, from) = (vector_operand(insn, 0)?, vector_operand(insn, 1)?);
        (insn.op_count() == 2).then_some(Operation::MoveVector { to, from, size })
    };
    let first = || vector(insn.op0_register());
    let is_same_pair =
        |one: u32, other: u32| insn.try_op_register(one).ok() == insn.try_op_register(other).ok();
    match insn.mnemonic() {
        M::Movups
        | M::Movaps
        | M::Movdqa
        | M::Movdqu
        | M::Movupd
        | M::Movapd
        | M::Lddqu
        | M::Movntdq
        | M::Movntps
        | M::Vmovups
        | M::Vmovaps
        | M::Vmovdqa
        | M::Vmovdqu
        | M::Vmovupd
        | M::Vmovapd => {
            let size = match is_memory(0) || is_memory(1) {
                true => insn.memory_size().size(),
                false => insn.op0_register().size(),
            };
            sized(u8::try_from(size).ok()?)
        }
        M::Movq | M::Vmovq => sized(8),
        M::Movd | M::Vmovd => sized(4),
        M::Movlps | M::Movlpd if is_memory(0) => sized(8),
        M::Movsd if is_memory(0) && !insn.is_string_instruction() => sized(8),
        M::Movss if is_memory(0) => sized(4),
        M::Movlps | M::Movlpd => insert(first()?, first()?, vector_operand(insn, 1)?, Lane::Low),
        M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd if is_memory(0) => Some(Operation::ExtractLane {
            to: vector_operand(insn, 0)?,
            from: vector(insn.op1_register())?,
            lane: Lane::High,
        }),
        M::Movhps | M::Movhpd | M::Punpcklqdq | M::Movlhps | M::Unpcklpd if insn.op_count() == 2 => {
            insert(first()?, first()?, vector_operand(insn, 1)?, Lane::High)
        }
        M::Vmovhps | M::Vmovhpd | M::Vpunpcklqdq | M::Vmovlhps | M::Vunpcklpd
            if insn.op_count() == 3 && insn.op0_register().is_xmm() =>
        {
            insert(first()?, vector(insn.op1_register())?, vector_operand(insn, 2)?, Lane::High)
        }
        M::Pinsrq => insert(first()?, first()?, vector_operand(insn, 1)?, lane(insn)),
        M::Vpinsrq => insert(first()?, vector(insn.op1_register())?, vector_operand(insn, 2)?, lane(insn)),
        M::Pextrq | M::Vpextrq => Some(Operation::ExtractLane {
            to: vector_operand(insn, 0)?,
            from: vector(insn.op1_register())?,
            lane: lane(insn),
        }),
        M::Movddup | M::Vpbroadcastq | M::Vmovddup if insn.op0_register().is_xmm() => {
            Some(Operation::Duplicate { to: first()?, from: vector_operand(insn, 1)? })
        }
        M::Pxor | M::Xorps | M::Xorpd if is_same_pair(0, 1) => first().map(Operation::ClearVector),
        M::Vpxor | M::Vxorps | M::Vxorpd if is_same_pair(1, 2) => first().map(Operation::ClearVector),
        _ => None,
    }
}

fn insert(to: u8, rest: u8, from: VectorOperand, lane: Lane) -> Option<Operation> {
    Some(Operation::InsertLane { to, rest, from, lane })
}

fn lane(insn: &Instruction) -> Lane {
    if insn.immediate8() & 1 == 0 { Lane::Low } else { Lane::High }
}

/// What an instruction that is not modelled may change.
fn clobbered(insn: &Instruction) -> Clobbered {
    FACTORY.with_borrow_mut(|factory| {
        let info = factory.info(insn);
        let mut found = Clobbered { flags: insn.rflags_modified() != 0, ..Clobbered::default() };
        for used in info.used_registers() {
            let (reads, writes) = access(used.access());
            let register = used.register();
            let bit = match (general(register), vector(register)) {
                (Some((number, ..)), _) => 1_u64 << number,
                (None, Some(number)) => 1 << (VECTORS + number),
                (None, None) => continue,
            };
            found.written |= if writes { bit } else { 0 };
            found.read |= if reads { bit } else { 0 };
        }
        let names_memory = insn.op_kinds().any(|kind| kind == OpKind::Memory);
        for used in info.used_memory() {
            let (reads, writes) = access(used.access());
            // Of what saves all state, the size is not fixed.
            let size = if used.memory_size().size() == 0 { WHOLE_STATE } else { used.memory_size().size() };
            let place = match names_memory {
                true => address(insn, size),
                // A string instruction, or one on the stack.
                false => Address {
                    base: general(used.base()).map(|it| it.0),
                    ..Address::fixed(used.displacement(), size.min(64) as u8)
                },
            };
            found.loaded = if reads { Some((place, size as u16)) } else { found.loaded };
            found.stored = if writes { Some((place, size as u16)) } else { found.stored };
        }
        if insn.flow_control() == FlowControl::Call || insn.mnemonic() == Mnemonic::Int {
            found.written |= 1 | 1 << 1 | 1 << 11;
            found.read |= SYSTEM_CALL_ARGUMENTS;
        }
        // Registers that only make an address do not go anywhere.
        if let Some(number) = general(insn.memory_base()).filter(|_| names_memory) {
            let is_value = insn.op_kinds().zip(0..).any(|(kind, operand)| {
                kind == OpKind::Register
                    && insn.try_op_register(operand).ok().and_then(general).map(|it| it.0) == Some(number.0)
            });
            found.read &= if is_value { u64::MAX } else { !(1 << number.0) };
        }
        found.read &= !(1 << STACK_POINTER);
        found
    })
}

/// Whether an access reads and writes.
const fn access(access: OpAccess) -> (bool, bool) {
    match access {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        _ => (false, false),
    }
}

/// Where the stack protector's number is, from FS (psABI, "Thread control block" of glibc).
const STACK_PROTECTOR: u64 = 0x28;

/// Hands out what a run of code names and does. `is_fixed`: whether numbers may be addresses.
pub(crate) fn mentions(code: &[u8], svma: Svma, is_fixed: bool, mut found: impl FnMut(Mention)) {
    let mut decoder = Decoder::with_ip(BITNESS, code, svma.0, OPTIONS);
    let mut insn = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut insn);
        if insn.is_invalid() {
            continue;
        }
        let at = Svma(insn.ip());
        let bytes = insn.memory_size().size() as u16;
        let mut add = |kind, place| found(Mention { at, kind, place, bytes });
        match insn.flow_control() {
            FlowControl::Return | FlowControl::IndirectBranch => add(MentionKind::Left, 0),
            FlowControl::Call => {
                add(MentionKind::Called, insn.near_branch_target());
                continue;
            }
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                add(MentionKind::Jumped, insn.near_branch_target());
                continue;
            }
            _ => {}
        }
        if matches!(insn.mnemonic(), Mnemonic::Cpuid | Mnemonic::Xgetbv) {
            add(MentionKind::Queried, 0);
        }
        let base = insn.memory_base();
        let is_thread = matches!(insn.segment_prefix(), Register::FS | Register::GS);
        if is_thread && (base != Register::None || insn.memory_displacement64() != STACK_PROTECTOR) {
            add(MentionKind::ThreadUsed, 0);
        }
        let has_memory =
            base != Register::None || (is_fixed && insn.op_kinds().any(|kind| kind == OpKind::Memory));
        let is_relative = insn.is_ip_rel_memory_operand();
        if has_memory && !is_thread && (is_relative || is_fixed && insn.memory_displ_size() >= 4) {
            let is_indexed =
                !is_relative && (base != Register::None || insn.memory_index() != Register::None);
            let is_taken = insn.mnemonic() == Mnemonic::Lea || is_indexed;
            let kind = if is_taken { MentionKind::Taken } else { MentionKind::Used };
            add(kind, insn.memory_displacement64());
        }
        if is_fixed {
            for (kind, number) in insn.op_kinds().zip(0..) {
                if matches!(kind, OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64)
                    && let Ok(place) = insn.try_immediate(number)
                {
                    add(MentionKind::Taken, place);
                }
            }
        }
    }
}
