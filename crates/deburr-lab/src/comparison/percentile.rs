//! Pairs of runs → pairs of percentiles.
//!
//! A run has no percentile, but several runs have one: so many pairs, one after the other, make one block, and what
//! is compared in pairs are the percentiles of A's and of B's runs in each block. If B is A times a constant, the
//! ratios of the blocks are as symmetric about it as those of runs are, so that the same tests apply to them.

use super::conditions::Conditions;
use super::series::{Reading, Series, series};
use super::shape::quantile;
use crate::measure::pairs::Pair;
use crate::stats::load::Disturbance;
use std::fmt;
use std::str::FromStr;

/// A percentile of the runs of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    percent: u8,
    /// Runs of each side in a block: enough that one of them is expected on either side of it.
    block: usize,
}

impl Percentile {
    /// Those that can be compared.
    pub const ALL: [Percentile; 7] = [
        Percentile { percent: 10, block: 10 },
        Percentile { percent: 25, block: 5 },
        Percentile { percent: 50, block: 5 },
        Percentile { percent: 75, block: 5 },
        Percentile { percent: 90, block: 10 },
        Percentile { percent: 95, block: 20 },
        Percentile { percent: 99, block: 100 },
    ];

    /// Pairs of runs that make one pair of percentiles.
    pub fn block(self) -> usize {
        self.block
    }

    /// A series of runs as one of blocks; pairs that do not make a whole one at the end are left out. In the
    /// sequence the runs stay what they were. A block is disturbed where one of its pairs is: the slowest runs are
    /// just those.
    fn of(self, series: &Series, disturbed: &[Option<Disturbance>]) -> Series {
        let share = f64::from(self.percent) / 100.0;
        let values = series.values.each_ref().map(|values| {
            let blocks = values.chunks_exact(self.block).map(|block| {
                let mut sorted = block.to_vec();
                sorted.sort_unstable_by(f64::total_cmp);
                quantile(&sorted, share)
            });
            blocks.collect::<Vec<f64>>()
        });
        let count = values[0].len();
        let sequence =
            series.sequence.iter().map(|reading| Reading { pair: reading.pair / self.block, ..*reading });
        let blocks = || disturbed.chunks_exact(self.block);
        let stolen = |block: &&[Option<Disturbance>]| {
            let is = |what| block.contains(&Some(what));
            is(Disturbance::Stolen) && !is(Disturbance::Foreign)
        };
        let mut found = Series {
            sequence: sequence.filter(|reading| reading.pair < count).collect(),
            contaminated: blocks().filter(|block| block.iter().any(Option::is_some)).count(),
            stolen: series.stolen,
            is_under_load: series.is_under_load,
            is_of_blocks: true,
            ..Series::of(values, series.order)
        };
        found.stolen.pairs = blocks().filter(stolen).count();
        found
    }
}

/// A percentile of what the runs of some pairs have for a metric, in blocks of them. `None`: a run without it.
pub fn percentiles(
    pairs: &[Pair],
    metric: &str,
    percentile: Percentile,
    conditions: &Conditions,
) -> Option<Series> {
    let disturbed: Vec<Option<Disturbance>> = pairs.iter().map(|pair| conditions.disturb(pair)).collect();
    Some(percentile.of(&series(pairs, metric, Some(conditions))?, &disturbed))
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.percent)
    }
}

impl FromStr for Percentile {
    type Err = String;

    fn from_str(text: &str) -> Result<Percentile, String> {
        let found = Percentile::ALL.into_iter().find(|percentile| percentile.to_string() == text);
        found.ok_or_else(|| {
            let all: Vec<String> = Percentile::ALL.iter().map(Percentile::to_string).collect();
            format!("{text:?}: no percentile that can be compared; these can: {}", all.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Comparison, Question, compare};
    use super::*;
    use crate::side::Side;
    use crate::stats::benchstat::Upstream;
    use crate::stats::random::Random;
    use crate::stats::verdict::{Order, Outcome, Rule};
    use crate::stats::{Direction, Rope};

    fn percentile(text: &str) -> Percentile {
        text.parse().expect("a percentile")
    }

    fn series(a: Vec<f64>, b: Vec<f64>) -> Series {
        let readings = a.iter().zip(&b).enumerate().flat_map(|(pair, (a, b))| {
            let reading =
                move |(side, value)| Reading { side, value, began: None, pair, is_contaminated: false };
            [(Side::A, *a), (Side::B, *b)].map(reading)
        });
        let sequence = readings.collect();
        Series { sequence, ..Series::of([a, b], Order::Interleaved) }
    }

    #[test]
    fn blocks_of_runs_have_percentiles() {
        let a: Vec<f64> = (1..=23).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| 2.0 * value).collect();
        let mut disturbed = vec![None; 23];
        disturbed[3] = Some(Disturbance::Foreign);
        disturbed[4] = Some(Disturbance::Stolen);
        disturbed[12] = Some(Disturbance::Stolen);
        let found = percentile("p50").of(&series(a, b), &disturbed);
        assert_eq!(found.values, [vec![3.0, 8.0, 13.0, 18.0], vec![6.0, 16.0, 26.0, 36.0]]);
        assert_eq!((found.contaminated, found.stolen.pairs), (2, 1));
        assert_eq!(found.sequence.len(), 40);
        assert_eq!(found.sequence.last().map(|reading| (reading.pair, reading.value)), Some((3, 40.0)));
    }

    #[test]
    fn percentiles_are_read_by_name() {
        assert_eq!((percentile("p99").block(), percentile("p90").block()), (100, 10));
        for wrong in ["p42", "90", "", "p"] {
            assert!(
                wrong.parse::<Percentile>().is_err_and(|error| error.contains("p10, p25, p50, p75, p90")),
                "{wrong}"
            );
        }
    }

    /// The verdict on 40 blocks of runs of which one in four takes `tail` times as long with B, and 1.5 times as
    /// long with A.
    fn compared(percent: &str, tail: f64, seed: u64) -> Comparison {
        let percentile = percentile(percent);
        let mut random = Random::new(seed);
        let mut runs = |tail: f64| -> Vec<f64> {
            let run = |random: &mut Random| {
                let slow = if random.uniform() < 0.25 { tail } else { 1.0 };
                slow * (0.01 * random.normal()).exp()
            };
            (0..40 * percentile.block()).map(|_| run(&mut random)).collect()
        };
        let (a, b) = (runs(1.5), runs(tail));
        let none = vec![None; a.len()];
        let blocks = percentile.of(&series(a, b), &none);
        let question =
            Question { name: percent.to_owned(), unit: "s".to_owned(), direction: Direction::Smaller };
        compare(question, &blocks, &Rule::standard(Rope::ONE_PERCENT).unwrap(), 1, Upstream::Corrected)
            .unwrap()
    }

    #[test]
    fn tails_that_differ_are_found_in_the_percentile_that_has_them() {
        assert_eq!(compared("p90", 2.5, 1).outcome(), Outcome::Worse);
        assert_eq!(compared("p25", 2.5, 1).outcome(), Outcome::Same);
        let wrong = (0..60)
            .filter(|seed| matches!(compared("p90", 1.5, *seed).outcome(), Outcome::Better | Outcome::Worse));
        assert!(wrong.count() <= 3);
    }
}
