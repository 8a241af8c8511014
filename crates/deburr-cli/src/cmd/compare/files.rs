//! Results that were measured elsewhere: files that benchmark programs wrote → what they say of B, or
//! benchstat's tables of them.
//!
//! The first file is A, and each further one is a B of its own. A metric is compared where both have it. No
//! file records in which order the runs were made: without `--paired` there is no verdict, only the
//! probabilities.

use super::metric::turned;
use super::recorded;
use crate::args::compare::{BetterDirection, Compare};
use crate::cmd::failure::Failure;
use crate::render::compare::document::{CompareDocument, Measured};
use crate::system_error::error_text;
use deburr_lab::benchfmt::{self, Input};
use deburr_lab::comparison::{self, Comparison, Family, Question, Series};
use deburr_lab::readers::{self, Format, Measurement};
use deburr_lab::stats::verdict::{Order, Rule};
use deburr_lab::stats::{Direction, Rope};
use deburr_text::ShownPath as _;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many names a note has room for.
const MOST_NAMES: usize = 8;

/// The maximum of bytes of a file: a device may have no end.
const LONGEST: u64 = 256 << 20;

/// A file as it was read.
struct ResultFile {
    path: PathBuf,
    text: String,
    format: Format,
}

impl ResultFile {
    fn open(path: &Path, format: Option<Format>) -> Result<ResultFile, String> {
        let complain = |error: io::Error| format!("{}: {}", path.shown(), error_text(&error));
        let mut text = String::new();
        let file = fs::File::open(path).map_err(complain)?;
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(complain)?;
        if text.len() as u64 > LONGEST {
            return Err(format!("{}: more than {} MiB", path.shown(), LONGEST >> 20));
        }
        // Some editors and shells begin a file with the mark of its encoding, which is no part of it.
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let format = format.or_else(|| readers::sniff(&text)).ok_or_else(|| {
            if let Ok(Some(_)) = recorded::open(path) {
                return format!("{}: a record of deburr compare: give it alone", path.shown());
            }
            let names = Format::ALL.map(Format::name).join(", ");
            format!(
                "{}: results of no program that is known; --input-format says which: {names}",
                path.shown()
            )
        })?;
        Ok(ResultFile { path: path.to_owned(), text, format })
    }

    fn read(&self) -> Result<Vec<Measurement>, String> {
        readers::read(self.format, &self.text).map_err(|error| format!("{}: {error}", self.path.shown()))
    }
}

/// A metric with the values of both sides.
struct Joined {
    question: Question,
    values: [Vec<f64>; 2],
}

/// What is compared of the first file and one further.
struct Section {
    file: PathBuf,
    metrics: Vec<Joined>,
    comparisons: Vec<Comparison>,
    /// What was left out, and why.
    notes: Vec<String>,
}

/// Compares the first file with each of the others.
pub(super) fn compared(
    options: &Compare,
    files: &[PathBuf],
    format: Option<Format>,
    rope: Rope,
) -> Result<Vec<CompareDocument>, String> {
    let (a, others) = match files {
        [] => return Err("give two files".to_owned()),
        [only] => {
            let why = match fs::metadata(only) {
                Err(error) => error_text(&error),
                Ok(_) => {
                    "give a second file, to compare it with; it is no record of deburr compare".to_owned()
                }
            };
            return Err(format!("{}: {why}", only.shown()));
        }
        [first, others @ ..] => (ResultFile::open(first, format)?, others),
    };
    let open = |path: &PathBuf| ResultFile::open(path, format);
    results_compared(options, &a, others.iter().map(open), rope)
}

/// Compares two lists of numbers, which stand for files of that name.
pub(super) fn of_values(
    options: &Compare,
    values: [&[f64]; 2],
    rope: Rope,
) -> Result<Vec<CompareDocument>, String> {
    let [a, b] = [("a", values[0]), ("b", values[1])].map(|(name, values)| ResultFile {
        path: PathBuf::from(name),
        // The shortest digits that are this number and no other.
        text: values.iter().map(|value| format!("{value:?}\n")).collect(),
        format: Format::Values,
    });
    results_compared(options, &a, [Ok(b)].into_iter(), rope)
}

/// Compares one file with each of the others.
fn results_compared(
    options: &Compare,
    a: &ResultFile,
    others: impl Iterator<Item = Result<ResultFile, String>>,
    rope: Rope,
) -> Result<Vec<CompareDocument>, String> {
    let found = a.read()?;
    let mut sections =
        others.map(|file| section(options, (a, &found), &file?)).collect::<Result<Vec<Section>, String>>()?;
    judge(options, &mut sections, rope)?;
    let document = |section: Section| {
        let Section { file, comparisons, notes, .. } = section;
        if comparisons.is_empty() {
            let [a, b] = [a.path.shown(), file.shown()];
            return Err(format!("{a}, {b}: nothing to compare: {}", notes.join("; ")));
        }
        if options.expect.is_some() && comparisons.len() > 1 && options.trial.metric.is_empty() {
            return Err(
                "--expect: several metrics are compared; --metric names the one that decides".to_owned()
            );
        }
        Ok(CompareDocument {
            comparisons,
            sweep: None,
            fitness: None,
            measured: Measured::Files { files: [a.path.clone(), file] },
            runs: Vec::new(),
            provenance: None,
            notes,
            by_function: None,
            is_aa: false,
            has_marks: options.marks,
        })
    };
    sections.into_iter().map(document).collect()
}

/// What A and another file both have, as far as it is wanted.
fn section(
    options: &Compare,
    (a, of_a): (&ResultFile, &[Measurement]),
    b: &ResultFile,
) -> Result<Section, String> {
    if a.format != b.format {
        let [one, other] = [a, b].map(|file| format!("{} is of {}", file.path.shown(), file.format));
        return Err(format!("{one}, {other}: what they measured is not the same"));
    }
    let mut notes = Vec::new();
    let joined = join([of_a, &b.read()?], &mut notes);
    let mut metrics = match options.trial.metric.is_empty() {
        true => joined,
        false => chosen(&options.trial.metric, a.format, joined)
            .map_err(|error| format!("{}, {}: {error}", a.path.shown(), b.path.shown()))?,
    };
    if let (Format::Values, [only]) = (a.format, metrics.as_mut_slice()) {
        only.question.direction = match options.better {
            BetterDirection::Larger => Direction::Larger,
            BetterDirection::Smaller => Direction::Smaller,
        };
    }
    Ok(Section { file: b.path.clone(), metrics, comparisons: Vec::new(), notes })
}

/// The metrics that both sides have, in A's order; what only one has is noted.
fn join([a, b]: [&[Measurement]; 2], notes: &mut Vec<String>) -> Vec<Joined> {
    let in_a: HashSet<&str> = a.iter().map(|found| found.name.as_str()).collect();
    let only_b: Vec<&str> =
        b.iter().map(|found| found.name.as_str()).filter(|name| !in_a.contains(name)).collect();
    let of_b: HashMap<&str, &Measurement> = b.iter().map(|found| (found.name.as_str(), found)).collect();
    let (mut joined, mut only_a) = (Vec::new(), Vec::new());
    for Measurement { name, unit, direction, values } in a {
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
fn chosen(names: &[String], format: Format, joined: Vec<Joined>) -> Result<Vec<Joined>, String> {
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

/// Says what there is to say of each metric. One that cannot be compared is noted, or refused where the user
/// named it.
///
/// All comparisons share the error, whatever file they are of; where somebody named the metrics, those that
/// decide share it, and the others share as much among themselves.
fn judge(options: &Compare, sections: &mut [Section], rope: Rope) -> Result<(), String> {
    let order = if options.paired { Order::Interleaved } else { Order::Unknown };
    let are_chosen = !options.trial.metric.is_empty();
    let refused = |notes: &mut Vec<String>, why: String| match are_chosen {
        true => Err(why),
        false => {
            notes.push(why);
            Ok(())
        }
    };
    // Those that decide and the others, each with the section that it is of.
    let mut families = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for (place, section) in sections.iter_mut().enumerate() {
        for (index, Joined { question, values }) in
            std::mem::take(&mut section.metrics).into_iter().enumerate()
        {
            let [of_a, of_b] = values.each_ref().map(Vec::len);
            let name = &question.name;
            if options.paired && of_a != of_b {
                return Err(format!("--paired: A has {of_a} values of {name}, B has {of_b}"));
            }
            let Ok(rule) = Rule::once(rope, of_a.min(of_b)) else {
                let why = format!("{name}: at least 2 values are needed, A has {of_a}, B {of_b}");
                refused(&mut section.notes, why)?;
                continue;
            };
            let (places, metrics) = &mut families[usize::from(are_chosen && index > 0)];
            places.push(place);
            metrics.push((question, Series::of(values, order), rule));
        }
    }
    for (places, metrics) in families {
        let compared = comparison::compare_all(&metrics, Family::Equal, 0, options.upstream());
        for ((place, (question, ..)), compared) in places.into_iter().zip(&metrics).zip(compared) {
            let Some(section) = sections.get_mut(place) else { continue };
            match compared {
                Ok(comparison) => section.comparisons.push(comparison),
                Err(error) => refused(&mut section.notes, format!("{}: {error}", question.name))?,
            }
        }
    }
    Ok(())
}

/// Prints benchstat's tables of any number of files: of Go's as benchstat does, of others as if their
/// programs wrote Go's format.
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
        let file = ResultFile::open(path, format).map_err(Failure::Message)?;
        let text = match file.format {
            Format::Go => file.text,
            _ => readers::written(&file.read().map_err(Failure::Message)?),
        };
        texts.push((path.shown().into_owned(), text));
    }
    let inputs: Vec<Input<'_>> = texts.iter().map(|(path, text)| Input { path, label: None, text }).collect();
    let how = benchfmt::Options { upstream: options.upstream(), ..benchfmt::Options::default() };
    let (tables, problems) =
        benchfmt::tables(&inputs, &how).map_err(|error| Failure::Message(error.to_string()))?;
    out.write_all(tables.text().as_bytes())?;
    // As benchstat: a bad line is reported, and the rest is printed.
    match problems.as_slice() {
        [] => Ok(ExitCode::SUCCESS),
        problems => {
            out.flush()?;
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(Failure::Message(lines.join("\n")))
        }
    }
}
