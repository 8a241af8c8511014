//! What a kernel is, and what of it can be checked.
//!
//! In: nothing. Out: [`Kernel`] and its [`Variant`]s, as data.

use super::pieces::Data;
use super::work::Work;
use deburr_cpu::{Feature, FeatureSet};

/// Runs so many iterations, at least one, on a cell of [`CELL_BYTES`] bytes. The value is the thread's.
///
/// # Safety
/// The cell must be readable and writable by all threads that run on it, and the CPU must have what the variant needs.
pub type Body = unsafe extern "C" fn(cell: *mut u64, iterations: u64, value: u64, work: *const Work) -> u64;

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
    /// Bits of the cell's word: 32 or 64.
    pub bits: u32,
    /// What the word is before.
    pub initial: u64,
    /// What they are after.
    pub after: After,
    /// Whether the value of a variant's function is how often another thread had the word before this one.
    pub handovers: bool,
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

/// What a cell's word is after so many iterations of all threads together.
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

    /// Words of 64 bits that a variant uses of its cell.
    pub fn words(&self) -> usize {
        if self.has_section() { 2 } else { 1 }
    }

    /// Whether it has a critical section.
    pub fn has_section(&self) -> bool {
        self.suite == "locks"
    }

    /// Whether a cell's first 64 bits begin with the word that must be there after `iterations` by threads with these values.
    pub fn is_right(&self, found: u64, iterations: u64, values: &[u64]) -> bool {
        // The word wraps as the instructions do, and what is after it belongs to others.
        let word = |value: u64| if self.bits < 64 { value & !(u64::MAX << self.bits) } else { value };
        let is = |expected: u64| word(found) == word(expected);
        match self.after {
            After::Same => is(self.initial),
            After::Sum | After::Results(_) => is(self.initial.wrapping_add(iterations)),
            After::Difference => is(self.initial.wrapping_sub(iterations)),
            After::Union => is(values.iter().fold(self.initial, |all, value| all | value)),
            After::OneValue => values.iter().any(|&value| is(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(bits: u32, after: After) -> Kernel {
        Kernel {
            name: "k",
            suite: "s",
            summary: "",
            bits,
            initial: 7,
            after,
            handovers: false,
            variants: &[],
        }
    }

    #[test]
    fn a_word_is_as_wide_as_it_is() {
        let sum = |bits, found| kernel(bits, After::Sum).is_right(found, 3, &[1]);
        assert!(sum(32, 10) && sum(32, 0xdead_0000_000a) && sum(64, 10) && !sum(64, 0xdead_0000_000a));
    }

    #[test]
    fn a_wrong_word_is_noticed() {
        let of = |after: After| kernel(32, after);
        assert!(of(After::Sum).is_right(17, 10, &[1]) && !of(After::Sum).is_right(16, 10, &[1]));
        assert!(
            of(After::Difference).is_right(u32::MAX.into(), 8, &[1])
                && !of(After::Difference).is_right(0, 8, &[1])
        );
        assert!(of(After::Same).is_right(7, 10, &[1]) && !of(After::Same).is_right(8, 10, &[1]));
        assert!(of(After::Union).is_right(15, 10, &[8, 1]) && !of(After::Union).is_right(7, 10, &[8, 1]));
        assert!(
            of(After::OneValue).is_right(2, 10, &[1, 2]) && !of(After::OneValue).is_right(7, 10, &[1, 2])
        );
    }
}
