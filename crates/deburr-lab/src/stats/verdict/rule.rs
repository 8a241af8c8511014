//! When the pairs are analysed, and how much evidence each analysis demands.
//!
//! Fixed before the first pair: the interim analyses, the error that they share, and the bounds that follow
//! ([`super::spending`]).

use super::evidence::{Bound, STRICTER};
use super::spending;
use crate::stats::distributions::normal;
use crate::stats::error::Error;
use crate::stats::rope::Rope;

/// The interim analyses that the calibration is for, in pairs.
pub const INTERIM_ANALYSES: [usize; 4] = [10, 16, 24, 40];

/// The two-sided error that all analyses together spend.
pub const ALPHA: f64 = 0.10;

/// When to analyse, and how much evidence it takes. Fixed before the first pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    rope: Rope,
    alpha: f64,
    analyses: Vec<usize>,
    /// Pairs that the last analysis was to have.
    planned: usize,
    bounds: Vec<f64>,
    /// The z that each analysis demands against 0 of what says that there is a difference.
    stricter: Vec<f64>,
    /// Pairs of each of several sequences that are analysed together; empty where there is one.
    blocks: Vec<usize>,
}

impl Rule {
    /// Analyses at `analyses` pairs (increasing), with a two-sided error of `alpha` over all of them.
    ///
    /// # Errors
    /// As [`spending::bounds`]; [`Error::OutOfRange`] for a first analysis of fewer than 2 pairs.
    pub fn new(rope: Rope, analyses: &[usize], alpha: f64) -> Result<Rule, Error> {
        Rule::planned(rope, analyses, analyses.last().copied().unwrap_or(0), alpha)
    }

    /// The same, where the last analysis comes before it was planned.
    fn planned(rope: Rope, analyses: &[usize], planned: usize, alpha: f64) -> Result<Rule, Error> {
        if let Some(&first) = analyses.first().filter(|first| **first < 2) {
            return Err(Error::OutOfRange { name: "a look's number of pairs", value: first as f64 });
        }
        Ok(Rule {
            rope,
            alpha,
            analyses: analyses.to_vec(),
            planned,
            bounds: spending::bounds_of(analyses, planned, alpha)?,
            stricter: spending::gradual_of(analyses, planned, STRICTER * alpha)?,
            blocks: Vec::new(),
        })
    }

    /// The rule of an experiment that ends with so many pairs, for a reason that does not depend on what they
    /// show, as a time limit: its last analysis is of those, and spends what is left of the error.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for fewer than 2 pairs.
    pub fn ended_at(&self, pairs: usize) -> Result<Rule, Error> {
        if pairs >= self.last() {
            return Ok(self.clone());
        }
        let before = self.analyses.iter().copied().filter(|analysis| *analysis < pairs);
        let analyses: Vec<usize> = before.chain([pairs]).collect();
        Rule::planned(self.rope, &analyses, self.planned, self.alpha)
    }

    /// The same analyses with another region of equivalence.
    pub fn with_rope(&self, rope: Rope) -> Rule {
        Rule { rope, ..self.clone() }
    }

    /// Analyses at 10, 16, 24 and 40 pairs, α = 0.10.
    ///
    /// # Errors
    /// None in practice: the analyses are in order.
    pub fn standard(rope: Rope) -> Result<Rule, Error> {
        Rule::new(rope, &INTERIM_ANALYSES, ALPHA)
    }

    /// One analysis of all of `pairs` pairs that exist: for results measured elsewhere.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for fewer than 2 pairs.
    pub fn once(rope: Rope, pairs: usize) -> Result<Rule, Error> {
        Rule::new(rope, &[pairs], ALPHA)
    }

    /// One analysis of all pairs of several sequences, one after the other, so many of each: the points of a
    /// sweep.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for fewer than 2 pairs.
    pub fn over(rope: Rope, blocks: &[usize]) -> Result<Rule, Error> {
        let rule = Rule::once(rope, blocks.iter().sum())?;
        Ok(Rule { blocks: blocks.to_vec(), ..rule })
    }

    /// The same analyses with another error.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an alpha that is not between 0 and 1.
    pub fn with_alpha(&self, alpha: f64) -> Result<Rule, Error> {
        let rule = Rule::planned(self.rope, &self.analyses, self.planned, alpha)?;
        Ok(Rule { blocks: self.blocks.clone(), ..rule })
    }

    /// Pairs of each of several sequences; empty where there is one.
    pub(super) fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// The region of equivalence.
    pub fn rope(&self) -> Rope {
        self.rope
    }

    /// The two-sided error.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The interim analyses, in pairs.
    pub fn analyses(&self) -> &[usize] {
        &self.analyses
    }

    /// The z that each analysis demands.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Whether it analyses several sequences together.
    pub fn is_over_several(&self) -> bool {
        self.blocks.len() > 1
    }

    /// After how many pairs it can prove anything at all: the first analysis where pairs that all say the
    /// same are enough. Where its analyses come too early for that, the fewest pairs that one analysis of its
    /// own would take.
    pub fn fewest(&self) -> usize {
        self.fewest_at(|bound| bound.edge, self.alpha)
    }

    /// As [`Rule::fewest`], of a difference.
    pub fn fewest_to_differ(&self) -> usize {
        self.fewest_at(|bound| bound.edge.max(bound.zero), STRICTER * self.alpha)
    }

    fn fewest_at(&self, demanded: impl Fn(Bound) -> f64, alone: f64) -> usize {
        let reaches = |pairs: usize, bound: f64| most_of_ranks(pairs) >= bound;
        let analyses = self.analyses.iter().copied().zip(self.demands());
        let single = -normal::quantile(alone / 2.0);
        let own = analyses.into_iter().find(|(pairs, bound)| reaches(*pairs, demanded(*bound)));
        let own = own.map(|(pairs, _)| pairs);
        own.or_else(|| (2..64).find(|pairs| reaches(*pairs, single))).unwrap_or(64)
    }

    /// What each analysis demands.
    pub(super) fn demands(&self) -> impl Iterator<Item = Bound> {
        self.bounds.iter().zip(&self.stricter).map(|(&edge, &zero)| Bound { edge, zero })
    }

    /// After how many pairs the experiment ends.
    pub fn last(&self) -> usize {
        self.analyses.last().copied().unwrap_or(0)
    }
}

/// The z that the signed ranks of so many pairs reach where all say the same: one of 2ⁿ signs.
fn most_of_ranks(pairs: usize) -> f64 {
    -normal::quantile(libm::exp2(-(pairs as f64)))
}
