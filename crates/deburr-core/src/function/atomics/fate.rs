//! Why a load-exclusive/store-exclusive sequence is there, and so whether anyone can do something about it.
//!
//! In: a sequence in its control-flow graph. Out: its [`Fate`]. Every class has been met in shipped binaries. Run-time
//! choices are those of libatomic (ifunc), OpenJDK (stubs), the Linux kernel (patched jumps) and Go (a flag tested in
//! line). There are also operations that LSE lacks, and assembly that no compiler made.

use super::sequence::{Fate, Operation, Pair, Sequence};
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::function::block::Graph;
use crate::function::ifunc::chosen_functions;
use crate::function::{Function, Program};
use crate::image::{Image, SymbolKind};
use crate::insn::{self, Class, Flow, Insn, Reg};
use rustc_hash::FxHashSet;

/// What determining the fates of one file's sequences takes.
pub(super) struct Fates<'a> {
    image: &'a Image<'a>,
    program: &'a Program,
    /// Functions that are chosen when the program starts.
    chosen: FxHashSet<CodeOffset>,
    /// Whether the file calls outlined helpers.
    is_outlined: bool,
    /// Whether frame descriptions cover most of the code.
    is_described: bool,
}

impl<'a> Fates<'a> {
    pub(super) fn new(image: &'a Image<'a>, program: &'a Program, is_outlined: bool) -> Fates<'a> {
        let ifuncs = image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::IfuncResolver);
        let resolvers = ifuncs.map(|symbol| symbol.svma);
        let described: u64 = image.frames.iter().map(|frame| frame.extent.len()).sum();
        Fates {
            image,
            program,
            chosen: chosen_functions(image, program, resolvers),
            is_outlined,
            is_described: described > program.coverage.executable / 2,
        }
    }

    /// The fate of a sequence in a function.
    pub(super) fn of(&self, function: &Function, graph: &Graph, pair: &Pair, sequence: &Sequence) -> Fate {
        let Fates { image, program, .. } = *self;
        // All atomics of the Linux kernel are inline assembly, with LSE written over it where the CPU has that.
        if self.chosen.contains(&program.whole(function).start)
            || is_stub(image, program, function)
            || image.build.is_linux_kernel
        {
            Fate::RunTimeChoice
        } else if is_dispatched(graph, pair, sequence) {
            Fate::InlineDispatch
        } else if no_flag_helps(image, graph, pair, sequence, self.is_outlined)
            || self.is_described && is_generated(image, program, function)
        {
            Fate::NoFlagHelps
        } else if is_written_by_hand(image, program, function, graph, sequence)
            || pair.is_conditional() && sequence.operation != Operation::CompareSwap
        {
            Fate::WrittenByHand
        } else {
            Fate::MissedFlag
        }
    }
}

/// Whether a function is a stub that a run-time compiler replaces: named so (OpenJDK's
/// `aarch64_atomic_fetch_add_4_default_impl`), or V8's embedded builtins.
fn is_stub(image: &Image<'_>, program: &Program, function: &Function) -> bool {
    let is_named = program
        .name(function, image)
        .is_some_and(|name| name.ends_with("_default_impl") || name.starts_with("Builtins_"));
    is_named || begins_as_jvm_stub(image, function)
}

/// Whether a leaf begins as OpenJDK's stubs do: with a prefetch for a store to the address in its first argument, which
/// in those for compare-and-swap comes after a barrier.
fn begins_as_jvm_stub(image: &Image<'_>, function: &Function) -> bool {
    const DMB_ISH: u32 = 0xd503_3bbf;
    const PRFM_PSTL1STRM_X0: u32 = 0xf980_0011;
    let code = image.bytes_at(image.svma(function.start)).unwrap_or_default();
    let (words, _) = code.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word)).skip_while(|&word| word == DMB_ISH);
    words.next() == Some(PRFM_PSTL1STRM_X0)
}

/// Whether the path to a load-exclusive leaves, a few blocks before it, a branch on a flag in memory whose other arm
/// does without. That arm holds an LSE instruction, or for a load of 16 bytes the plain load that LSE2 makes atomic
/// (QEMU).
fn is_dispatched(graph: &Graph, pair: &Pair, sequence: &Sequence) -> bool {
    const BLOCKS_BACK: usize = 4;
    let Some((home, _)) = graph.find(sequence.load) else { return false };
    let is_wide_load = sequence.operation == Operation::Load && sequence.size == 16;
    let place = |insn: &Insn| insn.memory.map(|memory| (memory.base, memory.displacement, memory.size));
    let does = |insn: &Insn| {
        insn.class == Class::LseAtomic
            || is_wide_load && insn.class == Class::Load && place(insn) == place(&pair.load)
    };
    let mut front = vec![home];
    let mut seen = front.clone();
    for _ in 0..BLOCKS_BACK {
        let before: Vec<usize> = front
            .iter()
            .filter_map(|&block| graph.blocks.get(block))
            .flat_map(|block| block.predecessors.iter().copied())
            .filter(|block| !seen.contains(block))
            .collect();
        if before.iter().any(|&block| {
            tests_flag(graph, block) && leads_to(graph, block, &seen, does) || is_patched(graph, block, &seen)
        }) {
            return true;
        }
        seen.extend(&before);
        front = before;
    }
    false
}

/// Whether a block ends in a branch on a register that it loaded from memory.
fn tests_flag(graph: &Graph, block: usize) -> bool {
    let Some(block) = graph.blocks.get(block) else { return false };
    let Some((last, rest)) = block.insns.split_last() else { return false };
    let is_test = matches!(last.operation, insn::Operation::BranchBit | insn::Operation::BranchZero);
    let tested = last.src[0].filter(|_| is_test);
    let made = rest.iter().rev().find(|insn| tested.is_some_and(|reg| insn.writes.contains(reg)));
    made.is_some_and(|insn| insn.class == Class::Load)
}

/// Whether a block ends in a jump that is replaced by a nop at run time, as in the Linux kernel where the CPU has LSE.
/// Nothing else leads to what follows it, and there an LSE instruction comes soon.
fn is_patched(graph: &Graph, block: usize, arm: &[usize]) -> bool {
    let jumps = graph.blocks.get(block).and_then(|block| block.last());
    let after = block + 1;
    let is_unreached = graph.blocks.get(after).is_some_and(|after| after.predecessors.is_empty());
    jumps.is_some_and(|last| matches!(last.flow, Flow::Jump(_)))
        && is_unreached
        && reaches(graph, vec![after], arm, |insn| insn.class == Class::LseAtomic)
}

/// Whether an arm of a branch, other than those in `arm`, soon comes to an instruction of a kind.
fn leads_to(graph: &Graph, branch: usize, arm: &[usize], is_it: impl Fn(&Insn) -> bool) -> bool {
    let next = graph.blocks.get(branch).map_or(&[][..], |block| &block.successors);
    reaches(graph, next.iter().copied().filter(|block| !arm.contains(block)).collect(), arm, is_it)
}

/// Whether one of some blocks, or one soon after them and not in `arm`, has an instruction of a kind.
fn reaches(graph: &Graph, mut front: Vec<usize>, arm: &[usize], is_it: impl Fn(&Insn) -> bool) -> bool {
    const BLOCKS_ON: usize = 3;
    let next = |block: usize| graph.blocks.get(block).map_or(&[][..], |block| &block.successors);
    for _ in 0..BLOCKS_ON {
        let has_it = |&block: &usize| {
            let insns = graph.blocks.get(block).map_or(&[][..], |block| &block.insns);
            insns.iter().any(&is_it)
        };
        if front.iter().any(has_it) {
            return true;
        }
        front = front
            .iter()
            .flat_map(|&block| next(block))
            .copied()
            .filter(|block| !arm.contains(block))
            .collect();
    }
    false
}

/// Whether no compiler made the sequence. Such a sequence is in the Go runtime's assembly, waits for events, or sets
/// barriers on both sides of an exclusive pair without an order of its own. The last is inline assembly older than
/// C11's operations.
fn is_written_by_hand(
    image: &Image<'_>,
    program: &Program,
    function: &Function,
    graph: &Graph,
    sequence: &Sequence,
) -> bool {
    // Go's compiler tests a flag or uses LSE; what is left is assembly, which is the runtime's where it has no name.
    let is_go = image.build.is_go || image.build.go_version.is_some();
    let symbol = program.symbol(function, image);
    let is_runtimes = symbol.map_or(image.frames.is_empty(), |symbol| symbol.name.starts_with("runtime."));
    is_go && is_runtimes
        || waits_for_events(image, graph, sequence.load)
        || is_fenced_on_both_sides(image, sequence)
}

/// Whether `wfe` is right before a load-exclusive.
fn waits_for_events(image: &Image<'_>, graph: &Graph, load: Svma) -> bool {
    const WFE: u32 = 0xd503_205f;
    let before = graph.find(load).and_then(|(block, index)| {
        let above = index.checked_sub(1).map(|above| (block, above));
        let (block, index) = above.or_else(|| {
            Some((
                block.checked_sub(1)?,
                graph.blocks.get(block.checked_sub(1)?)?.insns.len().checked_sub(1)?,
            ))
        })?;
        graph.blocks.get(block)?.insns.get(index)
    });
    before.is_some_and(|insn| image.word_at(insn.svma) == Some(WFE))
}

/// Whether a pair of plain `ldxr` and `stxr` has a `dmb ish` on either side.
fn is_fenced_on_both_sides(image: &Image<'_>, sequence: &Sequence) -> bool {
    const DMB_ISH: u32 = 0xd503_3bbf;
    /// Instructions that may be in between: a copy or an extension of an operand before, the branch back after.
    const NEAR: i64 = 2;
    let is_fence = |at: Svma| image.word_at(at) == Some(DMB_ISH);
    let is_plain = !sequence.ordering.acquire && !sequence.ordering.release;
    is_plain
        && (1..=NEAR).any(|words| is_fence(sequence.extent.start.offset(-4 * words)))
        && (0..NEAR).any(|words| is_fence(sequence.extent.end.offset(4 * words)))
}

/// Whether a function without a name is in a long run of code without frame descriptions, in a file that has them
/// elsewhere. Such are V8's embedded builtins, which it generates when it is built.
fn is_generated(image: &Image<'_>, program: &Program, function: &Function) -> bool {
    const LONG: u64 = 64 * 1024;
    let start = image.svma(function.start);
    let after = image.frames.partition_point(|frame| frame.extent.start <= start);
    let before = after.checked_sub(1).and_then(|i| image.frames.get(i));
    let (Some(before), Some(after)) = (before, image.frames.get(after)) else { return false };
    let run = after.extent.start.since(before.extent.end).filter(|_| before.extent.end <= start);
    run.is_some_and(|bytes| bytes >= LONG) && program.symbol(function, image).is_none()
}

/// Whether the compiler would have emitted the same with every flag. LSE has no `nand`, and of 16 bytes only
/// compare-and-swap. Clang without optimisation leaves compare-and-swap inline though it outlines the rest.
fn no_flag_helps(
    image: &Image<'_>,
    graph: &Graph,
    pair: &Pair,
    sequence: &Sequence,
    is_outlined: bool,
) -> bool {
    match sequence.operation {
        Operation::Nand => true,
        Operation::CompareSwap => {
            is_outlined && is_unoptimised_clang(image, graph, pair) && !stores_an_extreme(graph, pair)
        }
        _ => sequence.size == 16,
    }
}

/// Whether what a compare-and-swap stores was chosen by a comparison: clang's minimum or maximum at -O0.
fn stores_an_extreme(graph: &Graph, pair: &Pair) -> bool {
    let before = graph.find(pair.load.svma).and_then(|(block, index)| {
        let above = block.checked_sub(1).and_then(|block| graph.blocks.get(block)).map(|block| &*block.insns);
        Some((above.unwrap_or_default(), graph.blocks.get(block)?.insns.get(..index)?))
    });
    let Some((above, before)) = before else { return false };
    let stored = pair.store.src[0];
    let made = above.iter().chain(before).rev().find(|insn| insn.dst.is_some() && insn.dst == stored);
    made.is_some_and(|insn| insn.operation.chooses())
}

/// Whether a compare-and-swap is clang's at -O0. Its operands come from the stack in the same block, and no `clrex`
/// follows a failed comparison, as it does in clang's optimised code.
fn is_unoptimised_clang(image: &Image<'_>, graph: &Graph, pair: &Pair) -> bool {
    // Without section headers no compiler is named; gcc leaves nothing inline where it outlines.
    let compilers = &image.build.compilers;
    let is_clang = compilers.is_empty() || compilers.iter().any(|compiler| compiler.contains("clang"));
    let base = pair.load.memory.and_then(|memory| memory.base);
    let loaded_from_stack = |insn: &Insn| {
        insn.class == Class::Load
            && base.is_some_and(|base| insn.writes.contains(base))
            && insn.memory.is_some_and(|memory| matches!(memory.base, Some(Reg::SP) | Some(Reg::FRAME)))
    };
    let Some((block, _)) = graph.find(pair.load.svma) else { return false };
    let before = graph.blocks.get(block.saturating_sub(1)..=block).unwrap_or_default();
    let clears = |insn: &Insn| insn.class == Class::ClearExclusive;
    let after = graph.blocks.get(block..).unwrap_or_default();
    is_clang
        && before.iter().flat_map(|block| &block.insns).any(loaded_from_stack)
        && !after.iter().take(4).flat_map(|block| &block.insns).any(clears)
}
