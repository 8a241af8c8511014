//! Text for people: the verdict in one line; then, for each metric, where the runs are, the medians, the
//! probabilities and the warnings.
//!
//! In: the documents of a run, the palette and the columns of the terminal. Out: lines for the terminal.

use super::document::{CompareDocument, Measured, Point};
use super::provenance;
use super::quantity::{self, better, percent, shown};
use super::strip;
use crate::render::by_function;
use crate::render::style::Palette;
use deburr_lab::comparison::{Comparison, Fitness};
use deburr_lab::stats::Probabilities;
use deburr_lab::stats::verdict::Outcome;
use deburr_lab::stats::warning::Warning;
use deburr_text::ShownPath as _;
use std::io::{self, Write};

/// Maximum number of advised pairs, as a multiple of the measured ones: a difference that takes more does not matter.
const MOST_PAIRS_ADVISED: u64 = 20;

/// Writes the documents, for a terminal so many columns wide.
pub(crate) fn render(
    documents: &[CompareDocument],
    palette: Palette,
    width: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let out: &mut dyn Write = &mut palette.plain(out);
    for (index, document) in documents.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        one(document, palette, width, out)?;
    }
    if documents.len() > 1 { summary(documents, palette, out) } else { Ok(()) }
}

/// A line for each comparison: what was compared, the verdict, and by how much.
fn summary(documents: &[CompareDocument], palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", palette.bold("Summary"))?;
    for document in documents {
        let Some(first) = document.comparisons.first() else { continue };
        let [a, b] = document.measured.sides().map(|side| deburr_text::lines(&side).into_owned());
        let (change, interval) = first.change();
        let interval = interval
            .map_or_else(String::new, |(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
        let outcome = first.outcome().to_string();
        writeln!(out, "  {outcome:<12} {}{interval}   {b} against {a}", percent(change))?;
    }
    Ok(())
}

fn one(
    document: &CompareDocument,
    palette: Palette,
    width: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [a, b] = document.measured.sides().map(|side| deburr_text::lines(&side).into_owned());
    match document.is_aa {
        true => writeln!(out, "A, B: {a}")?,
        false => writeln!(out, "A: {a}\nB: {b}")?,
    }
    let Some(first) = document.comparisons.first() else { return Ok(()) };
    writeln!(out)?;
    writeln!(out, "{}", palette.bold(&headline(first)))?;
    for comparison in &document.comparisons {
        writeln!(out)?;
        metric(comparison, document.has_marks, palette, width, out)?;
    }
    if let Some(fitness) = &document.fitness {
        writeln!(out)?;
        machine(fitness, out)?;
    }
    if let Some((name, points)) = &document.sweep {
        curve(name, points, palette, out)?;
    }
    if let Some(found) = &document.by_function {
        writeln!(out)?;
        by_function::text(found, ["A", "B"], out)?;
    }
    if let Measured::Commands { record, seed, .. } = &document.measured {
        writeln!(out)?;
        writeln!(out, "{}", palette.dim(&format!("runs: {} (seed {seed})", record.shown())))?;
        let known = document.provenance.as_ref().map(provenance::line).filter(|line| !line.is_empty());
        known.map_or(Ok(()), |line| {
            writeln!(out, "{}", palette.dim(&format!("on: {}", deburr_text::lines(&line))))
        })?;
    }
    if !document.notes.is_empty() {
        writeln!(out)?;
    }
    document.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

/// The verdict on a metric, in one line.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let Comparison { question, verdict, .. } = comparison;
    let (change, interval) = comparison.change();
    let region = quantity::region(comparison);
    let size = match interval {
        Some((low, high)) => {
            format!("{} {} [{}, {}]", question.name, percent(change), percent(low), percent(high))
        }
        None => format!("{} {}", question.name, percent(change)),
    };
    let (pairs, needed) = match verdict {
        Some(verdict) => (quantity::pairs(verdict), verdict.pairs_needed),
        None => (format!("{} and {} runs", comparison.benchstat.n1, comparison.benchstat.n2), None),
    };
    match comparison.outcome() {
        Outcome::Same => {
            let differs = comparison.warnings.iter().any(|warning| matches!(warning, Warning::OtherTail(_)));
            let caveat = if differs { " in a typical run, but the tails differ" } else { "" };
            format!("B is the same as A within {region}{caveat}: {size}, {pairs}")
        }
        Outcome::Inconclusive => {
            let measured = verdict.as_ref().map_or(0, |verdict| verdict.pairs as u64);
            let more = needed
                .filter(|needed| *needed <= MOST_PAIRS_ADVISED * measured)
                .map_or_else(String::new, |needed| format!("; about {needed} pairs might tell"));
            format!("inconclusive: {size}, {pairs}{more}")
        }
        outcome => format!("B is {outcome} by more than {region}: {size}, {pairs}"),
    }
}

/// What the machine can distinguish.
pub(super) fn machine(fitness: &Fitness, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "This machine: pairs of one command differ by {:.2} % (sd)", 100.0 * fitness.noise)?;
    if let Some(foreign) = fitness.foreign {
        write!(out, "; others kept {foreign:.2} processors busy")?;
    }
    if let Some(stolen) = fitness.stolen.filter(|stolen| *stolen >= 0.0005) {
        write!(out, "; a hypervisor took {:.1} % of the time", 100.0 * stolen)?;
    }
    writeln!(out, "; {:.1} s of waiting for quiet before a run", fitness.waited)?;
    for (pairs, effect, seconds) in &fitness.resolves {
        writeln!(out, "  {pairs:>5} pairs, {seconds:.0} s: differences from {:.1} % on", 100.0 * effect)?;
    }
    Ok(())
}

/// A line for each point and metric.
fn curve(name: &str, points: &[Point], palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    let names = points.first().map_or(&[][..], |point| &point.comparisons);
    for (index, metric) in names.iter().enumerate() {
        writeln!(out, "\n{} by {name}", palette.bold(&metric.question.name))?;
        for Point { value, comparisons } in points {
            let Some(comparison) = comparisons.get(index) else { continue };
            let (change, interval) = comparison.change();
            let interval = interval
                .map_or_else(String::new, |(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
            let [a, b] =
                comparison.sides.each_ref().map(|side| shown(side.center, &comparison.question.unit));
            writeln!(
                out,
                "  {value:>8}   A {a}   B {b}   {}{interval}   {}",
                percent(change),
                comparison.outcome()
            )?;
            if let Some(placement) = &comparison.placement {
                writeln!(out, "           {}", quantity::placement(comparison, placement))?;
            }
            for warning in &comparison.warnings {
                writeln!(out, "           warning: {warning}")?;
            }
        }
    }
    Ok(())
}

/// The effect that the verdict follows from.
fn typical(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let Some(verdict) = &comparison.verdict else { return Ok(()) };
    let (change, interval) = comparison.change();
    let change = percent(change);
    match interval {
        Some((low, high)) => {
            let level = quantity::level(verdict.effect.level);
            let pairs = quantity::pairs(verdict);
            let (low, high) = (percent(low), percent(high));
            writeln!(
                out,
                "  change      {change} [{low}, {high}] with {level}, by the signed ranks of {pairs}"
            )
        }
        None => writeln!(out, "  change      {change}, with no interval: {}", quantity::no_interval(verdict)),
    }
}

fn metric(
    comparison: &Comparison,
    has_marks: bool,
    palette: Palette,
    width: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Comparison { question, sides: [a, b], benchstat, .. } = comparison;
    let outcome = comparison.outcome();
    writeln!(out, "{} ({} is better): {outcome}", palette.bold(&question.name), better(question.direction))?;
    strip::render(comparison, width, palette, out)?;
    typical(comparison, out)?;
    writeln!(
        out,
        "  median      A {} ± {}   B {} ± {}   {} ({benchstat})",
        shown(a.center, &question.unit),
        a.percent(),
        shown(b.center, &question.unit),
        b.percent(),
        benchstat.delta(a.center, b.center),
    )?;
    if comparison.adjusted_p > benchstat.p {
        writeln!(out, "  with Holm's correction p={:.3}", comparison.adjusted_p)?;
    }
    let mut row = |name: &str, numbers: &Probabilities, marks: &str| {
        let Probabilities { worse, same, better, next } = numbers;
        writeln!(
            out,
            "  {name:<11} worse {worse:.3}   same {same:.3}   better {better:.3}   next run better {next:.3}{marks}"
        )
    };
    if let Some(verdict) = &comparison.verdict {
        row("t, paired", &verdict.paired, "")?;
    }
    if let Some(unpaired) = &comparison.unpaired {
        let marks = if has_marks { format!("   {}", unpaired.marks().text()) } else { String::new() };
        row("t, unpaired", unpaired, marks.trim_end())?;
    }
    if let Some(position) = quantity::position(comparison) {
        writeln!(out, "  order       {position}")?;
    }
    if let Some(placement) = &comparison.placement {
        writeln!(out, "  placement   {}", quantity::placement(comparison, placement))?;
    }
    for warning in &comparison.warnings {
        writeln!(out, "  warning: {warning}")?;
    }
    Ok(())
}
