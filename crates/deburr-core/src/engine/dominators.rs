//! Dominators: which node every path from the entries to a node passes.
//!
//! In: a directed graph, and where it is entered. Out: [`Dominators`]; of the reversed graph they are post-dominators. After
//! Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979), with path compression: its time is within a
//! logarithm of the number of edges, whatever the graph is. Ways that climb from node to node take the square of that where many nodes
//! lead to one exit.

/// The number of a node that no entry leads to, and the absence of a node.
const NONE: usize = usize::MAX;

/// A directed graph whose nodes are numbered from 0.
pub(crate) trait Digraph {
    /// How many nodes there are.
    fn count(&self) -> usize;
    /// Where edges lead from a node.
    fn after(&self, node: usize) -> &[usize];
    /// Where edges come from to a node.
    fn before(&self, node: usize) -> &[usize];
}

/// A graph as lists of edges, by node.
pub(crate) struct Edges {
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl Edges {
    /// The graph of edges that lead to nodes of it.
    pub(crate) fn of(after: Vec<Vec<usize>>) -> Edges {
        let mut before = vec![Vec::new(); after.len()];
        for (from, all) in after.iter().enumerate() {
            for &to in all {
                before.get_mut(to).into_iter().for_each(|before: &mut Vec<usize>| before.push(from));
            }
        }
        Edges { after, before }
    }

    /// The same edges in the other direction.
    pub(crate) fn reversed(self) -> Edges {
        Edges { after: self.before, before: self.after }
    }
}

impl Digraph for Edges {
    fn count(&self) -> usize {
        self.after.len()
    }

    fn after(&self, node: usize) -> &[usize] {
        self.after.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    fn before(&self, node: usize) -> &[usize] {
        self.before.get(node).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The dominators of a graph, under a virtual root above all entries.
pub(crate) struct Dominators {
    /// By node: the nearest one that dominates it; [`NONE`] where that is the root, or no entry leads to it.
    immediate: Vec<usize>,
    /// By node: its place in a preorder of the tree of dominators; [`NONE`] where no entry leads to it.
    places: Vec<usize>,
    /// By node: how many nodes it dominates, itself among them.
    sizes: Vec<usize>,
}

impl Dominators {
    /// Those of a graph that is entered at some nodes.
    pub(crate) fn of(graph: &impl Digraph, entries: &[usize]) -> Dominators {
        let search = Search::of(graph, entries);
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
        let none = vec![NONE; graph.count()];
        let mut by_node = Dominators { immediate: none.clone(), places: none, sizes: vec![0; graph.count()] };
        for (number, &node) in search.nodes.iter().enumerate() {
            set(&mut by_node.immediate, node, at(&search.nodes, at(&immediate, number)));
            set(&mut by_node.places, node, at(&places, number));
            set(&mut by_node.sizes, node, at(&sizes, number));
        }
        by_node
    }

    /// The nearest other node that every path from an entry to a node passes.
    pub(crate) fn immediate(&self, node: usize) -> Option<usize> {
        Some(at(&self.immediate, node)).filter(|&above| above != NONE)
    }

    /// Whether every path from an entry to `below` passes `above`.
    pub(crate) fn dominates(&self, above: usize, below: usize) -> bool {
        let (place, from) = (at(&self.places, below), at(&self.places, above));
        above == below
            || (place != NONE && from != NONE && from <= place && place - from < at(&self.sizes, above))
    }

    /// A node's place in an order in which it comes before all that it dominates.
    pub(crate) fn place(&self, node: usize) -> usize {
        at(&self.places, node)
    }
}

/// A depth-first search from a virtual root, which has the number 0; the nodes are numbered as they are met.
struct Search {
    /// By number; the root is [`NONE`].
    nodes: Vec<usize>,
    /// By node.
    numbers: Vec<usize>,
    /// By number: from which it was met.
    parents: Vec<usize>,
    /// By number: whether the root leads to it.
    is_entry: Vec<bool>,
}

impl Search {
    fn of(graph: &impl Digraph, entries: &[usize]) -> Search {
        let mut search = Search {
            nodes: vec![NONE],
            numbers: vec![NONE; graph.count()],
            parents: vec![0],
            is_entry: Vec::new(),
        };
        for &entry in entries {
            let mut pending = vec![(entry, 0)];
            while let Some((node, parent)) = pending.pop() {
                if at(&search.numbers, node) != NONE || node >= graph.count() {
                    continue;
                }
                let number = search.nodes.len();
                set(&mut search.numbers, node, number);
                search.nodes.push(node);
                search.parents.push(parent);
                pending.extend(graph.after(node).iter().map(|&next| (next, number)));
            }
        }
        search.is_entry = vec![false; search.nodes.len()];
        for &entry in entries {
            if let Some(is_entry) = search.is_entry.get_mut(at(&search.numbers, entry)) {
                *is_entry = true;
            }
        }
        search
    }

    /// By number: which one dominates it immediately.
    fn immediate(&self, graph: &impl Digraph) -> Vec<usize> {
        let count = self.nodes.len();
        let mut forest = Forest {
            ancestors: vec![NONE; count],
            labels: (0..count).collect(),
            semidominators: (0..count).collect(),
        };
        let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut immediate = vec![0; count];
        for number in (1..count).rev() {
            let parent = at(&self.parents, number);
            let is_entry = self.is_entry.get(number) == Some(&true);
            let mut least = if is_entry { 0 } else { at(&forest.semidominators, number) };
            for &before in graph.before(at(&self.nodes, number)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::draws;
    use std::collections::BTreeSet;

    /// What is reached from some nodes without passing another one.
    fn reached(graph: &Edges, entries: &[usize], without: Option<usize>) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut pending = entries.to_vec();
        while let Some(node) = pending.pop() {
            if Some(node) != without && seen.insert(node) {
                pending.extend(&graph.after[node]);
            }
        }
        seen
    }

    #[test]
    fn a_node_dominates_what_is_reached_no_longer_without_it() {
        let mut draw = draws(5);
        let mut dominated = 0;
        for case in 0..4000 {
            let count = 1 + draw(14);
            let after: Vec<Vec<usize>> =
                (0..count).map(|_| (0..draw(4)).map(|_| draw(count)).collect()).collect();
            let graph = Edges::of(after);
            let entries: Vec<usize> = (0..1 + draw(3)).map(|_| draw(count)).collect();
            let dominators = Dominators::of(&graph, &entries);
            let all = reached(&graph, &entries, None);
            for above in 0..count {
                let left = reached(&graph, &entries, Some(above));
                for below in 0..count {
                    let expected = above == below || all.contains(&below) && !left.contains(&below);
                    assert_eq!(dominators.dominates(above, below), expected, "{case}: {above} and {below}");
                    dominated += usize::from(expected && above != below);
                }
            }
            for node in 0..count {
                let others = (0..count).filter(|&above| above != node && dominators.dominates(above, node));
                // The nearest is dominated by all the others.
                let nearest = others.max_by_key(|&above| dominators.place(above));
                assert_eq!(
                    dominators.immediate(node),
                    nearest.filter(|_| all.contains(&node)),
                    "{case}: {node}"
                );
            }
        }
        assert!(dominated > 5000, "{dominated}");
    }
}
