//! Measuring stage: what the whole machine does while a run lasts.
//!
//! In: `/proc/stat`, twice. Out: how long its processors were busy between, and how long a hypervisor kept them away. Its unit
//! is a tick of mostly 10 ms, which is what short runs are known to.

use super::stop::Stop;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::io;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

/// Time that all processors together have spent since the machine started, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// Running something.
    pub busy: f64,
    /// Wanting to run, while a hypervisor ran something else.
    pub stolen: f64,
}

impl Busy {
    /// As of now; `None` where the kernel does not tell.
    pub fn now() -> Option<Busy> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Busy::parse(&fs::read_to_string("/proc/stat").ok()?, ticks)
    }

    /// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, and the guests', which user and nice hold already.
    fn parse(text: &str, ticks: f64) -> Option<Busy> {
        let fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
        let fields: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, _, _, irq, softirq, stolen, ..] = *fields else { return None };
        let busy = user + nice + system + irq + softirq;
        Some(Busy { busy: busy / ticks, stolen: stolen / ticks })
    }

    /// What has come to it since.
    pub fn since(self, before: Busy) -> Busy {
        Busy { busy: (self.busy - before.busy).max(0.0), stolen: (self.stolen - before.stolen).max(0.0) }
    }
}

/// Waits until the machine is quiet before a run: until all others together keep less than so many processors busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// Processors that may be busy.
    pub most: f64,
    /// How long is waited at most.
    pub patience: Duration,
}

impl Gate {
    /// How long one look takes: some ticks.
    const LOOK: Duration = Duration::from_millis(100);

    /// The patience that is left after a machine that did not become quiet: where it never does, waiting helps nobody.
    pub fn less_patient(self) -> Gate {
        Gate { patience: (self.patience / 2).max(Gate::LOOK), ..self }
    }

    /// Waits, unless somebody wants to stop. Tells how long, in seconds, and whether it is quiet now.
    pub fn wait(self, stop: &Stop) -> (f64, bool) {
        let start = Instant::now();
        while let Some(before) = Busy::now() {
            let look = Instant::now();
            thread::sleep(Gate::LOOK);
            let Some(now) = Busy::now() else { break };
            let is_quiet = now.since(before).busy / look.elapsed().as_secs_f64() < self.most;
            if is_quiet || start.elapsed() >= self.patience || stop.is_wanted() {
                return (start.elapsed().as_secs_f64(), is_quiet);
            }
        }
        // Where nothing is known there is nothing to wait for.
        (0.0, true)
    }
}

/// Some processors, as in `taskset`: `0`, `2-3`, `0,4-7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(Vec<usize>);

impl Cpus {
    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Keeps the calling thread, and what it starts, on them until what it returns is dropped.
    pub(super) fn pin(&self) -> io::Result<Pinned> {
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        self.0.iter().for_each(|&cpu| set.set(cpu));
        sched_setaffinity(None, &set)?;
        Ok(Pinned { before })
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Cpus, String> {
        let wrong = || format!("{text:?}: expected processors, such as 0, 2-3 or 0,4-7");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&cpu| cpu < CpuSet::MAX_CPU);
            let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
            if last < first {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Cpus(cpus))
    }
}

/// Where a thread may run, to be given back.
pub(super) struct Pinned {
    before: CpuSet,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It could run there before.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Processors that this process may run on.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_all_but_idle_waiting_and_stolen_time() {
        let text = "cpu  100 20 30 4000 500 6 7 80 9 10\ncpu0 1 1 1 1\n";
        assert_eq!(Busy::parse(text, 100.0), Some(Busy { busy: 1.63, stolen: 0.8 }));
        for text in ["", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h i"] {
            assert_eq!(Busy::parse(text, 100.0), None, "{text}");
        }
    }

    #[test]
    fn work_shows_in_the_machines_busy_time() {
        let before = Busy::now().expect("Linux");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let busy = Busy::now().expect("Linux").since(before).busy;
        assert!(busy > 0.1, "{busy}");
    }

    #[test]
    fn a_gate_opens_when_its_patience_ends() {
        let never = Gate { most: -1.0, patience: Duration::from_millis(150) };
        let (waited, is_quiet) = never.wait(&Stop::default());
        assert!(!is_quiet && (0.15..5.0).contains(&waited), "{waited}");
        assert_eq!(never.less_patient().less_patient().patience, Gate::LOOK);
        let (_, is_quiet) = Gate { most: f64::INFINITY, patience: Duration::ZERO }.wait(&Stop::default());
        assert!(is_quiet);
        let (_, is_quiet) = Gate { patience: Duration::from_secs(600), ..never }.wait(&Stop::asked(1));
        assert!(!is_quiet);
    }

    #[test]
    fn processors_are_read_as_lists_of_ranges() {
        assert_eq!("0,4-6,5".parse(), Ok(Cpus(vec![0, 4, 5, 6])));
        assert_eq!("3".parse::<Cpus>().map(|cpus| cpus.count()), Ok(1));
        for wrong in ["", "a", "3-1", "1-", "0,,1", "99999999"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
    }
}
