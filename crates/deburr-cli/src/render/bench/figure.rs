//! Rates by number of threads, both logarithmic, with a curve for each variant.
//!
//! In: curves. Out: an SVG figure, in which each curve has its name at its end.

use super::curves::{Curve, threads};
use super::scale::{LogScale, spread, tick};
use super::tables::rate;
use crate::render::page::canvas::{Canvas, WIDTH, hue};
use deburr_lab::bench::record::Rates;

/// How wide a character of a name is, and how many of them there are at most.
const CHARACTER: f64 = 5.9;
const LONGEST: usize = 28;
/// How far names are from each other.
const LINE: f64 = 13.0;
/// What is free at the ends of both axes, and between a curve's end and its name.
const FREE: f64 = 8.0;
const LEADER: f64 = 22.0;

/// The figure; `title`: what was measured.
pub(super) fn figure(title: &str, curves: &[Curve<'_>]) -> String {
    let rates = curves.iter().flat_map(|curve| curve.points.iter().map(|(_, rates)| *rates));
    let ends = rates.flat_map(|rates| [rates.rate, rates.range.0, rates.range.1]);
    let upwards = LogScale::of_rates(ends.filter(|rate| *rate > 0.0));
    let (bottom, top) = Canvas::upwards();
    let y = |rate: f64| bottom - FREE - upwards.share(rate) * (bottom - top - 2.0 * FREE);
    let ticks: Vec<(f64, String)> = upwards.ticks(6).into_iter().map(|rate| (y(rate), tick(rate))).collect();
    let names: Vec<String> = curves.iter().map(|curve| shortened(curve.name)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let free = LEADER + CHARACTER * longest as f64;
    let mut canvas = Canvas::ticked(&ticks, free, "operations per second of all threads");
    let counts = threads(curves);
    let across = LogScale::exact(counts.iter().map(|&threads| threads as f64));
    let (left, right) = canvas.rightwards();
    let x = |threads: usize| left + FREE + across.share(threads as f64) * (right - left - 2.0 * FREE);
    for (number, curve) in curves.iter().enumerate() {
        let places = curve.points.iter().map(|(threads, rates)| (x(*threads), y(rates.rate)));
        canvas.polygon(&format!("curve {}", hue(number)), places, false);
    }
    for (number, curve) in curves.iter().enumerate() {
        for (threads, rates) in &curve.points {
            spans(&mut canvas, number, x(*threads), rates, y);
            let what = format!("{}, {threads} threads: {}/s", curve.name, rate(rates.rate));
            canvas.numbered(number, (x(*threads), y(rates.rate)), &what);
        }
    }
    let ends: Vec<(f64, f64)> =
        curves.iter().filter_map(|curve| curve.points.last()).map(|it| (x(it.0), y(it.1.rate))).collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    for (number, (label, end)) in spread(&wanted, LINE, (top, bottom)).into_iter().zip(ends).enumerate() {
        let from = right + LEADER - 8.0;
        canvas.line("tie", (end.0 + 6.0, end.1), (from - 6.0, label));
        canvas.numbered(number, (from, label), curves[number].name);
        canvas.text("name", (from + 7.0, label + 4.0), &names[number]);
    }
    canvas.named(apart(counts.iter().map(|&threads| (x(threads), threads.to_string()))), "threads");
    canvas.finish(&format!("{title}: operations per second by threads, for {} variants", curves.len()))
}

/// From the lowest sample to the highest one.
fn spans(canvas: &mut Canvas, number: usize, x: f64, rates: &Rates, y: impl Fn(f64) -> f64) {
    let (low, high) = rates.range;
    if low > 0.0 && high > low {
        canvas.line(&format!("interval {}", hue(number)), (x, y(low)), (x, y(high)));
    }
}

/// Names below an axis, as far as none is in another one.
fn apart(names: impl Iterator<Item = (f64, String)>) -> impl Iterator<Item = (f64, String)> {
    let mut end = 0.0;
    names.filter(move |(x, name)| {
        let half = CHARACTER * (name.len() + 1) as f64 / 2.0;
        let is_free = x - half >= end;
        if is_free {
            end = x + half;
        }
        is_free
    })
}

fn shortened(name: &str) -> String {
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

const _: () = assert!(LEADER + CHARACTER * (LONGEST as f64) < WIDTH / 2.0);

#[cfg(test)]
mod tests {
    use super::super::curves::curves;
    use super::*;
    use deburr_lab::bench::record::BenchRecord;

    fn example() -> BenchRecord {
        serde_json::from_str(include_str!("example.json")).unwrap()
    }

    #[test]
    fn every_rate_has_a_mark_where_its_logarithm_is_and_every_curve_its_name() {
        let record = example();
        let figure = figure("fetch-add", &curves(&record.points));
        // Two rates and the name.
        assert_eq!(figure.matches("class=\"mark hue-0\"").count(), 3);
        assert_eq!(figure.matches("class=\"mark hue-1\"").count(), 3);
        assert_eq!(figure.matches("class=\"interval hue-0\"").count(), 2);
        for expected in [">lock xadd</text>", ">cmpxchg loop</text>", ">100 M</text>", ">threads</text>"] {
            assert!(figure.contains(expected), "{expected} in {figure}");
        }
        // From 9 M/s to 220 M/s on 182 units upwards from 212.
        let share = |rate: f64| (rate / 9e6).log10() / (220.0 / 9.0_f64).log10();
        let circles = figure.split("cy=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let places: Vec<f64> = circles.map(|place| place.parse().unwrap()).collect();
        for (place, rate) in places.into_iter().zip([2e8, 4e7]) {
            assert!((place - (212.0 - 182.0 * share(rate))).abs() < 0.06, "{place}");
        }
    }

    #[test]
    fn numbers_of_threads_that_have_no_room_are_left_out() {
        let names = (0..5).map(|at| (10.0 * f64::from(at) + 10.0, "64".to_owned()));
        assert_eq!(apart(names).map(|(x, _)| x).collect::<Vec<_>>(), [10.0, 30.0, 50.0]);
    }
}
