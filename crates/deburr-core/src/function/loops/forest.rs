//! Natural loops, as a forest: two of them with different headers are apart, or one is in the other.
//!
//! In: a [`Graph`]. Out: [`Loops`], in time and room that grow with the graph, however deep the nest. After Tarjan, "Testing Flow
//! Graph Reducibility" (1974): what is in an inner loop is passed over as a whole.

use crate::engine::dominators::{Digraph, Dominators};
use crate::function::block::Graph;

/// A natural loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Index of the block at which it is entered.
    pub header: usize,
    /// Indices of its blocks, sorted, the header among them.
    pub blocks: Vec<usize>,
}

/// The natural loops of a graph.
#[derive(Debug, Default)]
pub struct Loops {
    /// Inner ones come before outer ones.
    nodes: Vec<Node>,
    /// By block: the innermost loop around it.
    innermost: Vec<Option<usize>>,
    /// All blocks that are in loops. Those of one loop follow one another.
    members: Vec<usize>,
}

#[derive(Debug)]
struct Node {
    header: usize,
    outer: Option<usize>,
    outermost: usize,
    /// Where its blocks begin among the members, and how many there are.
    start: usize,
    count: usize,
}

/// The natural loops of a graph; back edges to one header make one loop. Jumps through tables are not followed: what only they
/// reach counts as entered from outside.
pub fn natural_loops(graph: &Graph) -> Loops {
    let dominators = Dominators::of(graph, &entries(graph));
    let is_latch = |&(header, latch): &(usize, usize)| dominators.dominates(header, latch);
    let mut back_edges: Vec<(usize, usize)> = graph
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(header, block)| block.predecessors.iter().map(move |&latch| (header, latch)))
        .filter(is_latch)
        .collect();
    // Inner headers come before the outer ones that dominate them.
    back_edges.sort_by_key(|&(header, _)| std::cmp::Reverse((dominators.place(header), header)));
    let mut loops = Loops { innermost: vec![None; graph.blocks.len()], ..Loops::default() };
    let mut merged = Merged((0..graph.blocks.len()).collect());
    for edges in back_edges.chunk_by(|a, b| a.0 == b.0) {
        let latches = edges.iter().map(|&(_, latch)| latch).collect();
        if let Some(&(header, _)) = edges.first() {
            loops.add(graph, header, latches, &mut merged);
        }
    }
    loops.arrange();
    loops
}

impl Digraph for Graph {
    fn count(&self) -> usize {
        self.blocks.len()
    }

    fn after(&self, block: usize) -> &[usize] {
        self.blocks.get(block).map(|block| block.successors.as_slice()).unwrap_or_default()
    }

    fn before(&self, block: usize) -> &[usize] {
        self.blocks.get(block).map(|block| block.predecessors.as_slice()).unwrap_or_default()
    }
}

/// The blocks at which control enters: the first, those that nothing leads to, and of cycles that nothing leads into the lowest. A
/// jump table does, which is not followed.
fn entries(graph: &Graph) -> Vec<usize> {
    let is_plain = |&block: &usize| {
        block == 0 || graph.blocks.get(block).is_some_and(|block| block.predecessors.is_empty())
    };
    // Padding in front of the target of a jump seems to fall into a loop; nothing ever runs it.
    let is_padding = |&block: &usize| {
        let orphan = graph.blocks.get(block).filter(|orphan| block > 0 && orphan.predecessors.is_empty());
        orphan.is_some_and(|orphan| !orphan.insns.is_empty() && orphan.is_padding())
    };
    let count = graph.blocks.len();
    let (mut seen, mut order, mut entries) = (vec![false; count], Vec::new(), Vec::new());
    for entry in (0..count).filter(is_plain).chain(0..count) {
        if seen.get(entry) == Some(&false) && !is_padding(&entry) {
            entries.push(entry);
            graph.visit(entry, &mut [].as_slice(), &mut seen, &mut order);
        }
    }
    entries
}

/// A parent for each block. Parents lead to the header of the outermost loop that is known around the block so far; that header is its
/// own parent.
struct Merged(Vec<usize>);

impl Merged {
    fn header_of(&mut self, block: usize) -> usize {
        let mut at = block;
        while let Some(&above) = self.0.get(at).filter(|&&above| above != at) {
            // Halves the path for the next time.
            let next = self.0.get(above).copied().unwrap_or(above);
            if let Some(slot) = self.0.get_mut(at) {
                *slot = next;
            }
            at = next;
        }
        at
    }
}

impl Loops {
    /// Adds the loop of a header: what reaches a latch without passing the header.
    fn add(&mut self, graph: &Graph, header: usize, latches: Vec<usize>, merged: &mut Merged) {
        let number = self.nodes.len();
        self.nodes.push(Node { header, outer: None, outermost: number, start: 0, count: 0 });
        let mut inside = vec![header];
        let mut pending = latches;
        while let Some(block) = pending.pop() {
            let block = merged.header_of(block);
            if block == header || graph.blocks.get(block).is_none() {
                continue;
            }
            inside.push(block);
            if let Some(slot) = merged.0.get_mut(block) {
                *slot = header;
            }
            pending.extend(graph.blocks.get(block).into_iter().flat_map(|block| &block.predecessors));
        }
        for block in inside {
            let inner = self.innermost.get(block).copied().flatten();
            match inner.and_then(|inner| self.nodes.get_mut(inner)) {
                Some(inner) => inner.outer = Some(number),
                None => {
                    if let Some(slot) = self.innermost.get_mut(block) {
                        *slot = Some(number);
                    }
                }
            }
        }
    }

    /// Puts the blocks of each loop together.
    fn arrange(&mut self) {
        for innermost in self.innermost.iter().flatten() {
            if let Some(node) = self.nodes.get_mut(*innermost) {
                node.count += 1;
            }
        }
        let own: Vec<usize> = self.nodes.iter().map(|node| node.count).collect();
        for number in 0..self.nodes.len() {
            let Some(&Node { outer, count, .. }) = self.nodes.get(number) else { continue };
            if let Some(outer) = outer.and_then(|outer| self.nodes.get_mut(outer)) {
                outer.count += count;
            }
        }
        // Where the next block, and the next inner loop, of each comes.
        let mut next = vec![0; self.nodes.len()];
        let mut end = 0;
        for number in (0..self.nodes.len()).rev() {
            let Some(&Node { outer, count, .. }) = self.nodes.get(number) else { continue };
            let slot = outer.and_then(|outer| next.get_mut(outer)).unwrap_or(&mut end);
            let start = *slot;
            *slot += count;
            let outermost =
                outer.and_then(|outer| self.nodes.get(outer)).map_or(number, |outer| outer.outermost);
            if let Some(node) = self.nodes.get_mut(number) {
                (node.start, node.outermost) = (start, outermost);
            }
            if let (Some(next), Some(own)) = (next.get_mut(number), own.get(number)) {
                *next = start + own;
            }
        }
        let mut next: Vec<usize> = self.nodes.iter().map(|node| node.start).collect();
        self.members = vec![0; end];
        for (block, innermost) in self.innermost.iter().enumerate() {
            let Some(next) = innermost.and_then(|innermost| next.get_mut(innermost)) else { continue };
            if let Some(member) = self.members.get_mut(*next) {
                *member = block;
            }
            *next += 1;
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// All of them, by header.
    pub fn all(&self) -> Vec<Loop> {
        let mut all: Vec<Loop> = (0..self.nodes.len()).filter_map(|number| self.get(number)).collect();
        all.sort_by_key(|around| around.header);
        all
    }

    /// Those around a block, the innermost first, as numbers for [`Loops::get`].
    pub(crate) fn around(&self, block: usize) -> impl Iterator<Item = usize> {
        let innermost = self.innermost.get(block).copied().flatten();
        std::iter::successors(innermost, |&inner| self.nodes.get(inner)?.outer)
    }

    /// How many blocks one of them has.
    pub(crate) fn len(&self, number: usize) -> usize {
        self.nodes.get(number).map_or(0, |node| node.count)
    }

    /// The loop of that number.
    pub(crate) fn get(&self, number: usize) -> Option<Loop> {
        let node = self.nodes.get(number)?;
        let mut blocks = self.members.get(node.start..node.start + node.count)?.to_vec();
        blocks.sort_unstable();
        Some(Loop { header: node.header, blocks })
    }

    /// Whether a loop is around both of two blocks: then the outermost one is.
    pub(crate) fn are_in_one(&self, a: usize, b: usize) -> bool {
        let outermost = |block: usize| {
            let innermost = self.innermost.get(block).copied().flatten()?;
            self.nodes.get(innermost).map(|node| node.outermost)
        };
        outermost(a).is_some() && outermost(a) == outermost(b)
    }

    /// The headers of the loops that have a block of which something is true, sorted.
    pub(crate) fn headers_around(&self, is_it: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut has = vec![false; self.nodes.len()];
        for (block, innermost) in self.innermost.iter().enumerate() {
            if let Some(has) = innermost.and_then(|innermost| has.get_mut(innermost)) {
                *has |= is_it(block);
            }
        }
        let mut headers = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            if has.get(number) == Some(&true) {
                headers.push(node.header);
                if let Some(outer) = node.outer.and_then(|outer| has.get_mut(outer)) {
                    *outer = true;
                }
            }
        }
        headers.sort_unstable();
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::loops::tests::{graph, random};
    use std::collections::BTreeSet;

    /// The loops by their definition, without dominators: a block dominates those that are reached no longer without it.
    fn by_definition(graph: &Graph) -> Vec<Loop> {
        let count = graph.blocks.len();
        let next = |block: usize| graph.blocks[block].successors.clone();
        let reached = |from: Vec<usize>, without: Option<usize>| {
            let mut seen = BTreeSet::new();
            let mut pending = from;
            while let Some(block) = pending.pop() {
                if Some(block) != without && seen.insert(block) {
                    pending.extend(next(block));
                }
            }
            seen
        };
        let mut entries: Vec<usize> =
            (0..count).filter(|&block| block == 0 || graph.blocks[block].predecessors.is_empty()).collect();
        for block in 0..count {
            if !reached(entries.clone(), None).contains(&block) {
                entries.push(block);
            }
        }
        let mut loops = Vec::new();
        for header in 0..count {
            let without = reached(entries.clone(), Some(header));
            let before = &graph.blocks[header].predecessors;
            let mut pending: Vec<usize> =
                before.iter().copied().filter(|latch| !without.contains(latch)).collect();
            if pending.is_empty() {
                continue;
            }
            let mut blocks = BTreeSet::from([header]);
            while let Some(block) = pending.pop() {
                if blocks.insert(block) {
                    pending.extend(&graph.blocks[block].predecessors);
                }
            }
            loops.push(Loop { header, blocks: blocks.into_iter().collect() });
        }
        loops
    }

    #[test]
    fn the_loops_of_any_graph_are_those_of_the_definition() {
        let mut with_nests = 0;
        for seed in 0..4000 {
            let graph = random(seed, 2 + seed as usize % 12);
            let (found, expected) = (natural_loops(&graph), by_definition(&graph));
            assert_eq!(found.all(), expected, "{seed}: {graph:?}");
            for block in 0..graph.blocks.len() {
                let around: Vec<Loop> = found.around(block).filter_map(|number| found.get(number)).collect();
                let mut wanted: Vec<Loop> = expected.clone();
                wanted.retain(|it| it.blocks.contains(&block));
                wanted.sort_by_key(|it| it.blocks.len());
                assert_eq!(around, wanted, "{seed}: around {block}");
                with_nests += usize::from(around.len() > 1);
                for other in 0..graph.blocks.len() {
                    let is_shared = wanted.iter().any(|it| it.blocks.contains(&other));
                    assert_eq!(found.are_in_one(block, other), is_shared, "{seed}: {block} and {other}");
                }
                let with: Vec<usize> =
                    expected.iter().filter(|it| it.blocks.contains(&block)).map(|it| it.header).collect();
                assert_eq!(found.headers_around(|it| it == block), with, "{seed}: with {block}");
            }
        }
        assert!(with_nests > 1000, "{with_nests}");
    }

    #[test]
    fn a_nest_of_two_loops_is_found() {
        // 0 → 1 → 2 → 2, 2 → 1, 1 → 3
        let loops = natural_loops(&graph(&[&[1], &[2, 3], &[2, 1], &[]]));
        assert_eq!(
            loops.all(),
            [Loop { header: 1, blocks: vec![1, 2] }, Loop { header: 2, blocks: vec![2] }]
        );
        assert_eq!(loops.count(), 2);
        assert_eq!(loops.around(2).map(|number| loops.len(number)).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn padding_in_the_middle_of_a_loop_is_no_entry() {
        // 0 → 1 → 3 → 1; nothing leads to 2, a `nop` in front of 3.
        let mut graph = graph(&[&[1], &[3], &[3], &[1]]);
        let nop = crate::insn::decode(deburr_cpu::Arch::X86_64, &[0x90], crate::Svma(0)).unwrap();
        graph.blocks[2].insns.push(nop);
        let loops = natural_loops(&graph).all();
        assert_eq!(loops, [Loop { header: 1, blocks: vec![1, 2, 3] }]);
    }

    #[test]
    fn a_cycle_with_two_entries_has_no_header() {
        assert_eq!(natural_loops(&graph(&[&[1, 2], &[2], &[1]])).all(), []);
    }

    #[test]
    fn a_loop_after_a_jump_table_is_found() {
        // 0 ends in an indirect jump; nothing else leads to 1 ⇄ 2.
        let loops = natural_loops(&graph(&[&[], &[2], &[1]])).all();
        assert_eq!(loops, [Loop { header: 1, blocks: vec![1, 2] }]);
    }
}
