//! Where control comes back: the natural loops of a control-flow graph, whether a block is on any cycle, and the shortest path
//! from a block back to it.
//!
//! In: a [`Graph`](super::block::Graph), or an [`Outline`], which costs less. All of it takes time that grows with the graph;
//! what is asked for many places of a function is worked out once for all.

mod cyclic;
mod forest;
mod outline;
mod shortest;

pub use forest::{Loop, Loops, natural_loops};
pub(crate) use outline::Outline;

#[cfg(test)]
mod tests {
    use crate::engine::random::draws;
    use crate::function::block::{Block, Graph};

    pub(super) fn graph(successors: &[&[usize]]) -> Graph {
        let block = |next: &&[usize]| Block { successors: next.to_vec(), ..Block::default() };
        let mut graph = Graph::default();
        graph.blocks = successors.iter().map(block).collect();
        graph.link_back();
        graph
    }

    /// A graph as compilers make them: `count` blocks with up to two successors, often the next block among them.
    pub(super) fn random(seed: u64, count: usize) -> Graph {
        let mut draw = draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let successors: Vec<Vec<usize>> = (0..count)
            .map(|block| {
                let mut next = Vec::new();
                if draw(5) > 0 && block + 1 < count {
                    next.push(block + 1);
                }
                if draw(2) == 0 {
                    next.push(draw(count));
                }
                next.dedup();
                next
            })
            .collect();
        graph(&successors.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}
