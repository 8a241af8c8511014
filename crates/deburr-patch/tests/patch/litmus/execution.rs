//! Candidate executions of two threads, and which of them the model allows.
//!
//! In: the runs of both. Out: the final states of all executions that satisfy the axioms of aarch64.cat. For two runs every
//! reads-from (rf) and every coherence order (co) of each location is tried:
//!
//! - internal visibility: po-loc | rf | co | fr is acyclic, by location;
//! - atomicity: no write of the other thread comes between the read and the write of one access;
//! - external visibility: ordered-before (the threads' own order, rfe, coe, fre, and reads of one location before a write
//!   that the later one did not see) is acyclic.

use super::event::{Event, Mask, Run};
use super::order::{Order, close, indices, locally_ordered};
use super::state::LOCATIONS;
use std::collections::BTreeSet;

/// What is seen at the end: registers of both threads, then memory.
pub(super) type Outcome = Vec<u128>;

/// A run, and the order that it keeps by itself.
#[derive(Debug, Clone)]
pub(super) struct Ordered {
    run: Run,
    order: Order,
    seen: Vec<u64>,
}

impl Ordered {
    /// `seen`: the registers that belong to the outcome.
    pub(super) fn of(run: Run, seen: &[u32]) -> Ordered {
        let order = locally_ordered(&run);
        let seen = seen.iter().map(|&register| run.registers[register as usize]).collect();
        Ordered { run, order, seen }
    }

    /// Whether both have the same accesses, in the same order: then they allow the same.
    pub(super) fn is_like(&self, other: &Ordered) -> bool {
        let same = |(one, other): (&Event, &Event)| {
            (one.kind, one.location, one.value, one.rmw)
                == (other.kind, other.location, other.value, other.rmw)
        };
        let count = self.run.events.len() == other.run.events.len();
        let events = self.run.events.iter().zip(&other.run.events);
        count && self.seen == other.seen && self.order == other.order && events.into_iter().all(same)
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }
}

/// Two runs as one: the events of the second come after those of the first.
struct Pair<'a> {
    events: Vec<&'a Event>,
    first: usize,
}

/// How one location is read and written.
struct Choice {
    /// rf, co and fr between the threads, and hazards.
    observed: Order,
    last: u128,
}

pub(super) fn outcomes(first: &[Ordered], second: &[Ordered]) -> BTreeSet<Outcome> {
    let mut found = BTreeSet::new();
    for one in first {
        for other in second {
            executions(one, other, &mut found);
        }
    }
    found
}

fn executions(one: &Ordered, other: &Ordered, found: &mut BTreeSet<Outcome>) {
    let events: Vec<&Event> = one.run.events.iter().chain(&other.run.events).collect();
    let pair = Pair { events, first: one.run.events.len() };
    let mut choices = Vec::new();
    for location in 0..LOCATIONS {
        let of_location = pair.choices(location);
        if of_location.is_empty() {
            return;
        }
        choices.push(of_location);
    }
    let local: Order =
        one.order.iter().copied().chain(other.order.iter().map(|row| row << pair.first)).collect();
    let seen: Vec<u128> = one.seen.iter().chain(&other.seen).map(|&value| u128::from(value)).collect();
    let [x, y, z] = &choices[..] else { unreachable!("three locations") };
    for (x, y, z) in x.iter().flat_map(|x| y.iter().flat_map(move |y| z.iter().map(move |z| (x, y, z)))) {
        let outcome: Outcome = seen.iter().copied().chain([x.last, y.last, z.last]).collect();
        if found.contains(&outcome) {
            continue;
        }
        let mut order = local.clone();
        for (row, more) in order.iter_mut().enumerate() {
            *more |= x.observed[row] | y.observed[row] | z.observed[row];
        }
        if is_acyclic(&mut order) {
            found.insert(outcome);
        }
    }
}

fn is_acyclic(order: &mut Order) -> bool {
    close(order);
    order.iter().enumerate().all(|(at, row)| row >> at & 1 == 0)
}

impl Pair<'_> {
    fn is_external(&self, one: usize, other: usize) -> bool {
        (one < self.first) != (other < self.first)
    }

    fn mask(&self, location: usize, is_wanted: impl Fn(&Event) -> bool) -> Mask {
        let at = self.events.iter().enumerate();
        at.fold(0, |all, (index, event)| {
            all | Mask::from(event.is_access() && event.location == location && is_wanted(event)) << index
        })
    }

    /// Every rf and co of a location that keeps internal visibility and atomicity.
    fn choices(&self, location: usize) -> Vec<Choice> {
        let reads: Vec<usize> = indices(self.mask(location, Event::is_read)).collect();
        let writes: Vec<usize> = indices(self.mask(location, Event::is_write)).collect();
        let mut found = Vec::new();
        for co in orders(&writes) {
            let mut sources = vec![Vec::new()];
            for &read in &reads {
                let value = self.events[read].value;
                let initial = (value == 0).then_some(None);
                let written =
                    co.iter().filter(|&&write| self.events[write].value == value).map(|&write| Some(write));
                let possible: Vec<Option<usize>> = initial.into_iter().chain(written).collect();
                sources = sources
                    .into_iter()
                    .flat_map(|before: Vec<Option<usize>>| {
                        possible.iter().map(move |&source| {
                            let mut all = before.clone();
                            all.push(source);
                            all
                        })
                    })
                    .collect();
            }
            found.extend(sources.iter().filter_map(|rf| self.choice(&reads, rf, &co)));
        }
        found
    }

    fn choice(&self, reads: &[usize], rf: &[Option<usize>], co: &[usize]) -> Option<Choice> {
        let count = self.events.len();
        let (mut all, mut observed) = (vec![0; count], vec![0; count]);
        let mut edge = |from: usize, to: usize| {
            all[from] |= 1 << to;
            if self.is_external(from, to) {
                observed[from] |= 1 << to;
            }
        };
        for (place, &write) in co.iter().enumerate() {
            co[place + 1..].iter().for_each(|&later| edge(write, later));
        }
        let after = |source: Option<usize>| match source {
            Some(source) => co.iter().position(|&write| write == source).map_or(0, |place| place + 1),
            None => 0,
        };
        for (&read, &source) in reads.iter().zip(rf) {
            if let Some(source) = source {
                edge(source, read);
            }
            co[after(source)..].iter().for_each(|&later| edge(read, later));
        }
        for (&read, &source) in reads.iter().zip(rf) {
            let unseen = co[after(source)..].iter().filter(|&&write| self.is_external(read, write));
            // Its own write after it, with others between.
            let own = co.iter().find(|&&write| {
                !self.is_external(read, write) && self.events[write].rmw == Some(self.local(read))
            });
            for &write in unseen {
                if own.is_some_and(|own| after(Some(*own)) > after(Some(write))) {
                    return None;
                }
                // [R]; po-loc; [R]; fre
                let earlier = reads.iter().filter(|&&other| other < read && !self.is_external(other, read));
                earlier.for_each(|&other| observed[other] |= 1 << write);
            }
        }
        for (at, row) in all.iter_mut().enumerate() {
            let is_later = |other: usize| other > at && !self.is_external(at, other);
            let is_same = |other: usize| {
                self.events[other].is_access() && self.events[other].location == self.events[at].location
            };
            if reads.contains(&at) || co.contains(&at) {
                *row |= (0..count)
                    .filter(|&other| is_later(other) && is_same(other))
                    .fold(0, |all, other| all | 1 << other);
            }
        }
        is_acyclic(&mut all)
            .then(|| Choice { observed, last: co.last().map_or(0, |&write| self.events[write].value) })
    }

    /// The index of an event in its own thread.
    fn local(&self, at: usize) -> usize {
        if at < self.first { at } else { at - self.first }
    }
}

/// All orders of some writes.
fn orders(writes: &[usize]) -> Vec<Vec<usize>> {
    let Some((&first, rest)) = writes.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, first);
            all.push(order);
        }
    }
    all
}
