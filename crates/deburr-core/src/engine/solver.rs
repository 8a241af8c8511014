//! The worklist: nodes by rank, until nothing changes or the budget is spent.

use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A node of the equations, by number.
pub(crate) type NodeId = u32;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing changes any more: what is found is a solution.
    Settled,
    /// The budget was spent; what is found is no solution.
    GaveUp {
        /// The node that was next.
        at: NodeId,
    },
}

/// Nodes that wait, each once, the lowest rank first.
#[derive(Debug, Default)]
pub(crate) struct Worklist {
    heap: BinaryHeap<Reverse<(u64, NodeId)>>,
    waiting: FxHashSet<NodeId>,
}

impl Worklist {
    /// Adds a node, unless it waits.
    pub(crate) fn add(&mut self, rank: u64, node: NodeId) {
        if self.waiting.insert(node) {
            self.heap.push(Reverse((rank, node)));
        }
    }

    fn take(&mut self) -> Option<NodeId> {
        let Reverse((_, node)) = self.heap.pop()?;
        self.waiting.remove(&node);
        Some(node)
    }
}

/// A system of equations.
pub(crate) trait Equations {
    /// The nodes whose inputs have changed.
    fn worklist(&mut self) -> &mut Worklist;

    /// Evaluates a node, and adds to the worklist what depends on it. Returns what it cost.
    fn evaluate(&mut self, node: NodeId) -> u64;

    /// Called when nothing is left to do. Returns what it has cost to make more work, if there is more.
    fn idle(&mut self) -> Option<u64> {
        None
    }
}

/// Evaluates nodes until nothing changes or the budget is spent. Returns how it ended, and what it cost.
pub(crate) fn solve(equations: &mut impl Equations, budget: u64) -> (Outcome, u64) {
    let mut spent = 0;
    loop {
        while let Some(node) = equations.worklist().take() {
            if spent > budget {
                return (Outcome::GaveUp { at: node }, spent);
            }
            spent += equations.evaluate(node);
        }
        match equations.idle() {
            Some(cost) => spent += cost,
            None => return (Outcome::Settled, spent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances from node 0 along edges, cut at some maximum.
    struct Distances {
        edges: Vec<(NodeId, NodeId)>,
        found: Vec<u64>,
        worklist: Worklist,
    }

    impl Equations for Distances {
        fn worklist(&mut self) -> &mut Worklist {
            &mut self.worklist
        }
        fn evaluate(&mut self, node: NodeId) -> u64 {
            let here = self.found[node as usize];
            for &(_, to) in self.edges.iter().filter(|(from, _)| *from == node) {
                if here + 1 < self.found[to as usize] {
                    self.found[to as usize] = here + 1;
                    self.worklist.add(here + 1, to);
                }
            }
            1
        }
    }

    fn distances() -> Distances {
        let edges = vec![(0, 1), (1, 2), (2, 3), (0, 3), (3, 0)];
        let mut found = Distances { edges, found: vec![0, 9, 9, 9], worklist: Worklist::default() };
        found.worklist.add(0, 0);
        found
    }

    #[test]
    fn it_stops_where_nothing_changes() {
        let mut equations = distances();
        let (outcome, spent) = solve(&mut equations, 100);
        assert_eq!((outcome, equations.found), (Outcome::Settled, vec![0, 1, 2, 1]));
        assert_eq!(spent, 4, "by rank each node is evaluated once");
    }

    #[test]
    fn it_says_where_the_budget_ended() {
        assert!(matches!(solve(&mut distances(), 1).0, Outcome::GaveUp { .. }));
    }
}
