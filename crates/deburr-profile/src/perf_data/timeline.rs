//! Mappings, forks and execs of all processes, by time → what an address was in a process at a time.
//!
//! The buffers of CPUs are written one after another, so that a sample may be in the file before the mapping that it needs. All
//! of these records are therefore read first, and sorted by time; their number is that of mappings. For each process that has
//! samples there is a *view*: its mappings at one time, without overlaps. A later sample moves the view on, an earlier one makes
//! it anew: from the last exec, or with the parent's mappings of the time of the last fork. Equal times are in the order of the
//! file, and the sample comes last.

use crate::error::Error;
use crate::gather::ObjectId;
use std::collections::{BTreeMap, HashMap};

/// The most records of this kind. A JVM has some thousands.
const MOST: usize = 1 << 21;
/// The most steps of making all views, each a mapping that is put into one: some seconds.
const MOST_STEPS: u64 = 1 << 27;
/// The most mappings of all views together; with more, all are made anew.
const MOST_VIEWED: usize = 1 << 21;

/// What a mapping shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backing {
    /// A file; offset of the mapping's first byte.
    File(ObjectId, u64),
    /// Memory of no file.
    Anonymous,
    /// A file whose path is not known.
    Unnamed,
}

/// Something that changes a process's mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    Map { start: u64, end: u64, backing: Backing },
    Exec,
    Fork { parent: u32 },
}

/// What an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    File(ObjectId, u64),
    Anonymous,
    Unmapped,
}

/// A mapping, or what later ones have left of it.
#[derive(Debug, Clone, Copy)]
struct Part {
    end: u64,
    /// Where the mapping began.
    origin: u64,
    backing: Backing,
}

/// The mappings of a process from one of its happenings to the next.
#[derive(Debug, Clone, Default)]
struct View {
    from: u64,
    /// The first time at which it does not hold.
    until: u64,
    /// How many happenings are in it.
    applied: usize,
    /// By their first address.
    parts: BTreeMap<u64, Part>,
}

#[derive(Debug, Default)]
struct Process {
    happenings: Vec<(u64, Happening)>,
    view: Option<View>,
}

/// All processes.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    processes: HashMap<u32, Process>,
    count: usize,
    viewed: usize,
    steps: u64,
}

impl View {
    /// Puts a mapping over what was there.
    fn map(&mut self, start: u64, end: u64, backing: Backing) {
        if start >= end {
            return;
        }
        if let Some((_, before)) = self.parts.range_mut(..start).next_back()
            && before.end > start
        {
            let rest = *before;
            before.end = start;
            self.parts.insert(start, rest);
        }
        while let Some((&first, &covered)) = self.parts.range(start..end).next() {
            self.parts.remove(&first);
            if covered.end > end {
                self.parts.insert(end, covered);
            }
        }
        self.parts.insert(start, Part { end, origin: start, backing });
    }

    fn find(&self, address: u64) -> Found {
        let last = self.parts.range(..=address).next_back().map(|(_, part)| part);
        match last.filter(|part| part.end > address) {
            None | Some(Part { backing: Backing::Unnamed, .. }) => Found::Unmapped,
            Some(Part { backing: Backing::Anonymous, .. }) => Found::Anonymous,
            Some(Part { origin, backing: Backing::File(object, offset), .. }) => {
                Found::File(*object, offset.wrapping_add(address - origin))
            }
        }
    }
}

impl Timeline {
    /// Adds what happened to a process. `offset` is that of the record.
    pub(super) fn add(
        &mut self,
        pid: u32,
        time: u64,
        happening: Happening,
        offset: u64,
    ) -> Result<(), Error> {
        self.count += 1;
        if self.count > MOST {
            return Err(Error::new(offset, format!("at most {MOST} mappings, forks and execs up to here")));
        }
        self.processes.entry(pid).or_default().happenings.push((time, happening));
        Ok(())
    }

    /// Puts everything in the order of time. To be called before look-ups.
    pub(super) fn sort(&mut self) {
        for process in self.processes.values_mut() {
            process.happenings.sort_by_key(|(time, _)| *time);
        }
    }

    /// What an address was. `offset` is that of the sample.
    pub(super) fn find(&mut self, pid: u32, time: u64, address: u64, offset: u64) -> Result<Found, Error> {
        let Some(process) = self.processes.get(&pid) else { return Ok(Found::Unmapped) };
        if let Some(view) = &process.view
            && (view.from..view.until).contains(&time)
        {
            return Ok(view.find(address));
        }
        let view = self.view(pid, time);
        let found = view.find(address);
        if self.steps > MOST_STEPS {
            return Err(Error::new(
                offset,
                "fewer mappings, or samples more in the order of time, up to here",
            ));
        }
        if self.viewed > MOST_VIEWED {
            self.processes.values_mut().for_each(|process| process.view = None);
            self.viewed = 0;
        }
        self.viewed += view.parts.len() + 1;
        if let Some(process) = self.processes.get_mut(&pid) {
            process.view = Some(view);
        }
        Ok(found)
    }

    /// The mappings of a process at a time.
    fn view(&mut self, pid: u32, time: u64) -> View {
        let old = self.processes.get_mut(&pid).and_then(|process| process.view.take());
        self.viewed = self.viewed.saturating_sub(old.as_ref().map_or(0, |view| view.parts.len() + 1));
        let old = old.filter(|view| view.until <= time);
        let Some(process) = self.processes.get(&pid) else { return View::default() };
        let applied = process.happenings.partition_point(|(at, _)| *at <= time);
        let first = old.as_ref().map_or(0, |view| view.applied);
        let new = process.happenings.get(first..applied).unwrap_or_default();
        let is_whole = |(_, happening): &(u64, Happening)| !matches!(happening, Happening::Map { .. });
        let mut view = match old {
            Some(view) if !new.iter().any(is_whole) => view,
            _ => View::default(),
        };
        let mut steps = 1;
        let pieces =
            if view.applied > 0 { vec![new] } else { pieces(&self.processes, pid, applied, &mut steps) };
        for (_, happening) in pieces.into_iter().rev().flatten() {
            steps += 1;
            if self.steps + steps > MOST_STEPS {
                break;
            }
            if let Happening::Map { start, end, backing } = happening {
                view.map(*start, *end, *backing);
            }
        }
        view.applied = applied;
        let at =
            |index: Option<usize>| index.and_then(|index| process.happenings.get(index)).map(|(at, _)| *at);
        view.from = at(applied.checked_sub(1)).unwrap_or(0);
        view.until = at(Some(applied)).unwrap_or(u64::MAX);
        self.steps += steps;
        view
    }
}

/// What made the mappings of a process after `applied` of its happenings, the last piece first: its own since the last exec
/// or fork, then the parent's before that fork, and so on.
fn pieces<'t>(
    processes: &'t HashMap<u32, Process>,
    pid: u32,
    applied: usize,
    steps: &mut u64,
) -> Vec<&'t [(u64, Happening)]> {
    let mut pieces = Vec::new();
    let mut next = Some((pid, applied));
    let mut time = None;
    while let Some((pid, applied)) = next.take().filter(|_| *steps < MOST_STEPS) {
        let Some(process) = processes.get(&pid) else { break };
        let past = process.happenings.get(..applied).unwrap_or_default();
        let last = past.iter().rposition(|(_, happening)| !matches!(happening, Happening::Map { .. }));
        let piece = past.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
        *steps += 1 + piece.len() as u64;
        pieces.push(piece);
        let Some((at, Happening::Fork { parent })) = last.and_then(|last| past.get(last)) else { break };
        // Earlier with each turn: a process that forks itself, or a circle at one time, ends here.
        if time.is_some_and(|time| *at >= time) {
            break;
        }
        time = Some(*at);
        let Some(of) = processes.get(parent) else { break };
        next = Some((*parent, of.happenings.partition_point(|(other, _)| other < at)));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::Gather;

    fn map(start: u64, end: u64, object: ObjectId, offset: u64) -> Happening {
        Happening::Map { start, end, backing: Backing::File(object, offset) }
    }

    /// A timeline of (process, time, what), in the order of the file.
    fn timeline(happenings: &[(u32, u64, Happening)]) -> Timeline {
        let mut timeline = Timeline::default();
        for (pid, time, happening) in happenings {
            timeline.add(*pid, *time, *happening, 0).unwrap();
        }
        timeline.sort();
        timeline
    }

    fn objects() -> [ObjectId; 3] {
        let mut gather = Gather::default();
        ["/a", "/b", "/c"].map(|path| gather.object_at(path, 0).unwrap())
    }

    #[test]
    fn the_last_mapping_before_a_sample_counts() {
        let [a, b, _] = objects();
        let mut timeline = timeline(&[
            (1, 50, map(0x3000, 0x4000, b, 0)),
            (1, 10, map(0x1000, 0x5000, a, 0x200)),
            (1, 90, Happening::Map { start: 0x1000, end: 0x2000, backing: Backing::Anonymous }),
        ]);
        let mut find = |time, address| timeline.find(1, time, address, 0).unwrap();
        // Twice, so that the view also goes back.
        for _ in 0..2 {
            assert_eq!(find(9, 0x1010), Found::Unmapped);
            assert_eq!(find(10, 0x1010), Found::File(a, 0x210));
            assert_eq!(find(49, 0x3010), Found::File(a, 0x2210));
            assert_eq!(find(50, 0x3010), Found::File(b, 0x10));
            assert_eq!(find(99, 0x4fff), Found::File(a, 0x41ff));
            assert_eq!(find(99, 0x5000), Found::Unmapped);
            assert_eq!(find(90, 0x1010), Found::Anonymous);
            assert_eq!(find(49, 0x3010), Found::File(a, 0x2210));
        }
    }

    #[test]
    fn a_fork_has_its_parents_mappings_of_that_time_and_an_exec_has_none() {
        let [a, b, c] = objects();
        let mut timeline = timeline(&[
            (1, 10, map(0x1000, 0x2000, a, 0)),
            (2, 20, Happening::Fork { parent: 1 }),
            (1, 30, map(0x1000, 0x2000, b, 0)),
            (2, 40, Happening::Exec),
            (2, 41, map(0x5000, 0x6000, c, 0)),
            // The number is used again.
            (2, 60, Happening::Fork { parent: 1 }),
        ]);
        let mut find = |pid, time, address| timeline.find(pid, time, address, 0).unwrap();
        for _ in 0..2 {
            assert_eq!(find(2, 19, 0x1000), Found::Unmapped);
            assert_eq!(find(2, 35, 0x1000), Found::File(a, 0));
            assert_eq!(find(1, 35, 0x1000), Found::File(b, 0));
            assert_eq!(find(2, 45, 0x1000), Found::Unmapped);
            assert_eq!(find(2, 45, 0x5000), Found::File(c, 0));
            assert_eq!(find(2, 60, 0x5000), Found::Unmapped);
            assert_eq!(find(2, 61, 0x1000), Found::File(b, 0));
        }
    }

    #[test]
    fn circles_of_forks_end() {
        let mut timeline = timeline(&[
            (1, 10, Happening::Fork { parent: 2 }),
            (2, 10, Happening::Fork { parent: 1 }),
            (3, 5, Happening::Fork { parent: 3 }),
        ]);
        assert_eq!(timeline.find(1, 99, 0x1000, 0), Ok(Found::Unmapped));
        assert_eq!(timeline.find(3, 99, 0x1000, 0), Ok(Found::Unmapped));
    }
}
