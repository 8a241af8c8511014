//! Profiles of A and B, and what a run of each took → what each function gained or lost.
//!
//! In: two profiles that count the same, the times of the runs that were measured, and how functions are named. Out: a
//! [`FunctionTimes`]: for each function its time on both sides and the difference, with the error that sampling leaves and
//! a verdict. Functions with equal names are one. The kernel, and what has no name, are rows of their own.
//!
//! A sample is in a function or not, so a share of n samples has the variance p(1 − p)/n; where samples have weights w it is
//! Σ w²(x − p)² / (Σ w)², x being 1 within the function and 0 elsewhere (Hájek's estimator of a ratio). One more sample is
//! added to that, so that a function that was never seen has an error, too. A time is a share of the mean time of a run, and
//! its error has that of the mean. Few runs estimate their own spread badly, so the difference has a t distribution, with
//! the degrees of freedom of Welch and Satterthwaite. As many functions are compared at once, a change counts where Holm's
//! correction leaves its p below 5 %, and there are as many runs as a verdict on their times needs.

use crate::readers::profile::{Profile, ProfiledFunction, Unit, Weight};
use crate::stats::moments::{mean, standard_deviation};
use crate::stats::{holm, student};
use std::collections::BTreeMap;

/// What is accepted as chance, for all functions together.
const ALPHA: f64 = 0.05;

/// Runs a side below which nothing is called a change: as few as can show a difference of their times.
pub const FEWEST_RUNS: usize = 8;

/// What a function is for both sides: the name of its file, and its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionName {
    /// The file's name without folders.
    pub object: String,
    /// The function's name, without what compilers append to clones.
    pub function: String,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Portion {
    /// A function.
    Function(FunctionName),
    /// The kernel.
    Kernel,
    /// Everything that has no name.
    Nameless,
}

/// What is said of a portion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// B takes less of it.
    Gained,
    /// B takes more.
    Lost,
    /// Sampling alone may be the reason.
    Unclear,
}

/// A portion of the runs of A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct PortionTimes {
    /// What it is.
    pub portion: Portion,
    /// Its share of the profile of A and B, from 0 to 1.
    pub shares: [f64; 2],
    /// How many samples were in it; 0 where events are counted.
    pub samples: [u64; 2],
    /// Seconds of a run; or events where those are counted.
    pub amounts: [f64; 2],
    /// B's amount less A's.
    pub difference: f64,
    /// The half of the interval that has the difference with a confidence of 95 %, this portion alone; `None`: events are
    /// counted one by one, or it cannot be known.
    pub margin: Option<f64>,
    /// What is said of it, all portions considered.
    pub change: Change,
}

/// What two profiles say.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionTimes {
    /// What amounts are.
    pub unit: Unit,
    /// Seconds of a run of A and B, or all events.
    pub totals: [f64; 2],
    /// How many samples there are.
    pub samples: [u64; 2],
    /// How many runs the times are of; 0 where events are counted.
    pub runs: [usize; 2],
    /// All portions, the largest difference first.
    pub portions: Vec<PortionTimes>,
}

/// Why two profiles cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnlikeProfiles {
    /// One has samples and the other counts, or they count different events.
    Units,
}

/// What each function took on both sides. `times`: CPU times of runs of A and B in seconds, which shares are multiplied
/// by; not used where events are counted. `name` gives a function the name by which it is found on the other side.
///
/// # Errors
/// [`UnlikeProfiles`].
pub fn function_times(
    profiles: [&Profile; 2],
    times: [&[f64]; 2],
    name: &dyn Fn(&ProfiledFunction) -> FunctionName,
) -> Result<FunctionTimes, UnlikeProfiles> {
    let [a, b] = profiles;
    if a.unit != b.unit {
        return Err(UnlikeProfiles::Units);
    }
    let totals = profiles.map(Profile::total);
    let is_time = a.unit == Unit::Time;
    let runs = times.map(Run::of);
    let mut rows: Vec<PortionTimes> = Vec::new();
    let mut errors: Vec<StandardError> = Vec::new();
    for (portion, weights) in by_portion(profiles, name) {
        let sides = [0, 1].map(|side| (weights.get(side), totals.get(side), runs.get(side)));
        let mut amounts = [0.0; 2];
        let (mut shares, mut error) = ([0.0; 2], StandardError::default());
        for (((weight, total, run), amount), share) in sides.into_iter().zip(&mut amounts).zip(&mut shares) {
            let (Some(weight), Some(total), Some(run)) = (weight, total, run) else { continue };
            *share = weight.sum / total.sum;
            *amount = if is_time { *share * run.mean } else { weight.sum };
            error.add(run.mean * run.mean * share_variance(weight, total), total.samples as f64 - 1.0);
            error.add(*share * *share * run.variance, run.count - 1.0);
        }
        let [before, after] = amounts;
        rows.push(PortionTimes {
            portion,
            shares,
            samples: weights.map(|weight| weight.samples),
            amounts,
            difference: after - before,
            margin: None,
            change: Change::Unclear,
        });
        errors.push(error);
    }
    let is_enough = times.iter().all(|times| times.len() >= FEWEST_RUNS);
    judge(&mut rows, &errors, is_time, is_enough);
    rows.sort_by(|one, other| {
        other.difference.abs().total_cmp(&one.difference.abs()).then_with(|| one.portion.cmp(&other.portion))
    });
    let sums = totals.map(|total| total.sum);
    let totals_of_runs = if is_time { runs.map(|run| run.mean) } else { sums };
    Ok(FunctionTimes {
        unit: a.unit.clone(),
        totals: totals_of_runs,
        samples: totals.map(|total| total.samples),
        runs: times.map(<[f64]>::len),
        portions: rows,
    })
}

/// What runs of a side took.
#[derive(Debug, Clone, Copy)]
struct Run {
    mean: f64,
    /// Of the mean; not a number where there is one run only.
    variance: f64,
    count: f64,
}

impl Run {
    fn of(times: &[f64]) -> Run {
        let deviation = standard_deviation(times);
        let count = times.len() as f64;
        Run { mean: mean(times), variance: deviation * deviation / count, count }
    }
}

/// The standard error of a sum of independent estimates. Welch, Biometrika 34 (1947); Satterthwaite, Biometrics 2 (1946).
#[derive(Debug, Clone, Copy, Default)]
struct StandardError {
    variance: f64,
    /// Σ v²/ν.
    spread: f64,
}

impl StandardError {
    /// Adds the variance of an estimate with `freedom` degrees of freedom.
    fn add(&mut self, variance: f64, freedom: f64) {
        self.variance += variance;
        self.spread += variance * variance / freedom.max(1.0);
    }

    fn freedom(&self) -> f64 {
        let freedom = self.variance * self.variance / self.spread;
        if freedom.is_finite() { freedom.max(1.0) } else { 1.0 }
    }

    /// Two-sided.
    fn p(&self, difference: f64) -> f64 {
        2.0 * student::survival((difference / self.variance.sqrt()).abs(), self.freedom())
    }

    /// Half of the interval; `None` where it cannot be known.
    fn margin(&self) -> Option<f64> {
        let half = -student::quantile(ALPHA / 2.0, self.freedom()) * self.variance.sqrt();
        half.is_finite().then_some(half)
    }
}

/// The weights of each portion on both sides.
fn by_portion(
    profiles: [&Profile; 2],
    name: &dyn Fn(&ProfiledFunction) -> FunctionName,
) -> BTreeMap<Portion, [Weight; 2]> {
    let mut found: BTreeMap<Portion, [Weight; 2]> = BTreeMap::new();
    for (side, profile) in profiles.into_iter().enumerate() {
        let functions =
            profile.functions.iter().map(|(function, weight)| (Portion::Function(name(function)), *weight));
        let rest = [(Portion::Kernel, profile.kernel), (Portion::Nameless, profile.nameless)];
        for (portion, weight) in functions.chain(rest.into_iter().filter(|(_, weight)| weight.sum > 0.0)) {
            if let Some(place) = found.entry(portion).or_default().get_mut(side) {
                place.add(weight);
            }
        }
    }
    found
}

/// The variance of a share.
fn share_variance(weight: &Weight, total: &Weight) -> f64 {
    let share = weight.sum / total.sum;
    let spread = weight.squares * (1.0 - 2.0 * share) + share * share * total.squares;
    // One more sample of the usual weight.
    let one = total.squares / total.samples as f64;
    (spread.max(0.0) + one) / (total.sum * total.sum)
}

/// Says of each row whether it is more than chance; of none where there are not enough runs.
fn judge(rows: &mut [PortionTimes], errors: &[StandardError], is_time: bool, is_enough: bool) {
    let sign = |difference: f64| match difference {
        less if less < 0.0 => Change::Gained,
        more if more > 0.0 => Change::Lost,
        _ => Change::Unclear,
    };
    if !is_time {
        rows.iter_mut().for_each(|row| row.change = sign(row.difference));
        return;
    }
    let p: Vec<f64> = rows.iter().zip(errors).map(|(row, error)| error.p(row.difference)).collect();
    for ((row, error), p) in rows.iter_mut().zip(errors).zip(holm::adjusted(&p)) {
        row.margin = error.margin();
        if p <= ALPHA && is_enough {
            row.change = sign(row.difference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    fn weight(samples: u64) -> Weight {
        Weight { samples, sum: samples as f64, squares: samples as f64 }
    }

    fn profile(unit: Unit, functions: &[(&str, u64)], kernel: u64) -> Profile {
        let functions = functions.iter().map(|(name, samples)| {
            let function = ProfiledFunction { object: "/x/prog".to_owned(), name: (*name).to_owned() };
            (function, weight(*samples))
        });
        Profile { unit, functions: functions.collect(), kernel: weight(kernel), nameless: Weight::default() }
    }

    /// What is before the first dot.
    fn plain(function: &ProfiledFunction) -> FunctionName {
        let name = function.name.split('.').next().unwrap_or_default();
        FunctionName { object: "prog".to_owned(), function: name.to_owned() }
    }

    fn row<'t>(times: &'t FunctionTimes, name: &str) -> &'t PortionTimes {
        let is_it =
            |portion: &Portion| matches!(portion, Portion::Function(function) if function.function == name);
        times.portions.iter().find(|row| is_it(&row.portion)).unwrap()
    }

    #[test]
    fn a_time_is_a_share_of_what_a_run_takes() {
        let a = profile(Unit::Time, &[("sum", 5000), ("rest", 4000)], 1000);
        let b = profile(Unit::Time, &[("sum.constprop.0", 1000), ("sum.cold", 500), ("rest", 4000)], 500);
        let runs = [10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.0, 10.0];
        let times = function_times([&a, &b], [&runs, &[6.0; 8]], &plain).unwrap();
        assert_eq!((times.totals, times.samples), ([10.0, 6.0], [10_000, 6000]));
        let sum = row(&times, "sum");
        assert_eq!((sum.amounts, sum.samples, sum.change), ([5.0, 1.5], [5000, 1500], Change::Gained));
        assert!((sum.difference + 3.5).abs() < 1e-12);
        // By hand: 10² × 0.25/10⁴ + 0.5² × (0.04/7)/8 + 6² × 0.1875/6000, and one sample more on each side.
        let parts = [
            (100.0 * (0.25e-4 + 1e-8), 9999.0),
            (0.25 * 0.04 / 7.0 / 8.0, 7.0),
            (36.0 * (0.1875 / 6000.0 + 1.0 / 36e6), 5999.0),
        ];
        let variance: f64 = parts.iter().map(|(part, _)| part).sum();
        let freedom = variance * variance / parts.iter().map(|(part, of)| part * part / of).sum::<f64>();
        let half = -student::quantile(0.025, freedom) * variance.sqrt();
        assert!((sum.margin.unwrap() - half).abs() < 1e-6 && half > 1.959_964 * variance.sqrt(), "{sum:?}");
        assert_eq!(row(&times, "rest").change, Change::Unclear);
        assert_eq!(times.portions[0].portion, sum.portion);
        let kernel = times.portions.iter().find(|row| row.portion == Portion::Kernel).unwrap();
        assert_eq!((kernel.amounts, kernel.change), ([1.0, 0.5], Change::Gained));
        assert!(times.portions.iter().all(|row| row.portion != Portion::Nameless));
    }

    #[test]
    fn counted_events_have_no_error_and_need_no_time() {
        let events = || Unit::Events("Ir".to_owned());
        let a = profile(events(), &[("sum", 500), ("same", 7)], 0);
        let b = profile(events(), &[("sum", 400), ("same", 7), ("new", 1)], 0);
        let times = function_times([&a, &b], [&[], &[]], &plain).unwrap();
        let changes =
            ["sum", "same", "new"].map(|name| (row(&times, name).difference, row(&times, name).change));
        assert_eq!(changes, [(-100.0, Change::Gained), (0.0, Change::Unclear), (1.0, Change::Lost)]);
        assert_eq!((times.totals, row(&times, "sum").margin), ([507.0, 408.0], None));
        let other = profile(Unit::Time, &[("sum", 1)], 0);
        assert_eq!(function_times([&a, &other], [&[], &[]], &plain), Err(UnlikeProfiles::Units));
    }

    #[test]
    fn one_run_leaves_every_change_unclear() {
        let (a, b) = (profile(Unit::Time, &[("sum", 5000)], 0), profile(Unit::Time, &[("sum", 100)], 4900));
        let times = function_times([&a, &b], [&[1.0], &[1.0, 1.0]], &plain).unwrap();
        let all: Vec<(Change, Option<f64>)> =
            times.portions.iter().map(|row| (row.change, row.margin)).collect();
        assert_eq!(all, [(Change::Unclear, None), (Change::Unclear, None)]);
    }

    #[test]
    fn fewer_runs_than_a_verdict_needs_call_nothing_a_change() {
        let (a, b) = (profile(Unit::Time, &[("sum", 5000)], 0), profile(Unit::Time, &[("sum", 100)], 4900));
        for (runs, expected) in [(FEWEST_RUNS - 1, Change::Unclear), (FEWEST_RUNS, Change::Gained)] {
            let runs: Vec<f64> = (0..runs).map(|run| 1.0 + 0.001 * run as f64).collect();
            let times = function_times([&a, &b], [&runs, &runs], &plain).unwrap();
            let sum = row(&times, "sum");
            assert_eq!(sum.change, expected, "{sum:?}");
            assert!(sum.margin.is_some());
        }
    }

    /// Samples at random out of `shares`, with weights where `weighs`.
    fn sampled(random: &mut Random, shares: &[f64], count: usize, weighs: bool) -> Profile {
        let mut weights = vec![Weight::default(); shares.len()];
        for _ in 0..count {
            let at = random.uniform();
            let mut sum = 0.0;
            let place = shares.iter().position(|share| {
                sum += share;
                at < sum
            });
            let one = if weighs { 0.5 + random.uniform() } else { 1.0 };
            weights[place.unwrap_or(0)].add(Weight { samples: 1, sum: one, squares: one * one });
        }
        let functions = weights
            .into_iter()
            .enumerate()
            .map(|(at, weight)| (ProfiledFunction { object: String::new(), name: format!("f{at}") }, weight));
        Profile {
            unit: Unit::Time,
            functions: functions.filter(|(_, weight)| weight.samples > 0).collect(),
            kernel: Weight::default(),
            nameless: Weight::default(),
        }
    }

    /// A profile against another one of the same program: in at most 5 % of experiments something is called a change.
    #[test]
    fn noise_is_called_a_change_no_more_often_than_stated() {
        let mut random = Random::new(11);
        // A few large functions and many that are seen now and then.
        let mut shares = vec![0.4, 0.2, 0.1, 0.1];
        shares.extend(std::iter::repeat_n(0.2 / 60.0, 60));
        for weighs in [false, true] {
            let experiments = 400;
            let mut false_alarms = 0;
            for experiment in 0..experiments {
                let [a, b] = [0; 2].map(|_| sampled(&mut random, &shares, 1500, weighs));
                // The fewest runs, and runs that differ by more than samples do.
                let (count, spread) = [(10, 0.01), (FEWEST_RUNS, 0.2)][experiment % 2];
                let runs =
                    [0; 2].map(|_| (0..count).map(|_| 1.0 + spread * random.normal()).collect::<Vec<f64>>());
                let times = function_times([&a, &b], [&runs[0], &runs[1]], &plain).unwrap();
                false_alarms += usize::from(times.portions.iter().any(|row| row.change != Change::Unclear));
            }
            assert!(false_alarms <= experiments / 20 + 10, "{false_alarms} of {experiments}");
        }
    }

    #[test]
    fn a_function_that_gains_a_tenth_of_the_run_is_found() {
        let mut random = Random::new(12);
        let a = sampled(&mut random, &[0.4, 0.3, 0.3], 4000, false);
        let b = sampled(&mut random, &[0.3 / 0.9, 0.3 / 0.9, 0.3 / 0.9], 3600, false);
        let times = function_times(
            [&a, &b],
            [&[1.0, 1.001, 0.999, 1.0, 1.0, 1.0, 1.0, 1.0], &[0.9, 0.901, 0.899, 0.9, 0.9, 0.9, 0.9, 0.9]],
            &plain,
        )
        .unwrap();
        let changes = ["f0", "f1", "f2"].map(|name| row(&times, name).change);
        assert_eq!(changes, [Change::Gained, Change::Unclear, Change::Unclear]);
    }
}
