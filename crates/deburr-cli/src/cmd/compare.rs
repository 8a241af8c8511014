//! `deburr compare`: two commands, or numbers measured elsewhere → whether B is really better than A.

mod files;
mod interrupt;
mod metric;
mod page;
mod place;
mod plan;
mod watch;

use super::{Failure, colored, width_of_terminal};
use crate::args::When;
use crate::args::compare::{Compare, Expected, Output};
use crate::render::compare::{Document, Measured, Point, benchstat, json, table, text};
use crate::render::style::Palette;
use deburr_lab::comparison::{self, Comparison, Family, Question, Series};
use deburr_lab::measure::experiment;
use deburr_lab::measure::pairs::{self, Pair, Stopped};
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::record::{Record, RecordError, Run};
use deburr_lab::measure::stop::Stop;
use deburr_lab::report;
use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::{LOOKS, Outcome, Rule};
use deburr_lab::stats::warning::Warning;
use interrupt::{INTERRUPTED, Interrupts};
use page::Page;
use plan::Plan;
use std::fmt;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use watch::Watch;

/// Runs the verb.
pub(super) fn run(options: &Compare, color: When, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let rope =
        Rope::new(options.region / 100.0).map_err(|error| Failure::Message(format!("--region: {error}")))?;
    let (files, format) = match &options.values {
        Some(files) => (files.as_slice(), Some(report::Format::Values)),
        None => (options.files.as_slice(), options.input_format),
    };
    if options.format == Output::Benchstat && !files.is_empty() {
        return files::tables(options, files, format, out);
    }
    let page = options.html.as_deref().map(Page::open).transpose().map_err(Failure::Message)?;
    let (document, interrupted) = match files {
        [] => commands(options, rope)?,
        files => (files::compared(options, files, format, rope).map_err(Failure::Message)?, false),
    };
    match options.format {
        Output::Json => json::render(&document, out)?,
        Output::Benchstat => benchstat::render(&document, out)?,
        Output::Csv => table::csv(&document, out)?,
        Output::Markdown => table::markdown(&document, out)?,
        Output::Text => {
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
    let interrupts = Interrupts::heed().map_err(|error| Failure::Message(format!("signals: {error}")))?;
    let stop = &interrupts.stop;
    let complain = |failure: &dyn fmt::Display| {
        Failure::Message(format!("{failure}\nthe runs up to then: {}", path.display()))
    };
    around(plan.setup.as_ref(), "--setup", stop).map_err(|error| complain(&error))?;
    let measured = sweep(&plan, &mut record, runs, &rule, options, stop);
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

/// The values that are swept over, each with its pairs.
type Points = Vec<(String, Vec<Pair>)>;

/// Runs the experiment of each point; gives those that have two pairs.
fn sweep(
    plan: &Plan,
    record: &mut Record,
    mut runs: Vec<Run>,
    rule: &Rule,
    options: &Compare,
    stop: &Stop,
) -> Result<(Points, Stopped), experiment::Failure> {
    let mut points = Points::new();
    for experiment in &plan.experiments {
        let own: Vec<Run> = runs.extract_if(.., |run| run.point == experiment.point).collect();
        let mut watch = Watch::new(plan, experiment, rule.clone(), options.progress);
        let measured = pairs::run(experiment, record, own, &mut watch, stop);
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
    let of = |question: &Question, pairs: &[Pair]| {
        let machine = comparison::machine(pairs, plan.header.cores);
        let series = comparison::series(pairs, &question.name, Some(machine));
        series.ok_or_else(|| format!("metric {}: not every run in the record has it", question.name))
    };
    // The first metric decides, and when it does, the pairs end.
    let compare = |metrics: Vec<(Question, Series, Rule)>| {
        let compared = comparison::compare_all(&metrics, Family::Primary, plan.header.seed);
        let named = metrics.iter().zip(compared).map(|((question, ..), compared)| {
            compared.map_err(|error| format!("metric {}: {error}", question.name))
        });
        named.collect::<Result<Vec<Comparison>, String>>()
    };
    let questions: Vec<&Question> = plan.asked.iter().map(|asked| &asked.question).collect();
    let mut curve = Vec::new();
    for (value, pairs) in points {
        let metrics =
            questions.iter().map(|question| Ok(((*question).clone(), of(question, pairs)?, rule.clone())));
        let comparisons = compare(metrics.collect::<Result<Vec<_>, String>>()?)?;
        curve.push(Point { value: value.clone(), comparisons });
    }
    let (mut comparisons, sweep) = match &options.param {
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
                Ok((question, all, rule))
            });
            (compare(pooled.collect::<Result<Vec<_>, String>>()?)?, Some((sweep.name.clone(), curve)))
        }
    };
    if options.relink.is_none() && are_other_programs(plan) {
        comparisons.iter_mut().for_each(warn_of_placement);
    }
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

/// Whether A and B are different files, whose code lies differently. What a shell runs is not known.
fn are_other_programs(plan: &Plan) -> bool {
    let Some(experiment) = plan.experiments.first() else { return false };
    let services =
        experiment.services.as_ref().map(|services| services.each_ref().map(|service| &service.task));
    let tasks = services.unwrap_or(experiment.tasks.each_ref());
    let [a, b] = tasks.map(|task| task.words.first().map(Path::new));
    a != b
}

/// Warns where a difference is proven that no other layout need have.
fn warn_of_placement(comparison: &mut Comparison) {
    /// Twice the standard deviation that layouts alone make in small programs (docs/compare.md, "Placement").
    const PLACEMENT: f64 = 0.06;
    let is_proven = matches!(comparison.outcome(), Outcome::Better | Outcome::Worse);
    if is_proven && comparison.change().0.abs() < PLACEMENT {
        comparison.warnings.push(Warning::Placement);
    }
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
