//! The runs of both sides in the order of time: whether the machine drifted shows here.
//!
//! In: a comparison with its readings. Out: an SVG figure with a mark for each run, and pauses where nothing
//! ran.

use super::unit::unit_of_axis;
use crate::render::compare::quantity::shown;
use crate::render::page::axis::Axis;
use crate::render::page::canvas::Canvas;
use deburr_lab::comparison::{Comparison, Reading};
use deburr_lab::side::Side;

/// Units of the time that an experiment takes, in seconds, each with the time from which on the next one is
/// used.
const TIMES: [(f64, f64, &str); 3] =
    [(1.0, 180.0, "seconds"), (60.0, 10_800.0, "minutes"), (3600.0, f64::INFINITY, "hours")];
/// A pause, as between two halves of an experiment: so many times the mean time between the other runs, and
/// so many seconds.
const PAUSE: (f64, f64) = (20.0, 30.0);

/// The figure.
pub(super) fn figure(comparison: &Comparison) -> String {
    let Comparison { question, sides, .. } = comparison;
    let readings = readings(comparison);
    let largest = readings.iter().fold(0.0, |largest: f64, reading| largest.max(reading.value.abs()));
    let (step, unit) = unit_of_axis(largest, &question.unit);
    let values: Vec<f64> = readings.iter().map(|reading| reading.value / step).collect();
    let upwards =
        Axis::over_most(&values, sides.each_ref().map(|side| side.center / step), 0.06, Canvas::upwards());
    let label = if unit.is_empty() { question.name.clone() } else { format!("{}, {unit}", question.name) };
    let mut canvas = Canvas::new(&upwards, 5, &label).of_marks(readings.len());
    let Along { at, label, least, pauses } = along(&readings, comparison.verdict.is_some());
    let rightwards = Axis::over(at.iter().copied(), 0.03, canvas.rightwards());
    let (bottom, top) = Canvas::upwards();
    for (at, time) in pauses {
        let x = rightwards.place(at);
        canvas.line("pause", (x, bottom), (x, top));
        // On the side where there is room.
        let (left, right) = canvas.rightwards();
        let (class, x) = if x > (left + right) / 2.0 { ("tick end", x - 4.0) } else { ("tick", x + 4.0) };
        canvas.text(class, (x, bottom - 6.0), &format!("paused for {time}"));
    }
    let every = every(readings.len() / 2);
    let placed: Vec<((f64, f64), &Reading)> = at
        .into_iter()
        .zip(&readings)
        .filter(|(_, reading)| reading.pair % every == 0)
        .map(|(at, reading)| ((rightwards.place(at), upwards.place(reading.value / step)), reading))
        .collect();
    for pair in placed.chunk_by(|one, next| one.1.pair == next.1.pair) {
        if let ([one, other], Some(_)) = (pair, &comparison.verdict) {
            canvas.line("tie", one.0, other.0);
        }
    }
    for (side, class) in sides.iter().zip(["median a", "median b"]) {
        let (left, right) = canvas.rightwards();
        let y = upwards.place(side.center / step);
        canvas.line(class, (left, y), (right, y));
    }
    for (place, reading) in placed {
        let (side, class) = if reading.side == Side::A { ("A", "a") } else { ("B", "b") };
        let label = shown(reading.value, &question.unit);
        let title = format!("{side} {}: {label}", reading.pair + 1);
        match upwards.holds(reading.value / step) {
            true => canvas.mark(reading.side, reading.is_contaminated, place, &title),
            false => canvas.beyond(class, reading.is_contaminated, place, &title, &label),
        }
    }
    canvas.below(&rightwards, least, &label);
    canvas.finish(&format!("{}: {} runs of A and B", question.name, readings.len()))
}

/// The axis along which runs are placed.
struct Along {
    /// Where each is.
    at: Vec<f64>,
    label: String,
    /// How far ticks are from each other, at least.
    least: f64,
    /// Where nothing ran, and for how long.
    pauses: Vec<(f64, String)>,
}

/// By time. By their order where the time has pauses, next to which nothing else could be seen. By their pair
/// where there is no time.
fn along(readings: &[Reading], are_pairs: bool) -> Along {
    let times: Option<Vec<f64>> = readings.iter().map(|reading| reading.began).collect();
    let Some(times) = times else {
        let at = readings.iter().map(|reading| (reading.pair + 1) as f64).collect();
        let label = if are_pairs { "pair" } else { "place in the file" };
        return Along { at, label: label.to_owned(), least: 1.0, pauses: Vec::new() };
    };
    let in_unit = |time: f64| {
        let (second, _, name) = TIMES.into_iter().find(|(_, most, _)| time < *most).unwrap_or(TIMES[2]);
        (second, name)
    };
    let gaps = || times.iter().zip(times.iter().skip(1)).map(|(one, next)| next - one);
    let longest = gaps().fold(0.0, f64::max);
    let span = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
    let usual = (span - longest) / times.len().max(2) as f64;
    let is_pause = |gap: f64| gap > (PAUSE.0 * usual).max(PAUSE.1);
    if !is_pause(longest) {
        let (second, name) = in_unit(span);
        let first = times.first().copied().unwrap_or(0.0);
        let at = times.iter().map(|time| (time - first) / second).collect();
        return Along { at, label: format!("{name} since the first run"), least: 0.0, pauses: Vec::new() };
    }
    let pauses = gaps().enumerate().filter(|(_, gap)| is_pause(*gap)).map(|(index, gap)| {
        let (second, name) = in_unit(gap);
        (index as f64 + 1.5, format!("{:.0} {name}", gap / second))
    });
    let at = (1..=times.len()).map(|run| run as f64).collect();
    Along { at, label: "run".to_owned(), least: 1.0, pauses: pauses.collect() }
}

/// Of how many pairs one is drawn and listed: of more than can be seen, or read, some are left out evenly.
pub(super) fn every(pairs: usize) -> usize {
    const MOST: usize = 2000;
    pairs.div_ceil(MOST).max(1)
}

/// The runs in order; by their place among those of their side where no order is known.
pub(super) fn readings(comparison: &Comparison) -> Vec<Reading> {
    let series = &comparison.series;
    if !series.sequence.is_empty() {
        return series.sequence.clone();
    }
    let sides = [Side::A, Side::B].into_iter().zip(&series.values);
    let by_side = sides.flat_map(|(side, values)| {
        values.iter().enumerate().map(move |(pair, &value)| Reading {
            side,
            value,
            began: None,
            pair,
            is_contaminated: false,
        })
    });
    let mut all: Vec<Reading> = by_side.collect();
    all.sort_by_key(|reading| reading.pair);
    all
}

#[cfg(test)]
mod tests {
    use super::super::example::comparison;
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
    fn runs_are_placed_where_they_began_and_in_their_order_around_a_pause() {
        let mut comparison = comparison();
        let along_time = along(&comparison.series.sequence, true);
        assert_eq!(along_time.label, "seconds since the first run");
        assert!(along_time.pauses.is_empty() && (along_time.at[47] - 14.1).abs() < 1e-9);
        for reading in comparison.series.sequence.iter_mut().skip(20) {
            reading.began = reading.began.map(|began| began + 36_000.0);
        }
        let along_runs = along(&comparison.series.sequence, true);
        assert_eq!((along_runs.label.as_str(), along_runs.at[47]), ("run", 48.0));
        assert_eq!(along_runs.pauses, [(20.5, "10 hours".to_owned())]);
        assert!(figure(&comparison).contains("class=\"pause\""));
    }

    #[test]
    fn runs_without_an_order_are_placed_in_that_of_their_file() {
        let mut comparison = comparison();
        comparison.series.sequence.clear();
        comparison.verdict = None;
        let figure = figure(&comparison);
        assert!(figure.contains("place in the file"));
        assert_eq!(figure.matches("class=\"mark a\"").count(), 24);
        assert!(!figure.contains("class=\"tie\""));
    }
}
