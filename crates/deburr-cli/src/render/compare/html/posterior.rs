//! How probable each change is, given the pairs: the posterior, with what is worse, the same and better under
//! it.
//!
//! In: a comparison with a verdict. Out: an SVG figure of the density, its areas coloured; none without a
//! verdict.

use crate::render::page::axis::Axis;
use crate::render::page::canvas::Canvas;
use deburr_lab::comparison::Comparison;
use deburr_lab::stats::Direction;

/// What is free between the density and its axis, for the interval.
const STRIP: f64 = 18.0;

/// The figure; there is none without pairs.
pub(super) fn figure(comparison: &Comparison) -> Option<String> {
    let Comparison { question, shape, verdict, .. } = comparison;
    verdict.as_ref()?;
    let (typical, interval) = comparison.change();
    let (low, high) = shape.region;
    let highest = shape.density.iter().fold(0.0, |highest: f64, (_, density)| highest.max(*density));
    let (bottom, top) = Canvas::upwards();
    let upwards = Axis::over([0.0, highest], 0.0, (bottom - STRIP, top));
    let mut canvas = Canvas::bare();
    let places = shape.density.iter().map(|(change, _)| *change).chain([low, high, 0.0, typical]);
    let rightwards = Axis::over(places.map(|change| 100.0 * change), 0.04, canvas.rightwards());
    let x = |change: f64| rightwards.place(100.0 * change);
    canvas.rectangle("region", (x(low), bottom), (x(high), top));
    canvas.line("zero", (x(0.0), bottom), (x(0.0), top));
    let [below, above] = match question.direction {
        Direction::Larger => ["worse", "better"],
        Direction::Smaller => ["better", "worse"],
    };
    let parts = [(f64::NEG_INFINITY, low, below), (low, high, "same"), (high, f64::INFINITY, above)];
    for (from, to, class) in parts {
        let part = shape.density.iter().filter(|(change, _)| (from..=to).contains(change));
        let line: Vec<(f64, f64)> =
            part.map(|(change, density)| (x(*change), upwards.place(*density))).collect();
        if let ([first, .., last], base) = (line.as_slice(), upwards.place(0.0)) {
            let (start, end) = ((first.0, base), (last.0, base));
            canvas.polygon(
                &format!("area {class}"),
                [start].into_iter().chain(line.iter().copied()).chain([end]),
                true,
            );
        }
    }
    let curve = shape.density.iter().map(|(change, density)| (x(*change), upwards.place(*density)));
    canvas.polygon("density", curve, false);
    let y = bottom - STRIP / 2.0;
    if let Some((from, to)) = interval {
        canvas.line("interval", (x(from), y), (x(to), y));
        // What goes on beyond the figure has no end in it.
        for end in [from, to].into_iter().filter(|end| rightwards.holds(100.0 * end)) {
            canvas.line("interval", (x(end), y - 4.0), (x(end), y + 4.0));
        }
    }
    // Where all pairs are alike, there is one change and nothing around it.
    let reach = if shape.density.is_empty() { top } else { y - 6.0 };
    canvas.line("typical", (x(typical), y + 6.0), (x(typical), reach));
    let (left, right) = canvas.rightwards();
    canvas.text("label", (left, 13.0), &format!("← B {below}"));
    canvas.text("label end", (right, 13.0), &format!("B {above} →"));
    canvas.below(&rightwards, 0.0, "change, %");
    Some(canvas.finish(&format!("{}: how probable each change is", question.name)))
}

#[cfg(test)]
mod tests {
    use super::super::example::comparison;
    use super::*;

    #[test]
    fn what_is_beyond_the_region_is_worse_or_better_by_the_direction() {
        let mut comparison = comparison();
        comparison.shape.region = (-0.01, 0.01);
        comparison.shape.density = vec![(0.01, 1.0), (0.02, 2.0), (0.03, 0.0)];
        let slower = figure(&comparison).unwrap();
        assert!(slower.contains("class=\"area worse\"") && !slower.contains("class=\"area better\""));
        assert!(slower.contains("← B better") && slower.contains("B worse →"));
        comparison.question.direction = Direction::Larger;
        let faster = figure(&comparison).unwrap();
        assert!(faster.contains("class=\"area better\"") && !faster.contains("class=\"area worse\""));
        // The summit is at the top, and the area begins and ends at the foot.
        let area = faster.split("class=\"area better\" points=\"").nth(1).unwrap();
        let points: Vec<&str> = area.split('"').next().unwrap().split([' ', ',']).collect();
        assert_eq!([1, 3, 5, 7, 9].map(|at| points[at]), ["202.0", "112.0", "22.0", "202.0", "202.0"]);
    }

    #[test]
    fn pairs_that_are_all_alike_are_one_line() {
        let mut comparison = comparison();
        comparison.shape.density.clear();
        let figure = figure(&comparison).unwrap();
        assert!(figure.contains("class=\"typical\"") && !figure.contains("class=\"area"));
    }
}
