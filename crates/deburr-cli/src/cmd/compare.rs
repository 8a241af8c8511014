//! `deburr compare`: two commands, or numbers measured elsewhere → whether B is really better than A.

mod files;
mod interrupt;
mod metric;
mod page;
mod place;
mod plan;
mod recorded;
mod watch;

use super::{Failure, colored, width_of_terminal};
use crate::args::When;
use crate::args::compare::{Compare, Expected, Output};
use crate::render::compare::{Document, Measured, Point, benchstat, json, table, text};
use crate::render::style::Palette;
use deburr_lab::comparison::{self, Comparison, Family, Question, Series};
use deburr_lab::measure::layouts::{self, Extent};
use deburr_lab::measure::pairs::{self, Pair, Stopped};
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::record::{Header, Record, RecordError, Run};
use deburr_lab::measure::stop::Stop;
use deburr_lab::report;
use deburr_lab::stats::Rope;
use deburr_lab::stats::benchstat::Upstream;
use deburr_lab::stats::placement::Placement;
use deburr_lab::stats::verdict::{LOOKS, Outcome, Rule};
use deburr_lab::stats::warning::Warning;
use indicatif::ProgressBar;
use interrupt::{INTERRUPTED, Interrupts};
use metric::Asked;
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
    if options.format == Output::Benchstat && options.marks {
        return Err(Failure::Message("--marks: benchstat's tables have none".to_owned()));
    }
    let record = match (files, format) {
        ([only], None) => recorded::open(only).map_err(Failure::Message)?,
        _ => None,
    };
    if options.format == Output::Benchstat && !files.is_empty() && record.is_none() {
        return files::tables(options, files, format, out);
    }
    if let (Some(_), [_, _, third, ..]) = (&options.html, files) {
        return Err(Failure::Message(format!(
            "--html: a page has two sides; {}: a third file",
            third.display()
        )));
    }
    let page = options.html.as_deref().map(Page::open).transpose().map_err(Failure::Message)?;
    let (documents, interrupted) = match (files, record) {
        (_, Some(record)) => {
            (vec![recorded::compared(options, record, rope).map_err(Failure::Message)?], false)
        }
        ([], None) => commands(options, rope).map(|(document, interrupted)| (vec![document], interrupted))?,
        (files, None) => (files::compared(options, files, format, rope).map_err(Failure::Message)?, false),
    };
    match options.format {
        Output::Json => json::render(&documents, out)?,
        Output::Benchstat => {
            documents.iter().try_for_each(|document| benchstat::render(document, upstream(options), out))?
        }
        Output::Csv => table::csv(&documents, out)?,
        Output::Markdown => table::markdown(&documents, out)?,
        Output::Text => {
            let palette = Palette::new(colored(color, std::io::stdout().is_terminal()));
            text::render(&documents, palette, width_of_terminal(), out)?;
        }
    }
    if let (Some(page), Some(document)) = (page, documents.first()) {
        page.write(document).map_err(Failure::Message)?;
    }
    let holds = documents.iter().all(|document| {
        let outcome = document.comparisons.first().map_or(Outcome::Inconclusive, Comparison::outcome);
        match options.expect {
            None => true,
            Some(Expected::Better) => outcome == Outcome::Better,
            Some(Expected::Same) => outcome == Outcome::Same,
            Some(Expected::NotWorse) => matches!(outcome, Outcome::Better | Outcome::Same),
        }
    });
    Ok(match (interrupted, holds) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(1),
    })
}

/// Whether what benchstat says has its faults.
fn upstream(options: &Compare) -> Upstream {
    if options.benchstat_faults { Upstream::AsPrinted } else { Upstream::Corrected }
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

/// What was measured at a value of what is swept over.
struct Measurements {
    value: String,
    pairs: Vec<Pair>,
    /// What each metric is judged by, in their order.
    judges: Vec<Judge>,
}

/// What a metric is judged by.
#[derive(Clone)]
struct Judge {
    rule: Rule,
    /// What placement does, where that was measured; the rule knows it.
    placement: Option<Placement>,
}

/// Runs the experiment of each point; gives those that have two pairs.
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
                let bar = watch::bar(
                    options.progress,
                    u64::from(extent.layouts * extent.rounds),
                    "runs of A's layouts",
                );
                let mut begins = |known| bar.iter().for_each(|bar| bar.set_position(u64::from(known)));
                let measured = layouts::run(experiment, extent, record, &own, &mut begins, stop);
                bar.iter().for_each(ProgressBar::finish_and_clear);
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
        if pairs.len() >= 2 {
            points.push(Measurements { value: experiment.point.clone(), pairs, judges });
        }
        if stopped == Stopped::Interrupted {
            return Ok((points, stopped));
        }
    }
    Ok((points, Stopped::Enough))
}

/// What metrics are judged by where layouts of A were measured.
fn judges(plan: &Plan, extent: Extent, runs: &[Run], rule: &Rule) -> Result<Vec<Judge>, String> {
    let of = |asked: &Asked| {
        let name = &asked.question.name;
        let table = layouts::table(runs, extent, name);
        let table = table.ok_or_else(|| format!("metric {name}: not every run in the record has it"))?;
        let placement = Placement::of(&table).map_err(|error| format!("metric {name}: {error}"))?;
        let rule = placement.widen(rule.rope()).and_then(|rope| Rule::new(rope, rule.looks(), rule.alpha()));
        let rule = rule.map_err(|error| format!("metric {name}, by what placement does: {error}"))?;
        Ok(Judge { rule, placement: Some(placement) })
    };
    plan.asked.iter().map(of).collect()
}

/// What the pairs of each point say of each metric, and all points together.
fn judged(
    plan: &Plan,
    points: &[Measurements],
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
        let compared =
            comparison::compare_all(&metrics, Family::Primary, plan.header.seed, upstream(options));
        let named = metrics.iter().zip(compared).map(|((question, ..), compared)| {
            compared.map_err(|error| format!("metric {}: {error}", question.name))
        });
        named.collect::<Result<Vec<Comparison>, String>>()
    };
    let questions: Vec<&Question> = plan.asked.iter().map(|asked| &asked.question).collect();
    let mut curve = Vec::new();
    for Measurements { value, pairs, judges } in points {
        let metrics = questions
            .iter()
            .zip(judges)
            .map(|(question, judge)| Ok(((*question).clone(), of(question, pairs)?, judge.rule.clone())));
        let mut comparisons = compare(metrics.collect::<Result<Vec<_>, String>>()?)?;
        for (comparison, judge) in comparisons.iter_mut().zip(judges) {
            comparison.placement = judge.placement;
        }
        curve.push(Point { value: value.clone(), comparisons });
    }
    let (mut comparisons, sweep) = match &plan.sweep {
        None => (curve.into_iter().next().map_or_else(Vec::new, |point| point.comparisons), None),
        Some(sweep) => {
            let pooled = questions.iter().enumerate().map(|(index, question)| {
                let all = points
                    .iter()
                    .map(|point| of(question, &point.pairs))
                    .collect::<Result<Vec<Series>, String>>()?;
                let all = comparison::pooled(&all);
                let all =
                    all.ok_or_else(|| format!("metric {}: a value that is not positive", question.name))?;
                let ropes = points.iter().filter_map(|point| Some(point.judges.get(index)?.rule.rope()));
                let widest = ropes.max_by(|one, other| one.relative().total_cmp(&other.relative()));
                let rule = Rule::once(widest.unwrap_or(rule.rope()), all.values[0].len());
                let question = Question { unit: "× the point's mean".to_owned(), ..(*question).clone() };
                Ok((question, all, rule.map_err(|error| error.to_string())?))
            });
            (compare(pooled.collect::<Result<Vec<_>, String>>()?)?, Some((sweep.name.clone(), curve)))
        }
    };
    if !plan.has("relink") && are_other_programs(&plan.header) {
        comparisons.iter_mut().for_each(warn_of_placement);
    }
    let own = points.first().zip(comparisons.first()).filter(|_| plan.has("aa"));
    let fitness = own.and_then(|(point, comparison)| {
        let rule = point.judges.first().map_or(rule, |judge| &judge.rule);
        comparison::fitness(&point.pairs, comparison, rule)
    });
    Ok(Document {
        fitness,
        comparisons,
        sweep,
        measured: Measured::Commands {
            commands: plan.header.commands.clone(),
            seed: plan.header.seed,
            record: path.to_owned(),
            cores: plan.header.cores,
        },
        is_aa: plan.has("aa"),
        has_marks: options.marks,
    })
}

/// Whether A and B are different files, whose code lies differently. What a shell runs is not known.
fn are_other_programs(header: &Header) -> bool {
    // Of a server the client stands behind it, after a semicolon.
    let program = |command: &String| {
        let first = shlex::split(command).and_then(|words| words.into_iter().next());
        first.map(|word| word.trim_end_matches(';').to_owned())
    };
    let [a, b] = header.commands.each_ref().map(program);
    header.options.get("shell").is_none_or(|shell| shell == "none") && a != b
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
