//! Pairs of runs → the values of one metric, in the order in which they were measured, with what disturbed
//! them.
//!
//! In: pairs of a record, and the conditions under which they ran. Out: [`Series`]; several points of a sweep
//! may be pooled into one.

use super::conditions::{Conditions, Stolen};
use crate::measure::pairs::Pair;
use crate::side::Side;
use crate::stats::benchstat::geomean;
use crate::stats::effect::Difference;
use crate::stats::load::Disturbance;
use crate::stats::verdict::Order;
use crate::stats::{Direction, Error};

/// A value as it came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Whose it is.
    pub side: Side,
    /// The value, in the metric's unit.
    pub value: f64,
    /// When its run began, in seconds since 1970, if that is known.
    pub began: Option<f64>,
    /// Its pair, counted from 0 among those that count.
    pub pair: usize,
    /// Whether its pair was disturbed: ran with too much else, or with too much stolen from it.
    pub is_contaminated: bool,
}

/// The values of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Those of A and B; in pairs where `order` is [`Order::Interleaved`].
    pub values: [Vec<f64>; 2],
    /// In which order they were measured.
    pub order: Order,
    /// Whether each pair of values is of several runs of each side, so that neither was first.
    pub is_of_blocks: bool,
    /// Both sides' runs as they came, where that is known.
    pub sequence: Vec<Reading>,
    /// Pairs that were disturbed.
    pub contaminated: usize,
    /// What a hypervisor took, and how many of those pairs it disturbed.
    pub stolen: Stolen,
    /// What the load may have taken from A and B in each pair at most, as log ratios; 0 in one that was not
    /// disturbed. Fewer than there are pairs: nothing from the others.
    pub losses: Vec<[f64; 2]>,
    /// Whether that bounds what the load did to the values, as it does with times and rates, but not with what
    /// the slowest of many requests took.
    pub is_bounded: bool,
    /// Whether the user judges under load, at their own risk.
    pub is_under_load: bool,
}

impl Series {
    /// Of values of which nothing else is known.
    pub fn of(values: [Vec<f64>; 2], order: Order) -> Series {
        Series {
            values,
            order,
            is_of_blocks: false,
            sequence: Vec::new(),
            contaminated: 0,
            stolen: Stolen::default(),
            losses: Vec::new(),
            is_bounded: false,
            is_under_load: false,
        }
    }

    /// With zeros of which only a limit is known, such as times below the clock's resolution, at half of the smallest positive value:
    /// the usual place of what is below a limit of detection, between it and nothing. Where nothing is positive, as it was.
    #[must_use]
    pub fn with_zeros_at_their_limit(mut self) -> Series {
        let positive = self.values.iter().flatten().copied().filter(|value| *value > 0.0);
        let Some(limit) = positive.reduce(f64::min) else { return self };
        let values = self.values.iter_mut().flatten();
        let readings = self.sequence.iter_mut().map(|reading| &mut reading.value);
        values.chain(readings).filter(|value| **value == 0.0).for_each(|value| *value = limit / 2.0);
        self
    }

    /// What B is to A in each pair, by which direction is better.
    ///
    /// # Errors
    /// As [`Direction::log_ratios`].
    pub fn differences(&self, direction: Direction) -> Result<Vec<Difference>, Error> {
        let [a, b] = self.values.each_ref();
        let mut firsts = self.sequence.chunk_by(|one, next| one.pair == next.pair);
        let pairs = direction.log_ratios(a, b)?.into_iter().map(|ratio| {
            let first = firsts.next().and_then(|pair| pair.first()).map(|reading| reading.side);
            let first = first.filter(|_| !self.is_of_blocks);
            Difference { ratio, first }
        });
        Ok(pairs.collect())
    }
}

/// The values that the runs of some pairs have for a metric, and under which conditions, where somebody wants
/// to know. `None`: a run without it.
pub fn series(pairs: &[Pair], metric: &str, conditions: Option<&Conditions>) -> Option<Series> {
    let value = |pair: &Pair, side: Side| pair.runs[side.index()].metrics.get(metric).copied();
    let of = |side: Side| pairs.iter().map(|pair| value(pair, side)).collect::<Option<Vec<f64>>>();
    let values = [of(Side::A)?, of(Side::B)?];
    let disturbed: Vec<Option<Disturbance>> =
        pairs.iter().map(|pair| conditions.and_then(|conditions| conditions.disturb(pair))).collect();
    let stolen = conditions.map_or_else(Stolen::default, |conditions| conditions.stolen(pairs, &disturbed));
    let contaminated = disturbed.iter().flatten().count();
    let losses = pairs.iter().zip(&disturbed).map(|(pair, disturbed)| match (conditions, disturbed) {
        (Some(conditions), Some(_)) => conditions.losses(pair),
        _ => [0.0; 2],
    });
    let losses: Vec<[f64; 2]> = losses.collect();
    let sequence = pairs.iter().zip(disturbed).enumerate().flat_map(|(index, (pair, disturbed))| {
        let mut sides = Side::BOTH;
        if pair.runs[Side::B.index()].is_first {
            sides.reverse();
        }
        sides.into_iter().filter_map(move |side| {
            Some(Reading {
                side,
                value: value(pair, side)?,
                began: Some(pair.runs[side.index()].began),
                pair: index,
                is_contaminated: disturbed.is_some(),
            })
        })
    });
    let sequence = sequence.collect();
    Some(Series { sequence, contaminated, stolen, losses, ..Series::of(values, Order::Interleaved) })
}

/// The values of several points of a sweep together, one point after the other, each as a multiple of the
/// geometric mean of its point's values, so that what differs between points is no noise. `None`: a value
/// that is not positive.
pub fn pooled(points: &[Series]) -> Option<Series> {
    let mut all = Series::of([Vec::new(), Vec::new()], Order::Interleaved);
    for point in points {
        let mean = geomean(&point.values.concat())?;
        let before = all.values[0].len();
        all.stolen = all.stolen.with(before, &point.stolen, point.values[0].len());
        all.sequence.extend(point.sequence.iter().map(|reading| Reading {
            value: reading.value / mean,
            pair: before + reading.pair,
            ..*reading
        }));
        for (all, values) in all.values.iter_mut().zip(&point.values) {
            all.extend(values.iter().map(|value| value / mean));
        }
        all.contaminated += point.contaminated;
        all.losses.resize(before, [0.0; 2]);
        all.losses.extend(&point.losses);
        all.is_bounded = point.is_bounded;
        all.is_under_load = point.is_under_load;
        all.is_of_blocks = point.is_of_blocks;
        if point.order != Order::Interleaved {
            all.order = point.order;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_half_of_the_smallest_other_value_on_both_sides_and_in_the_order_of_the_runs() {
        let reading = |value| Reading { side: Side::A, value, began: None, pair: 0, is_contaminated: false };
        let series = Series {
            sequence: vec![reading(0.0), reading(0.004)],
            ..Series::of([vec![0.0, 0.004], vec![0.008, 0.0]], Order::Interleaved)
        };
        assert!(series.differences(Direction::Smaller).is_err());
        let limited = series.clone().with_zeros_at_their_limit();
        assert_eq!(limited.values, [vec![0.002, 0.004], vec![0.008, 0.002]]);
        assert_eq!(limited.sequence.iter().map(|it| it.value).collect::<Vec<_>>(), [0.002, 0.004]);
        assert!(limited.differences(Direction::Smaller).is_ok());
        // Where all values are zero they stay.
        let none = Series::of([vec![0.0], vec![0.0]], Order::Interleaved);
        assert_eq!(none.clone().with_zeros_at_their_limit(), none);
    }
}
