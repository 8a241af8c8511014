//! Several profiles → one: objects and events by what distinguishes them, and all tallies added.

use crate::profile::{Branch, Call, Edge, Leaf, Object, Profile};
use std::collections::HashMap;

/// Adds up neighbours that `same` takes for the same, in a sorted list.
fn folded<T>(list: &mut Vec<T>, same: impl Fn(&T, &T) -> bool, add: impl Fn(&mut T, &T)) {
    list.dedup_by(|later, earlier| {
        let is_same = same(later, earlier);
        if is_same {
            add(earlier, later);
        }
        is_same
    });
}

fn fold_leaves(leaves: &mut Vec<Leaf>) {
    leaves.sort();
    folded(
        leaves,
        |one, other| one.place == other.place && one.event == other.event,
        |sum, other| sum.tally.add(other.tally),
    );
}

fn fold_edges(edges: &mut Vec<Edge>) {
    edges.sort();
    folded(
        edges,
        |one, other| one.leaf == other.leaf && one.caller == other.caller && one.event == other.event,
        |sum, other| sum.tally.add(other.tally),
    );
}

fn fold_calls(calls: &mut Vec<Call>) {
    calls.sort();
    folded(
        calls,
        |one, other| one.from == other.from && one.to == other.to,
        |sum, other| {
            sum.count = sum.count.saturating_add(other.count);
            for (sum, other) in sum.inclusive.iter_mut().zip(&other.inclusive) {
                *sum = sum.saturating_add(*other);
            }
        },
    );
}

fn fold_branches(branches: &mut Vec<Branch>) {
    branches.sort();
    folded(
        branches,
        |one, other| one.from == other.from && one.to == other.to,
        |sum, other| {
            sum.count = sum.count.saturating_add(other.count);
            sum.mispredicted = sum.mispredicted.saturating_add(other.mispredicted);
        },
    );
}

/// What distinguishes an object.
type Key = (String, bool, Option<Vec<u8>>, Option<(u32, u32, u64)>);

fn key(object: &Object) -> Key {
    (object.path.clone(), object.is_deleted, object.build_id.clone(), object.inode)
}

impl Profile {
    /// Adds another profile, also of another format or machine. Events are the same where name and precision are; objects
    /// where path, build id, inode and whether they are deleted are. The format, the command and the machine stay those of `self`.
    pub fn merge(&mut self, other: Profile) {
        let mut events = Vec::with_capacity(other.events.len());
        for event in other.events {
            // An event may be there twice; each of the other's meets one of them.
            let known = self.events.iter().enumerate().position(|(number, own)| {
                own.name == event.name && own.precision == event.precision && !events.contains(&number)
            });
            events.push(known.unwrap_or(self.events.len()));
            match known.and_then(|known| self.events.get_mut(known)) {
                Some(own) => {
                    own.total.add(event.total);
                    own.left_out.add(&event.left_out);
                }
                None => self.events.push(event),
            }
        }
        let renumbered = |event: usize| events.get(event).copied().unwrap_or(event);
        // What is not in the other's list cannot come from a reader, and stays apart at the end.
        let shift = self.objects.len();
        let count = self.events.len();
        let widened = |own: &[u64], to: &dyn Fn(usize) -> usize| {
            let mut wide = vec![0; count];
            for (event, cost) in own.iter().enumerate() {
                if let Some(place) = wide.get_mut(to(event)) {
                    *place = *cost;
                }
            }
            wide
        };
        for call in self.objects.iter_mut().flat_map(|object| &mut object.calls) {
            call.inclusive = widened(&call.inclusive, &|event| event);
        }
        for mut object in other.objects {
            object.leaves.iter_mut().for_each(|leaf| leaf.event = renumbered(leaf.event));
            for edge in &mut object.edges {
                edge.event = renumbered(edge.event);
                edge.caller.object += shift;
            }
            for call in &mut object.calls {
                call.inclusive = widened(&call.inclusive, &renumbered);
                call.to.object += shift;
            }
            object.branches.iter_mut().for_each(|branch| branch.to.object += shift);
            self.objects.push(object);
        }
        for mut function in other.jit {
            function.leaves.iter_mut().for_each(|(_, event, _)| *event = renumbered(*event));
            self.jit.push(function);
        }
        self.jit
            .sort_by(|one, other| (one.pid, one.svma, &one.name).cmp(&(other.pid, other.svma, &other.name)));
        self.lost.records = self.lost.records.saturating_add(other.lost.records);
        self.lost.throttled = self.lost.throttled.saturating_add(other.lost.throttled);
        self.lost.gaps = self.lost.gaps.saturating_add(other.lost.gaps);
        self.unread_trace = self.unread_trace.saturating_add(other.unread_trace);
        self.wanted.extend(other.wanted);
        self.wanted.sort();
        self.wanted.dedup();
        self.unread_jitdumps.extend(other.unread_jitdumps);
        self.wanted_perf_maps.extend(other.wanted_perf_maps);
        self.wanted_perf_maps.sort_unstable();
        self.wanted_perf_maps.dedup();
        self.settle();
    }

    /// Puts all lists in order, each object and each place once, and drops objects in which nothing was seen.
    pub(crate) fn settle(&mut self) {
        let mut used = vec![false; self.objects.len()];
        let mut mark = |object: usize| {
            if let Some(used) = used.get_mut(object) {
                *used = true;
            }
        };
        for (index, object) in self.objects.iter().enumerate() {
            object.edges.iter().for_each(|edge| mark(edge.caller.object));
            object.calls.iter().for_each(|call| mark(call.to.object));
            object.branches.iter().for_each(|branch| mark(branch.to.object));
            let is_empty = object.leaves.is_empty()
                && object.edges.is_empty()
                && object.calls.is_empty()
                && object.branches.is_empty();
            if !is_empty {
                mark(index);
            }
        }
        let old = std::mem::take(&mut self.objects);
        let mut keyed: Vec<(Key, usize, Object)> = old
            .into_iter()
            .enumerate()
            .filter(|(index, _)| used.get(*index).is_some_and(|used| *used))
            .map(|(index, object)| (key(&object), index, object))
            .collect();
        keyed.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        let mut numbers = HashMap::new();
        let mut last = None;
        for (key, index, object) in keyed {
            if last.as_ref() == Some(&key)
                && let Some(known) = self.objects.last_mut()
            {
                known.leaves.extend(object.leaves);
                known.edges.extend(object.edges);
                known.calls.extend(object.calls);
                known.branches.extend(object.branches);
            } else {
                self.objects.push(object);
            }
            numbers.insert(index, self.objects.len() - 1);
            last = Some(key);
        }
        let renumber = |object: &mut usize| *object = numbers.get(object).copied().unwrap_or(*object);
        for object in &mut self.objects {
            object.edges.iter_mut().for_each(|edge| renumber(&mut edge.caller.object));
            object.calls.iter_mut().for_each(|call| renumber(&mut call.to.object));
            object.branches.iter_mut().for_each(|branch| renumber(&mut branch.to.object));
            fold_leaves(&mut object.leaves);
            fold_edges(&mut object.edges);
            fold_calls(&mut object.calls);
            fold_branches(&mut object.branches);
        }
    }
}
