//! Patch stage, audit: whether a barrier next to an atomic may go.
//!
//! In: a graph, and the place of a `dmb ish`. Out: what it is still for. An LSE instruction with acquire and
//! release that always writes orders what an explicit access to memory is (Arm ARM, B2.3.3), and only for who
//! comes through it. Cache maintenance, tags and accesses of 64 bytes are ordered by the barrier alone, at
//! any distance; so with such instructions anywhere in the file all barriers stay.

use super::graph::Graph;
use deburr_core::address::CodeOffset;

/// The atomic that makes a barrier needless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Neighbour {
    /// It runs before the barrier: nothing may come to the barrier but from it.
    Before,
    /// It runs after the barrier, which goes on to nowhere else.
    After,
}

/// `ld<op>al` or `swpal`, with a destination.
const fn is_full(word: u32) -> bool {
    let is_atomic = word & 0x3fe0_0c00 == 0x38e0_0000;
    is_atomic && word >> 12 & 15 <= 8 && word & 31 != 31
}

/// The atomic on one side of a barrier.
pub(crate) fn neighbour(graph: &Graph<'_>, barrier: CodeOffset) -> Option<Neighbour> {
    let is_full_at =
        |bytes: i64| graph.offset(barrier, bytes).and_then(|at| graph.word(at)).is_some_and(is_full);
    // After the barrier is better: then it does not matter who comes to the barrier.
    match (is_full_at(4), is_full_at(-4)) {
        (true, _) => Some(Neighbour::After),
        (false, true) => Some(Neighbour::Before),
        (false, false) => None,
    }
}

/// Instructions of a file that only a barrier orders, or that are not known.
pub(crate) fn ordered_by_barriers_alone(graph: &Graph<'_>) -> Vec<CodeOffset> {
    let mut found = graph.find(is_ordered_by_barriers_alone);
    found.truncate(1);
    found
}

fn is_ordered_by_barriers_alone(word: u32) -> bool {
    // sys and sysl: op0 01. dc zva stores zeros as stores do.
    let is_system = word & 0xffd8_0000 == 0xd508_0000 && word & 0xffff_ffe0 != 0xd50b_7420;
    // sysp
    let is_pair = word & 0xffe8_0000 == 0xd548_0000;
    // Memory tags (bits 29 to 21 are 0110.1..1, with stgm and ldg), and stgp.
    let is_tag = word & 0xff20_0000 == 0xd920_0000 || word & 0xfe40_0000 == 0x6800_0000;
    // ld64b, st64b, st64bv, st64bv0
    let is_wide = word & 0xffe0_0c00 == 0xf820_0000 && matches!(word >> 12 & 15, 0b1001..=0b1011 | 0b1101);
    is_system || is_pair || is_tag || is_wide
}
