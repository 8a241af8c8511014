//! Loops that try a compare-and-swap or an exchange again and again, with no plain load first.
//!
//! In: the atomics that the sweep marked, the exclusive pairs and helper calls that are known, and all short loops.
//! Out: [`Retry`]s. A loop that computes its new value from the old one is an ordinary read-modify-write and none of
//! these: here each iteration tries the same, until another processor yields.

use super::cycle::Cycle;
use super::flow::{Atomic, Flow, Outlined, helper_writes};
use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::atomics::{self, Atomics, Sequence};
use crate::function::block::{Graph, RecentGraph};
use crate::image::Image;
use crate::insn::{self, Class, Flow as Transfer, Insn, Operation, Reg};

/// How an atomic operation is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// One instruction of x86-64.
    Locked,
    /// One FEAT_LSE instruction.
    Lse,
    /// A call of a helper that chooses between LSE and LL/SC.
    Outlined,
    /// Load-exclusive and store-exclusive.
    LoadStoreExclusive,
}

impl Means {
    /// Its name in the evidence.
    pub const fn name(self) -> &'static str {
        match self {
            Means::Locked => "locked",
            Means::Lse => "lse",
            Means::Outlined => "outlined",
            Means::LoadStoreExclusive => "llsc",
        }
    }
}

/// A loop that waits by trying an atomic operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The instruction, the call of a helper, or the load-exclusive.
    pub at: Svma,
    /// From the loop's first instruction to the end of its last.
    pub extent: Extent,
    /// Whether it is a compare-and-swap, or else an exchange.
    pub is_compare: bool,
    /// How the operation is done.
    pub means: Means,
    /// Whether the loop pauses between two tries.
    pub pauses: bool,
    /// Whether it counts its tries.
    pub counts: bool,
}

/// All such loops, by address of the operation; none in the Linux kernel and its modules.
pub fn retries(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<Retry> {
    if image.build.is_linux_kernel {
        return Vec::new();
    }
    let places = places(image, program, atomics);
    let mut found: Vec<Retry> = Vec::new();
    let mut recent = RecentGraph::default();
    let mut next = 0;
    for edge in program.back_edges() {
        while places.get(next).is_some_and(|&place| place <= edge.from) {
            next += 1;
        }
        let last = next.checked_sub(1).and_then(|last| places.get(last));
        let Some(&place) = last.filter(|&&place| edge.to <= place) else { continue };
        let Some(&function) = program.function_at(place) else { continue };
        let (from, to) = (image.svma(edge.from), image.svma(edge.to));
        if expects_what_it_read(image, atomics, Extent { start: to, end: from }, image.svma(place)) {
            continue;
        }
        let Some((_, graph, ())) = recent.of(image, program, function, from, |_| ()) else { continue };
        found.extend(retry_in(image, atomics, graph, from, to));
    }
    found.sort_by_key(|retry| (retry.at, retry.pauses, retry.extent.len()));
    found.dedup_by_key(|retry| retry.at);
    found
}

/// Whether a compare-and-swap at a place in a loop surely expects, in the next iteration, what it read in this one. It
/// is determined from the instructions in order of address, the branch at the end last, if control may run through
/// them. Most loops are such read-modify-writes, and graphs are dear.
fn expects_what_it_read(image: &Image<'_>, atomics: &Atomics, iteration: Extent, swap: Svma) -> bool {
    let decode = |at: Svma| insn::decode(image.arch, image.bytes_at(at)?, at);
    let is_call = |at: Svma| atomics.calls.binary_search_by_key(&at, |call| call.from).is_ok();
    let Some(insn) = decode(swap) else { return false };
    // Registers that hold something made of the value that it read.
    let (expected, mut read) = match insn.class {
        Class::LockedAtomic | Class::LseAtomic if insn.operation == Operation::CompareSwap => {
            (insn.src[0], insn.writes)
        }
        // A helper's expected value and its result are in the same register.
        _ if is_call(swap) => (Some(Reg::general(0)), helper_writes()),
        _ => return false,
    };
    let mut at = insn.next();
    let mut is_second = false;
    while at != swap {
        let Some(insn) = decode(at).filter(|insn| iteration.start <= insn.svma && insn.svma <= iteration.end)
        else {
            return false;
        };
        match insn.flow {
            Transfer::Next | Transfer::Branch(_) => {}
            Transfer::Jump(_) if at == iteration.end => {}
            _ => return false,
        }
        read = if insn.reads.intersects(read) { read.union(insn.writes) } else { read.minus(insn.writes) };
        at = insn.next();
        if insn.svma == iteration.end {
            // On x86-64 the start may be in the middle of an instruction: from there the swap may never be met.
            if std::mem::replace(&mut is_second, true) {
                return false;
            }
            at = iteration.start;
        }
    }
    expected.is_some_and(|expected| read.contains(expected))
}

/// Where operations are that a loop may retry, sorted.
fn places(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<CodeOffset> {
    let is_tried = |at: Svma| {
        let insn = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
        insn.is_some_and(|insn| matches!(insn.operation, Operation::CompareSwap | Operation::Swap))
    };
    let single = program
        .marks()
        .filter(|mark| matches!(mark.class, Class::LockedAtomic | Class::LseAtomic))
        .filter(|mark| is_tried(image.svma(mark.at)))
        .map(|mark| mark.at);
    let calls = atomics.calls.iter().filter(|call| is_tried_by(&call.helper).is_some()).map(|call| call.from);
    let pairs = atomics.sequences.iter().filter(|sequence| compares(sequence).is_some());
    let others = calls.chain(pairs.map(|sequence| sequence.load));
    let mut places: Vec<CodeOffset> =
        single.chain(others.filter_map(|svma| image.code_offset(svma))).collect();
    places.sort_unstable();
    places
}

/// Whether a helper compares and swaps, or else exchanges; `None` if it does neither, or with 16 bytes.
fn is_tried_by(helper: &str) -> Option<Outlined> {
    let is_compare = helper.starts_with("cas");
    let is_tried = (is_compare || helper.starts_with("swp")) && !helper.starts_with("cas16");
    is_tried.then_some(Outlined { is_compare })
}

/// Whether an exclusive pair compares and swaps, or else exchanges; `None` if it does neither.
fn compares(sequence: &Sequence) -> Option<bool> {
    match sequence.operation {
        atomics::Operation::CompareSwap => Some(true),
        atomics::Operation::Swap => Some(false),
        _ => None,
    }
}

/// The loop that the jump at `from` closes, if it waits by trying one operation.
fn retry_in(image: &Image<'_>, atomics: &Atomics, graph: &Graph, from: Svma, to: Svma) -> Option<Retry> {
    let cycle = Cycle::between(graph, from, to)?;
    let outlined = |insn: &Insn| {
        let calls = &atomics.calls;
        let index = calls.binary_search_by_key(&insn.svma, |call| call.from).ok()?;
        is_tried_by(&calls.get(index).filter(|call| !call.is_tail)?.helper)
    };
    let flow = Flow::of(image, &cycle, &outlined)?;
    let [tried] = flow.atomics.as_slice() else { return None };
    let (means, is_compare) = kind(atomics, tried)?;
    // The old value decides, alone or with a count, and it is this iteration's.
    let decides = flow.exits.iter().any(|exit| exit.atomic && !flow.accumulates(*exit));
    let learns = flow.branches.iter().any(|branch| flow.before(*branch).atomic);
    let tests = flow.branches.iter().any(|branch| flow.resolved(*branch).loads != 0);
    let changes = |origins| flow.accumulates(origins) || flow.resolved(origins).atomic;
    let operand = flow.resolved(tried.operand);
    let is_same = !(changes(tried.address) || changes(tried.operand) || is_compare && operand.loads != 0);
    if !decides || learns || tests || !is_same || flow.works() {
        return None;
    }
    let (start, end) = (cycle.insns().map(|insn| insn.svma).min()?, cycle.insns().map(Insn::next).max()?);
    Some(Retry {
        at: tried.insn.svma,
        extent: Extent { start, end },
        is_compare,
        means,
        pauses: flow.pauses,
        counts: flow.counters != 0,
    })
}

/// How the operation is done, and whether it is a compare-and-swap.
fn kind(atomics: &Atomics, tried: &Atomic) -> Option<(Means, bool)> {
    match tried.insn.class {
        Class::LockedAtomic => Some((Means::Locked, tried.is_compare)),
        Class::LseAtomic => Some((Means::Lse, tried.is_compare)),
        Class::LoadExclusive => {
            let sequences = &atomics.sequences;
            let index = sequences.binary_search_by_key(&tried.insn.svma, |sequence| sequence.load).ok()?;
            Some((Means::LoadStoreExclusive, compares(sequences.get(index)?)?))
        }
        _ => Some((Means::Outlined, tried.is_compare)),
    }
}
