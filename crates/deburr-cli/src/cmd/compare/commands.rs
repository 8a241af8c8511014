//! Two commands → their runs, in a record as they came, and the verdict on them.
//!
//! In: the options with two commands. Out: a document for the renderers. Each run is in the record before the
//! next one begins, so that an interrupted experiment can go on.

use super::judge::{Measurements, Terms, criteria, document};
use super::metric;
use super::plan::{self, ComparePlan, Contest};
use super::preflight;
use super::provenance::provenance;
use super::record_path;
use super::saved;
use super::watch::{LayoutWatch, Watch};
use crate::args::batch::Progress;
use crate::args::compare::Compare;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::Interrupts;
use crate::cmd::progress::LiveLine;
use crate::output::{self, target::Stream};
use crate::render::by_function::ByFunction;
use crate::render::compare::document::CompareDocument;
use deburr_lab::measure::experiment::{self, Experiment};
use deburr_lab::measure::layouts;
use deburr_lab::measure::pairs::{self, Pair, Stopped};
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::record::{Header, Record, RecordError, RecordedRun};
use deburr_lab::measure::stop::Stop;
use deburr_lab::stats::Rope;
use deburr_text::ShownPath as _;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// What came of running commands.
pub(crate) struct Ran {
    pub(crate) document: CompareDocument,
    /// Whether somebody interrupted it.
    pub(crate) interrupted: bool,
    /// The pairs of all points.
    pub(crate) pairs: Vec<Pair>,
    /// What went wrong after the last run, which takes nothing from what was measured.
    pub(crate) fault: Option<String>,
    /// Whether the record goes to the standard output.
    pub(super) is_stdout: bool,
}

/// Runs all that is compared, one comparison after the other, until somebody interrupts it.
pub(super) fn run(options: &Compare, rope: Rope) -> Result<Vec<Ran>, Failure> {
    let interrupts = Interrupts::heed().map_err(|error| Failure::Message(format!("signals: {error}")))?;
    // Without it, daemons that a run leaves behind are not noticed.
    let _ = process::adopt();
    let contests = plan::contests(options).map_err(Failure::Message)?;
    if contests.len() > 1 {
        let single = [
            ("--record", options.record.is_some()),
            ("--resume=FILE", matches!(options.resume, Some(Some(_)))),
            ("--html", options.html.is_some()),
            ("--export-hyperfine", options.export_hyperfine.is_some()),
        ];
        if let Some((option, _)) = single.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::Message(format!(
                "{option}: of two commands; each of several comparisons has a record of its own, whose name is printed"
            )));
        }
    }
    // What cannot work is said before the first run.
    saved::check(options, &contests).map_err(Failure::Message)?;
    let mut plans = Vec::new();
    for contest in &contests {
        plans.push(prepared(options, contest, rope, &interrupts.stop).map_err(Failure::Message)?);
    }
    let mut ran = Vec::new();
    for plan in plans {
        let one = run_plan(options, plan, rope, &interrupts.stop)?;
        let is_over = one.interrupted || one.fault.is_some();
        ran.push(one);
        if is_over {
            break;
        }
    }
    if !ran.iter().any(|one| one.interrupted) {
        saved::save(options, &contests).map_err(Failure::Message)?;
    }
    Ok(ran)
}

/// Runs two commands, until `stop` is wanted.
pub(super) fn run_until(options: &Compare, rope: Rope, stop: &Stop) -> Result<Ran, Failure> {
    let contests = plan::contests(options).map_err(Failure::Message)?;
    let [contest] = contests.as_slice() else {
        return Err(Failure::Message("two commands are compared here".to_owned()));
    };
    let plan = prepared(options, contest, rope, stop).map_err(Failure::Message)?;
    run_plan(options, plan, rope, stop)
}

/// What is to be run, once all that can be checked before its record begins has been.
fn prepared(
    options: &Compare,
    contest: &Contest<'_>,
    rope: Rope,
    stop: &Stop,
) -> Result<ComparePlan, String> {
    if let Some(format) = metric::unnamed(&options.trial.metric).filter(|_| options.client.is_none()) {
        let names = preflight::reported_names(options, contest, format, stop)?;
        return Err(format!("--metric {format}: say which: {names}"));
    }
    let seed = options.trial.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let plan = plan::plan(options, contest, seed)?;
    Terms::of(&plan, None)?.rule(rope, 1)?;
    preflight::before_setup(&plan)?;
    Ok(plan)
}

/// Runs the two commands of a plan, until `stop` is wanted.
fn run_plan(options: &Compare, mut plan: ComparePlan, rope: Rope, stop: &Stop) -> Result<Ran, Failure> {
    let Opened { path, mut record, runs, is_stdout } = open(options, &mut plan).map_err(Failure::Message)?;
    let terms = Terms::of(&plan, None).map_err(Failure::Message)?;
    let complain = |failure: &dyn fmt::Display| {
        Failure::Message(format!("{failure}\nthe runs up to then: {}", path.shown()))
    };
    let measured = around(plan.setup.as_ref(), "--setup", stop)
        .and_then(|_| if plan.setup.is_some() { preflight::after_setup(&plan) } else { Ok(()) })
        .and_then(|()| sweep(&plan, &mut record, runs, (terms, rope), options, stop));
    let profiled = match &measured {
        Ok((points, true)) => by_function(&plan, points, options, stop),
        _ => Ok(None),
    };
    // Whoever interrupts the runs wants them cleaned up.
    let cleaned = around(plan.cleanup.as_ref(), "--cleanup", &stop.only_further());
    let (points, is_whole) = measured.map_err(|failure| complain(&failure))?;
    if points.is_empty() {
        return Err(complain(&"interrupted before there were two pairs"));
    }
    let mut document =
        document(&plan, &points, (&terms, rope), options, &path).map_err(|error| complain(&error))?;
    let interrupted = !is_whole || cleaned == Ok(false) || stop.is_wanted();
    let pairs = points.into_iter().flat_map(|point| point.pairs).collect();
    let mut fault = cleaned.err();
    match profiled {
        Ok(found) => document.by_function = found,
        Err(reason) => fault = Some(format!("--by-function: {reason}")),
    }
    Ok(Ran { document, interrupted, pairs, fault, is_stdout })
}

/// Samples both sides, where that is wanted. `None`: somebody wanted to stop, too.
fn by_function(
    plan: &ComparePlan,
    points: &[Measurements],
    options: &Compare,
    stop: &Stop,
) -> Result<Option<ByFunction>, String> {
    let Some(sampler) = &plan.sampler else { return Ok(None) };
    // There is no sweep.
    let ([experiment], [point]) = (plan.experiments.as_slice(), points) else { return Ok(None) };
    let line = LiveLine::new(options.progress == Progress::Auto);
    line.iter().for_each(|line| line.show("sampling both sides".to_owned(), String::new()));
    sampler.sample(experiment, &point.pairs, stop)
}

/// Runs the experiment of each point; gives those that have two pairs, or that end with fewer for a reason,
/// and whether nobody interrupted it.
fn sweep(
    plan: &ComparePlan,
    record: &mut Record,
    mut runs: Vec<RecordedRun>,
    (terms, rope): (Terms, Rope),
    options: &Compare,
    stop: &Stop,
) -> Result<(Vec<Measurements>, bool), String> {
    let (mut points, mut is_whole) = (Vec::new(), true);
    // Once somebody wants to stop, the points give back what the record has of them.
    for experiment in &plan.experiments {
        let own: Vec<RecordedRun> = runs.extract_if(.., |run| run.point == experiment.point).collect();
        let Some(layouts) = layouts(plan, experiment, record, &own, options, stop)? else {
            is_whole = false;
            continue;
        };
        let criteria = criteria(plan, &layouts, (&terms, rope))?;
        let first = criteria.first().ok_or("no metric")?;
        let mut watch = Watch::new(plan, experiment, (terms, first.rule.clone()), &own, options.progress);
        let measured = pairs::run(experiment, record, own, &mut watch, stop);
        watch.bar.finish();
        let (pairs, stopped) = measured.map_err(|failure| explained(&failure))?;
        is_whole &= stopped == Stopped::Enough;
        // What ended by itself after one pair has values that cannot be judged, which is reported then.
        if pairs.len() >= 2 || stopped == Stopped::Enough {
            let warm_up = watch.warm_up;
            points.push(Measurements { value: experiment.point.clone(), pairs, warm_up, criteria });
        }
    }
    Ok((points, is_whole))
}

/// What went wrong, and what to do where a run failed that may be meant to.
fn explained(failure: &experiment::Failure) -> String {
    match failure {
        experiment::Failure::Run { end: End::Status(status), .. } => {
            format!("{failure}\nif such a run counts although its exit status is {status}: --ignore-failure")
        }
        _ => failure.to_string(),
    }
}

/// Runs A's layouts, where those are wanted. `None`: somebody interrupted it.
fn layouts(
    plan: &ComparePlan,
    experiment: &Experiment,
    record: &mut Record,
    known: &[RecordedRun],
    options: &Compare,
    stop: &Stop,
) -> Result<Option<Vec<RecordedRun>>, String> {
    let Some(extent) = plan.layouts else { return Ok(Some(Vec::new())) };
    let mut watch = LayoutWatch::new(plan, extent, options.progress);
    let measured = layouts::run(experiment, extent, record, known, &mut watch, stop);
    watch.bar.finish();
    let (runs, stopped) = measured.map_err(|failure| explained(&failure))?;
    Ok((stopped == Stopped::Enough).then_some(runs))
}

/// A record to write to.
struct Opened {
    path: PathBuf,
    record: Record,
    /// What it has already.
    runs: Vec<RecordedRun>,
    is_stdout: bool,
}

/// The record: a new one, or one to go on with.
fn open(options: &Compare, plan: &mut ComparePlan) -> Result<Opened, String> {
    let complain = |path: &Path, error: &RecordError| format!("{}: {error}", path.shown());
    if let Some(resumed) = &options.resume {
        let path = match resumed {
            Some(path) => path.clone(),
            None => record_path::last(&plan.header)?,
        };
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            return Err(format!("{}: no regular file", path.shown()));
        }
        let (record, runs, header) =
            Record::resume(&path, &plan.header).map_err(|error| complain(&path, &error))?;
        plan.experiments.iter_mut().for_each(|experiment| experiment.seed = header.seed);
        plan.header = Header { pairs: options.trial.pairs.or(header.pairs), ..header };
        return Ok(Opened { path, record, runs, is_stdout: false });
    }
    let path = match &options.record {
        Some(path) => path.clone(),
        None => record_path::new(&plan.header)?,
    };
    let has_shell = options.trial.shell != "none";
    plan.header.provenance = Some(provenance(plan.experiments.first(), has_shell, plan.header.cores));
    let page: Vec<&Path> =
        options.html.iter().chain(&options.export_hyperfine).map(PathBuf::as_path).collect();
    let Stream { file, is_stdout } = output::begin(&path, &page)?;
    let record = Record::begin(file, &plan.header).map_err(|error| complain(&path, &error))?;
    Ok(Opened { path, record, runs: Vec::new(), is_stdout })
}

/// Runs what comes before or after everything else; `false`: somebody interrupted it.
fn around(task: Option<&Task>, what: &str, stop: &Stop) -> Result<bool, String> {
    let Some(task) = task else { return Ok(true) };
    let null = OpenOptions::new().write(true).open("/dev/null");
    let done = null.and_then(|null| process::run(task, Streams { output: &null, errors: &null }, stop));
    match done {
        Ok((End::Status(0), _)) => Ok(true),
        Ok((End::Interrupted, _)) => Ok(false),
        Ok((end, _)) => Err(format!("{what} ended with {end}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
