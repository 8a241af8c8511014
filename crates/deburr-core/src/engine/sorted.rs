//! Small maps as sorted lists: states are cloned, compared and joined far more often than they are written to.
//!
//! A look-up is a binary search, a change moves what is after it, and two maps are gone through side by side.

use std::ops::{Bound, Range, RangeBounds};

/// A map, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> SortedMap<K, V> {
        SortedMap(Vec::new())
    }
}

impl<K: Ord + Copy, V> SortedMap<K, V> {
    fn place(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.0.get(self.place(key).ok()?).map(|(_, value)| value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.place(key) {
            Ok(place) => {
                if let Some((_, known)) = self.0.get_mut(place) {
                    *known = value;
                }
            }
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    pub(crate) fn remove(&mut self, key: K) {
        if let Ok(place) = self.place(key) {
            self.0.remove(place);
        }
    }

    /// Removes some of those whose keys are in a range.
    pub(crate) fn remove_in(&mut self, range: Range<K>, is_removed: impl Fn(K, &V) -> bool) {
        let mut place = self.0.partition_point(|(key, _)| *key < range.start);
        while let Some((key, value)) = self.0.get(place).filter(|(key, _)| range.contains(key)) {
            if is_removed(*key, value) {
                self.0.remove(place);
            } else {
                place += 1;
            }
        }
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(K, &V) -> bool) {
        self.0.retain(|(key, value)| is_kept(*key, value));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// Those whose keys are in a range.
    pub(crate) fn range(&self, range: impl RangeBounds<K>) -> impl Iterator<Item = (K, &V)> {
        let first = match range.start_bound() {
            Bound::Included(start) => self.0.partition_point(|(key, _)| key < start),
            Bound::Excluded(start) => self.0.partition_point(|(key, _)| key <= start),
            Bound::Unbounded => 0,
        };
        let here = self.0.get(first..).unwrap_or_default().iter();
        here.take_while(move |(key, _)| range.contains(key)).map(|(key, value)| (*key, value))
    }

    /// All keys of two maps, with what each has for them.
    pub(crate) fn both<'m>(
        &'m self,
        other: &'m SortedMap<K, V>,
    ) -> impl Iterator<Item = (K, Option<&'m V>, Option<&'m V>)> {
        let (mut mine, mut others) = (self.0.as_slice(), other.0.as_slice());
        std::iter::from_fn(move || match (mine, others) {
            ([(a, value), rest @ ..], [(b, other), other_rest @ ..]) if a == b => {
                (mine, others) = (rest, other_rest);
                Some((*a, Some(value), Some(other)))
            }
            ([(a, value), rest @ ..], _) if others.first().is_none_or(|(b, _)| a < b) => {
                mine = rest;
                Some((*a, Some(value), None))
            }
            (_, [(b, other), rest @ ..]) => {
                others = rest;
                Some((*b, None, Some(other)))
            }
            (_, []) => None,
        })
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// Of pairs that are sorted by key, without a key twice.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> SortedMap<K, V> {
        let pairs: Vec<(K, V)> = pairs.into_iter().collect();
        debug_assert!(pairs.is_sorted_by(|(a, _), (b, _)| a < b));
        SortedMap(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_does_what_a_tree_does() {
        let mut state = 7u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let (mut list, mut tree) = (SortedMap::default(), BTreeMap::new());
        let mut before = list.clone();
        for _ in 0..5000 {
            let (key, value) = (random(40), random(9));
            match random(8) {
                0 | 1 => {
                    list.remove(key);
                    tree.remove(&key);
                }
                2 => {
                    list.retain(|key, _| key % 7 != value % 7);
                    tree.retain(|key, _| key % 7 != value % 7);
                }
                4 => {
                    list.remove_in(key..30, |key, other| (key + other) % 3 == 0);
                    tree.retain(|other, value| !(key..30).contains(other) || (other + *value) % 3 != 0);
                }
                3 => before = list.clone(),
                _ => {
                    list.insert(key, value);
                    tree.insert(key, value);
                }
            }
            assert_eq!(list.len(), tree.len());
            assert!(list.iter().eq(tree.iter().map(|(key, value)| (*key, value))));
            assert_eq!(list.get(key), tree.get(&key));
            assert!(
                list.range(key..30)
                    .eq(tree.range(key..key.max(30)).map(|(key, value)| (*key, value)).filter(|_| key < 30))
            );
            assert!(list.range(..key).eq(tree.range(..key).map(|(key, value)| (*key, value))));
            for (key, mine, other) in list.both(&before) {
                assert_eq!((mine, other), (list.get(key), before.get(key)));
            }
            let keys = list.both(&before).count();
            let mut all: Vec<u32> = list.iter().chain(before.iter()).map(|(key, _)| key).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(keys, all.len());
            assert_eq!(list.iter().map(|(key, value)| (key, *value)).collect::<SortedMap<_, _>>(), list);
        }
    }
}
