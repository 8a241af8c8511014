//! A set of offsets as one bit a place: millions of call targets, deduplicated and in order without sorting.

use crate::insn::sweep::CodeOffset;

/// A set of offsets below a bound.
#[derive(Debug, Clone, Default)]
pub(super) struct Offsets {
    words: Vec<u64>,
}

impl Offsets {
    /// The empty set of offsets below `length`; takes `length / 8` bytes.
    pub(super) fn below(length: CodeOffset) -> Offsets {
        Offsets { words: vec![0; length as usize / 64 + 1] }
    }

    /// Puts in an offset; one at or above the bound is left out.
    pub(super) fn insert(&mut self, at: CodeOffset) {
        if let Some(word) = self.words.get_mut(at as usize / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// The lowest offset in the set that is not below `at`.
    pub(super) fn next_from(&self, at: CodeOffset) -> Option<CodeOffset> {
        let first = at as usize / 64;
        let mut mask = u64::MAX << (at % 64);
        for (index, word) in self.words.iter().enumerate().skip(first) {
            let word = word & mask;
            mask = u64::MAX;
            if word != 0 {
                let index = CodeOffset::try_from(index).ok()?;
                return Some(index * 64 + word.trailing_zeros());
            }
        }
        None
    }

    /// The offsets in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = CodeOffset> {
        (0u32..).zip(&self.words).flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    index * 64 + bit
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
        let mut set = Offsets::below(200);
        for at in [130, 5, 63, 64, 5, 199] {
            set.insert(at);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [5, 63, 64, 130, 199]);
        assert_eq!([0, 5, 6, 65, 131, 199].map(|at| set.next_from(at)), [5, 5, 63, 130, 199, 199].map(Some));
        assert_eq!(set.next_from(200), None);
    }
}
