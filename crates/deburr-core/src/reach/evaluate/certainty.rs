//! Which blocks are certain, when nothing changes any more.
//!
//! A branch that is decided early in the evaluation may be a doubt at its end, when more values are possible. Certainty is therefore
//! computed again from the final ways between blocks. The immediate post-dominator of a certain block is certain: control comes to it
//! whichever way a doubtful branch takes (Ferrante, Ottenstein and Warren, TOPLAS 1987).

use super::run::{Certainty, Context, ContextId, Node, Run, Way};
use crate::engine::dominators::{Digraph, Dominators, Edges};
use crate::engine::solver::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};

/// The immediate post-dominators of the blocks of a context.
struct PostDominators {
    /// Sorted; a place is an index into them.
    nodes: Vec<NodeId>,
    dominators: Dominators,
}

impl PostDominators {
    /// `nodes`: sorted; `next`: by block, where control goes within the context; `may_end`: blocks that call what may not come
    /// back.
    fn new(
        nodes: Vec<NodeId>,
        next: &FxHashMap<NodeId, Vec<NodeId>>,
        may_end: &FxHashSet<NodeId>,
    ) -> PostDominators {
        let place = |node: &NodeId| nodes.binary_search(node).ok();
        let after = |node: &NodeId| next.get(node).into_iter().flatten().filter_map(place).collect();
        let ways = Edges::of(nodes.iter().map(after).collect());
        let may_end = |place: &usize| nodes.get(*place).is_some_and(|node| may_end.contains(node));
        let goes_nowhere = |place: &usize| ways.after(*place).is_empty();
        let mut ends: Vec<usize> =
            (0..nodes.len()).filter(|place| may_end(place) || goes_nowhere(place)).collect();
        let mut ending = vec![false; nodes.len()];
        let mut pending = ends.clone();
        while let Some(place) = pending.pop() {
            if let Some(ending) = ending.get_mut(place).filter(|ending| !**ending) {
                *ending = true;
                pending.extend(ways.before(place));
            }
        }
        // What also leads to a loop without an end meets nothing there.
        let ends_at = |place: &usize| ending.get(*place) == Some(&true);
        let leads_to_loop = |place: &usize| !ways.after(*place).iter().all(ends_at);
        ends.extend((0..nodes.len()).filter(|place| ends_at(place) && leads_to_loop(place)));
        let dominators = Dominators::of(&ways.reversed(), &ends);
        PostDominators { nodes, dominators }
    }

    fn of(&self, node: NodeId) -> Option<NodeId> {
        let place = self.dominators.immediate(self.nodes.binary_search(&node).ok()?)?;
        self.nodes.get(place).copied()
    }
}

impl Run<'_, '_, '_> {
    /// Works out again which blocks are certain.
    pub(crate) fn settle_certainty(&mut self) {
        let mut next: Vec<Vec<(NodeId, Option<ContextId>)>> = vec![Vec::new(); self.nodes.len()];
        let mut inside: Vec<FxHashMap<NodeId, Vec<NodeId>>> = vec![FxHashMap::default(); self.contexts.len()];
        let mut pending: Vec<(NodeId, Option<NodeId>)> = Vec::new();
        for index in 0..self.nodes.len() as NodeId {
            let Some(node) = self.nodes.get_mut(index as usize) else { continue };
            node.certainty = Certainty::Doubtful;
            let (context, ways) = (node.context, node.ways.clone());
            for way in ways {
                let Some(from) = way.from else {
                    if way.certainty == Certainty::Certain {
                        pending.push((index, None));
                    }
                    continue;
                };
                if way.certainty == Certainty::Certain
                    && let Some(it) = next.get_mut(from as usize)
                {
                    it.push((index, way.through));
                }
                if self.context_of_node(from) == context
                    && let Some(it) = inside.get_mut(context as usize)
                {
                    it.entry(from).or_default().push(index);
                }
            }
        }
        let (may_end, ends) = self.may_end(&inside);
        let mut meeting: FxHashMap<ContextId, PostDominators> = FxHashMap::default();
        let mut comes_back = vec![false; self.contexts.len()];
        let mut waiting: FxHashMap<ContextId, Vec<(NodeId, NodeId)>> = FxHashMap::default();
        while let Some((index, parent)) = pending.pop() {
            let Some(node) = self.nodes.get_mut(index as usize) else { continue };
            if std::mem::replace(&mut node.certainty, Certainty::Certain) == Certainty::Certain {
                continue;
            }
            node.parent = parent;
            let (context, at, returns) = (node.context, node.at, node.returns);
            for &(to, through) in next.get(index as usize).map(Vec::as_slice).unwrap_or_default() {
                match through.filter(|&callee| comes_back.get(callee as usize) != Some(&true)) {
                    Some(callee) => waiting.entry(callee).or_default().push((to, index)),
                    None => pending.push((to, Some(index))),
                }
            }
            // A function comes back whichever way is taken if every way through it ends in a return.
            let is_entry = self.contexts.get(context as usize).is_some_and(|it| it.function == at);
            let always_returns = is_entry && ends.get(context as usize) == Some(&false);
            if (returns || always_returns)
                && let Some(it) = comes_back.get_mut(context as usize)
            {
                *it = true;
                let waiting = waiting.remove(&context).unwrap_or_default();
                pending.extend(waiting.into_iter().map(|(to, from)| (to, Some(from))));
            }
            let ways = inside.get(context as usize);
            if ways.is_some_and(|ways| ways.get(&index).is_some_and(|after| after.len() > 1)) {
                let meeting = meeting.entry(context).or_insert_with(|| {
                    let blocks = self.contexts.get(context as usize).map(|it| it.nodes.values().copied());
                    let mut blocks: Vec<NodeId> = blocks.into_iter().flatten().collect();
                    blocks.sort_unstable();
                    PostDominators::new(blocks, ways.unwrap_or(&FxHashMap::default()), &may_end)
                });
                pending.extend(meeting.of(index).map(|to| (to, Some(index))));
            }
        }
        self.settle_lost(&next, &comes_back);
    }

    /// Marks the blocks that are certain if a function is called whose address was lost.
    fn settle_lost(&mut self, next: &[Vec<(NodeId, Option<ContextId>)>], comes_back: &[bool]) {
        let is_certain = |run: &Self, node: NodeId| {
            run.nodes.get(node as usize).is_some_and(|node| node.certainty == Certainty::Certain)
        };
        let is_entered = |node: &Node| {
            let is_lost = |way: &&Way| way.certainty == Certainty::Lost;
            node.ways.iter().filter(is_lost).any(|way| way.from.is_none_or(|from| is_certain(self, from)))
        };
        let entered = self.nodes.iter().enumerate().filter(|it| is_entered(it.1));
        let mut pending: Vec<NodeId> = entered.map(|it| it.0 as NodeId).collect();
        while let Some(index) = pending.pop() {
            let Some(node) = self.nodes.get_mut(index as usize) else { continue };
            if node.certainty >= Certainty::Lost {
                continue;
            }
            node.certainty = Certainty::Lost;
            let after = next.get(index as usize).map(Vec::as_slice).unwrap_or_default().iter();
            let is_open = |through: Option<ContextId>| {
                through.is_none_or(|callee| comes_back.get(callee as usize) == Some(&true))
            };
            pending.extend(after.filter(|it| is_open(it.1)).map(|it| it.0));
        }
    }

    /// The blocks that call a context which may not come back, and by context, whether it may not: some block in it goes nowhere, or calls
    /// such a context.
    fn may_end(&self, inside: &[FxHashMap<NodeId, Vec<NodeId>>]) -> (FxHashSet<NodeId>, Vec<bool>) {
        let goes_nowhere = |(context, it): (usize, &Context)| {
            let ways = inside.get(context);
            it.nodes.values().any(|&node| {
                let returns = self.nodes.get(node as usize).is_some_and(|node| node.returns);
                !returns && ways.is_none_or(|ways| !ways.contains_key(&node))
            })
        };
        let mut ends: Vec<bool> = self.contexts.iter().enumerate().map(goes_nowhere).collect();
        let calls = self.nodes.iter().flat_map(|node| {
            node.ways.iter().filter_map(|way| Some((way.from?, node.context, way.through?)))
        });
        let calls: Vec<(NodeId, ContextId, ContextId)> = calls.collect();
        let mut found = FxHashSet::default();
        loop {
            let before = found.len();
            for &(call, caller, callee) in &calls {
                if ends.get(callee as usize) == Some(&true) {
                    found.insert(call);
                    if let Some(it) = ends.get_mut(caller as usize) {
                        *it = true;
                    }
                }
            }
            if found.len() == before {
                return (found, ends);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post_dominators(edges: &[(NodeId, NodeId)], count: NodeId) -> Vec<Option<NodeId>> {
        let mut next: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for &(from, to) in edges {
            next.entry(from).or_default().push(to);
        }
        let found = PostDominators::new((0..count).collect(), &next, &FxHashSet::default());
        (0..count).map(|node| found.of(node)).collect()
    }

    #[test]
    fn two_ways_meet_where_both_come_to() {
        let diamond = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
        assert_eq!(post_dominators(&diamond, 5), [Some(3), Some(3), Some(3), Some(4), None]);
    }

    #[test]
    fn a_way_that_ends_meets_nowhere() {
        assert_eq!(post_dominators(&[(0, 1), (0, 2), (2, 3)], 4), [None, None, Some(3), None]);
    }

    #[test]
    fn a_loop_meets_behind_it_and_one_without_end_nowhere() {
        let counting = [(0, 1), (1, 2), (2, 1), (1, 3)];
        assert_eq!(post_dominators(&counting, 4), [Some(1), Some(3), Some(1), None]);
        let endless = [(0, 1), (0, 2), (1, 1)];
        assert_eq!(post_dominators(&endless, 3), [None, None, None]);
    }
}
