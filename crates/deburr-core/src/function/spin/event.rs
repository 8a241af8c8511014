//! Loops that pause by `wfe` and that no event ends.
//!
//! In: what the sweep marked in A64 code. Out: [`EventWait`]s. `wfe` sleeps until an event comes. A store of another
//! processor is one if this one had marked the location by a load-exclusive (Arm ARM, D1.6.1 and B2.17), and `sev` is
//! one. A loop with neither sleeps until the next event of the kernel's timer, an interrupt, or somebody else's event.

use super::hint::{Purpose, purpose_of};
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::atomics::Atomics;
use crate::function::block::{Block, Graph, RecentGraph};
use crate::image::Image;
use crate::insn::{Class, Condition, Flow, Insn, Operation, Reg};
use deburr_cpu::Arch;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// `wfe`.
const WFE: u32 = 0xd503_205f;
/// `sev`, to all processors.
const SEV: u32 = 0xd503_209f;
/// `sevl`, to this processor.
const SEVL: u32 = 0xd503_20bf;
/// Maximum number of instructions of the path from a `wfe` back to it.
const LONGEST: usize = 64;
/// Maximum number of states of the search for such a path.
const MAX_STATES: usize = 4096;

/// A `wfe` in a loop that no event ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventWait {
    /// The `wfe`.
    pub at: Svma,
    /// What the shortest such loop around it does.
    pub purpose: Purpose,
    /// From that loop's first instruction to the end of its last.
    pub extent: Extent,
}

/// Every such `wfe`, by address; none in a file with a `sev`, which somebody may wait for.
pub fn event_waits(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<EventWait> {
    if image.arch != Arch::Aarch64 {
        return Vec::new();
    }
    let word = |at: Svma| image.word_at(at);
    let marks = program.marks().filter(|mark| mark.class == Class::WaitEvent);
    let marks: Vec<Svma> = marks.map(|mark| image.svma(mark.at)).collect();
    if marks.iter().any(|&at| word(at) == Some(SEV)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut recent = RecentGraph::default();
    for at in marks.into_iter().filter(|&at| word(at) == Some(WFE)) {
        let Some(offset) = image.code_offset(at) else { continue };
        let Some((_, graph, ())) = recent.around(image, program, offset, |_| ()) else { continue };
        let is_atomic_call = |insn: &Insn| {
            let calls = &atomics.calls;
            calls.binary_search_by_key(&insn.svma, |call| call.from).is_ok()
        };
        found.extend(event_wait(graph, at, &word, &is_atomic_call));
    }
    found
}

/// What a loop around a `wfe` does in which it may be reached with no location marked; `None` if there is none.
fn event_wait(
    graph: &Graph,
    at: Svma,
    word: &dyn Fn(Svma) -> Option<u32>,
    is_atomic_call: &dyn Fn(&Insn) -> bool,
) -> Option<EventWait> {
    let (home, index) = graph.find(at)?;
    let is_barred = |insn: &Insn| {
        let calls = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall) && !is_atomic_call(insn);
        calls || insn.flow == Flow::IndirectJump || insn.class == Class::SystemCall
    };
    let ahead = ahead(graph, home, &is_barred);
    let blocks = unmarked(graph, (home, index), &ahead, word)?;
    let insns = || blocks.iter().filter_map(|&block| graph.blocks.get(block)).flat_map(|block| &block.insns);
    // A loop without an exit halts the processor on purpose.
    let may_end = insns().any(|insn| matches!(insn.flow, Flow::Branch(_)));
    let (start, end) = (insns().map(|insn| insn.svma).min()?, insns().map(Insn::next).max()?);
    let tries = insns().any(|insn| insn.class == Class::StoreExclusive);
    let purpose = if tries { Purpose::Retry } else { purpose_of(&mut insns(), is_atomic_call) };
    may_end.then_some(EventWait { at, purpose, extent: Extent { start, end } })
}

/// The blocks that run after a block, as far as a loop may go that does nothing else.
fn ahead(graph: &Graph, home: usize, is_barred: &dyn Fn(&Insn) -> bool) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut pending = VecDeque::from([(home, 0)]);
    while let Some((at, before)) = pending.pop_front() {
        let Some(block) = graph.blocks.get(at) else { continue };
        let length = before + block.insns.len();
        if length > LONGEST || block.insns.iter().any(is_barred) || !found.insert(at) {
            continue;
        }
        pending.extend(block.successors.iter().map(|&next| (next, length)));
    }
    found
}

/// What is known at a place of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    /// Whether a location is marked, or an event is there.
    is_marked: bool,
    /// Whether registers are zero, by register and width in bytes, where a branch has told.
    zero: BTreeMap<(Reg, u8), bool>,
    /// The register that the flags compare with zero.
    compared: Option<(Reg, u8)>,
    /// The zero flag.
    is_equal: Option<bool>,
}

impl Known {
    fn step(&mut self, insn: &Insn, word: &dyn Fn(Svma) -> Option<u32>) {
        self.zero.retain(|&(reg, _), _| !insn.writes.contains(reg));
        if insn.writes.contains(Reg::FLAGS) {
            (self.compared, self.is_equal) = (None, None);
        }
        if self.compared.is_some_and(|(reg, _)| insn.writes.contains(reg)) {
            self.compared = None;
        }
        if let (Operation::Compare, Some(0), Some(reg)) = (insn.operation, insn.imm, insn.src[0]) {
            let compared = (reg, insn.width);
            (self.compared, self.is_equal) = (Some(compared), self.zero.get(&compared).copied());
        }
        match insn.class {
            Class::LoadExclusive => self.is_marked = true,
            // The mark of a location is cleared, whether the store succeeds or not.
            Class::StoreExclusive | Class::ClearExclusive => self.is_marked = false,
            Class::WaitEvent => self.is_marked |= word(insn.svma) == Some(SEVL),
            _ => {}
        }
    }

    /// The same after a branch; `None` where it contradicts what is known.
    fn after(mut self, branch: &Insn, is_taken: bool) -> Option<Known> {
        let is_zero = match branch.condition {
            Some(Condition::Equal) => is_taken,
            Some(Condition::NotEqual) => !is_taken,
            _ => return Some(self),
        };
        let compared = match branch.operation {
            Operation::BranchZero => branch.src[0].map(|reg| (reg, branch.width)),
            Operation::BranchCondition => {
                if self.is_equal.replace(is_zero) == Some(!is_zero) {
                    return None;
                }
                self.compared
            }
            _ => None,
        };
        let before = compared.and_then(|compared| self.zero.insert(compared, is_zero));
        (before != Some(!is_zero)).then_some(self)
    }
}

/// The blocks of a path from a `wfe` back to it, within those that run after it, that comes there with no location marked:
/// one without exclusives, which tells more, or the first. `None` where each path passes a load-exclusive or a `sevl` last.
/// Paths that test the same for zero twice, with different outcomes, do not exist: a compare-and-swap of exclusives that found
/// another value has stored nothing.
fn unmarked(
    graph: &Graph,
    (home, index): (usize, usize),
    ahead: &BTreeSet<usize>,
    word: &dyn Fn(Svma) -> Option<u32>,
) -> Option<Vec<usize>> {
    let insns = |block: usize| graph.blocks.get(block).map_or(&[][..], |block| &block.insns);
    if !ahead.contains(&home) {
        return None;
    }
    let mut seen: BTreeSet<(usize, Known)> = BTreeSet::new();
    // Blocks with what is known where they begin, and the place of the one before.
    let mut reached: Vec<(usize, Known, Option<usize>)> = vec![(home, Known::default(), None)];
    let mut first = None;
    let mut next = 0;
    while let Some((block, mut known, _)) = reached.get(next).cloned() {
        let run = if next == 0 { insns(home).get(index + 1..)? } else { insns(block) };
        let run = if next > 0 && block == home { run.get(..index)? } else { run };
        run.iter().for_each(|insn| known.step(insn, word));
        if next > 0 && block == home {
            let path: Vec<usize> = std::iter::successors(Some(next), |&at| reached.get(at)?.2)
                .filter_map(|at| reached.get(at).map(|it| it.0))
                .skip(1)
                .collect();
            let stores =
                path.iter().flat_map(|&block| insns(block)).any(|insn| insn.class == Class::StoreExclusive);
            match (known.is_marked, stores) {
                (false, false) => return Some(path),
                (false, true) => first = first.or(Some(path)),
                (true, _) => {}
            }
        } else {
            let branch = insns(block).last().filter(|insn| matches!(insn.flow, Flow::Branch(_)));
            let successors = graph.blocks.get(block).map_or(&[][..], |block| &block.successors);
            for &to in successors.iter().filter(|to| ahead.contains(to)) {
                let start = graph.blocks.get(to).map(Block::start);
                let known = match branch {
                    // Where both ways lead to one place, either may have been taken.
                    Some(branch) if successors.len() > 1 => known
                        .clone()
                        .after(branch, matches!(branch.flow, Flow::Branch(target) if Some(target) == start)),
                    _ => Some(known.clone()),
                };
                if let Some(known) = known.filter(|known| seen.insert((to, known.clone()))) {
                    reached.push((to, known, Some(next)));
                }
            }
        }
        next += 1;
        if reached.len() > MAX_STATES {
            break;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::decode;

    const RET: u32 = 0xd65f_03c0; // ret

    /// What the loop around the first `wfe` of some code does.
    fn purpose(words: &[u32]) -> Option<Purpose> {
        let at = |index: usize| Svma(0x1000 + 4 * index as u64);
        let insns = words
            .iter()
            .enumerate()
            .filter_map(|(index, word)| decode(Arch::Aarch64, &word.to_le_bytes(), at(index)));
        let graph = Graph::of_insns(insns.collect());
        let word = |svma: Svma| words.get((svma.0 as usize - 0x1000) / 4).copied();
        let wfe = words.iter().position(|&word| word == WFE)?;
        event_wait(&graph, at(wfe), &word, &|_| false).map(|wait| wait.purpose)
    }

    #[test]
    fn a_wait_by_a_plain_load_is_found_and_one_by_a_load_exclusive_is_not() {
        let back = 0x35ff_ffc1; // cbnz w1, #-8
        for load in [
            0xb940_0001, // ldr w1, [x0]
            0x88df_fc01, // ldar w1, [x0]
        ] {
            assert_eq!(purpose(&[WFE, load, back, RET]), Some(Purpose::Wait), "{load:#x}");
        }
        for load in [
            0x885f_7c01, // ldxr w1, [x0]
            0x885f_fc01, // ldaxr w1, [x0]
        ] {
            assert_eq!(purpose(&[WFE, load, back, RET]), None, "{load:#x}");
        }
    }

    #[test]
    fn an_exchange_marks_nothing() {
        // swpa w2, w1, [x0]; cbz w1, #12; wfe; b #-12
        assert_eq!(purpose(&[0xb8a2_8001, 0x3400_0061, WFE, 0x17ff_fffd, RET]), Some(Purpose::Retry));
    }

    #[test]
    fn a_test_before_the_try_is_what_waits() {
        // ldr w1, [x0]; cbnz w1, #20; ldaxr w1, [x0]; stxr w3, w2, [x0]; cbnz w3, #-16; ret; wfe; b #-28
        let words = [0xb940_0001, 0x3500_00a1, 0x885f_fc01, 0x8803_7c02, 0x35ff_ff83, RET, WFE, 0x17ff_fff9];
        assert_eq!(purpose(&words), Some(Purpose::Wait));
    }

    #[test]
    fn a_store_exclusive_clears_what_the_load_has_marked() {
        // ldaxr w1, [x0]; cbnz w1, #12; stxr w3, w2, [x0]; cbz w3, #12; wfe; b #-20
        let words = [0x885f_fc01, 0x3500_0061, 0x8803_7c02, 0x3400_0063, WFE, 0x17ff_fffb, RET];
        assert_eq!(purpose(&words), Some(Purpose::Retry));
        // The same, where a try that failed goes back to the load: cbnz w3, #-12; ret
        let words = [0x885f_fc01, 0x3500_0081, 0x8803_7c02, 0x35ff_ffa3, RET, WFE, 0x17ff_fffa];
        assert_eq!(purpose(&words), None);
    }

    #[test]
    fn a_halt_a_signal_and_a_call_are_none() {
        assert_eq!(purpose(&[WFE, 0x17ff_ffff]), None, "a halt"); // b #-4
        let load = 0xb940_0001; // ldr w1, [x0]
        // bl #64; cbnz w1, #-12
        assert_eq!(purpose(&[WFE, load, 0x9400_0010, 0x35ff_ffa1, RET]), None, "a call");
        assert_eq!(purpose(&[WFE, RET]), None, "no loop");
    }

    #[test]
    fn an_event_of_the_own_processor_ends_one_sleep() {
        let load = 0xb940_0001; // ldr w1, [x0]
        // cbnz w1, #-8: the first of several sleeps alone does not wait.
        assert_eq!(purpose(&[SEVL, WFE, load, 0x35ff_ffc1, RET]), Some(Purpose::Wait));
        // cbnz w1, #-12
        assert_eq!(purpose(&[SEVL, WFE, load, 0x35ff_ffa1, RET]), None);
        // ldaxr w1, [x0]; cbnz w1, #-8
        assert_eq!(purpose(&[SEVL, WFE, 0x885f_fc01, 0x35ff_ffc1, RET]), None);
    }

    #[test]
    fn a_swap_that_compares_and_found_another_value_leaves_the_mark() {
        // 1: ldaxr w1, [x0]; cbnz w1, 2f; stxr w3, w2, [x0]; cbnz w3, 1b; 2: cbz w1, 3f; wfe; b 1b; 3: ret
        let words = [0x885f_fc01, 0x3500_0061, 0x8803_7c02, 0x35ff_ffa3, 0x3400_0061, WFE, 0x17ff_fffa, RET];
        assert_eq!(purpose(&words), None);
        // The same by flags: cmp w1, #0; b.ne 2f; …; 2: b.eq 3f
        let words = [
            0x885f_fc01,
            0x7100_003f,
            0x5400_0061,
            0x8803_7c02,
            0x35ff_ff83,
            0x5400_0060,
            WFE,
            0x17ff_fff9,
            RET,
        ];
        assert_eq!(purpose(&words), None);
        // The same by another register, which tells nothing: 2: cbz w4, 3f
        let words = [0x885f_fc01, 0x3500_0061, 0x8803_7c02, 0x35ff_ffa3, 0x3400_0064, WFE, 0x17ff_fffa, RET];
        assert_eq!(purpose(&words), Some(Purpose::Retry));
    }

    #[test]
    fn a_mark_that_is_cleared_before_the_wait_is_none() {
        // ldaxr w1, [x0]; cbnz w1, #16; clrex; wfe; b #-16; ret
        assert_eq!(
            purpose(&[0x885f_fc01, 0x3500_0081, 0xd503_3f5f, WFE, 0x17ff_fffc, RET]),
            Some(Purpose::Retry)
        );
    }

    #[test]
    fn a_counted_delay_is_found() {
        // subs w0, w0, #1; b.ne #-8
        assert_eq!(purpose(&[WFE, 0x7100_0400, 0x54ff_ffc1, RET]), Some(Purpose::Delay));
    }
}
