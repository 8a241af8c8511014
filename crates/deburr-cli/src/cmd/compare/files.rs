//! Results that were measured elsewhere: files that benchmark programs wrote → what they say of B, or benchstat's tables of them.
//!
//! A metric is compared where both files have it. In which order the runs were made no file tells: without `--paired` there is no
//! verdict, only the probabilities.

use super::Failure;
use super::metric::turned;
use crate::args::compare::{Compare, Direction as Way};
use crate::input::walk::error_text;
use crate::render::compare::{Document, Measured};
use deburr_lab::benchfmt::{self, Input};
use deburr_lab::comparison::{self, Comparison, Family, Question, Series};
use deburr_lab::report::{self, Format, Measurement};
use deburr_lab::stats::verdict::{Order, Rule};
use deburr_lab::stats::{Direction, Rope};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many names a note has room for.
const MOST_NAMES: usize = 8;

/// A file as it was read.
struct Report {
    path: PathBuf,
    text: String,
    format: Format,
}

impl Report {
    fn open(path: &Path, format: Option<Format>) -> Result<Report, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("{}: {}", path.display(), error_text(&error)))?;
        let format = format.or_else(|| report::sniff(&text)).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            format!(
                "{}: results of no program that is known; --input-format says which: {names}",
                path.display()
            )
        })?;
        Ok(Report { path: path.to_owned(), text, format })
    }

    fn read(&self) -> Result<Vec<Measurement>, String> {
        report::read(self.format, &self.text).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// A metric with the values of both sides.
struct Joined {
    question: Question,
    values: [Vec<f64>; 2],
}

/// Compares two files.
pub(super) fn compared(
    options: &Compare,
    files: &[PathBuf],
    format: Option<Format>,
    rope: Rope,
) -> Result<Document, String> {
    let [a, b] = match files {
        [a, b] => [a, b].map(|path| Report::open(path, format)),
        [only] => return Err(format!("{}: give a second file, to compare it with", only.display())),
        [_, _, third, ..] => {
            let third = third.display();
            return Err(format!(
                "{third}: a third file; two are compared, more with --format benchstat only"
            ));
        }
        [] => return Err("give two files".to_owned()),
    };
    let [a, b] = [a?, b?];
    if a.format != b.format {
        let [one, other] = [&a, &b].map(|file| format!("{} is of {}", file.path.display(), file.format));
        return Err(format!("{one}, {other}: what they measured is not the same"));
    }
    let format = a.format;
    let mut notes = Vec::new();
    let joined = join([a.read()?, b.read()?], &mut notes);
    let is_asked = !options.metric.is_empty();
    let mut joined = match is_asked {
        true => asked(&options.metric, format, joined)?,
        false => joined,
    };
    if let (Format::Values, [only]) = (format, joined.as_mut_slice()) {
        only.question.direction = match options.better {
            Way::Larger => Direction::Larger,
            Way::Smaller => Direction::Smaller,
        };
    }
    let comparisons = judged(options, joined, rope, &mut notes)?;
    let paths = [a.path, b.path];
    if comparisons.is_empty() {
        let [a, b] = paths.each_ref().map(|path| path.display());
        return Err(format!("{a}, {b}: nothing to compare: {}", notes.join("; ")));
    }
    if options.expect.is_some() && comparisons.len() > 1 && !is_asked {
        return Err("--expect: several metrics are compared; --metric names the one that decides".to_owned());
    }
    Ok(Document {
        comparisons,
        sweep: None,
        fitness: None,
        measured: Measured::Files { files: paths, notes },
        is_aa: false,
    })
}

/// The metrics that both sides have, in A's order; what only one has is noted.
fn join([a, b]: [Vec<Measurement>; 2], notes: &mut Vec<String>) -> Vec<Joined> {
    let in_a: HashSet<&str> = a.iter().map(|found| found.name.as_str()).collect();
    let only_b: Vec<&str> =
        b.iter().map(|found| found.name.as_str()).filter(|name| !in_a.contains(name)).collect();
    let of_b: HashMap<&str, &Measurement> = b.iter().map(|found| (found.name.as_str(), found)).collect();
    let (mut joined, mut only_a) = (Vec::new(), Vec::new());
    for Measurement { name, unit, direction, values } in &a {
        match of_b.get(name.as_str()) {
            Some(other) => joined.push(Joined {
                question: Question { name: name.clone(), unit: unit.clone(), direction: *direction },
                values: [values.clone(), other.values.clone()],
            }),
            None => only_a.push(name.as_str()),
        }
    }
    for (side, names) in [("A", only_a), ("B", only_b)] {
        if !names.is_empty() {
            notes.push(format!("only {side} has {}", listed(&names)));
        }
    }
    joined
}

fn listed(names: &[&str]) -> String {
    let first = names.iter().take(MOST_NAMES).copied().collect::<Vec<&str>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The metrics that `--metric` names, with or without the program in front.
fn asked(names: &[String], format: Format, joined: Vec<Joined>) -> Result<Vec<Joined>, String> {
    let mut left: Vec<Option<Joined>> = joined.into_iter().map(Some).collect();
    let mut found = Vec::new();
    for text in names {
        let (name, direction) = turned(text);
        let name = name.strip_prefix(&format!("{format}:")).unwrap_or(name);
        let wanted = |one: &Option<Joined>| one.as_ref().is_some_and(|one| one.question.name == name);
        let Some(mut metric) = left.iter_mut().find(|one| wanted(one)).and_then(Option::take) else {
            let names: Vec<&str> = left.iter().flatten().map(|one| one.question.name.as_str()).collect();
            return Err(format!(
                "--metric {text:?}: not in both files, or given twice; they have {}",
                listed(&names)
            ));
        };
        metric.question.direction = direction.unwrap_or(metric.question.direction);
        found.push(metric);
    }
    Ok(found)
}

/// What is said of each metric. One that cannot be compared is noted, or refused where it was asked for.
fn judged(
    options: &Compare,
    joined: Vec<Joined>,
    rope: Rope,
    notes: &mut Vec<String>,
) -> Result<Vec<Comparison>, String> {
    let order = if options.paired { Order::Interleaved } else { Order::Unknown };
    let mut metrics = Vec::new();
    let mut refused = |why: String| match options.metric.is_empty() {
        true => {
            notes.push(why);
            Ok(())
        }
        false => Err(why),
    };
    for Joined { question, values } in joined {
        let [of_a, of_b] = values.each_ref().map(Vec::len);
        let name = &question.name;
        if options.paired && of_a != of_b {
            return Err(format!("--paired: A has {of_a} values of {name}, B has {of_b}"));
        }
        match Rule::once(rope, of_a.min(of_b)) {
            Ok(rule) => metrics.push((
                question,
                Series { values, order, sequence: Vec::new(), contaminated: 0 },
                rule,
            )),
            Err(_) => refused(format!("{name}: at least 2 values are needed, A has {of_a}, B {of_b}"))?,
        }
    }
    let family = if options.metric.is_empty() { Family::Equal } else { Family::Primary };
    let mut comparisons = Vec::new();
    for ((question, ..), compared) in metrics.iter().zip(comparison::compare_all(&metrics, family, 0)) {
        match compared {
            Ok(comparison) => comparisons.push(comparison),
            Err(error) => refused(format!("{}: {error}", question.name))?,
        }
    }
    Ok(comparisons)
}

/// Prints benchstat's tables of any number of files: of Go's as benchstat does, of others as if their programs wrote Go's format.
pub(super) fn tables(
    options: &Compare,
    files: &[PathBuf],
    format: Option<Format>,
    out: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let refused = [("--expect", options.expect.is_some()), ("--html", options.html.is_some())];
    if let Some((option, _)) = refused.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Message(format!("{option}: benchstat's tables have no verdict")));
    }
    let mut texts = Vec::new();
    for path in files {
        let file = Report::open(path, format).map_err(Failure::Message)?;
        let text = match file.format {
            Format::Go => file.text,
            _ => report::written(&file.read().map_err(Failure::Message)?),
        };
        texts.push((path.display().to_string(), text));
    }
    let inputs: Vec<Input<'_>> = texts.iter().map(|(path, text)| Input { path, label: None, text }).collect();
    let (tables, problems) = benchfmt::tables(&inputs, &benchfmt::Options::default())
        .map_err(|error| Failure::Message(error.to_string()))?;
    out.write_all(tables.text().as_bytes())?;
    // As benchstat: a bad line is told, and the rest is printed.
    match problems.as_slice() {
        [] => Ok(ExitCode::SUCCESS),
        problems => {
            out.flush()?;
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(Failure::Message(lines.join("\n")))
        }
    }
}
