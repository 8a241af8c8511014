//! Barriers next to an atomic operation that orders by itself, or that a cheaper form of it would make needless.
//!
//! In: the marks of a sweep and the atomics of a file. Out: [`AtomicBarrier`]s, each with why it is not needed.
//! AArch64: gcc's `__sync` builtins are `ldxr … stlxr … cbnz … dmb ish`, where the acquire form of the load makes the
//! barrier needless. An LSE instruction with acquire and release orders all before it against all after it (DDI 0487
//! B2.3, barrier-ordered-before). x86-64: a locked instruction is a full barrier (SDM volume 3, "Memory Ordering in P6
//! and More Recent Processor Families").

use super::{Atomics, Fate, Operation, Sequence, is_in_helper};
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::block::Graph;
use crate::image::Image;
use crate::insn::{self, Class, ClassSet, Flow, Insn, Operation as InsnOperation, Reg};
use deburr_cpu::Arch;

/// The classes that a sweep must mark for [`atomic_barriers`].
pub const WANTS: ClassSet =
    ClassSet::of(&[Class::LoadExclusive, Class::LseAtomic, Class::Barrier, Class::LockedAtomic]);

/// Why a barrier is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BarrierKind {
    /// It follows a plain load-exclusive and a store-exclusive with release: gcc's `__sync` builtins.
    SyncBuiltin,
    /// It follows a plain exchange: gcc's `__sync_lock_test_and_set`.
    LockTestAndSet,
    /// One before and one after a plain load-exclusive and store-exclusive: assembly older than C11's operations.
    BothSides,
    /// The operation next to it is a full barrier already.
    FullBarrier,
}

/// A barrier that is not needed, and the atomic operation that it is next to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicBarrier {
    /// The barrier.
    pub at: Svma,
    /// The atomic instruction, or the load-exclusive.
    pub atomic: Svma,
    /// From the first of the two to the end of the second.
    pub extent: Extent,
    /// Why it is not needed.
    pub kind: BarrierKind,
    /// What the operation next to it computes.
    pub operation: Operation,
    /// Bytes of memory that the operation is on.
    pub size: u16,
    /// Whether it is before the operation.
    pub is_before: bool,
}

/// Maximum number of instructions between a barrier and the operation.
const BETWEEN: usize = 3;
/// Bytes that so many take on either architecture.
const REACH: u64 = 32;

/// The needless barriers next to atomic operations, by address.
pub fn atomic_barriers(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<AtomicBarrier> {
    let mut found = match image.arch {
        Arch::Aarch64 => {
            let barriers = program.marks().filter(|mark| mark.class == Class::Barrier);
            let barriers: Vec<Svma> =
                barriers.map(|mark| image.svma(mark.at)).filter(|&at| is_dmb_ish(image, at)).collect();
            let mut found = after_sequences(image, atomics, &barriers);
            found.extend(after_lse(image, program, atomics, &barriers));
            found
        }
        Arch::X86_64 => next_to_locked(image, program),
    };
    found.sort_by_key(|barrier| barrier.at);
    found.dedup_by_key(|barrier| barrier.at);
    found
}

fn is_dmb_ish(image: &Image<'_>, at: Svma) -> bool {
    const DMB_ISH: u32 = 0xd503_3bbf;
    image.word_at(at) == Some(DMB_ISH)
}

/// Barriers right after load-exclusive/store-exclusive sequences whose order they make up for.
fn after_sequences(image: &Image<'_>, atomics: &Atomics, barriers: &[Svma]) -> Vec<AtomicBarrier> {
    let changeable =
        |sequence: &&Sequence| !matches!(sequence.fate, Fate::RunTimeChoice | Fate::InlineDispatch);
    let after = |sequence: &Sequence| {
        let at = barriers.get(barriers.partition_point(|&at| at < sequence.extent.end)).copied()?;
        let kind = kind_after(image, sequence)?;
        leads_on(image, sequence, at).then_some(AtomicBarrier {
            at,
            atomic: sequence.load,
            extent: Extent { start: sequence.extent.start, end: at.offset(4) },
            kind,
            operation: sequence.operation,
            size: sequence.size,
            is_before: false,
        })
    };
    atomics.sequences.iter().filter(changeable).filter_map(after).collect()
}

/// Which barrier one after a sequence would be. With acquire and release, or plain without a barrier before it, it is a
/// fence that the program requested.
fn kind_after(image: &Image<'_>, sequence: &Sequence) -> Option<BarrierKind> {
    match (sequence.ordering.acquire, sequence.ordering.release) {
        (false, true) => Some(BarrierKind::SyncBuiltin),
        (false, false) if follows_barrier(image, sequence.extent.start) => Some(BarrierKind::BothSides),
        (false, false) => (sequence.operation == Operation::Swap).then_some(BarrierKind::LockTestAndSet),
        _ => None,
    }
}

/// Whether a barrier is right before an address, or before a copy, an extension or a prefetch that does.
fn follows_barrier(image: &Image<'_>, at: Svma) -> bool {
    let mut before = (1..=BETWEEN as i64).map(|words| at.offset(-4 * words));
    let passed_by = |at: &Svma| {
        decode(image, *at).is_some_and(|insn| {
            let accesses = insn.memory.is_some_and(|memory| memory.read || memory.write);
            insn.flow == Flow::Next && insn.class == Class::Other && !accesses
        })
    };
    before.find(|at| !passed_by(at)).is_some_and(|at| is_dmb_ish(image, at))
}

/// Whether control goes from the end of a sequence straight to an address: past the branch that tries again, and past
/// what neither accesses memory nor goes elsewhere.
fn leads_on(image: &Image<'_>, sequence: &Sequence, to: Svma) -> bool {
    let mut at = sequence.extent.end;
    for _ in 0..=BETWEEN {
        if at == to {
            return true;
        }
        let Some(insn) = decode(image, at) else { return false };
        let tries_again = |target: Svma| target <= sequence.load && sequence.load.since(target) < Some(REACH);
        let goes_on = match insn.flow {
            Flow::Next => insn.class == Class::Other && insn.memory.is_none(),
            Flow::Branch(target) => tries_again(target),
            _ => false,
        };
        if !goes_on {
            return false;
        }
        at = insn.next();
    }
    false
}

fn decode(image: &Image<'_>, at: Svma) -> Option<Insn> {
    insn::decode(image.arch, image.bytes_at(at)?, at)
}

/// Barriers after LSE instructions with acquire and release.
fn after_lse(
    image: &Image<'_>,
    program: &Program,
    atomics: &Atomics,
    barriers: &[Svma],
) -> Vec<AtomicBarrier> {
    let lse = program.marks().filter(|mark| mark.class == Class::LseAtomic).map(|mark| image.svma(mark.at));
    let pairs = lse.filter(|&at| !is_in_helper(&atomics.helpers, at)).filter_map(|atomic| {
        let at = barriers.get(barriers.partition_point(|&at| at < atomic)).copied()?;
        at.since(atomic).filter(|&bytes| bytes <= REACH)?;
        let insn = decode(image, atomic)?;
        // A failed compare-and-swap stores nothing, so its release orders nothing; into the zero register there is no
        // acquire.
        let is_full = insn.ordering.acquire
            && insn.ordering.release
            && insn.dst.is_some()
            && insn.operation != InsnOperation::CompareSwap;
        is_full.then_some((insn, at))
    });
    pairs.filter_map(|(insn, at)| full_barrier(image, program, &insn, at)).collect()
}

/// `mfence`, or gcc's `lock or $0, (%rsp)`, next to locked instructions.
fn next_to_locked(image: &Image<'_>, program: &Program) -> Vec<AtomicBarrier> {
    let marks: Vec<(Svma, Class)> = program
        .marks()
        .filter(|mark| matches!(mark.class, Class::Barrier | Class::LockedAtomic))
        .map(|mark| (image.svma(mark.at), mark.class))
        .collect();
    let near = marks.windows(2).filter_map(|pair| {
        let [(first, first_class), (second, second_class)] = pair else { return None };
        second.since(*first).filter(|&bytes| bytes <= REACH)?;
        let (first, second) = (decode(image, *first)?, decode(image, *second)?);
        let is_fence = |insn: &Insn, class: Class| match class {
            Class::Barrier => is_mfence(image, insn.svma),
            _ => touches_stack_only(insn),
        };
        match (is_fence(&first, *first_class), is_fence(&second, *second_class)) {
            (false, true) if *first_class == Class::LockedAtomic => Some((first, second)),
            (true, false) if *second_class == Class::LockedAtomic => Some((second, first)),
            _ => None,
        }
    });
    near.filter(|(_, fence)| !orders_more(image, fence))
        .filter_map(|(atomic, fence)| full_barrier(image, program, &atomic, fence.svma))
        .collect()
}

/// Whether the instruction at an address is `mfence`.
pub fn is_mfence(image: &Image<'_>, at: Svma) -> bool {
    const MFENCE: [u8; 3] = [0x0f, 0xae, 0xf0];
    image.bytes_at(at).is_some_and(|code| code.starts_with(&MFENCE))
}

/// Whether a locked instruction changes nothing, at the top of the stack.
fn touches_stack_only(insn: &Insn) -> bool {
    const RSP: Reg = Reg::general(4);
    insn.operation == InsnOperation::Or
        && insn.imm == Some(0)
        && insn.memory.is_some_and(|memory| memory.base == Some(RSP) && memory.index.is_none())
}

/// Whether a fence may be there for what locked instructions do not order: reading the time-stamp counter, which
/// another fence or `rdtsc` soon after shows.
fn orders_more(image: &Image<'_>, fence: &Insn) -> bool {
    const AFTER: usize = 3;
    let mut at = fence.next();
    for _ in 0..AFTER {
        let Some(code) = image.bytes_at(at) else { return false };
        if matches!(code, [0x0f, 0x31 | 0xae, ..] | [0x0f, 0x01, 0xf9, ..] | [0x66, 0x0f, 0xae, ..]) {
            return true;
        }
        match insn::decode(image.arch, code, at) {
            Some(insn) if insn.flow == Flow::Next => at = insn.next(),
            _ => return false,
        }
    }
    false
}

/// The barrier next to an operation that is a full barrier, if nothing that accesses memory is between them and
/// control does not come in between.
fn full_barrier(image: &Image<'_>, program: &Program, atomic: &Insn, at: Svma) -> Option<AtomicBarrier> {
    let function = program.function_at(image.code_offset(at)?)?;
    let graph = Graph::of(image, program, function, at);
    let (block, barrier) = graph.find(at)?;
    let (home, index) = graph.find(atomic.svma)?;
    let (low, high) = (barrier.min(index), barrier.max(index));
    let insns = &graph.blocks.get(block).filter(|_| block == home)?.insns;
    let between = insns.get(low + 1..high)?;
    let is_quiet = |insn: &Insn| {
        let accesses = insn.memory.is_some_and(|memory| memory.read || memory.write);
        let pushes =
            matches!(insn.operation, InsnOperation::Push | InsnOperation::Pop | InsnOperation::Leave);
        insn.flow == Flow::Next && !accesses && !pushes && insn.class == Class::Other
    };
    (between.len() <= BETWEEN && between.iter().all(is_quiet)).then_some(())?;
    Some(AtomicBarrier {
        at,
        atomic: atomic.svma,
        extent: Extent { start: insns.get(low)?.svma, end: insns.get(high)?.next() },
        kind: BarrierKind::FullBarrier,
        operation: operation(atomic),
        size: atomic.memory.map_or(0, |memory| memory.size),
        is_before: barrier < index,
    })
}

/// What an atomic instruction computes.
fn operation(atomic: &Insn) -> Operation {
    match atomic.operation {
        InsnOperation::CompareSwap => Operation::CompareSwap,
        InsnOperation::Swap => Operation::Swap,
        InsnOperation::FetchAdd | InsnOperation::Add => Operation::Add,
        InsnOperation::Sub => Operation::Sub,
        InsnOperation::And => Operation::And,
        InsnOperation::FetchOr | InsnOperation::Or => Operation::Or,
        InsnOperation::FetchXor | InsnOperation::Xor => Operation::Xor,
        InsnOperation::FetchAndNot => Operation::AndNot,
        InsnOperation::FetchMinMax => Operation::MinMax,
        _ => Operation::Other,
    }
}
