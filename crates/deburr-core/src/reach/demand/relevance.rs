//! Relevance of functions, by reachability in the graph.

use super::graph::{Graph, Vertex};
use super::limits::{LARGE_OBJECT, SMALL, SMALL_OBJECT};
use crate::address::CodeOffset;
use crate::insn::operations::Mention;
use crate::reach::memory::file::File;
use crate::reach::value::pool::Places;
use rustc_hash::FxHashSet;

/// Which functions are relevant.
#[derive(Debug)]
pub(crate) struct Demand {
    graph: Graph,
    /// By function and object.
    is_relevant: Vec<bool>,
    /// By function: whether its result may depend on the CPU after all, through functions of other files.
    is_open: Vec<bool>,
    /// By function: whether it is larger than [`SMALL`].
    is_large: Vec<bool>,
}

impl Demand {
    /// `hits`: the functions with instructions above the first level, by where they begin.
    pub(crate) fn new(
        file: &File<'_, '_>,
        places: &Places,
        mentions: &[Mention],
        hits: impl Iterator<Item = CodeOffset>,
    ) -> Demand {
        let graph = Graph::new(file, places, mentions);
        let count = graph.functions.len();
        let reverse = reversed(&graph.edges);
        let with = |is_so: &dyn Fn(&super::graph::Function) -> bool| -> Vec<Vertex> {
            (0..count as Vertex)
                .filter(|&index| graph.functions.get(index as usize).is_some_and(is_so))
                .collect()
        };
        let asking = above(&reverse, with(&|it| it.queries));
        // Other functions may read the answer that a querying function keeps.
        let words = |from: u64, bytes: u64| {
            let object = places.object(from);
            let all = (from & !7..from.saturating_add(bytes)).step_by(8);
            all.take_while(move |&word| word <= from || places.object(word) == object)
        };
        let mut kept: FxHashSet<u64> = FxHashSet::default();
        let mut thread_keeps = false;
        for (function, _) in graph.functions.iter().zip(&asking).filter(|(_, is_asking)| **is_asking) {
            kept.extend(&function.used);
            kept.extend(function.taken.iter().flat_map(|&place| {
                words(place, if file.is_named(place) { LARGE_OBJECT } else { SMALL_OBJECT })
            }));
            thread_keeps |= function.uses_thread;
        }
        let mut roots = with(&|it| {
            it.queries
                || thread_keeps && it.uses_thread
                || it.used.iter().any(|word| kept.contains(word))
                || it.taken.iter().any(|&place| words(place, LARGE_OBJECT).any(|word| kept.contains(&word)))
        });
        roots.extend(hits.filter_map(|at| Some(file.program.whole_index_at(at)? as Vertex)));
        let is_relevant = above(&reverse, roots);
        let is_open = above(&reverse, with(&|it| it.is_open));
        let is_large = large(&graph);
        Demand { graph, is_relevant, is_open, is_large }
    }

    /// Whether the function that an address is in is relevant.
    pub(crate) fn is_relevant(&self, file: &File<'_, '_>, address: u64) -> bool {
        Graph::function_at(file, address).is_none_or(|it| self.is_relevant.get(it as usize) != Some(&false))
    }

    /// Whether an object leads to a relevant function by the addresses that it holds before any code runs.
    pub(crate) fn is_relevant_object(&self, object: u64) -> bool {
        self.graph.objects.get(&object).is_some_and(|&it| self.is_relevant.get(it as usize) != Some(&false))
    }

    /// Whether the function that an address is in may come back: it has a return, or a jump to elsewhere.
    pub(crate) fn returns(&self, file: &File<'_, '_>, address: u64) -> bool {
        let function = Graph::function_at(file, address).and_then(|it| self.graph.functions.get(it as usize));
        function.is_none_or(|function| function.returns)
    }

    /// The function that an address is in, if calls of it are opaque: it is irrelevant, and large.
    pub(crate) fn irrelevant(&self, file: &File<'_, '_>, address: u64) -> Option<Irrelevant> {
        let number = Graph::function_at(file, address)?;
        let function = self.graph.functions.get(number as usize)?;
        let (is_relevant, is_large) =
            (self.is_relevant.get(number as usize)?, self.is_large.get(number as usize)?);
        let is_open = *self.is_open.get(number as usize)?;
        (!is_relevant && *is_large).then_some(Irrelevant { number, returns: function.returns, is_open })
    }

    /// The data of the file that a function and its callees get to, without that of functions seen before.
    pub(crate) fn data_of(&self, function: u32, seen: &mut FxHashSet<u32>) -> Data {
        let mut data = Data::default();
        let mut pending = vec![function];
        while let Some(vertex) = pending.pop() {
            if !seen.insert(vertex) {
                continue;
            }
            let named = self.graph.edges.get(vertex as usize).map(Vec::as_slice).unwrap_or_default();
            match self.graph.functions.get(vertex as usize) {
                Some(function) => {
                    data.words.extend(&function.used);
                    data.taken.extend(&function.taken);
                    data.has_thread |= function.uses_thread;
                }
                // A function that reads a pointer may read and write the whole object behind it.
                None => data.taken.extend(named.iter().filter_map(|&it| self.graph.writable_object(it))),
            }
            pending.extend(named);
        }
        for places in [&mut data.words, &mut data.taken] {
            places.sort_unstable();
            places.dedup();
        }
        data
    }
}

/// Data that functions get to.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Words that they read or write by their addresses.
    pub words: Vec<u64>,
    /// Addresses that they make.
    pub taken: Vec<u64>,
    /// Whether they get to the thread's own memory.
    pub has_thread: bool,
}

/// An irrelevant function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Irrelevant {
    pub number: u32,
    /// Whether it may come back.
    pub returns: bool,
    /// Whether its result may depend on the CPU after all, through functions of other files.
    pub is_open: bool,
}

fn reversed(edges: &[Vec<Vertex>]) -> Vec<Vec<Vertex>> {
    let mut reverse = vec![Vec::new(); edges.len()];
    for (from, names) in edges.iter().enumerate() {
        for &to in names {
            if let Some(it) = reverse.get_mut(to as usize) {
                it.push(from as Vertex);
            }
        }
    }
    reverse
}

/// All that lead to some functions, and these.
fn above(reverse: &[Vec<Vertex>], from: Vec<Vertex>) -> Vec<bool> {
    let mut found = vec![false; reverse.len()];
    let mut pending = from;
    while let Some(vertex) = pending.pop() {
        if let Some(it) = found.get_mut(vertex as usize)
            && !std::mem::replace(it, true)
        {
            pending.extend(reverse.get(vertex as usize).into_iter().flatten());
        }
    }
    found
}

/// The functions that are large, with what they call that is not.
fn large(graph: &Graph) -> Vec<bool> {
    let mut weights: Vec<Option<u32>> = vec![None; graph.functions.len()];
    for root in 0..graph.functions.len() {
        let mut stack = vec![(root, 0_usize)];
        while let Some(&mut (at, ref mut next)) = stack.last_mut() {
            let Some(function) = graph.functions.get(at) else { break };
            if *next == 0
                && let Some(weight) = weights.get_mut(at)
            {
                if weight.is_some() {
                    stack.pop();
                    continue;
                }
                // Of a cycle of calls, each counts by itself.
                *weight = Some(function.bytes);
            }
            match function.callees.get(*next) {
                Some(&callee) => {
                    *next += 1;
                    if weights.get(callee as usize) == Some(&None) {
                        stack.push((callee as usize, 0));
                    }
                }
                None => {
                    let small = function.callees.iter().filter(|&&callee| callee as usize != at);
                    let sum =
                        small.filter_map(|&callee| *weights.get(callee as usize)?).filter(|&it| it <= SMALL);
                    let sum = sum.fold(function.bytes, u32::saturating_add);
                    if let Some(weight) = weights.get_mut(at) {
                        *weight = Some(sum);
                    }
                    stack.pop();
                }
            }
        }
    }
    weights.into_iter().map(|weight| weight.is_none_or(|weight| weight > SMALL)).collect()
}
