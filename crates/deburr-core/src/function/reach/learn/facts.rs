//! What running functions showed, of all functions together.

use crate::address::CodeOffset;
use crate::function::reach::domain::value::{Value, mask_of};
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::machine::memory::overlapping;
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each of several functions shows, by where it begins.
pub(crate) type FactsByFunction = FxHashMap<CodeOffset, Arc<Facts>>;

/// The words that functions store to, all stores to each joined.
pub(crate) fn stored_words<'f>(
    facts: impl Iterator<Item = &'f Facts>,
) -> BTreeMap<(u64, u8), (Value, FeatureSet)> {
    let mut words: BTreeMap<(u64, u8), (Value, FeatureSet)> = BTreeMap::new();
    for stored in facts.flat_map(|facts| &facts.stores) {
        let (value, cleared) =
            words.entry((stored.at, stored.width)).or_insert_with(|| (Value::none(), FeatureSet::EMPTY));
        *value = value.join(&stored.value);
        if stored.value.as_constant() == Some(0) {
            *cleared = cleared.union(stored.absent);
        }
    }
    let overlapping = overlaps(&words);
    for ((at, width), (from, stored)) in overlapping {
        let Some((other, _)) = words.get(&(from, stored)).cloned() else { continue };
        let Some((value, _)) = words.get_mut(&(at, width)) else { continue };
        // The bytes of the other store take the place of this one's.
        let shift = |by: u64, sign: i32| sign.saturating_mul(i32::try_from(by * 8).unwrap_or(64));
        let (moved, mask) = match from.checked_sub(at) {
            Some(by) => (other.shift(shift(by, 1)), mask_of(stored) << (by * 8)),
            None => {
                let by = at.wrapping_sub(from);
                (other.shift(shift(by, -1)), mask_of(stored) >> (by * 8))
            }
        };
        let rest = value.and_mask(!mask & mask_of(width));
        *value = value.join(&rest.or(&moved.truncate(width)));
    }
    words
}

/// Which words share bytes with which others.
type Overlaps = Vec<((u64, u8), (u64, u8))>;

fn overlaps(words: &BTreeMap<(u64, u8), (Value, FeatureSet)>) -> Overlaps {
    let of = |&word: &(u64, u8)| {
        let near = overlapping(words, word).map(move |(&other, _)| (word, other));
        near.filter(|(word, other)| word != other)
    };
    words.keys().flat_map(of).collect()
}
