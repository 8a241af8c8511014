//! A comparison → what figures show of it: every pair's change, the region of equivalence, and how probable
//! each change is.
//!
//! All on one scale, which is that of [`super::Comparison::change`]: by how much B differs from A, as a
//! fraction of A in the metric's own unit.

use crate::stats::paired::Posterior;
use crate::stats::{Direction, Rope};

/// Steps of a density; even, so that one is on the mean.
const STEPS: u32 = 160;
/// How much of the probability a density leaves out.
const LEFT_OUT: f64 = 0.01;
/// Standard errors that it reaches on both sides of its mean: at least, and at most, where few pairs make
/// endless tails.
const REACH: (f64, f64) = (4.0, 8.0);

/// What figures show.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The change of each pair, in the order of the pairs; none where there are no pairs.
    pub changes: Vec<f64>,
    /// Ends of the region of equivalence, the lower one first.
    pub region: (f64, f64),
    /// Changes, increasing, with the density of the posterior per unit of change; the region's ends are among
    /// them where they are within reach. Empty where there are no pairs, or no two of them differ.
    pub density: Vec<(f64, f64)>,
    /// Both sides quantile by quantile, increasing; none with fewer than four values a side.
    pub quantiles: Vec<Quantile>,
}

/// What a share of each side's values is below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// From 0 to 1.
    pub share: f64,
    /// Of A and B, in the metric's unit: the median-unbiased estimate (Hyndman & Fan, Sample quantiles in
    /// statistical packages, American Statistician 50 (1996), definition 8).
    pub values: [f64; 2],
}

impl Quantile {
    /// By how much B's differs from A's, as a fraction; `None` from 0.
    pub fn change(&self) -> Option<f64> {
        let [a, b] = self.values;
        Some(b / a - 1.0).filter(|change| change.is_finite())
    }
}

impl Shape {
    /// From log ratios, positive where B is better, and θ given them.
    pub(super) fn of(
        direction: Direction,
        rope: Rope,
        log_ratios: &[f64],
        posterior: Option<&Posterior>,
        values: &[Vec<f64>; 2],
    ) -> Shape {
        let edge = rope.half_width();
        let mut density = posterior.map(|posterior| density(direction, edge, posterior)).unwrap_or_default();
        density.retain(|(change, density)| change.is_finite() && density.is_finite());
        Shape {
            changes: log_ratios.iter().map(|ratio| direction.change(*ratio)).collect(),
            region: (libm::expm1(-edge), libm::expm1(edge)),
            density,
            quantiles: quantiles(values),
        }
    }
}

/// As many as the smaller side has values for: quartiles, deciles, or every twentieth.
fn quantiles(values: &[Vec<f64>; 2]) -> Vec<Quantile> {
    let parts = match values.iter().map(Vec::len).min().unwrap_or(0) {
        0..4 => return Vec::new(),
        4..10 => 4,
        10..20 => 10,
        _ => 20,
    };
    let sorted = values.each_ref().map(|values| {
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    });
    let at = |part: u32| {
        let share = f64::from(part) / f64::from(parts);
        Quantile { share, values: sorted.each_ref().map(|sorted| quantile(sorted, share)) }
    };
    (1..parts).map(at).collect()
}

/// What a share of some sorted values is below, as [`Quantile`] has it.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = 1.0 / 3.0 + share * (sorted.len() as f64 + 1.0 / 3.0);
    let (whole, part) = (libm::floor(place), place - libm::floor(place));
    let last = sorted.len().saturating_sub(1);
    let nth = |order: usize| sorted.get(order.saturating_sub(1).min(last)).copied().unwrap_or(f64::NAN);
    let (below, above) = (nth(whole as usize), nth(whole as usize + 1));
    below * (1.0 - part) + above * part
}

fn density(direction: Direction, edge: f64, posterior: &Posterior) -> Vec<(f64, f64)> {
    let error = posterior.standard_error();
    let Ok((low, high)) = posterior.interval(1.0 - LEFT_OUT) else { return Vec::new() };
    if error.is_nan() || error <= 0.0 {
        return Vec::new();
    }
    let reach = ((high - low) / 2.0).clamp(REACH.0 * error, REACH.1 * error);
    let step = |index: u32| posterior.mean() + reach * (2.0 * f64::from(index) / f64::from(STEPS) - 1.0);
    let mut places: Vec<f64> = (0..=STEPS).map(step).collect();
    let within = [-edge, edge].into_iter().filter(|edge| (edge - posterior.mean()).abs() < reach);
    places.extend(within);
    if direction == Direction::Smaller {
        // There a larger ratio is a smaller change.
        places.sort_by(|one, other| other.total_cmp(one));
    } else {
        places.sort_by(f64::total_cmp);
    }
    places.dedup();
    // θ = ± ln(1 + change), so that a unit of change is 1/(1 + change) of θ.
    let at = |theta: f64| {
        let change = direction.change(theta);
        (change, posterior.density(theta) / (1.0 + change))
    };
    places.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    const RATIOS: [f64; 6] = [-0.03, -0.02, -0.025, -0.01, -0.03, -0.015];

    #[test]
    fn the_area_below_a_density_is_the_probability() {
        let posterior = Posterior::of(&RATIOS).unwrap();
        let numbers = posterior.probabilities(Rope::ONE_PERCENT);
        for direction in [Direction::Larger, Direction::Smaller] {
            let shape = Shape::of(direction, Rope::ONE_PERCENT, &RATIOS, Some(&posterior), &NONE);
            let (low, high) = shape.region;
            let area = |keep: &dyn Fn(f64) -> bool| -> f64 {
                let steps = shape.density.windows(2).filter(|step| keep((step[0].0 + step[1].0) / 2.0));
                steps.map(|step| (step[1].0 - step[0].0) * (step[0].1 + step[1].1) / 2.0).sum()
            };
            assert!((area(&|_| true) - (1.0 - LEFT_OUT)).abs() < 2e-3, "{}", area(&|_| true));
            assert!((area(&|change| change > low && change < high) - numbers.same).abs() < LEFT_OUT);
            let below = if direction == Direction::Larger { numbers.worse } else { numbers.better };
            assert!((area(&|change| change < low) - below).abs() < LEFT_OUT);
        }
    }

    #[test]
    fn changes_are_those_of_the_metric_and_the_region_is_its_two_ends() {
        let shape = Shape::of(Direction::Smaller, Rope::ONE_PERCENT, &RATIOS, None, &NONE);
        assert!((shape.changes[0] - 0.03f64.exp_m1()).abs() < 1e-15);
        assert!((shape.region.0 + 0.01 / 1.01).abs() < 1e-15 && (shape.region.1 - 0.01).abs() < 1e-15);
        assert!(shape.density.is_empty());
    }

    #[test]
    fn quantiles_are_those_of_both_sides_and_as_many_as_there_are_values_for() {
        let a: Vec<f64> = (1..=19).rev().map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| 1.5 * value).collect();
        let found = quantiles(&[a.clone(), b]);
        assert_eq!(found.len(), 9);
        assert!(found.iter().all(|at| at.change().is_some_and(|change| (change - 0.5).abs() < 1e-12)));
        assert!((found[4].values[0] - 10.0).abs() < 1e-12, "{found:?}");
        // 1/3 + 0.1 · 19⅓ = 2.266…
        assert!((found[0].values[0] - (1.0 / 3.0 + 0.1 * (19.0 + 1.0 / 3.0))).abs() < 1e-12);
        assert_eq!(quantiles(&[a.clone(), vec![1.0; 3]]), []);
        assert_eq!(quantiles(&[vec![0.0; 4], a]).iter().filter_map(Quantile::change).count(), 0);
    }

    #[test]
    fn pairs_without_spread_have_no_density_and_wild_ones_only_numbers() {
        for ratios in [[0.02; 3], [-700.0, 0.0, 900.0]] {
            let posterior = Posterior::of(&ratios).unwrap();
            let shape = Shape::of(Direction::Larger, Rope::ONE_PERCENT, &ratios, Some(&posterior), &NONE);
            let finite = |(change, density): &(f64, f64)| change.is_finite() && density.is_finite();
            assert!(shape.density.iter().all(finite), "{:?}", shape.density);
            assert_eq!(shape.density.is_empty(), ratios[0] == 0.02);
        }
    }
}
