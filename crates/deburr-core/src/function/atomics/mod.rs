//! How atomics were compiled for AArch64: outlined helpers, their callers, and load-exclusive/store-exclusive
//! sequences with what each computes and why it is there.
//!
//! In: the marks of a sweep. Out: [`Atomics`], the facts that the rules on atomics report. Nothing here needs
//! symbols. The shapes are those that gcc, clang, rustc and Go emit for the C11 operations; the helpers are
//! libgcc's `lse.S` and compiler-rt's `outline_atomic_helpers`.

mod again;
mod barrier;
mod cas_loop;
mod fate;
pub(crate) mod helper;
mod path;
mod sequence;

pub use barrier::{AtomicBarrier, BarrierKind, WANTS as BARRIER_WANTS, atomic_barriers, is_mfence};
pub use cas_loop::{CasForm, CasLoop, WANTS as CAS_WANTS, cas_loops};
pub use helper::{Helper, HelperCall, is_helper_name};
pub use sequence::{Fate, Operation, Sequence, exclusive_runs};

use super::Program;
use super::block::RecentGraph;
use super::loops::natural_loops;
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::image::Image;
use crate::insn::{Class, ClassSet};
use deburr_cpu::Arch;
use fate::Fates;
use sequence::pair;

/// The classes that a sweep must mark for [`atomics`].
pub const WANTS: ClassSet = ClassSet::of(&[Class::LoadExclusive, Class::LseAtomic]);

/// How the atomics of a file were compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Atomics {
    /// Bodies of outlined helpers, by address.
    pub helpers: Vec<Helper>,
    /// Calls of outlined helpers, by address.
    pub calls: Vec<HelperCall>,
    /// Load-exclusive/store-exclusive sequences outside helpers, by address of the load.
    pub sequences: Vec<Sequence>,
    /// LSE instructions outside helpers.
    pub inline_lse: u64,
    /// Load-exclusives without a store-exclusive that matches: other uses of the monitor, or data.
    pub unpaired: u64,
}

/// Finds the atomics of an AArch64 file; of other files there are none to find.
pub fn atomics(image: &Image<'_>, program: &Program) -> Atomics {
    if image.arch != Arch::Aarch64 {
        return Atomics::default();
    }
    let helpers = helper::find(image, program);
    let calls = helper::calls(image, program, &helpers);
    let outside = |class| {
        program
            .marks()
            .filter(move |mark| mark.class == class)
            .filter(|mark| !is_in_helper(&helpers, image.svma(mark.at)))
    };
    let loads: Vec<_> = outside(Class::LoadExclusive).map(|mark| mark.at).collect();
    let is_outlined = !helpers.is_empty() || !calls.is_empty();
    let (sequences, unpaired) = paired(image, program, &loads, is_outlined);
    Atomics { inline_lse: outside(Class::LseAtomic).count() as u64, helpers, calls, sequences, unpaired }
}

/// The sequences of the load-exclusives at the given offsets (sorted), and how many of these have no partner.
fn paired(
    image: &Image<'_>,
    program: &Program,
    loads: &[CodeOffset],
    is_outlined: bool,
) -> (Vec<Sequence>, u64) {
    let fates = Fates::new(image, program, is_outlined);
    let mut sequences = Vec::with_capacity(loads.len());
    let mut unpaired = 0;
    let mut recent = RecentGraph::default();
    for &at in loads {
        let Some((function, graph, loops)) = recent.around(image, program, at, natural_loops) else {
            continue;
        };
        match pair(graph, image.svma(at)) {
            Some(pair) => {
                let mut sequence = pair.describe(graph, loops);
                sequence.fate = fates.of(function, graph, &pair, &sequence);
                sequences.push(sequence);
            }
            None => unpaired += 1,
        }
    }
    (sequences, unpaired)
}

/// Whether an address is in one of some helper bodies, sorted by address.
fn is_in_helper(helpers: &[Helper], at: Svma) -> bool {
    let after = helpers.partition_point(|helper| helper.extent.start <= at);
    after.checked_sub(1).and_then(|i| helpers.get(i)).is_some_and(|helper| helper.extent.contains(at))
}
