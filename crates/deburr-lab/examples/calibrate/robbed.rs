//! Simulated experiments on a machine whose hypervisor takes the processor away, judged as `deburr compare`
//! judges a record: disturbed pairs are measured again, and where too many stay so there is no verdict.

use super::experiment::stream;
use deburr_lab::comparison::{self, Conditions};
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::process::Usage;
use deburr_lab::measure::record::RecordedRun;
use deburr_lab::measure::schedule;
use deburr_lab::side::Side;
use deburr_lab::stats::random::Random;
use deburr_lab::stats::verdict::{Outcome, Rule};
use deburr_lab::stats::{Direction, Rope};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How the hypervisor takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Steal {
    /// In bursts of 10 to 50 % of a run, which begin before one run in ten and end as often.
    Bursts,
    /// 10 to 50 % of every run.
    Always,
    /// Up to 9 % of every run.
    Little,
    /// In bursts, and the kernel does not count them.
    Uncounted,
}

/// All of them, in the order of the table.
pub(crate) const STEALS: [Steal; 4] = [Steal::Bursts, Steal::Always, Steal::Little, Steal::Uncounted];

impl Steal {
    /// The row's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Steal::Bursts => "bursts of 10 to 50 %",
            Steal::Always => "10 to 50 % of every run",
            Steal::Little => "up to 9 % of every run",
            Steal::Uncounted => "bursts that the kernel does not count",
        }
    }

    /// The share that is taken from the next run.
    fn share(self, is_burst: &mut bool, random: &mut Random) -> f64 {
        *is_burst ^= random.chance(0.1);
        match self {
            Steal::Always => 0.1 + 0.4 * random.uniform(),
            Steal::Little => 0.09 * random.uniform(),
            Steal::Bursts | Steal::Uncounted if *is_burst => 0.1 + 0.4 * random.uniform(),
            Steal::Bursts | Steal::Uncounted => 0.0,
        }
    }
}

/// How long a run computes, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Length(pub(crate) f64);

/// A tick, in seconds: what the kernel counts stolen time in.
const TICK: f64 = 0.01;

/// Of so many experiments, the shares in which B is called better, worse, and the same; θ = `effect` is B's
/// true log ratio, positive where B computes longer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) better: f64,
    pub(crate) worse: f64,
    pub(crate) same: f64,
}

/// One cell. The metric is wall time, or what the program itself computed.
pub(crate) fn shares(
    steal: Steal,
    length: Length,
    metric: &str,
    effect: f64,
    experiments: usize,
    seed: u64,
) -> Shares {
    let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
    let streams = (0..experiments as u64).into_par_iter();
    let said: Vec<Outcome> = streams
        .map(|index| {
            let mut random = stream(seed, index);
            let pairs = measured(steal, length, metric, effect, &rule, &mut random);
            let conditions = conditions(&pairs, metric);
            let series = comparison::series(&pairs, metric, Some(&conditions)).unwrap();
            comparison::outcome(Direction::Smaller, &series, &rule).unwrap()
        })
        .collect();
    let share = |outcome| said.iter().filter(|said| **said == outcome).count() as f64 / experiments as f64;
    Shares { better: share(Outcome::Better), worse: share(Outcome::Worse), same: share(Outcome::Same) }
}

fn conditions(pairs: &[Pair], metric: &str) -> Conditions {
    Conditions::of(pairs.iter().flat_map(|pair| &pair.runs), 2, metric == "wall")
}

/// All pairs that there may be, disturbed ones up to three times.
fn measured(
    steal: Steal,
    length: Length,
    metric: &str,
    effect: f64,
    rule: &Rule,
    random: &mut Random,
) -> Vec<Pair> {
    let (seed, mut is_burst) = (random.bits(), random.chance(0.5));
    let (mut pairs, mut again): (Vec<Pair>, usize) = (Vec::new(), 0);
    while pairs.len() < rule.last() {
        let number = pairs.len() as u32;
        for attempt in 0..3 {
            let mut runs = [RecordedRun::default(), RecordedRun::default()];
            for (place, side) in schedule::order(seed, number).into_iter().enumerate() {
                let longer = if side == Side::B { effect } else { 0.0 };
                let own = length.0 * (longer + 0.01 * random.normal()).exp();
                let run = robbed(own, steal, &mut is_burst, random);
                runs[side.index()] = RecordedRun { pair: number, attempt, side, is_first: place == 0, ..run };
            }
            pairs.push(Pair { runs });
            let is_disturbed = conditions(&pairs, metric).disturb(&pairs[number as usize]).is_some();
            if !is_disturbed || attempt == 2 || again >= rule.last() {
                break;
            }
            again += 1;
            pairs.pop();
        }
    }
    pairs
}

/// A run that computes so long, and what it is counted to have taken.
fn robbed(own: f64, steal: Steal, is_burst: &mut bool, random: &mut Random) -> RecordedRun {
    let share = steal.share(is_burst, random);
    // Starting takes some of the wall time, too.
    let wall = own / (1.0 - share) + 0.0005 * random.exponential();
    let counted = (wall * share / TICK + random.uniform()).floor() * TICK;
    let metrics = [("wall".to_owned(), wall), ("user".to_owned(), own)];
    RecordedRun {
        usage: Usage { wall, user: own, ..Usage::default() },
        stolen: (steal != Steal::Uncounted).then_some(counted),
        busy: Some(own + 0.02 * random.uniform()),
        metrics: BTreeMap::from(metrics),
        ..RecordedRun::default()
    }
}
