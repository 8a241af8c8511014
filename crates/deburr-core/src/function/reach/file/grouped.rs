//! Values by group, and the groups of addresses.
//!
//! In: values, and the number of each one's group. Out: [`Grouped`], the values of each group in one piece. Counting is
//! several times as fast as sorting where there are millions of them.

use crate::address::{Extent, Svma};
use std::ops::RangeInclusive;

/// Values, group by group.
#[derive(Debug, Default)]
pub(crate) struct Grouped<T> {
    /// By group, where its values begin; one more at the end.
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// Puts values into their groups, in the order in which they come. `values` is gone through twice.
    pub(crate) fn of(groups: usize, values: impl Iterator<Item = (usize, T)> + Clone) -> Grouped<T> {
        let mut starts = vec![0u32; groups + 1];
        for (group, _) in values.clone() {
            if let Some(count) = starts.get_mut(group + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut placed = vec![T::default(); sum as usize];
        for (group, value) in values.filter(|&(group, _)| group < groups) {
            if let Some(next) = next.get_mut(group)
                && let Some(place) = placed.get_mut(*next as usize)
            {
                *place = value;
                *next += 1;
            }
        }
        Grouped { starts, values: placed }
    }

    /// The values of some groups.
    pub(crate) fn within(&self, groups: RangeInclusive<usize>) -> &[T] {
        let start =
            |group: usize| self.starts.get(group).copied().unwrap_or(self.values.len() as u32) as usize;
        let range = start(*groups.start())..start(groups.end().saturating_add(1));
        self.values.get(range).unwrap_or_default()
    }

    /// All values, group by group.
    pub(crate) fn all(&self) -> &[T] {
        &self.values
    }
}

/// A range of addresses in pieces of one size.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Groups {
    /// Where the first begins.
    pub base: u64,
    /// The size of each in bytes, as a power of two.
    pub bits: u32,
}

impl Groups {
    /// Maximum of groups: those of a longer range are larger.
    const MOST: u64 = 1 << 20;

    /// The groups of a range, not smaller than some size.
    pub(crate) fn over(range: Extent, least_bits: u32) -> Groups {
        let mut bits = least_bits;
        while range.len() >> bits >= Groups::MOST {
            bits += 1;
        }
        Groups { base: range.start.0 >> bits << bits, bits }
    }

    /// The group of an address; the first for those before it.
    pub(crate) fn of(&self, at: Svma) -> usize {
        usize::try_from(at.0.saturating_sub(self.base) >> self.bits).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_by_group() {
        let values = [(2, 25), (0, 3), (2, 21), (9, 99), (0, 1)];
        let grouped = Grouped::of(4, values.into_iter());
        assert_eq!(grouped.within(0..=0), [3, 1]);
        assert_eq!(grouped.within(1..=2), [25, 21]);
        assert_eq!(grouped.within(3..=usize::MAX), [0; 0]);
        assert_eq!(grouped.all(), [3, 1, 25, 21]);
    }

    #[test]
    fn groups_grow_with_the_range() {
        let small = Groups::over(Extent::sized(Svma(0x1234), 0x1000), 6);
        assert_eq!((small.base, small.bits, small.of(Svma(0x1240))), (0x1200, 6, 1));
        let large = Groups::over(Extent::sized(Svma(0), 1 << 32), 6);
        assert_eq!((large.bits, large.of(Svma(u64::MAX))), (13, usize::MAX >> 13));
    }
}
