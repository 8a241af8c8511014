//! Dominators: which block every path from the entries to a block passes.
//!
//! After Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979), with path compression: its time is
//! within a logarithm of the number of edges, whatever the graph. Ways that climb from block to block take the square of it
//! where many blocks lead to one exit.

use crate::function::block::Graph;

/// The number of a block that no entry leads to, and of none.
const NONE: usize = usize::MAX;

/// Immediate dominators, under a virtual root above all entries.
pub(super) struct Dominators {
    /// By block: its place in a preorder of the tree of dominators; [`NONE`] where no entry leads to it.
    places: Vec<usize>,
    /// By block: how many blocks it dominates, itself among them.
    sizes: Vec<usize>,
}

impl Dominators {
    pub(super) fn of(graph: &Graph) -> Dominators {
        let search = Search::of(graph);
        let immediate = search.immediate(graph);
        // A dominator has a lower number than what it dominates.
        let mut sizes = vec![1; immediate.len()];
        for number in (1..immediate.len()).rev() {
            let size = at(&sizes, number);
            add(&mut sizes, at(&immediate, number), size);
        }
        let mut places = vec![0; immediate.len()];
        let mut next = vec![1; immediate.len()];
        for number in 1..immediate.len() {
            let above = at(&immediate, number);
            let place = at(&next, above);
            set(&mut places, number, place);
            set(&mut next, number, place + 1);
            add(&mut next, above, at(&sizes, number));
        }
        let mut of_block =
            Dominators { places: vec![NONE; graph.blocks.len()], sizes: vec![0; graph.blocks.len()] };
        for (number, &block) in search.blocks.iter().enumerate() {
            set(&mut of_block.places, block, at(&places, number));
            set(&mut of_block.sizes, block, at(&sizes, number));
        }
        of_block
    }

    /// Whether every path from an entry to `below` passes `above`.
    pub(super) fn dominates(&self, above: usize, below: usize) -> bool {
        let (place, from) = (at(&self.places, below), at(&self.places, above));
        above == below
            || (place != NONE && from != NONE && from <= place && place - from < at(&self.sizes, above))
    }

    /// A block's place in an order in which it comes before all that it dominates.
    pub(super) fn place(&self, block: usize) -> usize {
        at(&self.places, block)
    }
}

/// A depth-first search from a virtual root, which has the number 0; the others are numbered as they are met.
struct Search {
    /// By number; that of the root is [`NONE`].
    blocks: Vec<usize>,
    /// By block.
    numbers: Vec<usize>,
    /// By number: from which it was met.
    parents: Vec<usize>,
}

impl Search {
    fn of(graph: &Graph) -> Search {
        let count = graph.blocks.len();
        let mut search = Search { blocks: vec![NONE], numbers: vec![NONE; count], parents: vec![0] };
        let is_plain = |&block: &usize| {
            block == 0 || graph.blocks.get(block).is_some_and(|block| block.predecessors.is_empty())
        };
        // Padding in front of the target of a jump seems to fall into a loop; nothing ever runs it.
        let is_padding = |&block: &usize| {
            let orphan = graph.blocks.get(block).filter(|orphan| block > 0 && orphan.predecessors.is_empty());
            orphan.is_some_and(|orphan| !orphan.insns.is_empty() && orphan.is_padding())
        };
        // Control enters at the first block, at those that nothing leads to, and of cycles that nothing leads into at the lowest: a
        // jump table does, which is not followed.
        for entry in (0..count).filter(is_plain).chain(0..count) {
            if at(&search.numbers, entry) == NONE && !is_padding(&entry) {
                search.walk(graph, entry);
            }
        }
        search
    }

    fn walk(&mut self, graph: &Graph, entry: usize) {
        let mut pending = vec![(entry, 0)];
        while let Some((block, parent)) = pending.pop() {
            if at(&self.numbers, block) != NONE {
                continue;
            }
            let number = self.blocks.len();
            set(&mut self.numbers, block, number);
            self.blocks.push(block);
            self.parents.push(parent);
            let successors = graph.blocks.get(block).into_iter().flat_map(|block| &block.successors);
            pending.extend(successors.map(|&next| (next, number)));
        }
    }

    /// By number: that of the immediate dominator.
    fn immediate(&self, graph: &Graph) -> Vec<usize> {
        let count = self.blocks.len();
        let mut forest = Forest {
            ancestors: vec![NONE; count],
            labels: (0..count).collect(),
            semidominators: (0..count).collect(),
        };
        let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut immediate = vec![0; count];
        for number in (1..count).rev() {
            let parent = at(&self.parents, number);
            let block = graph.blocks.get(at(&self.blocks, number));
            let before = block.into_iter().flat_map(|block| &block.predecessors);
            let mut least = if parent == 0 { 0 } else { at(&forest.semidominators, number) };
            for &before in before {
                let before = at(&self.numbers, before);
                if before != NONE {
                    let best = forest.best(before);
                    least = least.min(at(&forest.semidominators, best));
                }
            }
            set(&mut forest.semidominators, number, least);
            if let Some(bucket) = buckets.get_mut(least) {
                bucket.push(number);
            }
            set(&mut forest.ancestors, number, parent);
            for below in buckets.get_mut(parent).map(std::mem::take).unwrap_or_default() {
                let best = forest.best(below);
                let is_less = at(&forest.semidominators, best) < at(&forest.semidominators, below);
                set(&mut immediate, below, if is_less { best } else { parent });
            }
        }
        for number in 1..count {
            let above = at(&immediate, number);
            if above != at(&forest.semidominators, number) {
                let above = at(&immediate, above);
                set(&mut immediate, number, above);
            }
        }
        immediate
    }
}

/// What was searched so far, as trees whose paths are compressed.
struct Forest {
    ancestors: Vec<usize>,
    labels: Vec<usize>,
    semidominators: Vec<usize>,
}

impl Forest {
    /// Of a number and those above it in its tree, the root left out, the one with the least semidominator.
    fn best(&mut self, number: usize) -> usize {
        if at(&self.ancestors, number) == NONE {
            return number;
        }
        let mut path = vec![number];
        while let Some(&last) = path.last() {
            let above = at(&self.ancestors, last);
            if at(&self.ancestors, above) == NONE {
                break;
            }
            path.push(above);
        }
        path.pop();
        for &below in path.iter().rev() {
            let above = at(&self.ancestors, below);
            let (label, own) = (at(&self.labels, above), at(&self.labels, below));
            if at(&self.semidominators, label) < at(&self.semidominators, own) {
                set(&mut self.labels, below, label);
            }
            let ancestor = at(&self.ancestors, above);
            set(&mut self.ancestors, below, ancestor);
        }
        at(&self.labels, number)
    }
}

fn at(list: &[usize], index: usize) -> usize {
    list.get(index).copied().unwrap_or(NONE)
}

fn set(list: &mut [usize], index: usize, value: usize) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}

fn add(list: &mut [usize], index: usize, value: usize) {
    if let Some(slot) = list.get_mut(index) {
        *slot += value;
    }
}
