//! All facts of one x86-64 instruction.
//!
//! In: bytes. Out: [`Insn`]. Implicit operands and flags count among the registers read and written.

use iced_x86::{
    ConditionCode, Decoder, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register, RflagsBits,
};
use std::cell::RefCell;

use super::class::class_of;
use super::decoder::{BITNESS, OPTIONS};
use super::features::TABLE;
use crate::address::Svma;
use crate::insn::{
    Class, Condition, FeatureGroup, Flow, Insn, Memory, Modifier, Operation, Ordering, Reg, RegSet, Step,
};

thread_local! {
    /// It holds memory, which is dear to get anew for each instruction.
    static FACTORY: RefCell<InstructionInfoFactory> = RefCell::new(InstructionInfoFactory::new());
}

/// Decodes the first instruction of `code`.
pub fn decode(code: &[u8], svma: Svma) -> Option<Insn> {
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, svma.0, OPTIONS).decode_out(&mut insn);
    if insn.is_invalid() {
        return None;
    }
    FACTORY.with_borrow_mut(|factory| {
        // The one memory operand shows what is accessed, and is read from the instruction.
        let info = factory.info_options(&insn, InstructionInfoOptions::NO_MEMORY_USAGE);
        Some(facts_of(&insn, info, svma))
    })
}

/// Where control goes from the first instruction of `code`.
pub fn step(code: &[u8], svma: Svma) -> Option<Step> {
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, svma.0, OPTIONS).decode_out(&mut insn);
    let class = class_of(&insn);
    (!insn.is_invalid()).then(|| Step {
        length: insn.len() as u8,
        flow: flow(&insn, class),
        is_hint: class == Class::Hint,
    })
}

/// All facts of a valid instruction.
fn facts_of(insn: &Instruction, info: &InstructionInfo, svma: Svma) -> Insn {
    let class = class_of(insn);
    let (reads, writes) = registers(insn, info, class);
    let operation = operation(insn, class);
    let mut facts = Insn {
        svma,
        length: insn.len() as u8,
        class,
        operation,
        flow: flow(insn, class),
        dst: destination(insn, info),
        src: sources(insn, info),
        imm: immediate(insn),
        modified: false,
        modifier: Some(Modifier::NONE),
        is_signed: matches!(
            insn.mnemonic(),
            Mnemonic::Movsx | Mnemonic::Movsxd | Mnemonic::Cbw | Mnemonic::Cwde | Mnemonic::Cdqe
        ),
        nzcv: 0,
        lanes: super::lanes::lanes(insn),
        high_byte: high_byte(insn, info),
        condition: condition(insn, operation),
        width: width(insn),
        reads,
        writes,
        memory: memory(insn, info),
        ordering: Ordering::default(),
        features: FeatureGroup(TABLE.facts(insn.code()).group().into()),
    };
    if facts.lanes.is_some() {
        let general = (0..insn.op_count()).filter_map(|n| insn.try_op_register(n).ok());
        facts.width =
            general.filter(|register| register.is_gpr()).map(|register| register.size() as u8).sum();
    }
    shape_operands(insn, &mut facts);
    facts
}

/// Decodes a run of code, and returns all facts of those instructions only that hold one of some places, sorted by
/// address.
pub fn decode_holding(code: &[u8], svma: Svma, places: &[Svma]) -> Vec<Insn> {
    let mut decoder = Decoder::with_ip(BITNESS, code, svma.0, OPTIONS);
    let mut insn = Instruction::default();
    let mut found = Vec::new();
    let mut rest = places;
    while let Some(&next) = rest.first().filter(|_| decoder.can_decode()) {
        let position = decoder.position();
        decoder.decode_out(&mut insn);
        if insn.is_invalid() {
            if decoder.set_position(position + 1).is_err() {
                break;
            }
            decoder.set_ip(svma.0.wrapping_add(position as u64 + 1));
        } else if insn.next_ip() > next.0 {
            let start = Svma(insn.ip());
            found.extend(code.get(position..).and_then(|code| decode(code, start)).filter(|_| start <= next));
            let end = rest.partition_point(|place| place.0 < insn.next_ip());
            rest = rest.get(end..).unwrap_or_default();
        }
    }
    found
}

/// Our name for a register; `None` for the instruction pointer and for no register.
fn reg(register: Register) -> Option<Reg> {
    let full = register.full_register();
    match full {
        Register::None | Register::RIP | Register::EIP => None,
        _ if full.is_gpr() => Some(Reg::general(full.number() as u8)),
        _ if full.is_vector_register() => Some(Reg::vector(full.number() as u8)),
        _ if full.is_k() => Some(Reg::mask(full.number() as u8)),
        _ => Some(Reg::OTHER),
    }
}

const fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

const fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// The status flags: OF, SF, ZF, AF, CF and PF. The others in iced-x86's sets belong to the x87, the direction of
/// string instructions, and the system.
const STATUS: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// The registers read, among them those of which something may stay, and those written.
fn registers(insn: &Instruction, info: &InstructionInfo, class: Class) -> (RegSet, RegSet) {
    let (mut read, mut written) = (RegSet::EMPTY, RegSet::EMPTY);
    for used in info.used_registers() {
        let Some(reg) = reg(used.register()) else { continue };
        // Writes of 32 bits clear the rest, those of 8 and 16 do not (SDM volume 1, 3.4.1.1).
        let is_part = used.register().is_gpr() && used.register().size() < 4;
        let may_stay = is_part || used.access() == OpAccess::CondWrite;
        if reads(used.access()) || may_stay && writes(used.access()) {
            read = read.with(reg);
        }
        if writes(used.access()) {
            written = written.with(reg);
        }
    }
    // APM volume 4: the bits that are not inserted stay. Without a shadow stack `rdssp` leaves its register.
    if matches!(insn.mnemonic(), Mnemonic::Insertq | Mnemonic::Rdsspd | Mnemonic::Rdsspq) {
        read = operand_register(insn, 0).map_or(read, |reg| read.with(reg));
    }
    let modified = insn.rflags_modified() & STATUS;
    if insn.rflags_read() & STATUS != 0 || modified != 0 && (modified != STATUS || may_do_nothing(insn)) {
        read = read.with(Reg::FLAGS);
    }
    if modified != 0 {
        written = written.with(Reg::FLAGS);
    }
    let service = service(insn, class);
    (read.union(service), written.union(service))
}

/// Whether a count in a register decides whether the flags change at all.
fn may_do_nothing(insn: &Instruction) -> bool {
    use Mnemonic as M;
    let shifts = matches!(
        insn.mnemonic(),
        M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror | M::Rcl | M::Rcr | M::Shld | M::Shrd
    );
    let last = insn.op_count().saturating_sub(1);
    insn.has_rep_prefix() || insn.has_repne_prefix() || shifts && insn.try_op_register(last).is_ok()
}

/// What a system call, or a call of the hypervisor or of an enclave, may read and change. Linux has numbers and results
/// in rax, and arguments in rdi, rsi, rdx, r10, r8 and r9. By `int 0x80` it has arguments in rbx, rcx, rdx, rsi, rdi
/// and rbp. It loses rcx and r11. The BSDs have a second result in rdx and an error in the carry flag. None of it is
/// surely overwritten.
fn service(insn: &Instruction, class: Class) -> RegSet {
    use Mnemonic as M;
    let is_service = class == Class::SystemCall
        || matches!(
            insn.mnemonic(),
            M::Vmcall
                | M::Vmmcall
                | M::Vmgexit
                | M::Vmfunc
                | M::Tdcall
                | M::Seamcall
                | M::Getsec
                | M::Getsecq
                | M::Encls
                | M::Enclu
                | M::Enclv
        );
    if !is_service {
        return RegSet::EMPTY;
    }
    let all = (0..16).map(Reg::general).fold(RegSet::EMPTY, RegSet::with);
    all.without(Reg::general(4)).with(Reg::FLAGS)
}

fn flow(insn: &Instruction, class: Class) -> Flow {
    let target = match insn.op0_kind() {
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            Some(Svma(insn.near_branch_target()))
        }
        _ => None,
    };
    match (insn.flow_control(), target) {
        (FlowControl::UnconditionalBranch, Some(target)) => Flow::Jump(target),
        (FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend, Some(target)) => {
            Flow::Branch(target)
        }
        (FlowControl::Call, Some(target)) => Flow::Call(target),
        (FlowControl::IndirectBranch, _) => Flow::IndirectJump,
        (FlowControl::IndirectCall, _) => Flow::IndirectCall,
        (FlowControl::Return, _) => Flow::Return,
        _ if class == Class::Trap => Flow::Stop,
        _ => Flow::Next,
    }
}

/// The operands' kinds and accesses, with their numbers.
fn operands<'a>(
    insn: &'a Instruction,
    info: &'a InstructionInfo,
) -> impl Iterator<Item = (u32, OpKind, OpAccess)> + 'a {
    (0..).zip(insn.op_kinds()).map(|(n, kind)| (n, kind, info.try_op_access(n).unwrap_or(OpAccess::None)))
}

fn operand_register(insn: &Instruction, operand: u32) -> Option<Reg> {
    insn.try_op_register(operand).ok().and_then(reg)
}

fn destination(insn: &Instruction, info: &InstructionInfo) -> Option<Reg> {
    operands(insn, info)
        .find(|&(_, kind, access)| kind == OpKind::Register && writes(access))
        .and_then(|(n, ..)| operand_register(insn, n))
}

fn sources(insn: &Instruction, info: &InstructionInfo) -> [Option<Reg>; 3] {
    let mut src = [None; 3];
    let registers =
        operands(insn, info).filter(|&(_, kind, access)| kind == OpKind::Register && reads(access));
    for (slot, (n, ..)) in src.iter_mut().zip(registers) {
        *slot = operand_register(insn, n);
    }
    src
}

/// Whether the first register read, or else the first register operand, is bits 8 to 15 of its register.
fn high_byte(insn: &Instruction, info: &InstructionInfo) -> bool {
    let registers = || operands(insn, info).filter(|&(_, kind, _)| kind == OpKind::Register);
    let first = registers().find(|&(_, _, access)| reads(access)).or_else(|| registers().next());
    let register = first.and_then(|(n, ..)| insn.try_op_register(n).ok());
    matches!(register, Some(Register::AH | Register::BH | Register::CH | Register::DH))
}

/// When a branch, a move or a set on flags acts.
fn condition(insn: &Instruction, operation: Operation) -> Option<Condition> {
    use ConditionCode as C;
    match operation {
        Operation::BranchZero => return Some(Condition::Equal),
        // `sbb r, r` is minus the carry flag.
        Operation::SetMask => return Some(Condition::UnsignedLess),
        Operation::BranchCondition | Operation::Select | Operation::SetCondition => {}
        _ => return None,
    }
    Some(match insn.condition_code() {
        C::b => Condition::UnsignedLess,
        C::ae => Condition::UnsignedGreaterEqual,
        C::a => Condition::UnsignedGreater,
        C::be => Condition::UnsignedLessEqual,
        C::l => Condition::SignedLess,
        C::ge => Condition::SignedGreaterEqual,
        C::g => Condition::SignedGreater,
        C::le => Condition::SignedLessEqual,
        C::e => Condition::Equal,
        C::ne => Condition::NotEqual,
        C::s => Condition::Negative,
        C::ns => Condition::NotNegative,
        C::o | C::no | C::p | C::np => Condition::Other,
        C::None => return None,
    })
}

fn immediate(insn: &Instruction) -> Option<i64> {
    (0..).zip(insn.op_kinds()).find_map(|(n, kind)| match kind {
        OpKind::Immediate8
        | OpKind::Immediate16
        | OpKind::Immediate32
        | OpKind::Immediate64
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64
        | OpKind::Immediate32to64 => insn.try_immediate(n).ok().map(|value| value as i64),
        _ => None,
    })
}

fn width(insn: &Instruction) -> u8 {
    let general = |register: Register| register.is_gpr().then(|| register.size() as u8);
    match (insn.op0_kind(), insn.op1_kind()) {
        (OpKind::Register, _) => general(insn.op0_register()).unwrap_or(0),
        (OpKind::Memory, OpKind::Register) if insn.op_count() > 1 => {
            general(insn.op1_register()).unwrap_or(0)
        }
        (OpKind::Memory, _) => match insn.memory_size().size() {
            size @ (1 | 2 | 4 | 8) => size as u8,
            _ => 0,
        },
        _ => 0,
    }
}

/// The explicit memory operand. `lea`, prefetches and no-operations have one that they neither read nor
/// write; the stack of `push`, `call` and the like is none.
fn memory(insn: &Instruction, info: &InstructionInfo) -> Option<Memory> {
    let (_, kind, access) = operands(insn, info).find(|&(_, kind, _)| {
        matches!(
            kind,
            OpKind::Memory
                | OpKind::MemorySegSI
                | OpKind::MemorySegESI
                | OpKind::MemorySegRSI
                | OpKind::MemorySegDI
                | OpKind::MemorySegEDI
                | OpKind::MemorySegRDI
                | OpKind::MemoryESDI
                | OpKind::MemoryESEDI
                | OpKind::MemoryESRDI
        )
    })?;
    let size = insn.memory_size().size() as u16;
    let (read, write) = (reads(access), writes(access));
    if kind != OpKind::Memory {
        // A string instruction: `[rsi]` or `[rdi]`, which then moves by the element's size. Repeated, it
        // accesses an unknown number of elements.
        let at_rsi = matches!(kind, OpKind::MemorySegSI | OpKind::MemorySegESI | OpKind::MemorySegRSI);
        let repeated = insn.has_rep_prefix() || insn.has_repne_prefix();
        return Some(Memory {
            base: reg(if at_rsi { Register::RSI } else { Register::RDI }),
            index: None,
            index_as: Modifier::NONE,
            displacement: 0,
            size: if repeated { 0 } else { size },
            read,
            write,
            write_back: true,
            is_static: false,
        });
    }
    let base = reg(insn.memory_base());
    let index = reg(insn.memory_index());
    // FS and GS have bases of their own, so an address in them is not the displacement.
    let in_thread = matches!(insn.memory_segment(), Register::FS | Register::GS);
    Some(Memory {
        base,
        index,
        index_as: Modifier { shift: insn.memory_index_scale().trailing_zeros() as u8, ..Modifier::NONE },
        displacement: insn.memory_displacement64() as i64,
        size,
        read,
        write,
        write_back: false,
        is_static: base.is_none() && index.is_none() && !in_thread,
    })
}

fn operation(insn: &Instruction, class: Class) -> Operation {
    use Mnemonic as M;
    match insn.mnemonic() {
        M::Add | M::Inc => Operation::Add,
        M::Sub | M::Dec | M::Neg => Operation::Sub,
        M::And => Operation::And,
        M::Or => Operation::Or,
        M::Xor => Operation::Xor,
        M::Andn => Operation::AndNot,
        M::Not => Operation::OrNot,
        M::Cmp => Operation::Compare,
        M::Test => Operation::Test,
        M::Xchg => Operation::Swap,
        M::Xadd => Operation::FetchAdd,
        M::Cmpxchg | M::Cmpxchg8b | M::Cmpxchg16b => Operation::CompareSwap,
        M::Jrcxz | M::Jecxz => Operation::BranchZero,
        M::Lea if has_static_address(insn) => Operation::Address,
        M::Lea => Operation::EffectiveAddress,
        M::Shl | M::Sal | M::Shlx => Operation::ShiftLeft,
        M::Shr | M::Shrx => Operation::ShiftRight,
        M::Sar | M::Sarx => Operation::ShiftRightSigned,
        M::Adc => Operation::AddCarry,
        M::Bt => Operation::BitTest,
        M::Sbb if is_same_register(insn) => Operation::SetMask,
        M::Sbb => Operation::SubBorrow,
        M::Cpuid => Operation::CpuId,
        M::Xgetbv => Operation::ReadExtendedControl,
        M::Push => Operation::Push,
        M::Pop => Operation::Pop,
        M::Leave => Operation::Leave,
        M::Prefetch
        | M::Prefetchw
        | M::Prefetchwt1
        | M::Prefetchnta
        | M::Prefetcht0
        | M::Prefetcht1
        | M::Prefetcht2
        | M::Prefetchit0
        | M::Prefetchit1 => Operation::Prefetch,
        // Loads and stores are recognised by their class and memory operand.
        _ if matches!(class, Class::Load | Class::Store) => Operation::Other,
        M::Movzx | M::Movsx | M::Movsxd | M::Cbw | M::Cwde | M::Cdqe => Operation::Extend,
        M::Mov | M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu => Operation::Move,
        M::Vmovaps | M::Vmovapd | M::Vmovups | M::Vmovupd | M::Vmovdqa | M::Vmovdqu => Operation::Move,
        _ if insn.code().is_jcc_short_or_near() => Operation::BranchCondition,
        _ if is_conditional_move(insn.mnemonic()) => Operation::Select,
        _ if is_conditional_set(insn.mnemonic()) => Operation::SetCondition,
        _ => Operation::Other,
    }
}

/// Whether the memory operand has neither base nor index.
fn has_static_address(insn: &Instruction) -> bool {
    reg(insn.memory_base()).is_none() && reg(insn.memory_index()).is_none()
}

fn is_same_register(insn: &Instruction) -> bool {
    insn.op0_kind() == OpKind::Register
        && insn.op1_kind() == OpKind::Register
        && insn.op0_register() == insn.op1_register()
}

pub(super) fn is_conditional_move(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Cmova
            | M::Cmovae
            | M::Cmovb
            | M::Cmovbe
            | M::Cmove
            | M::Cmovg
            | M::Cmovge
            | M::Cmovl
            | M::Cmovle
            | M::Cmovne
            | M::Cmovno
            | M::Cmovnp
            | M::Cmovns
            | M::Cmovo
            | M::Cmovp
            | M::Cmovs
    )
}

pub(super) fn is_conditional_set(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Seta
            | M::Setae
            | M::Setb
            | M::Setbe
            | M::Sete
            | M::Setg
            | M::Setge
            | M::Setl
            | M::Setle
            | M::Setne
            | M::Setno
            | M::Setnp
            | M::Setns
            | M::Seto
            | M::Setp
            | M::Sets
    )
}

/// The operand that is compared, tested or shifted: the first one, or the second where the first is a
/// destination of its own (`shlx`, `shrx`).
fn left_operand(insn: &Instruction) -> OpKind {
    if insn.op_count() > 2 { insn.op1_kind() } else { insn.op0_kind() }
}

/// Puts the operands of x86's own forms where [`Operation`] says they are.
fn shape_operands(insn: &Instruction, facts: &mut Insn) {
    use Mnemonic as M;
    let rax = Some(Reg::general(0));
    match facts.operation {
        Operation::Select => {
            // The destination keeps its value where the condition does not hold.
            facts.src = [operand_register(insn, 1), facts.dst, None];
            facts.reads = facts.dst.map_or(facts.reads, |dst| facts.reads.with(dst));
        }
        // What the register held does not matter.
        Operation::SetMask => facts.src = [None; 3],
        Operation::Address => facts.imm = Some(insn.memory_displacement64() as i64),
        // The left one is in memory, so a register is the right one.
        Operation::Compare
        | Operation::Test
        | Operation::BitTest
        | Operation::ShiftLeft
        | Operation::ShiftRight
        | Operation::ShiftRightSigned
            if left_operand(insn) == OpKind::Memory =>
        {
            facts.src = [None, facts.src[0], None];
        }
        Operation::Push | Operation::Pop => facts.width = insn.stack_pointer_increment().unsigned_abs() as u8,
        _ => {}
    }
    // The processor masks counts by the width, and bit numbers that are immediate (SDM volume 2, BT, SHL).
    let mask = match facts.operation {
        Operation::ShiftLeft | Operation::ShiftRight | Operation::ShiftRightSigned => {
            Some(if facts.width == 8 { 63 } else { 31 })
        }
        Operation::BitTest => (i64::from(facts.width) * 8).checked_sub(1),
        _ => None,
    };
    if let (Some(mask), Some(imm)) = (mask, facts.imm) {
        facts.imm = Some(imm & mask);
    }
    match insn.mnemonic() {
        M::Inc | M::Dec => facts.imm = Some(1),
        M::Movzx | M::Movsx | M::Movsxd if insn.op1_kind() == OpKind::Register => {
            facts.imm = Some(insn.op1_register().size() as i64);
        }
        // Within rax, to twice the width.
        M::Cbw | M::Cwde | M::Cdqe => {
            facts.width = match insn.mnemonic() {
                M::Cbw => 2,
                M::Cwde => 4,
                _ => 8,
            };
            facts.imm = Some(i64::from(facts.width / 2));
            (facts.dst, facts.src) = (rax, [rax, None, None]);
        }
        // 0 - x and 0 | !x: the first source is the zero register.
        M::Neg | M::Not => facts.src = [None, facts.src[0], None],
        // dst = !src0 & src1: the second source is the one not inverted.
        M::Andn => facts.src = [facts.src[1], facts.src[0], None],
        // The old value comes back in rax whether or not it was equal.
        M::Cmpxchg => {
            facts.src = [rax, operand_register(insn, 1), None];
            facts.dst = rax;
        }
        M::Cmpxchg8b | M::Cmpxchg16b => {
            facts.src = [rax, Some(Reg::general(3)), None];
            facts.dst = rax;
        }
        M::Xadd if insn.op0_kind() == OpKind::Memory => facts.dst = operand_register(insn, 1),
        M::Jrcxz | M::Jecxz => {
            facts.src = [Some(Reg::general(1)), None, None];
            facts.width = if insn.mnemonic() == M::Jrcxz { 8 } else { 4 };
        }
        _ => {}
    }
}
