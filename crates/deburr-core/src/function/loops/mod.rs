//! Natural loops of a control-flow graph: a header that dominates the blocks from which it is reached again.
//!
//! Dominators after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
//!
//! And for a place in any loop, natural or not, the shortest path back to it.

mod outline;

pub(crate) use outline::Outline;

use super::block::{Graph, Paths};
use crate::insn::Insn;
use std::collections::VecDeque;

/// A natural loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Index of the block at which it is entered.
    pub header: usize,
    /// Indices of its blocks, sorted, the header among them.
    pub blocks: Vec<usize>,
}

/// Not reached from the entry.
const UNREACHED: usize = usize::MAX;

/// The natural loops of a graph, by header; back edges to one header make one loop. Jumps through tables are
/// not followed: what only they reach counts as entered from outside.
pub fn natural_loops(graph: &Graph) -> Vec<Loop> {
    let dominators = Dominators::of(graph);
    let mut loops: Vec<Loop> = Vec::new();
    for (header, block) in graph.blocks.iter().enumerate() {
        let latches: Vec<usize> =
            block.predecessors.iter().copied().filter(|&latch| dominators.dominates(header, latch)).collect();
        if !latches.is_empty() {
            loops.push(Loop { header, blocks: body(header, latches, graph) });
        }
    }
    loops
}

impl Graph {
    /// The blocks of the shortest path from a block back to it, in the order in which they run; `None` where there is
    /// none of up to `longest` instructions, or only through instructions that are `barred`.
    pub(crate) fn back_to(
        &self,
        home: usize,
        longest: usize,
        barred: impl Fn(&Insn) -> bool,
    ) -> Option<Vec<usize>> {
        // Breadth first: by block, the one before it.
        let mut came_from: Vec<Option<usize>> = vec![None; self.blocks.len()];
        let mut pending = VecDeque::from([(home, 0)]);
        while let Some((at, before)) = pending.pop_front() {
            let Some(block) = self.blocks.get(at) else { continue };
            let length = before + block.insns.len();
            if length > longest || block.insns.iter().any(&barred) {
                continue;
            }
            for &next in &block.successors {
                let Some(slot) = came_from.get_mut(next).filter(|slot| slot.is_none()) else { continue };
                *slot = Some(at);
                pending.push_back((next, length));
            }
        }
        let mut blocks = Vec::new();
        let mut at = home;
        while let Some(Some(before)) = came_from.get(at).filter(|_| blocks.len() <= longest) {
            if *before == home {
                blocks.push(home);
                blocks.reverse();
                return Some(blocks);
            }
            blocks.push(*before);
            at = *before;
        }
        None
    }
}

/// Whether control can come back to a block. Indirect jumps lead to what nothing else leads to.
fn comes_back(paths: &impl Paths, home: usize) -> bool {
    let mut seen = vec![false; paths.count()];
    let mut pending = vec![home];
    // One jump leads wherever they all do.
    let mut orphans = paths.orphans();
    while let Some(at) = pending.pop() {
        let indirect = if paths.is_indirect(at) { std::mem::take(&mut orphans) } else { &[] };
        for &next in paths.successors(at).iter().chain(indirect) {
            if next == home {
                return true;
            }
            if let Some(seen) = seen.get_mut(next).filter(|seen| !**seen) {
                *seen = true;
                pending.push(next);
            }
        }
    }
    false
}

/// The blocks from which a latch is reached without passing the header.
fn body(header: usize, latches: Vec<usize>, graph: &Graph) -> Vec<usize> {
    let mut inside = vec![false; graph.blocks.len()];
    let mut blocks = vec![header];
    let mut pending = latches;
    if let Some(header) = inside.get_mut(header) {
        *header = true;
    }
    while let Some(block) = pending.pop() {
        if let Some(seen) = inside.get_mut(block).filter(|seen| !**seen) {
            *seen = true;
            blocks.push(block);
            pending.extend(graph.blocks.get(block).into_iter().flat_map(|block| &block.predecessors));
        }
    }
    blocks.sort_unstable();
    blocks
}

/// Immediate dominators, under a virtual root above all entries.
struct Dominators {
    /// By block: its immediate dominator; the root's index is the number of blocks.
    immediate: Vec<usize>,
    /// By block: its number in postorder.
    order: Vec<usize>,
}

impl Dominators {
    fn of(graph: &Graph) -> Dominators {
        let root = graph.blocks.len();
        let (postorder, entries) = postorder(graph);
        let mut order = vec![UNREACHED; root + 1];
        for (number, &block) in postorder.iter().enumerate() {
            if let Some(slot) = order.get_mut(block) {
                *slot = number;
            }
        }
        let mut is_entry = vec![false; root];
        for entry in entries {
            if let Some(flag) = is_entry.get_mut(entry) {
                *flag = true;
            }
        }
        let mut dominators = Dominators { immediate: vec![UNREACHED; root + 1], order };
        if let Some(slot) = dominators.immediate.get_mut(root) {
            *slot = root;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &block in postorder.iter().rev().filter(|&&block| block != root) {
                let before = graph.blocks.get(block).map_or(&[][..], |block| &block.predecessors);
                let above = (is_entry.get(block) == Some(&true)).then_some(root);
                let new = before
                    .iter()
                    .copied()
                    .chain(above)
                    .filter(|&before| dominators.immediate(before) != UNREACHED)
                    .reduce(|a, b| dominators.meet(a, b))
                    .unwrap_or(UNREACHED);
                if let Some(slot) = dominators.immediate.get_mut(block).filter(|slot| **slot != new) {
                    *slot = new;
                    changed = true;
                }
            }
        }
        dominators
    }

    fn immediate(&self, block: usize) -> usize {
        self.immediate.get(block).copied().unwrap_or(UNREACHED)
    }

    fn number(&self, block: usize) -> usize {
        self.order.get(block).copied().unwrap_or(UNREACHED)
    }

    /// The nearest block that dominates both.
    fn meet(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.number(a) < self.number(b) {
                a = self.immediate(a);
            } else {
                b = self.immediate(b);
            }
            if a == UNREACHED || b == UNREACHED {
                return UNREACHED;
            }
        }
        a
    }

    fn dominates(&self, above: usize, below: usize) -> bool {
        let mut block = below;
        while block != UNREACHED && block < self.immediate.len() {
            if block == above {
                return true;
            }
            let up = self.immediate(block);
            if up == block {
                return false;
            }
            block = up;
        }
        false
    }
}

/// The blocks in postorder from a virtual root, the root last, and the blocks at which control enters. These are the
/// first, those that nothing leads to, and of cycles that nothing leads into the lowest (a jump table does, which is
/// not followed).
fn postorder(graph: &Graph) -> (Vec<usize>, Vec<usize>) {
    let root = graph.blocks.len();
    let is_plain = |&block: &usize| {
        block == 0 || graph.blocks.get(block).is_some_and(|block| block.predecessors.is_empty())
    };
    // Padding in front of the target of a jump seems to fall into a loop; nothing ever runs it.
    let is_padding = |&block: &usize| {
        let orphan = graph.blocks.get(block).filter(|orphan| block > 0 && orphan.predecessors.is_empty());
        orphan.is_some_and(|orphan| !orphan.insns.is_empty() && orphan.is_padding())
    };
    let mut seen = vec![false; root];
    let mut order = Vec::with_capacity(root + 1);
    let mut entries = Vec::new();
    for entry in (0..root).filter(is_plain).chain(0..root) {
        if seen.get(entry) == Some(&false) && !is_padding(&entry) {
            entries.push(entry);
            graph.visit(entry, &mut [].as_slice(), &mut seen, &mut order);
        }
    }
    order.push(root);
    (order, entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::block::Block;

    fn graph(successors: &[&[usize]]) -> Graph {
        let block = |next: &&[usize]| Block { successors: next.to_vec(), ..Block::default() };
        let mut graph = Graph::default();
        graph.blocks = successors.iter().map(block).collect();
        graph.link_back();
        graph
    }

    #[test]
    fn a_nest_of_two_loops_is_found() {
        // 0 → 1 → 2 → 2, 2 → 1, 1 → 3
        let loops = natural_loops(&graph(&[&[1], &[2, 3], &[2, 1], &[]]));
        assert_eq!(loops, [Loop { header: 1, blocks: vec![1, 2] }, Loop { header: 2, blocks: vec![2] }]);
    }

    #[test]
    fn a_block_comes_back_where_any_path_leads_to_it_again() {
        // 0 → 1 → 2 → 1, 2 → 3; 0 → 3
        let graph = graph(&[&[1, 3], &[2], &[1, 3], &[]]);
        let back: Vec<bool> = (0..4).map(|block| comes_back(&graph, block)).collect();
        assert_eq!(back, [false, true, true, false]);
    }

    #[test]
    fn padding_in_the_middle_of_a_loop_is_no_entry() {
        // 0 → 1 → 3 → 1; nothing leads to 2, a `nop` in front of 3.
        let mut graph = graph(&[&[1], &[3], &[3], &[1]]);
        let nop = crate::insn::decode(deburr_cpu::Arch::X86_64, &[0x90], crate::Svma(0)).unwrap();
        graph.blocks[2].insns.push(nop);
        let loops = natural_loops(&graph);
        assert_eq!(loops.len(), 1);
        assert_eq!(loops[0].header, 1);
    }

    #[test]
    fn a_cycle_with_two_entries_has_no_header() {
        assert_eq!(natural_loops(&graph(&[&[1, 2], &[2], &[1]])), []);
    }

    #[test]
    fn a_loop_after_a_jump_table_is_found() {
        // 0 ends in an indirect jump; nothing else leads to 1 ⇄ 2.
        let loops = natural_loops(&graph(&[&[], &[2], &[1]]));
        assert_eq!(loops, [Loop { header: 1, blocks: vec![1, 2] }]);
    }
}
