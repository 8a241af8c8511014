//! Load-exclusive/store-exclusive sequences: the pair, what it computes, and why it is there.
//!
//! A sequence is a load-exclusive from which control reaches a store-exclusive of the same size and base.
//! Data that decodes as one of the two has no partner. Loop rotation may put the store at the lower address, so the
//! pair is searched for in the control-flow graph, never by a linear scan.

use crate::address::{Extent, Svma};
use crate::function::block::Graph;
use crate::function::loops::Loops;
use crate::insn::{self, Class, Flow, Insn, Ordering, Reg, RegSet};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Maximum number of instructions between the two. Compilers put no more than five there.
const LONGEST: usize = 48;

/// What a sequence computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Stores a value if the old one is as expected.
    CompareSwap,
    /// Stores a value, whatever the old one is.
    Swap,
    /// Adds.
    Add,
    /// Subtracts.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// And with the complement.
    AndNot,
    /// Or with the complement.
    OrNot,
    /// Exclusive or with the complement.
    XorNot,
    /// The complement of and.
    Nand,
    /// Signed or unsigned minimum or maximum.
    MinMax,
    /// Stores back what it loaded: an atomic load of 16 bytes.
    Load,
    /// Anything else.
    Other,
}

impl Operation {
    /// Its name in the evidence.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::CompareSwap => "cas",
            Operation::Swap => "swap",
            Operation::Add => "add",
            Operation::Sub => "sub",
            Operation::And => "and",
            Operation::Or => "or",
            Operation::Xor => "xor",
            Operation::AndNot => "and-not",
            Operation::OrNot => "or-not",
            Operation::XorNot => "xor-not",
            Operation::Nand => "nand",
            Operation::MinMax => "min-max",
            Operation::Load => "load",
            Operation::Other => "other",
        }
    }
}

/// A load-exclusive/store-exclusive sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// The load-exclusive.
    pub load: Svma,
    /// The store-exclusive.
    pub store: Svma,
    /// From the first of the two to the end of the second.
    pub extent: Extent,
    /// What it computes.
    pub operation: Operation,
    /// Bytes of memory: 1, 2, 4, 8 or 16.
    pub size: u16,
    /// Acquire of the load, release of the store.
    pub ordering: Ordering,
    /// Whether it is in a loop. A weak compare-and-swap may leave trying again to its caller.
    pub retries: bool,
    /// Why it is there.
    pub fate: Fate,
}

/// Why a sequence is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The compiler would have emitted an LSE instruction, or a call of a helper, had a flag requested it.
    MissedFlag,
    /// An LSE instruction, or for a load of 16 bytes a plain one, is next to it, and a flag is tested in line.
    InlineDispatch,
    /// Its function is chosen or replaced at run time.
    RunTimeChoice,
    /// No flag would have changed it: LSE has no such operation, or the compiler does not use it here.
    NoFlagHelps,
    /// Someone wrote it in assembly, which only another source changes.
    WrittenByHand,
}

/// The instructions of each load-exclusive/store-exclusive pair of a function, from the load on the shortest path to
/// the store; helpers are functions like any other here.
pub fn exclusive_runs(graph: &Graph) -> Vec<Vec<Svma>> {
    let insns = graph.blocks.iter().flat_map(|block| &block.insns);
    let loads = insns.filter(|insn| insn.class == Class::LoadExclusive);
    let pairs = loads.filter_map(|load| pair(graph, load.svma));
    let run = |pair: Pair| {
        let body = pair.body.iter().map(|insn| insn.svma);
        [pair.load.svma].into_iter().chain(body).chain([pair.store.svma]).collect()
    };
    pairs.map(run).collect()
}

/// A load-exclusive, its store-exclusive, and the instructions on the shortest path between them.
pub(super) struct Pair {
    pub(super) load: Insn,
    body: Vec<Insn>,
    pub(super) store: Insn,
}

/// Finds the store-exclusive of the load-exclusive at an address, breadth first; that of a failed comparison, which
/// only writes back what was read, if there is no other.
pub(super) fn pair(graph: &Graph, load: Svma) -> Option<Pair> {
    let (block, index) = graph.find(load)?;
    let at = |(block, index): (usize, usize)| graph.blocks.get(block)?.insns.get(index);
    let load = *at((block, index))?;
    let mut came_from: FxHashMap<(usize, usize), (usize, usize)> = FxHashMap::default();
    let mut pending = VecDeque::from([(block, index)]);
    let mut written_back = None;
    while let Some(place) = pending.pop_front() {
        let block = graph.blocks.get(place.0)?;
        let next: Vec<(usize, usize)> = if place.1 + 1 < block.insns.len() {
            vec![(place.0, place.1 + 1)]
        } else {
            block.successors.iter().map(|&successor| (successor, 0)).collect()
        };
        for step in next {
            let Some(insn) = at(step).filter(|_| !came_from.contains_key(&step)) else { continue };
            came_from.insert(step, place);
            match insn.class {
                Class::StoreExclusive if matches(&load, insn) => {
                    let store = *insn;
                    let mut body = Vec::new();
                    let mut step = place;
                    while at(step)?.svma != load.svma {
                        body.push(*at(step)?);
                        step = *came_from.get(&step)?;
                    }
                    body.reverse();
                    let pair = Pair { load, body, store };
                    if !pair.writes_back() {
                        return Some(pair);
                    }
                    written_back.get_or_insert(pair);
                }
                Class::LoadExclusive | Class::StoreExclusive | Class::ClearExclusive => {}
                _ if came_from.len() > LONGEST => return written_back,
                _ => pending.push_back(step),
            }
        }
    }
    written_back
}

/// Whether the two access the same bytes: the same size through the same base register.
fn matches(load: &Insn, store: &Insn) -> bool {
    match (load.memory, store.memory) {
        (Some(load), Some(store)) => load.base == store.base && load.size == store.size,
        _ => false,
    }
}

/// What a register holds inside a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// The loaded value.
    Old,
    /// That operation on the loaded value.
    Made(Operation),
}

impl Pair {
    /// Everything but the fate.
    pub(super) fn describe(&self, graph: &Graph, loops: &Loops) -> Sequence {
        let start = self.load.svma.min(self.store.svma);
        let end = self.load.next().max(self.store.next());
        let blocks = [self.load.svma, self.store.svma].map(|svma| graph.find(svma).map(|(block, _)| block));
        let retries = matches!(blocks, [Some(load), Some(store)] if loops.are_in_one(load, store));
        Sequence {
            load: self.load.svma,
            store: self.store.svma,
            extent: Extent { start, end },
            operation: self.operation(),
            size: self.load.memory.map_or(0, |memory| memory.size),
            ordering: Ordering { acquire: self.load.ordering.acquire, release: self.store.ordering.release },
            retries,
            fate: Fate::MissedFlag,
        }
    }

    /// Whether a branch decides between the two if there is a store.
    pub(super) fn is_conditional(&self) -> bool {
        self.body.iter().any(|insn| matches!(insn.flow, Flow::Branch(_)))
    }

    /// Whether it stores what it loaded, on one edge of a branch.
    fn writes_back(&self) -> bool {
        let is_old =
            |reg| self.load.writes.contains(reg) && !self.body.iter().any(|insn| insn.writes.contains(reg));
        let [low, high, _] = self.store.src;
        self.is_conditional() && low.is_some_and(is_old) && high.is_none_or(is_old)
    }

    /// What the body makes of the loaded value.
    fn operation(&self) -> Operation {
        let mut contents: Vec<(Reg, Content)> =
            registers(self.load.writes).map(|reg| (reg, Content::Old)).collect();
        let mut tests_for_zero = false;
        for insn in &self.body {
            tests_for_zero |= insn.operation == insn::Operation::BranchZero
                && contents.iter().any(|&(reg, held)| held == Content::Old && insn.src[0] == Some(reg));
            let content = self.content_made(insn, &contents);
            contents.retain(|(reg, _)| !insn.writes.contains(*reg));
            if let (Some(content), Some(dst)) = (content, insn.dst) {
                contents.push((dst, content));
            }
        }
        let content = |stored: Option<Reg>| {
            contents.iter().find(|(held, _)| Some(*held) == stored).map(|(_, content)| *content)
        };
        let [low, high, _] = self.store.src;
        match content(low) {
            // Stores a change of what it loaded unless that is zero: a semaphore, which no compare-and-swap is.
            Some(Content::Made(_)) if tests_for_zero => Operation::Other,
            _ if self.is_conditional() => Operation::CompareSwap,
            // One half may be kept and the other changed.
            Some(Content::Old) if high.is_none() || content(high) == Some(Content::Old) => Operation::Load,
            Some(Content::Old) => Operation::Other,
            Some(Content::Made(operation)) => operation,
            None => Operation::Swap,
        }
    }

    /// What an instruction puts into its destination, if that depends on the loaded value.
    fn content_made(&self, insn: &Insn, contents: &[(Reg, Content)]) -> Option<Content> {
        let held = |reg: Option<Reg>| {
            contents.iter().find(|(held, _)| Some(*held) == reg).map(|(_, content)| *content)
        };
        let from = insn.src.iter().find_map(|&reg| held(reg));
        if insn.operation.chooses() {
            return Some(Content::Made(Operation::MinMax));
        }
        let Some(from) = from else {
            return contents
                .iter()
                .any(|(reg, _)| insn.reads.contains(*reg))
                .then_some(Content::Made(Operation::Other));
        };
        let complements = insn.operation == insn::Operation::OrNot && insn.src[0].is_none();
        let made = match (insn.operation, from) {
            (insn::Operation::Move | insn::Operation::Extend, from) => return Some(from),
            (_, Content::Made(Operation::And)) if complements => Operation::Nand,
            (_, Content::Made(_)) => Operation::Other,
            (insn::Operation::Add, _) => Operation::Add,
            (insn::Operation::Sub, _) => Operation::Sub,
            (insn::Operation::And, _) => Operation::And,
            (insn::Operation::Or, _) => Operation::Or,
            (insn::Operation::Xor, _) => Operation::Xor,
            (insn::Operation::AndNot, _) => Operation::AndNot,
            (insn::Operation::OrNot, _) => Operation::OrNot,
            (insn::Operation::XorNot, _) => Operation::XorNot,
            _ => Operation::Other,
        };
        Some(Content::Made(made))
    }
}

/// The general registers of a set.
fn registers(set: RegSet) -> impl Iterator<Item = Reg> {
    (0..31).map(Reg::general).filter(move |&reg| set.contains(reg))
}
