//! Items on another machine: fetched in loads, the next one while one is checked.

use super::curl::{Wanted, fetch_all};
use crate::cmd::scan::course::{Course, Fate};
use crate::cmd::scan::hashes::Hashes;
use crate::cmd::scan::work::{Input, Work};
use crate::product::scan_item::Item;
use std::path::Path;

/// An item, and its number.
pub(crate) struct Remote<'i> {
    pub(crate) number: usize,
    pub(crate) item: &'i Item,
    pub(crate) url: &'i str,
}

/// What is fetched before it is checked: so many bytes, or items of any size, are on this disk, and as many more.
const BYTES_OF_LOAD: u64 = 256 << 20;
const ITEMS_OF_LOAD: usize = 64;

/// Checks them; `scratch`: where they are meanwhile.
///
/// # Errors
/// Where rows cannot be written, for people.
pub(crate) fn check(
    items: &[Remote<'_>],
    scratch: &Path,
    (work, hashes): (&mut Work<'_>, &mut Hashes),
    course: &mut Course,
) -> Result<(), String> {
    let fetched = |load: &[Remote<'_>]| {
        let wanted: Vec<Wanted<'_>> = load.iter().map(|it| Wanted::package(it.url, it.item.size)).collect();
        fetch_all(&wanted, scratch)
    };
    std::thread::scope(|scope| {
        let mut loads = loads_of(items).into_iter().peekable();
        let mut coming = loads.peek().map(|load| scope.spawn(|| fetched(load)));
        while let (Some(load), Some(thread)) = (loads.next(), coming.take()) {
            let files = thread.join().map_err(|_| "fetching failed; please report it".to_owned())?;
            coming = loads.peek().map(|load| scope.spawn(|| fetched(load)));
            let mut inputs = Vec::new();
            for (Remote { number, item, .. }, file) in load.iter().zip(&files) {
                match file {
                    Ok(file) => inputs.push(Input { number: *number, item, place: file.path().to_owned() }),
                    Err(reason) => course.ended(*number, item, Fate::Failed(reason.clone())),
                }
            }
            work.check(&inputs, hashes, course)?;
        }
        Ok(())
    })
}

/// Cuts items into loads.
fn loads_of<'r, 'i>(items: &'r [Remote<'i>]) -> Vec<&'r [Remote<'i>]> {
    let mut loads = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (at, remote) in items.iter().enumerate() {
        bytes += remote.item.size;
        if bytes >= BYTES_OF_LOAD || at + 1 - first >= ITEMS_OF_LOAD || at + 1 == items.len() {
            loads.extend(items.get(first..=at));
            (first, bytes) = (at + 1, 0);
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::content::Content;
    use crate::product::scan_item::Place;

    #[test]
    fn each_item_is_in_one_load_and_no_load_is_much_larger_than_it_may_be() {
        let sizes =
            (0..500_u64).map(|number| if number % 90 == 0 { BYTES_OF_LOAD * 3 } else { number << 14 });
        let items: Vec<Item> = sizes
            .map(|size| Item {
                path: String::new(),
                place: Place::There(String::new()),
                size,
                content: Content::Package,
                sha256: None,
                is_stated: false,
            })
            .collect();
        let remotes: Vec<Remote<'_>> =
            items.iter().enumerate().map(|(number, item)| Remote { number, item, url: "" }).collect();
        let loads = loads_of(&remotes);
        let numbers: Vec<usize> = loads.iter().flat_map(|load| load.iter().map(|it| it.number)).collect();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
        for load in loads {
            let but_last: u64 = load.iter().rev().skip(1).map(|it| it.item.size).sum();
            assert!(load.len() <= ITEMS_OF_LOAD && but_last < BYTES_OF_LOAD, "{} items", load.len());
        }
        assert!(loads_of(&[]).is_empty());
    }
}
