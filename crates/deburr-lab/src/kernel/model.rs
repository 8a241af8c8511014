//! What a kernel is, and what of it can be checked.
//!
//! In: nothing. Out: [`Kernel`] and its [`Variant`]s, as data.

use super::data::pieces::Data;
use deburr_cpu::{Feature, FeatureSet};

/// Runs so many iterations, at least one, on a cell of [`CELL_BYTES`] bytes. The value is the thread's.
///
/// # Safety
/// The cell must be readable and writable by all threads that run on it, and the CPU must have what the variant needs.
pub type Body = unsafe extern "C" fn(cell: *mut u64, iterations: u64, value: u64) -> u64;

/// Bytes of a cell.
pub const CELL_BYTES: usize = 64;

/// A micro-benchmark.
#[derive(Debug)]
pub struct Kernel {
    /// Its name: `fetch-add`.
    pub name: &'static str,
    /// The suite that it belongs to: `atomics`.
    pub suite: &'static str,
    /// One line: what an operation is.
    pub summary: &'static str,
    /// What the first 32 bits of the cell are before.
    pub initial: u32,
    /// What they are after.
    pub after: After,
    /// Implementations of the same work; the first is what the others are compared with.
    pub variants: &'static [Variant],
}

/// One implementation of a kernel's work.
#[derive(Debug)]
pub struct Variant {
    /// Its name: `lock xadd`.
    pub name: &'static str,
    /// Features that it needs above the architecture's first level.
    pub needs: &'static [Feature],
    /// Its loop.
    pub body: Body,
}

/// What a cell's first 32 bits are after so many iterations of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// What they were.
    Same,
    /// What they were and the number of iterations.
    Sum,
    /// What they were less the number of iterations.
    Difference,
    /// All values together, by or.
    Union,
    /// The value of one thread.
    OneValue,
    /// The number of iterations; and after them, in the next 32 bits, the sum of what pieces of memory give.
    Results(Data),
}

impl Variant {
    /// What the CPU lacks for it.
    pub fn lacks(&self, features: FeatureSet) -> FeatureSet {
        FeatureSet::of(self.needs).minus(features)
    }
}

impl Kernel {
    /// Whether it is about a word that threads share.
    pub fn is_shared(&self) -> bool {
        matches!(self.suite, "atomics" | "locks")
    }

    /// What it reads apart from the cell.
    pub fn data(&self) -> Option<Data> {
        match self.after {
            After::Results(data) => Some(data),
            _ => None,
        }
    }

    /// Whether a cell's first 32 bits are what they must be after `iterations` by threads with these values.
    pub fn is_right(&self, found: u32, iterations: u64, values: &[u32]) -> bool {
        // The word wraps as the instructions do.
        let count = iterations as u32;
        match self.after {
            After::Same => found == self.initial,
            After::Sum | After::Results(_) => found == self.initial.wrapping_add(count),
            After::Difference => found == self.initial.wrapping_sub(count),
            After::Union => found == values.iter().fold(self.initial, |all, value| all | value),
            After::OneValue => values.contains(&found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_noticed() {
        let of =
            |after: After| Kernel { name: "k", suite: "s", summary: "", initial: 7, after, variants: &[] };
        assert!(of(After::Sum).is_right(17, 10, &[1]) && !of(After::Sum).is_right(16, 10, &[1]));
        assert!(
            of(After::Difference).is_right(u32::MAX, 8, &[1]) && !of(After::Difference).is_right(0, 8, &[1])
        );
        assert!(of(After::Same).is_right(7, 10, &[1]) && !of(After::Same).is_right(8, 10, &[1]));
        assert!(of(After::Union).is_right(15, 10, &[8, 1]) && !of(After::Union).is_right(7, 10, &[8, 1]));
        assert!(
            of(After::OneValue).is_right(2, 10, &[1, 2]) && !of(After::OneValue).is_right(7, 10, &[1, 2])
        );
    }
}
