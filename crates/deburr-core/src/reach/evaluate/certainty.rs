//! Which blocks are certain, when nothing changes any more.
//!
//! A branch that is decided early in the evaluation may be a doubt at its end, when more values are possible. Certainty is therefore
//! computed again from the final ways between blocks. The immediate post-dominator of a certain block is certain: control comes to it
//! whichever way a doubtful branch takes (Ferrante, Ottenstein and Warren, TOPLAS 1987).

use super::run::{Certainty, Context, ContextId, Node, Run, Way};
use crate::engine::solver::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};

/// The immediate post-dominators of the blocks of a context. A place is an index into the postorder.
struct PostDominators {
    /// By place, the block; the last is the end of the context.
    nodes: Vec<NodeId>,
    places: FxHashMap<NodeId, usize>,
    /// By place, the place of the immediate post-dominator.
    immediate: Vec<Option<usize>>,
}

impl PostDominators {
    /// After Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001), on the reversed graph. `next`: by block, where
    /// control goes within the context; `may_end`: blocks that call what may not come back.
    fn new(
        blocks: &[NodeId],
        next: &FxHashMap<NodeId, Vec<NodeId>>,
        may_end: &FxHashSet<NodeId>,
    ) -> PostDominators {
        let after = |node: &NodeId| next.get(node).map(Vec::as_slice).unwrap_or_default();
        let mut before: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut ends = Vec::new();
        for node in blocks {
            for to in after(node) {
                before.entry(*to).or_default().push(*node);
            }
            if after(node).is_empty() || may_end.contains(node) {
                ends.push(*node);
            }
        }
        let nodes = postorder(&ends, &before);
        let places: FxHashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        let end = nodes.len();
        let mut immediate: Vec<Option<usize>> = vec![None; end + 1];
        if let Some(it) = immediate.last_mut() {
            *it = Some(end);
        }
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (place, node) in nodes.iter().enumerate().rev() {
                let is_end = after(node).is_empty() || may_end.contains(node);
                let mut new = if is_end { Some(end) } else { None };
                for to in after(node) {
                    // A loop without an end meets nothing.
                    let to = places.get(to).copied().unwrap_or(end);
                    if immediate.get(to).copied().flatten().is_some() {
                        new = Some(new.map_or(to, |new| meet(&immediate, new, to)));
                    }
                }
                if let Some(it) = immediate.get_mut(place)
                    && *it != new
                {
                    (*it, has_changed) = (new, true);
                }
            }
        }
        PostDominators { nodes, places, immediate }
    }

    fn of(&self, node: NodeId) -> Option<NodeId> {
        let place = (*self.immediate.get(*self.places.get(&node)?)?)?;
        self.nodes.get(place).copied()
    }
}

/// Where the post-dominators of two places meet.
fn meet(immediate: &[Option<usize>], one: usize, other: usize) -> usize {
    let (mut one, mut other) = (one, other);
    while one != other {
        let lower = one.min(other);
        let Some(next) = immediate.get(lower).copied().flatten().filter(|&next| next > lower) else {
            return immediate.len().saturating_sub(1);
        };
        if one < other {
            one = next;
        } else {
            other = next;
        }
    }
    one
}

/// Blocks in postorder, from the ends against the ways.
fn postorder(ends: &[NodeId], before: &FxHashMap<NodeId, Vec<NodeId>>) -> Vec<NodeId> {
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut order = Vec::new();
    for &end in ends {
        let mut stack = vec![(end, 0_usize)];
        if !seen.insert(end) {
            continue;
        }
        while let Some((node, index)) = stack.last_mut() {
            match before.get(node).and_then(|all| all.get(*index)) {
                Some(&next) => {
                    *index += 1;
                    if seen.insert(next) {
                        stack.push((next, 0));
                    }
                }
                None => {
                    order.push(*node);
                    stack.pop();
                }
            }
        }
    }
    order
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
                    PostDominators::new(&blocks, ways.unwrap_or(&FxHashMap::default()), &may_end)
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
        let blocks: Vec<NodeId> = (0..count).collect();
        let found = PostDominators::new(&blocks, &next, &FxHashSet::default());
        blocks.into_iter().map(|node| found.of(node)).collect()
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
