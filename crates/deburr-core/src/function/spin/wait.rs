//! Loops that wait for memory to change and do not pause.
//!
//! In: the short quiet loops of the sweep. Out: [`Wait`]s. Nearly all of those loops go through memory or compute. They
//! are sorted out by their bytes, then by the code between the loop's two ends. Only what is left is proven on the
//! graph of its function.
//!
//! That a loop can end only by what another processor stores does not show that its author meant it to. Compilers leave
//! many loops of one thread that never end once they are entered: the default of a `switch` on a state that has no
//! other values, the iteration in which a callback is empty. So a [`Sign`] that the memory is shared is required.

use super::cycle::Cycle;
use super::flow::{Flow, Origins};
use crate::address::{Extent, Svma};
use crate::function::atomics::Atomics;
use crate::function::block::{Graph, RecentGraph};
use crate::function::loops::natural_loops;
use crate::function::{Function, Program};
use crate::image::Image;
use crate::insn::sweep::BackEdge;
use crate::insn::{self, Class, Flow as Transfer, Insn, Reg};
use deburr_cpu::Arch;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// What shows that other threads store to the memory that a loop loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The load acquires.
    Acquire,
    /// Two loads of one iteration read the same place and their values are compared: a sequence lock, or a value and
    /// its check.
    ReadTwice,
    /// A barrier or an atomic operation is in the loop, right before or right after it.
    Ordered,
    /// The function has an atomic operation on the same place.
    Atomic,
}

impl Sign {
    /// Its name in the evidence.
    pub const fn name(self) -> &'static str {
        match self {
            Sign::Acquire => "acquire",
            Sign::ReadTwice => "read-twice",
            Sign::Ordered => "ordered",
            Sign::Atomic => "atomic",
        }
    }
}

/// A loop that waits for memory to change, with no pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The load whose value ends it.
    pub load: Svma,
    /// Bytes that it loads.
    pub size: u16,
    /// From the loop's first instruction to the end of its last.
    pub extent: Extent,
    /// Its instructions.
    pub instructions: usize,
    /// Whether it counts its iterations.
    pub counts: bool,
    /// Whether it reads the time.
    pub looks_at_time: bool,
    /// What shows that the memory is shared.
    pub sign: Sign,
}

/// All loops that wait without pause, by address; none in the Linux kernel and its modules, whose loads may be
/// those of a device.
pub fn waits(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<Wait> {
    if image.build.is_linux_kernel {
        return Vec::new();
    }
    let candidates: Vec<BackEdge> = program
        .chunks()
        .par_iter()
        .flat_map_iter(|chunk| chunk.back_edges.iter().filter(|edge| edge.is_quiet))
        .filter(|edge| may_wait(image, edge))
        .copied()
        .collect();
    let mut found: Vec<(Svma, Wait)> = Vec::new();
    let mut recent = RecentGraph::default();
    for edge in candidates {
        let (from, to) = (image.svma(edge.from), image.svma(edge.to));
        let around = recent.around(image, program, edge.from, |_| Surroundings::default());
        let Some((_, graph, surroundings)) = around else { continue };
        let place = Place { image, program, atomics, graph, surroundings };
        found.extend(place.wait(from, to).map(|wait| (to, wait)));
    }
    found.sort_by_key(|(header, wait)| (*header, wait.extent));
    found.dedup_by_key(|(header, _)| *header);
    found.into_iter().map(|(_, wait)| wait).collect()
}

/// Whether the code between a loop's two ends, taken alone, waits.
fn may_wait(image: &Image<'_>, edge: &BackEdge) -> bool {
    let (from, to) = (image.svma(edge.from), image.svma(edge.to));
    let Some(code) = image.bytes_at(to) else { return false };
    let Some(body) = code.get(..(edge.from - edge.to) as usize) else { return false };
    if !insn::loads_in_place(image.arch, body) {
        return false;
    }
    let mut insns: Vec<Insn> = Vec::new();
    let mut at = to;
    while at <= from {
        let rest = at.since(to).and_then(|done| code.get(usize::try_from(done).ok()?..));
        let Some(insn) = rest.and_then(|rest| insn::decode(image.arch, rest, at)) else { return false };
        at = insn.next();
        insns.push(insn);
    }
    let graph = Graph::of_insns(insns);
    Cycle::between(&graph, from, to).is_some_and(|cycle| proof(image, &cycle).is_some())
}

/// Where the values of a cycle that waits come from, and those of the condition that ends it; `None` if it does not
/// wait.
fn proof(image: &Image<'_>, cycle: &Cycle<'_>) -> Option<(Flow, Origins)> {
    let flow = Flow::of(image, cycle, &|_| None)?;
    let is_fixed = flow.loads.iter().all(|load| !flow.accumulates(load.address));
    let distinguishes_iterations = flow.branches.iter().any(|branch| flow.distinguishes_iterations(*branch));
    if flow.pauses || flow.works() || !flow.atomics.is_empty() || !is_fixed || distinguishes_iterations {
        return None;
    }
    let mut decided = flow.exits.iter().filter(|exit| !flow.accumulates(**exit));
    let decides = decided.find(|exit| flow.resolved(**exit).loads != 0).copied()?;
    Some((flow, decides))
}

/// What a function has around its loops, worked out for all of them when one asks.
#[derive(Default)]
struct Surroundings {
    /// Where its atomic operations are.
    atomics: OnceCell<FxHashSet<Named>>,
    /// The headers of the natural loops that pause, sorted.
    pausing: OnceCell<Vec<usize>>,
}

/// A function, and what is known of it.
struct Place<'a> {
    image: &'a Image<'a>,
    program: &'a Program,
    atomics: &'a Atomics,
    graph: &'a Graph,
    surroundings: &'a Surroundings,
}

impl Place<'_> {
    /// The waiting loop that the jump at `from` closes.
    fn wait(&self, from: Svma, to: Svma) -> Option<Wait> {
        let cycle = Cycle::between(self.graph, from, to)?;
        let (flow, decides) = proof(self.image, &cycle)?;
        let decides = flow.resolved(decides);
        // The last load of a chain is the one of the value; those before it are of pointers.
        let load = flow.loads.get(decides.loads.ilog2() as usize)?;
        let sign = self.sign(&cycle, &flow, decides, &load.insn)?;
        if self.goes_to_part(&cycle)
            || self.switches(&cycle)
            || self.is_of_stack(&load.insn)
            || self.pauses(&cycle)
        {
            return None;
        }
        let (start, end) = (cycle.insns().map(|insn| insn.svma).min()?, cycle.insns().map(Insn::next).max()?);
        Some(Wait {
            load: load.insn.svma,
            size: load.insn.memory.map_or(0, |memory| memory.size),
            extent: Extent { start, end },
            instructions: cycle.insns().count(),
            counts: flow.counters != 0,
            looks_at_time: flow.exits.iter().any(|exit| flow.resolved(*exit).time),
            sign,
        })
    }

    /// What shows that the memory which a cycle loads is shared.
    fn sign(&self, cycle: &Cycle<'_>, flow: &Flow, decides: Origins, load: &Insn) -> Option<Sign> {
        let deciding = || {
            let loads = (0..).zip(&flow.loads).filter(move |(number, _)| decides.loads & 1u64 << number != 0);
            loads.map(|(_, load)| &load.insn)
        };
        let is_read_twice = flow.exits.iter().any(|exit| {
            let read = || (0..).zip(&flow.loads).filter(|(number, _)| exit.loads & 1u64 << number != 0);
            read().any(|(n, a)| read().any(|(m, b)| n < m && is_same_place(&a.insn, &b.insn)))
        });
        if deciding().any(|load| load.ordering.acquire) {
            Some(Sign::Acquire)
        } else if is_read_twice {
            Some(Sign::ReadTwice)
        } else if self.is_ordered(cycle) {
            Some(Sign::Ordered)
        } else if named(load).is_some_and(|place| self.atomics_by_place().contains(&place)) {
            Some(Sign::Atomic)
        } else {
            None
        }
    }

    fn atomics_by_place(&self) -> &FxHashSet<Named> {
        let insns = || self.graph.blocks.iter().flat_map(|block| &block.insns);
        let places = || insns().filter(|insn| is_atomic(insn)).filter_map(named).collect();
        self.surroundings.atomics.get_or_init(places)
    }

    /// Whether a barrier or an atomic operation is in the cycle, or within a few instructions on a path to or from it.
    fn is_ordered(&self, cycle: &Cycle<'_>) -> bool {
        const NEAR: usize = 12;
        let orders =
            |insn: &Insn| insn.class == Class::Barrier || is_atomic(insn) || self.is_atomic_call(insn);
        let header = cycle.blocks.first().and_then(|&header| self.graph.blocks.get(header));
        let before = header.map_or(&[][..], |header| &header.predecessors).iter().copied();
        let mut before = before.filter(|before| !cycle.blocks.contains(before));
        cycle.insns().any(orders)
            || before.any(|block| cycle.insns_of(block).iter().rev().take(NEAR).any(orders))
            || cycle.exits().any(|block| cycle.insns_of(block).iter().take(NEAR).any(orders))
    }

    fn is_atomic_call(&self, insn: &Insn) -> bool {
        let calls = &self.atomics.calls;
        calls.binary_search_by_key(&insn.svma, |call| call.from).is_ok()
    }

    /// Whether the cycle leads to a part that the compiler split off from its function: it may pause there and come
    /// back.
    fn goes_to_part(&self, cycle: &Cycle<'_>) -> bool {
        let mut targets = cycle.insns().filter_map(|insn| insn.flow.target());
        targets.any(|target| {
            let function = self.image.code_offset(target).and_then(|at| self.program.function_at(at));
            self.graph.find(target).is_none() && function.is_some_and(Function::is_part)
        })
    }

    /// Whether the cycle is left to a jump through a table: what stays in it is the default of a `switch`.
    fn switches(&self, cycle: &Cycle<'_>) -> bool {
        let last = |block: usize| self.graph.blocks.get(block).and_then(|block| block.last());
        cycle.exits().any(|block| last(block).is_some_and(|last| last.flow == Transfer::IndirectJump))
    }

    /// Whether a load is from the frame by the stack pointer, which other threads do not store to.
    fn is_of_stack(&self, load: &Insn) -> bool {
        let stack = match self.image.arch {
            Arch::Aarch64 => Reg::SP,
            Arch::X86_64 => Reg::general(4),
        };
        load.memory.is_some_and(|memory| memory.base == Some(stack))
    }

    /// Whether another path through the same loop pauses.
    fn pauses(&self, cycle: &Cycle<'_>) -> bool {
        let is_pause = |insn: &Insn| {
            matches!(insn.class, Class::SpinHint | Class::WaitEvent | Class::InstructionBarrier)
        };
        let pauses =
            |block: usize| self.graph.blocks.get(block).is_some_and(|block| block.insns.iter().any(is_pause));
        let pausing =
            self.surroundings.pausing.get_or_init(|| natural_loops(self.graph).headers_around(pauses));
        cycle.blocks.first().is_some_and(|header| pausing.binary_search(header).is_ok())
    }
}

fn is_atomic(insn: &Insn) -> bool {
    matches!(
        insn.class,
        Class::LockedAtomic | Class::LseAtomic | Class::LoadExclusive | Class::StoreExclusive
    )
}

/// How an access names its place: base, index, displacement, and whether that is an address.
type Named = (Option<Reg>, Option<Reg>, i64, bool);

fn named(insn: &Insn) -> Option<Named> {
    insn.memory.map(|memory| (memory.base, memory.index, memory.displacement, memory.is_static))
}

/// Whether two accesses name their places alike.
fn is_same_place(a: &Insn, b: &Insn) -> bool {
    named(a).is_some() && named(a) == named(b)
}
