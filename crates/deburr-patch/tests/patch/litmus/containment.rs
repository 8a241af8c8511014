//! Whether a thread allows more than another, whatever the other thread does.
//!
//! In: a function as it is and as it was made, and other threads. Out: the outcomes that are new. A failed try of the original
//! only adds to what it allows, so that it is looked at where something is missing without it.

use super::execution::{Ordered, Outcome, outcomes};
use super::state::{LOCATIONS, Limits, ONCE, ONE_FAILURE, Segment, Thread, WRITING_BACK};
use super::surroundings::{Other, SEEN, SEEN_BY_OTHER};
use super::thread::runs;
use std::collections::{BTreeMap, BTreeSet};

type Stored = [Vec<u128>; LOCATIONS];

/// A thread, and its runs by what the other one may have stored.
pub(super) struct Side {
    thread: Thread,
    limits: Limits,
    known: BTreeMap<Stored, Vec<Ordered>>,
}

impl Side {
    pub(super) fn of(thread: Thread, limits: Limits) -> Side {
        Side { thread, limits, known: BTreeMap::new() }
    }

    fn runs(&mut self, stored: &Stored) -> &[Ordered] {
        let (thread, limits) = (&self.thread, self.limits);
        self.known.entry(stored.clone()).or_insert_with(|| {
            runs(thread, stored, limits).into_iter().map(|run| Ordered::of(run, &SEEN)).collect()
        })
    }
}

/// All outcomes of a thread next to another one; `size` is that of x.
pub(super) fn allowed(side: &mut Side, size: u32, other: &Other) -> BTreeSet<Outcome> {
    let code = vec![Segment { at: 0x1000, words: other.words(size) }];
    let thread = Thread { code, registers: Other::registers() };
    let first = side.runs(&other.stored());
    let mut stored: Stored = Default::default();
    for event in first.iter().flat_map(|ordered| &ordered.run().events).filter(|event| event.is_write()) {
        if !stored[event.location].contains(&event.value) {
            stored[event.location].push(event.value);
        }
    }
    let second = runs(&thread, &stored, ONCE).into_iter().map(|run| Ordered::of(run, &SEEN_BY_OTHER));
    outcomes(first, &second.collect::<Vec<_>>())
}

/// What the new thread allows and the old one does not, and next to which other thread: the first such.
pub(super) fn first_added(
    old: &Thread,
    new: &Thread,
    size: u32,
    others: &[Other],
) -> Option<(Other, Outcome)> {
    let (mut old, mut new) = (Side::of(old.clone(), ONCE), Side::of(new.clone(), WRITING_BACK));
    others.iter().find_map(|other| Some((*other, added(&mut old, &mut new, size, other).pop_first()?)))
}

/// What the new thread allows and the old one does not.
fn added(old: &mut Side, new: &mut Side, size: u32, other: &Other) -> BTreeSet<Outcome> {
    let (before, after) = (old.runs(&other.stored()), new.runs(&other.stored()));
    if after.iter().all(|after| before.iter().any(|before| after.is_like(before))) {
        return BTreeSet::new();
    }
    let before = allowed(old, size, other);
    let mut more = allowed(new, size, other);
    more.retain(|outcome| !before.contains(outcome));
    if !more.is_empty() {
        let failing = allowed(&mut Side::of(old.thread.clone(), ONE_FAILURE), size, other);
        more.retain(|outcome| !failing.contains(outcome));
    }
    more
}
