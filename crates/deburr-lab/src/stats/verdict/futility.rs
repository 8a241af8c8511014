//! Futility: how probable it still is that the pairs prove anything.
//!
//! In: the pairs so far and the rule. Out: the predictive probability of a verdict at the last analysis, where
//! the pairs to come are like those that are there (Spiegelhalter, Freedman & Blackburn, Monitoring clinical
//! trials: conditional or predictive power?, Controlled Clinical Trials 7 (1986)). Ending an experiment for that
//! makes no false verdict: it only ever leaves one out.

use super::rule::Rule;
use crate::stats::difference::Difference;
use crate::stats::distributions::normal;
use crate::stats::posterior::paired;
use crate::stats::ranks::signed_rank;

/// Below this prospect an experiment is not worth its time.
pub const HOPELESS: f64 = 0.05;

/// Pairs before which nothing is given up: the noise of fewer is not known well enough.
const EARLIEST: usize = 16;

/// The z that the noise is measured with, by the interval of the signed ranks: few pairs have that.
const MEASURED_AT: f64 = 1.0;

/// How probable each verdict is at the last analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prospect {
    /// That B is better.
    pub better: f64,
    /// That B is worse.
    pub worse: f64,
    /// That B is the same.
    pub same: f64,
}

impl Prospect {
    /// That the last analysis proves something.
    pub fn any(&self) -> f64 {
        self.better + self.worse + self.same
    }

    /// The most probable verdict that both have in common: how probable it is in the one that has less of it.
    pub fn common(&self, other: &Prospect) -> f64 {
        let both = [(self.better, other.better), (self.worse, other.worse), (self.same, other.same)];
        both.into_iter().map(|(one, other)| one.min(other)).fold(0.0, f64::max)
    }
}

/// How probable each verdict is at the last analysis. `None` where the pairs are too few to know, or there are
/// none to come.
///
/// θ̂ at the end is normal about θ̂ now, with the variance of what is still to come; the noise is by the signed
/// ranks, as the verdict is, so that rare runs far out do not hide what is typical.
pub fn prospect(pairs: &[Difference], rule: &Rule) -> Option<Prospect> {
    let (now, last) = (pairs.len(), rule.last());
    if now < EARLIEST || now >= last {
        return None;
    }
    let ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
    let effective = paired::Posterior::of_blocks(rule.blocks(), &ratios).ok()?.effective_pairs();
    let located = signed_rank::location(&ratios, effective, MEASURED_AT).ok()?;
    let (low, high) = located.interval?;
    let error = (high - low) / 2.0 / MEASURED_AT;
    let share = now as f64 / last as f64;
    let (error_then, to_come) = (error * libm::sqrt(share), error * libm::sqrt(1.0 - share));
    let bound = rule.demands().last()?;
    let edge = rule.rope().half_width();
    let differs_from = (edge + bound.edge * error_then).max(bound.zero * error_then);
    let same_within = edge - bound.edge * error_then;
    let centre = located.estimate;
    let above = |place: f64| match to_come > 0.0 {
        true => normal::survival((place - centre) / to_come),
        false => f64::from(u8::from(centre > place)),
    };
    let same = if same_within > 0.0 { (above(-same_within) - above(same_within)).max(0.0) } else { 0.0 };
    Some(Prospect { better: above(differs_from), worse: 1.0 - above(-differs_from), same })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rope;
    use crate::stats::random::Random;
    use crate::stats::verdict::Sequence;

    fn pairs(count: usize, effect: f64, spread: f64, seed: u64) -> Vec<Difference> {
        let mut random = Random::new(seed);
        (0..count).map(|_| Difference::from(effect + spread * random.normal())).collect()
    }

    #[test]
    fn much_noise_and_no_effect_are_hopeless_and_an_effect_is_not() {
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        let hopeless = |effect: f64, spread: f64| {
            let of = |seed| prospect(&pairs(24, effect, spread, seed), &rule).unwrap().any();
            (0..200).filter(|seed| of(*seed) < HOPELESS).count()
        };
        let found = [(0.0, 0.2), (0.0, 0.005), (0.05, 0.03), (0.02, 0.02)]
            .map(|(effect, spread)| hopeless(effect, spread));
        assert!(found[0] > 60 && found[1] == 0 && found[2] == 0 && found[3] < 10, "{found:?}");
    }

    #[test]
    fn prospects_are_how_often_a_verdict_comes() {
        // Of experiments at the sixteenth pair: the mean prospect is the share that is decided at the last one.
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        let (mut predicted, mut decided) = (0.0, 0.0);
        for seed in 0..1500 {
            // An effect that the prospect's flat prior may have: wide about 0.
            let mut random = Random::new(seed ^ 0x5eed);
            let all = pairs(40, 0.06 * random.normal(), 0.06, seed);
            predicted += prospect(&all[..16], &rule).unwrap().any() / 1500.0;
            let mut sequence = Sequence::new(rule.clone());
            all.iter().for_each(|pair| _ = sequence.push(*pair).unwrap());
            decided += f64::from(u8::from(sequence.decision().is_some())) / 1500.0;
        }
        assert!((predicted - decided).abs() < 0.05, "{predicted} {decided}");
    }

    #[test]
    fn nothing_is_known_of_too_few_pairs_and_nothing_comes_after_the_last() {
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        assert_eq!(prospect(&pairs(15, 0.0, 0.1, 1), &rule), None);
        assert_eq!(prospect(&pairs(40, 0.0, 0.1, 1), &rule), None);
        let sure = prospect(&[Difference::from(0.0); 16], &rule);
        assert_eq!(sure, Some(Prospect { better: 0.0, worse: 0.0, same: 1.0 }));
    }
}
