//! Sorting by address, as every list of an image is.
//!
//! In: things that each have an address, in any order. Out: the same by address. The work is n log n on eight bytes for each thing, which is moved once.

use crate::address::Svma;

/// Sorts by address. Those of one address stay in their order.
pub(super) fn sort_by_address<T>(things: &mut [T], address: impl Fn(&T) -> Svma) {
    if !things.is_sorted_by_key(&address) && !sort_by_key(things, &address) {
        things.sort_by_key(&address);
    }
}

/// Sorts by address, and those of one address by themselves.
pub(super) fn sort_by_address_and_self<T: Ord>(things: &mut [T], address: impl Fn(&T) -> Svma) {
    sort_by_address(things, &address);
    for group in things.chunk_by_mut(|a, b| address(a) == address(b)) {
        if group.len() > 1 {
            group.sort_unstable();
        }
    }
}

/// Sorts where the addresses span less than 4 GiB, and says whether they do.
fn sort_by_key<T>(things: &mut [T], address: impl Fn(&T) -> Svma) -> bool {
    let base = things.iter().map(&address).min().unwrap_or_default();
    let key = |(thing, index): (&T, u32)| {
        let distance = u32::try_from(address(thing).since(base)?).ok()?;
        Some(u64::from(distance) << 32 | u64::from(index))
    };
    if u32::try_from(things.len()).is_err() {
        return false;
    }
    let Some(mut keys) = things.iter().zip(0u32..).map(key).collect::<Option<Vec<u64>>>() else {
        return false;
    };
    keys.sort_unstable();
    // Each key's low half says which thing belongs in its place. Once it is there, the key says its own place.
    for start in 0..keys.len() {
        let mut place = start;
        while let Some(key) = keys.get_mut(place) {
            let from = (*key & u64::from(u32::MAX)) as usize;
            *key = place as u64;
            if from == start || from == place {
                break;
            }
            things.swap(place, from);
            place = from;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_by_address_and_groups_of_one_address_are_sorted() {
        for span in [1u64, 1 << 20, 1 << 40] {
            let mut things: Vec<(Svma, u64)> =
                (0..500u64).map(|i| (Svma(i * 7919 % 101 * span), i * 31 % 17)).collect();
            let mut expected = things.clone();
            expected.sort_unstable();
            sort_by_address_and_self(&mut things, |thing| thing.0);
            assert_eq!(things, expected);
        }
    }
}
