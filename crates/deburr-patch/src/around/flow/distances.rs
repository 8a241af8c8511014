//! Patch stage: what jumps beside code add to pointers.
//!
//! In: the instructions beside code, and where control comes to them. Out: [`Distances`]: the constants that a jump there may have added to
//! a pointer that it took from elsewhere. A forward analysis: for each register the sums that it may be away from such a pointer.

use super::edges;
use deburr_core::address::Svma;
use deburr_core::image::Image;
use deburr_core::insn::{self, Flow, Insn, Operation, Reg};
use std::collections::HashMap;

/// Sums that a register may have; one with more may have any.
const SUMS: usize = 8;

/// Instructions that are followed, of some 2 KiB each; where there are more, a jump may add any.
const MOST: usize = 1 << 16;

/// The constants that jumps add to pointers.
#[derive(Debug, Default)]
pub(crate) struct Distances {
    /// In bytes, each with a jump, sorted.
    pub(crate) known: Vec<(i64, Svma)>,
    /// A jump that may add any.
    pub(crate) unknown: Option<Svma>,
}

/// How far a register may be from a pointer that the code has not made.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Away {
    /// In bytes, sorted; none, where the code has made the address.
    By(Vec<i64>),
    Any,
}

/// Of all general registers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State(Vec<Away>);

impl Distances {
    /// Follows all paths from some places. `word`: the instruction at a place, where there is one.
    pub(crate) fn of(image: &Image<'_>, starts: &[Svma], word: impl Fn(Svma) -> Option<u32>) -> Distances {
        let mut states: HashMap<Svma, State> = HashMap::new();
        let mut pending: Vec<(Svma, State)> = starts.iter().map(|&at| (at, State::unknown())).collect();
        let mut found = Distances::default();
        while let Some((at, new)) = pending.pop() {
            if states.len() > MOST {
                found.unknown = Some(at);
                break;
            }
            let Some(word) = word(at) else { continue };
            let state = match states.get_mut(&at) {
                Some(before) => match before.join(&new) {
                    true => before.clone(),
                    false => continue,
                },
                None => states.entry(at).or_insert(new).clone(),
            };
            let bytes = word.to_le_bytes();
            let Some(insn) = insn::decode(image.arch, &bytes, at) else { continue };
            if edges::is_indirect_jump(word) || edges::is_indirect_call(word) || edges::is_return(word) {
                found.add(at, state.of((word >> 5 & 31) as u8));
            }
            let after = state.after(&insn);
            pending.extend(edges::distance(word).map(|distance| (at.offset(distance), after.clone())));
            if edges::falls_through(word) {
                pending.push((at.offset(4), after));
            }
        }
        found.known.sort_unstable();
        found.known.dedup_by_key(|(by, _)| *by);
        found
    }

    fn add(&mut self, jump: Svma, away: &Away) {
        match away {
            Away::Any => self.unknown = Some(self.unknown.map_or(jump, |other| other.min(jump))),
            Away::By(sums) => {
                self.known.extend(sums.iter().filter(|by| **by % 4 == 0 && **by != 0).map(|&by| (by, jump)));
            }
        }
    }
}

impl Away {
    /// A pointer from elsewhere.
    fn pointer() -> Away {
        Away::By(vec![0])
    }

    fn plus(&self, by: i64) -> Away {
        match self {
            Away::Any => Away::Any,
            Away::By(sums) => Away::By(sums.iter().map(|sum| sum.wrapping_add(by)).collect()),
        }
    }

    /// Takes in what it may be otherwise; whether that is new.
    fn join(&mut self, other: &Away) -> bool {
        let (Away::By(sums), Away::By(more)) = (&mut *self, other) else {
            let is_new = *self != Away::Any && *other == Away::Any;
            if is_new {
                *self = Away::Any;
            }
            return is_new;
        };
        let before = sums.len();
        sums.extend(more);
        sums.sort_unstable();
        sums.dedup();
        let after = sums.len();
        if after > SUMS {
            *self = Away::Any;
        }
        after > before
    }
}

impl State {
    /// Where nothing is known: every register may have a pointer.
    fn unknown() -> State {
        State(vec![Away::pointer(); 31])
    }

    fn of(&self, number: u8) -> &Away {
        static MADE: Away = Away::By(Vec::new());
        self.0.get(usize::from(number)).unwrap_or(&MADE)
    }

    fn join(&mut self, other: &State) -> bool {
        let pairs = self.0.iter_mut().zip(&other.0);
        pairs.fold(false, |is_new, (here, there)| here.join(there) || is_new)
    }

    /// After an instruction.
    fn after(mut self, insn: &Insn) -> State {
        let calls = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        let source = insn.src.first().copied().flatten().and_then(Reg::general_number);
        let is_whole =
            insn.width == 8 && insn.memory.is_none() && insn.src.get(1).copied().flatten().is_none();
        let made = match (insn.operation, source, insn.imm) {
            (Operation::Address, _, _) => Away::By(Vec::new()),
            (Operation::Move, Some(source), None) if is_whole => self.of(source).clone(),
            (Operation::Add, Some(source), Some(by)) if is_whole => self.of(source).plus(by),
            (Operation::Sub, Some(source), Some(by)) if is_whole => self.of(source).plus(by.wrapping_neg()),
            _ => Away::pointer(),
        };
        for (number, away) in (0_u8..).zip(&mut self.0) {
            let is_kept = calls && (19..=29).contains(&number);
            if insn.dst == Some(Reg::general(number)) {
                *away = made.clone();
            } else if insn.writes.contains(Reg::general(number)) && !is_kept {
                // A write-back moves what the register had.
                let moved = insn
                    .memory
                    .filter(|memory| memory.write_back && memory.base == Some(Reg::general(number)));
                *away = moved.map_or_else(Away::pointer, |_| Away::Any);
            } else if calls && !is_kept {
                *away = Away::pointer();
            }
        }
        self
    }
}
