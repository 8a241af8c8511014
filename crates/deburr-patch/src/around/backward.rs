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

use super::flow::{Flow, edges};
use deburr_core::address::CodeOffset;
use deburr_core::insn::{self, Insn};
use std::collections::{HashMap, HashSet};

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

/// Places from which control may come to a seed, as one bit a place. Only pages that have one take memory: a small file may state
/// addresses gigabytes apart.
#[derive(Debug, Default)]
pub(crate) struct Reaching {
    pages: Vec<Option<Box<Page>>>,
}

/// The bits of 64 KiB of code.
type Page = [u64; 256];

impl Reaching {
    pub(crate) fn contains(&self, at: CodeOffset) -> bool {
        let (page, word, bit) = place(at);
        let page = self.pages.get(page).and_then(Option::as_ref);
        page.and_then(|page| page.get(word)).is_some_and(|word| word & bit != 0)
    }

    /// Puts a place in; whether it is new.
    pub(crate) fn insert(&mut self, at: CodeOffset) -> bool {
        let (page, word, bit) = place(at);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages.get_mut(page).map(|page| page.get_or_insert_with(|| Box::new([0; 256])));
        page.and_then(|page| page.get_mut(word)).is_some_and(|word| {
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        })
    }
}

/// The page of an offset, the word in it, and its bit.
const fn place(at: CodeOffset) -> (usize, usize, u64) {
    ((at.0 >> 16) as usize, (at.0 >> 8 & 255) as usize, 1 << (at.0 >> 2 & 63))
}

/// Finds the places from which control may come to one of the seeds. `stops`: whether a path ends at an
/// instruction.
pub(crate) fn reaching(
    flow: &Flow<'_, '_>,
    seeds: impl IntoIterator<Item = CodeOffset>,
    stops: impl Fn(&Insn) -> bool,
    pointers: Pointers,
) -> Reaching {
    let mut walk = Walk {
        flow,
        found: Reaching::default(),
        pending: Vec::new(),
        exits: HashMap::new(),
        has_pointers: false,
    };
    for seed in seeds {
        walk.add(seed);
    }
    while let Some(at) = walk.pending.pop() {
        walk.step(at, &stops, pointers);
    }
    walk.found
}

struct Walk<'w, 'f, 'a> {
    flow: &'w Flow<'f, 'a>,
    found: Reaching,
    pending: Vec<CodeOffset>,
    /// How control leaves what was called, by its start.
    exits: HashMap<CodeOffset, Exits>,
    /// Whether all indirect calls and jumps are in.
    has_pointers: bool,
}

impl Walk<'_, '_, '_> {
    fn add(&mut self, at: CodeOffset) {
        if self.found.insert(at) {
            self.pending.push(at);
        }
    }

    /// Goes back over all edges into a place.
    fn step(&mut self, at: CodeOffset, stops: &impl Fn(&Insn) -> bool, pointers: Pointers) {
        let previous = at.checked_sub(4).filter(|&from| self.flow.falls_through(from));
        let before: Vec<CodeOffset> = self.flow.edges.sources(at).chain(previous).collect();
        for &from in &before {
            let Some(insn) = self.flow.decode(from) else { continue };
            if stops(&insn) {
                continue;
            }
            // What comes back from a call has been through the callee.
            if Some(from) == previous && self.is_stopped_in_callee(&insn, stops) {
                continue;
            }
            self.add(from);
        }
        let flow = self.flow;
        for &jump in flow.unknown_jumps(at) {
            self.add(jump);
        }
        if pointers == Pointers::Followed && self.flow.is_pointed_to(at) {
            self.add_indirect();
        }
    }

    /// From after a call, goes on at the returns of what it calls; whether every path through that is
    /// stopped.
    fn is_stopped_in_callee(&mut self, call: &Insn, stops: &impl Fn(&Insn) -> bool) -> bool {
        match call.flow {
            insn::Flow::Call(to) => {
                let Some(to) = self.flow.image.code_offset(to) else { return false };
                let flow = self.flow;
                let exits = self.exits.entry(to).or_insert_with(|| exits_of(flow, to, stops)).clone();
                for at in exits.returns {
                    self.add(at);
                }
                !exits.is_open
            }
            _ => false,
        }
    }

    /// Adds all indirect calls and jumps.
    fn add_indirect(&mut self) {
        if std::mem::replace(&mut self.has_pointers, true) {
            return;
        }
        for code in &self.flow.image.code {
            for (word, at) in code.bytes.as_chunks::<4>().0.iter().zip(code.at.words()) {
                let word = u32::from_le_bytes(*word);
                if edges::is_indirect_call(word) || edges::is_indirect_jump(word) {
                    self.add(at);
                }
            }
        }
    }
}

/// How control leaves a function.
#[derive(Debug, Clone, Default)]
struct Exits {
    /// Its returns, whatever stops the paths to them: what is looked for may begin after that.
    returns: Vec<CodeOffset>,
    /// Whether control leaves it at all on a path that nothing stops: by those returns, or where it is not
    /// followed.
    is_open: bool,
}

/// Follows the paths from the start of a function; its callees are taken to stop none, except entries of the
/// procedure linkage table, whose instructions always run.
fn exits_of(flow: &Flow<'_, '_>, start: CodeOffset, stops: &impl Fn(&Insn) -> bool) -> Exits {
    // Places, each with whether something before has stopped the path.
    let (mut pending, mut seen) = (vec![(start, false)], HashSet::from([(start, false)]));
    let mut exits = Exits::default();
    while let Some((at, was_stopped)) = pending.pop() {
        let Some(insn) = flow.decode(at).filter(|_| seen.len() <= 2 * CALLEE) else {
            exits.is_open = true;
            continue;
        };
        let mut is_stopped = was_stopped || stops(&insn);
        let known = flow.targets_of(at);
        let target = match insn.flow {
            insn::Flow::Return => {
                exits.returns.push(at);
                None
            }
            insn::Flow::Jump(to) | insn::Flow::Branch(to) => flow.image.code_offset(to),
            insn::Flow::Call(to) => {
                let to = flow.image.code_offset(to);
                is_stopped |= to.is_some_and(|to| flow.is_stopped_in_linkage(to, stops));
                None
            }
            _ => None,
        };
        let leaves =
            insn.flow == insn::Flow::Return || insn.flow == insn::Flow::IndirectJump && known.is_empty();
        exits.is_open |= leaves && !is_stopped;
        let next = flow.falls_through(at).then(|| at.checked_add(4)).flatten();
        for to in target.into_iter().chain(next).chain(known.iter().map(|&(_, to)| to)) {
            if seen.insert((to, is_stopped)) {
                pending.push((to, is_stopped));
            }
        }
    }
    exits.returns.sort_unstable();
    exits.returns.dedup();
    exits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_gigabytes_apart_take_a_page_each() {
        let mut reaching = Reaching::default();
        let places = [4, 0x1_0000, 0xffff_fffc].map(CodeOffset);
        assert_eq!(places.map(|at| reaching.insert(at)), [true; 3]);
        assert_eq!(places.map(|at| reaching.insert(at)), [false; 3]);
        assert_eq!(places.map(|at| reaching.contains(at)), [true; 3]);
        assert_eq!([0, 8, 0x1_0004, 0xffff_fff8].map(|at| reaching.contains(CodeOffset(at))), [false; 4]);
        assert_eq!(reaching.pages.iter().flatten().count(), 3);
    }
}
