//! Measuring stage: pair after pair, until somebody has seen enough.
//!
//! In: an experiment. Out: a record of every run, and the pairs. What the numbers mean, and how many it
//! takes, an [`Observer`] decides; here is no arithmetic on them.
//!
//! Each pair has one run of both sides, in random order, balanced in blocks. The first pair only warms up.

use super::bench::Bench;
use super::experiment::{Experiment, Failure, When};
use super::record::{Record, RecordedRun};
use super::schedule;
use super::stop::Stop;
use crate::side::Side;
use std::collections::BTreeMap;

/// One run of each side.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The runs of A and B.
    pub runs: [RecordedRun; 2],
}

impl Pair {
    /// Its number, from 0.
    pub fn number(&self) -> u32 {
        self.runs[0].pair
    }
}

/// What comes after a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another one.
    Pair,
    /// The same once more; this one counts no longer.
    Again,
    /// Nothing.
    Enough,
}

/// Sees what happens.
pub trait Observer {
    /// A run is about to begin.
    fn begins(&mut self, pair: u32, side: Side, is_warm_up: bool);

    /// A quiet machine is waited for, of which so many processors are busy; `None`: no longer.
    fn waits(&mut self, _busy: Option<f64>) {}

    /// A pair that only warms up was measured.
    fn warmed_up(&mut self, _pair: &Pair) {}

    /// A pair was measured: the last of `pairs`, which are those that count.
    fn judge(&mut self, pairs: &[Pair]) -> Next;
}

/// How an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Its observer has seen enough.
    Enough,
    /// Somebody wanted to stop.
    Interrupted,
}

/// Runs an experiment. `runs`: what its record has of it already, at this point.
///
/// # Errors
/// [`Failure`]; the record has all runs up to then, and the one that failed.
pub fn run(
    experiment: &Experiment,
    record: &mut Record,
    runs: Vec<RecordedRun>,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(Vec<Pair>, Stopped), Failure> {
    let mut bench = Bench::new(experiment, record, stop)?;
    // How often each was begun: what is on record as one half is not to be joined with a half of another
    // session.
    let mut attempts: BTreeMap<u32, u32> = BTreeMap::new();
    for run in runs.iter().filter(|run| is_of_a_pair(run)) {
        let attempts = attempts.entry(run.pair).or_default();
        *attempts = run.attempt.saturating_add(1).max(*attempts);
    }
    let mut pairs = pairs(runs);
    // A record may end with a pair that is to be measured again, or is the last.
    let mut next = if pairs.is_empty() { Next::Pair } else { observer.judge(&pairs) };
    if next != Next::Enough && !(link(&mut bench, experiment.seed)? && bench.serve()?) {
        return Ok((pairs, Stopped::Interrupted));
    }
    for number in 0..experiment.warm_ups {
        if next == Next::Enough {
            break;
        }
        let place = Place { number, attempt: 0, is_warm_up: true };
        let Some(pair) = pair(&mut bench, experiment.seed, place, observer)? else { break };
        observer.warmed_up(&pair);
    }
    while next != Next::Enough {
        if next == Next::Again {
            pairs.pop();
        }
        let number = pairs.last().map_or(0, |pair| pair.number().saturating_add(1));
        let attempts = attempts.entry(number).or_default();
        let place = Place { number, attempt: *attempts, is_warm_up: false };
        *attempts = attempts.saturating_add(1);
        let Some(pair) = pair(&mut bench, experiment.seed, place, observer)? else {
            return Ok((pairs, Stopped::Interrupted));
        };
        pairs.push(pair);
        next = observer.judge(&pairs);
    }
    Ok((pairs, Stopped::Enough))
}

/// Links both sides where that is done once; `false`: somebody wanted to stop.
fn link(bench: &mut Bench<'_>, seed: u64) -> Result<bool, Failure> {
    for side in Side::BOTH {
        if !bench.link(side, schedule::layout_seed(seed, 0, 0, side), When::Once)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is known of a pair.
struct Place {
    number: u32,
    attempt: u32,
    is_warm_up: bool,
}

/// Measures a pair; `None`: somebody wanted to stop.
fn pair(
    bench: &mut Bench<'_>,
    seed: u64,
    place: Place,
    observer: &mut dyn Observer,
) -> Result<Option<Pair>, Failure> {
    let Place { number, attempt, is_warm_up } = place;
    let order = schedule::order(seed, number);
    let mut runs = [None, None];
    for side in order {
        observer.begins(number, side, is_warm_up);
        let is_first = side == order[0];
        let blank =
            RecordedRun { pair: number, attempt, side, is_first, is_warm_up, ..RecordedRun::default() };
        let Some(run) =
            bench.run(blank, schedule::layout_seed(seed, number, attempt, side), &mut |busy| {
                observer.waits(busy)
            })?
        else {
            return Ok(None);
        };
        runs[side.index()] = Some(run);
    }
    Ok(match runs {
        [Some(a), Some(b)] => Some(Pair { runs: [a, b] }),
        _ => None,
    })
}

/// How long runs that only warm up took, with the waits before them, in seconds.
pub fn warm_up_time<'r>(runs: impl IntoIterator<Item = &'r RecordedRun>) -> f64 {
    runs.into_iter().filter(|run| run.is_warm_up).map(|run| run.waited + run.usage.wall).sum()
}

/// The pairs that some runs make, in order: of each the last that was measured as a whole. What failed is
/// none.
pub fn pairs(runs: Vec<RecordedRun>) -> Vec<Pair> {
    let mut halves: BTreeMap<(u32, u32), [Option<RecordedRun>; 2]> = BTreeMap::new();
    for run in runs.into_iter().filter(|run| is_of_a_pair(run) && run.fault.is_none()) {
        let (place, side) = ((run.pair, run.attempt), run.side.index());
        halves.entry(place).or_default()[side] = Some(run);
    }
    let whole = halves.into_values().filter_map(|halves| match halves {
        [Some(a), Some(b)] => Some((a.pair, Pair { runs: [a, b] })),
        _ => None,
    });
    let last: BTreeMap<u32, Pair> = whole.collect();
    last.into_values().collect()
}

fn is_of_a_pair(run: &RecordedRun) -> bool {
    !run.is_warm_up && run.layout.is_none()
}

#[cfg(test)]
mod tests {
    use super::super::experiment::Relink;
    use super::super::metric::{Metric, Source};
    use super::super::process::Task;
    use super::super::record::{self, Header};
    use super::super::server::Service;
    use super::*;
    use regex::Regex;
    use std::path::Path;

    fn experiment(a: &str, b: &str) -> Experiment {
        let pattern = Source::Pattern(Regex::new(r"ops = (\S+)").expect("an expression"));
        Experiment {
            tasks: [Task::shell(a), Task::shell(b)],
            services: None,
            alternates: false,
            point: String::new(),
            // A comes first in the first pair.
            seed: 3,
            warm_ups: 1,
            gate: None,
            prepare: None,
            relink: None,
            metrics: vec![Metric { name: "ops".to_owned(), source: pattern }],
            keeps: None,
            ignores_failure: false,
        }
    }

    /// Wants some pairs, and some of them twice.
    struct Script {
        wanted: u32,
        again: Vec<u32>,
        begun: Vec<(u32, Side, bool)>,
    }

    impl Script {
        fn new(wanted: u32) -> Script {
            Script { wanted, again: Vec::new(), begun: Vec::new() }
        }
    }

    impl Observer for Script {
        fn begins(&mut self, pair: u32, side: Side, is_warm_up: bool) {
            self.begun.push((pair, side, is_warm_up));
        }

        fn judge(&mut self, pairs: &[Pair]) -> Next {
            let number = pairs.last().map_or(0, Pair::number);
            if self.again.first() == Some(&number) {
                self.again.remove(0);
                return Next::Again;
            }
            if number + 1 >= self.wanted { Next::Enough } else { Next::Pair }
        }
    }

    fn ran(
        experiment: &Experiment,
        path: &Path,
        script: &mut Script,
    ) -> Result<(Vec<Pair>, Stopped), Failure> {
        let (mut record, runs) = match path.exists() {
            true => {
                let (record, runs, _) = Record::resume(path, &Header::blank()).expect("a record");
                (record, runs)
            }
            false => (Record::create(path, &Header::blank()).expect("a record"), Vec::new()),
        };
        run(experiment, &mut record, runs, script, &Stop::default())
    }

    #[test]
    fn pairs_are_measured_in_recorded_random_order_after_a_warm_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let mut script = Script::new(12);
        let experiment = experiment("echo ops = 1", "echo ops = 2");
        let (pairs, stopped) = ran(&experiment, &path, &mut script).unwrap();
        assert_eq!((pairs.len(), stopped), (12, Stopped::Enough));
        assert!(script.begun[..2].iter().all(|(pair, _, is_warm_up)| *pair == 0 && *is_warm_up));
        let firsts: Vec<Side> = script.begun[2..].chunks(2).map(|pair| pair[0].1).collect();
        assert!(firsts.contains(&Side::A) && firsts.contains(&Side::B));
        for (pair, first) in pairs.iter().zip(firsts) {
            assert!(pair.runs[first.index()].is_first);
            assert_eq!(pair.runs.each_ref().map(|run| run.metrics["ops"]), [1.0, 2.0]);
            assert!(pair.runs[0].usage.wall > 0.0 && pair.runs[0].busy.is_some());
        }
        let (_, runs) = record::read(&path).unwrap();
        assert_eq!(runs.len(), 26);
        assert_eq!(super::pairs(runs), pairs);
    }

    #[test]
    fn a_pair_that_is_measured_again_takes_its_own_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let counting = format!("echo x >> {0}/n; echo ops = $(wc -l < {0}/n)", folder.path().display());
        let mut script = Script { again: vec![1, 1], ..Script::new(3) };
        let (pairs, _) = ran(&experiment(&counting, "echo ops = 1"), &path, &mut script).unwrap();
        // The warm-up is the first, and pair 1 counts the third time.
        assert_eq!(
            pairs.iter().map(|pair| pair.runs[0].metrics["ops"]).collect::<Vec<f64>>(),
            [2.0, 5.0, 6.0]
        );
        assert_eq!(pairs[1].runs[0].attempt, 2);
        assert_eq!(super::pairs(record::read(&path).unwrap().1), pairs);
    }

    #[test]
    fn an_interrupted_experiment_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let experiment = experiment("echo ops = 1", "echo ops = 2");
        let (first, _) = ran(&experiment, &path, &mut Script::new(3)).unwrap();
        let (all, _) = ran(&experiment, &path, &mut Script::new(5)).unwrap();
        assert_eq!((all.len(), &all[..3]), (5, &first[..]));
        // One that had seen enough has nothing left to measure, and does not warm up for it.
        let mut script = Script::new(5);
        assert_eq!(ran(&experiment, &path, &mut script).unwrap().0, all);
        assert_eq!(script.begun, []);
        let mut record = Record::resume(&path, &Header::blank()).unwrap().0;
        let stopped = run(&experiment, &mut record, Vec::new(), &mut Script::new(5), &Stop::requested(1));
        assert_eq!(stopped.unwrap(), (vec![], Stopped::Interrupted));
    }

    #[test]
    fn a_resumed_pair_knows_how_often_it_was_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let experiment = experiment("echo ops = 1", "echo ops = 2");
        let go_on = |added: &[RecordedRun], again: &[u32], wanted: u32| {
            let mut record = match path.exists() {
                true => Record::resume(&path, &Header::blank()).unwrap().0,
                false => Record::create(&path, &Header::blank()).unwrap(),
            };
            added.iter().for_each(|run| record.add(run).unwrap());
            drop(record);
            let mut script = Script { again: again.to_vec(), ..Script::new(wanted) };
            ran(&experiment, &path, &mut script).unwrap().0
        };
        let attempts = |pairs: &[Pair]| pairs.iter().map(|pair| pair.runs[0].attempt).collect::<Vec<u32>>();
        let added = |pair: u32, attempt: u32, side: Side, fault: Option<&str>| RecordedRun {
            metrics: BTreeMap::from([("ops".to_owned(), 9.0)]),
            fault: fault.map(str::to_owned),
            ..RecordedRun { pair, attempt, side, ..RecordedRun::default() }
        };
        // The last one was to be measured the third time.
        assert_eq!(attempts(&go_on(&[], &[], 2)), [0, 0]);
        let crowded = Side::BOTH.map(|side| added(1, 1, side, None));
        assert_eq!(attempts(&go_on(&crowded, &[1], 2)), [0, 2]);
        // Halves: of the first attempt, and of the next one, which a fault ended.
        let halves = [added(2, 0, Side::B, None), added(2, 1, Side::A, Some("interrupted"))];
        let pairs = go_on(&halves, &[], 4);
        assert_eq!(attempts(&pairs), [0, 2, 2, 0]);
        assert!(pairs.iter().all(|pair| pair.runs.each_ref().map(|run| run.metrics["ops"]) == [1.0, 2.0]));
        assert_eq!(super::pairs(record::read(&path).unwrap().1), pairs);
    }

    #[test]
    fn what_fails_is_reported_and_recorded_and_ends_the_experiment() {
        let cases = [
            (
                "echo why >&2; exit 3",
                "the warm-up run of A ended with exit status 3; the last that it printed:\nwhy",
            ),
            (
                "true",
                "the warm-up run of A: metric ops: its pattern matches nothing of what the command printed; it printed nothing",
            ),
            ("echo ops = 1; echo ops = 2", "metric ops: its pattern matches 2 times"),
            ("echo ops = many", "metric ops: its pattern matches \"many\", which is no number"),
            (
                "head -c 65M /dev/zero; echo; echo ops = 1",
                "printed more than 64 MiB, which is not looked through for metrics",
            ),
        ];
        for (command, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("record");
            let failure = ran(&experiment(command, "echo ops = 1"), &path, &mut Script::new(3)).unwrap_err();
            assert!(failure.to_string().contains(expected), "{failure}");
            let (_, runs) = record::read(&path).unwrap();
            assert!(runs.last().is_some_and(|run| run.fault.is_some()), "{runs:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let mut missing = experiment("true", "true");
        missing.tasks = [Task { words: vec!["/no/such".into()], ..Task::default() }, Task::shell("true")];
        let failure = ran(&missing, &folder.path().join("record"), &mut Script::new(3)).unwrap_err();
        assert!(failure.to_string().contains("No such file"), "{failure}");
    }

    #[test]
    fn what_comes_before_a_run_knows_whose_it_is_and_its_layout() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut experiment = experiment("echo ops = 1", "echo ops = 1");
        experiment.prepare = Some(Task::shell(&format!("echo $DEBURR_SIDE >> {}", log.display())));
        let task = Task::shell(&format!("echo $DEBURR_SIDE $DEBURR_LAYOUT_SEED >> {}", log.display()));
        let mut lines = |when: When, wanted: u32| {
            experiment.relink = Some(Relink { task: task.clone(), when });
            let record = folder.path().join(format!("record-{when:?}"));
            ran(&experiment, &record, &mut Script::new(wanted)).unwrap();
            let text = std::fs::read_to_string(&log).unwrap();
            std::fs::remove_file(&log).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<String>>()
        };
        let count = |lines: &[String], wanted: &dyn Fn(&str) -> bool| {
            lines.iter().filter(|line| wanted(line)).count()
        };
        let each = lines(When::EachRun, 2);
        assert_eq!((count(&each, &|line| line == "a"), count(&each, &|line| line == "b")), (3, 3));
        let seeds: Vec<&str> = each.iter().filter_map(|line| line.split(' ').nth(1)).collect();
        // The warm-up has those of the first pair.
        let different: std::collections::BTreeSet<&&str> = seeds.iter().collect();
        assert_eq!((seeds.len(), different.len()), (6, 4));
        let once = lines(When::Once, 2);
        assert_eq!(
            (count(&once, &|line| line.starts_with("a ")), count(&once, &|line| line.starts_with("b "))),
            (1, 1)
        );
        assert!(once[0].starts_with("a ") && once[1].starts_with("b "), "{once:?}");
        experiment.prepare = Some(Task::shell("exit 1"));
        let failure = ran(&experiment, &folder.path().join("other"), &mut Script::new(2)).unwrap_err();
        assert!(failure.to_string().starts_with("what prepares a run of"), "{failure}");
    }

    #[test]
    fn what_runs_print_is_kept_in_a_file_for_each() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        let keeping = Experiment {
            keeps: Some(kept.clone()),
            metrics: Vec::new(),
            point: "8".to_owned(),
            ..experiment("echo one; echo two >&2", "echo three; exit 1")
        };
        ran(&keeping, &folder.path().join("record"), &mut Script::new(2)).unwrap_err();
        let text = |name: &str| std::fs::read_to_string(kept.join(name)).unwrap();
        assert_eq!(
            (text("8-warm-up-a.out"), text("8-warm-up-a.err")),
            ("one\n".to_owned(), "two\n".to_owned())
        );
        // That of a run that fails, above all.
        assert_eq!(text("8-warm-up-b.out"), "three\n");
        let keeping = Experiment { ignores_failure: true, ..keeping };
        ran(&keeping, &folder.path().join("other"), &mut Script { again: vec![1], ..Script::new(2) })
            .unwrap();
        assert_eq!((text("8-pair-1-a.out"), text("8-pair-2-b.err")), ("one\n".to_owned(), String::new()));
        assert_eq!(text("8-pair-2-again-1-b.out"), "three\n");
        let lost = Experiment { keeps: Some(folder.path().join("missing")), ..keeping };
        let failure = ran(&lost, &folder.path().join("third"), &mut Script::new(2)).unwrap_err();
        assert!(failure.to_string().contains("missing/8-warm-up-"), "{failure}");
    }

    #[test]
    fn clients_meet_the_server_of_their_side_which_is_gone_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let service = |side: &str| Service {
            task: Task::shell(&format!(
                "trap 'rm {path}/{side}; exit' TERM; echo x > {path}/{side}; while :; do sleep 0.02; done"
            )),
            ready: Task::shell(&format!("test -e {path}/{side}")),
            patience: std::time::Duration::from_secs(20),
        };
        let count =
            |side: &str| format!("test -e {path}/{side} && echo ops = $(ls {path} | grep -c '^[ab]$')");
        for (alternates, serving) in [(false, 2.0), (true, 1.0)] {
            let services = Some([service("a"), service("b")]);
            let experiment = Experiment { services, alternates, ..experiment(&count("a"), &count("b")) };
            let record = folder.path().join(format!("record-{alternates}"));
            let (pairs, _) = ran(&experiment, &record, &mut Script::new(3)).unwrap();
            assert!(
                pairs.iter().flat_map(|pair| &pair.runs).all(|run| run.metrics["ops"] == serving),
                "{pairs:?}"
            );
            assert!(!folder.path().join("a").exists() && !folder.path().join("b").exists());
        }
        let broken = Service {
            task: Task::shell("exit 2"),
            ready: Task::shell("false"),
            patience: std::time::Duration::ZERO,
        };
        let services = Some([service("a"), broken]);
        let experiment = Experiment { services, ..experiment("true", "true") };
        let failure = ran(&experiment, &folder.path().join("other"), &mut Script::new(3)).unwrap_err();
        assert!(failure.to_string().starts_with("the server of B"), "{failure}");
        assert!(!folder.path().join("a").exists());
    }
}
