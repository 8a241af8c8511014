//! How the values of both sides are distributed: what share of the runs is at or below each value.
//!
//! In: a comparison. Out: an SVG figure with two step curves (the empirical distribution functions), with a mark
//! at each quantile; none with fewer than four values a side.

use super::unit::unit_of_axis;
use crate::render::compare::quantity::shown;
use crate::render::page::axis::Axis;
use crate::render::page::canvas::Canvas;
use deburr_lab::comparison::Comparison;
use deburr_lab::side::Side;

/// Steps of a curve at most: more cannot be seen apart.
const MOST: usize = 400;

/// The figure.
pub(super) fn figure(comparison: &Comparison) -> Option<String> {
    let Comparison { question, series, shape, .. } = comparison;
    if shape.quantiles.is_empty() {
        return None;
    }
    let all: Vec<f64> = series.values.iter().flatten().copied().collect();
    let largest = all.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (step, unit) = unit_of_axis(largest, &question.unit);
    let upwards = Axis::over([0.0, 100.0], 0.0, Canvas::upwards());
    let mut canvas = Canvas::new(&upwards, 5, "share of the runs, %").of_marks(100);
    let scaled: Vec<f64> = all.iter().map(|value| value / step).collect();
    let rightwards = Axis::over_most(&scaled, [], 0.04, canvas.rightwards());
    let (left, right) = canvas.rightwards();
    for (index, class) in ["curve a", "curve b"].into_iter().enumerate() {
        let sorted = series.values.get(index).map(|values| sorted(values)).unwrap_or_default();
        let steps = sorted.len().min(MOST);
        let mut points = vec![(left, upwards.place(0.0))];
        let mut below = 0.0;
        for at in 1..=steps {
            let count = at * sorted.len() / steps;
            let Some(value) = sorted.get(count.saturating_sub(1)) else { continue };
            let share = 100.0 * count as f64 / sorted.len() as f64;
            let x = rightwards.place(value / step);
            points.extend([(x, upwards.place(below)), (x, upwards.place(share))]);
            below = share;
        }
        points.push((right, upwards.place(100.0)));
        canvas.polygon(class, points, false);
    }
    for quantile in &shape.quantiles {
        for (side, value) in [Side::A, Side::B].into_iter().zip(quantile.values) {
            let name = if side == Side::A { "A" } else { "B" };
            let place = (rightwards.place(value / step), upwards.place(100.0 * quantile.share));
            let title =
                format!("{:.0} % of {name}: up to {}", 100.0 * quantile.share, shown(value, &question.unit));
            canvas.mark(side, false, place, &title);
        }
    }
    let beyond = scaled.iter().filter(|value| !rightwards.holds(**value)).count();
    if beyond > 0 {
        let most = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (class, x, arrow) =
            if rightwards.holds(most) { ("tick", left + 4.0, "←") } else { ("tick end", right, "→") };
        let y = if class == "tick" { Canvas::upwards().1 + 12.0 } else { Canvas::upwards().0 - 6.0 };
        canvas.text(class, (x, y), &format!("{arrow} {beyond} beyond"));
    }
    let label = if unit.is_empty() { question.name.clone() } else { format!("{}, {unit}", question.name) };
    canvas.below(&rightwards, 0.0, &label);
    Some(canvas.finish(&format!("{}: the share of the runs of A and B up to each value", question.name)))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::super::example::comparison;
    use super::*;

    #[test]
    fn both_sides_rise_from_nothing_to_all_and_every_quantile_can_be_read() {
        let comparison = comparison();
        let figure = figure(&comparison).unwrap();
        for side in ["a", "b"] {
            let points = figure.split(&format!("class=\"curve {side}\" points=\"")).nth(1).unwrap();
            let places: Vec<f64> = points
                .split('"')
                .next()
                .unwrap()
                .split(' ')
                .map(|point| point.split_once(',').unwrap().1.parse().unwrap())
                .collect();
            assert_eq!((places[0], *places.last().unwrap(), places.len()), (220.0, 22.0, 50));
            assert!(places.is_sorted_by(|one, next| one >= next));
        }
        assert!(figure.contains("<title>50 % of A: up to 250."), "{figure}");
        assert_eq!(figure.matches("class=\"mark").count(), 2 * comparison.shape.quantiles.len());
        assert!(!figure.contains("beyond"));
    }

    #[test]
    fn what_is_far_out_is_counted_at_the_edge() {
        let mut comparison = comparison();
        comparison.series.values[1][3] = 30.0;
        assert!(figure(&comparison).unwrap().contains("→ 1 beyond"));
        comparison.shape.quantiles.clear();
        assert_eq!(figure(&comparison), None);
    }
}
