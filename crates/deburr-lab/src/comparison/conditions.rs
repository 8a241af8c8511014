//! Runs → under which conditions they ran: what the program takes by itself, and which pairs something else
//! disturbed.
//!
//! In: runs of a record. Out: for each pair what disturbed it, by [`crate::stats::load`], and how much a
//! hypervisor took.

use crate::measure::pairs::Pair;
use crate::measure::record::RecordedRun;
use crate::side::Side;
use crate::stats::load::{self, Disturbance, Machine, SHORTEST};

/// What each side takes of the machine, and how a metric feels what is taken from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    machines: [Machine; 2],
    counts_waiting: bool,
}

/// What a hypervisor took from some pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stolen {
    /// Pairs that this disturbed.
    pub pairs: usize,
    /// The shares of A's and of B's wall time that were taken.
    pub shares: [f64; 2],
}

impl Stolen {
    /// With what was taken from others; both with their numbers of pairs.
    pub(super) fn with(&self, pairs: usize, other: &Stolen, others: usize) -> Stolen {
        let all = (pairs + others).max(1) as f64;
        let share = |side: Side| {
            let [own, other] = [self, other].map(|stolen| stolen.shares[side.index()]);
            (own * pairs as f64 + other * others as f64) / all
        };
        Stolen { pairs: self.pairs + other.pairs, shares: Side::BOTH.map(share) }
    }
}

impl Conditions {
    /// Those of some runs on so many processors; `counts_waiting` is whether the metric counts the time in
    /// which a run waits.
    pub fn of<'r>(
        runs: impl IntoIterator<Item = &'r RecordedRun>,
        cores: usize,
        counts_waiting: bool,
    ) -> Conditions {
        let runs: Vec<&RecordedRun> = runs.into_iter().collect();
        let of = |side: Side| machine(runs.iter().copied().filter(|run| run.side == side), cores);
        Conditions { machines: Side::BOTH.map(of), counts_waiting }
    }

    /// What disturbed a run.
    pub fn disturb_run(&self, run: &RecordedRun) -> Option<Disturbance> {
        load::disturbance(&loaded(run), &self.machines[run.side.index()], self.counts_waiting)
    }

    /// What disturbed a pair, so that what it found does not count: in doubt what is no hypervisor.
    pub fn disturb(&self, pair: &Pair) -> Option<Disturbance> {
        let [a, b] = pair.runs.each_ref().map(|run| self.disturb_run(run));
        match (a, b) {
            (Some(Disturbance::Foreign), _) | (_, Some(Disturbance::Foreign)) => Some(Disturbance::Foreign),
            (found, other) => found.or(other),
        }
    }

    /// What the runs of a pair may have lost at most because of what disturbed them, as log ratios.
    pub(super) fn losses(&self, pair: &Pair) -> [f64; 2] {
        pair.runs.each_ref().map(|run| {
            let share = load::loss(&loaded(run), &self.machines[run.side.index()], self.counts_waiting);
            -libm::log1p(-share)
        })
    }

    /// What was stolen from pairs that this disturbed.
    pub(super) fn stolen(&self, pairs: &[Pair], disturbed: &[Option<Disturbance>]) -> Stolen {
        let robbed = disturbed.iter().filter(|disturbed| **disturbed == Some(Disturbance::Stolen));
        let share = |side: Side| {
            let runs = pairs.iter().map(|pair| loaded(&pair.runs[side.index()]));
            share(runs, self.machines[side.index()].cores).unwrap_or(0.0)
        };
        Stolen { pairs: robbed.count(), shares: Side::BOTH.map(share) }
    }
}

/// The share of the wall time that was stolen; `None` where no run knows it.
fn share(runs: impl Iterator<Item = load::RunLoad>, cores: f64) -> Option<f64> {
    let known = runs.filter_map(|run| Some((run.stolen(cores)?, run.wall)));
    let (stolen, wall) = known.fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    (wall > 0.0).then_some(stolen / wall)
}

/// The machine that the runs of a side show: how much of it the program takes by itself.
fn machine<'r>(runs: impl IntoIterator<Item = &'r RecordedRun>, cores: usize) -> Machine {
    let runs: Vec<&RecordedRun> = runs.into_iter().collect();
    let is_served = runs.iter().any(|run| run.is_client);
    let cores = cores as f64;
    // What a server used is counted in ticks, of which one is many processors in a short run.
    let (long, short): (Vec<load::RunLoad>, Vec<load::RunLoad>) =
        runs.into_iter().map(loaded).partition(|run| run.wall >= SHORTEST);
    let runs = if long.is_empty() { &short } else { &long };
    // Each is too short to know what else kept the machine busy, and all together are not.
    let foreign = load::foreign_together(&short);
    let demand = load::demand(runs, foreign, cores);
    // A client and its server wait for each other, whatever they use together.
    let gap = if is_served { None } else { load::gap(runs, demand, cores) };
    Machine { cores, demand, gap, is_robbed: load::is_robbed(runs, cores), foreign }
}

/// Processors that others kept busy, on average; `None` where the kernel does not report it, or the runs were
/// too short.
pub(super) fn foreign<'r>(runs: impl Iterator<Item = &'r RecordedRun>) -> Option<f64> {
    let long = runs.filter(|run| run.usage.wall >= SHORTEST);
    let foreign: Vec<f64> = long.filter_map(|run| loaded(run).foreign()).collect();
    (!foreign.is_empty()).then(|| foreign.iter().sum::<f64>() / foreign.len() as f64)
}

/// The share of the wall time that a hypervisor took; `None` where the kernel does not report it.
pub(super) fn stolen<'r>(runs: impl Iterator<Item = &'r RecordedRun>) -> Option<f64> {
    share(runs.map(loaded), 1e6)
}

fn loaded(run: &RecordedRun) -> load::RunLoad {
    let own = run.usage.user + run.usage.system + run.served.unwrap_or_default();
    // A client's queue says nothing of its server's.
    let queued = run.usage.queued.filter(|_| !run.is_client);
    let (machine, stolen, queues) = (run.busy, run.stolen, run.queues);
    load::RunLoad { wall: run.usage.wall, own, machine, stolen, queued, queues }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::process::Usage;

    fn used(wall: f64, user: f64) -> RecordedRun {
        RecordedRun { usage: Usage { wall, user, ..Usage::default() }, ..RecordedRun::default() }
    }

    /// A pair of two such runs.
    fn pair(run: &RecordedRun) -> Pair {
        Pair { runs: Side::BOTH.map(|side| RecordedRun { side, ..run.clone() }) }
    }

    fn conditions(pairs: &[Pair], cores: usize, counts_waiting: bool) -> Conditions {
        Conditions::of(pairs.iter().flat_map(|pair| &pair.runs), cores, counts_waiting)
    }

    #[test]
    fn what_a_server_used_is_no_foreign_load() {
        let served =
            |busy, served| pair(&RecordedRun { busy: Some(busy), is_client: true, served, ..used(1.0, 0.2) });
        let pairs = [served(1.0, Some(0.8)), served(1.0, Some(0.75)), served(2.0, Some(0.8))];
        let conditions = conditions(&pairs, 1, true);
        // The client and its server need a processor between them, and may wait for each other.
        let machine = conditions.machines[0];
        assert_eq!((machine.demand, machine.gap), (1.0, None));
        let found = pairs.each_ref().map(|pair| conditions.disturb(pair));
        assert_eq!(found, [None, None, Some(Disturbance::Foreign)]);
        assert_eq!(conditions.disturb(&served(1.0, None)), Some(Disturbance::Foreign));
    }

    #[test]
    fn a_client_whose_server_was_not_counted_may_wait_for_it() {
        for is_client in [true, false] {
            let runs = [0.98, 0.2].map(|user| RecordedRun { is_client, ..used(1.0, user) });
            let conditions = Conditions::of(&runs, 2, true);
            assert_eq!(conditions.machines[0].gap.is_none(), is_client);
            assert_eq!(conditions.disturb_run(&runs[1]).is_none(), is_client);
        }
    }

    #[test]
    fn a_tick_of_a_short_run_is_no_demand() {
        let runs = [used(0.001, 0.01), used(0.5, 0.4), used(0.5, 0.3)];
        assert_eq!(machine(&runs, 2).demand, 0.8);
        assert_eq!(machine(&runs[..1], 2).demand, 10.0);
    }

    #[test]
    fn a_side_that_waits_is_not_starved_by_the_other_that_computes() {
        let pairs: Vec<Pair> = (0..4)
            .map(|_| Pair { runs: [used(1.0, 1.0), RecordedRun { side: Side::B, ..used(1.0, 0.1) }] })
            .collect();
        let conditions = conditions(&pairs, 2, true);
        assert!(pairs.iter().all(|pair| conditions.disturb(pair).is_none()));
    }

    #[test]
    fn stolen_time_counts_where_waiting_does_and_is_summed_up_by_side() {
        let robbed = |a: f64, b: f64| Pair {
            runs: [(Side::A, a), (Side::B, b)].map(|(side, stolen)| RecordedRun {
                side,
                stolen: Some(stolen),
                ..used(1.0, 1.0 - stolen)
            }),
        };
        let pairs = [robbed(0.33, 0.24), robbed(0.31, 0.22), robbed(0.0, 0.0)];
        for (counts_waiting, expected) in [(true, 2), (false, 0)] {
            let conditions = conditions(&pairs, 2, counts_waiting);
            let disturbed: Vec<Option<Disturbance>> =
                pairs.iter().map(|pair| conditions.disturb(pair)).collect();
            let stolen = conditions.stolen(&pairs, &disturbed);
            assert_eq!(stolen.pairs, expected);
            assert!((stolen.shares[0] - 0.64 / 3.0).abs() < 1e-12, "{stolen:?}");
        }
        let both = Stolen { pairs: 2, shares: [0.2, 0.1] }.with(3, &Stolen::default(), 1);
        assert_eq!((both.pairs, (both.shares[0] * 100.0).round()), (2, 15.0));
    }

    #[test]
    fn a_kernel_that_does_not_count_what_is_stolen_disturbs_nothing() {
        let pairs = [pair(&used(1.0, 1.0)), pair(&RecordedRun { stolen: Some(-3.0), ..used(1.0, 1.0) })];
        let conditions = conditions(&pairs, 2, true);
        let disturbed: Vec<Option<Disturbance>> = pairs.iter().map(|pair| conditions.disturb(pair)).collect();
        assert_eq!(
            (disturbed.as_slice(), conditions.stolen(&pairs, &disturbed)),
            (&[None, None][..], Stolen::default())
        );
    }
}
