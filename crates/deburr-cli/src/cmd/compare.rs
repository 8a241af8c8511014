//! `deburr compare`: two commands, or numbers measured elsewhere → whether B is really better than A.

mod metric;
mod page;
mod place;
mod plan;
mod watch;

use super::{Failure, colored, width_of_terminal};
use crate::args::compare::{Compare, Direction as Way, Expected};
use crate::args::{Format, When};
use crate::input::walk::error_text;
use crate::render::compare::{Document, Measured, Point, json, text};
use crate::render::style::Palette;
use deburr_lab::comparison::{self, Comparison, Question, Series};
use deburr_lab::measure::experiment::{self, Pair, Stopped};
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::record::{Record, RecordError, Run};
use deburr_lab::stats::verdict::{LOOKS, Order, Outcome, Rule};
use deburr_lab::stats::{Direction, Rope};
use page::Page;
use plan::Plan;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use watch::Watch;

/// What shells tell of a command that SIGINT ended.
const INTERRUPTED: u8 = 130;

/// Runs the verb.
pub(super) fn run(options: &Compare, color: When, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let rope =
        Rope::new(options.region / 100.0).map_err(|error| Failure::Message(format!("--region: {error}")))?;
    let page = options.html.as_deref().map(Page::open).transpose().map_err(Failure::Message)?;
    let (document, interrupted) = match &options.values {
        Some(files) => (numbers(options, files, rope).map_err(Failure::Message)?, false),
        None => commands(options, rope)?,
    };
    match options.format {
        Format::Json => json::render(&document, out)?,
        Format::Text => {
            let palette = Palette::new(colored(color, std::io::stdout().is_terminal()));
            text::render(&document, palette, width_of_terminal(), out)?;
        }
    }
    if let Some(page) = page {
        page.write(&document).map_err(Failure::Message)?;
    }
    let outcome = document.comparisons.first().map_or(Outcome::Inconclusive, Comparison::outcome);
    let holds = match options.expect {
        None => true,
        Some(Expected::Better) => outcome == Outcome::Better,
        Some(Expected::Same) => outcome == Outcome::Same,
        Some(Expected::NotWorse) => matches!(outcome, Outcome::Better | Outcome::Same),
    };
    Ok(match (interrupted, holds) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(1),
    })
}

/// The rule for so many pairs at most: the looks that lie before, and one at the end.
fn rule(rope: Rope, most: u32) -> Result<Rule, String> {
    let most = most as usize;
    let looks: Vec<usize> = LOOKS.into_iter().filter(|look| *look < most).chain([most]).collect();
    Rule::new(rope, &looks, deburr_lab::stats::verdict::ALPHA)
        .map_err(|error| format!("--pairs {most}: {error}"))
}

/// Runs two commands. Tells whether somebody interrupted that.
fn commands(options: &Compare, rope: Rope) -> Result<(Document, bool), Failure> {
    let commands = match (&options.aa, &options.client, &options.a, &options.b) {
        (Some(both), ..) | (None, Some(both), ..) => [both.as_str(), both.as_str()],
        (None, None, Some(a), Some(b)) => [a.as_str(), b.as_str()],
        _ => return Err(Failure::Message("give --a and --b, --aa, --client, or --values".to_owned())),
    };
    let rule = rule(rope, options.pairs).map_err(Failure::Message)?;
    let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let mut plan = plan::plan(options, commands, seed).map_err(Failure::Message)?;
    let (path, mut record, runs) = open(options, &mut plan).map_err(Failure::Message)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The second time there is no waiting.
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::Message(format!("signals: {error}")))?;
    }
    let complain = |failure: &dyn fmt::Display| {
        Failure::Message(format!("{failure}\nthe runs up to then: {}", path.display()))
    };
    around(plan.setup.as_ref(), "--setup", &stop).map_err(|error| complain(&error))?;
    let measured = sweep(&plan, &mut record, runs, &rule, options, &stop);
    let cleaned = around(plan.cleanup.as_ref(), "--cleanup", &AtomicBool::new(false));
    let (points, stopped) = measured.map_err(|failure| complain(&failure))?;
    cleaned.map_err(|error| complain(&error))?;
    if points.is_empty() {
        return Err(complain(&"interrupted before there were two pairs"));
    }
    let document = judged(&plan, &points, &rule, options, &path).map_err(|error| complain(&error))?;
    Ok((document, stopped == Stopped::Interrupted))
}

/// The values that are swept over, each with its pairs.
type Points = Vec<(String, Vec<Pair>)>;

/// Runs the experiment of each point; gives those that have two pairs.
fn sweep(
    plan: &Plan,
    record: &mut Record,
    mut runs: Vec<Run>,
    rule: &Rule,
    options: &Compare,
    stop: &AtomicBool,
) -> Result<(Points, Stopped), experiment::Failure> {
    let mut points = Points::new();
    for experiment in &plan.experiments {
        let own: Vec<Run> = runs.extract_if(.., |run| run.point == experiment.point).collect();
        let mut watch = Watch::new(plan, experiment, rule.clone(), options.progress);
        let measured = experiment::run(experiment, record, own, &mut watch, stop);
        watch.finish();
        let (pairs, stopped) = measured?;
        if pairs.len() >= 2 {
            points.push((experiment.point.clone(), pairs));
        }
        if stopped == Stopped::Interrupted {
            return Ok((points, stopped));
        }
    }
    Ok((points, Stopped::Enough))
}

/// What the pairs of each point say of each metric, and all points together.
fn judged(
    plan: &Plan,
    points: &[(String, Vec<Pair>)],
    rule: &Rule,
    options: &Compare,
    path: &Path,
) -> Result<Document, String> {
    // What servers use is nobody's own, and would count as foreign.
    let cores = options.client.is_none().then_some(plan.header.cores);
    let of = |question: &Question, pairs: &[Pair]| {
        let machine = cores.map(|cores| comparison::machine(pairs, cores));
        let series = comparison::series(pairs, &question.name, machine);
        series.ok_or_else(|| format!("metric {}: not every run in the record has it", question.name))
    };
    let compare = |question: &Question, series: &Series, rule: &Rule| {
        comparison::compare(question.clone(), series, rule, plan.header.seed)
            .map_err(|error| format!("metric {}: {error}", question.name))
    };
    let questions: Vec<&Question> = plan.asked.iter().map(|asked| &asked.question).collect();
    let mut curve = Vec::new();
    for (value, pairs) in points {
        let comparisons = questions.iter().map(|question| compare(question, &of(question, pairs)?, rule));
        let comparisons = comparisons.collect::<Result<Vec<Comparison>, String>>()?;
        curve.push(Point { value: value.clone(), comparisons });
    }
    let (comparisons, sweep) = match &options.param {
        None => (curve.into_iter().next().map_or_else(Vec::new, |point| point.comparisons), None),
        Some(sweep) => {
            let pooled = questions.iter().map(|question| {
                let all = points
                    .iter()
                    .map(|(_, pairs)| of(question, pairs))
                    .collect::<Result<Vec<Series>, String>>()?;
                let all = comparison::pooled(&all);
                let all =
                    all.ok_or_else(|| format!("metric {}: a value that is not positive", question.name))?;
                let rule = Rule::once(rule.rope(), all.values[0].len()).map_err(|error| error.to_string())?;
                let question = Question { unit: "× the point's mean".to_owned(), ..(*question).clone() };
                compare(&question, &all, &rule)
            });
            (pooled.collect::<Result<Vec<Comparison>, String>>()?, Some((sweep.name.clone(), curve)))
        }
    };
    let own = options.aa.as_ref().and(points.first()).zip(comparisons.first());
    Ok(Document {
        fitness: own.and_then(|((_, pairs), comparison)| comparison::fitness(pairs, comparison, rule)),
        comparisons,
        sweep,
        region: rule.rope().relative(),
        measured: Measured::Commands {
            commands: plan.header.commands.clone(),
            seed: plan.header.seed,
            record: path.to_owned(),
            cores: plan.header.cores,
        },
        is_aa: options.aa.is_some(),
    })
}

/// The record: a new one, or one to go on with.
fn open(options: &Compare, plan: &mut Plan) -> Result<(std::path::PathBuf, Record, Vec<Run>), String> {
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
fn around(task: Option<&Task>, what: &str, stop: &AtomicBool) -> Result<(), String> {
    let Some(task) = task else { return Ok(()) };
    let null = OpenOptions::new().write(true).open("/dev/null");
    let done = null.and_then(|null| process::run(task, Streams { output: &null, errors: &null }, stop));
    match done {
        Ok((End::Status(0), _)) => Ok(()),
        Ok((end, _)) => Err(format!("{what} ended with {end}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// Compares numbers that were measured elsewhere.
fn numbers(options: &Compare, files: &[std::path::PathBuf], rope: Rope) -> Result<Document, String> {
    let [a, b] = files else { return Err("--values: give two files".to_owned()) };
    let values = [read_numbers(a)?, read_numbers(b)?];
    let [from_a, from_b] = values.each_ref().map(Vec::len);
    if options.paired && from_a != from_b {
        let (a, b) = (a.display(), b.display());
        return Err(format!("--paired: {a} has {from_a} numbers, {b} {from_b}"));
    }
    if let Some(few) = [(a, from_a), (b, from_b)].iter().find(|(_, numbers)| *numbers < 2) {
        return Err(format!("{}: at least 2 numbers are needed, found {}", few.0.display(), few.1));
    }
    let question = Question {
        name: "value".to_owned(),
        unit: String::new(),
        direction: match options.better {
            Way::Larger => Direction::Larger,
            Way::Smaller => Direction::Smaller,
        },
    };
    let order = if options.paired { Order::Interleaved } else { Order::Unknown };
    let rule = Rule::once(rope, from_a.min(from_b)).map_err(|error| format!("--values: {error}"))?;
    let series = Series { values, order, sequence: Vec::new(), contaminated: 0 };
    let comparison = comparison::compare(question, &series, &rule, 0)
        .map_err(|error| format!("{}, {}: {error}", a.display(), b.display()))?;
    Ok(Document {
        comparisons: vec![comparison],
        region: rope.relative(),
        measured: Measured::Files([a.clone(), b.clone()]),
        sweep: None,
        fitness: None,
        is_aa: false,
    })
}

/// Numbers, one a line; empty lines and those that begin with `#` are none.
fn read_numbers(path: &Path) -> Result<Vec<f64>, String> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("{}: {}", path.display(), error_text(&error)))?;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let numbers = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let number = |(index, line): (usize, &str)| {
        let number = line.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("{}: line {index}: {line:?} is no number", path.display()))
    };
    numbers.map(number).collect()
}
