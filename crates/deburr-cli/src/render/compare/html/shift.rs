//! By how much B differs from A quantile by quantile: whether fast and slow runs change alike (a shift function).
//!
//! In: a comparison. Out: an SVG figure of the change at each quantile with the region of equivalence, and the
//! same as a table; none with fewer than four values a side.

use crate::render::compare::quantity::{percent, shown};
use crate::render::page::axis::Axis;
use crate::render::page::canvas::Canvas;
use crate::render::page::markup::data;
use deburr_lab::comparison::Comparison;
use std::fmt::Write;

/// The figure.
pub(super) fn figure(comparison: &Comparison) -> Option<String> {
    let shape = &comparison.shape;
    let changes: Vec<(f64, f64)> =
        shape.quantiles.iter().filter_map(|at| Some((100.0 * at.share, 100.0 * at.change()?))).collect();
    if changes.is_empty() {
        return None;
    }
    let values: Vec<f64> = changes.iter().map(|(_, change)| *change).collect();
    let (low, high) = (100.0 * shape.region.0, 100.0 * shape.region.1);
    let upwards = Axis::over_most(&values, [low, high, 0.0], 0.06, Canvas::upwards());
    let mut canvas = Canvas::new(&upwards, 5, "change, %");
    let (left, right) = canvas.rightwards();
    let rightwards = Axis::over([0.0, 100.0], 0.0, (left, right));
    canvas.rectangle("region", (left, upwards.place(low)), (right, upwards.place(high)));
    canvas.line("zero", (left, upwards.place(0.0)), (right, upwards.place(0.0)));
    let places = changes.iter().map(|(share, change)| (rightwards.place(*share), upwards.place(*change)));
    canvas.polygon("shift", places, false);
    for (share, change) in changes {
        let label = percent(change / 100.0);
        let title = format!("{share:.0} % of the runs: {label}");
        canvas.change(false, (rightwards.place(share), &upwards, change), &title, &label);
    }
    canvas.below(&rightwards, 0.0, "share of the runs up to there, %");
    Some(canvas.finish(&format!("{}: the change at each quantile", comparison.question.name)))
}

/// The same as a table that opens.
pub(super) fn table(comparison: &Comparison) -> String {
    let Comparison { question, shape, .. } = comparison;
    if shape.quantiles.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<details><summary>{} quantiles</summary>\n<div class=\"table\"><table class=\"quantiles\">\n\
         <thead><tr><th scope=\"col\">share</th><th scope=\"col\">A</th><th scope=\"col\">B</th>\
         <th scope=\"col\">change</th></tr></thead>\n<tbody>\n",
        shape.quantiles.len()
    );
    for at in &shape.quantiles {
        let [a, b] = at.values;
        let change = at.change().map(|change| data("shift", change, &percent(change)));
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{:.0} %</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            100.0 * at.share,
            data("quantile-a", a, &shown(a, &question.unit)),
            data("quantile-b", b, &shown(b, &question.unit)),
            change.unwrap_or_default(),
        );
    }
    text.push_str("</tbody></table></div></details>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::example::comparison;
    use super::*;

    #[test]
    fn every_quantile_has_its_change_in_the_figure_and_in_the_table() {
        let mut comparison = comparison();
        for at in &mut comparison.shape.quantiles {
            at.values = [0.25, 0.255];
        }
        let figure = figure(&comparison).unwrap();
        let count = comparison.shape.quantiles.len();
        assert_eq!(figure.matches("% of the runs: +2.00 %</title>").count(), count);
        assert!(figure.contains("class=\"region\""));
        let table = table(&comparison);
        assert_eq!(table.matches("<data class=\"quantile-b\" value=\"0.255\">").count(), count);
        comparison.shape.quantiles.clear();
        assert_eq!((super::figure(&comparison), super::table(&comparison)), (None, String::new()));
    }
}
