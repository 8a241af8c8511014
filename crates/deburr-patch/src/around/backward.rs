//! Patch stage: backward reachability over the whole file.
//!
//! In: the edges of a file, some instructions (seeds), and what stops a path. Out: every place from which
//! control may come to a seed with nothing on the path that stops it. This is liveness where the seeds read a
//! register and its writes stop a path. Where the seeds wait for the exclusive monitor or store through it,
//! it finds who relies on that.
//!
//! Paths go back through branches and into callers. From after a call they go into what was called, as well
//! as past it: a callee is taken to stop nothing that it need not. Contexts are not distinguished, so that
//! the result has more places than are right, never fewer, except for what [`Pointers`] says of calls through
//! pointers.

use super::flow::{Flow, Places, edges};
use deburr_core::address::CodeOffset;
use deburr_core::insn::{self, Insn};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Instructions of a callee among which its returns are looked for.
const CALLEE: usize = 1 << 16;

/// Whether a path goes through pointers to functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pointers {
    /// From the start of a function whose address something has back to every indirect call and jump.
    Followed,
    /// Not: what is looked for does not outlive a call by the procedure call standard (AAPCS64).
    ByConvention,
}

/// What ends a path.
pub(crate) struct Stops<'s> {
    /// A cheap query of an instruction, which says no only where that is sure.
    pub(crate) may: &'s dyn Fn(u32) -> bool,
    /// Whether a path ends at an instruction.
    pub(crate) does: &'s dyn Fn(&Insn) -> bool,
}

impl Stops<'_> {
    fn at(&self, flow: &Flow<'_, '_>, at: CodeOffset) -> bool {
        let may = flow.word(at).is_none_or(|word| (self.may)(word));
        may && flow.decode(at).is_some_and(|insn| (self.does)(&insn))
    }
}

/// Finds the places from which control may come to one of the seeds.
pub(crate) fn reaching(
    flow: &Flow<'_, '_>,
    seeds: impl IntoIterator<Item = CodeOffset>,
    stops: &Stops<'_>,
    pointers: Pointers,
) -> Places {
    let mut walk = Walk {
        flow,
        found: Places::default(),
        pending: Vec::new(),
        is_open: FxHashMap::default(),
        has_pointers: false,
        has_returns: false,
        unknown_of: CodeOffset(0)..CodeOffset(0),
    };
    for seed in seeds {
        walk.add(seed);
    }
    while let Some(at) = walk.pending.pop() {
        walk.step(at, stops, pointers);
    }
    walk.found
}

struct Walk<'w, 'f, 'a> {
    flow: &'w Flow<'f, 'a>,
    found: Places,
    pending: Vec<CodeOffset>,
    /// Of what was called, by its start, whether control may leave it with nothing on the path that stops it.
    is_open: FxHashMap<CodeOffset, bool>,
    /// Whether all indirect calls and jumps are in.
    has_pointers: bool,
    /// Whether all returns are in.
    has_returns: bool,
    /// The function whose jumps of unknown target were added last.
    unknown_of: Range<CodeOffset>,
}

impl Walk<'_, '_, '_> {
    fn add(&mut self, at: CodeOffset) {
        if self.found.insert(at) {
            self.pending.push(at);
        }
    }

    /// Goes back over all edges into a place.
    fn step(&mut self, at: CodeOffset, stops: &Stops<'_>, pointers: Pointers) {
        let flow = self.flow;
        for from in flow.edges.sources(at) {
            if flow.word(from).is_some() && !stops.at(flow, from) {
                self.add(from);
            }
        }
        if let Some(from) = at.checked_sub(4).filter(|&from| flow.falls_through(from)) {
            // What comes back from a call has been through the callee.
            if !stops.at(flow, from) && !self.is_stopped_in_callee(from, stops, pointers) {
                self.add(from);
            }
        }
        if !self.unknown_of.contains(&at) {
            for &jump in flow.unknown_jumps(at) {
                self.add(jump);
            }
            let function = flow.program.function_at(at);
            self.unknown_of = function.map_or(at..at, |function| function.start..function.end);
        }
        if pointers == Pointers::Followed && flow.is_pointed_to(at) {
            self.add_indirect();
        }
    }

    /// From after an instruction that may be a call, goes on at the returns of what it calls; whether every path through that is stopped.
    fn is_stopped_in_callee(&mut self, call: CodeOffset, stops: &Stops<'_>, pointers: Pointers) -> bool {
        let flow = self.flow;
        let Some(word) = flow.word(call) else { return false };
        if pointers == Pointers::Followed && edges::is_indirect_call(word) {
            self.add_returns();
        }
        let distance = edges::distance(word).filter(|_| edges::is_call(word));
        let to = distance.map(|by| flow.image.svma(call).offset(by));
        let Some(to) = to else { return false };
        let Some(to) = flow.image.code_offset(to) else {
            if pointers == Pointers::Followed {
                self.add_returns();
            }
            return false;
        };
        if let Some(is_open) = self.is_open.get(&to) {
            return !is_open;
        }
        let exits = exits_of(flow, to, stops);
        self.is_open.insert(to, exits.is_open);
        if exits.is_long || exits.goes_elsewhere && pointers == Pointers::Followed {
            self.add_returns();
        }
        for at in exits.returns {
            self.add(at);
        }
        !exits.is_open
    }

    /// Adds all indirect calls and jumps.
    fn add_indirect(&mut self) {
        if !std::mem::replace(&mut self.has_pointers, true) {
            self.add_all(|word| edges::is_indirect_call(word) || edges::is_indirect_jump(word));
        }
    }

    /// Adds all returns, by `br x30` too: what is called through a pointer, or by what another file has called, may be any function.
    fn add_returns(&mut self) {
        if !std::mem::replace(&mut self.has_returns, true) {
            self.add_all(|word| edges::is_return(word) || edges::is_indirect_jump(word));
        }
    }

    /// Adds all instructions of some kind.
    fn add_all(&mut self, is_kind: impl Fn(u32) -> bool) {
        for code in &self.flow.image.code {
            for (word, at) in code.bytes.as_chunks::<4>().0.iter().zip(code.at.words()) {
                if is_kind(u32::from_le_bytes(*word)) {
                    self.add(at);
                }
            }
        }
    }
}

/// How control leaves a function.
#[derive(Debug, Default)]
struct Exits {
    /// Its returns, whatever stops the paths to them: what is looked for may begin after that.
    returns: Vec<CodeOffset>,
    /// Whether control leaves it at all on a path that nothing stops: by those returns, or where it is not
    /// followed.
    is_open: bool,
    /// Whether control leaves it for where it is not followed, and comes back from there.
    goes_elsewhere: bool,
    /// Whether it is so long that not all returns are known.
    is_long: bool,
}

/// Follows the paths from the start of a function; its callees are taken to stop none, except entries of the
/// procedure linkage table, whose instructions always run.
fn exits_of(flow: &Flow<'_, '_>, start: CodeOffset, stops: &Stops<'_>) -> Exits {
    // Places that control comes to from several, each with whether something before has stopped the path.
    let (mut pending, mut seen) = (vec![(start, false)], FxHashSet::from_iter([(start, false)]));
    let mut exits = Exits::default();
    let mut count = 0;
    while let Some((mut at, mut is_stopped)) = pending.pop() {
        loop {
            count += 1;
            if count > 2 * CALLEE {
                return Exits { is_open: true, is_long: true, ..exits };
            }
            let Some(word) = flow.word(at) else {
                exits.is_open = true;
                break;
            };
            is_stopped |= stops.at(flow, at);
            if !edges::is_plain(word) {
                let Some(insn) = flow.decode(at) else {
                    exits.is_open = true;
                    break;
                };
                let known = flow.targets_of(at);
                let target = match insn.flow {
                    insn::Flow::Return => {
                        exits.returns.push(at);
                        None
                    }
                    insn::Flow::Jump(to) | insn::Flow::Branch(to) => flow.image.code_offset(to),
                    insn::Flow::Call(to) => {
                        let to = flow.image.code_offset(to);
                        is_stopped |= to.is_some_and(|to| flow.is_stopped_in_linkage(to, stops.does));
                        None
                    }
                    _ => None,
                };
                let leaves = insn.flow == insn::Flow::Return
                    || insn.flow == insn::Flow::IndirectJump && known.is_empty();
                exits.is_open |= leaves && !is_stopped;
                exits.goes_elsewhere |= match insn.flow {
                    insn::Flow::IndirectJump => known.is_empty(),
                    insn::Flow::Jump(_) | insn::Flow::Branch(_) => target.is_none(),
                    _ => false,
                };
                let targets = target.into_iter().chain(known.iter().map(|&(_, to)| to));
                pending.extend(targets.map(|to| (to, is_stopped)).filter(|state| seen.insert(*state)));
            }
            let Some(next) = at.checked_add(4).filter(|_| flow.falls_through(at)) else { break };
            if flow.edges.is_target(next) && !seen.insert((next, is_stopped)) {
                break;
            }
            at = next;
        }
    }
    exits.returns.sort_unstable();
    exits.returns.dedup();
    exits
}
