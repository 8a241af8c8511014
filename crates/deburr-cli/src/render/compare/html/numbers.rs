//! The numbers of a metric in tables: the statistics, and what was measured.
//!
//! In: a comparison, or those of all points of a sweep. Out: HTML tables, whose `<data>` elements hold the
//! exact values.

use super::differences::is_spoiled;
use super::runs::{every, readings};
use crate::render::compare::quantity::{self, better, percent, shown};
use crate::render::page::markup::{Escaped, data};
use deburr_lab::comparison::Comparison;
use deburr_lab::side::Side;
use deburr_lab::stats::benchstat::Summary;
use deburr_lab::stats::{Direction, Probabilities};
use std::fmt::Write;

/// What is said of a metric.
pub(super) fn said(comparison: &Comparison) -> String {
    let Comparison { question, sides: [a, b], benchstat, verdict, unpaired, .. } = comparison;
    let median = |name: &str, class: &str, side: &Summary| {
        let shown = data(class, side.center, &shown(side.center, &question.unit));
        format!("<tr><th scope=\"row\">{name}</th><td>{shown} ± {}</td></tr>\n", side.percent())
    };
    let mut text = format!(
        "<div class=\"table\"><table class=\"medians\"><caption>Medians, as benchstat has them</caption>\n\
         <tbody>{}{}<tr><th scope=\"row\">B to A</th><td>{} ({benchstat})</td></tr></tbody></table></div>\n",
        median("A", "median-a", a),
        median("B", "median-b", b),
        benchstat.delta(a.center, b.center),
    );
    let row = |class: &str, name: &str, numbers: &Probabilities| {
        let Probabilities { worse, same, better, next } = *numbers;
        let cells = [("worse", worse), ("same", same), ("better", better), ("next", next)];
        let cell =
            |(name, value): (&str, f64)| format!("<td>{}</td>", data(name, value, &format!("{value:.3}")));
        format!("<tr class=\"{class}\"><th scope=\"row\">{name}</th>{}</tr>\n", cells.map(cell).concat())
    };
    text.push_str(
        "<div class=\"table\"><table class=\"probabilities\"><caption>How probable B's mean is: not adjusted for the looks, and no verdict</caption>\n\
         <thead><tr><th scope=\"col\"></th><th scope=\"col\">worse</th><th scope=\"col\">same</th><th scope=\"col\">better</th>\
         <th scope=\"col\">better in the next run</th></tr></thead>\n<tbody>",
    );
    if let Some(verdict) = verdict {
        text.push_str(&row("paired", "t, paired", &verdict.paired));
        text.push_str(&row("bootstrap", "bootstrap, paired", &verdict.bootstrap));
    }
    text.extend(unpaired.iter().map(|numbers| row("unpaired", "t, unpaired", numbers)));
    text.push_str("</tbody></table></div>\n");
    text
}

/// What is said of a metric at each point of a sweep.
pub(super) fn swept(parameter: &str, points: &[(&str, &Comparison)]) -> String {
    let mut text = format!(
        "<div class=\"numbers table\"><table class=\"points\">\n<thead><tr><th scope=\"col\">{}</th><th scope=\"col\">A</th>\
         <th scope=\"col\">B</th><th scope=\"col\">B is</th><th scope=\"col\">change</th></tr></thead>\n<tbody>\n",
        Escaped(parameter)
    );
    for (value, comparison) in points {
        let [a, b] = comparison.sides.each_ref().map(|side| side.center);
        let unit = &comparison.question.unit;
        let (change, interval) = comparison.change();
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!("<br><span class=\"muted\">[{}, {}]</span>", percent(low), percent(high))
        });
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"outcome\">{}</td><td>{}{interval}</td></tr>",
            Escaped(value),
            data("a", a, &shown(a, unit)),
            data("b", b, &shown(b, unit)),
            comparison.outcome(),
            data("change", change, &percent(change)),
        );
    }
    text.push_str("</tbody></table>\n");
    let of = |(value, comparison): &(&str, &Comparison)| {
        let place = comparison.placement.iter().map(|placement| quantity::placement(comparison, placement));
        let remarks = place.chain(comparison.warnings.iter().map(ToString::to_string));
        let remark = |remark: String| {
            format!("<li>{} {}: {}</li>\n", Escaped(parameter), Escaped(value), Escaped(&remark))
        };
        remarks.map(remark).collect::<String>()
    };
    let remarks: String = points.iter().map(of).collect();
    if !remarks.is_empty() {
        let _ = write!(text, "<ul class=\"warnings\">\n{remarks}</ul>\n");
    }
    text.push_str("</div>\n");
    text
}

/// In which direction a metric is better, in words.
pub(super) fn direction(direction: Direction) -> String {
    format!("{} is better", better(direction))
}

/// What was measured, in a table that opens.
pub(super) fn measured(comparison: &Comparison) -> String {
    let Comparison { question, series, shape, .. } = comparison;
    let [a, b] = &series.values;
    let pairs = shape.changes.len();
    let every = every(a.len().max(b.len()));
    let all = if every == 1 { "All".to_owned() } else { format!("One in {every} of") };
    let what =
        if pairs > 0 { format!("{all} {pairs} pairs") } else { format!("{all} {} runs", a.len() + b.len()) };
    let readings = readings(comparison);
    let firsts: Vec<Side> =
        readings.chunk_by(|one, next| one.pair == next.pair).map(|pair| pair[0].side).collect();
    let mut text = format!(
        "<details><summary>{what}</summary>\n<div class=\"table\"><table class=\"runs\">\n\
         <thead><tr><th scope=\"col\">{}</th><th scope=\"col\">A</th><th scope=\"col\">B</th><th scope=\"col\">change</th>\
         <th scope=\"col\">first</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n",
        if pairs > 0 { "pair" } else { "run" }
    );
    for index in (0..a.len().max(b.len())).step_by(every) {
        let value = |values: &[f64], name: &str| {
            values
                .get(index)
                .map(|value| data(name, *value, &shown(*value, &question.unit)))
                .unwrap_or_default()
        };
        let change = shape.changes.get(index).map(|change| data("change", *change, &percent(*change)));
        let first = match firsts.get(index).filter(|_| !series.sequence.is_empty()) {
            Some(Side::A) => "A",
            Some(Side::B) => "B",
            None => "",
        };
        let load = if is_spoiled(comparison, index) { "during other load" } else { "" };
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{first}</td><td>{load}</td></tr>",
            index + 1,
            value(a, "a"),
            value(b, "b"),
            change.unwrap_or_default(),
        );
    }
    text.push_str("</tbody></table></div></details>\n");
    text
}
