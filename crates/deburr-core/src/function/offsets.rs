//! A set of offsets as one bit a place: millions of call targets, deduplicated and in order without sorting.

use crate::address::CodeOffset;
use std::ops::Range;

/// A set of offsets below a bound that are multiples of a power of two.
#[derive(Debug, Clone, Default)]
pub(super) struct Offsets {
    words: Vec<u64>,
    /// The power's exponent.
    shift: u32,
}

impl Offsets {
    /// The empty set of multiples of `1 << shift` below `length`; takes `length / 8 >> shift` bytes.
    pub(super) fn below(length: CodeOffset, shift: u32) -> Offsets {
        Offsets { words: vec![0; (length.0 >> shift) as usize / 64 + 1], shift }
    }

    /// The word that holds the bit of an offset, and the bit; `None` if the offset is no multiple.
    fn place(&self, at: CodeOffset) -> Option<(usize, u64)> {
        let number = at.0 >> self.shift;
        (number << self.shift == at.0).then_some((number as usize / 64, 1 << (number % 64)))
    }

    /// Puts in an offset; one at or above the bound, or no multiple, is left out.
    pub(super) fn insert(&mut self, at: CodeOffset) {
        if let Some((word, bit)) = self.place(at)
            && let Some(word) = self.words.get_mut(word)
        {
            *word |= bit;
        }
    }

    /// Whether an offset is in the set.
    pub(super) fn contains(&self, at: CodeOffset) -> bool {
        self.place(at).is_some_and(|(word, bit)| self.words.get(word).is_some_and(|word| word & bit != 0))
    }

    /// The lowest offset in the set within a range.
    pub(super) fn first_in(&self, range: Range<CodeOffset>) -> Option<CodeOffset> {
        let number = range.start.0.checked_add((1 << self.shift) - 1)? >> self.shift;
        let last = (range.end.0.checked_sub(1)? >> self.shift) as usize / 64;
        let mut mask = u64::MAX << (number % 64);
        for (index, word) in self.words.iter().enumerate().take(last + 1).skip(number as usize / 64) {
            let word = word & mask;
            mask = u64::MAX;
            if word != 0 {
                let found =
                    CodeOffset((u32::try_from(index).ok()? * 64 + word.trailing_zeros()) << self.shift);
                return (found < range.end).then_some(found);
            }
        }
        None
    }

    /// The offsets in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = CodeOffset> {
        let shift = self.shift;
        (0u32..).zip(&self.words).flat_map(move |(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    CodeOffset((index * 64 + bit) << shift)
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_come_back_in_order_and_once() {
        let mut set = Offsets::below(CodeOffset(200), 0);
        for at in [130, 5, 63, 64, 5, 199] {
            set.insert(CodeOffset(at));
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [5, 63, 64, 130, 199].map(CodeOffset));
        assert_eq!(
            [0, 5, 6, 65, 131, 199].map(|at| set.first_in(CodeOffset(at)..CodeOffset(200))),
            [5, 5, 63, 130, 199, 199].map(|at| Some(CodeOffset(at)))
        );
        assert_eq!(
            [200..300, 6..63, 64..64, 0..5]
                .map(|range| set.first_in(CodeOffset(range.start)..CodeOffset(range.end))),
            [None; 4]
        );
    }

    #[test]
    fn only_multiples_are_kept() {
        let mut set = Offsets::below(CodeOffset(1024), 2);
        for at in [0, 4, 6, 512, 1020] {
            set.insert(CodeOffset(at));
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 4, 512, 1020].map(CodeOffset));
        assert_eq!(
            [1, 4, 5, 513].map(|at| set.first_in(CodeOffset(at)..CodeOffset(1024))),
            [4, 4, 512, 1020].map(|at| Some(CodeOffset(at)))
        );
        assert!(set.contains(CodeOffset(512)) && !set.contains(CodeOffset(6)));
    }
}
