//! Runs → what is said of them: the only place where measuring and statistics meet.
//!
//! In: the values of A and B for one metric, in pairs or not, and what is known of their order and of the
//! load meanwhile. Out: a [`Comparison`], with the verdict by the pairs, the four numbers paired and
//! unpaired, what benchstat would say, and the warnings.

mod conditions;
pub mod functions;
pub mod history;
mod percentile;
mod progress;
mod series;
mod shape;
mod standing;

use crate::measure::pairs::Pair;
use crate::side::Side;
use crate::stats::benchstat::{self, Assumption, Summary, Upstream};
use crate::stats::drift::{self, Drift};
use crate::stats::effect::{Difference, Effect};
use crate::stats::holm;
use crate::stats::modes::Modes;
use crate::stats::placement::Placement;
use crate::stats::tails::Tails;
use crate::stats::unpaired::{self, Arm};
use crate::stats::verdict::{self, Order, Outcome, Rule, Verdict};
use crate::stats::warning::Warning;
use crate::stats::{Direction, Error, Probabilities};
pub use conditions::{Conditions, Stolen};
pub use percentile::{Percentile, percentiles};
pub use progress::{Ending, Progress, progress};
pub use series::{Reading, Series, pooled, series};
pub use shape::{Quantile, Shape};
use standing::{Standing, limit, sequence};

/// The confidence of benchstat's intervals.
const CONFIDENCE: f64 = 0.95;
/// The p that benchstat prints `~` above.
const ALPHA: f64 = 0.05;

/// What is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The metric's name.
    pub name: String,
    /// Its unit, as people write it; empty where it has none.
    pub unit: String,
    /// Whether more or less is better.
    pub direction: Direction,
}

/// What is said of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What was compared.
    pub question: Question,
    /// By the pairs; `None` where there are none.
    pub verdict: Option<Verdict>,
    /// The four numbers of two separate samples; `None` where a side has fewer than two runs.
    pub unpaired: Option<Probabilities>,
    /// Medians of A and B with their intervals, as benchstat has them.
    pub sides: [Summary; 2],
    /// What benchstat says of the difference.
    pub benchstat: benchstat::Comparison,
    /// Its p with Holm's correction for the other metrics.
    pub adjusted_p: f64,
    /// Reasons to doubt it.
    pub warnings: Vec<Warning>,
    /// What placement alone does to A, where that was measured: the region of equivalence has room for it.
    pub placement: Option<Placement>,
    /// What was compared, run by run.
    pub series: Series,
    /// The same as a figure shows it.
    pub shape: Shape,
}

/// How several metrics share the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The first one has all of it, since it decides; the others share as much among themselves, and say
    /// nothing about the first.
    Primary,
    /// All of them share it.
    Equal,
}

impl Comparison {
    /// What is said of B.
    pub fn outcome(&self) -> Outcome {
        self.verdict.as_ref().map_or(Outcome::Inconclusive, |verdict| verdict.outcome)
    }

    /// By how much B differs from A, as a fraction of A in the metric's own unit, with the interval that the
    /// verdict follows from: −0.03 of a time is a time shorter by 3 %. By the pairs where there are some,
    /// else of the medians and without an interval.
    pub fn change(&self) -> (f64, Option<(f64, f64)>) {
        let Some(verdict) = &self.verdict else {
            let [a, b] = self.sides.each_ref().map(|side| side.center);
            return (b / a - 1.0, None);
        };
        let turned = |ratio: f64| self.question.direction.change(ratio);
        let interval = verdict.effect.interval.map(|(low, high)| {
            let (one, other) = (turned(low), turned(high));
            (one.min(other), one.max(other))
        });
        (turned(verdict.effect.estimate), interval)
    }

    /// By how much the first run of a pair differs from the second, whoever it is, on the same scale; `None`
    /// where that is not known.
    pub fn first_run(&self) -> Option<f64> {
        let ahead = self.verdict.as_ref()?.position?.second_ahead?;
        Some(self.question.direction.change(-ahead))
    }
}

/// How small a difference a machine can show: what pairs of one command with itself show.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitness {
    /// The standard deviation of the pairs' ratios, as a fraction.
    pub noise: f64,
    /// Processors that others kept busy, on average; `None` where the kernel does not report it, or the runs
    /// were too short.
    pub foreign: Option<f64>,
    /// The share of the wall time that a hypervisor took; `None` where the kernel does not report it.
    pub stolen: Option<f64>,
    /// How long was waited for a quiet machine before each run, on average, in seconds.
    pub waited: f64,
    /// For some numbers of pairs, the smallest effect that they would probably prove, as a fraction, and how
    /// long they take, in seconds.
    pub resolves: Vec<(usize, f64, f64)>,
}

/// What pairs of one command with itself show, which compare as `comparison`.
pub fn fitness(pairs: &[Pair], comparison: &Comparison, rule: &Rule) -> Option<Fitness> {
    let noise = comparison.verdict.as_ref()?.posterior.standard_deviation();
    let runs = || pairs.iter().flat_map(|pair| &pair.runs);
    let per_pair = runs().map(|run| run.usage.wall + run.waited).sum::<f64>() / pairs.len() as f64;
    let resolves = rule.analyses().iter().map(|&pairs| {
        let effect = verdict::resolvable(noise, pairs, rule.rope()).exp_m1();
        (pairs, effect, per_pair * pairs as f64)
    });
    Some(Fitness {
        noise: noise.exp_m1(),
        foreign: conditions::foreign(runs()),
        stolen: conditions::stolen(runs()),
        waited: runs().map(|run| run.waited).sum::<f64>() / (2 * pairs.len()) as f64,
        resolves: resolves.collect(),
    })
}

/// Compares; `upstream` is whether what benchstat says has its faults.
///
/// # Errors
/// [`Error`], where a value is no positive number, or there are too few.
pub fn compare(
    question: Question,
    series: &Series,
    rule: &Rule,
    seed: u64,
    upstream: Upstream,
) -> Result<Comparison, Error> {
    let [a, b] = series.values.each_ref();
    // How far B is ahead may differ between the points of a sweep, which moves and splits both sides: each
    // point is tested by itself.
    let is_one = !rule.is_over_several();
    let drift = drift_of(series);
    let drifts = is_one && drift.fires();
    let mut warnings = Vec::new();
    let pairs =
        if series.order == Order::Interleaved { series.differences(question.direction)? } else { Vec::new() };
    let rule = &*standing::in_force(rule, series)?;
    let Standing { limit, interval } = Standing::of(limit(series, drifts, &pairs), series, &pairs, rule)?;
    let verdict = match series.order {
        Order::Interleaved => {
            let found = sequence(&pairs, rule)?.verdict(limit, seed)?;
            Some(match interval {
                // With room for what the load may have done.
                Some(_) => Verdict { effect: Effect { interval, ..found.effect }, ..found },
                None => found,
            })
        }
        Order::Blocked | Order::Unknown => {
            warnings.extend(limit.map(Warning::Limited));
            None
        }
    };
    if series.order == Order::Interleaved && is_one {
        let tails = Tails::of(question.direction, [a, b], rule.rope())?;
        warnings.extend(tails.map(Warning::OtherTail));
    }
    warnings.extend(verdict.iter().flat_map(|verdict| verdict.warnings.iter().copied()));
    if drifts {
        warnings.push(Warning::Drift { p: drift.p() });
    }
    let alone: &[&Vec<f64>] = if is_one { &[a, b] } else { &[] };
    // One null distribution serves both sides, as long as they have as many runs.
    let null = alone.first().map(|values| Modes::null(values.len(), seed));
    for values in alone {
        let modes = match &null {
            Some(null) if values.len() == a.len() => Modes::against(values, null)?,
            _ => Modes::of(values, seed)?,
        };
        if let Some((low, high)) = modes.split {
            warnings.push(Warning::TwoModes {
                p: modes.p,
                centres: (low.mean, high.mean),
                upper: high.share,
            });
        }
    }
    let foreign = series.contaminated.saturating_sub(series.stolen.pairs);
    if series.is_under_load {
        let (disturbed, pairs) = (series.contaminated, a.len());
        warnings.push(Warning::UnderLoad { disturbed, pairs, region: rule.rope().relative() });
    } else if foreign > 0 {
        warnings.push(Warning::ForeignLoad { contaminated: foreign, pairs: a.len() });
    }
    if series.stolen.pairs > 0 {
        let Stolen { pairs, shares } = series.stolen;
        warnings.push(Warning::Stolen { pairs, of: a.len(), shares });
    }
    if interval.is_some() {
        warnings.push(Warning::Withstands);
    }
    let summary = |values: &[f64]| benchstat::summary(values, Assumption::Nothing, CONFIDENCE, upstream);
    let arm = |values: &[f64]| question.direction.orient_all(values).and_then(|values| Arm::of(&values));
    let unpaired = arm(a).ok().zip(arm(b).ok());
    let unpaired = unpaired.map(|(a, b)| unpaired::probabilities(&a, &b, rule.rope()));
    let compared = benchstat::compare(a, b, Assumption::Nothing, ALPHA, upstream)?;
    let sides = [summary(a)?, summary(b)?];
    let posterior = verdict.as_ref().map(|verdict| &verdict.posterior);
    let ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
    let shape = Shape::of(question.direction, rule.rope(), &ratios, posterior, &series.values);
    Ok(Comparison {
        question,
        verdict,
        unpaired,
        sides,
        adjusted_p: compared.p,
        benchstat: compared,
        warnings,
        placement: None,
        series: series.clone(),
        shape,
    })
}

/// What is said of B, and nothing else of what [`compare`] says.
///
/// # Errors
/// As [`compare`].
pub fn outcome(direction: Direction, series: &Series, rule: &Rule) -> Result<Outcome, Error> {
    let pairs = if series.order == Order::Interleaved { series.differences(direction)? } else { Vec::new() };
    let drifts = !rule.is_over_several() && drift_of(series).fires();
    let rule = &*standing::in_force(rule, series)?;
    let decided = sequence(&pairs, rule)?.decision().map(|decision| decision.outcome);
    let standing = Standing::of(limit(series, drifts, &pairs), series, &pairs, rule)?;
    Ok(decided.filter(|_| standing.limit.is_none()).unwrap_or(Outcome::Inconclusive))
}

/// Whether the machine drifted, by the runs as they came.
fn drift_of(series: &Series) -> Drift {
    let sequence: Vec<(Side, f64)> =
        series.sequence.iter().map(|reading| (reading.side, reading.value)).collect();
    match series.order {
        Order::Blocked => Drift::within_sides(&sequence),
        Order::Interleaved | Order::Unknown => Drift::of(&drift::residuals(&sequence)),
    }
}

/// Compares several metrics with Holm's correction, each by its own rule, which is given with the error of
/// all. A metric that cannot be compared takes no share of it.
pub fn compare_all(
    metrics: &[(Question, Series, Rule)],
    family: Family,
    seed: u64,
    upstream: Upstream,
) -> Vec<Result<Comparison, Error>> {
    let first = usize::from(family == Family::Primary);
    let levels = levels(metrics, first);
    let compared = metrics.iter().zip(levels).map(|((question, series, rule), level)| {
        compare(question.clone(), series, &rule.with_alpha(level)?, seed, upstream)
    });
    let mut compared: Vec<Result<Comparison, Error>> = compared.collect();
    let mut members: Vec<&mut Comparison> = compared.iter_mut().skip(first).flatten().collect();
    let p: Vec<f64> = members.iter().map(|comparison| comparison.benchstat.p).collect();
    for (comparison, p) in members.iter_mut().zip(holm::adjusted(&p)) {
        comparison.adjusted_p = p;
    }
    compared
}

/// The error that is each metric's own: those from the `first` on share it, as far as they have pairs.
fn levels(metrics: &[(Question, Series, Rule)], first: usize) -> Vec<f64> {
    let pairs = |(question, series, _): &(Question, Series, Rule)| {
        let pairs = series.differences(question.direction).ok()?;
        (series.order == Order::Interleaved).then_some(pairs)
    };
    let paired: Vec<(usize, Vec<Difference>)> = metrics
        .iter()
        .enumerate()
        .skip(first)
        .filter_map(|(index, metric)| pairs(metric).map(|pairs| (index, pairs)))
        .collect();
    let judged: Vec<(&Rule, &[Difference])> = paired
        .iter()
        .filter_map(|(index, pairs)| metrics.get(*index).map(|(_, _, rule)| (rule, pairs.as_slice())))
        .collect();
    let mut levels: Vec<f64> = metrics.iter().map(|(_, _, rule)| rule.alpha()).collect();
    // Alone, a metric has all of the error.
    if judged.len() < 2 {
        return levels;
    }
    // What has no level cannot be compared either, and says so then.
    for ((index, _), level) in paired.iter().zip(holm::levels(&judged).unwrap_or_default()) {
        if let Some(place) = levels.get_mut(*index) {
            *place = level;
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rope;
    use crate::stats::random::Random;

    /// A metric of 16 pairs whose B is better by a share of `by`.
    fn metric(name: &str, by: f64, spread: f64, seed: u64) -> (Question, Series, Rule) {
        let mut random = Random::new(seed);
        let a: Vec<f64> = (0..16).map(|_| 100.0 * (1.0 + 0.001 * random.normal())).collect();
        let b = a.iter().map(|a| a * (1.0 + by + spread * random.normal())).collect();
        let question = Question { name: name.to_owned(), unit: String::new(), direction: Direction::Larger };
        let order = Order::Interleaved;
        let series = Series::of([a, b], order);
        (question, series, Rule::once(Rope::ONE_PERCENT, 16).unwrap())
    }

    fn outcomes(metrics: &[(Question, Series, Rule)], family: Family) -> Vec<Outcome> {
        compare_all(metrics, family, 1, Upstream::Corrected)
            .iter()
            .map(|found| found.as_ref().unwrap().outcome())
            .collect()
    }

    #[test]
    fn a_metric_among_many_needs_more_evidence_unless_it_decides() {
        // The weakest effect that is proven alone.
        let weak = (0..40)
            .map(|step| metric("weak", 0.01 + f64::from(step) * 5e-4, 0.01, 3))
            .find(|weak| outcomes(std::slice::from_ref(weak), Family::Equal) == [Outcome::Better])
            .unwrap();
        let noise = |seed| metric("noise", 0.01, 0.05, seed);
        let metrics = [weak.clone(), noise(4), noise(5), noise(6)];
        assert_eq!(outcomes(&metrics, Family::Equal), [Outcome::Inconclusive; 4]);
        assert_eq!(outcomes(&metrics, Family::Primary)[0], Outcome::Better);
        let strong = metric("strong", 0.2, 0.01, 7);
        assert_eq!(outcomes(&[weak, strong], Family::Equal), [Outcome::Better; 2]);
    }

    #[test]
    fn a_metric_without_ratios_takes_no_share_of_the_error() {
        let good = metric("good", 0.2, 0.01, 7);
        let mut zero = metric("zero", 0.0, 0.01, 8);
        zero.1.values[0][3] = 0.0;
        let found = compare_all(&[good.clone(), zero], Family::Equal, 1, Upstream::Corrected);
        let alone = compare_all(&[good], Family::Equal, 1, Upstream::Corrected);
        assert_eq!(found[0], alone[0]);
        assert_eq!(found[1], Err(Error::NotPositive { index: 3, value: 0.0 }));
    }

    #[test]
    fn p_values_are_corrected_as_holm_has_it() {
        let metrics: Vec<_> = (0..3).map(|seed| metric("x", 0.002, 0.002, 20 + seed)).collect();
        let found: Vec<Comparison> = compare_all(&metrics, Family::Equal, 1, Upstream::Corrected)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let p: Vec<f64> = found.iter().map(|found| found.benchstat.p).collect();
        let corrected: Vec<f64> = found.iter().map(|found| found.adjusted_p).collect();
        assert_eq!(corrected, holm::adjusted(&p));
        let first = &compare_all(&metrics, Family::Primary, 1, Upstream::Corrected)[0];
        assert_eq!(first.as_ref().unwrap().adjusted_p, p[0]);
    }

    fn series(a: &[f64], b: &[f64]) -> Series {
        Series { contaminated: 1, ..Series::of([a.to_vec(), b.to_vec()], Order::Interleaved) }
    }

    #[test]
    fn points_of_a_sweep_are_pooled_as_multiples_of_their_means() {
        let pooled =
            pooled(&[series(&[1.0, 1.0, 1.0], &[4.0, 4.0, 4.0]), series(&[50.0], &[200.0])]).unwrap();
        for (values, expected) in pooled.values.iter().zip([0.5, 2.0]) {
            assert_eq!(values.len(), 4);
            assert!(values.iter().all(|value| (value / expected - 1.0).abs() < 1e-12), "{values:?}");
        }
        assert_eq!(pooled.contaminated, 2);
        assert_eq!(super::pooled(&[series(&[0.0], &[1.0])]), None);
    }

    #[test]
    fn points_at_which_b_is_ahead_by_different_factors_are_neither_modes_nor_drift() {
        let mut random = Random::new(8);
        let mut noisy =
            |rate: f64| -> Vec<f64> { (0..24).map(|_| rate * (0.01 * random.normal()).exp()).collect() };
        let points: Vec<Series> = [1.0, 1.05, 3.0]
            .into_iter()
            .map(|lead| {
                let (a, b) = (noisy(10.0), noisy(10.0 * lead));
                let readings = a.iter().zip(&b).enumerate().flat_map(|(pair, (a, b))| {
                    [(Side::A, *a), (Side::B, *b)].map(|(side, value)| Reading {
                        side,
                        value,
                        began: None,
                        pair,
                        is_contaminated: false,
                    })
                });
                Series { sequence: readings.collect(), contaminated: 0, ..series(&a, &b) }
            })
            .collect();
        let question = Question { name: "x".to_owned(), unit: String::new(), direction: Direction::Larger };
        let rule = Rule::over(Rope::ONE_PERCENT, &[24; 3]).unwrap();
        let all = super::pooled(&points).unwrap();
        assert_eq!(all.sequence.last().map(|reading| reading.pair), Some(71));
        let found = compare(question, &all, &rule, 1, Upstream::Corrected).unwrap();
        let is_of_the_machine =
            |warning: &Warning| matches!(warning, Warning::Drift { .. } | Warning::TwoModes { .. });
        assert!(!found.warnings.iter().any(is_of_the_machine), "{:?}", found.warnings);
    }

    #[test]
    fn a_change_is_in_the_unit_of_the_metric() {
        let a: Vec<f64> = (0..20).map(|index| 10.0 + f64::from(index % 3)).collect();
        let b: Vec<f64> = a.iter().map(|value| value * 1.25).collect();
        let rule = Rule::once(Rope::ONE_PERCENT, 20).unwrap();
        for (direction, outcome) in
            [(Direction::Larger, Outcome::Better), (Direction::Smaller, Outcome::Worse)]
        {
            let question = Question { name: "x".to_owned(), unit: String::new(), direction };
            let found = compare(question, &series(&a, &b), &rule, 1, Upstream::Corrected).unwrap();
            let (change, interval) = found.change();
            assert_eq!(found.outcome(), outcome);
            assert!((change - 0.25).abs() < 1e-12, "{change}");
            assert!(interval.is_some_and(|(low, high)| low <= change && high >= change));
        }
    }
}
