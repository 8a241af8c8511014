//! Which process a thread belongs to, and which process ran on a CPU, by time: for samples that name only one of them.
//!
//! Of threads, only those are kept that are not the first one of their process, whose numbers are the same. Of switches, only those
//! to another process are kept. Where there are more than [`MOST_SWITCHES`], the later ones are not known.

use crate::error::Error;
use std::collections::HashMap;

/// The most threads, as forks and names of them come.
const MOST_THREADS: usize = 1 << 21;
/// The most switches to another process that are kept: 64 MiB.
const MOST_SWITCHES: usize = 1 << 22;

/// Processes by time.
type Since = Vec<(u64, u32)>;

/// All threads, and all CPUs.
#[derive(Debug, Default)]
pub(super) struct Threads {
    processes: HashMap<u32, Since>,
    cpus: HashMap<u32, Since>,
    threads: usize,
    switches: usize,
}

/// Adds a process where it is another one than the last.
fn add(list: &mut Since, time: u64, pid: u32) -> bool {
    let is_new = list.last().is_none_or(|(_, last)| *last != pid);
    if is_new {
        list.push((time, pid));
    }
    is_new
}

impl Threads {
    /// A thread belongs to a process from a time on. `offset` is that of the record.
    pub(super) fn thread(&mut self, pid: u32, tid: u32, time: u64, offset: u64) -> Result<(), Error> {
        if pid == tid && !self.processes.contains_key(&tid) {
            return Ok(());
        }
        if self.threads >= MOST_THREADS {
            return Err(Error::new(offset, format!("at most {MOST_THREADS} threads up to here")));
        }
        self.threads += usize::from(add(self.processes.entry(tid).or_default(), time, pid));
        Ok(())
    }

    /// A process runs on a CPU from a time on.
    pub(super) fn switch(&mut self, cpu: u32, pid: u32, time: u64) {
        if self.switches < MOST_SWITCHES {
            self.switches += usize::from(add(self.cpus.entry(cpu).or_default(), time, pid));
        }
    }

    /// Sorts what was noted by time: from here on it can be looked up.
    pub(super) fn sort(&mut self) {
        let lists = self.processes.values_mut().chain(self.cpus.values_mut());
        lists.for_each(|list| list.sort_by_key(|(time, _)| *time));
    }

    /// The process of a thread. What was there before the thread was first seen is not known: then its first process counts.
    pub(super) fn process(&self, tid: u32, time: u64) -> u32 {
        let Some(list) = self.processes.get(&tid) else { return tid };
        let last = list.partition_point(|(since, _)| *since <= time).saturating_sub(1);
        list.get(last).map_or(tid, |(_, pid)| *pid)
    }

    /// The process that ran on a CPU, where known.
    pub(super) fn on_cpu(&self, cpu: u32, time: u64) -> Option<u32> {
        let list = self.cpus.get(&cpu)?;
        let last = list.partition_point(|(since, _)| *since <= time).checked_sub(1)?;
        list.get(last).map(|(_, pid)| *pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_process_that_it_had_at_a_time() {
        let mut threads = Threads::default();
        for (pid, tid, time) in [(10, 10, 1), (10, 11, 5), (10, 11, 6), (20, 11, 50), (11, 11, 90)] {
            threads.thread(pid, tid, time, 0).unwrap();
        }
        threads.sort();
        let found = [0, 5, 49, 50, 89, 90].map(|time| threads.process(11, time));
        assert_eq!(found, [10, 10, 10, 20, 20, 11]);
        assert_eq!((threads.process(10, 9), threads.process(77, 9)), (10, 77));
    }

    #[test]
    fn a_cpu_has_a_process_from_a_switch_on() {
        let mut threads = Threads::default();
        for (cpu, pid, time) in [(0, 10, 5), (1, 30, 1), (0, 10, 6), (0, 20, 8)] {
            threads.switch(cpu, pid, time);
        }
        threads.sort();
        let found = [4, 5, 7, 8, 99].map(|time| threads.on_cpu(0, time));
        assert_eq!(found, [None, Some(10), Some(10), Some(20), Some(20)]);
        assert_eq!((threads.on_cpu(1, 2), threads.on_cpu(2, 2), threads.switches), (Some(30), None, 3));
    }
}
