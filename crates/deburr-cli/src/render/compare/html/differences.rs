//! What B changed in every pair, the region of equivalence, and the typical change with its interval.
//!
//! In: a comparison. Out: an SVG figure with a mark for each pair; none where nothing was paired.

use super::runs::every;
use crate::render::compare::quantity::percent;
use crate::render::page::axis::Axis;
use crate::render::page::canvas::Canvas;
use deburr_lab::comparison::Comparison;

/// The figure; there is none without pairs.
pub(super) fn figure(comparison: &Comparison) -> Option<String> {
    let shape = &comparison.shape;
    let (typical, interval) = comparison.change();
    if shape.changes.is_empty() {
        return None;
    }
    let changes: Vec<f64> = shape.changes.iter().map(|change| 100.0 * change).collect();
    let always = [shape.region.0, shape.region.1, typical, 0.0].map(|change| 100.0 * change);
    let upwards = Axis::over_most(&changes, always, 0.06, Canvas::upwards());
    let y = |change: f64| upwards.place(100.0 * change);
    let mut canvas = Canvas::new(&upwards, 5, "change, %").of_marks(shape.changes.len());
    let (left, right) = canvas.rightwards();
    // The typical change is at the end, apart from the pairs.
    let pairs = Axis::over([1.0, shape.changes.len() as f64], 0.03, (left, right - 30.0));
    canvas.rectangle("region", (left, y(shape.region.0)), (right, y(shape.region.1)));
    canvas.line("zero", (left, y(0.0)), (right, y(0.0)));
    for (index, change) in shape.changes.iter().enumerate().step_by(every(shape.changes.len())) {
        let label = percent(*change);
        let title = format!("pair {}: {label}", index + 1);
        let place = (pairs.place((index + 1) as f64), &upwards, 100.0 * change);
        canvas.change(is_spoiled(comparison, index), place, &title, &label);
    }
    let x = right - 14.0;
    if let Some((low, high)) = interval {
        canvas.line("interval", (x, y(low)), (x, y(high)));
        // What goes on beyond the figure has no end in it.
        for end in [low, high].into_iter().filter(|end| upwards.holds(100.0 * end)) {
            canvas.line("interval", (x - 5.0, y(end)), (x + 5.0, y(end)));
        }
    }
    canvas.line("typical", (x - 9.0, y(typical)), (x + 9.0, y(typical)));
    canvas.below(&pairs, 1.0, "pair");
    let name = &comparison.question.name;
    Some(canvas.finish(&format!("{name}: the change in each of {} pairs", shape.changes.len())))
}

/// Whether a pair ran next to too much else.
pub(super) fn is_spoiled(comparison: &Comparison, pair: usize) -> bool {
    comparison.series.sequence.iter().any(|reading| reading.pair == pair && reading.is_contaminated)
}

#[cfg(test)]
mod tests {
    use super::super::example::comparison;
    use super::*;

    #[test]
    fn the_region_is_where_one_percent_is_and_every_pair_has_its_mark() {
        let mut comparison = comparison();
        comparison.shape.changes = vec![-0.01, 0.0, 0.05];
        comparison.shape.region = (-0.01, 0.01);
        let figure = figure(&comparison).unwrap();
        // From −1 % to +5 % with 6 % free at both ends, on 198 units: a percent is 198/6.72.
        let percent = 198.0 / 6.72;
        let (bottom, height) = (220.0 - 0.36 * percent, 2.0 * percent);
        let band = format!("y=\"{:.1}\" width=\"394.2\" height=\"{height:.1}\"", bottom - height);
        assert!(figure.contains(&band), "{band} in {figure}");
        assert_eq!(figure.matches("class=\"mark pair\"").count(), 3);
    }

    #[test]
    fn without_pairs_there_is_no_figure() {
        let mut comparison = comparison();
        comparison.shape.changes.clear();
        assert_eq!(figure(&comparison), None);
    }
}
