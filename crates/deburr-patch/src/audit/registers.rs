//! Patch stage, audit: who may rely on a register, and what a register certainly holds.
//!
//! In: a graph, a place, a register. Out: the instruction that may read the register there before it is
//! written; or the bits of it that are zero on every path to the place. Calls are followed into their callees
//! and returns to all callers that the file has. A caller that is not seen relies on no more than the
//! procedure call standard says (AAPCS64, 6.1.1 "General-purpose Registers"), and on what the function keeps.
//! By `-fipa-ra` and `preserve_most`, a register that the function does not write already, or reads first,
//! stays as it is. x16 and x17 a linker's veneer may overwrite at any call.

use super::fields::{self, ALL, Flow};
use super::graph::Graph;
use super::tables::Jumps;
use deburr_core::address::CodeOffset;
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions that are looked at for one register.
const MOST: usize = 1 << 13;
/// Calls that a return is followed to.
const CALLERS: usize = 64;
/// x0 to x8: arguments and results.
const PASSED: u32 = 0x1ff;
/// The same in Go, x0 to x15 and the closure's x26.
const PASSED_BY_GO: u32 = 0x0400_ffff;
const VENEER: u32 = 1 << 16 | 1 << 17;
/// Registers that a function keeps for its caller, and the platform's x18.
const KEPT: u32 = 0x7ffc_0000;

const fn one(register: u8) -> u32 {
    1 << register & ALL
}

/// A place in some activation of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    at: CodeOffset,
    /// A place in the function that returns to callers still to be looked at; `None` in a callee, whose
    /// return is seen already.
    returns_from: Option<CodeOffset>,
}

/// Who calls a function, by a place in it.
struct Callers {
    calls: Vec<CodeOffset>,
    /// Whether others may.
    others: bool,
    /// Where others may: registers that the function overwrites, whatever they had at its entries.
    overwritten: u32,
}

/// The instruction that may read a register from a place on, before it is written; or where that is not
/// known.
pub(crate) fn reader(
    graph: &Graph<'_>,
    jumps: &Jumps,
    from: CodeOffset,
    within: CodeOffset,
    register: u8,
    after: After,
) -> Option<CodeOffset> {
    Search {
        graph,
        jumps,
        wanted: one(register),
        seen: FxHashSet::default(),
        pending: Vec::new(),
        callers: 0,
        after,
    }
    .run(State { at: from, returns_from: Some(within) })
}

/// What left the register as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// A call, which overwrites it: a probe is told of the function's variables, and none is there.
    Call,
    /// Other instructions.
    Sequence,
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    jumps: &'a Jumps,
    wanted: u32,
    seen: FxHashSet<State>,
    pending: Vec<State>,
    callers: usize,
    after: After,
}

impl Search<'_> {
    fn run(mut self, first: State) -> Option<CodeOffset> {
        self.pending.push(first);
        while let Some(state) = self.pending.pop() {
            if !self.seen.insert(state) {
                continue;
            }
            if self.seen.len() > MOST {
                return Some(state.at);
            }
            let Some(word) = self.graph.word(state.at) else { return Some(state.at) };
            let named = fields::registers(word);
            let is_probed = self.after == After::Sequence && self.graph.is_probe(state.at);
            if named.reads & self.wanted != 0 || is_probed {
                return Some(state.at);
            }
            if named.kills & self.wanted == 0 && self.go_on(state, word).is_none() {
                return Some(state.at);
            }
        }
        None
    }

    /// Follows control; `None`, where somebody else may read the register.
    fn go_on(&mut self, state: State, word: u32) -> Option<()> {
        match fields::flow(word) {
            Flow::Stop => Some(()),
            Flow::Return => self.leave(state),
            Flow::IndirectJump => self.jump(state),
            Flow::Call(bytes) => {
                if self.wanted & VENEER == 0 {
                    let at = self.graph.offset(state.at, bytes)?;
                    self.pending.push(State { at, returns_from: None });
                    self.next(state);
                }
                Some(())
            }
            Flow::IndirectCall => {
                if self.wanted & VENEER == 0 {
                    self.is_unknown_to_others()?;
                    self.next(state);
                }
                Some(())
            }
            Flow::Next | Flow::Jump(_) | Flow::Branch(_) => {
                let pending = &mut self.pending;
                let mut count = 0;
                self.graph.successors(state.at, |at| {
                    count += 1;
                    pending.push(State { at, ..state });
                });
                // A branch out of what is seen.
                (count > 0).then_some(())
            }
        }
    }

    fn next(&mut self, state: State) {
        self.pending.extend(self.graph.offset(state.at, 4).map(|at| State { at, ..state }));
    }

    /// A function that is not seen gets no argument in the register.
    fn is_unknown_to_others(&self) -> Option<()> {
        let build = &self.graph.image.build;
        let passed = if build.is_go || build.go_version.is_some() { PASSED_BY_GO } else { PASSED };
        (self.wanted & passed == 0).then_some(())
    }

    /// Through a table, to places that pointers lead to in the same function, or to another function.
    fn jump(&mut self, state: State) -> Option<()> {
        if let Some(targets) = self.jumps.of_table(state.at) {
            self.pending.extend(targets.iter().map(|&at| State { at, ..state }));
            return Some(());
        }
        if self.jumps.unresolved_around(state.at).is_some() {
            return None;
        }
        let exposed = self.graph.exposed_in(self.graph.function(state.at));
        self.pending.extend(exposed.iter().map(|&at| State { at, ..state }));
        self.is_unknown_to_others()?;
        self.leave(state)
    }

    /// Returns to all callers.
    fn leave(&mut self, state: State) -> Option<()> {
        let Some(within) = state.returns_from else { return Some(()) };
        // No caller expects anything in what a veneer may have overwritten on the path to the function.
        if self.wanted & VENEER != 0 {
            return Some(());
        }
        let callers = callers(self.graph, self.jumps, within)?;
        if callers.others {
            self.is_unknown_to_others()?;
            (self.wanted & callers.overwritten & !KEPT != 0).then_some(())?;
        }
        self.callers += callers.calls.len();
        if self.callers > CALLERS {
            return None;
        }
        for call in callers.calls {
            self.next(State { at: call, returns_from: Some(call) });
        }
        Some(())
    }
}

/// Who calls the function around a place; `None`: too much to follow.
fn callers(graph: &Graph<'_>, jumps: &Jumps, within: CodeOffset) -> Option<Callers> {
    let (mut seen, mut pending) = (FxHashSet::default(), vec![within]);
    let mut found = Callers { calls: Vec::new(), others: false, overwritten: 0 };
    while let Some(at) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        if seen.len() > MOST {
            return None;
        }
        found.calls.extend(graph.calls(at));
        found.others |= graph.is_exposed(at);
        graph.predecessors(at, |before| pending.push(before));
    }
    found.others |= found.calls.is_empty();
    if found.others {
        let own = graph.function(within);
        let is_entered = |at: &CodeOffset| graph.is_exposed(*at) || graph.calls(*at).next().is_some();
        let entries = seen.iter().copied().filter(is_entered).chain([own.0]).collect();
        found.overwritten = overwritten(graph, own, &seen) & !read_first(graph, jumps, entries);
    }
    Some(found)
}

/// Registers that may be read before they are written, from some places on; calls are passed. Where a function keeps one, by
/// whatever means, it reads it first.
fn read_first(graph: &Graph<'_>, jumps: &Jumps, entries: Vec<CodeOffset>) -> u32 {
    let mut found = 0;
    let mut pending: Vec<(CodeOffset, u32)> = entries.into_iter().map(|at| (at, ALL)).collect();
    // Registers that may be as at an entry, by place.
    let mut incoming: FxHashMap<CodeOffset, u32> = FxHashMap::default();
    while let Some((at, mask)) = pending.pop() {
        if incoming.len() > MOST {
            return ALL;
        }
        let known = incoming.entry(at).or_default();
        let new = mask & !*known;
        *known |= new;
        let Some(word) = graph.word(at).filter(|_| new != 0) else { continue };
        let named = fields::registers(word);
        found |= named.reads & new;
        let rest = new & !named.kills;
        match fields::flow(word) {
            _ if rest == 0 => {}
            Flow::Stop | Flow::Return => {}
            Flow::Call(_) | Flow::IndirectCall => {
                pending.extend(graph.offset(at, 4).map(|next| (next, rest)));
            }
            Flow::IndirectJump => {
                let exposed = || graph.exposed_in(graph.function(at));
                let targets = jumps.of_table(at).unwrap_or_else(exposed);
                pending.extend(targets.iter().map(|&to| (to, rest)));
            }
            Flow::Next | Flow::Jump(_) | Flow::Branch(_) => {
                graph.successors(at, |next| pending.push((next, rest)));
            }
        }
    }
    found
}

/// Registers that a function overwrites.
fn overwritten(
    graph: &Graph<'_>,
    (start, end): (CodeOffset, CodeOffset),
    before: &FxHashSet<CodeOffset>,
) -> u32 {
    let own = start.words_until(end).take(MOST).chain(before.iter().copied());
    own.filter_map(|at| graph.word(at)).fold(0, |written, word| {
        let named = fields::registers(word);
        // Through a register, or to where the file ends, whatever a call may overwrite is.
        let is_call = matches!(fields::flow(word), Flow::IndirectCall);
        written | if is_call { named.writes } else { named.kills }
    })
}

/// From which bit on a register is zero wherever control comes to a place; 64 where nothing is known.
pub(crate) fn zero_from(graph: &Graph<'_>, at: CodeOffset, register: u8) -> u8 {
    let wanted = one(register);
    let (mut seen, mut pending, mut highest) = (FxHashSet::default(), vec![at], 0);
    while let Some(at) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        // Something that is not seen comes here with anything in the register.
        if seen.len() > MOST || graph.is_entry(at) || graph.calls(at).next().is_some() {
            return 64;
        }
        let mut count = 0;
        graph.predecessors(at, |before| {
            count += 1;
            let Some(word) = graph.word(before) else { return highest = 64 };
            let named = fields::registers(word);
            let is_call = matches!(fields::flow(word), Flow::Call(_) | Flow::IndirectCall);
            if named.writes & wanted == 0 && !(is_call && wanted & 0x7_ffff != 0) {
                pending.push(before);
            } else {
                highest = highest.max(zero_from_write(word, register));
            }
        });
        if count == 0 {
            return 64;
        }
    }
    highest
}

/// From which bit on an instruction leaves zeros in the register that it writes.
fn zero_from_write(word: u32, register: u8) -> u8 {
    let is_its = fields::registers(word).kills == one(register) && word & 31 == u32::from(register);
    if !is_its {
        return 64;
    }
    let bits = |high: u32, low: u32| word >> low & ((1 << (high - low + 1)) - 1);
    let width = if word >> 31 == 1 { 64 } else { 32 };
    match word {
        // ldr, ldrh and ldrb of every mode: opc 01; ldapr, and exclusives or ordered loads of one register.
        _ if word & 0x3ec0_0000 == 0x3840_0000 || word & 0x3fff_fc00 == 0x38bf_c000 => 8 << (word >> 30),
        _ if word & 0x3f60_0000 == 0x0840_0000 => 8 << (word >> 30),
        // movz
        _ if word & 0x7f80_0000 == 0x5280_0000 => {
            let shift = (16 * bits(22, 21)) as u8;
            let length = (32 - bits(20, 5).leading_zeros()) as u8;
            if length == 0 { 0 } else { (shift + length).min(width) }
        }
        // and with a run of ones from bit 0 on
        _ if word & 0x7f80_0000 == 0x1200_0000 && bits(21, 16) == 0 => {
            let of_width = if width == 64 { bits(22, 22) == 1 } else { bits(15, 15) == 0 };
            if of_width { bits(15, 10) as u8 + 1 } else { width }
        }
        // ubfm: a field, or shifted left
        _ if word & 0x7f80_0000 == 0x5300_0000 => {
            let (immr, imms) = (bits(21, 16) as u8, bits(15, 10) as u8);
            if imms >= immr { imms - immr + 1 } else { width - immr + imms + 1 }
        }
        // cset: csinc of the zero register with itself
        _ if word & 0x7fff_0fe0 == 0x1a9f_07e0 => 1,
        // adr makes 64 bits
        _ if word & 0x9f00_0000 == 0x1000_0000 => 64,
        _ if word >> 31 == 0 && matches!(word >> 25 & 15, 0b0101 | 0b1101 | 0b1000 | 0b1001) => 32,
        _ => 64,
    }
}
