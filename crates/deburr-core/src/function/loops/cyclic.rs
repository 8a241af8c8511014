//! Whether a block is on a cycle, be it a natural loop or not.
//!
//! After Tarjan, "Depth-First Search and Linear Graph Algorithms" (1972), without recursion: a block is on a cycle if its strongly
//! connected component has another block, or if it leads to itself.

use crate::function::block::Paths;

/// The number of a block that was not met yet.
const NEW: usize = usize::MAX;

/// Whether control can come back to each block. Indirect jumps lead to the blocks without predecessors, all through one node that is
/// numbered after the last block.
pub(super) fn cyclic(paths: &impl Paths) -> Vec<bool> {
    let hub = paths.count();
    let next = |block: usize, index: usize| {
        let direct = if block == hub { paths.orphans() } else { paths.successors(block) };
        let by_hub = block != hub && index == direct.len() && paths.is_indirect(block);
        direct.get(index).copied().or(by_hub.then_some(hub))
    };
    let mut components = Components {
        numbers: vec![NEW; hub + 1],
        lowest: vec![NEW; hub + 1],
        is_open: vec![false; hub + 1],
        open: Vec::new(),
        is_cyclic: vec![false; hub + 1],
        met: 0,
    };
    for entry in 0..hub {
        if !components.meet(entry) {
            continue;
        }
        // With each block of the path, how many edges from it were followed.
        let mut path = vec![(entry, 0)];
        while let Some((block, followed)) = path.last_mut() {
            let (from, index) = (*block, *followed);
            *followed += 1;
            match next(from, index) {
                Some(to) if components.meet(to) => path.push((to, 0)),
                Some(to) => components.goes_back(from, to),
                None => {
                    path.pop();
                    components.leave(from, path.last().map(|&(above, _)| above));
                }
            }
        }
    }
    components.is_cyclic.truncate(hub);
    components.is_cyclic
}

/// The strongly connected components, as far as they are known.
struct Components {
    /// By block: its number in the order in which they were met.
    numbers: Vec<usize>,
    /// By block: the lowest number known to be reached from it within its component.
    lowest: Vec<usize>,
    /// By block: whether its component is not complete.
    is_open: Vec<bool>,
    open: Vec<usize>,
    is_cyclic: Vec<bool>,
    met: usize,
}

impl Components {
    /// Numbers a block; false if it has a number.
    fn meet(&mut self, block: usize) -> bool {
        let slots = (self.numbers.get_mut(block), self.lowest.get_mut(block), self.is_open.get_mut(block));
        let (Some(number), Some(lowest), Some(is_open)) = slots else { return false };
        if *number != NEW {
            return false;
        }
        (*number, *lowest, *is_open) = (self.met, self.met, true);
        self.met += 1;
        self.open.push(block);
        true
    }

    /// Notes an edge to a block that was met before.
    fn goes_back(&mut self, from: usize, to: usize) {
        if self.is_open.get(to) == Some(&true) {
            let number = self.numbers.get(to).copied().unwrap_or(NEW);
            self.lower(from, number);
        }
        if let Some(is_cyclic) = self.is_cyclic.get_mut(from).filter(|_| from == to) {
            *is_cyclic = true;
        }
    }

    fn lower(&mut self, block: usize, number: usize) {
        if let Some(lowest) = self.lowest.get_mut(block) {
            *lowest = number.min(*lowest);
        }
    }

    /// Every edge from a block was followed; `above`: the one before it on the path.
    fn leave(&mut self, block: usize, above: Option<usize>) {
        let lowest = self.lowest.get(block).copied().unwrap_or(NEW);
        if let Some(above) = above {
            self.lower(above, lowest);
        }
        if self.numbers.get(block) != Some(&lowest) {
            return;
        }
        let first = self.open.iter().rposition(|&it| it == block).unwrap_or_default();
        let component = self.open.split_off(first);
        let is_cyclic = component.len() > 1;
        for member in component {
            if let Some(is_open) = self.is_open.get_mut(member) {
                *is_open = false;
            }
            if let Some(slot) = self.is_cyclic.get_mut(member) {
                *slot |= is_cyclic;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::block::Graph;
    use crate::function::loops::tests::{graph, random};
    use crate::insn::Flow;

    #[test]
    fn a_block_comes_back_where_any_path_leads_to_it_again() {
        // 0 → 1 → 2 → 1, 2 → 3; 0 → 3
        assert_eq!(cyclic(&graph(&[&[1, 3], &[2], &[1, 3], &[]])), [false, true, true, false]);
        assert_eq!(cyclic(&graph(&[&[0, 1], &[]])), [true, false]);
        assert_eq!(cyclic(&Graph::default()), [false; 0]);
    }

    #[test]
    fn the_cycles_of_any_graph_are_found_with_indirect_jumps_and_without() {
        let mut jump = crate::insn::decode(deburr_cpu::Arch::X86_64, &[0x90], crate::Svma(0)).unwrap();
        jump.flow = Flow::IndirectJump;
        let mut by_jumps = 0;
        for seed in 0..4000 {
            let mut graph = random(seed, 2 + seed as usize % 12);
            if seed % 2 == 1 {
                for block in &mut graph.blocks {
                    if block.successors.is_empty() {
                        block.insns.push(jump);
                    }
                }
            }
            let orphans = |block: usize| if graph.is_indirect(block) { graph.orphans() } else { &[] };
            let comes_back = |home: usize| {
                let mut seen = vec![false; graph.blocks.len()];
                let mut pending = vec![home];
                while let Some(at) = pending.pop() {
                    for &next in graph.blocks[at].successors.iter().chain(orphans(at)) {
                        if next == home {
                            return true;
                        }
                        if !std::mem::replace(&mut seen[next], true) {
                            pending.push(next);
                        }
                    }
                }
                false
            };
            let expected: Vec<bool> = (0..graph.blocks.len()).map(comes_back).collect();
            assert_eq!(cyclic(&graph), expected, "{seed}: {graph:?}");
            let plain = random(seed, 2 + seed as usize % 12);
            by_jumps += usize::from(cyclic(&plain) != expected);
        }
        assert!(by_jumps > 100, "{by_jumps}");
    }
}
