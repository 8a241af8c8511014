//! Whether control can get on in a function without passing a block: the block is passed on every path that does not end
//! the program before.
//!
//! A path avoids a block if it comes to where the block can be reached no more. That is the function's end, or a loop
//! that the program stays in. A path that ends there by failing, or by printing a few words, is no way round.

use crate::function::block::Graph;
use crate::function::reach::verdict::refusal::ends::Explorer;
use crate::insn::Flow;

/// Maximum of places off the way to a block from which it is explored how they end.
const MAX_DETOURS: usize = 64;

/// Whether each path from the function's first block passes another one, once, unless the program ends before.
/// `is_end`: whether what a path off the way ends with is the end of the program.
pub(super) fn is_unavoidable(
    graph: &Graph,
    (first, block): (usize, usize),
    explorer: &mut Explorer<'_, '_, '_>,
    mut is_end: impl FnMut(&mut Explorer<'_, '_, '_>, usize) -> bool,
) -> bool {
    let leading = leading_to(graph, block);
    let is_leading = |at: usize| leading.get(at).copied().unwrap_or_default();
    // What is tested again and again is not what the program starts with.
    if successors(graph, block).any(is_leading) {
        return false;
    }
    let mut seen = vec![false; graph.blocks.len()];
    let mut pending = vec![first];
    let mut detours = 0;
    while let Some(at) = pending.pop() {
        match seen.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        if at == block {
            continue;
        }
        if !is_leading(at) || never_passes(graph, at, explorer) {
            detours += 1;
            if detours > MAX_DETOURS || !is_end(explorer, at) {
                return false;
            }
            continue;
        }
        pending.extend(successors(graph, at));
    }
    true
}

/// Whether a call in a block never comes back.
fn never_passes(graph: &Graph, at: usize, explorer: &mut Explorer<'_, '_, '_>) -> bool {
    let insns = graph.blocks.get(at).map(|block| block.insns.as_slice()).unwrap_or_default();
    let mut calls = insns.iter().filter(|insn| matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall));
    calls.any(|insn| explorer.never_returns(insn))
}

fn successors(graph: &Graph, at: usize) -> impl Iterator<Item = usize> {
    let block = graph.blocks.get(at);
    let is_indirect =
        block.and_then(|block| block.last()).is_some_and(|last| last.flow == Flow::IndirectJump);
    let direct = block.map(|block| block.successors.as_slice()).unwrap_or_default();
    let indirect = if is_indirect { graph.orphans() } else { &[] };
    direct.iter().chain(indirect).copied()
}

/// The blocks from which one can be reached, itself left out unless a path leads back to it.
fn leading_to(graph: &Graph, block: usize) -> Vec<bool> {
    let mut leading = vec![false; graph.blocks.len()];
    let orphans = graph.orphans();
    let indirect = |block: &usize| {
        let last = graph.blocks.get(*block).and_then(|block| block.last());
        last.is_some_and(|last| last.flow == Flow::IndirectJump)
    };
    // What leads to one orphan leads to them all.
    let mut jumps: Vec<usize> = (0..graph.blocks.len()).filter(indirect).collect();
    let mut pending = vec![block];
    while let Some(at) = pending.pop() {
        let direct = graph.blocks.get(at).map(|block| block.predecessors.as_slice()).unwrap_or_default();
        let is_orphan = orphans.binary_search(&at).is_ok();
        let jumps = if is_orphan { std::mem::take(&mut jumps) } else { Vec::new() };
        for &from in direct.iter().chain(&jumps) {
            if let Some(mark) = leading.get_mut(from).filter(|mark| !**mark) {
                *mark = true;
                pending.push(from);
            }
        }
    }
    leading
}
