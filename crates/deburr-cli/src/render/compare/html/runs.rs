//! The runs of both sides in the order of time: whether the machine drifted shows here.

use super::axis::Axis;
use super::canvas::Canvas;
use super::unit_of_axis;
use crate::render::compare::quantity::shown;
use deburr_lab::comparison::{Comparison, Reading};
use deburr_lab::stats::drift::Side;

/// Units of the time that an experiment takes, in seconds, with how much of one is worth the next.
const TIMES: [(f64, f64, &str); 3] =
    [(1.0, 180.0, "seconds"), (60.0, 180.0, "minutes"), (3600.0, f64::INFINITY, "hours")];

/// The figure.
pub(super) fn figure(comparison: &Comparison) -> String {
    let Comparison { question, series, sides, .. } = comparison;
    let readings = readings(comparison);
    let largest = readings.iter().fold(0.0, |largest: f64, reading| largest.max(reading.value.abs()));
    let (step, unit) = unit_of_axis(largest, &question.unit);
    let upwards = Axis::over(readings.iter().map(|reading| reading.value / step), 0.06, Canvas::upwards());
    let label = if unit.is_empty() { question.name.clone() } else { format!("{}, {unit}", question.name) };
    let mut canvas = Canvas::new(&upwards, 5, &label);
    let last = readings.iter().filter_map(|reading| reading.began).fold(0.0, f64::max);
    let (second, _, name) = TIMES.into_iter().find(|(unit, most, _)| last < unit * most).unwrap_or(TIMES[2]);
    let is_timed = !series.sequence.is_empty() && readings.iter().all(|reading| reading.began.is_some());
    let time = |reading: &Reading| match reading.began.filter(|_| is_timed) {
        Some(began) => began / second,
        None => (reading.pair + 1) as f64,
    };
    let rightwards = Axis::over(readings.iter().map(time), 0.03, canvas.rightwards());
    let place = |reading: &Reading| (rightwards.place(time(reading)), upwards.place(reading.value / step));
    for pair in readings.chunk_by(|one, next| one.pair == next.pair) {
        if let ([one, other], Some(_)) = (pair, &comparison.verdict) {
            canvas.line("tie", place(one), place(other));
        }
    }
    for (side, class) in sides.iter().zip(["median a", "median b"]) {
        let (left, right) = canvas.rightwards();
        let y = upwards.place(side.center / step);
        canvas.line(class, (left, y), (right, y));
    }
    for reading in &readings {
        let side = if reading.side == Side::A { "A" } else { "B" };
        let told = format!("{side} {}: {}", reading.pair + 1, shown(reading.value, &question.unit));
        canvas.mark(reading.side, reading.is_contaminated, place(reading), &told);
    }
    match is_timed {
        true => canvas.below(&rightwards, 0.0, &format!("{name} since the first run")),
        false if comparison.verdict.is_some() => canvas.below(&rightwards, 1.0, "pair"),
        false => canvas.below(&rightwards, 1.0, "place in the file"),
    }
    canvas.finish(&format!("{}: {} runs of A and B in the order of time", question.name, readings.len()))
}

/// The runs in order; by their place among those of their side where no order is known.
pub(super) fn readings(comparison: &Comparison) -> Vec<Reading> {
    let series = &comparison.series;
    if !series.sequence.is_empty() {
        return series.sequence.clone();
    }
    let sides = [Side::A, Side::B].into_iter().zip(&series.values);
    let all = sides.flat_map(|(side, values)| {
        values.iter().enumerate().map(move |(pair, &value)| Reading {
            side,
            value,
            began: None,
            pair,
            is_contaminated: false,
        })
    });
    let mut all: Vec<Reading> = all.collect();
    all.sort_by_key(|reading| reading.pair);
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;

    #[test]
    fn every_run_has_a_mark_and_those_of_a_spoiled_pair_are_hollow() {
        let figure = figure(&comparison());
        let count = |what: &str| figure.matches(what).count();
        assert_eq!((count("class=\"mark a\""), count("class=\"mark b\"")), (23, 23));
        assert_eq!((count("class=\"mark a hollow\""), count("class=\"mark b hollow\"")), (1, 1));
        assert_eq!(count("class=\"tie\""), 24);
    }

    #[test]
    fn runs_without_an_order_stand_in_that_of_their_file() {
        let mut comparison = comparison();
        comparison.series.sequence.clear();
        comparison.verdict = None;
        let figure = figure(&comparison);
        assert!(figure.contains("place in the file"));
        assert_eq!(figure.matches("class=\"mark a\"").count(), 24);
        assert!(!figure.contains("class=\"tie\""));
    }
}
