//! The linear pass over x86-64 code.
//!
//! In: the bytes of one unit. Out: what [`Sweep`] holds. The pass must cost little more than decoding
//! alone, so an instruction of no interest costs one table lookup and one count.

use iced_x86::{Decoder, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::class::class_of;
use super::decoder::{BITNESS, OPTIONS};
use super::features::{CodeFacts, GROUPS, TABLE};
use crate::address::CodeOffset;
use crate::insn::FeatureGroup;
use crate::insn::sweep::{
    BackEdge, COMPUTING_LOOP, ComputingLoop, Edge, FeatureHit, Interest, Loops, Mark, Reference,
    ReferenceKind, SHORT_LOOP, Sweep,
};

/// Sweeps one unit. `code` reaches from the unit's start, at offset `at`, to the next place where an
/// instruction is known to begin. Instructions that begin at or after `length` bytes are left to the caller's next
/// call. An instruction that does not fit into `code` is undecodable. Returns where the last one ended.
pub fn sweep(
    code: &[u8],
    length: usize,
    at: CodeOffset,
    interest: &Interest,
    sweep: &mut Sweep,
) -> CodeOffset {
    match (interest.wants.loops, interest.wants.computing) {
        (Loops::None, false) => sweep_unit::<false, false>(code, length, at, interest, sweep),
        (_, false) => sweep_unit::<true, false>(code, length, at, interest, sweep),
        (_, true) => sweep_unit::<true, true>(code, length, at, interest, sweep),
    }
}

/// With `LOOPS`, notes short loops, too; with `COMPUTING`, those that compute.
fn sweep_unit<const LOOPS: bool, const COMPUTING: bool>(
    code: &[u8],
    length: usize,
    at: CodeOffset,
    interest: &Interest,
    sweep: &mut Sweep,
) -> CodeOffset {
    let length = length.min(code.len());
    let code_length = u64::from(interest.code_length);
    if sweep.groups.len() < GROUPS {
        sweep.groups.resize(GROUPS, 0);
    }
    let mut groups = std::mem::take(&mut sweep.groups);
    let Some(counts) = groups.first_chunk_mut::<GROUPS>() else { return at };
    let table = &*TABLE;
    let jumps = CodeFacts::JUMP | if interest.conditional_exits { CodeFacts::BRANCH } else { 0 };
    let special = CodeFacts::INVALID
        | CodeFacts::ABOVE_BASELINE
        | CodeFacts::CALL
        | jumps
        | CodeFacts::wanting(interest.wants.classes);

    // Offsets are the decoder's addresses: then its targets are offsets too, and those before the code are
    // huge.
    let mut decoder = Decoder::with_ip(BITNESS, code, u64::from(at), OPTIONS);
    let mut insn = Instruction::default();
    let mut undecoded = 0;
    let mut undecoded_end = usize::MAX;
    // Where the last instruction ended that stores, calls or enters the system.
    let mut active_end = 0;
    // Where the last instructions ended that compute on vectors, and on single numbers.
    let (mut vector_end, mut scalar_end) = (0, 0);
    let mut position = 0;
    while position < length {
        decoder.decode_out(&mut insn);
        let facts = table.facts(insn.code());
        if facts.any(special) || insn.has_lock_prefix() {
            if facts.any(CodeFacts::INVALID) {
                if undecoded_end != position {
                    sweep.undecodable.push(at.wrapping_add(position as u32));
                }
                position += 1;
                undecoded += 1;
                undecoded_end = position;
                if decoder.set_position(position).is_err() {
                    break;
                }
                decoder.set_ip(u64::from(at) + position as u64);
                continue;
            }
            record(&insn, facts, at, code.len(), interest, sweep);
        }
        if insn.is_ip_rel_memory_operand() && insn.memory_displacement64() < code_length {
            sweep.references.extend(reference(&insn));
        }
        if let Some(count) = counts.get_mut(usize::from(facts.group())) {
            *count += 1;
        }
        if LOOPS {
            if facts.any(CodeFacts::BRANCH | CodeFacts::JUMP) {
                if let Some(edge) = back_edge(&insn, at, position, active_end, interest.wants.loops) {
                    sweep.back_edges.push(edge);
                }
                if COMPUTING {
                    sweep.computing_loops.extend(computing_loop(&insn, at, position, vector_end, scalar_end));
                }
            }
            if COMPUTING {
                let end = position + insn.len();
                vector_end = if facts.any(CodeFacts::VECTOR) { end } else { vector_end };
                scalar_end = if facts.any(CodeFacts::SCALAR) { end } else { scalar_end };
            }
            let acts = facts.any(CodeFacts::ACTS)
                || (facts.any(CodeFacts::MAY_STORE) && insn.op0_kind() == OpKind::Memory);
            active_end = if acts { position + insn.len() } else { active_end };
        }
        position += insn.len();
    }
    sweep.groups = groups;
    sweep.undecoded += undecoded;
    sweep.decoded += position as u64 - undecoded;
    at.wrapping_add(position as u32)
}

/// The loop that a jump at `position` of the unit at `at` closes, if it is short and of a kind requested.
#[inline(always)]
fn back_edge(
    insn: &Instruction,
    at: CodeOffset,
    position: usize,
    active_end: usize,
    loops: Loops,
) -> Option<BackEdge> {
    let from = at.wrapping_add(position as u32);
    let to = insn.near_branch_target();
    // A target before all code wraps to a huge address, and is ahead.
    let length = u64::from(from).checked_sub(to)?;
    if loops == Loops::None || length > u64::from(SHORT_LOOP) || to < u64::from(at) {
        return None;
    }
    let is_quiet = active_end as u64 + length <= position as u64;
    (is_quiet || loops == Loops::All).then_some(BackEdge { from, to: CodeOffset(to as u32), is_quiet })
}

/// The loop that a jump at `position` of the unit at `at` closes, if it is not long and something in it computes.
#[inline(always)]
fn computing_loop(
    insn: &Instruction,
    at: CodeOffset,
    position: usize,
    vector_end: usize,
    scalar_end: usize,
) -> Option<ComputingLoop> {
    let from = at.wrapping_add(position as u32);
    let to = insn.near_branch_target();
    let length = u64::from(from).checked_sub(to)?;
    if length > u64::from(COMPUTING_LOOP) || to < u64::from(at) {
        return None;
    }
    let is_in = |end: usize| end as u64 + length > position as u64;
    let is_vector = is_in(vector_end);
    (is_vector || is_in(scalar_end)).then_some(ComputingLoop { from, to: CodeOffset(to as u32), is_vector })
}

/// Records an instruction that is above the baseline, goes somewhere or may be of a wanted class.
fn record(
    insn: &Instruction,
    facts: CodeFacts,
    at: CodeOffset,
    unit_length: usize,
    interest: &Interest,
    sweep: &mut Sweep,
) {
    let from = CodeOffset(insn.ip() as u32);
    let target = insn.near_branch_target();
    let edge = Edge { from, to: CodeOffset(target as u32) };
    let in_code = target < u64::from(interest.code_length);
    if facts.any(CodeFacts::CALL) && in_code {
        sweep.calls.push(edge);
    }
    let jumps = CodeFacts::JUMP | if interest.conditional_exits { CodeFacts::BRANCH } else { 0 };
    // Before the unit's start the difference wraps to a huge one.
    if facts.any(jumps) && in_code && target.wrapping_sub(u64::from(at)) >= unit_length as u64 {
        sweep.jumps.push(edge);
    }
    if facts.any(CodeFacts::ABOVE_BASELINE) {
        sweep.hits.push(FeatureHit { at: from, group: FeatureGroup(facts.group().into()) });
    }
    if facts.any(CodeFacts::wanting(interest.wants.classes)) || insn.has_lock_prefix() {
        let class = class_of(insn);
        if interest.wants.classes.contains(class) {
            sweep.marks.push(Mark { at: from, class });
        }
    }
}

/// How an instruction with an operand relative to RIP refers to its place; `None` where it neither reads
/// nor names it.
#[cold]
fn reference(insn: &Instruction) -> Option<Reference> {
    // FS and GS have bases of their own: such an address is none in the file.
    if matches!(insn.segment_prefix(), Register::FS | Register::GS) {
        return None;
    }
    let (from, to) = (CodeOffset(insn.ip() as u32), CodeOffset(insn.memory_displacement64() as u32));
    if insn.mnemonic() == Mnemonic::Lea {
        return Some(Reference { from, to, kind: ReferenceKind::Address });
    }
    let mut factory = InstructionInfoFactory::new();
    let read = factory.info(insn).used_memory().iter().any(|memory| {
        matches!(memory.base(), Register::RIP | Register::EIP | Register::None)
            && matches!(
                memory.access(),
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            )
    });
    let size = insn.memory_size().size() as u16;
    read.then_some(Reference { from, to, kind: ReferenceKind::Load(size) })
}
