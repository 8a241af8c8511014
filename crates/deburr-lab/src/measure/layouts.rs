//! Measuring stage: one command at several layouts of its code.
//!
//! In: an experiment that can link its sides anew. Out: runs of A, as many rounds of them as are wanted; in
//! each round every layout once, in random order. Each run is linked again: the same seed has to give the
//! same layout.

use super::bench::Bench;
use super::experiment::{Experiment, Failure, Relink, When};
use super::pairs::Stopped;
use super::record::{Record, RecordedRun};
use super::schedule;
use super::stop::Stop;
use std::collections::BTreeMap;

/// How much is to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Different layouts.
    pub layouts: u32,
    /// How often each.
    pub rounds: u32,
}

/// Sees what happens.
pub trait Observer {
    /// A run is about to begin; there are so many.
    fn begins(&mut self, measured: u32);

    /// Whether the last of `runs` counts for nothing, and is to be made again.
    fn is_spoiled(&mut self, runs: &[RecordedRun]) -> bool;
}

/// Runs A at its layouts. `runs`: what the record has of this experiment already.
///
/// # Errors
/// [`Failure`]; the record has all runs up to then, and the one that failed.
pub fn run(
    experiment: &Experiment,
    extent: Extent,
    record: &mut Record,
    runs: &[RecordedRun],
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(Vec<RecordedRun>, Stopped), Failure> {
    // A server is linked before it starts, and so starts with each run.
    let relink = experiment.relink.clone().map(|relink| Relink { when: When::EachRun, ..relink });
    let experiment = Experiment { relink, alternates: true, ..experiment.clone() };
    let mut bench = Bench::new(&experiment, record, stop)?;
    // How often each was begun.
    let mut attempts: BTreeMap<Place, u32> = BTreeMap::new();
    for run in runs.iter().filter(|run| is_of_a_layout(run)) {
        let attempts = attempts.entry(place(run)).or_default();
        *attempts = run.attempt.saturating_add(1).max(*attempts);
    }
    let mut measured = measured(runs);
    // A record may end with a run that is to be made again.
    if !measured.is_empty() && observer.is_spoiled(&measured) {
        measured.pop();
    }
    let mut is_warm = false;
    for round in 0..extent.rounds {
        for layout in schedule::layout_order(experiment.seed, round, extent.layouts) {
            if measured.iter().any(|run| place(run) == (round, Some(layout))) {
                continue;
            }
            let seed = schedule::seed_of_layout(experiment.seed, layout);
            let attempts = attempts.entry((round, Some(layout))).or_default();
            let mut run = RecordedRun { pair: round, layout: Some(layout), ..RecordedRun::default() };
            observer.begins(measured.len() as u32);
            if !is_warm
                && bench.run(RecordedRun { is_warm_up: true, ..run.clone() }, seed, &mut |_| ())?.is_none()
            {
                return Ok((measured, Stopped::Interrupted));
            }
            is_warm = true;
            loop {
                run.attempt = *attempts;
                *attempts = attempts.saturating_add(1);
                match bench.run(run.clone(), seed, &mut |_| ())? {
                    Some(run) => measured.push(run),
                    None => return Ok((measured, Stopped::Interrupted)),
                }
                if !observer.is_spoiled(&measured) {
                    break;
                }
                measured.pop();
            }
        }
    }
    Ok((measured, Stopped::Enough))
}

/// Those of some runs that layouts were measured by, as they came: of each round and layout the last.
pub fn measured(runs: &[RecordedRun]) -> Vec<RecordedRun> {
    let counts = |run: &&RecordedRun| is_of_a_layout(run) && run.fault.is_none();
    let counting: Vec<&RecordedRun> = runs.iter().filter(counts).collect();
    let last: BTreeMap<Place, usize> =
        counting.iter().enumerate().map(|(index, run)| (place(run), index)).collect();
    let is_last = |(index, run): &(usize, &RecordedRun)| last.get(&place(run)) == Some(index);
    counting.into_iter().enumerate().filter(is_last).map(|(_, run)| run.clone()).collect()
}

/// A round, and a layout in it.
type Place = (u32, Option<u32>);

fn place(run: &RecordedRun) -> Place {
    (run.pair, run.layout)
}

fn is_of_a_layout(run: &RecordedRun) -> bool {
    run.layout.is_some() && !run.is_warm_up
}

/// The values of a metric, one row a round, in each the layouts in order. `None`: a run is missing, or lacks
/// it.
pub fn table(runs: &[RecordedRun], extent: Extent, metric: &str) -> Option<Vec<Vec<f64>>> {
    let value = |round: u32, layout: u32| {
        let run = runs.iter().find(|run| place(run) == (round, Some(layout)))?;
        run.metrics.get(metric).copied()
    };
    let row = |round: u32| (0..extent.layouts).map(|layout| value(round, layout)).collect();
    (0..extent.rounds).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::metric::{Metric, Source};
    use super::super::process::Task;
    use super::super::record::{self, Header};
    use super::*;
    use regex::Regex;

    const EXTENT: Extent = Extent { layouts: 4, rounds: 3 };

    /// Wants the run of some number again.
    #[derive(Default)]
    struct Script {
        begun: Vec<u32>,
        again: Option<usize>,
    }

    impl Observer for Script {
        fn begins(&mut self, measured: u32) {
            self.begun.push(measured);
        }

        fn is_spoiled(&mut self, runs: &[RecordedRun]) -> bool {
            self.again == Some(runs.len()) && runs.last().is_some_and(|run| run.attempt == 0)
        }
    }

    #[test]
    fn each_layout_is_measured_once_a_round_and_known_runs_are_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let pattern = Regex::new(r"seed = (\d+)").unwrap();
        let experiment = Experiment {
            tasks: [Task::shell(&format!("cat {path}/linked")), Task::shell("exit 1")],
            services: None,
            alternates: false,
            point: String::new(),
            seed: 1,
            warm_ups: 1,
            gate: None,
            prepare: None,
            relink: Some(Relink {
                task: Task::shell(&format!(
                    "test $DEBURR_SIDE = a && echo seed = $DEBURR_LAYOUT_SEED > {path}/linked"
                )),
                when: When::Once,
            }),
            metrics: vec![Metric { name: "seed".to_owned(), source: Source::Pattern(pattern) }],
            keeps: None,
            ignores_failure: false,
        };
        let file = folder.path().join("record");
        let mut record = Record::create(&file, &Header::blank()).unwrap();
        let go_on = Stop::default();
        let mut script = Script { again: Some(3), ..Script::default() };
        let (runs, stopped) = run(&experiment, EXTENT, &mut record, &[], &mut script, &go_on).unwrap();
        assert_eq!((runs.len(), stopped, script.begun.len()), (12, Stopped::Enough, 12));
        assert_eq!((runs[2].attempt, runs[3].attempt), (1, 0));
        let rows = table(&runs, EXTENT, "seed").unwrap();
        assert!(rows.iter().all(|row| *row == rows[0]), "{rows:?}");
        let different: std::collections::BTreeSet<u64> = rows[0].iter().map(|seed| *seed as u64).collect();
        assert_eq!(different.len(), 4);
        // None of them is a pair's.
        assert_eq!(super::super::pairs::pairs(runs.clone()), []);

        let (_, written) = record::read(&file).unwrap();
        assert_eq!(written.len(), 14);
        assert_eq!(measured(&written), runs);
        let mut script = Script::default();
        // A warm-up, and four that count, one of them the second time.
        let (again, _) = run(&experiment, EXTENT, &mut record, &written[..6], &mut script, &go_on).unwrap();
        assert_eq!((again.len(), script.begun), (12, (4..12).collect::<Vec<u32>>()));
        assert_eq!(table(&again, EXTENT, "seed").unwrap(), rows);
        assert_eq!(table(&again[..11], EXTENT, "seed"), None);
        // Up to the run that was to be made again, and to an interrupt while it was made.
        let interrupted = RecordedRun { fault: Some("interrupted".to_owned()), ..written[4].clone() };
        for (rest, attempt) in [(vec![], 1), (vec![interrupted], 2)] {
            let mut script = Script { again: Some(3), ..Script::default() };
            let begun = [&written[..4], &rest].concat();
            let (again, _) = run(&experiment, EXTENT, &mut record, &begun, &mut script, &go_on).unwrap();
            assert_eq!((script.begun[0], again[2].attempt, again.len()), (2, attempt, 12));
            assert_eq!(table(&again, EXTENT, "seed").unwrap(), rows);
        }
        let stopped = run(&experiment, EXTENT, &mut record, &[], &mut Script::default(), &Stop::requested(1));
        assert_eq!(stopped.unwrap(), (vec![], Stopped::Interrupted));
    }
}
