//! Measuring stage: how long a process was queued for a processor.
//!
//! In: a process that has ended and is not reaped. Out: the time in which its first thread could have run and had no
//! processor (Linux, scheduler/sched-stats.rst, `/proc/PID/schedstat`), and whether that thread was all of it: the
//! kernel adds up no such time of threads and children that have ended. Any other thread touches its new stack,
//! and any child its copy of some page, so who has all page faults of a process is all of it (proc_pid_stat(5)).

use std::fs;

/// The first thread of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Leader {
    /// Seconds in which it could have run and had no processor.
    pub(super) queued: f64,
    /// Seconds that it computed.
    computed: f64,
    page_faults: u64,
}

impl Leader {
    /// That of a process that has ended and is not reaped; `None` where the kernel does not count this.
    pub(super) fn of(pid: i32) -> Option<Leader> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{pid}/{name}")).ok();
        Leader::parse(&read("schedstat")?, &read("stat")?)
    }

    fn parse(schedule: &str, stat: &str) -> Option<Leader> {
        let mut schedule = schedule.split_ascii_whitespace().map(str::parse::<u64>);
        let mut number = || schedule.next()?.ok();
        let (computed, queued, times) = (number()?, number()?, number()?);
        // All zeros: the kernel does not count.
        if times == 0 {
            return None;
        }
        // The name, in parentheses, may have any characters. Its faults are the tenth and the twelfth field.
        let (_, fields) = stat.rsplit_once(')')?;
        let field = |number: usize| fields.split_ascii_whitespace().nth(number - 3)?.parse::<u64>().ok();
        let page_faults = field(10)?.checked_add(field(12)?)?;
        Some(Leader { queued: queued as f64 / 1e9, computed: computed as f64 / 1e9, page_faults })
    }

    /// Whether it was the only thread of a process with this CPU time in seconds and this number of page faults, both with all
    /// children that the process waited for.
    pub(super) fn is_all_of(&self, computed: f64, page_faults: u64) -> bool {
        self.page_faults == page_faults && (computed - self.computed).abs() <= ROUNDING
    }
}

/// Maximum difference in seconds between the CPU time of the only thread and that of its process: the kernel rounds user and system time
/// to microseconds, and a thread that ends still computes. Starting a thread takes tens of microseconds.
const ROUNDING: f64 = 50e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_count_is_unknown() {
        let stat = "7 (a) b) Z 1 1 1 0 -1 4227084 2308 9 3 8 15 0 0 0 20 0 1 0 3253100 0 0";
        let found = Leader::parse("163340436 165905009 51\n", stat).unwrap();
        assert_eq!((found.queued, found.page_faults), (0.165_905_009, 2311));
        for (schedule, stat) in [
            ("0 0 0\n", stat),
            ("1 2\n", stat),
            ("", stat),
            ("1 2 3\n", ""),
            ("1 2 3\n", "7 (a) Z 1 1 1 0 -1 4227084"),
        ] {
            assert_eq!(Leader::parse(schedule, stat), None, "{schedule:?} {stat:?}");
        }
    }

    #[test]
    fn a_process_that_computed_or_faulted_more_than_its_first_thread_was_more() {
        let leader = Leader { queued: 0.1, computed: 1.0, page_faults: 100 };
        assert!(leader.is_all_of(1.0, 100));
        assert!(!leader.is_all_of(1.0, 101));
        assert!(!leader.is_all_of(1.0002, 100));
    }
}
