//! Patch stage, audit: where an armed monitor matters.
//!
//! In: a graph. Out: all places from which control may come to a store-exclusive, `wfe` or `wfet`. There is
//! no load-exclusive or `clrex` on the path, nor `sev` or `sevl` on the path to the first wait after it. They
//! are found backwards from those instructions, at any distance, through callers and callees. A sequence that
//! leaves for such a place without having stored leaves a monitor armed that its replacement does not.

use super::fields::{self, Flow};
use super::graph::Graph;
use deburr_core::address::CodeOffset;
use rustc_hash::FxHashSet;

/// Places in a closure; a file that has more of them keeps its sequences.
const MOST: usize = 1 << 22;
/// Instructions of a callee that are looked at for its returns.
const CALLEE: usize = 1 << 13;

/// Places that need the monitor.
#[derive(Default)]
pub(crate) struct Monitors {
    needed: FxHashSet<CodeOffset>,
    /// Whether there are more than are remembered.
    is_everywhere: bool,
}

impl Monitors {
    pub(crate) fn of(graph: &Graph<'_>) -> Monitors {
        let renews = |word: u32| fields::is_load_exclusive(word) || fields::is_clear_exclusive(word);
        let lets_go_on = |word: u32| renews(word) || fields::signals(word);
        let waits = graph.find(fields::waits);
        let first = Closure::of(graph, waits.clone(), &lets_go_on);
        // One wait uses up the event of a `sev` or `sevl`; those after it wait for others.
        let follows = |wait: &CodeOffset| graph.offset(*wait, 4).is_some_and(|next| first.matter(next));
        let mut seeds = graph.find(fields::is_store_exclusive);
        seeds.extend(waits.into_iter().filter(follows));
        let mut found = Closure::of(graph, seeds, &renews);
        found.is_everywhere |= first.is_everywhere;
        found.needed.extend(first.needed);
        found
    }

    /// Whether a monitor that is armed at a place may matter.
    pub(crate) fn matter(&self, at: CodeOffset) -> bool {
        self.is_everywhere || self.needed.contains(&at)
    }
}

struct Closure<'a> {
    graph: &'a Graph<'a>,
    /// Instructions that end a path.
    ends: &'a dyn Fn(u32) -> bool,
    found: Monitors,
    pending: Vec<CodeOffset>,
    /// Whether a pointer leads into it.
    escapes: bool,
    /// Whether control comes into it back from a callee that is not known.
    comes_back: bool,
}

impl<'a> Closure<'a> {
    /// All places from which control may come to some instructions on a path that nothing ends.
    fn of(graph: &'a Graph<'a>, seeds: Vec<CodeOffset>, ends: &'a dyn Fn(u32) -> bool) -> Monitors {
        let found = Monitors::default();
        let mut closure = Closure { graph, ends, found, pending: seeds, escapes: false, comes_back: false };
        closure.run();
        loop {
            let (escapes, comes_back) = (closure.escapes, closure.comes_back);
            // The rest of the path is through a pointer, and may begin at each jump or call through one, or at each return.
            closure.pending = graph.find(|word| match fields::flow(word) {
                Flow::IndirectCall => escapes && word >> 25 == 0x6b,
                // It may be a return, too.
                Flow::IndirectJump => (escapes || comes_back) && word >> 25 == 0x6b,
                Flow::Return => comes_back,
                _ => false,
            });
            closure.run();
            if (escapes, comes_back) == (closure.escapes, closure.comes_back) {
                break closure.found;
            }
        }
    }

    fn run(&mut self) {
        while let Some(at) = self.pending.pop() {
            if self.found.is_everywhere || !self.found.needed.insert(at) {
                continue;
            }
            self.found.is_everywhere = self.found.needed.len() > MOST;
            self.escapes |= self.graph.image.pointers.binary_search(&self.graph.svma(at)).is_ok();
            let mut before = Vec::new();
            self.graph.predecessors(at, |from| before.push(from));
            before.extend(self.graph.calls(at));
            for from in before {
                self.come_from(at, from);
            }
        }
    }

    fn come_from(&mut self, at: CodeOffset, from: CodeOffset) {
        let Some(word) = self.graph.word(from) else { return };
        if (self.ends)(word) {
            return;
        }
        match fields::flow(word) {
            // Back from a call, whose callee may have left the monitor armed.
            Flow::Call(bytes) if self.graph.offset(from, 4) == Some(at) => {
                let callee = self.graph.offset(from, bytes);
                let (returns, is_all) =
                    callee.map_or((Vec::new(), false), |callee| returns(self.graph, callee));
                self.pending.extend(returns);
                self.comes_back |= !is_all;
            }
            Flow::IndirectCall => (self.escapes, self.comes_back) = (true, true),
            _ => {}
        }
        self.pending.push(from);
    }
}

/// The returns that control comes to from the beginning of a function, and whether it comes back from nowhere else.
fn returns(graph: &Graph<'_>, callee: CodeOffset) -> (Vec<CodeOffset>, bool) {
    let mut is_all = true;
    let (mut seen, mut pending, mut found) = (FxHashSet::default(), vec![callee], Vec::new());
    while let Some(at) = pending.pop() {
        is_all &= seen.len() < CALLEE;
        if seen.len() < CALLEE && seen.insert(at) {
            let flow = graph.word(at).map(fields::flow);
            found.extend((flow == Some(Flow::Return)).then_some(at));
            graph.successors(at, |next| pending.push(next));
            is_all &= match flow {
                Some(Flow::Jump(by) | Flow::Branch(by)) => graph.offset(at, by).is_some(),
                Some(Flow::IndirectJump) | None => false,
                Some(_) => true,
            };
        }
    }
    (found, is_all)
}
