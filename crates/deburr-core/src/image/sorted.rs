//! Sorting by address, as every list of an image is.
//!
//! In: things that each have an address, in any order. Out: the same by address. Keys of eight bytes are sorted by their
//! digits, in time linear in their number, and each thing is moved once.

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
    sort_keys(&mut keys, |key| (key >> 32) as u32);
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

/// Sorts addresses, and keeps each once.
pub(super) fn sort_addresses(addresses: &mut Vec<Svma>) {
    let base = addresses.iter().min().copied().unwrap_or_default();
    let distance = |at: &Svma| u32::try_from(at.since(base)?).ok();
    let distances = || addresses.iter().map(distance).collect::<Option<Vec<u32>>>();
    match (!addresses.is_sorted()).then(distances).flatten() {
        Some(mut distances) => {
            sort_keys(&mut distances, |distance| distance);
            distances.dedup();
            addresses.clear();
            addresses.extend(distances.iter().map(|&distance| base.offset(distance.into())));
        }
        None => {
            addresses.sort_unstable();
            addresses.dedup();
        }
    }
}

/// Sorts keys by a number that each has, digit by digit from the lowest. Those with the same stay in their order.
fn sort_keys<K: Copy + Default>(keys: &mut Vec<K>, number: impl Fn(K) -> u32) {
    /// Keys from which on counting digits is quicker than comparing keys.
    const MANY: usize = 1024;
    const BITS: u32 = 11;
    const DIGITS: usize = 1 << BITS;
    if keys.len() < MANY {
        keys.sort_by_key(|&key| number(key));
        return;
    }
    let mut sorted = vec![K::default(); keys.len()];
    for shift in [0, BITS, 2 * BITS] {
        let digit = |key: K| (number(key) >> shift) as usize % DIGITS;
        let mut places = [0usize; DIGITS];
        for &key in &*keys {
            if let Some(count) = places.get_mut(digit(key)) {
                *count += 1;
            }
        }
        if places.contains(&keys.len()) {
            continue;
        }
        let mut next = 0;
        for place in &mut places {
            (*place, next) = (next, next + *place);
        }
        for &key in &*keys {
            if let Some(place) = places.get_mut(digit(key)) {
                if let Some(to) = sorted.get_mut(*place) {
                    *to = key;
                }
                *place += 1;
            }
        }
        std::mem::swap(keys, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_by_address_and_groups_of_one_address_are_sorted() {
        for (count, span) in [(500u64, 1u64), (5000, 1), (5000, 1 << 18), (5000, 1 << 40)] {
            let mut things: Vec<(Svma, u64)> =
                (0..count).map(|i| (Svma(i * 7919 % 10007 * span), i * 31 % 17)).collect();
            let mut addresses: Vec<Svma> = things.iter().map(|thing| thing.0).collect();
            sort_addresses(&mut addresses);
            let mut expected = things.clone();
            expected.sort_unstable();
            sort_by_address_and_self(&mut things, |thing| thing.0);
            assert_eq!(things, expected);
            expected.dedup_by_key(|thing| thing.0);
            assert!(addresses.iter().eq(expected.iter().map(|(at, _)| at)));
        }
    }
}
