//! A running experiment: pairs as they come in → a decision at an interim analysis, and the verdict at the
//! end.
//!
//! In: a rule and log ratios. Out: [`Decision`] as soon as there is one, and [`Verdict`] at any time. A
//! decision stays as it is, whatever later pairs show.

use super::effect::Effect;
use super::evidence::Evidence;
use super::power;
use super::rule::Rule;
use super::warning::Warning;
use crate::stats::difference::Difference;
use crate::stats::error::Error;
use crate::stats::outcome::Outcome;
use crate::stats::posterior::probabilities::Probabilities;
use crate::stats::posterior::{bootstrap, paired};
use crate::stats::rope::Rope;
use crate::stats::validity::limit::VerdictLimit;
use crate::stats::validity::position::Position;

/// What was proven, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Better, worse or same.
    pub outcome: Outcome,
    /// At the interim analysis of so many pairs.
    pub pairs: usize,
}

/// A running experiment: fed with pairs, it says when to stop.
#[derive(Debug, Clone)]
pub struct Sequence {
    rule: Rule,
    pairs: Vec<Difference>,
    /// Interim analyses so far.
    analysed: usize,
    /// At the analysis that decided, or else at the last one.
    effect: Option<Effect>,
    by_ranks: Option<Decision>,
    by_mean: Option<Decision>,
}

impl Sequence {
    /// Before the first pair.
    pub fn new(rule: Rule) -> Sequence {
        Sequence { rule, pairs: Vec::new(), analysed: 0, effect: None, by_ranks: None, by_mean: None }
    }

    /// Adds a pair. Says the decision once there is one; what is decided stays decided, with the interval
    /// that it was decided by.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the pair's index; the pair is then not added.
    pub fn push(&mut self, pair: impl Into<Difference>) -> Result<Option<Decision>, Error> {
        let pair = pair.into();
        if !pair.ratio.is_finite() {
            return Err(Error::NotFinite { index: self.pairs.len() });
        }
        self.pairs.push(pair);
        let now = self.rule.analyses().iter().zip(self.rule.demands()).nth(self.analysed);
        if let Some((&pairs, bound)) = now.filter(|(pairs, _)| **pairs == self.pairs.len()) {
            self.analysed += 1;
            let posterior = self.posterior()?;
            let decided = |outcome| Decision { outcome, pairs };
            if self.by_ranks.is_none() {
                let (rope, alpha) = (self.rule.rope(), self.rule.alpha());
                let effective = match is_far(&self.pairs, rope) {
                    true => self.pairs.len() as f64,
                    false => posterior.effective_pairs(),
                };
                let effect = Effect::at(&self.pairs, effective, bound, alpha, rope)?;
                self.by_ranks = effect.says(rope).map(decided);
                self.effect = Some(effect);
            }
            if self.by_mean.is_none() {
                let evidence = Evidence::of_posterior(&posterior, self.rule.rope());
                self.by_mean = evidence.decides(bound.edge).map(decided);
            }
        }
        Ok(self.by_ranks)
    }

    /// θ given the pairs so far.
    fn posterior(&self) -> Result<paired::Posterior, Error> {
        paired::Posterior::of_blocks(self.rule.blocks(), &self.ratios())
    }

    fn ratios(&self) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.ratio).collect()
    }

    /// The pairs so far.
    pub fn pairs(&self) -> &[Difference] {
        &self.pairs
    }

    /// The effect: by the analysis that decided, or else the last one, where that has an interval.
    fn effect(&self, limit: Option<VerdictLimit>) -> Result<Effect, Error> {
        let analysed = self.effect.filter(|effect| effect.interval.is_some());
        let effect = analysed.map_or_else(|| Effect::unanalysed(&self.ratios(), self.rule.alpha()), Ok)?;
        // What prevents a verdict prevents an interval.
        Ok(if limit.is_some() { Effect { interval: None, ..effect } } else { effect })
    }

    /// The interval of the effect, by the analysis that decided or else the last one, where that has one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.effect?.interval
    }

    /// Whether the experiment is over: decided, or at its last analysis.
    pub fn is_over(&self) -> bool {
        self.by_ranks.is_some() || self.pairs.len() >= self.rule.last()
    }

    /// By the signed ranks: the verdict without its limits.
    pub fn decision(&self) -> Option<Decision> {
        self.by_ranks
    }

    /// By the t posterior.
    pub fn decision_on_the_mean(&self) -> Option<Decision> {
        self.by_mean
    }

    /// What can be said now: at the end, or when interrupted.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer than 2 pairs.
    pub fn verdict(&self, limit: Option<VerdictLimit>, seed: u64) -> Result<Verdict, Error> {
        let (posterior, ratios) = (self.posterior()?, self.ratios());
        let paired = posterior.probabilities(self.rule.rope());
        let bootstrap = bootstrap::probabilities(&ratios, self.rule.rope(), bootstrap::DRAWS, seed)?;
        let ranks = self.by_ranks.map_or(Outcome::Inconclusive, |decision| decision.outcome);
        let mean = self.by_mean.map_or(Outcome::Inconclusive, |decision| decision.outcome);
        // What the mean showed once, all pairs need not show.
        let mean = if mean == ranks && paired.of(ranks) < 0.5 { Outcome::Inconclusive } else { mean };
        let mut warnings = Vec::new();
        // Too few pairs for the ranks to say anything: no disagreement.
        let is_early = self.pairs.len() < self.rule.fewest_to_differ();
        if ranks != mean && !is_early {
            warnings.push(Warning::MeanAndTypicalRunDisagree { typical: ranks, mean });
        }
        let position = Position::of(&self.pairs);
        warnings.extend(position.filter(Position::matters).map(Warning::Position));
        let disagreement = bootstrap::disagreement(&paired, &bootstrap);
        if disagreement > bootstrap::DISAGREEMENT {
            warnings.push(Warning::Tails { disagreement });
        }
        if posterior.effective_pairs() < 0.75 * posterior.pairs() as f64 {
            warnings.push(Warning::Correlated {
                pairs: posterior.pairs(),
                effective: posterior.effective_pairs(),
            });
        }
        warnings.extend(limit.map(Warning::Limited));
        let outcome = if limit.is_some() { Outcome::Inconclusive } else { ranks };
        // More pairs do not lift a limit.
        let undecided = outcome == Outcome::Inconclusive && limit.is_none();
        Ok(Verdict {
            outcome,
            on_the_mean: mean,
            decided_at: self.by_ranks.map(|decision| decision.pairs),
            pairs: self.pairs.len(),
            pairs_needed: if undecided { self.pairs_needed(&posterior) } else { None },
            posterior,
            effect: self.effect(limit)?,
            position,
            paired,
            bootstrap,
            limit,
            warnings,
        })
    }

    /// As [`power::pairs_needed`]; more than there are, since those did not prove it.
    fn pairs_needed(&self, posterior: &paired::Posterior) -> Option<u64> {
        let differs = posterior.mean().abs() > self.rule.rope().half_width();
        let fewest = if differs { self.rule.fewest_to_differ() } else { self.rule.fewest() };
        let least = fewest.max(self.pairs.len() + 1);
        Some(power::pairs_needed(posterior, self.rule.rope())?.max(least as u64))
    }
}

/// Whether all pairs are beyond the region by ten times what they differ among themselves, as counts of instructions
/// are: then it does not matter how much neighbours are alike.
fn is_far(pairs: &[Difference], rope: Rope) -> bool {
    const TIMES: f64 = 10.0;
    let ends = |(low, high): (f64, f64), pair: &Difference| (low.min(pair.ratio), high.max(pair.ratio));
    let (low, high) = pairs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    let room = TIMES * (high - low) + rope.half_width();
    low > room || high < -room
}

/// Everything that the pairs say.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// By the signed ranks, or *inconclusive* where a limit applies.
    pub outcome: Outcome,
    /// The same rule on the t posterior.
    pub on_the_mean: Outcome,
    /// The interim analysis at which the signed ranks decided, in pairs.
    pub decided_at: Option<usize>,
    /// Pairs in all.
    pub pairs: usize,
    /// Where inconclusive: about how many pairs it would take, more than there are. `None` where no number of
    /// them would, the effect being estimated on the very edge, or a limit applying.
    pub pairs_needed: Option<u64>,
    /// The mean given the pairs, on the scale of log ratios: not adjusted for the interim analyses.
    pub posterior: paired::Posterior,
    /// The effect on the typical pair, on the same scale: the outcome is what its interval says. Without an
    /// interval where a limit applies.
    pub effect: Effect,
    /// What the place in a pair does, where it is known.
    pub position: Option<Position>,
    /// The four numbers of the mean.
    pub paired: Probabilities,
    /// The four numbers without a normal distribution.
    pub bootstrap: Probabilities,
    /// What kept the data from a verdict.
    pub limit: Option<VerdictLimit>,
    /// What else to say. The caller adds those about machine, modes and load.
    pub warnings: Vec<Warning>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;
    use crate::stats::validity::limit::{Order, verdict_limit};
    use crate::stats::verdict::{ALPHA, INTERIM_ANALYSES, pairs_needed, resolvable};

    fn fed(differences: impl IntoIterator<Item = f64>) -> Sequence {
        let mut sequence = Sequence::new(Rule::standard(Rope::ONE_PERCENT).unwrap());
        for difference in differences {
            if sequence.push(difference).unwrap().is_some() {
                break;
            }
        }
        sequence
    }

    #[test]
    fn neighbours_that_are_alike_matter_only_where_the_pairs_differ_at_all() {
        // Counts that alternate rarely, as of two layouts of memory: they are worth few pairs.
        let steps = |size: f64| (0..16).map(move |pair| 0.05 + if pair % 8 < 4 { 0.0 } else { size });
        assert_eq!(fed(steps(1e-6)).decision().map(|decision| decision.outcome), Some(Outcome::Better));
        assert_eq!(fed(steps(0.01)).decision(), None);
        // Nor does it prove anything that all of them are in the region.
        assert!(!is_far(&[0.001.into(), 0.0011.into()], Rope::ONE_PERCENT));
    }

    #[test]
    fn ten_pairs_are_too_few_for_signed_ranks_and_sixteen_are_not() {
        let mut random = Random::new(1);
        let sequence = fed((0..40).map(|_| 0.05 + 0.001 * random.normal()));
        assert_eq!(sequence.decision(), Some(Decision { outcome: Outcome::Better, pairs: 16 }));
        assert_eq!(sequence.decision_on_the_mean(), Some(Decision { outcome: Outcome::Better, pairs: 10 }));
        assert!(sequence.is_over());
        let verdict = sequence.verdict(None, 1).unwrap();
        assert_eq!((verdict.outcome, verdict.pairs_needed, verdict.pairs), (Outcome::Better, None, 16));
        assert!(verdict.warnings.is_empty(), "{:?}", verdict.warnings);
    }

    #[test]
    fn turning_the_signs_turns_the_verdict() {
        let mut random = Random::new(1);
        let sequence = fed((0..40).map(|_| -0.05 + 0.001 * random.normal()));
        assert_eq!(sequence.decision().map(|found| found.outcome), Some(Outcome::Worse));
        let sequence = fed((0..40).map(|_| 0.001 * random.normal()));
        assert_eq!(sequence.decision().map(|found| found.outcome), Some(Outcome::Same));
    }

    #[test]
    fn noise_is_inconclusive_with_the_pairs_it_would_take() {
        let mut random = Random::new(2);
        let sequence = fed((0..40).map(|_| 0.011 + 0.05 * random.normal()));
        assert!(sequence.is_over() && sequence.decision().is_none());
        let verdict = sequence.verdict(None, 1).unwrap();
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert!(verdict.pairs_needed.is_some_and(|needed| needed > 40), "{verdict:?}");
    }

    #[test]
    fn an_interrupted_experiment_says_what_it_has() {
        let sequence = fed([0.03, 0.031, 0.029, 0.03]);
        let verdict = sequence.verdict(None, 1).unwrap();
        assert_eq!((verdict.outcome, verdict.pairs), (Outcome::Inconclusive, 4));
        assert!(fed([0.03]).verdict(None, 1).is_err());
    }

    #[test]
    fn a_limit_leaves_numbers_but_no_verdict() {
        let mut random = Random::new(1);
        let sequence = fed((0..40).map(|_| 0.05 + 0.001 * random.normal()));
        let verdict = sequence.verdict(verdict_limit(Order::Unknown, false, 0, 16), 1).unwrap();
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert!(verdict.paired.better > 0.99);
        assert!(verdict.warnings.contains(&Warning::Limited(VerdictLimit::UnknownOrder)));
        assert_eq!(verdict_limit(Order::Blocked, false, 0, 16), None);
        assert_eq!(verdict_limit(Order::Blocked, true, 0, 16), Some(VerdictLimit::BlockedWithDrift));
        assert_eq!(verdict_limit(Order::Interleaved, true, 4, 20), None);
        assert_eq!(
            verdict_limit(Order::Interleaved, true, 5, 20),
            Some(VerdictLimit::Contaminated { share: 0.25 })
        );
    }

    #[test]
    fn mean_and_typical_run_may_disagree() {
        // Typically 3 % better, but with rare disasters.
        let mut random = Random::new(3);
        let d = (0..40).map(|i| 0.03 + 0.002 * random.normal() - if i % 13 == 5 { 0.6 } else { 0.0 });
        let sequence = fed(d);
        let verdict = sequence.verdict(None, 1).unwrap();
        assert_eq!((verdict.outcome, verdict.on_the_mean), (Outcome::Better, Outcome::Inconclusive));
        let typical = verdict.effect;
        assert!((typical.estimate - 0.03).abs() < 0.002 && verdict.posterior.mean() < 0.0, "{verdict:?}");
        let text: Vec<String> = verdict.warnings.iter().map(ToString::to_string).collect();
        assert!(text[0].starts_with("mean and typical run disagree (tail)"), "{text:?}");
    }

    #[test]
    fn what_so_many_pairs_resolve_takes_so_many_pairs() {
        let d: Vec<f64> = (0..50).map(|pair| 0.03 + if pair % 2 == 0 { 0.02 } else { -0.02 }).collect();
        let posterior = paired::Posterior::of_independent(&d).unwrap();
        let needed = pairs_needed(&posterior, Rope::ONE_PERCENT).unwrap();
        let effect = resolvable(posterior.standard_deviation(), needed as usize, Rope::ONE_PERCENT);
        assert!(effect <= 0.03 && effect > 0.028, "{needed} {effect}");
    }

    #[test]
    fn equal_pairs_are_the_same_and_bad_ones_are_refused() {
        let sequence = fed([0.0; 40]);
        assert_eq!(sequence.decision().map(|found| found.outcome), Some(Outcome::Same));
        let mut sequence = fed([0.0]);
        assert_eq!(sequence.push(f64::NAN), Err(Error::NotFinite { index: 1 }));
        assert_eq!(sequence.pairs().len(), 1);
        assert!(Rule::new(Rope::ONE_PERCENT, &[1, 5], 0.1).is_err());
        assert_eq!(Rule::once(Rope::ONE_PERCENT, 12).unwrap().last(), 12);
    }

    #[test]
    fn neighbours_are_those_of_their_own_sequence() {
        let mut random = Random::new(12);
        // Pairs that are alike within each of four sequences, at the edge: all of them together are worth no
        // more than one by one.
        let edge = Rope::ONE_PERCENT.half_width();
        let mut wrong = 0;
        for _ in 0..400 {
            let mut sequence = Sequence::new(Rule::over(Rope::ONE_PERCENT, &[24; 4]).unwrap());
            for _ in 0..4 {
                let mut state = random.normal();
                for _ in 0..24 {
                    state = 0.5 * state + 0.75f64.sqrt() * random.normal();
                    sequence.push(edge + 0.02 * state).unwrap();
                }
            }
            wrong +=
                usize::from(sequence.decision().is_some_and(|decided| decided.outcome == Outcome::Better));
        }
        assert!(wrong <= 40, "{wrong} of 400, where .05 is nominal");
    }

    #[test]
    fn too_few_pairs_need_more_than_there_are_and_contradict_nothing() {
        for (analyses, pairs, least) in
            [(&[2][..], 2, 8), (&[4], 4, 8), (&INTERIM_ANALYSES, 4, 16), (&INTERIM_ANALYSES, 10, 16)]
        {
            let mut sequence = Sequence::new(Rule::new(Rope::ONE_PERCENT, analyses, ALPHA).unwrap());
            for pair in 0..pairs {
                sequence.push(0.3 + 0.001 * f64::from(pair % 2)).unwrap();
            }
            let verdict = sequence.verdict(None, 1).unwrap();
            assert_eq!(
                (verdict.outcome, verdict.pairs_needed),
                (Outcome::Inconclusive, Some(least)),
                "{analyses:?}"
            );
            let disagrees = |warning: &Warning| matches!(warning, Warning::MeanAndTypicalRunDisagree { .. });
            assert!(!verdict.warnings.iter().any(disagrees), "{analyses:?} {:?}", verdict.warnings);
        }
    }
}
