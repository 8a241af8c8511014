//! Pairs so far → whether there have been enough, and why.
//!
//! In: a series and its rule. Out: a [`Progress`]. It depends on the pairs alone, so that a record that is read
//! again says the same.

use super::series::Series;
use super::standing::{self, Standing, limit, sequence};
use crate::stats::difference::Difference;
use crate::stats::load::TOO_MANY;
use crate::stats::signed_rank;
use crate::stats::verdict::{HOPELESS, Rule, VerdictLimit, prospect};
use crate::stats::{Direction, Error};

/// Why no further pair is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ending {
    /// Something is proven.
    Decided,
    /// There are as many pairs as there may be.
    Last,
    /// A verdict has become improbable: with what probability it would still have come.
    Improbable(f64),
    /// So many pairs were disturbed that they allow no verdict, however many follow.
    Disturbed,
}

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The change so far, as [`super::Comparison::change`] has it.
    pub change: f64,
    /// Why it ends, if it does.
    pub ending: Option<Ending>,
}

/// How far some pairs are.
///
/// # Errors
/// As [`super::compare`].
pub fn progress(direction: Direction, series: &Series, rule: &Rule) -> Result<Progress, Error> {
    let pairs = series.differences(direction)?;
    let rule = &*standing::in_force(rule, series)?;
    let ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
    let estimate = signed_rank::location(&ratios, ratios.len() as f64, 0.0)?.estimate;
    let ending = ending(&pairs, series, rule)?;
    Ok(Progress { change: direction.change(estimate), ending })
}

fn ending(pairs: &[Difference], series: &Series, rule: &Rule) -> Result<Option<Ending>, Error> {
    let decision = sequence(pairs, rule)?.decision();
    let is_last = pairs.len() >= rule.last();
    let found = limit(series, false, pairs);
    let is_load = matches!(found, Some(VerdictLimit::Contaminated { .. } | VerdictLimit::Stolen { .. }));
    if !is_load {
        // Whatever else rules out a verdict, more pairs may lift it.
        let ended = decision.map(|_| Ending::Decided).or(is_last.then_some(Ending::Last));
        return Ok(ended.or_else(|| improbable(pairs, rule)));
    }
    if Standing::of(found, series, pairs, rule)?.limit.is_none() {
        return Ok(Some(Ending::Decided));
    }
    if is_last {
        return Ok(Some(Ending::Last));
    }
    // Where all pairs to come are undisturbed, these are few enough once there are so many.
    if series.contaminated as f64 <= TOO_MANY * rule.last() as f64 {
        return Ok(if decision.is_none() { improbable(pairs, rule) } else { None });
    }
    // Only a verdict that stands whatever the load did can still come.
    if !series.is_bounded {
        return Ok(Some(Ending::Disturbed));
    }
    if !rule.analyses().contains(&pairs.len()) {
        return Ok(None);
    }
    let [low, high] = [0, 1].map(|end| prospect(&standing::shifted(series, pairs, end), rule));
    let common = low.zip(high).map(|(low, high)| low.common(&high));
    Ok(common.filter(|common| *common < HOPELESS).map(|_| Ending::Disturbed))
}

/// That a verdict has become improbable, as far as an interim analysis says so.
fn improbable(pairs: &[Difference], rule: &Rule) -> Option<Ending> {
    if !rule.analyses().contains(&pairs.len()) {
        return None;
    }
    let any = prospect(pairs, rule)?.any();
    (any < HOPELESS).then_some(Ending::Improbable(any))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rope;
    use crate::stats::random::Random;
    use crate::stats::verdict::{Order, Outcome};

    const LARGER: Direction = Direction::Larger;

    fn rule() -> Rule {
        Rule::standard(Rope::ONE_PERCENT).unwrap()
    }

    /// Pairs with such a true change and noise.
    fn noisy(pairs: usize, change: f64, noise: f64, seed: u64) -> Series {
        let mut random = Random::new(seed);
        let mut rate = |mean: f64| mean * libm::exp(noise * random.normal());
        let a: Vec<f64> = (0..pairs).map(|_| rate(100.0)).collect();
        let b = (0..pairs).map(|_| rate(100.0 * (1.0 + change))).collect();
        Series::of([a, b], Order::Interleaved)
    }

    /// So many of its pairs, here and there, ran while others took so much of A, and so much of B.
    fn disturbed(mut series: Series, pairs: usize, losses: [f64; 2]) -> Series {
        let count = series.values[0].len();
        series.losses =
            (0..count).map(|pair| if pair * 7 % count < pairs { losses } else { [0.0; 2] }).collect();
        for (pair, losses) in series.losses.iter().enumerate() {
            for (values, loss) in series.values.iter_mut().zip(losses) {
                values[pair] *= libm::exp(-loss);
            }
        }
        Series { contaminated: pairs, is_bounded: true, ..series }
    }

    fn ended(series: &Series) -> Option<Ending> {
        progress(LARGER, series, &rule()).unwrap().ending
    }

    fn outcome(series: &Series) -> Outcome {
        crate::comparison::outcome(LARGER, series, &rule()).unwrap()
    }

    #[test]
    fn pairs_end_when_they_prove_something_or_hardly_can() {
        assert_eq!(ended(&noisy(15, 0.2, 0.01, 1)), None);
        assert_eq!(ended(&noisy(16, 0.2, 0.01, 1)), Some(Ending::Decided));
        assert_eq!(ended(&noisy(40, 0.0, 0.2, 1)), Some(Ending::Last));
        let improbable = |seed| matches!(ended(&noisy(24, 0.0, 0.2, seed)), Some(Ending::Improbable(_)));
        assert!((0..40).filter(|seed| improbable(*seed)).count() > 12);
    }

    #[test]
    fn a_large_difference_stands_whatever_the_load_did_and_a_small_one_does_not() {
        // Six of sixteen pairs lost up to a third of their time; B is faster by 85 %.
        let large = disturbed(noisy(16, 0.85, 0.05, 3), 6, [0.4, 0.1]);
        assert_eq!((ended(&large), outcome(&large)), (Some(Ending::Decided), Outcome::Better));
        let unbounded = Series { is_bounded: false, ..large };
        assert_eq!(outcome(&unbounded), Outcome::Inconclusive);
        // The same of a difference that the load alone could make.
        for (change, losses) in [(0.05, [0.4, 0.4]), (0.0, [0.4, 0.0]), (0.0, [0.0, 0.4])] {
            let small = disturbed(noisy(40, change, 0.01, 4), 16, losses);
            assert_eq!(outcome(&small), Outcome::Inconclusive, "{change} {losses:?}");
        }
    }

    #[test]
    fn a_side_that_always_ran_first_gets_no_verdict_however_large_the_difference_is() {
        use crate::comparison::Reading;
        use crate::side::Side;
        let mut large = disturbed(noisy(16, 0.85, 0.05, 3), 6, [0.4, 0.1]);
        let reading = |(pair, value): (usize, f64), side| Reading {
            side,
            value,
            began: None,
            pair,
            is_contaminated: false,
        };
        let [a, b] = large.values.each_ref().map(|values| values.iter().copied().enumerate());
        let pairs = a.zip(b).flat_map(|(a, b)| [reading(a, Side::A), reading(b, Side::B)]);
        large.sequence = pairs.collect();
        assert_eq!(outcome(&large), Outcome::Inconclusive);
    }

    #[test]
    fn load_within_its_bound_makes_no_false_difference() {
        // A and B are equal; more than a fifth of the pairs lose some part of what they may have lost.
        let mut random = Random::new(9);
        let wrong = (0..400).filter(|seed| {
            let mut series = noisy(40, 0.0, 0.01, *seed);
            let count = 9 + (random.uniform() * 31.0) as usize;
            let mut losses = Vec::new();
            for pair in 0..count {
                let most = [0.6 * random.uniform(), 0.05 * random.uniform()];
                for (values, most) in series.values.iter_mut().zip(most) {
                    values[pair] *= libm::exp(-most * random.uniform());
                }
                losses.push(most);
            }
            let series = Series { contaminated: count, losses, is_bounded: true, ..series };
            matches!(outcome(&series), Outcome::Better | Outcome::Worse)
        });
        assert_eq!(wrong.count(), 0);
    }

    #[test]
    fn pairs_that_were_disturbed_too_often_end_unless_they_can_still_stand() {
        // Thirteen of sixteen, of forty at the most: no number of quiet pairs makes them few.
        let small = disturbed(noisy(16, 0.03, 0.01, 5), 13, [0.3, 0.3]);
        assert_eq!(ended(&small), Some(Ending::Disturbed));
        let few = disturbed(noisy(16, 0.03, 0.01, 5), 7, [0.3, 0.3]);
        assert_eq!(ended(&few), None);
    }

    #[test]
    fn who_judges_under_load_gets_a_wider_region() {
        let series = Series { is_under_load: true, ..disturbed(noisy(40, 0.10, 0.01, 6), 40, [0.02, 0.04]) };
        assert_eq!(outcome(&series), Outcome::Better);
        // Within three times 1 %.
        let small = Series { is_under_load: true, ..disturbed(noisy(40, 0.02, 0.001, 6), 40, [0.02, 0.02]) };
        assert_eq!(outcome(&small), Outcome::Same);
    }
}
