//! The shortest path from a block back to it.

use crate::function::block::Graph;
use crate::insn::Insn;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

impl Graph {
    /// The blocks of the shortest path from a block back to it, in the order in which they run; `None` where there is
    /// none of up to `longest` instructions, or only through instructions that are `barred`.
    pub(crate) fn back_to(
        &self,
        home: usize,
        longest: usize,
        barred: impl Fn(&Insn) -> bool,
    ) -> Option<Vec<usize>> {
        // Breadth first: by block, the one before it. It holds what is near, and not every block of the function.
        let mut came_from: FxHashMap<usize, usize> = FxHashMap::default();
        let mut pending = VecDeque::from([(home, 0)]);
        while let Some((at, before)) = pending.pop_front() {
            let Some(block) = self.blocks.get(at) else { continue };
            let length = before + block.insns.len();
            if length > longest || block.insns.iter().any(&barred) {
                continue;
            }
            for &next in &block.successors {
                if let Entry::Vacant(slot) = came_from.entry(next) {
                    slot.insert(at);
                    pending.push_back((next, length));
                }
            }
        }
        let mut blocks = Vec::new();
        let mut at = home;
        while let Some(&before) = came_from.get(&at).filter(|_| blocks.len() <= longest) {
            blocks.push(before);
            if before == home {
                blocks.reverse();
                return Some(blocks);
            }
            at = before;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::Svma;
    use crate::function::block::Graph;
    use crate::function::loops::tests::graph;
    use deburr_cpu::Arch;

    /// With a `nop` in each block.
    fn of_one_each(successors: &[&[usize]]) -> Graph {
        let mut graph = graph(successors);
        for block in &mut graph.blocks {
            block.insns.push(crate::insn::decode(Arch::X86_64, &[0x90], Svma(0)).unwrap());
        }
        graph
    }

    #[test]
    fn of_two_ways_back_the_shorter_is_taken() {
        // 0 → 1 → 2 → 3 → 0, 1 → 3
        let graph = of_one_each(&[&[1], &[2, 3], &[3], &[0]]);
        assert_eq!(graph.back_to(0, 9, |_| false), Some(vec![0, 1, 3]));
        assert_eq!(graph.back_to(0, 2, |_| false), None);
        assert_eq!(graph.back_to(0, 9, |_| true), None);
        assert_eq!(of_one_each(&[&[1], &[]]).back_to(0, 9, |_| false), None);
        assert_eq!(of_one_each(&[&[0]]).back_to(0, 9, |_| false), Some(vec![0]));
    }
}
