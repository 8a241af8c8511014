//! The linear pass over x86-64 code.
//!
//! In: the bytes of one unit. Out: what [`Sweep`] holds. Nearly all instructions are decoded by table ([`quick`]); what
//! that does not decide, and what is of a wanted class or refers to code, is decoded in full.

use iced_x86::{Decoder, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::class::class_of;
use super::decoder::{BITNESS, OPTIONS};
use super::features::{CodeFacts, GROUPS, TABLE};
use super::quick::{HOT, Kind, Quick, WINDOW, quick};
use crate::address::CodeOffset;
use crate::insn::sweep::{
    BackEdge, COMPUTING_LOOP, ComputingLoop, Edge, FeatureHit, Interest, Loops, Mark, Reference,
    ReferenceKind, SHORT_LOOP, Sweep,
};
use crate::insn::{Class, ClassSet, FeatureGroup};

/// The classes that most instructions may have. A sweep for them decodes everything in full.
const HIDDEN: ClassSet = ClassSet::of(&[Class::Other, Class::Load, Class::Store]);

/// All direct transfers of control.
const DIRECT: u32 = Kind::JUMP | Kind::BRANCH | Kind::CALL;

/// Sweeps one unit. `code` begins at the unit's start, at offset `at`, and reaches as far as bytes are readable. The unit
/// reaches to `limit`, the next place where an instruction is known to begin. Instructions that begin at or after
/// `length` bytes are left to the caller's next call. An instruction that crosses the limit is undecodable. Returns
/// where the last one ended.
pub fn sweep(
    code: &[u8],
    length: usize,
    limit: usize,
    at: CodeOffset,
    interest: &Interest,
    sweep: &mut Sweep,
) -> CodeOffset {
    let ahead = if interest.wants.classes.intersects(HIDDEN) { &[] } else { code };
    sweep_with(code, ahead, length, limit, at, interest, sweep)
}

/// Sweeps with windows of `ahead` for the decoder by table; without any, all is decoded in full.
pub(super) fn sweep_with(
    code: &[u8],
    ahead: &[u8],
    length: usize,
    limit: usize,
    at: CodeOffset,
    interest: &Interest,
    sweep: &mut Sweep,
) -> CodeOffset {
    let code = code.get(..limit).unwrap_or(code);
    let jumps = Kind::JUMP | if interest.conditional_exits { Kind::BRANCH } else { 0 };
    let wanting = CodeFacts::wanting(interest.wants.classes);
    let unit = Unit { code, ahead, at, interest, jumps, wanting };
    let length = length.min(code.len());
    match (interest.wants.loops, interest.wants.computing) {
        (Loops::None, false) => unit.sweep::<false, false>(length, sweep),
        (_, false) => unit.sweep::<true, false>(length, sweep),
        (_, true) => unit.sweep::<true, true>(length, sweep),
    }
}

/// One unit, and what is wanted of it.
struct Unit<'a> {
    /// Its bytes.
    code: &'a [u8],
    /// The bytes that the decoder by table may read.
    ahead: &'a [u8],
    at: CodeOffset,
    interest: &'a Interest,
    /// The transfers that are recorded where they leave the unit.
    jumps: u32,
    /// The facts of codes that may be of a wanted class.
    wanting: u64,
}

/// What matters for loops: where the last instructions ended that have or lack each of three marks, by [`Kind::marks`].
/// One store for each instruction; what loops need is found where one is closed.
#[derive(Default)]
struct Ends([usize; 8]);

impl Ends {
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
    fn note(&mut self, marks: u32, end: usize) {
        self.0[(marks & 7) as usize] = end;
    }

    /// Where the last instruction with a mark ended.
    fn last(&self, mark: u32) -> usize {
        let marked = self.0.iter().enumerate().filter(|(marks, _)| *marks as u32 & mark != 0);
        marked.map(|(_, end)| *end).max().unwrap_or_default()
    }

    /// Stores, calls or enters the system.
    fn active(&self) -> usize {
        self.last(1)
    }

    /// Computes on vectors.
    fn vector(&self) -> usize {
        self.last(2)
    }

    /// Computes on single numbers.
    fn scalar(&self) -> usize {
        self.last(4)
    }
}

/// One instruction, decoded in full.
struct Full {
    kind: Kind,
    acts: bool,
    next: usize,
    target: u64,
}

impl Unit<'_> {
    /// With `LOOPS`, notes short loops, too; with `COMPUTING`, those that compute.
    fn sweep<const LOOPS: bool, const COMPUTING: bool>(
        &self,
        length: usize,
        sweep: &mut Sweep,
    ) -> CodeOffset {
        if sweep.groups.len() < GROUPS {
            sweep.groups.resize(GROUPS, 0);
        }
        let mut groups = std::mem::take(&mut sweep.groups);
        let Some(counts) = groups.first_chunk_mut::<GROUPS>() else { return self.at };
        let hot = &**HOT;
        // What is left to the full decoder: what the table does not decide, and wanted classes.
        let wanting = Kind::SLOW | Kind::wanting(self.interest.wants.classes.0);
        let mut decoder = None;
        let mut undecoded = 0;
        let mut undecoded_end = usize::MAX;
        let mut ends = Ends::default();
        let mut position = 0;
        while position < length {
            let (kind, marks, next, notable);
            let mut target = 0;
            if let Some(window) = self.ahead.get(position..).and_then(|rest| rest.first_chunk::<WINDOW>())
                && let Some(quick) = quick(window, hot)
                && position + quick.length <= self.code.len()
                && !(quick.is_relative() && self.is_in_code(position, &quick, window))
                && !quick.kind.any(wanting)
            {
                (kind, marks, next) = (quick.kind, quick.marks(), position + quick.length);
                if kind.any(DIRECT | Kind::ABOVE_BASELINE) {
                    let displacement = quick.displacement(window);
                    target = self.offset(next).wrapping_add_signed(displacement);
                    // A jump ahead within the unit is nothing to record, and closes no loop.
                    let is_near = (displacement as u64) < (self.code.len() - next) as u64;
                    notable = kind.any(Kind::CALL | Kind::ABOVE_BASELINE) || !is_near;
                } else {
                    notable = false;
                }
            } else if let Some(full) = self.full(position, &mut decoder, sweep) {
                (kind, marks, next, target) = (full.kind, full.kind.marks(full.acts), full.next, full.target);
                notable = true;
            } else {
                if undecoded_end != position {
                    sweep.undecodable.push(self.at.wrapping_add(position as u32));
                }
                position += 1;
                undecoded += 1;
                undecoded_end = position;
                continue;
            }
            if notable {
                self.record::<LOOPS, COMPUTING>(kind, position, target, &ends, sweep);
            }
            if let Some(count) = counts.get_mut(kind.group()) {
                *count += 1;
            }
            if LOOPS {
                ends.note(marks, next);
            }
            position = next;
        }
        sweep.groups = groups;
        sweep.undecoded += undecoded;
        sweep.decoded += position as u64 - undecoded;
        self.at.wrapping_add(position as u32)
    }

    /// A place of the unit as an offset; targets before all code wrap to huge ones.
    #[inline(always)]
    fn offset(&self, position: usize) -> u64 {
        u64::from(self.at) + position as u64
    }

    /// Whether an instruction at `position` names a place in code.
    #[inline(always)]
    fn is_in_code(&self, position: usize, quick: &Quick, window: &[u8; WINDOW]) -> bool {
        let place = self.offset(position + quick.length).wrapping_add_signed(quick.place(window));
        place < u64::from(self.interest.code_length)
    }

    /// Decodes an instruction in full, and records what it refers to and its class; `None` if there is none.
    #[cold]
    #[inline(never)]
    fn full<'a>(
        &'a self,
        position: usize,
        decoder: &mut Option<Decoder<'a>>,
        sweep: &mut Sweep,
    ) -> Option<Full> {
        // Offsets are the decoder's addresses: then its targets are offsets too.
        let decoder = decoder.get_or_insert_with(|| Decoder::new(BITNESS, self.code, OPTIONS));
        decoder.set_position(position).ok()?;
        decoder.set_ip(self.offset(position));
        let mut insn = Instruction::default();
        decoder.decode_out(&mut insn);
        let facts = TABLE.facts(insn.code());
        if facts.any(CodeFacts::INVALID) {
            return None;
        }
        if facts.any(self.wanting) || insn.has_lock_prefix() {
            let class = class_of(&insn);
            if self.interest.wants.classes.contains(class) {
                sweep.marks.push(Mark { at: CodeOffset(insn.ip() as u32), class });
            }
        }
        let code_length = u64::from(self.interest.code_length);
        if insn.is_ip_rel_memory_operand() && insn.memory_displacement64() < code_length {
            sweep.references.extend(reference(&insn));
        }
        let acts = facts.any(CodeFacts::ACTS)
            || (facts.any(CodeFacts::MAY_STORE) && insn.op0_kind() == OpKind::Memory);
        Some(Full {
            kind: Kind::of(facts),
            acts,
            next: position + insn.len(),
            target: insn.near_branch_target(),
        })
    }

    /// Records an instruction that is above the baseline or goes somewhere, and the loops that it closes. Not inlined, so
    /// that the loop around it keeps its values in registers.
    #[inline(never)]
    fn record<const LOOPS: bool, const COMPUTING: bool>(
        &self,
        kind: Kind,
        position: usize,
        target: u64,
        ends: &Ends,
        sweep: &mut Sweep,
    ) {
        let from = self.at.wrapping_add(position as u32);
        let edge = Edge { from, to: CodeOffset(target as u32) };
        let in_code = target < u64::from(self.interest.code_length);
        if kind.any(Kind::CALL) && in_code {
            sweep.calls.push(edge);
        }
        // Before the unit's start the difference wraps to a huge one.
        let leaves = target.wrapping_sub(u64::from(self.at)) >= self.code.len() as u64;
        if kind.any(self.jumps) && in_code && leaves {
            sweep.jumps.push(edge);
        }
        if kind.any(Kind::ABOVE_BASELINE) {
            sweep.hits.push(FeatureHit { at: from, group: FeatureGroup(kind.group() as u16) });
        }
        if LOOPS && kind.any(Kind::BRANCH | Kind::JUMP) {
            let (at, loops) = (self.at, self.interest.wants.loops);
            sweep.back_edges.extend(back_edge(target, at, position, ends, loops));
            if COMPUTING {
                sweep.computing_loops.extend(computing_loop(target, at, position, ends));
            }
        }
    }
}

/// The loop that a jump at `position` of the unit at `at` to `to` closes, if it is short and of a kind requested.
fn back_edge(to: u64, at: CodeOffset, position: usize, ends: &Ends, loops: Loops) -> Option<BackEdge> {
    let from = at.wrapping_add(position as u32);
    // A target before all code wraps to a huge address, and is ahead.
    let length = u64::from(from).checked_sub(to)?;
    if loops == Loops::None || length > u64::from(SHORT_LOOP) || to < u64::from(at) {
        return None;
    }
    let is_quiet = ends.active() as u64 + length <= position as u64;
    (is_quiet || loops == Loops::All).then_some(BackEdge { from, to: CodeOffset(to as u32), is_quiet })
}

/// The loop that a jump at `position` of the unit at `at` to `to` closes, if it is not long and something in it computes.
fn computing_loop(to: u64, at: CodeOffset, position: usize, ends: &Ends) -> Option<ComputingLoop> {
    let from = at.wrapping_add(position as u32);
    let length = u64::from(from).checked_sub(to)?;
    if length > u64::from(COMPUTING_LOOP) || to < u64::from(at) {
        return None;
    }
    let is_in = |end: usize| end as u64 + length > position as u64;
    let is_vector = is_in(ends.vector());
    (is_vector || is_in(ends.scalar())).then_some(ComputingLoop {
        from,
        to: CodeOffset(to as u32),
        is_vector,
    })
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
