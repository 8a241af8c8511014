//! Foreign load: what else the machine did while a run lasted, and which pairs that spoiled.
//!
//! In: of each run its wall time, its own CPU time, and what the whole machine was busy. On a noisy machine the foreign load
//! correlates .83 to .91 with wall time. Contaminated pairs are run again, never dropped by how they came out.

/// One run, as far as load goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Wall time, seconds.
    pub wall: f64,
    /// CPU time of the run, its children and its server, user and system, seconds.
    pub own: f64,
    /// Time that all processors of the machine together were busy meanwhile, seconds; `None` where that is not known.
    pub machine: Option<f64>,
}

impl Run {
    /// Processors that others kept busy, on average: (machine − own)/wall. `None` where unknown; never below 0, which the
    /// kernel's coarse ticks would else allow.
    pub fn foreign(&self) -> Option<f64> {
        let foreign = (self.machine? - self.own) / self.wall;
        foreign.is_finite().then_some(foreign.max(0.0))
    }

    /// Processors that the run itself kept busy, on average.
    pub fn used(&self) -> Option<f64> {
        let used = self.own / self.wall;
        (used.is_finite() && used >= 0.0).then_some(used)
    }
}

/// What the runs are held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Processors that the run may use.
    pub cores: f64,
    /// Processors that the program takes when nothing disturbs it; see [`demand`].
    pub demand: f64,
    /// Whether the program computes all the time in one thread, so that it should have had a processor throughout.
    pub cpu_bound: bool,
}

/// How far foreign load may exceed the free processors: the kernel counts in ticks.
pub const TOLERANCE: f64 = 0.1;

/// Own CPU time per wall time below which a CPU-bound run was kept waiting.
pub const STARVED: f64 = 0.97;

/// The share of contaminated pairs among the accepted ones above which there is no verdict.
pub const TOO_MANY: f64 = 0.20;

/// The demand that a series of runs shows: the most that any of them got. A disturbance only ever lowers it.
pub fn demand(runs: &[Run]) -> f64 {
    runs.iter().filter_map(Run::used).fold(0.0, f64::max)
}

/// Whether the run was disturbed: foreign load above what the program leaves free, or a CPU-bound program kept waiting. Where
/// the machine's load is not known, only the latter is looked at.
pub fn contaminated(run: &Run, machine: &Machine) -> bool {
    let free = (machine.cores - machine.demand).max(0.0);
    let crowded = run.foreign().is_some_and(|foreign| foreign > free + TOLERANCE);
    let starved = machine.cpu_bound && run.used().is_some_and(|used| used < STARVED);
    crowded || starved
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { cores: 2.0, demand: 1.0, cpu_bound: true };

    #[test]
    fn a_busy_other_core_is_no_contamination_but_a_shared_one_is() {
        let beside = Run { wall: 1.0, own: 0.99, machine: Some(1.99) };
        let shared = Run { wall: 1.3, own: 0.99, machine: Some(2.6) };
        assert!(!contaminated(&beside, &MACHINE));
        assert!(contaminated(&shared, &MACHINE));
        assert!((shared.foreign().unwrap() - 1.61 / 1.3).abs() < 1e-12);
    }

    #[test]
    fn a_program_that_sleeps_is_not_starved() {
        let sleeper = Run { wall: 1.0, own: 0.2, machine: Some(0.3) };
        assert!(contaminated(&sleeper, &MACHINE));
        assert!(!contaminated(&sleeper, &Machine { demand: 0.2, cpu_bound: false, ..MACHINE }));
    }

    #[test]
    fn what_is_not_known_contaminates_nothing() {
        let unknown = Run { wall: 1.0, own: 1.0, machine: None };
        assert!(!contaminated(&unknown, &MACHINE));
        let empty = Run { wall: 0.0, own: 0.0, machine: Some(0.0) };
        assert!(!contaminated(&empty, &MACHINE));
        assert_eq!(demand(&[unknown, empty]), 1.0);
    }
}
