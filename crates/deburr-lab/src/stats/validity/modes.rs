//! Has a sample two modes? Hartigan's dip, and the split into two only where the dip says so.
//!
//! The dip is the distance from the empirical distribution F to the nearest unimodal one, which is convex
//! before its mode, concave after it, and may jump there (Hartigan & Hartigan, The dip test of unimodality,
//! Annals of Statistics 13 (1985)). It suffices to seek modes at the values. For a given d one pass says
//! where a convex G within d of F exists before the mode, and how low it can end; another, mirrored, says the
//! same of the part after it; d is narrowed down by halving. p comes from uniform samples of the same size,
//! the least favourable unimodal case in the authors' sense.

use crate::stats::distributions::random::Random;
use crate::stats::error::{Error, finite};
use crate::stats::moments;

/// Below this p there are two modes.
pub const ALARM: f64 = 0.05;

/// Samples of the null distribution by default: p has a standard error of half a point at 5 %.
pub const DRAWS: usize = 2000;

/// Larger samples are thinned to this many of their order statistics, so that a hostile one takes no longer.
const MOST: usize = 4000;

/// Beyond this size the null distribution is that of this size, scaled by the square root of the sizes'
/// ratio, to which it tends.
const SIMULATED: usize = 200;

/// A distinct value, and the share of the sample before and up to it.
#[derive(Debug, Clone, Copy)]
struct Step {
    x: f64,
    before: f64,
    up_to: f64,
}

fn steps(sorted: &[f64]) -> Vec<Step> {
    let n = sorted.len() as f64;
    let mut count = 0;
    let group = |group: &[f64]| {
        let before = count as f64 / n;
        count += group.len();
        Step { x: group.first().copied().unwrap_or(f64::NAN), before, up_to: count as f64 / n }
    };
    sorted.chunk_by(|one, other| one == other).map(group).collect()
}

/// The sample seen from the other end.
fn mirrored(steps: &[Step]) -> Vec<Step> {
    steps
        .iter()
        .rev()
        .map(|step| Step { x: -step.x, before: 1.0 - step.up_to, up_to: 1.0 - step.before })
        .collect()
}

/// For every place of the mode, the least that a convex G within `d` of F can be just before it; `None` from
/// where on there is no such G. Before the mode, G at x_j is between `up_to` − d and `before` + d; at the
/// mode only the latter holds it down.
///
/// A chord from the top of an earlier band to the bottom of a later one, drawn on, is what a convex G cannot
/// be below.
fn least_ends(
    steps: &[Step],
    d: f64,
    hull: &mut Vec<Step>,
    chords: &mut Vec<(f64, f64)>,
) -> Vec<Option<f64>> {
    const ROUNDING: f64 = 1e-13;
    hull.clear();
    chords.clear();
    let mut ends = Vec::with_capacity(steps.len());
    let mut last: Option<Step> = None;
    for step in steps {
        // Of the chords, as (height here, slope), only those that no other is both above and steeper than.
        let run = last.map_or(0.0, |last| step.x - last.x);
        let mut least = (step.before - d).max(0.0);
        for (height, slope) in chords.iter_mut() {
            *height += *slope * run;
            least = least.max(*height);
        }
        if least > step.before + d + ROUNDING {
            break;
        }
        ends.push(Some(least));
        if step.up_to - step.before > 2.0 * d + ROUNDING {
            break;
        }
        let slope = steepest(hull, step, d);
        if slope > 0.0 {
            let height = step.up_to - d;
            if !chords.iter().any(|chord| chord.0 >= height && chord.1 >= slope) {
                chords.retain(|chord| chord.0 > height || chord.1 > slope);
                chords.push((height, slope));
            }
        }
        extend(hull, *step);
        last = Some(*step);
    }
    ends.resize(steps.len(), None);
    ends
}

/// The steepest chord from the top of an earlier band to the bottom of `step`'s: it touches the hull of the
/// tops, along which slopes first grow and then fall.
fn steepest(hull: &[Step], step: &Step, d: f64) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for corner in hull.iter().rev() {
        let slope = ((step.up_to - d) - (corner.before + d)) / (step.x - corner.x);
        if slope < best {
            break;
        }
        best = slope;
    }
    best
}

/// Adds a step to the lower convex hull of the lower steps.
fn extend(hull: &mut Vec<Step>, step: Step) {
    while let [.., before, last] = hull.as_slice() {
        // The last corner stays only if the slope grows there.
        let slopes = (
            (last.before - before.before) * (step.x - last.x),
            (step.before - last.before) * (last.x - before.x),
        );
        if slopes.0 < slopes.1 {
            break;
        }
        hull.pop();
    }
    hull.push(step);
}

/// The dip of a sample, from 1/(2n) to 1/4; 0 where all values are equal.
///
/// # Errors
/// [`Error::TooFew`] of nothing, [`Error::NotFinite`].
pub fn dip(values: &[f64]) -> Result<f64, Error> {
    if values.is_empty() {
        return Err(Error::TooFew { needed: 1, got: 0 });
    }
    finite(values)?;
    Ok(dip_of_sorted(&thinned(values)))
}

fn thinned(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let every = sorted.len().div_ceil(MOST).max(1);
    if every > 1 { sorted.into_iter().skip(every / 2).step_by(every).collect() } else { sorted }
}

fn dip_of_sorted(sorted: &[f64]) -> f64 {
    let steps = steps(sorted);
    if steps.len() < 2 {
        return 0.0;
    }
    let mirror = mirrored(&steps);
    let (mut hull, mut chords) = (Vec::with_capacity(steps.len()), Vec::new());
    let mut unimodal = |d: f64| {
        let before = least_ends(&steps, d, &mut hull, &mut chords);
        let after = least_ends(&mirror, d, &mut hull, &mut chords);
        // Before the mode G ends no higher than it begins after it.
        let meets = |ends: (&Option<f64>, &Option<f64>)| {
            ends.0.zip(*ends.1).is_some_and(|(before, after)| before + after <= 1.0 + 1e-12)
        };
        before.iter().zip(after.iter().rev()).any(meets)
    };
    // Nothing is nearer than half a step, and half of everything always is near enough.
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..45 {
        let middle = 0.5 * (low + high);
        if unimodal(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The dips of uniform samples: what is found where there is but one mode.
#[derive(Debug, Clone)]
pub struct Null {
    size: usize,
    dips: Vec<f64>,
}

impl Null {
    /// For samples of `size`, by `draws` uniform samples of the stream that belongs to `seed`.
    pub fn simulate(size: usize, draws: usize, seed: u64) -> Null {
        let mut random = Random::new(seed);
        let simulated = size.min(SIMULATED);
        let scale = libm::sqrt(simulated as f64 / size.max(1) as f64);
        let mut sample = vec![0.0; simulated];
        let draw = |_| {
            sample.iter_mut().for_each(|value| *value = random.uniform());
            sample.sort_by(f64::total_cmp);
            dip_of_sorted(&sample) * scale
        };
        let mut dips: Vec<f64> = (0..draws).map(draw).collect();
        dips.sort_by(f64::total_cmp);
        Null { size, dips }
    }

    /// The size of the samples.
    pub fn size(&self) -> usize {
        self.size
    }

    /// P(dip ≥ observed), with the observed one counted in: (1 + exceeding)/(1 + draws).
    pub fn p(&self, dip: f64) -> f64 {
        let below = self.dips.partition_point(|drawn| *drawn < dip - 1e-12);
        (1 + self.dips.len() - below) as f64 / (1 + self.dips.len()) as f64
    }

    /// The dip that `share` of the samples stay at or below; NaN without a draw.
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.dips.len().saturating_sub(1);
        let place = libm::floor(share.clamp(0.0, 1.0) * last as f64) as usize;
        self.dips.get(place).copied().unwrap_or(f64::NAN)
    }
}

/// One of two modes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Its share of the sample.
    pub share: f64,
    /// Mean of its values.
    pub mean: f64,
    /// Standard deviation of its values; 0 of a single one.
    pub standard_deviation: f64,
}

/// What the dip test says of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The dip.
    pub dip: f64,
    /// How probable such a dip is with one mode.
    pub p: f64,
    /// The two modes, lower one first: only where p < [`ALARM`].
    pub split: Option<(Mode, Mode)>,
}

impl Modes {
    /// Of a sample in any order.
    ///
    /// # Errors
    /// [`Error::TooFew`] of nothing, [`Error::NotFinite`].
    pub fn of(values: &[f64], seed: u64) -> Result<Modes, Error> {
        Modes::against(values, &Modes::null(values.len(), seed))
    }

    /// The null distribution for samples of so many values.
    pub fn null(values: usize, seed: u64) -> Null {
        Null::simulate(values.min(MOST), DRAWS, seed)
    }

    /// As [`Modes::of`], with a null distribution at hand for this size.
    ///
    /// # Errors
    /// As [`Modes::of`].
    pub fn against(values: &[f64], null: &Null) -> Result<Modes, Error> {
        let dip = dip(values)?;
        // Below 4 values a dip says nothing.
        let p = if values.len() < 4 { 1.0 } else { null.p(dip) };
        let split = if p < ALARM { split(values) } else { None };
        Ok(Modes { dip, p, split })
    }
}

/// The cut that leaves the least sum of squares within its two sides (Fisher, On grouping for maximum
/// homogeneity, JASA 53 (1958)); `None` where all values are equal.
fn split(values: &[f64]) -> Option<(Mode, Mode)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (n, total) = (sorted.len(), sorted.iter().sum::<f64>());
    let mean = total / n as f64;
    // Least within is most between: n₁·m₁² + n₂·m₂², of values about their mean.
    let (mut sum, mut best, mut place) = (0.0, 0.0, None);
    for (count, (value, next)) in sorted.iter().zip(sorted.iter().skip(1)).enumerate() {
        sum += value - mean;
        let (below, above) = ((count + 1) as f64, (n - count - 1) as f64);
        let between = sum * sum / below + sum * sum / above;
        if value < next && between > best {
            (best, place) = (between, Some(count + 1));
        }
    }
    let (low, high) = sorted.split_at_checked(place?)?;
    let mode = |side: &[f64]| Mode {
        share: side.len() as f64 / n as f64,
        mean: moments::mean(side),
        standard_deviation: if side.len() < 2 { 0.0 } else { moments::standard_deviation(side) },
    };
    Some((mode(low), mode(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dip_of_evenly_spread_values_is_the_least_there_is() {
        for n in [2usize, 3, 10, 50] {
            let even: Vec<f64> = (0..n).map(|i| i as f64).collect();
            assert!((dip(&even).unwrap() - 0.5 / n as f64).abs() < 1e-12, "{n}");
        }
        assert_eq!(dip(&[3.0; 7]), Ok(0.0));
        assert!(dip(&[]).is_err() && dip(&[f64::NAN]).is_err());
    }

    #[test]
    fn two_clusters_have_the_dip_of_two_atoms() {
        // Half the sample at each of two places: no unimodal distribution is nearer than 1/4.
        assert!((dip(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap() - 0.25).abs() < 1e-12);
        let apart: Vec<f64> = (0..40).map(|i| f64::from(i % 2) * 1000.0 + f64::from(i) * 1e-3).collect();
        assert!((dip(&apart).unwrap() - 0.25).abs() < 0.02);
    }

    /// Whether a unimodal G within `d` exists with its mode at `mode`, by trying every chord: slow and plain.
    fn by_chords(steps: &[Step], mirror: &[Step], mode: usize, d: f64) -> bool {
        let end = |steps: &[Step], mode: usize| {
            let (mut least, mut exists) = ((steps[mode].before - d).max(0.0), true);
            for j in 0..mode {
                exists &= steps[j].up_to - d <= steps[j].before + d + 1e-12;
                for i in 0..j {
                    let slope = (steps[j].up_to - steps[i].before - 2.0 * d) / (steps[j].x - steps[i].x);
                    for l in j + 1..=mode {
                        let drawn_on = steps[j].up_to - d + slope * (steps[l].x - steps[j].x);
                        exists &= drawn_on <= steps[l].before + d + 1e-12;
                    }
                    if slope > 0.0 {
                        least = least.max(steps[j].up_to - d + slope * (steps[mode].x - steps[j].x));
                    }
                }
            }
            exists.then_some(least)
        };
        let (before, after) = (end(steps, mode), end(mirror, steps.len() - 1 - mode));
        before.zip(after).is_some_and(|(before, after)| before + after <= 1.0 + 1e-12)
    }

    #[test]
    fn one_pass_agrees_with_all_chords_of_all_modes() {
        let mut random = Random::new(2);
        for round in 0..300 {
            let n = 2 + round % 17;
            let coarse = round % 3 == 0;
            let mut sample: Vec<f64> = (0..n)
                .map(|_| {
                    if coarse {
                        (random.uniform() * 8.0).floor()
                    } else {
                        random.normal() + 5.0 * random.uniform().round()
                    }
                })
                .collect();
            sample.sort_by(f64::total_cmp);
            if sample[0] == sample[n - 1] {
                continue;
            }
            let found = dip_of_sorted(&sample);
            let steps = steps(&sample);
            let mirror = mirrored(&steps);
            let exists = |d: f64| (0..steps.len()).any(|mode| by_chords(&steps, &mirror, mode, d));
            assert!(exists(found + 1e-9) && !exists(found - 1e-9), "{sample:?}: {found}");
        }
    }

    #[test]
    fn quantiles_of_the_null_distribution_are_the_published_ones() {
        // Critical values of the dip of uniform samples: Maechler, diptest, table qDiptab (a million samples
        // each).
        let published = [
            (10, 0.50, 0.097_781_763),
            (10, 0.95, 0.139_611_395),
            (15, 0.95, 0.118_760_769),
            (20, 0.95, 0.105_130_218),
            (50, 0.50, 0.048_851_155),
            (50, 0.95, 0.070_273_788),
            (100, 0.99, 0.059_024_132),
            (500, 0.95, 0.023_729_474),
        ];
        for (size, share, value) in published {
            let found = Null::simulate(size, 10_000, 9).quantile(share);
            let tolerance = if share > 0.98 || size > SIMULATED { 0.03 } else { 0.015 };
            assert!(
                (found / value - 1.0).abs() < tolerance,
                "n = {size}, {share}: {found}, published {value}"
            );
        }
    }

    #[test]
    fn two_modes_are_split_and_one_is_not() {
        let mut random = Random::new(4);
        let one: Vec<f64> = (0..40).map(|_| 100.0 + random.normal()).collect();
        assert_eq!(Modes::of(&one, 1).unwrap().split, None);
        let two: Vec<f64> =
            (0..40).map(|i| if i % 4 == 0 { 110.0 } else { 100.0 } + random.normal()).collect();
        let found = Modes::of(&two, 1).unwrap();
        let (low, high) = found.split.unwrap();
        assert!((low.share - 0.75).abs() < 1e-12 && (low.mean - 100.0).abs() < 1.0, "{found:?}");
        assert!((high.mean - 110.0).abs() < 1.5 && high.standard_deviation < 2.0);
        assert_eq!(Modes::of(&[1.0, 9.0], 1).unwrap().split, None);
    }

    #[test]
    fn false_alarms_are_rare_on_normal_noise() {
        let mut random = Random::new(8);
        for n in [15, 30, 40] {
            let null = Null::simulate(n, DRAWS, 1);
            let fired = (0..2000).filter(|_| {
                let sample: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                Modes::against(&sample, &null).unwrap().split.is_some()
            });
            let fired = fired.count();
            assert!(fired <= 20, "n = {n}: {fired} of 2000");
        }
    }
}
