//! Measuring stage: what the whole machine does while a run lasts.
//!
//! In: `/proc/stat`, twice. Out: how long its processors were busy between, and how long a hypervisor kept
//! them away. Its unit is a tick of mostly 10 ms, which is what short runs are known to.

use super::stop::Stop;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

/// Time that some processors together have spent since the machine started, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// Running something.
    pub busy: f64,
    /// Wanting to run, while a hypervisor ran something else.
    pub stolen: f64,
}

impl Busy {
    /// As of now, of the processors that a run may use, where those are given: what others do elsewhere takes
    /// nothing from it. `None` where the kernel does not report it.
    pub fn now(cpus: Option<&Cpus>) -> Option<Busy> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Busy::parse(&fs::read_to_string("/proc/stat").ok()?, cpus, ticks)
    }

    fn parse(text: &str, cpus: Option<&Cpus>, ticks: f64) -> Option<Busy> {
        let is_meant = |name: &str| match cpus {
            None => name == "cpu",
            Some(cpus) => {
                name.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()).is_some_and(|cpu| cpus.has(cpu))
            }
        };
        let lines = text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| is_meant(name));
        let all = lines.map(|(_, fields)| Busy::of(fields, ticks)).collect::<Option<Vec<Busy>>>()?;
        let sum =
            |one: Busy, other: Busy| Busy { busy: one.busy + other.busy, stolen: one.stolen + other.stolen };
        all.into_iter().reduce(sum)
    }

    /// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, and the guests', which user and
    /// nice hold already.
    fn of(fields: &str, ticks: f64) -> Option<Busy> {
        let fields = fields.split_ascii_whitespace();
        let fields: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, _, _, irq, softirq, stolen, ..] = *fields else { return None };
        let busy = user + nice + system + irq + softirq;
        Some(Busy { busy: busy / ticks, stolen: stolen / ticks })
    }

    /// What has come to it since.
    pub fn since(self, before: Busy) -> Since {
        let since = |now: f64, before: f64| Some(now - before).filter(|since| *since >= 0.0);
        Since { busy: since(self.busy, before.busy), stolen: since(self.stolen, before.stolen) }
    }
}

/// What has come to [`Busy`] between two readings, in seconds. `None` where the kernel's count went
/// backwards, as that of stolen time has done when a machine was moved: how much it was is then unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Since {
    /// Running something.
    pub busy: Option<f64>,
    /// Wanting to run, while a hypervisor ran something else.
    pub stolen: Option<f64>,
}

/// How long the queues of all processors have lasted together since the machine started, at most, in seconds. The kernel counts for how
/// long something waited for a processor, on average of those that have something to do (Linux, accounting/psi.rst): where
/// all have, that is at least the share of one. `None` where the kernel does not count it.
pub(super) fn queues() -> Option<f64> {
    queues_in(&fs::read_to_string("/proc/pressure/cpu").ok()?, &fs::read_to_string("/proc/stat").ok()?)
}

fn queues_in(pressure: &str, stat: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?;
    let is_processor = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let processors = stat.lines().filter(is_processor).count();
    Some(processors as f64 * total.parse::<f64>().ok()? / 1e6)
}

/// Waits until the machine is quiet before a run: until all others together keep less than so many of its
/// processors busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// Processors that may be busy.
    pub most: f64,
    /// How long is waited at most.
    pub patience: Duration,
}

impl Gate {
    /// How long one sample takes: some ticks.
    const SAMPLE: Duration = Duration::from_millis(100);

    /// The patience that is left after a machine that did not become quiet: where it never does, waiting is
    /// useless.
    pub fn less_patient(self) -> Gate {
        Gate { patience: (self.patience / 2).max(Gate::SAMPLE), ..self }
    }

    /// A gate for measurements that may take so many seconds together: on a machine that never becomes quiet its waits, each half of the one
    /// before, take a tenth of that.
    #[must_use]
    pub fn within(self, seconds: f64) -> Gate {
        let most = Duration::try_from_secs_f64(seconds / 20.0).unwrap_or(self.patience);
        Gate { patience: self.patience.min(most), ..self }
    }

    /// Waits, unless somebody wants to stop, for the processors that the run may use. Tells how long, in
    /// seconds, and whether they are quiet now. `waits` gets how many are busy while it waits.
    pub fn wait(self, cpus: Option<&Cpus>, stop: &Stop, waits: &mut dyn FnMut(Option<f64>)) -> (f64, bool) {
        let start = Instant::now();
        while let Some(before) = Busy::now(cpus) {
            let sample = Instant::now();
            thread::sleep(Gate::SAMPLE);
            let Some(now) = Busy::now(cpus) else { break };
            let busy = now.since(before).busy.unwrap_or(0.0) / sample.elapsed().as_secs_f64();
            let is_quiet = busy < self.most;
            if is_quiet || start.elapsed() >= self.patience || stop.is_wanted() {
                return (start.elapsed().as_secs_f64(), is_quiet);
            }
            waits(Some(busy));
        }
        // Where nothing is known there is nothing to wait for.
        (0.0, true)
    }
}

/// What else the machine did during the last runs: where they saw it quiet, nothing has to be waited for before
/// the next one.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// Wall time of each run, and what others computed meanwhile, in seconds.
    runs: VecDeque<(f64, f64)>,
    /// When the last one ended.
    ended: Option<Instant>,
}

impl Company {
    /// How long ago a run may have ended that still tells how the machine is.
    const FRESH: Duration = Duration::from_millis(50);
    /// Of a run that takes longer, in seconds, the average does not tell how the machine was at its end.
    const LONGEST: f64 = 2.0;

    /// A run has ended just now. `foreign`: what others computed meanwhile, in seconds, if that is known.
    pub(super) fn saw(&mut self, wall: f64, foreign: Option<f64>) {
        // The one before may have ended long before this one began.
        if !self.is_fresh(wall) || wall > Company::LONGEST {
            self.runs.clear();
        }
        match foreign {
            Some(foreign) => self.runs.push_back((wall, foreign)),
            None => self.runs.clear(),
        }
        // The latest that are long enough together.
        while let Some((first, _)) = self.runs.front()
            && self.wall() - first >= Gate::SAMPLE.as_secs_f64()
        {
            self.runs.pop_front();
        }
        self.ended = Some(Instant::now());
    }

    /// Whether the last runs lasted as long as a sample, and others kept less than so many processors busy.
    pub(super) fn is_below(&self, most: f64) -> bool {
        let (wall, foreign) = (self.wall(), self.runs.iter().map(|(_, foreign)| foreign).sum::<f64>());
        let is_known = self.is_fresh(0.0) && (Gate::SAMPLE.as_secs_f64()..=Company::LONGEST).contains(&wall);
        is_known && foreign < most * wall
    }

    fn wall(&self) -> f64 {
        self.runs.iter().map(|(wall, _)| wall).sum()
    }

    /// Whether the last run ended just before the last so many seconds.
    fn is_fresh(&self, since: f64) -> bool {
        let fresh = since + Company::FRESH.as_secs_f64();
        self.ended.is_some_and(|ended| ended.elapsed().as_secs_f64() < fresh)
    }
}

/// Some processors, as in `taskset`: `0`, `2-3`, `0,4-7`. In order, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(Vec<usize>);

impl Cpus {
    /// Those that this process may run on.
    ///
    /// # Errors
    /// The system's, where it does not say.
    pub fn allowed() -> io::Result<Cpus> {
        let set = sched_getaffinity(None)?;
        Ok(Cpus((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()))
    }

    /// Their numbers.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn has(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
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

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.chunk_by(|one, next| one + 1 == *next).enumerate() {
            f.write_str(if at > 0 { "," } else { "" })?;
            match *range {
                [first, .., last] => write!(f, "{first}-{last}")?,
                _ => range.iter().try_for_each(|cpu| write!(f, "{cpu}"))?,
            }
        }
        Ok(())
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
        assert_eq!(Busy::parse(text, None, 100.0), Some(Busy { busy: 1.63, stolen: 0.8 }));
        for text in ["", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h i"] {
            assert_eq!(Busy::parse(text, None, 100.0), None, "{text}");
        }
    }

    #[test]
    fn busy_time_is_that_of_the_processors_that_are_meant() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 0 0 5 5 0 0 7\ncpu1 0 2 0 5 5 0 0 0\ncpu10 0 0 4 5 5 0 0 1\nintr 8 8 8 8 8 8 8 8\n";
        let busy = |cpus: &str| Busy::parse(text, Some(&cpus.parse().unwrap()), 1.0);
        assert_eq!(busy("1"), Some(Busy { busy: 2.0, stolen: 0.0 }));
        assert_eq!(busy("0,10"), Some(Busy { busy: 5.0, stolen: 8.0 }));
        assert_eq!(busy("2-9"), None);
    }

    #[test]
    fn queues_are_the_average_of_all_processors() {
        let text = "some avg10=1.86 avg60=14.90 avg300=13.30 total=12091386352\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let stat = "cpu  1 2 3\ncpu0 1 2 3\ncpu1 0 0 0\nintr 1\ncpufreq 1\n";
        assert_eq!(queues_in(text, stat), Some(2.0 * 12_091.386_352));
        for text in ["", "some avg10=0.00", "full total=1", "some total=x"] {
            assert_eq!(queues_in(text, stat), None, "{text}");
        }
    }

    #[test]
    fn work_shows_in_the_machines_busy_time() {
        let before = Busy::now(None).expect("Linux");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let busy = Busy::now(None).expect("Linux").since(before).busy;
        assert!(busy.is_some_and(|busy| busy > 0.1), "{busy:?}");
    }

    #[test]
    fn a_count_that_went_backwards_is_unknown() {
        let [before, now] = [(5.0, 3.0), (6.0, 2.5)].map(|(busy, stolen)| Busy { busy, stolen });
        assert_eq!(now.since(before), Since { busy: Some(1.0), stolen: None });
        assert_eq!(before.since(before), Since { busy: Some(0.0), stolen: Some(0.0) });
    }

    #[test]
    fn a_gate_opens_when_its_patience_ends() {
        let never = Gate { most: -1.0, patience: Duration::from_millis(150) };
        let (waited, is_quiet) = never.wait(None, &Stop::default(), &mut |_| ());
        assert!(!is_quiet && (0.15..60.0).contains(&waited), "{waited}");
        assert_eq!(never.less_patient().less_patient().patience, Gate::SAMPLE);
        let patient = Gate { patience: Duration::from_secs(5), ..never };
        let seconds = [12.0, 100.0, 1e9, f64::NAN, -1.0].map(|seconds| patient.within(seconds).patience);
        assert_eq!(seconds.map(|patience| patience.as_secs_f64()), [0.6, 5.0, 5.0, 5.0, 5.0]);
        let (_, is_quiet) =
            Gate { most: f64::INFINITY, patience: Duration::ZERO }.wait(None, &Stop::default(), &mut |_| ());
        assert!(is_quiet);
        let (_, is_quiet) =
            Gate { patience: Duration::from_secs(600), ..never }.wait(None, &Stop::requested(1), &mut |_| ());
        assert!(!is_quiet);
    }

    #[test]
    fn runs_that_saw_a_quiet_machine_spare_the_wait_for_it() {
        let of = |runs: &[(f64, Option<f64>)]| {
            let mut company = Company::default();
            runs.iter().for_each(|(wall, foreign)| company.saw(*wall, *foreign));
            company.is_below(0.25)
        };
        assert!(of(&[(0.2, Some(0.01))]));
        assert!(!of(&[]) && !of(&[(0.05, Some(0.0))]) && !of(&[(0.2, Some(0.06))]));
        // Short ones count together, and the latest only.
        assert!(of(&[(0.06, Some(0.0)); 2]));
        assert!(of(&[(0.3, Some(0.3)), (0.2, Some(0.0))]));
        assert!(!of(&[(0.3, Some(0.0)), (0.2, Some(0.2))]));
        // What is not known, or too long for its end to be known, spares nothing.
        assert!(!of(&[(0.3, Some(0.0)), (0.01, None)]));
        assert!(!of(&[(30.0, Some(0.0))]));
        let mut company = Company::default();
        company.saw(0.2, Some(0.0));
        thread::sleep(2 * Company::FRESH);
        assert!(!company.is_below(0.25));
        // What ended before it counts no longer either.
        company.saw(0.01, Some(0.0));
        assert!(!company.is_below(0.25));
    }

    #[test]
    fn processors_are_read_as_lists_of_ranges() {
        assert_eq!("0,4-6,5".parse(), Ok(Cpus(vec![0, 4, 5, 6])));
        assert_eq!("3".parse::<Cpus>().map(|cpus| cpus.count()), Ok(1));
        for text in ["0", "2-3", "0,4-7", "1,3,5-6"] {
            assert_eq!(text.parse::<Cpus>().map(|cpus| cpus.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "a", "3-1", "1-", "0,,1", "99999999"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
    }
}
