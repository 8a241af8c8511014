//! Mappings, forks and execs of all processes, by time → what an address was in a process at a time.
//!
//! The buffers of CPUs are written one after another, so that a sample may be in the file before the mapping that it needs. All
//! of these records are therefore read first, and sorted by time; their number is that of mappings. A process is a sequence of
//! *images*, each from a fork or an exec to the next one, and an image is a [`Plane`]. Where an image that began with a fork has
//! no mapping, the parent's of that time counts. Equal times are in the order of the file, and the sample comes last.

use super::plane::{Painted, Plane};
use crate::error::Error;
use crate::gather::ObjectId;
use std::collections::HashMap;

/// The most records of this kind. A JVM has some thousands.
const MOST: usize = 1 << 21;
/// The most forks in a row without an exec that mappings are inherited by.
const MOST_FORKS: usize = 64;

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

/// A process from a fork or an exec on.
#[derive(Debug)]
struct Image {
    from: u64,
    parent: Option<u32>,
    mappings: Plane<Backing>,
}

#[derive(Debug)]
enum Process {
    /// As it was read.
    Records(Vec<(u64, Happening)>),
    /// Once it has a sample.
    Images(Vec<Image>),
}

/// All processes.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    processes: HashMap<u32, Process>,
    count: usize,
}

/// The images of a process whose records are in the order of time.
fn images(records: &[(u64, Happening)]) -> Vec<Image> {
    let mut images = Vec::new();
    let (mut from, mut parent) = (0, None);
    let mut painted: Vec<Painted<Backing>> = Vec::new();
    for (time, happening) in records {
        let next = match happening {
            Happening::Map { start, end, backing } => {
                painted.push(Painted { start: *start, end: *end, time: *time, what: *backing });
                continue;
            }
            Happening::Exec => None,
            Happening::Fork { parent } => Some(*parent),
        };
        images.push(Image { from, parent, mappings: Plane::new(&painted) });
        painted.clear();
        (from, parent) = (*time, next);
    }
    images.push(Image { from, parent, mappings: Plane::new(&painted) });
    images
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
        let process = self.processes.entry(pid).or_insert_with(|| Process::Records(Vec::new()));
        if let Process::Records(records) = process {
            records.push((time, happening));
        }
        Ok(())
    }

    /// The image that a process had at a time.
    fn image(&mut self, pid: u32, time: u64) -> Option<&Image> {
        let process = self.processes.get_mut(&pid)?;
        if let Process::Records(records) = process {
            records.sort_by_key(|(time, _)| *time);
            *process = Process::Images(images(records));
        }
        let Process::Images(images) = process else { return None };
        let last = images.partition_point(|image| image.from <= time);
        images.get(last.checked_sub(1)?)
    }

    /// What an address was.
    pub(super) fn find(&mut self, mut pid: u32, mut time: u64, address: u64) -> Found {
        for _ in 0..=MOST_FORKS {
            let Some(image) = self.image(pid, time) else { return Found::Unmapped };
            match image.mappings.find(time, address) {
                Some((Backing::Unnamed, _)) => return Found::Unmapped,
                Some((Backing::Anonymous, _)) => return Found::Anonymous,
                Some((Backing::File(object, offset), start)) => {
                    return Found::File(object, offset.wrapping_add(address - start));
                }
                None => {}
            }
            // What the parent had before the fork.
            let (Some(parent), Some(before)) = (image.parent, image.from.checked_sub(1)) else { break };
            (pid, time) = (parent, before);
        }
        Found::Unmapped
    }
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
        let mut find = |time, address| timeline.find(1, time, address);
        // Twice, so that times also go back.
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
        let mut find = |pid, time, address| timeline.find(pid, time, address);
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
        assert_eq!(timeline.find(1, 99, 0x1000), Found::Unmapped);
        assert_eq!(timeline.find(3, 99, 0x1000), Found::Unmapped);
    }
}
