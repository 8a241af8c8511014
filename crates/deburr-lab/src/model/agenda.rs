//! What happens next: events in order of time, and among those of one time in the order in which they were planned.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A thread has done what it does without the line's home.
    Step(usize),
    /// A thread's request arrives at the home.
    Arrival(usize),
    /// The home has served the request that it was busy with.
    Served,
    /// Nobody refuses to give the line away any longer.
    Released,
}

#[derive(Debug, PartialEq)]
struct Entry {
    at: f64,
    number: u64,
    event: Event,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events to come.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    entries: BinaryHeap<Reverse<Entry>>,
    planned: u64,
}

impl Agenda {
    /// Plans an event.
    pub(super) fn plan(&mut self, at: f64, event: Event) {
        self.planned += 1;
        self.entries.push(Reverse(Entry { at, number: self.planned, event }));
    }

    /// The next one, with its time.
    pub(super) fn next(&mut self) -> Option<(f64, Event)> {
        self.entries.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_planned() {
        let mut agenda = Agenda::default();
        agenda.plan(2.0, Event::Served);
        agenda.plan(1.0, Event::Step(7));
        agenda.plan(1.0, Event::Arrival(3));
        let order: Vec<(f64, Event)> = std::iter::from_fn(|| agenda.next()).collect();
        assert_eq!(order, [(1.0, Event::Step(7)), (1.0, Event::Arrival(3)), (2.0, Event::Served)]);
    }
}
