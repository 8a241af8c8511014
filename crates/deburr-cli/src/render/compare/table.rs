//! A line for each metric, each point of a sweep and each file: comma-separated values (RFC 4180) with all
//! digits, and Markdown for a comment or a page.

use super::document::{CompareDocument, Measured};
use super::quantity::{better, first_run, level, percent, shown};
use super::text::headline;
use crate::render::csv::quoted;
use deburr_lab::comparison::Comparison;
use deburr_lab::stats::warning::Warning;
use deburr_text::one_line;
use serde_json::Number;
use std::io::{self, Write};

const COLUMNS: &str = "file,param,point,metric,unit,better,verdict,change,low,high,pairs,pairs_needed,a_median,b_median,a_runs,b_runs,\
p_worse,p_same,p_better,p_next,benchstat_delta,benchstat_p,holm_p,confidence,first_effect,first_p";

/// Writes the documents as comma-separated values. What there is not is empty, as `file`, B's, is of
/// two commands; probabilities are those of the pairs, where there are pairs. A point has a value always, so that
/// an empty one next to `param` means all points together.
pub(crate) fn csv(documents: &[CompareDocument], out: &mut dyn Write) -> io::Result<()> {
    let has_marks = documents.iter().any(|document| document.has_marks);
    writeln!(out, "{COLUMNS}{}", if has_marks { ",marks" } else { "" })?;
    documents.iter().try_for_each(|document| lines(document, &file(document, documents), out))
}

/// What distinguishes a document from the others: B's file, or of several commands B's, and A's where that is not
/// the same of all.
fn file(document: &CompareDocument, all: &[CompareDocument]) -> String {
    let Measured::Commands { commands, names, .. } = &document.measured else {
        let [_, b] = document.measured.sides();
        return b;
    };
    let called = |side: usize| match names.get(side).map_or("", String::as_str) {
        "" => commands.get(side).cloned().unwrap_or_default(),
        name => name.to_owned(),
    };
    let of_a = |document: &CompareDocument| document.measured.sides()[0].clone();
    match all {
        [_] | [] => String::new(),
        [first, ..] if all.iter().all(|other| of_a(other) == of_a(first)) => called(1),
        _ => format!("{} against {}", called(1), called(0)),
    }
}

fn lines(document: &CompareDocument, file: &str, out: &mut dyn Write) -> io::Result<()> {
    let parameter = document.sweep.as_ref().map_or("", |(parameter, _)| parameter);
    for (point, comparison) in document.rows() {
        let Comparison { question, verdict, unpaired, sides: [a, b], benchstat, adjusted_p, .. } = comparison;
        let (change, interval) = comparison.change();
        // As JSON writes them: small ones with an exponent.
        let number = |number: Option<f64>| {
            number.and_then(Number::from_f64).map_or_else(String::new, |number| number.to_string())
        };
        let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        let numbers = verdict.as_ref().map(|verdict| verdict.paired).or(*unpaired);
        let fields = [
            quoted(file),
            quoted(parameter),
            quoted(point.unwrap_or_default()),
            quoted(&question.name),
            quoted(&question.unit),
            better(question.direction).to_owned(),
            comparison.outcome().to_string(),
            number(Some(change)),
            number(interval.map(|(low, _)| low)),
            number(interval.map(|(_, high)| high)),
            count(verdict.as_ref().map(|verdict| verdict.pairs as u64)),
            count(verdict.as_ref().and_then(|verdict| verdict.pairs_needed)),
            number(Some(a.center)),
            number(Some(b.center)),
            benchstat.n1.to_string(),
            benchstat.n2.to_string(),
            number(numbers.map(|numbers| numbers.worse)),
            number(numbers.map(|numbers| numbers.same)),
            number(numbers.map(|numbers| numbers.better)),
            number(numbers.map(|numbers| numbers.next)),
            benchstat.delta(a.center, b.center),
            number(Some(benchstat.p)),
            number(Some(*adjusted_p)),
            number(interval.and(verdict.as_ref()).map(|verdict| verdict.effect.level)),
            number(first_run(comparison)),
            number(verdict.as_ref().and_then(|verdict| verdict.position).map(|position| position.p)),
        ];
        let marks = if document.has_marks { format!(",{}", marks(comparison)) } else { String::new() };
        writeln!(out, "{}{marks}", fields.join(","))?;
    }
    Ok(())
}

/// The published marks, which are of two separate samples.
fn marks(comparison: &Comparison) -> String {
    comparison.unpaired.map_or_else(String::new, |numbers| numbers.marks().text())
}

/// Writes the documents as Markdown.
pub(crate) fn markdown(documents: &[CompareDocument], out: &mut dyn Write) -> io::Result<()> {
    for (index, document) in documents.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        section(document, out)?;
    }
    Ok(())
}

fn section(document: &CompareDocument, out: &mut dyn Write) -> io::Result<()> {
    let [a, b] = document.measured.sides();
    let Some(first) = document.comparisons.first() else { return Ok(()) };
    writeln!(out, "**{}**\n", escaped(&headline(first)))?;
    writeln!(out, "A: {}  \nB: {}\n", code(&a), code(&b))?;
    let parameter = document.sweep.as_ref().map(|(parameter, _)| parameter);
    if let Some(parameter) = parameter {
        write!(out, "| {} ", escaped(parameter))?;
    }
    let (marks_head, marks_rule) = if document.has_marks { (" marks |", "---|") } else { ("", "") };
    writeln!(out, "| metric | A | B | change | interval | verdict | benchstat |{marks_head}")?;
    let point_rule = if parameter.is_some() { "|--:" } else { "" };
    writeln!(out, "{point_rule}|---|--:|--:|--:|--:|---|---|{marks_rule}")?;
    for (point, comparison) in document.rows() {
        let Comparison { question, sides: [a, b], benchstat, .. } = comparison;
        let (change, interval) = comparison.change();
        let interval =
            interval.zip(comparison.verdict.as_ref()).map_or_else(String::new, |((low, high), verdict)| {
                format!("{} … {} ({})", percent(low), percent(high), level(verdict.effect.level))
            });
        if parameter.is_some() {
            // Two words, as no value of a point is.
            write!(out, "| {} ", escaped(point.unwrap_or("all points")))?;
        }
        let marks = if document.has_marks { format!(" {} |", marks(comparison)) } else { String::new() };
        writeln!(
            out,
            "| {} | {} ± {} | {} ± {} | {} | {interval} | {} | {} ({benchstat}) |{marks}",
            escaped(&question.name),
            shown(a.center, &question.unit),
            a.percent(),
            shown(b.center, &question.unit),
            b.percent(),
            percent(change),
            comparison.outcome(),
            escaped(&benchstat.delta(a.center, b.center)),
        )?;
    }
    let mut remarks = remarks(document);
    remarks.extend(document.notes.iter().cloned());
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    remarks.iter().try_for_each(|remark| writeln!(out, "- {}", escaped(remark)))
}

/// What to be careful about, each once.
fn remarks(document: &CompareDocument) -> Vec<String> {
    let parameter = document.sweep.as_ref().map_or("", |(parameter, _)| parameter);
    let mut remarks: Vec<String> = Vec::new();
    for (point, comparison) in document.rows() {
        let name = &comparison.question.name;
        let remark = |warning: &Warning| match (warning, point) {
            // The same for all metrics.
            (Warning::Limited(_), None) => warning.to_string(),
            (Warning::Limited(_), Some(point)) => format!("{parameter}={point}: {warning}"),
            (warning, None) => format!("{name}: {warning}"),
            (warning, Some(point)) => format!("{name} at {parameter}={point}: {warning}"),
        };
        for remark in comparison.warnings.iter().map(remark) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    remarks
}

/// What Markdown would take for something else.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in one_line(text).chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '~' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// In backquotes, of which there is one more than the text has in a row (CommonMark 0.31, 6.1).
fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    match longest {
        0 => format!("`{text}`"),
        longest => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_a_table() {
        assert_eq!(escaped("a|b_c\n<x>"), "a\\|b\\_c\\\\x0a\\<x\\>");
        assert_eq!((code("a").as_str(), code("a`b``c").as_str()), ("`a`", "``` a`b``c ```"));
    }
}
