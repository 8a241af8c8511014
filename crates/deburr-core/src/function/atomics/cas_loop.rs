//! Compare-and-swap loops that compute what one atomic instruction does.
//!
//! In: the compare-and-swaps of a file: instructions, load-exclusive/store-exclusive sequences, calls of helpers. Out:
//! [`CasLoop`]s, which are natural loops. Every path of one passes the compare-and-swap, whose outcome alone decides
//! where control goes, and nothing else is stored. The expected value is the old one. The new one is an operation on it
//! and on a value that the loop does not change. A path is followed symbolically ([`super::path`]).

use super::again::tries_again;
use super::path::{Atom, Decision, Path, Site, Swap, Term, register};
use super::{Atomics, Fate, Operation, is_in_helper};
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::block::{Graph, RecentGraph};
use crate::function::loops::{Loop, natural_loops};
use crate::image::Image;
use crate::insn::{self, Class, ClassSet, Flow, Insn, Operation as InsnOperation, Reg, RegSet};
use deburr_cpu::Arch;

/// The classes that a sweep must mark for [`cas_loops`].
pub const WANTS: ClassSet = ClassSet::of(&[Class::LoadExclusive, Class::LseAtomic, Class::LockedAtomic]);

/// How a loop does its compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CasForm {
    /// By `cas` of FEAT_LSE.
    Lse,
    /// By a load-exclusive and a store-exclusive.
    Exclusives,
    /// By a call of an outlined helper.
    Outlined,
    /// By x86's `lock cmpxchg`.
    Locked,
}

impl CasForm {
    /// What a path passes.
    const fn site(self) -> Site {
        match self {
            CasForm::Lse | CasForm::Locked => Site::Instruction,
            CasForm::Exclusives => Site::Exclusives,
            CasForm::Outlined => Site::Helper,
        }
    }
}

/// A compare-and-swap loop that computes what one instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CasLoop {
    /// The compare-and-swap: the instruction, the load-exclusive, or the call.
    pub at: Svma,
    /// From the loop's first instruction to the end of its last.
    pub extent: Extent,
    /// What it computes.
    pub operation: Operation,
    /// Bytes of memory: 1, 2, 4 or 8.
    pub size: u16,
    /// How it does the compare-and-swap.
    pub form: CasForm,
    /// Whether code after the loop may read the old or the new value; determined on x86-64 only, else true.
    pub is_value_used: bool,
}

/// Maximum number of blocks of a loop.
const BLOCKS: usize = 12;
/// Maximum number of bytes from the first of a loop to its compare-and-swap, and from there to the branch back.
const SPAN: u64 = 160;
/// Maximum number of blocks that are searched for a use of the value.
const BLOCKS_AFTER: usize = 64;

/// A compare-and-swap.
#[derive(Clone, Copy)]
struct Candidate {
    at: Svma,
    form: CasForm,
    size: u16,
}

/// The loops, by address of the compare-and-swap.
pub fn cas_loops(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<CasLoop> {
    let mut candidates = candidates(image, program, atomics);
    let decode = |at: Svma| insn::decode(image.arch, image.bytes_at(at)?, at);
    candidates.retain(|candidate| {
        candidate.size <= 8
            && tries_again(decode, candidate.at, candidate.form.site())
            && goes_back(image, candidate.at)
    });
    candidates.sort_by_key(|candidate| candidate.at);
    let mut found = Vec::new();
    let mut recent = RecentGraph::default();
    for candidate in candidates {
        let Some(offset) = image.code_offset(candidate.at) else { continue };
        let Some((_, graph, loops)) = recent.around(image, program, offset, natural_loops) else { continue };
        let Some((home, _)) = graph.find(candidate.at) else { continue };
        let small = loops.around(home).take_while(|&around| loops.len(around) <= BLOCKS);
        let mut around = small.filter_map(|around| loops.get(around));
        found.extend(around.find_map(|around| read(graph, &around, candidate)));
    }
    found
}

/// All compare-and-swaps that could be in such a loop.
fn candidates(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<Candidate> {
    let (class, form) = match image.arch {
        Arch::Aarch64 => (Class::LseAtomic, CasForm::Lse),
        Arch::X86_64 => (Class::LockedAtomic, CasForm::Locked),
    };
    let marked = program.marks().filter(|mark| mark.class == class).map(|mark| image.svma(mark.at));
    let instructions = marked.filter(|&at| !is_in_helper(&atomics.helpers, at)).filter_map(|at| {
        let code = image.bytes_at(at).filter(|code| may_compare_swap(image.arch, code))?;
        let insn = insn::decode(image.arch, code, at)?;
        let size = insn.memory?.size;
        (insn.operation == InsnOperation::CompareSwap).then_some(Candidate { at, form, size })
    });
    let sequences = atomics.sequences.iter().filter(|sequence| {
        sequence.operation == Operation::CompareSwap
            && matches!(sequence.fate, Fate::MissedFlag | Fate::WrittenByHand)
    });
    let exclusives = sequences.map(|sequence| Candidate {
        at: sequence.load,
        form: CasForm::Exclusives,
        size: sequence.size,
    });
    let calls = atomics.calls.iter().filter(|call| !call.is_tail).filter_map(|call| {
        let (size, _) = call.helper.strip_prefix("cas")?.split_once('_')?;
        Some(Candidate { at: call.from, form: CasForm::Outlined, size: size.parse().ok()? })
    });
    instructions.chain(exclusives).chain(calls).collect()
}

/// Whether an atomic instruction may be a compare-and-swap; most are none. SDM volume 2, CMPXCHG: prefixes, 0F B0 or
/// B1, or 0F C7.
fn may_compare_swap(arch: Arch, code: &[u8]) -> bool {
    let mut pairs = code.iter().zip(code.iter().skip(1)).take(14);
    arch != Arch::X86_64 || pairs.any(|pair| matches!(pair, (0x0f, 0xb0 | 0xb1 | 0xc7)))
}

/// Whether, soon after an address, a branch goes back to it or to what is just before it. Most compare-and-swaps are in
/// no such loop, and graphs are dear.
fn goes_back(image: &Image<'_>, from: Svma) -> bool {
    let mut at = from;
    while at.since(from) < Some(SPAN) {
        let insn = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
        let Some(insn) = insn else { return false };
        match insn.flow {
            Flow::Branch(to) | Flow::Jump(to) if to <= from && from.since(to) < Some(SPAN) => return true,
            Flow::Next | Flow::Branch(_) | Flow::Call(_) => at = insn.next(),
            _ => return false,
        }
    }
    false
}

/// The end of one path through a loop.
struct End {
    path: Path,
    /// The block after the loop; `None` where the path goes back to its header.
    exit: Option<Option<usize>>,
}

/// What a loop computes, if one instruction does that.
fn read(graph: &Graph, around: &Loop, candidate: Candidate) -> Option<CasLoop> {
    let ends = follow_all(graph, around, candidate)?;
    let (back, out): (Vec<&End>, Vec<&End>) = ends.iter().partition(|end| end.exit.is_none());
    let is_sound = !back.is_empty()
        && !out.is_empty()
        && back.iter().all(|end| end.path.succeeded == Some(false))
        && out.iter().all(|end| end.path.succeeded == Some(true));
    if !is_sound {
        return None;
    }
    // All paths agree on the one compare-and-swap; those that failed may not have come to the new value.
    let swap = out.first()?.path.swap?;
    let agrees = |end: &End| {
        end.path.swap.is_some_and(|other| {
            other.place == swap.place
                && other.expected == swap.expected
                && (other.desired.is_none() || other.desired == swap.desired)
        })
    };
    let expected = swap.expected.filter(|_| ends.iter().all(agrees))?;
    let is_fixed = |reg: Reg| back.iter().all(|end| end.path.holds(reg) == Term::Atom(Atom::Entry(reg)));
    let is_old = match expected {
        // What the compare-and-swap read when it last failed.
        Atom::Entry(reg) => {
            let ends_as = |end: &&End, atom| end.path.holds(reg) == Term::Atom(atom);
            back.iter().any(|end| ends_as(end, Atom::Returned))
                && back.iter().all(|end| ends_as(end, Atom::Returned) || ends_as(end, Atom::Entry(reg)))
        }
        Atom::Loaded => ends.iter().all(|end| end.path.loaded() == Some(swap.place)),
        _ => false,
    };
    if !is_old || !swap.place.registers().all(is_fixed) {
        return None;
    }
    let operation = operation(&swap, expected, is_fixed)?;
    let blocks = || around.blocks.iter().filter_map(|&block| graph.blocks.get(block));
    let start = blocks().map(|block| block.start()).min()?;
    let end = blocks().filter_map(|block| block.last()).map(Insn::next).max()?;
    Some(CasLoop {
        at: candidate.at,
        extent: Extent { start, end },
        operation,
        size: candidate.size,
        form: candidate.form,
        is_value_used: candidate.form != CasForm::Locked
            || out.iter().any(|end| is_value_used(graph, end, expected)),
    })
}

/// What is done to the old value. `is_fixed`: whether the loop leaves a register alone.
fn operation(swap: &Swap, expected: Atom, is_fixed: impl Fn(Reg) -> bool) -> Option<Operation> {
    let is_old = |atom: Atom| atom == expected || atom == Atom::Returned;
    let is_other = |atom: Atom| match atom {
        Atom::Constant(_) => true,
        atom => register(atom).is_some_and(&is_fixed),
    };
    match swap.desired? {
        Term::Atom(atom) => (!is_old(atom) && is_other(atom)).then_some(Operation::Swap),
        Term::Made(operation, left, right) => {
            let commutes = matches!(
                operation,
                Operation::Add | Operation::And | Operation::Or | Operation::Xor | Operation::MinMax
            );
            let fits = is_old(left) && !is_old(right) && is_other(right)
                || commutes && is_old(right) && !is_old(left) && is_other(left);
            fits.then_some(operation)
        }
        _ => None,
    }
}

/// Follows every path from a loop's header to its header again or out of it. `None` where one is not of the shapes in
/// question.
fn follow_all(graph: &Graph, around: &Loop, candidate: Candidate) -> Option<Vec<End>> {
    /// Maximum number of steps from block to block.
    const STEPS: usize = 64;
    let site = candidate.form.site();
    let mut ends = Vec::new();
    let mut pending = vec![(around.header, Path::new(site, candidate.size), Vec::new())];
    let mut steps = 0;
    while let Some((index, mut path, mut passed)) = pending.pop() {
        steps += 1;
        let block = graph.blocks.get(index).filter(|_| steps <= STEPS)?;
        let (last, rest) = block.insns.split_last()?;
        rest.iter().try_for_each(|insn| path.pass(insn, insn.svma == candidate.at))?;
        passed.push(index);
        let next = graph.find(last.next()).filter(|place| place.1 == 0).map(|place| place.0);
        let target = |to| graph.find(to).filter(|place| place.1 == 0).map(|place| place.0);
        let mut edges: Vec<(Option<usize>, Path)> = Vec::new();
        match last.flow {
            Flow::Jump(to) => edges.push((target(to), path)),
            Flow::Branch(to) => match path.decide(last)? {
                Decision::Known { taken } => edges.push((if taken { target(to) } else { next }, path)),
                Decision::Outcome { taken_if_equal } => {
                    let mut other = path.clone();
                    path.follow(last, taken_if_equal);
                    other.follow(last, !taken_if_equal);
                    edges.extend([(target(to), path), (next, other)]);
                }
            },
            _ => {
                path.pass(last, last.svma == candidate.at)?;
                edges.push((next, path));
            }
        }
        for (to, path) in edges {
            match to {
                Some(to) if to == around.header => ends.push(End { path, exit: None }),
                // The exclusives try again by themselves.
                Some(to) if passed.contains(&to) => {
                    (site == Site::Exclusives && path.succeeded == Some(false)).then_some(())?;
                }
                Some(to) if around.blocks.binary_search(&to).is_ok() => {
                    pending.push((to, path, passed.clone()));
                }
                to => ends.push(End { path, exit: Some(to) }),
            }
        }
    }
    Some(ends)
}

/// Whether code after a loop may read a register that holds the old or the new value; x86-64's calling convention.
fn is_value_used(graph: &Graph, end: &End, expected: Atom) -> bool {
    let holds_it = |reg: Reg| match end.path.holds(reg) {
        Term::Atom(Atom::Returned | Atom::Loaded) => true,
        Term::Atom(atom) => atom == expected,
        Term::Made(_, left, right) => [left, right]
            .iter()
            .any(|atom| *atom == expected || matches!(atom, Atom::Returned | Atom::Loaded)),
        _ => false,
    };
    let holders = (0..16).map(Reg::general).filter(|&reg| holds_it(reg)).fold(RegSet::EMPTY, RegSet::with);
    let Some(exit) = end.exit.flatten() else { return true };
    let mut seen: Vec<(usize, RegSet)> = Vec::new();
    let mut pending = vec![(exit, holders)];
    while let Some((index, mut live)) = pending.pop() {
        if seen.contains(&(index, live)) {
            continue;
        }
        seen.push((index, live));
        let Some(block) = graph.blocks.get(index).filter(|_| seen.len() <= BLOCKS_AFTER) else {
            return true;
        };
        for insn in &block.insns {
            match passes_on(insn, live) {
                Some(rest) => live = rest,
                None => return true,
            }
        }
        if live == RegSet::EMPTY || block.last().is_some_and(|last| last.flow == Flow::Return) {
            continue;
        }
        if block.successors.is_empty() {
            return block.last().is_none_or(|last| last.flow != Flow::Stop);
        }
        pending.extend(block.successors.iter().map(|&next| (next, live)));
    }
    false
}

/// Which of some registers still hold what they did after an instruction; `None` where it may read one of them.
fn passes_on(insn: &Insn, held: RegSet) -> Option<RegSet> {
    /// `rdi`, `rsi`, `rdx`, `rcx`, `r8`, `r9`: arguments.
    const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];
    /// `rax` and `rdx`: results.
    const RESULTS: [u8; 2] = [0, 2];
    /// `rax`, `r10`, `r11`, which a call overwrites as well.
    const CLOBBERED: [u8; 3] = [0, 10, 11];
    let set = |numbers: &[u8]| numbers.iter().copied().map(Reg::general).fold(RegSet::EMPTY, RegSet::with);
    let read = match insn.flow {
        Flow::Call(_) | Flow::IndirectCall | Flow::IndirectJump => insn.reads.union(set(&ARGUMENTS)),
        Flow::Return => insn.reads.union(set(&RESULTS)),
        _ => insn.reads,
    };
    if read.intersects(held) {
        return None;
    }
    let written = match insn.flow {
        Flow::Call(_) | Flow::IndirectCall => insn.writes.union(set(&CLOBBERED)),
        _ => insn.writes,
    };
    Some(written.general().fold(held, RegSet::without))
}
