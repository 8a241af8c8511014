//! A short cycle of the control-flow graph that is entered only at its first block.
//!
//! In: a [`Graph`] and the edge that closes the cycle. Out: its blocks, in an order in which they run. It is the
//! natural loop of that one edge. Several edges back to one block make one loop, but a test that goes straight back
//! waits without pause even if a second edge goes back through one.

use crate::address::Svma;
use crate::function::block::Graph;
use crate::insn::{Class, Condition, Insn, Operation};

/// Maximum number of blocks of a cycle. Loops that wait have a handful.
const LARGEST: usize = 24;

/// Maximum number of blocks between a jump's target and the loop's entry.
const ENTRIES: usize = 2;

/// A cycle without another one in it.
pub(super) struct Cycle<'a> {
    pub(super) graph: &'a Graph,
    /// Its blocks: first the one at which it is entered, and each after those that it runs after.
    pub(super) blocks: Vec<usize>,
}

impl<'a> Cycle<'a> {
    /// The cycle that the jump at `from` back to `to` closes. A loop may be entered after the jump's target, by a jump
    /// over what is only done between two iterations. Then its last edge is the one that comes to the entry.
    pub(super) fn between(graph: &'a Graph, from: Svma, to: Svma) -> Option<Cycle<'a>> {
        let ((mut latch, _), (mut header, 0)) = (graph.find(from)?, graph.find(to)?) else { return None };
        for _ in 0..=ENTRIES {
            if let Some(cycle) = Cycle::closed_by(graph, latch, header) {
                return Some(cycle);
            }
            let block = graph.blocks.get(header)?;
            let ([before], [after]) = (&block.predecessors[..], &block.successors[..]) else { return None };
            if *before != latch {
                return None;
            }
            (latch, header) = (header, *after);
        }
        None
    }

    /// The cycle that the edge from `latch` to `header` closes; `None` where it has another entry or another cycle
    /// in it, or is large.
    fn closed_by(graph: &'a Graph, latch: usize, header: usize) -> Option<Cycle<'a>> {
        if !successors(graph, latch).any(|to| to == header) {
            return None;
        }
        let mut inside = vec![header];
        let mut pending = vec![latch];
        while let Some(block) = pending.pop() {
            if inside.contains(&block) {
                continue;
            }
            let before = &graph.blocks.get(block)?.predecessors;
            // The function's entry, or where a jump through a table leads: a second entry.
            if block == 0 || before.is_empty() || inside.len() == LARGEST {
                return None;
            }
            inside.push(block);
            pending.extend(
                before.iter().copied().filter(|&before| successors(graph, before).any(|to| to == block)),
            );
        }
        let mut cycle = Cycle { graph, blocks: inside };
        cycle.blocks = cycle.in_order()?;
        Some(cycle)
    }

    /// The blocks in the order in which they run; `None` where the body has a cycle of its own.
    fn in_order(&self) -> Option<Vec<usize>> {
        let header = *self.blocks.first()?;
        let mut ordered = vec![header];
        while ordered.len() < self.blocks.len() {
            let is_ready = |&&block: &&usize| {
                let mut before = self.before(block);
                !ordered.contains(&block) && before.all(|before| ordered.contains(&before))
            };
            ordered.push(*self.blocks.iter().find(is_ready)?);
        }
        Some(ordered)
    }

    /// The blocks of the cycle that one of its blocks, other than the first, may run after.
    pub(super) fn before(&self, block: usize) -> impl Iterator<Item = usize> {
        let before = self.graph.blocks.get(block).map_or(&[][..], |block| &block.predecessors);
        let inside = before.iter().copied().filter(|before| self.blocks.contains(before));
        inside.filter(move |&before| successors(self.graph, before).any(|to| to == block))
    }

    /// Whether a block of the cycle may leave it.
    pub(super) fn leaves(&self, block: usize) -> bool {
        let inside = successors(self.graph, block).filter(|to| self.blocks.contains(to)).count();
        inside < 2
    }

    /// The blocks that the cycle is left to.
    pub(super) fn exits(&self) -> impl Iterator<Item = usize> {
        let after = self.blocks.iter().flat_map(|&block| successors(self.graph, block));
        after.filter(|to| !self.blocks.contains(to))
    }

    /// The instructions of a block.
    pub(super) fn insns_of(&self, block: usize) -> &'a [Insn] {
        self.graph.blocks.get(block).map_or(&[], |block| &block.insns)
    }

    /// All its instructions, block by block.
    pub(super) fn insns(&self) -> impl Iterator<Item = &'a Insn> {
        self.blocks.iter().flat_map(|&block| self.insns_of(block))
    }
}

/// The blocks that may run after a block. That a store-exclusive failed only repeats its own try and is no edge: else
/// each LL/SC sequence would be a loop that waits.
pub(super) fn successors(graph: &Graph, block: usize) -> impl Iterator<Item = usize> {
    let failed = graph.blocks.get(block).and_then(|block| {
        let (last, rest) = block.insns.split_last()?;
        let store = rest.iter().rposition(|insn| insn.class == Class::StoreExclusive)?;
        let (store, after) = rest.split_at_checked(store + 1)?;
        let status = store.last()?.dst?;
        let is_test = match (last.operation, after) {
            (Operation::BranchZero, _) => last.src[0] == Some(status),
            (Operation::BranchCondition, [.., compare]) => {
                compare.operation == Operation::Compare
                    && compare.src[0] == Some(status)
                    && compare.imm == Some(0)
            }
            _ => false,
        };
        match last.condition.filter(|_| is_test)? {
            Condition::NotEqual => last.flow.target(),
            Condition::Equal => Some(last.next()),
            _ => None,
        }
    });
    let successors = graph.blocks.get(block).map_or(&[][..], |block| &block.successors);
    let is_failed =
        move |&to: &usize| failed.is_some() && graph.blocks.get(to).map(|block| block.start()) == failed;
    successors.iter().copied().filter(move |to| !is_failed(to))
}
