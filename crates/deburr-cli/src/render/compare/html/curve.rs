//! A sweep: the values of both sides over a parameter, each with its interval.
//!
//! In: a comparison for each value of the parameter. Out: an SVG figure with two curves, and one of the changes.

use super::unit::unit_of_axis;
use crate::render::compare::quantity::{percent, shown};
use crate::render::page::axis::Axis;
use crate::render::page::canvas::Canvas;
use deburr_lab::comparison::{Comparison, Question};
use deburr_lab::side::Side;
use deburr_lab::stats::benchstat::Summary;

/// A value with its interval, the lower end first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) center: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Both sides at one value of the parameter; a side that failed there has no estimate.
#[derive(Debug, Clone)]
pub(super) struct CurveStep {
    pub(super) parameter: String,
    pub(super) sides: [Option<Estimate>; 2],
}

impl CurveStep {
    /// Of a point of a sweep.
    pub(super) fn of(parameter: &str, comparison: &Comparison) -> CurveStep {
        let estimate = |side: &Summary| Estimate { center: side.center, low: side.low, high: side.high };
        let sides = comparison.sides.each_ref().map(|side| Some(estimate(side)));
        CurveStep { parameter: parameter.to_owned(), sides }
    }
}

/// The figure. The steps of the parameter are as far from each other as they were given: mostly they are
/// powers.
pub(super) fn figure(question: &Question, parameter: &str, steps: &[CurveStep]) -> String {
    let estimates = steps.iter().flat_map(|step| step.sides.iter().flatten());
    let ends: Vec<f64> =
        estimates.flat_map(|at| [at.center, at.low, at.high]).filter(|end| end.is_finite()).collect();
    let (step, unit) =
        unit_of_axis(ends.iter().fold(0.0, |most: f64, end| most.max(end.abs())), &question.unit);
    let upwards = Axis::over(ends.into_iter().chain([0.0]).map(|end| end / step), 0.0, Canvas::upwards());
    let y = |value: f64| upwards.place(value / step);
    let label = if unit.is_empty() { question.name.clone() } else { format!("{}, {unit}", question.name) };
    let mut canvas = Canvas::new(&upwards, 5, &label);
    let rightwards = Axis::over([0.0, steps.len().saturating_sub(1) as f64], 0.06, canvas.rightwards());
    for (index, (side, class)) in [(Side::A, "a"), (Side::B, "b")].into_iter().enumerate() {
        // The two sides are next to each other, so that their intervals can be distinguished.
        let x = |step: usize| rightwards.place(step as f64) + if side == Side::A { -3.0 } else { 3.0 };
        let found = |step: &CurveStep| step.sides.get(index).copied().flatten();
        let known: Vec<(usize, Estimate)> =
            steps.iter().enumerate().filter_map(|(at, step)| Some((at, found(step)?))).collect();
        canvas.polygon(
            &format!("curve {class}"),
            known.iter().map(|(at, found)| (x(*at), y(found.center))),
            false,
        );
        for (at, Estimate { center, low, high }) in known {
            canvas.line(&format!("interval {class}"), (x(at), y(low)), (x(at), y(high)));
            canvas.mark(side, false, (x(at), y(center)), &shown(center, &question.unit));
        }
    }
    let names =
        steps.iter().enumerate().map(|(at, step)| (rightwards.place(at as f64), step.parameter.clone()));
    canvas.named(names, parameter);
    canvas.finish(&format!("{} over {parameter}, for A and B", question.name))
}

/// By how much B differs at each value of the parameter, with the intervals that the verdicts follow from and
/// the region of equivalence.
pub(super) fn changes(parameter: &str, points: &[(&str, &Comparison)]) -> String {
    let percents = |change: f64| 100.0 * change;
    let found: Vec<(f64, Option<(f64, f64)>)> =
        points.iter().map(|(_, comparison)| comparison.change()).collect();
    let ends: Vec<f64> = found
        .iter()
        .flat_map(|(change, interval)| {
            [Some(*change), interval.map(|ends| ends.0), interval.map(|ends| ends.1)]
        })
        .flatten()
        .map(percents)
        .collect();
    let region = points.first().map_or((0.0, 0.0), |(_, comparison)| comparison.shape.region);
    let upwards = Axis::over_most(&ends, [region.0, region.1, 0.0].map(percents), 0.06, Canvas::upwards());
    let y = |change: f64| upwards.place(percents(change));
    let mut canvas = Canvas::new(&upwards, 5, "change, %");
    let (left, right) = canvas.rightwards();
    let rightwards = Axis::over([0.0, points.len().saturating_sub(1) as f64], 0.06, (left, right));
    canvas.rectangle("region", (left, y(region.0)), (right, y(region.1)));
    canvas.line("zero", (left, y(0.0)), (right, y(0.0)));
    for (at, ((value, _), (change, interval))) in points.iter().zip(&found).enumerate() {
        let x = rightwards.place(at as f64);
        if let Some((low, high)) = interval {
            canvas.line("interval", (x, y(*low)), (x, y(*high)));
        }
        let label = percent(*change);
        let title = format!("{parameter} {value}: {label}");
        canvas.change(false, (x, &upwards, percents(*change)), &title, &label);
    }
    let names =
        points.iter().enumerate().map(|(at, (value, _))| (rightwards.place(at as f64), (*value).to_owned()));
    canvas.named(names, parameter);
    canvas.finish(&format!("The change over {parameter}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::stats::Direction;

    #[test]
    fn every_point_has_its_change_next_to_the_region() {
        let comparison = super::super::example::comparison();
        let figure = changes("n", &[("1", &comparison), ("2", &comparison)]);
        let label = percent(comparison.change().0);
        assert_eq!(figure.matches(&format!("<title>n 2: {label}</title>")).count(), 1);
        assert_eq!(figure.matches("class=\"interval\"").count(), 2);
        assert!(figure.contains("class=\"region\""));
    }

    #[test]
    fn every_step_has_both_sides_where_they_are_and_none_where_one_failed() {
        let question =
            Question { name: "tps".to_owned(), unit: "1/s".to_owned(), direction: Direction::Larger };
        let at = |center: f64| Some(Estimate { center, low: center - 10.0, high: center + 10.0 });
        let step = |parameter: &str, a, b| CurveStep { parameter: parameter.to_owned(), sides: [a, b] };
        let steps =
            [step("1", at(90.0), at(80.0)), step("2<", at(40.0), at(50.0)), step("4", at(20.0), None)];
        let figure = figure(&question, "clients", &steps);
        assert_eq!(figure.matches("class=\"mark a\"").count(), 3);
        assert_eq!(figure.matches("class=\"mark b\"").count(), 2);
        assert!(figure.contains("2&lt;</text>"));
        // From 0 to 100 on 198 units upwards from 220.
        let marks: Vec<&str> =
            figure.split("cy=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(marks, ["41.8", "140.8", "180.4"]);
        assert!(figure.contains("y1=\"61.6\"") && figure.contains("y2=\"22.0\""), "{figure}");
    }
}
