//! Load: what else the machine did while a run lasted, what its hypervisor took, and which pairs that
//! spoiled.
//!
//! In: of each run its wall time, its own CPU time, how long it was queued for a processor, what the whole machine
//! was busy, and what was stolen from it. On a noisy machine the foreign load correlates .83 to .91 with wall time.
//! Disturbed pairs are run again, never dropped by how they came out.
//!
//! Each run is judged by what it asked for, and not by the best run of the series: a machine that is busy all
//! the time has no good run, and a starved program would count as one that sleeps. For a program of one thread
//! the kernel counts how long it was queued. For others, and for time in which a program waited for something, it is
//! known only whether anything was queued on the machine, or else whether a processor was free: then all that others
//! computed may have delayed it.
//!
//! The kernel counts what a process used itself to the microsecond, but the machine's busy and stolen time in
//! ticks of mostly 10 ms, each reading of which is wrong by up to one: [`TICKS`] are allowed for, in a run of
//! any length; the readings of many short runs are taken together. The time to start and reap a process is in its
//! wall time and in no CPU time: [`STARTING`] is allowed for.

/// One run, as far as load goes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunLoad {
    /// Wall time, seconds.
    pub wall: f64,
    /// CPU time of the run, its children and its server, user and system, seconds.
    pub own: f64,
    /// Time that all processors of the machine together were busy meanwhile, seconds; `None` where that is
    /// not known.
    pub machine: Option<f64>,
    /// Time that a hypervisor kept them away from what wanted to run, seconds; `None` where that is not
    /// known.
    pub stolen: Option<f64>,
    /// Time in which it could have run and had no processor, seconds; `None` for several threads or processes, and
    /// where the kernel does not count it.
    pub queued: Option<f64>,
    /// Time in which something was queued for a processor of the machine, all of them together and at most, seconds;
    /// `None` where the kernel does not count it.
    pub queues: Option<f64>,
}

impl RunLoad {
    /// Processors that others kept busy, on average: (machine − own)/wall. `None` where unknown; never below
    /// 0, which the kernel's coarse ticks would else allow.
    pub fn foreign(&self) -> Option<f64> {
        let foreign = (self.machine? - self.own) / self.wall;
        foreign.is_finite().then_some(foreign.max(0.0))
    }

    /// Processors that the run itself kept busy, on average.
    pub fn used(&self) -> Option<f64> {
        let used = self.own / self.wall;
        (used.is_finite() && used >= 0.0).then_some(used)
    }

    /// Time that was stolen from `cores` processors. `None` where unknown, or where it cannot be: less than
    /// nothing, or more than there was, as kernels have counted after a migration.
    pub fn stolen(&self, cores: f64) -> Option<f64> {
        let most = cores * (self.wall + TICKS);
        self.stolen.filter(|stolen| (0.0..=most).contains(stolen))
    }

    /// Time that it was queued; `None` where unknown, or where it cannot be.
    fn queued(&self) -> Option<f64> {
        self.queued.filter(|queued| (0.0..=self.wall).contains(queued))
    }

    /// Wall time in which it did not compute, and was not queued as far as that is known.
    fn gap(&self) -> f64 {
        self.wall - self.own - self.queued().unwrap_or(0.0)
    }

    /// Of a run during which others kept `foreign` of `cores` processors busy: whether none was free.
    fn is_crowded(&self, foreign: f64, cores: f64) -> bool {
        self.used().is_some_and(|used| used + foreign >= cores - TOLERANCE)
    }

    /// How long others, who kept `foreign` processors busy on average, may have kept it waiting: no longer than they computed, than
    /// anything was queued, and than it did not compute itself.
    fn delayed(&self, foreign: f64) -> f64 {
        let computed = foreign * self.wall;
        let most = match self.queues {
            // The average of many short runs says nothing of one of them, where there are others at all.
            Some(queues) if self.wall < SHORTEST && foreign > TOLERANCE => queues,
            Some(queues) => queues.min(computed),
            None => computed,
        };
        match self.queued() {
            Some(queued) => queued + self.gap().max(0.0).min(most),
            None => most.min(self.wall),
        }
    }

    /// Whether others may have kept it waiting: something was queued, or where that is not known no processor was free.
    fn is_exposed(&self, foreign: f64, cores: f64) -> bool {
        self.queues.is_some() || self.is_crowded(foreign, cores)
    }
}

/// What the runs are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Processors that the run may use.
    pub cores: f64,
    /// Processors that the program takes when nothing disturbs it; see [`demand`].
    pub demand: f64,
    /// Of a program that computes all the time in one thread, so that it should have had a processor
    /// throughout: the seconds in which it does not compute even when nothing disturbs it. `None` of other
    /// programs.
    pub gap: Option<f64>,
    /// Whether a hypervisor takes from it at all: some of what short runs miss is then stolen between two
    /// ticks.
    pub is_robbed: bool,
    /// Processors that others kept busy on average during runs that are too short to be known by themselves.
    pub foreign: Option<f64>,
}

impl Machine {
    /// Processors that others kept busy during a run.
    fn foreign(&self, run: &RunLoad) -> Option<f64> {
        if run.wall >= SHORTEST { run.foreign() } else { self.foreign }
    }

    /// How long others may have kept a run waiting, in seconds; `None` where that is not known.
    fn waited(&self, run: &RunLoad) -> Option<f64> {
        let Some(foreign) = self.foreign(run) else { return run.queued() };
        if run.is_exposed(foreign, self.cores) {
            let delayed = run.delayed(foreign);
            // One thread that wants to compute all the time did not wait while it did.
            let is_one = self.gap.is_some() && run.queued().is_none();
            return Some(if is_one { delayed.min(run.gap().max(0.0)) } else { delayed });
        }
        let free = (self.cores - self.demand).max(0.0);
        Some(run.queued().unwrap_or((foreign - free).max(0.0) * run.wall))
    }
}

/// How far foreign load may exceed the free processors, and how much of a processor may be stolen.
pub const TOLERANCE: f64 = 0.1;

/// How wrong busy and stolen time may be, in seconds: a tick at each end of the run.
pub const TICKS: f64 = 0.02;

/// Runs shorter than this, in seconds, are too few ticks to know what else kept the processors busy.
pub const SHORTEST: f64 = 0.2;

/// Own CPU time per wall time below which a CPU-bound run was kept waiting.
pub const STARVED: f64 = 0.97;

/// How long starting and reaping a process take, and how late its end may be seen, in seconds.
pub const STARTING: f64 = 0.002;

/// The share of contaminated pairs among the accepted ones above which there is no verdict.
pub const TOO_MANY: f64 = 0.20;

/// The demand that a series of runs shows: the most that any of them took where it was not kept waiting, or would
/// have taken without the time in which it was queued. Where every run may have waited it is not known, and may be
/// all processors.
pub fn demand(runs: &[RunLoad], foreign: Option<f64>, cores: f64) -> f64 {
    let of = |run: &RunLoad| {
        let used = run.used()?;
        if let Some(queued) = run.queued() {
            let asked = run.own / (run.wall - queued);
            return Some(if asked.is_finite() { asked.max(used) } else { used });
        }
        let foreign = if run.wall >= SHORTEST { run.foreign() } else { foreign };
        let is_delayed = foreign.is_some_and(|foreign| {
            run.is_exposed(foreign, cores) && run.delayed(foreign) > TOLERANCE * run.wall
        });
        (!is_delayed).then_some(used)
    };
    if runs.is_empty() { 0.0 } else { runs.iter().filter_map(of).reduce(f64::max).unwrap_or(cores) }
}

/// Processors that others kept busy on average during some short runs together; `None` where that is not known, or
/// they are too few.
pub fn foreign_together(runs: &[RunLoad]) -> Option<f64> {
    let sum = |of: &dyn Fn(&RunLoad) -> Option<f64>| runs.iter().map(of).sum::<Option<f64>>();
    let wall: f64 = runs.iter().map(|run| run.wall).sum();
    let foreign = (sum(&|run| run.machine)? - sum(&|run| Some(run.own))?) / wall;
    (wall >= SHORTEST && foreign.is_finite()).then_some(foreign.max(0.0))
}

/// Of runs of a program that takes `demand` processors: how long one waits that nothing disturbs, if it
/// computes all the time in one thread. That shows in one that was not kept waiting, or in all of them
/// together where nothing is missing but what was stolen.
pub fn gap(runs: &[RunLoad], demand: f64, cores: f64) -> Option<f64> {
    if demand > 1.0 + TOLERANCE {
        return None;
    }
    let sum = |of: &dyn Fn(&RunLoad) -> f64| runs.iter().map(of).sum::<f64>();
    let least = runs.iter().map(RunLoad::gap).filter(|gap| gap.is_finite()).fold(f64::INFINITY, f64::min);
    let (wall, gap) = (sum(&|run| run.wall), sum(&RunLoad::gap));
    let stolen = sum(&|run| run.stolen(cores).unwrap_or(0.0));
    let is_whole = runs.iter().any(|run| run.gap() <= allowed(run, 0.0));
    // Ticks of many short runs together are wrong by as many as their square root.
    let uncounted = 0.5 * TICKS * libm::sqrt(runs.len() as f64);
    let is_whole_but_stolen = stolen > 0.0 && gap - stolen - uncounted <= (1.0 - STARVED) * wall;
    (is_whole || is_whole_but_stolen).then_some(least.clamp(0.0, STARTING))
}

/// Whether a hypervisor takes from some runs at all: 1 % of their time.
pub fn is_robbed(runs: &[RunLoad], cores: f64) -> bool {
    let sum = |of: &dyn Fn(&RunLoad) -> f64| runs.iter().map(of).sum::<f64>();
    sum(&|run| run.stolen(cores).unwrap_or(0.0)) > 0.01 * sum(&|run| run.wall)
}

/// How long a CPU-bound run may wait.
fn allowed(run: &RunLoad, gap: f64) -> f64 {
    ((1.0 - STARVED) * run.wall).max(gap + STARTING)
}

/// What disturbed a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Disturbance {
    /// Something else on the machine: it took more than the program leaves free, or kept a CPU-bound program
    /// waiting.
    Foreign,
    /// A hypervisor that took the processor away.
    Stolen,
}

/// What disturbed the run, if anything. A metric that does not count waiting, as CPU time, is disturbed by nothing
/// of this. Where the machine's load is not known, only how long a CPU-bound program waited is checked.
pub fn disturbance(run: &RunLoad, machine: &Machine, counts_waiting: bool) -> Option<Disturbance> {
    if !counts_waiting {
        return None;
    }
    let stolen = run.stolen(machine.cores).unwrap_or(0.0);
    let is_short_of = |without: f64| machine.gap.is_some_and(|gap| run.gap() - without > allowed(run, gap));
    // What is queued is counted exactly; what others took, or what the run waited for, is known roughly.
    let gap = machine.gap.unwrap_or(0.0);
    let rough = (TOLERANCE * run.wall).max(if run.queued().is_some() { gap + STARTING } else { 0.0 });
    let queued = run.queued().unwrap_or(0.0);
    let waited =
        queued > allowed(run, gap) || machine.waited(run).is_some_and(|waited| waited - queued > rough);
    let uncounted = if machine.is_robbed { TICKS } else { 0.0 };
    if waited || (run.queued().is_none() && is_short_of(stolen + uncounted)) {
        return Some(Disturbance::Foreign);
    }
    let tolerance = (TOLERANCE * run.wall).max(TICKS);
    let is_robbed = stolen > tolerance * machine.demand.max(1.0) || is_short_of(0.0);
    is_robbed.then_some(Disturbance::Stolen)
}

/// The share of a run that may be lost at most: what is more has no bound.
pub const MOST_LOST: f64 = 0.99;

/// The share of its time in which a disturbed run may have made no progress: as if it had stood still for as
/// long as others took a processor that it needed, as it waited, or as a hypervisor took one. At most
/// [`MOST_LOST`], which is also that of a run of which none of this is known.
pub fn loss(run: &RunLoad, machine: &Machine, counts_waiting: bool) -> f64 {
    if !counts_waiting {
        return 0.0;
    }
    let stolen = run.stolen(machine.cores).unwrap_or(0.0);
    let short_of = machine.gap.filter(|_| run.queued().is_none()).map(|gap| run.gap() - gap);
    let known = match (machine.waited(run), short_of) {
        (Some(waited), Some(short_of)) => waited.max(short_of),
        (Some(time), None) | (None, Some(time)) => time,
        (None, None) => return MOST_LOST,
    };
    let share = (known.max(0.0) + stolen) / run.wall;
    if share.is_finite() { share.clamp(0.0, MOST_LOST) } else { MOST_LOST }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine =
        Machine { cores: 2.0, demand: 1.0, gap: Some(0.0), is_robbed: false, foreign: None };

    fn run(wall: f64, own: f64, machine: Option<f64>, stolen: Option<f64>) -> RunLoad {
        RunLoad { wall, own, machine, stolen, ..RunLoad::default() }
    }

    fn disturbed(run: &RunLoad, machine: &Machine) -> Option<Disturbance> {
        disturbance(run, machine, true)
    }

    #[test]
    fn a_busy_other_core_is_no_contamination_but_a_shared_one_is() {
        let contended = run(1.0, 0.99, Some(1.99), None);
        let shared = run(1.3, 0.99, Some(2.6), None);
        assert_eq!(disturbed(&contended, &MACHINE), None);
        assert_eq!(disturbed(&shared, &MACHINE), Some(Disturbance::Foreign));
        assert!((shared.foreign().unwrap() - 1.61 / 1.3).abs() < 1e-12);
    }

    #[test]
    fn a_program_that_sleeps_is_not_starved() {
        let sleeper = run(1.0, 0.2, Some(0.3), None);
        assert_eq!(disturbed(&sleeper, &MACHINE), Some(Disturbance::Foreign));
        assert_eq!(disturbed(&sleeper, &Machine { demand: 0.2, gap: None, ..MACHINE }), None);
    }

    #[test]
    fn a_machine_that_is_never_quiet_makes_no_sleeper_of_a_program_that_is_starved() {
        // Six busy loops on two processors: one program computes 28 ms, the other sleeps 60 ms.
        let crowded = |wall: f64, own, queued| RunLoad {
            queued,
            queues: Some(2.0 * wall),
            ..run(wall, own, Some(2.0 * wall), None)
        };
        let machine = |runs: &[RunLoad]| {
            let foreign = foreign_together(runs);
            let demand = demand(runs, foreign, 2.0);
            Machine { demand, gap: gap(runs, demand, 2.0), foreign, ..MACHINE }
        };
        let computes: Vec<RunLoad> =
            (0..8).map(|index| crowded(0.080 + 0.001 * f64::from(index), 0.028, Some(0.051))).collect();
        let found = machine(&computes);
        assert!((0.8..=1.0).contains(&found.demand), "{found:?}");
        assert!(found.foreign.is_some_and(|foreign| (foreign - 1.65).abs() < 0.05), "{found:?}");
        for run in &computes {
            assert_eq!(disturbed(run, &found), Some(Disturbance::Foreign));
            assert!((0.6..0.7).contains(&loss(run, &found, true)), "{found:?}");
            assert_eq!((disturbance(run, &found, false), loss(run, &found, false)), (None, 0.0));
        }
        // One that waits may do so for something that is starved: what it waits for is not known.
        let sleeps = [crowded(0.061, 0.0002, Some(0.001)); 8];
        let found = machine(&sleeps);
        assert_eq!(disturbed(&sleeps[0], &found), Some(Disturbance::Foreign));
        assert!(loss(&sleeps[0], &found, true) > 0.95);
        // Of several threads it is not known how long they were queued, nor what they would have taken.
        let several = [crowded(0.5, 0.3, None); 4];
        let found = machine(&several);
        assert_eq!((found.demand, found.gap), (2.0, None));
        assert_eq!(disturbed(&several[0], &found), Some(Disturbance::Foreign));
    }

    #[test]
    fn a_processor_that_is_shared_without_a_queue_disturbs_nothing() {
        // The other processor is busy all the time.
        let busy =
            |queued, queues| RunLoad { queued, queues: Some(queues), ..run(1.0, 0.99, Some(1.99), None) };
        let machine = |run| Machine { demand: demand(&[run], None, 2.0), gap: None, ..MACHINE };
        for quiet in [busy(Some(0.005), 0.02), busy(None, 0.02)] {
            assert_eq!((machine(quiet).demand * 100.0).round(), 99.0, "{quiet:?}");
            assert_eq!(disturbed(&quiet, &machine(quiet)), None, "{quiet:?}");
        }
        for queued in [busy(Some(0.04), 0.05), busy(None, 0.2)] {
            assert_eq!(disturbed(&queued, &machine(queued)), Some(Disturbance::Foreign), "{queued:?}");
        }
        // What a program's own threads queue is no load.
        let own = RunLoad { queues: Some(1.5), ..run(1.0, 1.97, Some(2.0), None) };
        assert_eq!((machine(own).demand, disturbed(&own, &machine(own))), (1.97, None));
    }

    #[test]
    fn bursts_of_others_show_in_the_queues_and_not_in_the_average() {
        // Half of the time others keep both processors busy, and on average one is free.
        let burst = |wall, own, queued, queues| RunLoad {
            queued,
            queues: Some(queues),
            ..run(wall, own, Some(wall + own), None)
        };
        let machine = Machine { demand: 0.6, gap: None, foreign: Some(1.0), ..MACHINE };
        for several in [burst(1.0, 0.6, None, 0.5), burst(0.1, 0.06, None, 0.05)] {
            assert_eq!(disturbed(&several, &machine), Some(Disturbance::Foreign), "{several:?}");
            assert!((loss(&several, &machine, true) - 0.5).abs() < 1e-12);
        }
        // One thread that waited for something, which may have been starved.
        assert_eq!(disturbed(&burst(1.0, 0.6, Some(0.01), 0.5), &machine), Some(Disturbance::Foreign));
        // Nothing was queued: each found a processor.
        for quiet in
            [burst(1.0, 0.6, None, 0.02), burst(1.0, 0.6, Some(0.01), 0.02), burst(0.1, 0.06, None, 0.001)]
        {
            assert_eq!(disturbed(&quiet, &machine), None, "{quiet:?}");
        }
    }

    #[test]
    fn a_queue_that_cannot_be_is_unknown() {
        for queued in [-0.5, 1.5, f64::NAN, f64::INFINITY] {
            let run = RunLoad { queued: Some(queued), ..run(1.0, 0.5, None, None) };
            assert_eq!((run.gap(), demand(&[run], None, 2.0)), (0.5, 0.5), "{queued}");
        }
    }

    #[test]
    fn what_is_not_known_contaminates_nothing() {
        let unknown = run(1.0, 1.0, None, None);
        assert_eq!(disturbed(&unknown, &MACHINE), None);
        let empty = run(0.0, 0.0, Some(0.0), Some(0.0));
        assert_eq!(disturbed(&empty, &MACHINE), None);
        assert_eq!(demand(&[unknown, empty], None, 2.0), 1.0);
    }

    #[test]
    fn a_run_that_was_robbed_is_disturbed_in_wall_time_and_not_in_cpu_time() {
        let robbed = run(1.0, 0.67, Some(0.7), Some(0.33));
        assert_eq!(disturbance(&robbed, &MACHINE, true), Some(Disturbance::Stolen));
        assert_eq!(disturbance(&robbed, &MACHINE, false), None);
        // Also of a program that is not CPU-bound; but a few ticks are nothing.
        let waiting = Machine { demand: 0.4, gap: None, ..MACHINE };
        assert_eq!(disturbed(&run(1.0, 0.3, None, Some(0.12)), &waiting), Some(Disturbance::Stolen));
        assert_eq!(disturbed(&run(1.0, 0.3, None, Some(0.05)), &waiting), None);
        // Robbed, and also kept waiting by something here.
        let both = run(1.0, 0.5, Some(0.6), Some(0.2));
        assert_eq!(disturbed(&both, &MACHINE), Some(Disturbance::Foreign));
    }

    #[test]
    fn a_short_run_is_starved_by_more_than_its_start_takes() {
        let quiet = run(0.0105, 0.010, None, None);
        let gap = gap(&[quiet, run(0.014, 0.010, None, None)], 0.95, 2.0);
        assert!(gap.is_some_and(|gap| (gap - 0.0005).abs() < 1e-12), "{gap:?}");
        let machine = Machine { gap, ..MACHINE };
        assert_eq!(disturbed(&quiet, &machine), None);
        assert_eq!(disturbed(&run(0.012, 0.010, None, None), &machine), None);
        assert_eq!(disturbed(&run(0.014, 0.010, None, None), &machine), Some(Disturbance::Foreign));
        // By a tick of stolen time, which may be none: the wall time says how much it was.
        assert_eq!(disturbed(&run(0.020, 0.010, None, Some(0.01)), &machine), Some(Disturbance::Stolen));
        assert_eq!(disturbed(&run(0.0105, 0.010, None, Some(0.01)), &machine), None);
        // Where something is stolen from others, it may be from this one.
        let robbed = Machine { is_robbed: true, ..machine };
        assert_eq!(disturbed(&run(0.020, 0.010, None, Some(0.0)), &robbed), Some(Disturbance::Stolen));
        assert_eq!(disturbed(&run(0.040, 0.010, None, Some(0.0)), &robbed), Some(Disturbance::Foreign));
        // One that sleeps is as long as it sleeps.
        assert_eq!(super::gap(&[run(0.01, 0.001, None, None)], 0.1, 2.0), None);
        assert_eq!(super::gap(&[run(1.0, 3.9, None, None)], 3.9, 4.0), None);
    }

    #[test]
    fn a_program_that_was_robbed_in_every_run_is_known_to_compute_all_the_time() {
        let runs: Vec<RunLoad> =
            (0..20).map(|index| run(0.5, 0.35, None, Some(0.14 + 0.01 * f64::from(index % 3)))).collect();
        let found = gap(&runs, demand(&runs, None, 2.0), 2.0);
        assert_eq!(found, Some(STARTING));
        let machine = Machine { demand: 0.7, gap: found, is_robbed: is_robbed(&runs, 2.0), ..MACHINE };
        assert!(runs.iter().all(|run| disturbed(run, &machine) == Some(Disturbance::Stolen)));
        assert!(runs.iter().all(|run| disturbance(run, &machine, false).is_none()));
    }

    #[test]
    fn a_run_loses_no_more_than_others_took_or_it_waited() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        // Others took 1.4 of two processors; of two threads they may have taken that much, of one only what it did not compute.
        let shared = run(1.0, 0.9, Some(2.3), None);
        close(loss(&shared, &Machine { demand: 2.0, gap: None, ..MACHINE }, true), MOST_LOST);
        close(loss(&shared, &MACHINE, true), 0.1);
        // It waited longer than they can account for.
        close(loss(&run(1.0, 0.3, Some(1.7), None), &MACHINE, true), 0.7);
        close(loss(&run(1.0, 0.9, Some(2.3), Some(0.2)), &MACHINE, true), 0.3);
        close(loss(&run(1.0, 0.9, Some(2.3), Some(0.2)), &MACHINE, false), 0.0);
        // A program that waits by itself, in a run too short to know what others did.
        let waiting = Machine { gap: None, ..MACHINE };
        close(loss(&run(0.1, 0.01, Some(0.2), None), &waiting, true), MOST_LOST);
        close(loss(&run(0.0, 0.0, None, None), &MACHINE, true), MOST_LOST);
        close(loss(&run(1.0, 1.0, Some(1.0), None), &MACHINE, true), 0.0);
    }

    #[test]
    fn stolen_time_that_cannot_be_is_unknown() {
        for stolen in [-0.5, -1e308, 1e308, 2.5, f64::NAN, f64::INFINITY] {
            let run = run(1.0, 1.0, None, Some(stolen));
            assert_eq!((run.stolen(2.0), disturbed(&run, &MACHINE)), (None, None), "{stolen}");
        }
        assert_eq!(run(1.0, 1.0, None, Some(2.03)).stolen(2.0), Some(2.03));
    }
}
