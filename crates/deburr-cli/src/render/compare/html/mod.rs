//! A page for people: per metric the verdict, the runs in time, the pairs, the posterior and the numbers. One
//! file that needs no other, and no script; light or dark as its reader has it.
//!
//! Numbers are in `<data>` elements, whose values are those of the JSON document.

mod curve;
mod differences;
mod distribution;
#[cfg(test)]
mod example;
mod functions;
mod numbers;
mod posterior;
mod raw;
mod runs;
mod shift;
mod unit;

use super::document::{CompareDocument, Measured, Point};
use super::provenance;
use super::quantity::{self, percent};
use super::text::{self, headline};
use deburr_text::ShownPath as _;

use crate::render::page::head;
use crate::render::page::markup::{Escaped, command, data, sentence};
use curve::CurveStep;
use deburr_lab::comparison::Comparison;
use deburr_lab::stats::verdict::Outcome;
use std::io::{self, Write};

/// The marks of the two sides, next to text.
const SWATCH_A: &str = "<svg class=\"swatch\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><circle class=\"mark a\" r=\"4.5\"/></svg>";
const SWATCH_B: &str = "<svg class=\"swatch\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path class=\"mark b\" d=\"M0 -5.6l5.4 9.6h-10.8z\"/></svg>";

/// Writes the document.
pub(crate) fn render(document: &CompareDocument, out: &mut dyn Write) -> io::Result<()> {
    let headline = sentence(&document.comparisons.first().map(headline).unwrap_or_default());
    write!(
        out,
        "{}<header>\n<p class=\"tool\">deburr compare</p>\n<h1>{headline}</h1>\n{}</header>\n<main>\n",
        head(&headline),
        sides(&document.measured),
    )?;
    if let Some((parameter, points)) = &document.sweep {
        write!(out, "{}", sweep(parameter, points))?;
    }
    for (index, comparison) in document.comparisons.iter().enumerate() {
        metric(document, comparison, index, out)?;
    }
    if let Some(found) = &document.by_function {
        write!(out, "{}", functions::section(found))?;
    }
    if let Some(fitness) = &document.fitness {
        let mut rendered = Vec::new();
        text::machine(fitness, &mut rendered)?;
        let as_text = String::from_utf8_lossy(&rendered);
        let item = |line: &str| format!("<li>{}</li>\n", sentence(line.trim()));
        let lines: String = as_text.lines().map(item).collect();
        write!(
            out,
            "<section class=\"machine\">\n<h2>What this machine can distinguish</h2>\n<ul>\n{lines}</ul>\n</section>\n"
        )?;
    }
    write!(out, "</main>\n{}</body>\n</html>\n", origin(document))
}

/// What A and B are.
fn sides(measured: &Measured) -> String {
    let [a, b] = measured.sides();
    let side = |swatch: &str, name: &str, what: &str| {
        format!("<dt>{swatch} {name}</dt><dd><code class=\"side\">{}</code></dd>\n", command(what))
    };
    format!("<dl class=\"sides\">\n{}{}</dl>\n", side(SWATCH_A, "A", &a), side(SWATCH_B, "B", &b))
}

fn metric(
    document: &CompareDocument,
    comparison: &Comparison,
    index: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let question = &comparison.question;
    let outcome = comparison.outcome();
    // A sign next to the word: some do not see the colour.
    let sign = match outcome {
        Outcome::Better => "▲",
        Outcome::Worse => "▼",
        Outcome::Same => "=",
        Outcome::Inconclusive => "?",
    };
    let pooled = if document.sweep.is_some() { ", all points together" } else { "" };
    write!(
        out,
        "<section class=\"metric\" aria-labelledby=\"metric-{index}\">\n<h2 id=\"metric-{index}\"><span><span class=\"name\">{}</span>{pooled}</span> \
         <span class=\"verdict {outcome}\"><span aria-hidden=\"true\">{sign} </span>{outcome}</span></h2>\n{}",
        Escaped(&question.name),
        change(comparison),
    )?;
    if !comparison.warnings.is_empty() {
        let texts = comparison.warnings.iter().map(|warning| warning.to_string());
        let items: String = texts.map(|text| format!("<li>{}</li>\n", Escaped(&text))).collect();
        write!(out, "<ul class=\"warnings\">\n{items}</ul>\n")?;
    }
    writeln!(
        out,
        "<div class=\"figures\">\n{}<div class=\"numbers\">\n{}</div>\n</div>",
        figures(comparison),
        numbers::said(comparison)
    )?;
    writeln!(out, "{}{}</section>", shift::table(comparison), numbers::measured(comparison))
}

/// What a sweep found, point by point, for each metric; the sections after it are of all points together.
fn sweep(parameter: &str, points: &[Point]) -> String {
    let metrics = points.first().map_or(&[][..], |point| &point.comparisons);
    let name = Escaped(parameter);
    let mut text = format!("<section class=\"sweep\">\n<h2>By {name}</h2>\n<div class=\"figures\">\n");
    for (index, metric) in metrics.iter().enumerate() {
        let at: Vec<(&str, &Comparison)> = points
            .iter()
            .filter_map(|point| Some((point.value.as_str(), point.comparisons.get(index)?)))
            .collect();
        let steps: Vec<CurveStep> =
            at.iter().map(|(value, comparison)| CurveStep::of(value, comparison)).collect();
        let drawn = curve::figure(&metric.question, parameter, &steps);
        let keys = format!("<li>{SWATCH_A}A</li>\n<li>{SWATCH_B}B</li>\n");
        let title = Escaped(&metric.question.name).to_string();
        let how =
            format!("Medians with their 95 % intervals; {}.", numbers::direction(metric.question.direction));
        text.push_str(&figure("curve", &title, &how, &drawn, &keys));
        text.push_str(&numbers::swept(parameter, &at));
        let keys = key("region", "too small to matter".to_owned());
        let how = "By how much B differs from A, with the intervals that the verdicts follow from.";
        text.push_str(&figure(
            "changes",
            &format!("{title}: the change"),
            how,
            &curve::changes(parameter, &at),
            &keys,
        ));
    }
    text.push_str("</div>\n</section>\n");
    text
}

/// By how much B differs, and how that was found.
fn change(comparison: &Comparison) -> String {
    let (change, interval) = comparison.change();
    let effect = data("effect", change, &percent(change));
    let interval = match interval {
        Some((low, high)) => {
            let level = comparison.verdict.as_ref().map_or(0.0, |verdict| verdict.effect.level);
            let (low, high) = (data("low", low, &percent(low)), data("high", high, &percent(high)));
            format!("[{low}, {high}] with {}", quantity::level(level).replace(' ', "\u{a0}"))
        }
        None => match &comparison.verdict {
            Some(verdict) => format!("with no interval: {}", quantity::no_interval(verdict)),
            None => "of the medians".to_owned(),
        },
    };
    let mut rest = vec![
        numbers::direction(comparison.question.direction),
        format!("up to {} does not matter", quantity::region(comparison)),
    ];
    rest.extend(comparison.placement.iter().map(|placement| quantity::placement(comparison, placement)));
    if let Some(verdict) = &comparison.verdict {
        rest.push(data("pairs", verdict.pairs as f64, &quantity::pairs(verdict)));
        if let Some(needed) = verdict.pairs_needed {
            rest.push(format!(
                "about {} might tell",
                data("pairs-needed", needed as f64, &needed.to_string())
            ));
        }
        rest.extend(quantity::position(comparison));
    }
    format!(
        "<p class=\"change\">{effect} {interval}<br><span class=\"muted\">{}</span></p>\n",
        rest.join("; ")
    )
}

fn figure(class: &str, title: &str, how: &str, drawn: &str, keys: &str) -> String {
    format!(
        "<figure class=\"{class}\">\n<figcaption><strong>{title}</strong> {how}</figcaption>\n{drawn}\n\
         <ul class=\"key\">\n{keys}</ul>\n</figure>\n"
    )
}

/// What a coloured area of a figure means.
fn key(class: &str, text: String) -> String {
    let shape = format!("<rect class=\"{class}\" x=\"-6\" y=\"-6\" width=\"12\" height=\"12\"/>");
    format!(
        "<li><svg class=\"swatch\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\">{shape}</svg>{text}</li>\n"
    )
}

fn figures(comparison: &Comparison) -> String {
    let is_spoiled = comparison.series.sequence.iter().any(|reading| reading.is_contaminated);
    let spoiled = match comparison.series.stolen.pairs {
        0 => "<li>hollow: ran during other load</li>\n",
        _ => "<li>hollow: ran during other load, or a hypervisor took the processor away</li>\n",
    };
    let (title, how) = match comparison.series.sequence.is_empty() {
        true => ("The runs", "Dashed: the medians."),
        false => (
            "The runs in the order of time",
            "Dashed: the medians. What moves both sides is the machine, not the builds.",
        ),
    };
    let mut keys = format!("<li>{SWATCH_A}A</li>\n<li>{SWATCH_B}B</li>\n");
    if is_spoiled {
        keys.push_str(spoiled);
    }
    let mut text = figure("in-time", title, how, &runs::figure(comparison), &keys);
    if let Some(drawn) = differences::figure(comparison) {
        let mut keys = key("region", "too small to matter".to_owned());
        if is_spoiled {
            keys.push_str(spoiled);
        }
        let how = "By how much B differs from A in each; at the right the typical change with its interval.";
        text.push_str(&figure("pairs", "The pairs", how, &drawn, &keys));
    }
    if let Some(drawn) = shift::figure(comparison) {
        let keys = key("region", "too small to matter".to_owned());
        let how = "From the least values of each side to the largest: level where all change alike. Without intervals.";
        text.push_str(&figure("shift", "The change quantile by quantile", how, &drawn, &keys));
    }
    if let Some(drawn) = distribution::figure(comparison) {
        let keys = format!("<li>{SWATCH_A}A</li>\n<li>{SWATCH_B}B</li>\n");
        let how = "What share of each side's runs is at or below a value.";
        text.push_str(&figure("distribution", "The distributions", how, &drawn, &keys));
    }
    if let (Some(drawn), Some(verdict)) = (posterior::figure(comparison), &comparison.verdict) {
        let numbers = &verdict.paired;
        let parts = [("worse", numbers.worse), ("same", numbers.same), ("better", numbers.better)];
        let part = |(name, value): (&str, f64)| {
            key(&format!("area {name}"), format!("{name} {:.1} %", 100.0 * value))
        };
        let keys = parts.map(part).concat();
        let how = "The mean change, given the pairs, by Student's t; below, the typical change with its interval, which decides. \
             Grey band: too small to matter.";
        text.push_str(&figure("posterior", "How probable each change is", how, &drawn, &keys));
    }
    text
}

/// What is needed to repeat the comparison.
fn origin(document: &CompareDocument) -> String {
    let first = document.comparisons.first();
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.extend(first.map(|first| ("region of equivalence", format!("± {}", quantity::region(first)))));
    if let Measured::Commands { seed, record, cores, .. } = &document.measured {
        rows.push(("seed", format!("<span class=\"seed\">{seed}</span>")));
        let record = record.shown().into_owned();
        rows.push(("all runs", format!("<code class=\"record\">{}</code>", Escaped(&record))));
        rows.push(("processors", cores.to_string()));
    }
    let known = document.provenance.as_ref().map(provenance::rows).unwrap_or_default();
    rows.extend(known.into_iter().map(|(name, value)| (name, Escaped(&value).to_string())));
    rows.extend(raw::links(document).map(|links| ("data", links)));
    rows.extend(document.notes.iter().map(|note| ("left out", Escaped(note).to_string())));
    rows.push(("made by", format!("deburr {}", env!("CARGO_PKG_VERSION"))));
    let item = |(name, value): (&str, String)| format!("<dt>{name}</dt><dd>{value}</dd>\n");
    let items: String = rows.into_iter().map(item).collect();
    format!("<footer>\n<dl>\n{items}</dl>\n</footer>\n")
}

#[cfg(test)]
mod tests {
    use super::example::comparison;
    use super::*;
    use std::path::PathBuf;

    fn page(comparison: Comparison, command: &str) -> String {
        let document = CompareDocument {
            comparisons: vec![comparison],
            notes: Vec::new(),
            runs: Vec::new(),
            provenance: None,
            measured: Measured::Commands {
                names: Default::default(),
                commands: ["./old".to_owned(), command.to_owned()],
                seed: 5,
                record: PathBuf::from("/runs/<x>.jsonl"),
                cores: 4,
            },
            by_function: None,
            is_aa: false,
            has_marks: false,
            sweep: None,
            fitness: None,
        };
        let mut out = Vec::new();
        render(&document, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_run_is_on_the_page_and_nothing_of_it_is_markup() {
        let page = page(comparison(), "sh -c '</code><script>alert(1)</script>'");
        assert!(!page.contains("<script"));
        for expected in
            ["&lt;script&gt;alert(1)", "/runs/&lt;x&gt;.jsonl", "<span class=\"seed\">5</span>", "./old"]
        {
            assert!(page.contains(expected), "{expected}");
        }
        for foreign in ["http:", "https:", "src=", "url(", "@import", "<link"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn numbers_on_the_page_are_those_of_the_comparison() {
        let comparison = comparison();
        let (effect, Some((low, high))) = comparison.change() else { panic!("no interval") };
        assert_eq!(comparison.outcome(), Outcome::Worse);
        let page = page(comparison, "./new");
        for (name, value) in [("effect", effect), ("low", low), ("high", high), ("pairs", 24.0)] {
            assert!(page.contains(&format!("<data class=\"{name}\" value=\"{value}\">")), "{name}");
        }
        assert_eq!(page.matches("<data class=\"change\"").count(), 24);
        assert_eq!(page.matches("<figure").count(), 5);
        let csv = page.split("data:text/csv;charset=utf-8,").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(csv.matches("%0D%0A").count(), 1 + 48);
        assert!(csv.contains("%0D%0A,wall,s,24,B,"), "{csv}");
        assert_eq!(page.matches("during other load").count(), 3);
    }
}
