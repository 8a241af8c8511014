//! Loops with `yield` in them.
//!
//! In: the spin hints that the sweep marked in A64 code. Out: [`Hint`]s, those (the first of each row) around which
//! control can come back without a call or a system call in between. A loop that calls does something else while it
//! waits.

use crate::address::Svma;
use crate::function::Program;
use crate::function::atomics::Atomics;
use crate::function::block::{Graph, RecentGraph};
use crate::image::Image;
use crate::insn::{Class, Flow, Insn, Reg};
use deburr_cpu::Arch;

/// Bytes of a `yield`.
const LENGTH: u32 = 4;
/// Maximum number of instructions of the path from a `yield` back to it.
const LONGEST: usize = 64;

/// What a loop with a `yield` in it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Tries an atomic operation.
    Retry,
    /// Loads.
    Wait,
    /// Neither: it only takes time.
    Delay,
}

impl Purpose {
    /// Its name in the evidence.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Retry => "retry",
            Purpose::Wait => "wait",
            Purpose::Delay => "delay",
        }
    }
}

/// A `yield` in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// The `yield`.
    pub at: Svma,
    /// What the shortest loop around it does.
    pub purpose: Purpose,
}

/// Every `yield` in a short loop, by address, of several in a row the first. There are none in the Linux kernel and its
/// modules, where one macro has it, nor in other code than A64.
pub fn hints(image: &Image<'_>, program: &Program, atomics: &Atomics) -> Vec<Hint> {
    if image.arch != Arch::Aarch64 || image.build.is_linux_kernel {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut recent = RecentGraph::default();
    let mut after = None;
    for mark in program.marks().filter(|mark| mark.class == Class::SpinHint) {
        if program.function_at(mark.at).is_none() {
            continue;
        }
        let at = image.svma(mark.at);
        // Of several in a row, the first represents all.
        if after == Some(mark.at) {
            after = Some(mark.at + LENGTH);
            continue;
        }
        after = Some(mark.at + LENGTH);
        let Some((_, graph, ())) = recent.around(image, program, mark.at, |_| ()) else { continue };
        found.extend(purpose(graph, atomics, at).map(|purpose| Hint { at, purpose }));
    }
    found
}

/// What the shortest path from the `yield` back to it does; `None` if there is none.
fn purpose(graph: &Graph, atomics: &Atomics, at: Svma) -> Option<Purpose> {
    let (home, _) = graph.find(at)?;
    let insns = |block: usize| graph.blocks.get(block).map_or(&[][..], |block| &block.insns);
    let is_atomic_call = |insn: &Insn| {
        let calls = &atomics.calls;
        calls.binary_search_by_key(&insn.svma, |call| call.from).is_ok()
    };
    let goes_elsewhere = |insn: &Insn| {
        let calls = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall) && !is_atomic_call(insn);
        calls || insn.flow == Flow::IndirectJump || insn.class == Class::SystemCall
    };
    let blocks = graph.back_to(home, LONGEST, goes_elsewhere)?;
    let mut around = blocks.iter().flat_map(|&block| insns(block));
    Some(purpose_of(&mut around, is_atomic_call))
}

pub(super) fn purpose_of(
    around: &mut dyn Iterator<Item = &Insn>,
    is_atomic_call: impl Fn(&Insn) -> bool,
) -> Purpose {
    around.fold(Purpose::Delay, |purpose, insn| match insn.class {
        Class::LseAtomic | Class::LoadExclusive => Purpose::Retry,
        _ if is_atomic_call(insn) => Purpose::Retry,
        // What is in the frame is a count.
        Class::Load if purpose == Purpose::Delay && !is_of_stack(insn) => Purpose::Wait,
        _ => purpose,
    })
}

fn is_of_stack(load: &Insn) -> bool {
    load.memory.is_some_and(|memory| memory.base == Some(Reg::SP))
}
