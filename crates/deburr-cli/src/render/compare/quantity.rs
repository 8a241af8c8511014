//! Numbers with units, as people read them.
//!
//! In: values of a comparison, in seconds, bytes or ratios. Out: text of four digits with a unit, and
//! percentages. The renderers of `deburr compare` take the numbers of a comparison from here, so that they say the same;
//! amounts by function are [`by_function`](crate::render::by_function)'s.

use deburr_lab::comparison::Comparison;
use deburr_lab::stats::Direction;
use deburr_lab::stats::effect::Effect;
use deburr_lab::stats::placement::Placement;
use deburr_lab::stats::position::Position;
use deburr_lab::stats::verdict::Verdict;

/// Units of time, of memory and of its transfer, the largest first, in seconds and bytes.
const TIMES: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
const SIZES: [(f64, &str); 4] = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
const BANDWIDTHS: [(f64, &str); 4] =
    [(1_073_741_824.0, "GiB/s"), (1_048_576.0, "MiB/s"), (1024.0, "KiB/s"), (1.0, "B/s")];

/// A value with four digits and its unit: `12.34 ms`, `1.500 MiB`, `8123 1/s`.
pub(crate) fn shown(value: f64, unit: &str) -> String {
    let (step, unit) = scale(value, unit);
    if unit.is_empty() { digits(value / step) } else { format!("{} {unit}", digits(value / step)) }
}

/// The unit that such a value is best shown in, and how much of `unit` it is.
pub(super) fn scale(value: f64, unit: &str) -> (f64, &str) {
    let steps = match unit {
        "s" => TIMES,
        "B" => SIZES,
        "B/s" => BANDWIDTHS,
        unit => return (1.0, unit),
    };
    steps.into_iter().find(|(step, _)| value.abs() >= *step).unwrap_or(steps[3])
}

/// The region of equivalence that a metric was judged by.
pub(super) fn region(comparison: &Comparison) -> String {
    format!("{:.1} %", 100.0 * comparison.shape.region.1)
}

/// The probability with which an interval holds the effect: `90 %`, `96.7 %`.
pub(super) fn level(level: f64) -> String {
    let tenths = (1000.0 * level).round();
    if tenths % 10.0 == 0.0 { format!("{:.0} %", tenths / 10.0) } else { format!("{:.1} %", tenths / 10.0) }
}

/// The pairs that a verdict follows from: `24 pairs`, or `16 of 24 pairs` where it did after the first of them.
pub(super) fn pairs(verdict: &Verdict) -> String {
    let Effect { interval, pairs, .. } = verdict.effect;
    match interval.is_some() && pairs < verdict.pairs {
        true => format!("{pairs} of {} pairs", verdict.pairs),
        false => format!("{} pairs", verdict.pairs),
    }
}

/// Why the effect has no interval.
pub(super) fn no_interval(verdict: &Verdict) -> &'static str {
    match verdict.limit {
        Some(_) => "what prevents a verdict prevents its own, too",
        None => "too few pairs",
    }
}

/// By how much the first run of a pair differs from the second.
pub(super) fn first_run(comparison: &Comparison) -> Option<f64> {
    // −0 is 0 for who reads it.
    comparison.first_run().map(|effect| effect + 0.0)
}

/// In which order the runs were made, and what that did.
pub(super) fn position(comparison: &Comparison) -> Option<String> {
    let verdict = comparison.verdict.as_ref()?;
    let Position { first: [a, b], p, .. } = verdict.position?;
    let effect = first_run(comparison)
        .map(|effect| format!("; the first run of a pair against the second {} (p={p:.3})", percent(effect)));
    Some(format!("A first in {a} of {} pairs{}", a + b, effect.unwrap_or_default()))
}

/// What placement alone does, and what follows.
pub(super) fn placement(comparison: &Comparison, placement: &Placement) -> String {
    let (layouts, noise) = (placement.layouts(), 100.0 * placement.noise().exp_m1());
    match placement.deviation() {
        0.0 => format!("{layouts} layouts of A differ by no more than their runs ({noise:.2} %, sd)"),
        deviation => format!(
            "{layouts} layouts of A differ by {:.2} % (sd), so that differences count from {} on",
            100.0 * deviation.exp_m1(),
            region(comparison)
        ),
    }
}

/// A change in percent, with its sign.
pub(crate) fn percent(fraction: f64) -> String {
    // What is zero except for rounding has no sign.
    let hundredths = 100.0 * fraction;
    let text = if hundredths.abs() < 0.005 { "0.00 %".to_owned() } else { format!("{hundredths:+.2} %") };
    // A minus of its own for numbers.
    text.replace('-', "−")
}

/// Four significant digits, and all of those before the point, of which a number beyond reading has an
/// exponent instead.
fn digits(value: f64) -> String {
    let before = if value == 0.0 { 0 } else { value.abs().log10().floor() as i64 };
    if !(-6..15).contains(&before) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let after = usize::try_from(3 - before).unwrap_or_default().min(9);
    format!("{value:.after$}")
}

/// In which direction a metric is better.
pub(super) const fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::Larger => "larger",
        Direction::Smaller => "smaller",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_a_unit_that_fits() {
        assert_eq!(shown(0.012_345, "s"), "12.35 ms");
        assert_eq!(shown(61.5, "s"), "61.50 s");
        assert_eq!(shown(1.5e-10, "s"), "0.1500 ns");
        assert_eq!(shown(1_572_864.0, "B"), "1.500 MiB");
        assert_eq!(shown(303_790.0, "B/s"), "296.7 KiB/s");
        assert_eq!(shown(8123.456, "1/s"), "8123 1/s");
        assert_eq!(shown(812_345.6, ""), "812346");
        assert_eq!(shown(0.0, "s"), "0.000 ns");
        assert_eq!((shown(2.5e300, ""), shown(2.5e-9, "")), ("2.500e300".to_owned(), "2.500e−9".to_owned()));
        assert_eq!([0.9, 0.95, 0.99, 1.0 - 0.1 / 3.0].map(level), ["90 %", "95 %", "99 %", "96.7 %"]);
        assert_eq!((percent(-0.0), percent(0.00004)), ("0.00 %".to_owned(), "0.00 %".to_owned()));
        assert_eq!((percent(-0.012_34), percent(0.5)), ("−1.23 %".to_owned(), "+50.00 %".to_owned()));
    }
}
