//! The verdict and when it falls: better, worse, same, or inconclusive.
//!
//! In: log ratios of pairs as they come in, positive where B is better. At interim analyses fixed in advance (10, 16, 24 and 40 pairs)
//! Wilcoxon's signed-rank test gives the interval of θ at O'Brien and Fleming's bounds ([`super::effect`]): *better* once all of it is
//! above L, *worse* once all of it is below −L, *same* once all of it is between. A z counts √(n_e/n) of itself where neighbouring
//! pairs are alike. The same rule on the t posterior is computed, too: it is about the mean, the signed ranks are about the
//! typical pair.

use super::effect::{Bound, Difference, Effect, STRICTER};
use super::position::Position;
use super::warning::Warning;
use super::{Error, Probabilities, Rope, bootstrap, load, normal, paired, spending};
use crate::side::Side;
use std::fmt;

/// The looks that the calibration is for.
pub const LOOKS: [usize; 4] = [10, 16, 24, 40];

/// The two-sided error that all looks together spend.
pub const ALPHA: f64 = 0.10;

/// What is said of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// B is better by more than the region of equivalence.
    Better,
    /// B is worse by more than the region of equivalence.
    Worse,
    /// The difference lies within the region of equivalence.
    Same,
    /// Nothing is proven.
    Inconclusive,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Same => "same",
            Outcome::Inconclusive => "inconclusive",
        })
    }
}

/// Why the data allow no verdict, whatever they say.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Cap {
    /// Nobody knows in which order the runs were made.
    UnknownOrder,
    /// All runs of A came before those of B (or the like), and the machine drifted.
    BlockedWithDrift,
    /// Too many pairs ran beside foreign load.
    Contaminated {
        /// Their share of the accepted pairs.
        share: f64,
    },
    /// In too many pairs a hypervisor took the processors away.
    Stolen {
        /// The share of the accepted pairs that were disturbed, most of them by that.
        share: f64,
    },
    /// One side ran first in nearly all pairs: what that does cannot be known.
    FirstTooOften {
        /// Which side.
        side: Side,
        /// In how many pairs.
        first: usize,
        /// Of how many.
        pairs: usize,
    },
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cap::UnknownOrder => f.write_str("the order of the runs is not known"),
            Cap::BlockedWithDrift => {
                f.write_str("the sides were measured one after the other while the machine drifted")
            }
            Cap::Contaminated { share } => {
                write!(f, "{:.0} % of the pairs ran beside foreign load", 100.0 * share)
            }
            Cap::Stolen { share } => write!(
                f,
                "in {:.0} % of the pairs a hypervisor took the processor away, which decides here more than the builds do; \
                 `--metric user` counts only the time that the program itself computed",
                100.0 * share
            ),
            Cap::FirstTooOften { side, first, pairs } => {
                write!(
                    f,
                    "{side} ran first in {first} of {pairs} pairs, so that nobody can say what running first does"
                )
            }
        }
    }
}

/// The order in which the runs were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// In pairs, one run of each side.
    Interleaved,
    /// One side after the other.
    Blocked,
    /// Not known, as of a file of numbers.
    Unknown,
}

/// The cap that applies, if any; `drifts` is [`super::drift::Drift::fires`].
pub fn cap(order: Order, drifts: bool, contaminated: usize, pairs: usize) -> Option<Cap> {
    match order {
        Order::Unknown => return Some(Cap::UnknownOrder),
        Order::Blocked if drifts => return Some(Cap::BlockedWithDrift),
        Order::Blocked | Order::Interleaved => {}
    }
    let share = contaminated as f64 / pairs.max(1) as f64;
    (share > load::TOO_MANY).then_some(Cap::Contaminated { share })
}

/// When to look, and how much evidence it takes. Fixed before the first pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    rope: Rope,
    alpha: f64,
    looks: Vec<usize>,
    bounds: Vec<f64>,
    /// The z that each look demands against 0 of what says that there is a difference.
    stricter: Vec<f64>,
    /// Pairs of each of several sequences that are looked at together; empty where there is one.
    blocks: Vec<usize>,
}

impl Rule {
    /// Looks at `looks` pairs (increasing), with a two-sided error of `alpha` over all of them.
    ///
    /// # Errors
    /// As [`spending::bounds`]; [`Error::OutOfRange`] for a first look at fewer than 2 pairs.
    pub fn new(rope: Rope, looks: &[usize], alpha: f64) -> Result<Rule, Error> {
        if let Some(&first) = looks.first().filter(|first| **first < 2) {
            return Err(Error::OutOfRange { name: "a look's number of pairs", value: first as f64 });
        }
        Ok(Rule {
            rope,
            alpha,
            looks: looks.to_vec(),
            bounds: spending::bounds(looks, alpha)?,
            stricter: spending::gradual(looks, STRICTER * alpha)?,
            blocks: Vec::new(),
        })
    }

    /// Looks at 10, 16, 24 and 40 pairs, α = 0.10.
    ///
    /// # Errors
    /// None in practice: the looks are in order.
    pub fn standard(rope: Rope) -> Result<Rule, Error> {
        Rule::new(rope, &LOOKS, ALPHA)
    }

    /// One look at all of `pairs` pairs that exist: for results measured elsewhere.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for fewer than 2 pairs.
    pub fn once(rope: Rope, pairs: usize) -> Result<Rule, Error> {
        Rule::new(rope, &[pairs], ALPHA)
    }

    /// One look at all pairs of several sequences, one behind the other, so many of each: the points of a sweep.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for fewer than 2 pairs.
    pub fn over(rope: Rope, blocks: &[usize]) -> Result<Rule, Error> {
        let rule = Rule::once(rope, blocks.iter().sum())?;
        Ok(Rule { blocks: blocks.to_vec(), ..rule })
    }

    /// The same looks with another error.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an alpha that is not between 0 and 1.
    pub fn with_alpha(&self, alpha: f64) -> Result<Rule, Error> {
        let rule = Rule::new(self.rope, &self.looks, alpha)?;
        Ok(Rule { blocks: self.blocks.clone(), ..rule })
    }

    /// The region of equivalence.
    pub fn rope(&self) -> Rope {
        self.rope
    }

    /// The two-sided error.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The looks, in pairs.
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    /// The z that each look demands.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Whether it looks at several sequences together.
    pub fn is_over_several(&self) -> bool {
        self.blocks.len() > 1
    }

    /// After how many pairs it can prove anything at all: the first look where pairs that all say the same are enough. Where its looks
    /// come too early for that, the fewest pairs that one look of its own would take.
    pub fn fewest(&self) -> usize {
        self.fewest_at(|bound| bound.edge, self.alpha)
    }

    /// As [`Rule::fewest`], of a difference.
    pub fn fewest_to_differ(&self) -> usize {
        self.fewest_at(|bound| bound.edge.max(bound.zero), STRICTER * self.alpha)
    }

    fn fewest_at(&self, demanded: impl Fn(Bound) -> f64, alone: f64) -> usize {
        let reaches = |pairs: usize, bound: f64| most_of_ranks(pairs) >= bound;
        let looks = self.looks.iter().copied().zip(self.demands());
        let single = -normal::quantile(alone / 2.0);
        let own = looks.into_iter().find(|(pairs, bound)| reaches(*pairs, demanded(*bound)));
        let own = own.map(|(pairs, _)| pairs);
        own.or_else(|| (2..64).find(|pairs| reaches(*pairs, single))).unwrap_or(64)
    }

    /// What each look demands.
    fn demands(&self) -> impl Iterator<Item = Bound> {
        self.bounds.iter().zip(&self.stricter).map(|(&edge, &zero)| Bound { edge, zero })
    }

    /// After how many pairs the experiment ends.
    pub fn last(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }
}

/// The z that the signed ranks of so many pairs reach where all say the same: one of 2ⁿ signs.
fn most_of_ranks(pairs: usize) -> f64 {
    -normal::quantile(libm::exp2(-(pairs as f64)))
}

/// Evidence about the mean against both edges, as z: how many standard deviations of a normal distribution it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// That θ > L.
    pub above_upper: f64,
    /// That θ < L.
    pub below_upper: f64,
    /// That θ > −L.
    pub above_lower: f64,
    /// That θ < −L.
    pub below_lower: f64,
}

impl Evidence {
    /// Of the t posterior, which knows the effective number of pairs.
    pub fn of_posterior(posterior: &paired::Posterior, rope: Rope) -> Evidence {
        let edge = rope.half_width();
        // What is left of the other side, so that a tail keeps its digits.
        let z = |doubt: f64| -normal::quantile(doubt);
        Evidence {
            above_upper: z(posterior.below(edge)),
            below_upper: z(posterior.above(edge)),
            above_lower: z(posterior.below(-edge)),
            below_lower: z(posterior.above(-edge)),
        }
    }

    /// What is proven at `bound`, if anything.
    pub fn decides(&self, bound: f64) -> Option<Outcome> {
        if self.above_upper >= bound {
            Some(Outcome::Better)
        } else if self.below_lower >= bound {
            Some(Outcome::Worse)
        } else if self.below_upper >= bound && self.above_lower >= bound {
            Some(Outcome::Same)
        } else {
            None
        }
    }
}

/// What was proven, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Better, worse or same.
    pub outcome: Outcome,
    /// At the look at so many pairs.
    pub pairs: usize,
}

/// An experiment under way: fed with pairs, it says when to stop.
#[derive(Debug, Clone)]
pub struct Sequence {
    rule: Rule,
    pairs: Vec<Difference>,
    looked: usize,
    /// At the look that decided, or else at the last one.
    effect: Option<Effect>,
    by_ranks: Option<Decision>,
    by_mean: Option<Decision>,
}

impl Sequence {
    /// Before the first pair.
    pub fn new(rule: Rule) -> Sequence {
        Sequence { rule, pairs: Vec::new(), looked: 0, effect: None, by_ranks: None, by_mean: None }
    }

    /// Adds a pair. Says the decision once there is one; what is decided stays decided, with the interval that it was decided by.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the pair's index; the pair is then not added.
    pub fn push(&mut self, pair: impl Into<Difference>) -> Result<Option<Decision>, Error> {
        let pair = pair.into();
        if !pair.ratio.is_finite() {
            return Err(Error::NotFinite { index: self.pairs.len() });
        }
        self.pairs.push(pair);
        let now = self.rule.looks.iter().zip(self.rule.demands()).nth(self.looked);
        if let Some((&pairs, bound)) = now.filter(|(pairs, _)| **pairs == self.pairs.len()) {
            self.looked += 1;
            let posterior = self.posterior()?;
            let decided = |outcome| Decision { outcome, pairs };
            if self.by_ranks.is_none() {
                let Rule { rope, alpha, .. } = self.rule;
                let effect = Effect::at(&self.pairs, posterior.effective_pairs(), bound, alpha, rope)?;
                self.by_ranks = effect.says(rope).map(decided);
                self.effect = Some(effect);
            }
            if self.by_mean.is_none() {
                let evidence = Evidence::of_posterior(&posterior, self.rule.rope);
                self.by_mean = evidence.decides(bound.edge).map(decided);
            }
        }
        Ok(self.by_ranks)
    }

    /// θ given the pairs so far.
    fn posterior(&self) -> Result<paired::Posterior, Error> {
        paired::Posterior::of_blocks(&self.rule.blocks, &self.ratios())
    }

    fn ratios(&self) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.ratio).collect()
    }

    /// The pairs so far.
    pub fn pairs(&self) -> &[Difference] {
        &self.pairs
    }

    /// The effect: by the look that decided, or else the last one, where that has an interval.
    fn effect(&self, cap: Option<Cap>) -> Result<Effect, Error> {
        let analysed = self.effect.filter(|effect| effect.interval.is_some());
        let effect = analysed.map_or_else(|| Effect::unanalysed(&self.ratios(), self.rule.alpha), Ok)?;
        // What is in the way of a verdict is in the way of an interval.
        Ok(if cap.is_some() { Effect { interval: None, ..effect } } else { effect })
    }

    /// Whether the experiment is over: decided, or at its last look.
    pub fn is_over(&self) -> bool {
        self.by_ranks.is_some() || self.pairs.len() >= self.rule.last()
    }

    /// By the signed ranks: the verdict without its caps.
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
    pub fn verdict(&self, cap: Option<Cap>, seed: u64) -> Result<Verdict, Error> {
        let (posterior, ratios) = (self.posterior()?, self.ratios());
        let paired = posterior.probabilities(self.rule.rope);
        let bootstrap = bootstrap::probabilities(&ratios, self.rule.rope, bootstrap::DRAWS, seed)?;
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
        warnings.extend(cap.map(Warning::Capped));
        let outcome = if cap.is_some() { Outcome::Inconclusive } else { ranks };
        // What caps a verdict is not mended by more pairs.
        let undecided = outcome == Outcome::Inconclusive && cap.is_none();
        Ok(Verdict {
            outcome,
            on_the_mean: mean,
            decided_at: self.by_ranks.map(|decision| decision.pairs),
            pairs: self.pairs.len(),
            pairs_needed: if undecided { self.pairs_needed(&posterior) } else { None },
            posterior,
            effect: self.effect(cap)?,
            position,
            paired,
            bootstrap,
            cap,
            warnings,
        })
    }

    /// As [`pairs_needed`]; more than there are, since those did not prove it.
    fn pairs_needed(&self, posterior: &paired::Posterior) -> Option<u64> {
        let differs = posterior.mean().abs() > self.rule.rope.half_width();
        let fewest = if differs { self.rule.fewest_to_differ() } else { self.rule.fewest() };
        let least = fewest.max(self.pairs.len() + 1);
        Some(pairs_needed(posterior, self.rule.rope)?.max(least as u64))
    }
}

/// Everything that the pairs say.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// By the signed ranks, or *inconclusive* where a cap applies.
    pub outcome: Outcome,
    /// The same rule on the t posterior.
    pub on_the_mean: Outcome,
    /// The look at which the signed ranks decided, in pairs.
    pub decided_at: Option<usize>,
    /// Pairs in all.
    pub pairs: usize,
    /// Where inconclusive: about how many pairs it would take, more than there are. `None` where no number of them would, the effect
    /// being estimated on the very edge, or a cap being in the way.
    pub pairs_needed: Option<u64>,
    /// The mean given the pairs, on the scale of log ratios: not adjusted for the looks.
    pub posterior: paired::Posterior,
    /// The effect on the typical pair, on the same scale: the outcome is what its interval says. Without an interval where a cap
    /// applies.
    pub effect: Effect,
    /// What the place in a pair does, where it is known.
    pub position: Option<Position>,
    /// The four numbers of the mean.
    pub paired: Probabilities,
    /// The four numbers without a normal distribution.
    pub bootstrap: Probabilities,
    /// What kept the data from a verdict.
    pub cap: Option<Cap>,
    /// What else to say. The caller adds those about machine, modes and load.
    pub warnings: Vec<Warning>,
}

/// About how many pairs would prove which side of the edge θ is on, if the estimates are right: (1.645 + 1.28)²·s²/(|θ̂| − L)²,
/// a one-sided 5 % and a power of 90 %. At least 2. `None` beyond a million.
pub fn pairs_needed(posterior: &paired::Posterior, rope: Rope) -> Option<u64> {
    let gap = posterior.mean().abs() - rope.half_width();
    let spread = posterior.standard_deviation();
    let needed = libm::ceil((1.645 + 1.28) * (1.645 + 1.28) * spread * spread / (gap * gap));
    (needed <= 1e6).then_some((needed as u64).max(2))
}

/// The smallest effect that `pairs` pairs would probably prove to lie outside the region of equivalence, as a log ratio:
/// L + (1.645 + 1.28)·s/√pairs, the same one-sided 5 % and power of 90 % as [`pairs_needed`].
pub fn resolvable(standard_deviation: f64, pairs: usize, rope: Rope) -> f64 {
    rope.half_width() + (1.645 + 1.28) * standard_deviation / libm::sqrt(pairs.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

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
    fn a_cap_leaves_numbers_but_no_verdict() {
        let mut random = Random::new(1);
        let sequence = fed((0..40).map(|_| 0.05 + 0.001 * random.normal()));
        let verdict = sequence.verdict(cap(Order::Unknown, false, 0, 16), 1).unwrap();
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert!(verdict.paired.better > 0.99);
        assert!(verdict.warnings.contains(&Warning::Capped(Cap::UnknownOrder)));
        assert_eq!(cap(Order::Blocked, false, 0, 16), None);
        assert_eq!(cap(Order::Blocked, true, 0, 16), Some(Cap::BlockedWithDrift));
        assert_eq!(cap(Order::Interleaved, true, 4, 20), None);
        assert_eq!(cap(Order::Interleaved, true, 5, 20), Some(Cap::Contaminated { share: 0.25 }));
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
    fn equal_pairs_and_bad_ones_are_told() {
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
        // Pairs that are alike within each of four sequences, at the edge: all of them together are worth no more than one by one.
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
        for (looks, pairs, least) in [(&[2][..], 2, 8), (&[4], 4, 8), (&LOOKS, 4, 16), (&LOOKS, 10, 16)] {
            let mut sequence = Sequence::new(Rule::new(Rope::ONE_PERCENT, looks, ALPHA).unwrap());
            for pair in 0..pairs {
                sequence.push(0.3 + 0.001 * f64::from(pair % 2)).unwrap();
            }
            let verdict = sequence.verdict(None, 1).unwrap();
            assert_eq!(
                (verdict.outcome, verdict.pairs_needed),
                (Outcome::Inconclusive, Some(least)),
                "{looks:?}"
            );
            let disagrees = |warning: &Warning| matches!(warning, Warning::MeanAndTypicalRunDisagree { .. });
            assert!(!verdict.warnings.iter().any(disagrees), "{looks:?} {:?}", verdict.warnings);
        }
    }
}
