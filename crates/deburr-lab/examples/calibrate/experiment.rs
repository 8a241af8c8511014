//! Simulated experiments whose truth is known: noise as machines make it, runs interleaved or one side after
//! the other, and what each method of judging says of them.
//!
//! Noise is on the log scale and multiplies. Each kind has a standard deviation of 1 a run where it is
//! stationary; drift and step come on top of normal noise of 1. `pair_sd` is what it leaves in the log ratio
//! of two neighbouring runs.

use deburr_lab::measure::schedule;
use deburr_lab::side::Side;
use deburr_lab::stats::benchstat::{Assumption, Upstream, compare};
use deburr_lab::stats::drift::Drift;
use deburr_lab::stats::effect::Difference;
use deburr_lab::stats::moments::{mean, standard_deviation};
use deburr_lab::stats::paired::Posterior;
use deburr_lab::stats::placement::Placement;
use deburr_lab::stats::random::Random;
use deburr_lab::stats::unpaired::{self, Arm};
use deburr_lab::stats::verdict::{self, Order, Outcome, Rule, Sequence};
use deburr_lab::stats::{Direction, Rope, student};
use rayon::prelude::*;

/// What the machine does to runs that are all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Independent, normal.
    Normal,
    /// Independent, one of two modes.
    Bimodal,
    /// Two modes, switched with 10 % before each run.
    Sticky,
    /// First-order autoregressive, ρ = 0.8: a machine that wanders.
    Wandering,
    /// Normal, and a trend of 4 standard deviations over the experiment.
    Drift,
    /// Normal, and one step of 4 standard deviations, somewhere.
    Step,
    /// One run in ten is slower, by an exponentially distributed amount; the rest is calm.
    Spikes,
    /// Calm, except for a regime that flips with 5 % before each run.
    Flips,
    /// Student's t of 2 degrees of freedom, whose variance is infinite, and a trend of 4 standard deviations
    /// of a normal one.
    TailedDrift,
    /// Normal, and the first run of a pair is slower by three times what two neighbouring runs differ by
    /// (sd).
    Position,
    /// Runs so short that the clock has steps of one standard deviation, and some of which the scheduler
    /// delays.
    Short,
}

/// All of them, in the order of the table.
pub(crate) const NOISES: [Noise; 11] = [
    Noise::Normal,
    Noise::Bimodal,
    Noise::Sticky,
    Noise::Wandering,
    Noise::Drift,
    Noise::Step,
    Noise::Spikes,
    Noise::Flips,
    Noise::TailedDrift,
    Noise::Position,
    Noise::Short,
];

impl Noise {
    /// The row's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Noise::Normal => "normal",
            Noise::Bimodal => "bimodal",
            Noise::Sticky => "modes that stick (10 %)",
            Noise::Wandering => "AR(1), rho = .8",
            Noise::Drift => "linear drift, 4 sd",
            Noise::Step => "one step, 4 sd",
            Noise::Spikes => "spikes (10 %)",
            Noise::Flips => "regime flips (5 %)",
            Noise::TailedDrift => "drift with tails (t, 2 df)",
            Noise::Position => "first run slower, 3 pair sd",
            Noise::Short => "short runs, coarse clock",
        }
    }

    /// Standard deviation of the difference of two neighbouring runs, except what drift, step and the place
    /// in a pair do; of tails, which have none, that of the normal distribution in them.
    fn pair_sd(self) -> f64 {
        // A mode is at ±m with its own spread s; neighbours differ in mode with probability p: variance 4m²p
        // + 2s².
        let modes = |m: f64, s: f64, p: f64| (4.0 * m * m * p + 2.0 * s * s).sqrt();
        match self {
            Noise::Sticky => modes(0.95, 0.3123, 0.10),
            Noise::Flips => modes(0.98, 0.199, 0.05),
            Noise::Wandering => 0.4f64.sqrt(),
            _ => 2f64.sqrt(),
        }
    }

    /// Standard deviation of all runs of an experiment, what drift and step add on average included.
    fn run_sd(self) -> f64 {
        match self {
            // Uniform over 4; and 4 at a uniform share u of the series, on average over u: 16·u(1 − u).
            Noise::Drift | Noise::TailedDrift => (1.0 + 16.0 / 12.0f64).sqrt(),
            Noise::Step => (1.0 + 16.0 / 6.0f64).sqrt(),
            _ => 1.0,
        }
    }

    /// The noise of `runs` successive runs.
    fn draw(self, runs: usize, random: &mut Random) -> Vec<f64> {
        let mut state = if random.chance(0.5) { 1.0 } else { -1.0 };
        let mut wander = random.normal();
        let step_at = (random.uniform() * runs as f64) as usize;
        let mut one = |run: usize| {
            let normal = random.normal();
            match self {
                Noise::Normal => normal,
                Noise::Bimodal => 0.3123 * normal + if random.chance(0.5) { 0.95 } else { -0.95 },
                Noise::Sticky => {
                    state = if random.chance(0.10) { -state } else { state };
                    0.95 * state + 0.3123 * normal
                }
                Noise::Wandering => {
                    wander = 0.8 * wander + 0.6 * normal;
                    wander
                }
                Noise::Drift => normal + 4.0 * run as f64 / (runs - 1) as f64,
                Noise::Step => normal + if run >= step_at { 4.0 } else { 0.0 },
                // Exp(1) with probability 0.1 has a variance of 0.19.
                Noise::Spikes => {
                    0.4 * normal - if random.chance(0.1) { 2.103 * random.exponential() } else { 0.0 }
                }
                Noise::Flips => {
                    state = if random.chance(0.05) { -state } else { state };
                    0.98 * state + 0.199 * normal
                }
                // A normal over the root of an exponential: χ² of 2 degrees of freedom, over 2.
                Noise::TailedDrift => {
                    normal / random.exponential().sqrt() + 4.0 * run as f64 / (runs - 1) as f64
                }
                Noise::Position => normal - if run.is_multiple_of(2) { 3.0 * 2f64.sqrt() } else { 0.0 },
                Noise::Short => 0.7 * normal - if random.chance(0.2) { random.exponential() } else { 0.0 },
            }
        };
        (0..runs).map(&mut one).collect()
    }
}

/// One experiment: rates of both sides in the order of their own runs, and all runs in the order in which
/// they were made.
struct Runs {
    a: Vec<f64>,
    b: Vec<f64>,
    in_order: Vec<(Side, f64)>,
}

impl Runs {
    /// The pairs; of runs that were made in blocks no side was first.
    fn differences(&self, order: Order) -> Vec<Difference> {
        let ratios = Direction::Larger.log_ratios(&self.a, &self.b).unwrap();
        let first = |pair: usize| (order == Order::Interleaved).then(|| self.in_order[2 * pair].0);
        ratios.into_iter().enumerate().map(|(pair, ratio)| Difference { ratio, first: first(pair) }).collect()
    }
}

/// `pairs` runs a side; θ = `effect` is B's true log ratio, `sd` scales the noise.
fn runs(noise: Noise, order: Order, pairs: usize, sd: f64, effect: f64, random: &mut Random) -> Runs {
    let machine = noise.draw(2 * pairs, random);
    let seed = random.bits();
    let mut found = Runs { a: Vec::new(), b: Vec::new(), in_order: Vec::new() };
    for (run, noise_of_run) in machine.iter().enumerate() {
        let side = match order {
            Order::Blocked => Side::BOTH[usize::from(run >= pairs)],
            Order::Interleaved | Order::Unknown => schedule::order(seed, (run / 2) as u32)[run % 2],
        };
        let log = sd * noise_of_run + if side == Side::B { effect } else { 0.0 };
        // A time in steps; larger is better here.
        let log = if noise == Noise::Short { -((-log).exp() / sd).round().max(1.0).ln() } else { log };
        let values = if side == Side::B { &mut found.b } else { &mut found.a };
        values.push(log.exp());
        found.in_order.push((side, log));
    }
    found
}

/// The share of `experiments` for which `judge` says so, each from its own stream.
fn share(experiments: usize, seed: u64, judge: impl Fn(&mut Random) -> bool + Sync) -> f64 {
    let streams = 0..experiments as u64;
    let count = streams.into_par_iter().filter(|index| judge(&mut stream(seed, *index))).count();
    count as f64 / experiments as f64
}

/// The random numbers of an experiment.
pub(crate) fn stream(seed: u64, index: u64) -> Random {
    Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(index))
}

/// How often 15 runs of each of two equal builds are called different, with a standard deviation of 1 % a
/// run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FalseAlarms {
    /// Mann and Whitney's p < .05: benchstat.
    pub(crate) mann_whitney: f64,
    /// Mean ± standard deviation: the ratio that hyperfine prints, with its error, is not 1.
    pub(crate) mean_sd: f64,
    /// Any of the published marks.
    pub(crate) marks: f64,
    /// The paired posterior puts more than 95 % beyond either edge.
    pub(crate) paired: f64,
}

/// The first table: one row.
pub(crate) fn false_alarms(noise: Noise, order: Order, experiments: usize, seed: u64) -> FalseAlarms {
    let rope = Rope::ONE_PERCENT;
    let judged = |judge: &(dyn Fn(&Runs) -> bool + Sync)| {
        share(experiments, seed, |random| judge(&runs(noise, order, 15, 0.01 / noise.run_sd(), 0.0, random)))
    };
    FalseAlarms {
        mann_whitney: judged(&|runs| {
            compare(&runs.a, &runs.b, Assumption::Nothing, 0.05, Upstream::Corrected).unwrap().p < 0.05
        }),
        mean_sd: judged(&|runs| {
            let relative = |values: &[f64]| standard_deviation(values) / mean(values);
            let ratio = mean(&runs.b) / mean(&runs.a);
            let error = ratio * relative(&runs.a).hypot(relative(&runs.b));
            (ratio - 1.0).abs() > error
        }),
        marks: judged(&|runs| {
            let (a, b) = (Arm::of(&runs.a).unwrap(), Arm::of(&runs.b).unwrap());
            !unpaired::probabilities(&a, &b, rope).marks().text().is_empty()
        }),
        paired: judged(&|runs| {
            let d = Direction::Larger.log_ratios(&runs.a, &runs.b).unwrap();
            let found = Posterior::of(&d).unwrap().probabilities(rope);
            found.better > 0.95 || found.worse > 0.95
        }),
    }
}

/// How often the whole rule, with all interim analyses, calls two builds different, by the signed ranks and
/// by the t posterior.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Different {
    /// The verdict.
    pub(crate) ranks: f64,
    /// Its t form.
    pub(crate) mean: f64,
    /// The verdict, where it is *better* of a worse B or *worse* of a better one.
    pub(crate) wrong: f64,
}

/// The second table: one cell. The noise leaves `pair_sd` in a pair; θ = `effect`. Blocked runs are paired by
/// number, and without a verdict where they drift.
pub(crate) fn different(
    noise: Noise,
    order: Order,
    pair_sd: f64,
    effect: f64,
    experiments: usize,
    seed: u64,
) -> Different {
    let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
    let sd = pair_sd / noise.pair_sd();
    let found = outcomes(experiments, seed, |random| {
        let runs = runs(noise, order, rule.last(), sd, effect, random);
        let mut sequence = Sequence::new(rule.clone());
        for difference in runs.differences(order) {
            sequence.push(difference).unwrap();
        }
        let drifts = Drift::within_sides(&runs.in_order).fires();
        let is_limited = verdict::verdict_limit(order, drifts, 0, rule.last()).is_some();
        [sequence.decision(), sequence.decision_on_the_mean()].map(|decided| decided.filter(|_| !is_limited))
    });
    let [ranks, mean] = [0, 1].map(|form: usize| {
        let count = |said: &dyn Fn(Outcome) -> bool| {
            let said =
                found.iter().filter(|decided| decided[form].is_some_and(|decided| said(decided.outcome)));
            said.count() as f64 / experiments as f64
        };
        let away = if effect > 0.0 { Outcome::Worse } else { Outcome::Better };
        Said {
            different: count(&|said| matches!(said, Outcome::Better | Outcome::Worse)),
            wrong: if effect == 0.0 { 0.0 } else { count(&|said| said == away) },
        }
    });
    Different { ranks: ranks.different, mean: mean.different, wrong: ranks.wrong }
}

/// Shares of the experiments.
struct Said {
    different: f64,
    wrong: f64,
}

/// What ends of experiments whose verdict has become improbable cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Early {
    /// How often a verdict came, without such an end and with it.
    pub(crate) decided: [f64; 2],
    /// How many pairs were measured on average, without it and with it.
    pub(crate) pairs: [f64; 2],
}

/// The rule with and without such ends. The noise leaves `pair_sd` in a pair; θ = `effect`.
pub(crate) fn early(noise: Noise, pair_sd: f64, effect: f64, experiments: usize, seed: u64) -> Early {
    let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
    let sd = pair_sd / noise.pair_sd();
    let found = outcomes(experiments, seed, |random| {
        let pairs =
            runs(noise, Order::Interleaved, rule.last(), sd, effect, random).differences(Order::Interleaved);
        let ends = |stops: bool| {
            let mut sequence = Sequence::new(rule.clone());
            for (before, pair) in pairs.iter().enumerate() {
                let count = before + 1;
                if sequence.push(*pair).unwrap().is_some() {
                    return (1.0, count as f64);
                }
                let is_hopeless = || {
                    verdict::prospect(&pairs[..count], &rule)
                        .is_some_and(|left| left.any() < verdict::HOPELESS)
                };
                if stops && rule.analyses().contains(&count) && is_hopeless() {
                    return (0.0, count as f64);
                }
            }
            (0.0, pairs.len() as f64)
        };
        [ends(false), ends(true)]
    });
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / experiments as f64;
    Early {
        decided: [0, 1].map(|way: usize| mean(&mut found.iter().map(|ends| ends[way].0))),
        pairs: [0, 1].map(|way: usize| mean(&mut found.iter().map(|ends| ends[way].1))),
    }
}

/// What is said of each experiment, each from its own stream.
fn outcomes<T: Send>(experiments: usize, seed: u64, judge: impl Fn(&mut Random) -> T + Sync) -> Vec<T> {
    let streams = (0..experiments as u64).into_par_iter();
    streams.map(|index| judge(&mut stream(seed, index))).collect()
}

/// What happens without a stopping rule: looking after every pair from the fifth to the fortieth, normal
/// noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peeking {
    /// Until the paired t test says p < .05.
    pub(crate) p_value: f64,
    /// Until the posterior puts more than 90 % beyond an edge.
    pub(crate) bayes: f64,
}

/// The last rows of the second table.
pub(crate) fn peeking(pair_sd: f64, effect: f64, experiments: usize, seed: u64) -> Peeking {
    let sd = pair_sd / Noise::Normal.pair_sd();
    let until = |judge: &(dyn Fn(&Posterior) -> bool + Sync)| {
        share(experiments, seed, |random| {
            let runs = runs(Noise::Normal, Order::Interleaved, 40, sd, effect, random);
            let d = Direction::Larger.log_ratios(&runs.a, &runs.b).unwrap();
            (5..=40).any(|pairs| judge(&Posterior::of_independent(&d[..pairs]).unwrap()))
        })
    };
    Peeking {
        p_value: until(&|posterior| {
            let t = posterior.mean() / posterior.standard_error();
            2.0 * student::survival(t.abs(), posterior.effective_pairs() - 1.0) < 0.05
        }),
        bayes: until(&|posterior| {
            let found = posterior.probabilities(Rope::ONE_PERCENT);
            found.better > 0.9 || found.worse > 0.9
        }),
    }
}

/// How each build gets its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layouts {
    /// One each, and nothing is known of what that does.
    One,
    /// One each, after 3 rounds of 10 layouts of A, which widen the region.
    OneBehindFloor,
    /// A new one for each run.
    EachRun,
}

/// How often the rule calls two builds different that differ by θ = `effect` except for their layouts, which
/// differ by `layout_sd`; normal noise that leaves `pair_sd` in a pair, and `noise` where the floor is
/// measured.
pub(crate) fn placed(
    layouts: Layouts,
    noise: Noise,
    layout_sd: f64,
    pair_sd: f64,
    effect: f64,
    experiments: usize,
    seed: u64,
) -> f64 {
    let run_sd = pair_sd / noise.pair_sd();
    let rope = |random: &mut Random| {
        let offsets: Vec<f64> = (0..10).map(|_| layout_sd * random.normal()).collect();
        let mut round = || {
            let noise = noise.draw(offsets.len(), random);
            offsets.iter().zip(noise).map(|(offset, noise)| (offset + run_sd * noise).exp()).collect()
        };
        let rounds: Vec<Vec<f64>> = (0..3).map(|_| round()).collect();
        Placement::of(&rounds).unwrap().widen(Rope::ONE_PERCENT).unwrap()
    };
    share(experiments, seed, |random| {
        let rope = if layouts == Layouts::OneBehindFloor { rope(random) } else { Rope::ONE_PERCENT };
        let mut sequence = Sequence::new(Rule::standard(rope).unwrap());
        let between = |random: &mut Random| 2f64.sqrt() * layout_sd * random.normal();
        let mut layouts_differ = between(random);
        while !sequence.is_over() {
            if layouts == Layouts::EachRun {
                layouts_differ = between(random);
            }
            sequence.push(effect + layouts_differ + pair_sd * random.normal()).unwrap();
        }
        matches!(sequence.decision(), Some(decision) if decision.outcome != Outcome::Same)
    })
}
