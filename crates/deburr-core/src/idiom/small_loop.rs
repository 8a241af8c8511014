//! Small innermost loops, and how many lines of code each is in.
//!
//! In: the short loops that a sweep noted. Out: [`SmallLoop`]s, in which control stays within their own bytes.
//! A line is what the front end of the processor takes at once, or keeps decoded: [`LINE`] bytes, aligned.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::{Program, block};
use crate::image::{Image, Kind};
use crate::insn::sweep::BackEdge;
use crate::insn::{self, Class, ClassSet, Flow, Insn};
use rayon::prelude::*;

/// Bytes of a line.
pub const LINE: u64 = 32;
/// Maximum number of bytes of a small loop.
pub const SMALL: u64 = 64;

/// An innermost loop, from the instruction that it comes back to until after the jump that closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallLoop {
    /// Its instructions.
    pub extent: Extent,
    /// How many they are.
    pub instructions: u32,
}

impl SmallLoop {
    /// How many lines of so many bytes it is in.
    pub const fn lines(&self, line: u64) -> u64 {
        (self.extent.end.0 - 1) / line - self.extent.start.0 / line + 1
    }

    /// Its instructions, by address.
    pub fn body(&self, image: &Image<'_>, program: &Program) -> Vec<Insn> {
        block::decode_run(image, program, self.extent).collect()
    }

    /// How many of them its size demands.
    pub const fn fewest_lines(&self, line: u64) -> u64 {
        self.extent.len().div_ceil(line)
    }
}

/// Whether the place of code within its lines is known: in a relocatable object only in sections that are aligned to a line.
pub fn is_placed(image: &Image<'_>, at: Svma) -> bool {
    image.kind != Kind::Relocatable || image.code_at(at).is_some_and(|code| code.alignment >= LINE)
}

/// What a loop waits for, or does elsewhere, so that fetching its instructions is not what it spends time on.
const ELSEWHERE: ClassSet = ClassSet::of(&[
    Class::LoadExclusive,
    Class::StoreExclusive,
    Class::LseAtomic,
    Class::LockedAtomic,
    Class::Barrier,
    Class::InstructionBarrier,
    Class::SpinHint,
    Class::WaitEvent,
    Class::FeatureQuery,
    Class::SystemCall,
]);

/// The innermost loops of at most `bytes` bytes, which is at most [`SHORT_LOOP`], by address. Those in parts of functions (`.cold`) are
/// left out.
///
/// [`SHORT_LOOP`]: crate::insn::sweep::SHORT_LOOP
pub fn small_loops(image: &Image<'_>, program: &Program, bytes: u64) -> Vec<SmallLoop> {
    let mut edges: Vec<BackEdge> = program.back_edges().collect();
    // Of jumps back to one place, the furthest closes the loop.
    edges.sort_unstable_by_key(|edge| (edge.to, std::cmp::Reverse(edge.from)));
    edges.dedup_by_key(|edge| edge.to);
    let is_innermost = |(index, edge): &(usize, &BackEdge)| {
        // A loop inside begins later and is closed earlier.
        let inside = edges.get(index + 1..).unwrap_or_default().iter();
        !inside.take_while(|other| other.to <= edge.from).any(|other| other.from <= edge.from)
    };
    let innermost = edges.par_iter().enumerate().filter(is_innermost);
    innermost.filter_map(|(_, edge)| small_loop(image, program, (edge.to, edge.from), bytes)).collect()
}

fn small_loop(
    image: &Image<'_>,
    program: &Program,
    (to, from): (CodeOffset, CodeOffset),
    bytes: u64,
) -> Option<SmallLoop> {
    let function = program.function_at(from).filter(|function| function.contains(to))?;
    let start = image.svma(to);
    if function.is_part() || u64::from(from - to) > bytes || program.is_data(to) {
        return None;
    }
    let insns = decode_until(image, start, image.svma(from))?;
    let extent = Extent { start, end: insns.last()?.next() };
    (extent.len() <= bytes && returns_to_start(&insns))
        .then_some(SmallLoop { extent, instructions: insns.len() as u32 })
}

/// The instructions from `start` to the one at `last`; `None` if none begins there, or one does its work elsewhere.
fn decode_until(image: &Image<'_>, start: Svma, last: Svma) -> Option<Vec<Insn>> {
    let mut insns: Vec<Insn> = Vec::new();
    let mut at = start;
    while at <= last {
        let insn = insn::decode(image.arch, image.bytes_at(at)?, at)?;
        let calls = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        if calls || ELSEWHERE.contains(insn.class) {
            return None;
        }
        at = insn.next();
        insns.push(insn);
    }
    insns.last().is_some_and(|insn| insn.svma == last).then_some(insns)
}

/// Whether control comes from the first instruction to the last, which goes back to the first, without leaving.
fn returns_to_start(insns: &[Insn]) -> bool {
    let mut reached = vec![false; insns.len()];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    // All jumps inside lead forward, except those to the first instruction.
    for (index, insn) in insns.iter().enumerate() {
        if reached.get(index) != Some(&true) {
            continue;
        }
        let ahead = match insn.flow {
            Flow::Jump(target) | Flow::Branch(target) => {
                insns.binary_search_by_key(&target, |insn| insn.svma).ok()
            }
            _ => None,
        };
        let next = insn.flow.falls_through().then_some(index + 1);
        for index in [ahead, next].into_iter().flatten() {
            if let Some(reached) = reached.get_mut(index) {
                *reached = true;
            }
        }
    }
    reached.last() == Some(&true)
}
