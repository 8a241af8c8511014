//! The order that one thread keeps by itself: "locally ordered before" of aarch64.cat, axiom by axiom.
//!
//! In: a run. Out: for each event the later ones that it is ordered before, not yet closed under transitivity. Arm ARM,
//! B2.3.3; herd/libdir/aarch64hwreqs.cat and aarch64deps.cat of herdtools7 7.57, with the names they have there.

use super::event::{Event, Kind, Mask, Run};

/// For each event those after it, as bits.
pub(super) type Order = Vec<Mask>;

/// The indices in a mask.
pub(super) fn indices(mask: Mask) -> impl Iterator<Item = usize> {
    (0..32).filter(move |index| mask >> index & 1 == 1)
}

/// The transitive closure.
pub(super) fn close(order: &mut [Mask]) {
    for middle in 0..order.len() {
        let after = order[middle];
        for row in order.iter_mut().filter(|row| **row >> middle & 1 == 1) {
            *row |= after;
        }
    }
}

pub(super) fn locally_ordered(run: &Run) -> Order {
    let events = &run.events;
    let accesses = mask(events, Event::is_access);
    let (reads, writes) = (mask(events, Event::is_read), mask(events, Event::is_write));
    let mut order = vec![0; events.len()];
    for (at, event) in events.iter().enumerate() {
        let later = Mask::MAX.checked_shl(at as u32 + 1).unwrap_or(0) & mask(events, |_| true);
        match event.kind {
            Kind::FullBarrier => between(&mut order, accesses & !later, later & accesses),
            Kind::LoadBarrier => {
                let returning = mask(events, |event| matches!(event.kind, Kind::Read { returns: true, .. }));
                between(&mut order, returning & !later, later & accesses);
            }
            Kind::StoreBarrier => between(&mut order, writes & !later, later & writes),
            // ctrl; [ISB]; po, and addr; po; [ISB]; po
            Kind::InstructionBarrier => {
                let before = events.iter().take(at).filter(|event| event.is_access());
                let addressed = before.fold(0, |all, event| all | event.address.pick);
                between(&mut order, event.control.pick | addressed, later & accesses);
            }
            Kind::Read { .. } => {
                access(&mut order, event, at);
                // addr; po; [W] is below, for all accesses. [A | Q]; po
                if event.acquires() {
                    order[at] |= later & accesses;
                }
            }
            Kind::Write { release } => {
                access(&mut order, event, at);
                between(&mut order, event.control.pick, 1 << at);
                // po-loc; [W]
                let same = mask(&events[..at], |other| other.is_access() && other.location == event.location);
                between(&mut order, same, 1 << at);
                if release {
                    // po; [L], and [L]; po; [A]
                    between(&mut order, accesses & !later & !(1 << at), 1 << at);
                    order[at] |= later & mask(events, Event::is_acquire);
                }
                if let Some(read) = event.rmw {
                    order[read] |= 1 << at;
                    // [range([A]; amo; [L])]; po
                    if event.is_amo && release && events[read].is_acquire() {
                        order[at] |= later & accesses;
                    }
                }
                read_back(&mut order, events, at);
            }
        }
        // addr; [M]; po; [W]
        if event.is_access() {
            between(&mut order, event.address.pick, later & writes);
        }
    }
    picked(&mut order, events, reads, writes);
    order
}

fn mask(events: &[Event], is_wanted: impl Fn(&Event) -> bool) -> Mask {
    events.iter().enumerate().fold(0, |all, (at, event)| all | Mask::from(is_wanted(event)) << at)
}

fn between(order: &mut Order, before: Mask, after: Mask) {
    indices(before).for_each(|at| order[at] |= after);
}

/// addr, data, and pick dependencies to a write.
fn access(order: &mut Order, event: &Event, at: usize) {
    between(order, event.address.flow | event.data.flow, 1 << at);
    if event.is_write() {
        between(order, event.address.pick | event.data.pick, 1 << at);
    }
}

/// What is ordered by the read of a write of the same thread: (addr | data); lrs, and rmw; lrs; [A | Q].
fn read_back(order: &mut Order, events: &[Event], write: usize) {
    let event = &events[write];
    for (at, later) in events.iter().enumerate().skip(write + 1) {
        if !later.is_access() || later.location != event.location {
            continue;
        }
        if later.is_write() {
            return;
        }
        between(order, event.address.flow | event.data.flow, 1 << at);
        if let Some(read) = event.rmw.filter(|_| later.acquires()) {
            order[read] |= 1 << at;
        }
    }
}

/// pick-dep; lob; [W]
fn picked(order: &mut Order, events: &[Event], reads: Mask, writes: Mask) {
    let mut closed = order.clone();
    close(&mut closed);
    for (at, event) in events.iter().enumerate().filter(|(_, event)| event.is_access()) {
        let from = (event.address.pick | event.data.pick | event.control.pick) & reads;
        between(order, from, closed[at] & writes);
    }
}
