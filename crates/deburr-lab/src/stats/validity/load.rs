//! Load: what else the machine did while a run lasted, what its hypervisor took, and which pairs that
//! spoiled.
//!
//! In: of each run its wall time, its own CPU time, what the whole machine was busy, and what was stolen from
//! it. On a noisy machine the foreign load correlates .83 to .91 with wall time. Disturbed pairs are run
//! again, never dropped by how they came out.
//!
//! The kernel counts what a process used itself to the microsecond, but the machine's busy and stolen time in
//! ticks of mostly 10 ms, each reading of which is wrong by up to one: [`TICKS`] are allowed for, in a run of
//! any length. What starting and reaping a process take is in its wall time and in no CPU time: [`STARTING`]
//! is allowed for.

/// One run, as far as load goes.
#[derive(Debug, Clone, Copy, PartialEq)]
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

    /// Wall time in which it did not compute.
    fn gap(&self) -> f64 {
        self.wall - self.own
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

/// The demand that a series of runs shows: the most that any of them got. A disturbance only ever lowers it.
pub fn demand(runs: &[RunLoad]) -> f64 {
    runs.iter().filter_map(RunLoad::used).fold(0.0, f64::max)
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
    let (wall, own) = (sum(&|run| run.wall), sum(&|run| run.own));
    let stolen = sum(&|run| run.stolen(cores).unwrap_or(0.0));
    let is_whole = runs.iter().any(|run| run.gap() <= allowed(run, 0.0));
    // Ticks of many short runs together are wrong by as many as their square root.
    let uncounted = 0.5 * TICKS * libm::sqrt(runs.len() as f64);
    let is_whole_but_stolen = stolen > 0.0 && own + stolen + uncounted >= STARVED * wall;
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

/// What disturbed the run, if anything. A metric that does not count waiting, as CPU time, is not disturbed
/// by what was stolen. Where the machine's load is not known, only how long a CPU-bound program waited is
/// checked.
pub fn disturbance(run: &RunLoad, machine: &Machine, counts_waiting: bool) -> Option<Disturbance> {
    let free = (machine.cores - machine.demand).max(0.0);
    let tolerance = (TOLERANCE * run.wall).max(TICKS);
    let foreign = run.foreign().filter(|_| run.wall >= SHORTEST);
    let stolen = run.stolen(machine.cores).unwrap_or(0.0);
    let waited = |without: f64| machine.gap.is_some_and(|gap| run.gap() - without > allowed(run, gap));
    let uncounted = if machine.is_robbed { TICKS } else { 0.0 };
    if foreign.is_some_and(|foreign| foreign > free + TOLERANCE) || waited(stolen + uncounted) {
        return Some(Disturbance::Foreign);
    }
    let is_robbed = stolen > tolerance * machine.demand.max(1.0) || waited(0.0);
    (counts_waiting && is_robbed).then_some(Disturbance::Stolen)
}

/// The share of a run that may be lost at most: what is more has no bound.
pub const MOST_LOST: f64 = 0.99;

/// The share of its time in which a disturbed run may have made no progress: as if it had stood still for as
/// long as others took a processor that it needed, as it waited, or as a hypervisor took one. At most
/// [`MOST_LOST`], which is also that of a run of which none of this is known.
pub fn loss(run: &RunLoad, machine: &Machine, counts_waiting: bool) -> f64 {
    let free = (machine.cores - machine.demand).max(0.0);
    let taken = run.foreign().filter(|_| run.wall >= SHORTEST).map(|foreign| foreign - free);
    let waited = machine.gap.map(|gap| (run.gap() - gap) / run.wall).filter(|share| share.is_finite());
    let known = match (taken, waited) {
        (Some(taken), Some(waited)) => taken.max(waited),
        (Some(share), None) | (None, Some(share)) => share,
        (None, None) => return MOST_LOST,
    };
    let stolen = if counts_waiting { run.stolen(machine.cores).unwrap_or(0.0) / run.wall } else { 0.0 };
    let share = known.max(0.0) + stolen.max(0.0);
    if share.is_finite() { share.min(MOST_LOST) } else { MOST_LOST }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { cores: 2.0, demand: 1.0, gap: Some(0.0), is_robbed: false };

    fn run(wall: f64, own: f64, machine: Option<f64>, stolen: Option<f64>) -> RunLoad {
        RunLoad { wall, own, machine, stolen }
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
    fn what_is_not_known_contaminates_nothing() {
        let unknown = run(1.0, 1.0, None, None);
        assert_eq!(disturbed(&unknown, &MACHINE), None);
        let empty = run(0.0, 0.0, Some(0.0), Some(0.0));
        assert_eq!(disturbed(&empty, &MACHINE), None);
        assert_eq!(demand(&[unknown, empty]), 1.0);
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
        assert_eq!(disturbance(&both, &MACHINE, false), Some(Disturbance::Foreign));
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
        let found = gap(&runs, demand(&runs), 2.0);
        assert_eq!(found, Some(STARTING));
        let machine = Machine { cores: 2.0, demand: 0.7, gap: found, is_robbed: is_robbed(&runs, 2.0) };
        assert!(runs.iter().all(|run| disturbed(run, &machine) == Some(Disturbance::Stolen)));
        assert!(runs.iter().all(|run| disturbance(run, &machine, false).is_none()));
    }

    #[test]
    fn a_run_loses_no_more_than_others_took_or_it_waited() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        // One of two processors is free, and others took 1.4.
        let shared = run(1.0, 0.9, Some(2.3), None);
        close(loss(&shared, &MACHINE, true), 0.4);
        // It waited longer than they can account for.
        close(loss(&run(1.0, 0.3, Some(1.7), None), &MACHINE, true), 0.7);
        close(loss(&run(1.0, 0.9, Some(2.3), Some(0.2)), &MACHINE, true), 0.6);
        close(loss(&run(1.0, 0.9, Some(2.3), Some(0.2)), &MACHINE, false), 0.4);
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
