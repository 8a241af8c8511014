//! Records of one benchmark in the order of their time → where it became better or worse.
//!
//! In: the pairs of each record. Out: a level for each, and the changes of level
//! ([`crate::stats::change_points`]) with what they mean. Where all records have the same A, a level is how far B is
//! ahead of it, which what happens to the machine between two records moves little; else it is what B took.

use crate::measure::pairs::Pair;
use crate::side::Side;
use crate::stats::change_points::{self, ChangePoint};
use crate::stats::verdict::Outcome;
use crate::stats::{Direction, Error, Rope, moments, signed_rank};

/// Beyond this, values resemble their neighbours too much for the test to be believed.
pub const RESEMBLING: f64 = 0.4;

/// The levels of some records.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// On the scale of log ratios: more is better.
    pub levels: Vec<f64>,
    /// Where they change.
    pub changes: Vec<Change>,
    /// How much they resemble their neighbours: their autocorrelation between changes.
    pub resemblance: f64,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Where, and by how much.
    pub point: ChangePoint,
    /// What it means: better or worse by more than the region, the same within it, or neither proven.
    pub outcome: Outcome,
}

/// The level of a record: how far B is ahead of A, or where `is_relative` is false what B took; of pairs of one
/// command with itself, what both did.
///
/// # Errors
/// [`Error::TooFew`] without a run that has the metric, [`Error::NotPositive`].
pub fn level(
    pairs: &[Pair],
    metric: &str,
    direction: Direction,
    is_relative: bool,
    is_aa: bool,
) -> Result<f64, Error> {
    let [a, b] = Side::BOTH.map(|side| values(pairs, metric, side));
    if is_relative {
        let ratios = direction.log_ratios(&a, &b)?;
        return Ok(signed_rank::location(&ratios, ratios.len() as f64, 0.0)?.estimate);
    }
    let all = if is_aa { [a, b].concat() } else { b };
    if all.is_empty() {
        return Err(Error::TooFew { needed: 1, got: 0 });
    }
    let logs: Vec<f64> = direction.orient_all(&all)?.into_iter().map(libm::log).collect();
    Ok(moments::median(&logs))
}

/// What the runs of a side have for a metric.
pub fn values(pairs: &[Pair], metric: &str, side: Side) -> Vec<f64> {
    let of = |pair: &Pair| pair.runs[side.index()].metrics.get(metric).copied();
    pairs.iter().filter_map(of).collect()
}

/// Where some levels change.
///
/// # Errors
/// As [`change_points::change_points`].
pub fn history(levels: Vec<f64>, rope: Rope, seed: u64) -> Result<History, Error> {
    let points = change_points::change_points(&levels, seed)?;
    let edge = rope.half_width();
    let outcome = |point: &ChangePoint| match point.interval {
        (low, _) if low > edge => Outcome::Better,
        (_, high) if high < -edge => Outcome::Worse,
        (low, high) if low >= -edge && high <= edge => Outcome::Same,
        _ => Outcome::Inconclusive,
    };
    let resemblance = change_points::resemblance(&levels, &points);
    let changes = points.iter().map(|point| Change { point: *point, outcome: outcome(point) }).collect();
    Ok(History { levels, changes, resemblance })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::record::RecordedRun;
    use crate::stats::random::Random;

    /// A record in which B takes so much of what A takes, on a machine that is so slow.
    fn record(ratio: f64, slow: f64, random: &mut Random) -> Vec<Pair> {
        let mut run = |side, wall: f64| RecordedRun {
            side,
            metrics: [("wall".to_owned(), wall * (0.01 * random.normal()).exp())].into(),
            ..RecordedRun::default()
        };
        (0..16).map(|_| Pair { runs: [run(Side::A, slow), run(Side::B, slow * ratio)] }).collect()
    }

    fn of(ratios: &[f64], slow: &dyn Fn(usize) -> f64, is_relative: bool) -> History {
        let mut random = Random::new(7);
        let records =
            ratios.iter().enumerate().map(|(index, ratio)| record(*ratio, slow(index), &mut random));
        let levels =
            records.map(|pairs| level(&pairs, "wall", Direction::Smaller, is_relative, false).unwrap());
        history(levels.collect(), Rope::ONE_PERCENT, 1).unwrap()
    }

    #[test]
    fn a_program_that_became_slower_did_so_whatever_the_machine_did() {
        let ratios: Vec<f64> = (0..24).map(|index| if index < 15 { 1.0 } else { 1.04 }).collect();
        let slow = |index: usize| if index.is_multiple_of(5) { 1.3 } else { 1.0 };
        let found = of(&ratios, &slow, true);
        assert_eq!(
            found.changes.iter().map(|change| (change.point.at, change.outcome)).collect::<Vec<_>>(),
            [(15, Outcome::Worse)]
        );
        assert!((found.changes[0].point.shift + 0.04).abs() < 0.01, "{found:?}");
        // What B took alone moves with the machine.
        let alone = of(&ratios, &|_| 1.0, false);
        assert_eq!(alone.changes.first().map(|change| change.outcome), Some(Outcome::Worse));
    }

    #[test]
    fn a_change_within_the_region_is_no_better_and_no_worse() {
        let ratios: Vec<f64> = (0..40).map(|index| if index < 20 { 1.0 } else { 1.005 }).collect();
        let mut random = Random::new(9);
        let levels = ratios.iter().map(|ratio| -ratio.ln() + 0.0005 * random.normal()).collect();
        let found = history(levels, Rope::ONE_PERCENT, 1).unwrap();
        assert_eq!(
            found.changes.iter().map(|change| (change.point.at, change.outcome)).collect::<Vec<_>>(),
            [(20, Outcome::Same)]
        );
    }

    #[test]
    fn a_record_without_the_metric_has_no_level() {
        let mut random = Random::new(1);
        let pairs = record(1.0, 1.0, &mut random);
        for is_relative in [true, false] {
            assert!(level(&pairs, "no", Direction::Smaller, is_relative, false).is_err());
        }
        let both = level(&pairs, "wall", Direction::Smaller, false, true).unwrap();
        assert!(both.abs() < 0.01, "{both}");
    }
}
