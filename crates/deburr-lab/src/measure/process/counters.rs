//! Measuring stage: what the processor counts of a run, outside of the kernel.
//!
//! In: events, and the process that makes the measured one (`starter.rs`). Out: a number for each event. Counters are
//! attached to that process before it does anything; what it makes inherits them, and they begin to count when that
//! executes its program (perf_event_open(2): `inherit`, `enable_on_exec`). They form a group, so that they count
//! during the same time, or where there are too few for that, take turns: then a number is scaled, and it is known
//! by how much.

use perf_event_open_sys::{bindings, perf_event_open};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

/// What can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Cycles of the processor's own clock.
    Cycles,
    /// Instructions that were retired.
    Instructions,
    /// Branches that were retired.
    Branches,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// What the processor calls a reference of a cache: mostly of the last level.
    CacheReferences,
    /// Those that missed it.
    CacheMisses,
    /// Page faults, which the kernel counts on every machine.
    #[cfg(test)]
    PageFaults,
}

impl Event {
    const fn kind(self) -> (u32, u32) {
        let hardware = bindings::PERF_TYPE_HARDWARE;
        match self {
            Event::Cycles => (hardware, bindings::PERF_COUNT_HW_CPU_CYCLES),
            Event::Instructions => (hardware, bindings::PERF_COUNT_HW_INSTRUCTIONS),
            Event::Branches => (hardware, bindings::PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
            Event::BranchMisses => (hardware, bindings::PERF_COUNT_HW_BRANCH_MISSES),
            Event::CacheReferences => (hardware, bindings::PERF_COUNT_HW_CACHE_REFERENCES),
            Event::CacheMisses => (hardware, bindings::PERF_COUNT_HW_CACHE_MISSES),
            #[cfg(test)]
            Event::PageFaults => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_PAGE_FAULTS),
        }
    }

    /// Opens a counter of a process (0: of this one). `leader`: the first of the group that it belongs to.
    fn open(self, pid: i32, leader: Option<RawFd>) -> io::Result<File> {
        let (kind, config) = self.kind();
        let mut attributes = bindings::perf_event_attr {
            type_: kind,
            size: u32::try_from(size_of::<bindings::perf_event_attr>()).unwrap_or_default(),
            config: u64::from(config),
            read_format: u64::from(bindings::PERF_FORMAT_TOTAL_TIME_ENABLED)
                | u64::from(bindings::PERF_FORMAT_TOTAL_TIME_RUNNING),
            ..Default::default()
        };
        attributes.set_inherit(1);
        // What anybody may count of their own processes.
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
        // The others of a group follow the first one.
        attributes.set_disabled(u64::from(leader.is_none()));
        attributes.set_enable_on_exec(u64::from(leader.is_none()));
        let flags = bindings::PERF_FLAG_FD_CLOEXEC;
        // SAFETY: the attributes are of the size that they state, and live during the call.
        #[expect(unsafe_code, reason = "a system call that no safe library has")]
        let opened = unsafe {
            let fd = perf_event_open(&raw mut attributes, pid, -1, leader.unwrap_or(-1), flags.into());
            // The kernel has just made it, and nobody else knows it.
            (fd >= 0).then(|| File::from_raw_fd(fd))
        };
        opened.ok_or_else(io::Error::last_os_error)
    }
}

/// What was counted of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// The event.
    pub event: Event,
    /// How often, scaled to the whole run.
    pub value: f64,
    /// In which share of the run's time it was counted.
    pub share: f64,
}

/// Counters of a process and of all that it starts.
#[derive(Debug)]
pub(super) struct Counters {
    counters: Vec<(Event, File)>,
}

impl Counters {
    pub(super) fn attach(events: &[Event], pid: i32) -> io::Result<Counters> {
        match Counters::open(events, pid, true) {
            // The processor has not as many counters.
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                Counters::open(events, pid, false)
            }
            opened => opened,
        }
    }

    fn open(events: &[Event], pid: i32, is_group: bool) -> io::Result<Counters> {
        let mut counters: Vec<(Event, File)> = Vec::new();
        for &event in events {
            let leader = counters.first().filter(|_| is_group).map(|(_, first)| first.as_raw_fd());
            counters.push((event, event.open(pid, leader)?));
        }
        Ok(Counters { counters })
    }

    /// What was counted, once all has ended.
    pub(super) fn read(self) -> io::Result<Vec<Count>> {
        let read = |(event, mut counter): (Event, File)| {
            let mut numbers = [0; 24];
            counter.read_exact(&mut numbers)?;
            let [value, enabled, running] = [0, 8, 16].map(|at| {
                let bytes = numbers.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
                u64::from_ne_bytes(bytes.unwrap_or_default()) as f64
            });
            // A run that ended before it was ever counted has nothing to scale.
            let share = if enabled > 0.0 { running / enabled } else { 0.0 };
            Ok(Count { event, value: if share > 0.0 { value / share } else { 0.0 }, share })
        };
        self.counters.into_iter().map(read).collect()
    }
}

/// Why events cannot be counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCounted {
    /// The processor does not show such a counter.
    Missing,
    /// The kernel does not permit it; what `kernel.perf_event_paranoid` says, where that can be read.
    Forbidden(Option<i32>),
    /// Another error of the system.
    System(Errno),
}

impl fmt::Display for NotCounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCounted::Missing => {
                f.write_str("the processor shows no such counter here, as in most virtual machines")
            }
            NotCounted::Forbidden(Some(level)) => write!(
                f,
                "the kernel does not permit it (kernel.perf_event_paranoid is {level}; sysctl kernel.perf_event_paranoid=2 would)"
            ),
            NotCounted::Forbidden(None) => {
                f.write_str("the kernel does not permit it, as in many containers")
            }
            NotCounted::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for NotCounted {}

/// Whether some events can be counted on this machine.
///
/// # Errors
/// Why not.
pub fn can_count(events: &[Event]) -> Result<(), NotCounted> {
    let error = match Counters::attach(events, 0) {
        Ok(_) => return Ok(()),
        Err(error) => Errno::from_io_error(&error).unwrap_or(Errno::IO),
    };
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    Err(match error {
        Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV | Errno::NXIO => NotCounted::Missing,
        Errno::ACCESS | Errno::PERM => {
            NotCounted::Forbidden(level.ok().and_then(|level| level.trim().parse().ok()))
        }
        Errno::NOSYS => NotCounted::Forbidden(None),
        other => NotCounted::System(other),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::stop::Stop;
    use super::super::{End, Streams, Task, run_alone};
    use super::*;

    fn counted(script: &str, events: &[Event]) -> (u64, Vec<Count>) {
        let file = tempfile::tempfile().expect("a file");
        let task = Task { counted: events.to_vec(), ..Task::shell(script) };
        let ran =
            run_alone(&task, Streams { output: &file, errors: &file }, &Stop::default()).expect("a run");
        assert_eq!(ran.end, End::Status(0));
        (ran.usage.page_faults, ran.counts)
    }

    #[test]
    fn what_a_run_and_its_children_do_is_counted() {
        if can_count(&[Event::PageFaults]).is_err() {
            // Where nothing at all may be counted, as in some containers, that is what is said.
            assert!(counters_are_refused());
            return;
        }
        let (_, few) = counted("true", &[Event::PageFaults]);
        // A child of a child, and one that outlives its parent's wait.
        let (faults, many) =
            counted("sh -c 'head -c 40M /dev/zero | tail -c 30M > /dev/null'", &[Event::PageFaults]);
        let [few, many] = [&few, &many].map(|counts| counts[0]);
        assert_eq!((few.event, few.share, many.share), (Event::PageFaults, 1.0, 1.0));
        assert!(few.value > 10.0 && many.value > few.value + 1_000.0, "{few:?} {many:?}");
        assert!(many.value <= faults as f64, "{many:?} {faults}");
    }

    fn counters_are_refused() -> bool {
        matches!(can_count(&[Event::PageFaults]), Err(NotCounted::Forbidden(_)))
    }

    #[test]
    fn several_events_are_counted_during_the_same_time() {
        if can_count(&[Event::PageFaults; 2]).is_err() {
            assert!(counters_are_refused());
            return;
        }
        let (_, counts) = counted("true", &[Event::PageFaults, Event::PageFaults]);
        assert_eq!(counts[0], counts[1]);
    }

    #[test]
    fn what_cannot_be_counted_is_said() {
        for (why, text) in [
            (NotCounted::Missing, "no such counter here"),
            (NotCounted::Forbidden(Some(4)), "kernel.perf_event_paranoid is 4"),
            (NotCounted::Forbidden(None), "containers"),
        ] {
            assert!(why.to_string().contains(text), "{why}");
        }
    }
}
