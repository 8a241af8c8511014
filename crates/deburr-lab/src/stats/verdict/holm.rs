//! Several metrics at once: Holm's step-down correction (A simple sequentially rejective multiple test
//! procedure, Scandinavian Journal of Statistics 6 (1979)). Valid whatever the dependence between the
//! metrics.
//!
//! [`adjusted`] corrects p values. [`levels`] corrects whole verdicts: what of m metrics is proven at α/m is
//! proven; the rest is compared with α/(m − 1), and so on until nothing more is. The bounds of a smaller α
//! are above those of a larger one at every analysis, so that each metric has a smallest α that decides it:
//! its p value.

use super::rule::Rule;
use super::sequence::{Decision, Sequence};
use crate::stats::difference::Difference;
use crate::stats::error::Error;

/// The error that is each metric's own: its rule at that α says what Holm's procedure says of it. Every rule
/// is given with the error of all of them together; analyses and numbers of pairs may differ.
///
/// # Errors
/// As [`Rule::with_alpha`] and [`Sequence::push`].
pub fn levels(metrics: &[(&Rule, &[Difference])]) -> Result<Vec<f64>, Error> {
    let mut levels: Vec<f64> = metrics.iter().map(|(rule, _)| rule.alpha()).collect();
    let mut open: Vec<bool> = vec![true; metrics.len()];
    loop {
        let count = open.iter().filter(|open| **open).count();
        if count == 0 {
            return Ok(levels);
        }
        for ((&(rule, pairs), level), open) in metrics.iter().zip(&mut levels).zip(&mut open) {
            if *open {
                *level = rule.alpha() / count as f64;
                *open = decision(rule.with_alpha(*level)?, pairs)?.is_none();
            }
        }
        if open.iter().filter(|open| **open).count() == count {
            return Ok(levels);
        }
    }
}

fn decision(rule: Rule, pairs: &[Difference]) -> Result<Option<Decision>, Error> {
    let mut sequence = Sequence::new(rule);
    for pair in pairs {
        if let Some(decision) = sequence.push(*pair)? {
            return Ok(Some(decision));
        }
    }
    Ok(None)
}

/// The adjusted p values, in the order of `p`: each is to be compared with α as if it were the only one. A p
/// that is not a number counts as 1.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> =
        p.iter().map(|&p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).enumerate().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (count, mut floor) = (order.len(), 0.0f64);
    for (place, (_, p)) in order.iter_mut().enumerate() {
        floor = floor.max((count - place) as f64 * *p).min(1.0);
        *p = floor;
    }
    order.sort_by_key(|&(index, _)| index);
    order.into_iter().map(|(_, p)| p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rope;
    use crate::stats::random::Random;
    use crate::stats::verdict::{ALPHA, Outcome};

    #[test]
    fn a_metric_alone_is_judged_as_ever_and_among_many_more_strictly() {
        let mut random = Random::new(5);
        let mut noise = |mean: f64, sd: f64| -> Vec<Difference> {
            (0..40).map(|_| Difference::from(mean + sd * random.normal())).collect()
        };
        let (weak, strong, open) = (noise(0.0, 0.02), noise(0.05, 0.02), noise(0.01, 0.2));
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        let outcomes = |metrics: &[&[Difference]]| -> Vec<Option<Outcome>> {
            let judged: Vec<(&Rule, &[Difference])> = metrics.iter().map(|metric| (&rule, *metric)).collect();
            let levels = levels(&judged).unwrap();
            let decided = metrics
                .iter()
                .zip(levels)
                .map(|(metric, level)| decision(rule.with_alpha(level).unwrap(), metric).unwrap());
            decided.map(|decision| decision.map(|decision| decision.outcome)).collect()
        };
        // The least shift with which it is proven alone.
        let shifted = |by: u32| -> Vec<Difference> {
            weak.iter().map(|pair| Difference::from(pair.ratio + f64::from(by) * 2.5e-4)).collect()
        };
        let weak = (0..200).map(shifted).find(|weak| outcomes(&[weak]) == [Some(Outcome::Better)]).unwrap();
        // Among strong ones the weak one is the last and has all of α; among weak ones it has a share.
        assert_eq!(outcomes(&[&strong, &weak, &strong]), [Some(Outcome::Better); 3]);
        assert_eq!(outcomes(&[&weak, &open, &open, &open, &open]), [None; 5]);
        assert_eq!(outcomes(&[]), []);
        // Nothing else is proven: each has its part of the error. Of those proven one after the other, the
        // last has all of it.
        let levels_of = |metrics: &[&[Difference]]| {
            levels(&metrics.iter().map(|metric| (&rule, *metric)).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(levels_of(&[&open, &open]), [ALPHA / 2.0; 2]);
        assert_eq!(levels_of(&[&strong, &weak]), [ALPHA / 2.0, ALPHA]);
        assert_eq!(levels_of(&[&weak]), [ALPHA]);
    }

    #[test]
    fn adjusted_values_are_those_of_the_step_down_procedure() {
        // By hand: sorted .01 .02 .03 .04 times 4 3 2 1, never falling.
        let found = adjusted(&[0.04, 0.01, 0.03, 0.02]);
        for (found, expected) in found.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(adjusted(&[0.9, f64::NAN, 0.8]), [1.0, 1.0, 1.0]);
        assert!(adjusted(&[]).is_empty());
    }
}
