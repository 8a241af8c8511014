//! What the place in a pair does: is whoever runs first slower, or faster?
//!
//! In: pairs of which it is known whose run was first. Where A was first, dᵢ = θ + φ; where B was, θ − φ: φ
//! is how far the second run of a pair is ahead. It is estimated by half the difference of the two groups'
//! Hodges-Lehmann estimates, and tested by Mann and Whitney's test of the two groups. In balanced blocks it
//! cancels; where one side was first more often, it moves the pairs by φ·(n_A − n_B)/n.

use super::limit::VerdictLimit;
use crate::side::Side;
use crate::stats::benchstat::{Assumption, Upstream, compare};
use crate::stats::difference::Difference;
use crate::stats::ranks::signed_rank;

/// Below this p the place matters.
pub const ALARM: f64 = 0.005;

/// The least share of the pairs that each side has to be first in.
const LEAST: f64 = 0.25;

/// What the place in a pair does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// In how many pairs A was first, and in how many B.
    pub first: [usize; 2],
    /// φ: the log ratio of the second run of a pair to the first, positive where the second is better. `None`
    /// where one side always was first.
    pub second_ahead: Option<f64>,
    /// How probable that much is where the place does nothing; 1 where nothing is known.
    pub p: f64,
}

/// The log ratios of the pairs in which A was first, and of those in which B was; `None` where that is not
/// known of every pair.
fn groups(pairs: &[Difference]) -> Option<[Vec<f64>; 2]> {
    let of = |side: Side| -> Vec<f64> {
        pairs.iter().filter(|pair| pair.first == Some(side)).map(|pair| pair.ratio).collect()
    };
    let [a, b] = Side::BOTH.map(of);
    (!pairs.is_empty() && a.len() + b.len() == pairs.len()).then_some([a, b])
}

/// φ of two groups that are not empty.
fn second_ahead(groups: &[Vec<f64>; 2]) -> Option<f64> {
    let centre = |values: &Vec<f64>| {
        signed_rank::location(values, values.len() as f64, 0.0).ok().map(|found| found.estimate)
    };
    let [a, b] = groups.each_ref().map(centre);
    a.zip(b).map(|(a, b)| a / 2.0 - b / 2.0)
}

/// How far the place in a pair moves the pairs, as a log ratio; 0 where A and B were first equally often, or
/// that is not known.
pub(in crate::stats) fn shift(pairs: &[Difference]) -> f64 {
    let Some(groups) = groups(pairs) else { return 0.0 };
    let [a, b] = groups.each_ref().map(|group| group.len() as f64);
    if a == b { 0.0 } else { second_ahead(&groups).unwrap_or(0.0) * ((a - b) / (a + b)) }
}

impl Position {
    /// `None` where it is not known of every pair whose run was first.
    pub fn of(pairs: &[Difference]) -> Option<Position> {
        let groups = groups(pairs)?;
        let [a, b] = groups.each_ref();
        let p = compare(a, b, Assumption::Nothing, ALARM, Upstream::Corrected).map_or(1.0, |found| found.p);
        Some(Position {
            first: [a.len(), b.len()],
            second_ahead: second_ahead(&groups),
            p: if p.is_finite() { p } else { 1.0 },
        })
    }

    /// Whether the place matters.
    pub fn matters(&self) -> bool {
        self.p < ALARM
    }

    /// Why there is no verdict where one side was first nearly always: what the place did cannot be known
    /// then.
    pub fn limit(&self) -> Option<VerdictLimit> {
        let ([a, b], pairs) = (self.first, self.first[0] + self.first[1]);
        let side = if a > b { Side::A } else { Side::B };
        // The orders of the first pairs are as they come.
        (pairs >= 8 && (a.min(b) as f64) < LEAST * pairs as f64).then_some(VerdictLimit::FirstTooOften {
            side,
            first: a.max(b),
            pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    fn pairs(theta: f64, ahead: f64, sd: f64, firsts: &[Side], seed: u64) -> Vec<Difference> {
        let mut random = Random::new(seed);
        let ratio = |side: Side| theta + if side == Side::A { ahead } else { -ahead };
        let pair = |&side: &Side| Difference { ratio: ratio(side) + sd * random.normal(), first: Some(side) };
        firsts.iter().map(pair).collect()
    }

    const TURNS: [Side; 4] = [Side::A, Side::B, Side::B, Side::A];

    #[test]
    fn what_the_place_does_is_found_and_what_the_build_does_is_not_taken_for_it() {
        let firsts: Vec<Side> = TURNS.iter().copied().cycle().take(24).collect();
        let found = Position::of(&pairs(0.05, 0.06, 0.01, &firsts, 1)).unwrap();
        assert_eq!(found.first, [12, 12]);
        assert!((found.second_ahead.unwrap() - 0.06).abs() < 0.01 && found.matters(), "{found:?}");
        assert_eq!((shift(&pairs(0.05, 0.06, 0.01, &firsts, 1)), found.limit()), (0.0, None));
        let mut alarms = 0;
        for seed in 0..1000 {
            alarms += usize::from(Position::of(&pairs(0.05, 0.0, 0.01, &firsts, seed)).unwrap().matters());
        }
        assert!(alarms <= 12, "{alarms} of 1000, where 5 are nominal");
    }

    #[test]
    fn an_order_that_is_not_balanced_moves_the_pairs_by_what_is_estimated() {
        let firsts: Vec<Side> = (0..24).map(|pair| if pair < 15 { Side::A } else { Side::B }).collect();
        let measured = pairs(0.0, 0.06, 0.005, &firsts, 2);
        assert!((shift(&measured) - 0.06 * 6.0 / 24.0).abs() < 0.002, "{}", shift(&measured));
        let mirrored: Vec<Difference> = measured
            .iter()
            .map(|pair| Difference {
                ratio: -pair.ratio,
                first: pair.first.map(|side| if side == Side::A { Side::B } else { Side::A }),
            })
            .collect();
        let [found, turned] = [&measured, &mirrored].map(|pairs| Position::of(pairs).unwrap().second_ahead);
        assert_eq!((shift(&mirrored), turned), (-shift(&measured), found));
    }

    #[test]
    fn one_side_that_nearly_always_was_first_leaves_nothing_to_estimate() {
        let always = Position::of(&pairs(0.0, 0.06, 0.005, &[Side::B; 16], 3)).unwrap();
        assert_eq!((always.second_ahead, always.p), (None, 1.0));
        assert_eq!(always.limit(), Some(VerdictLimit::FirstTooOften { side: Side::B, first: 16, pairs: 16 }));
        assert_eq!(Position::of(&[]), None);
        let unknown = [Difference::from(0.1), Difference { ratio: 0.1, first: Some(Side::A) }];
        assert_eq!(Position::of(&unknown), None);
    }
}
