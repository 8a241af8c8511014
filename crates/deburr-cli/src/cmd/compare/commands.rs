//! Two commands → what was measured of them, in a record as it came, and what is said of that.

use super::interrupt::Interrupts;
use super::judge::{Judge, Measurements, judged, judges, rule};
use super::place;
use super::plan::{self, Plan};
use super::watch::{LayoutWatch, Watch};
use crate::args::compare::Compare;
use crate::cmd::Failure;
use crate::render::compare::Document;
use deburr_lab::measure::layouts;
use deburr_lab::measure::pairs::{self, Stopped};
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::record::{Record, RecordError, Run};
use deburr_lab::measure::stop::Stop;
use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::Rule;
use std::fmt;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// Runs two commands. Tells whether somebody interrupted that.
pub(super) fn run(options: &Compare, rope: Rope) -> Result<(Document, bool), Failure> {
    let commands = match (&options.aa, &options.client, &options.a, &options.b) {
        (Some(both), ..) | (None, Some(both), ..) => [both.as_str(), both.as_str()],
        (None, None, Some(a), Some(b)) => [a.as_str(), b.as_str()],
        _ => return Err(Failure::Message("give --a and --b, --aa, --client, or --values".to_owned())),
    };
    let rule = rule(rope, options.pairs).map_err(Failure::Message)?;
    let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let mut plan = plan::plan(options, commands, seed).map_err(Failure::Message)?;
    let (path, mut record, runs) = open(options, &mut plan).map_err(Failure::Message)?;
    let interrupts = Interrupts::heed().map_err(|error| Failure::Message(format!("signals: {error}")))?;
    let stop = &interrupts.stop;
    let complain = |failure: &dyn fmt::Display| {
        Failure::Message(format!("{failure}\nthe runs up to then: {}", path.display()))
    };
    let measured = around(plan.setup.as_ref(), "--setup", stop)
        .and_then(|_| sweep(&plan, &mut record, runs, &rule, options, stop));
    // Whoever interrupts the runs wants them cleaned up.
    let cleaned = around(plan.cleanup.as_ref(), "--cleanup", &stop.but_for_more());
    let (points, stopped) = measured.map_err(|failure| complain(&failure))?;
    let cleaned = cleaned.map_err(|error| complain(&error))?;
    if points.is_empty() {
        return Err(complain(&"interrupted before there were two pairs"));
    }
    let document = judged(&plan, &points, &rule, options, &path).map_err(|error| complain(&error))?;
    Ok((document, [stopped, cleaned].contains(&Stopped::Interrupted)))
}

/// Runs the experiment of each point; gives those that have two pairs, or that end with fewer for a reason.
fn sweep(
    plan: &Plan,
    record: &mut Record,
    mut runs: Vec<Run>,
    rule: &Rule,
    options: &Compare,
    stop: &Stop,
) -> Result<(Vec<Measurements>, Stopped), String> {
    let mut points = Vec::new();
    for experiment in &plan.experiments {
        let own: Vec<Run> = runs.extract_if(.., |run| run.point == experiment.point).collect();
        let judges = match plan.layouts {
            None => vec![Judge { rule: rule.clone(), placement: None }; plan.asked.len()],
            Some(extent) => {
                let mut watch = LayoutWatch::new(plan, extent, options.progress);
                let measured = layouts::run(experiment, extent, record, &own, &mut watch, stop);
                watch.finish();
                match measured.map_err(|failure| failure.to_string())? {
                    (_, Stopped::Interrupted) => return Ok((points, Stopped::Interrupted)),
                    (runs, Stopped::Enough) => judges(plan, extent, &runs, rule)?,
                }
            }
        };
        let Some(first) = judges.first() else { continue };
        let mut watch = Watch::new(plan, experiment, first.rule.clone(), options.progress);
        let measured = pairs::run(experiment, record, own, &mut watch, stop);
        watch.finish();
        let (pairs, stopped) = measured.map_err(|failure| failure.to_string())?;
        // What ended by itself after one pair has values that cannot be judged, which is told then.
        if pairs.len() >= 2 || stopped == Stopped::Enough {
            points.push(Measurements { value: experiment.point.clone(), pairs, judges });
        }
        if stopped == Stopped::Interrupted {
            return Ok((points, stopped));
        }
    }
    Ok((points, Stopped::Enough))
}

/// The record: a new one, or one to go on with.
fn open(options: &Compare, plan: &mut Plan) -> Result<(PathBuf, Record, Vec<Run>), String> {
    let complain = |path: &Path, error: &RecordError| format!("{}: {error}", path.display());
    if let Some(resumed) = &options.resume {
        let path = match resumed {
            Some(path) => path.clone(),
            None => place::last(&plan.header)?,
        };
        let (record, runs, seed) =
            Record::resume(&path, &plan.header).map_err(|error| complain(&path, &error))?;
        plan.header.seed = seed;
        plan.experiments.iter_mut().for_each(|experiment| experiment.seed = seed);
        return Ok((path, record, runs));
    }
    let path = match &options.record {
        Some(path) => path.clone(),
        None => place::new(&plan.header)?,
    };
    let record = Record::create(&path, &plan.header).map_err(|error| complain(&path, &error))?;
    Ok((path, record, Vec::new()))
}

/// Runs what comes before or after everything else.
fn around(task: Option<&Task>, what: &str, stop: &Stop) -> Result<Stopped, String> {
    let Some(task) = task else { return Ok(Stopped::Enough) };
    let null = OpenOptions::new().write(true).open("/dev/null");
    let done = null.and_then(|null| process::run(task, Streams { output: &null, errors: &null }, stop));
    match done {
        Ok((End::Status(0), _)) => Ok(Stopped::Enough),
        Ok((End::Interrupted, _)) => Ok(Stopped::Interrupted),
        Ok((end, _)) => Err(format!("{what} ended with {end}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
