//! Patch stage: whether a patched file does what its original does, from the two files alone.
//!
//! In: the original and the patched file. Out: what was changed, each change proven again. Of the note only
//! the list of places is used. The old instructions and what is around them come from the original, the new
//! ones from the patched file. How the new instructions were found does not matter.

use crate::candidate::{Candidates, NoCandidates, Proposed, View, sequence};
use crate::change::Change;
use crate::difference::{DifferenceError, difference_releasing};
use crate::plan;
use crate::request::{Pause, PlanError, PlanRequest};
use crate::rewrite::Rewrite;
use crate::semantics::encode;
use crate::site::Reason;
use crate::subject::{Concern, RewriteKind};
use deburr_core::address::Svma;
use deburr_cpu::{Feature, FeatureSet};
use std::collections::BTreeMap;
use std::fmt;

/// What was shown: the two files differ in nothing except these changes, and each does the same as what it
/// replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The changes, by address.
    pub changes: Vec<Change>,
    /// How many there are of each rule.
    pub by_rule: BTreeMap<&'static str, usize>,
}

/// Why nothing was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// The files are not an original and a patched file, or differ elsewhere.
    Difference(DifferenceError),
    /// The original cannot be planned for.
    Plan(PlanError),
    /// A change of a rule that this version does not know.
    Rule {
        /// Where it is.
        at: Svma,
        /// The rule as the note has it.
        rule: String,
    },
    /// A change that one line of reasoning proves and the other does not.
    Contradiction {
        /// Where it is.
        at: Svma,
        /// What the audit has against it.
        concern: Concern,
    },
    /// A change that is not proven.
    Unproven {
        /// Where it is.
        at: Svma,
        /// Why not.
        reason: Reason,
    },
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Difference(error) => error.fmt(f),
            VerifyError::Plan(error) => error.fmt(f),
            VerifyError::Rule { at, rule } => {
                write!(f, "the change at {at} is for the unknown rule {rule:?}")
            }
            VerifyError::Contradiction { at, concern } => {
                write!(f, "the second check of the file disagrees with the change at {at}: {concern}")
            }
            VerifyError::Unproven { at, reason } => write!(f, "the change at {at} is not proven: {reason}"),
        }
    }
}

impl std::error::Error for VerifyError {}

/// Proves the difference between a file and its patched form; two equal files have none.
///
/// # Errors
/// [`VerifyError`], where the files differ in anything else, or a change is not proven.
pub fn verify(original: &[u8], patched: &[u8]) -> Result<Verified, VerifyError> {
    verify_releasing(original, patched, FeatureSet::EMPTY, &|_| {})
}

/// As [`verify`], for machines that are stated to have the features of `target`. FEAT_LSE is always taken for
/// granted; what needs another feature is proven only where it is in `target`. `release` gets parts of either
/// file that are not needed for now, so that two large files need not be in memory at once.
///
/// # Errors
/// As [`verify`].
pub fn verify_releasing(
    original: &[u8],
    patched: &[u8],
    target: FeatureSet,
    release: &(dyn Fn(&[u8]) + Sync),
) -> Result<Verified, VerifyError> {
    if original == patched {
        return Ok(Verified { changes: Vec::new(), by_rule: BTreeMap::new() });
    }
    let changes = difference_releasing(original, patched, release).map_err(VerifyError::Difference)?;
    release(original);
    let mut by_rule = BTreeMap::new();
    let mut wanted = Vec::with_capacity(changes.len());
    for change in &changes {
        let Some(rewrite) = Rewrite::of(&change.rule) else {
            return Err(VerifyError::Rule { at: change.at, rule: change.rule.to_string() });
        };
        *by_rule.entry(rewrite.rule).or_default() += 1;
        wanted.push((rewrite, change));
    }
    let is_sb = |change: &Change| change.new == [encode::SB];
    let pause = if changes.iter().any(is_sb) { Pause::Sb } else { Pause::Isb };
    let target = Some(target.union(FeatureSet::of(&[Feature::FEAT_LSE])));
    let request = PlanRequest { target, pause, ..PlanRequest::default() };
    let planned = plan::plan_from(original, &request, |view| {
        let mut fixed = fixed_patterns(view, by_rule.keys());
        let proposed = wanted.iter().map(|(rewrite, change)| match rewrite.kind {
            RewriteKind::Sequence => {
                let words = (&*change.old, &*change.new);
                sequence::as_written(view.image, rewrite.rule, change.at, words, change.trampoline.as_ref())
            }
            _ => as_proposed(fixed.remove(&(rewrite.rule, change.at)), rewrite.rule, change),
        });
        proposed.collect()
    });
    let planned = planned.map_err(VerifyError::Plan)?;
    if let Some(refused) = planned.refused.into_iter().next() {
        let at = refused.at;
        return Err(match refused.reason {
            Reason::Contradiction(concern) => VerifyError::Contradiction { at, concern },
            reason => VerifyError::Unproven { at, reason },
        });
    }
    let is_planned = |change: &&Change| {
        let at = planned.sites.binary_search_by_key(&change.at, |site| site.at).ok();
        let site = at.and_then(|at| planned.sites.get(at));
        site.is_some_and(|site| {
            (site.file_offset, &site.old, &site.new, &site.trampoline)
                == (change.file_offset, &change.old, &change.new, &change.trampoline)
        })
    };
    match changes.iter().find(|change| !is_planned(change)) {
        Some(change) => Err(VerifyError::Unproven { at: change.at, reason: Reason::OtherWords }),
        None => Ok(Verified { changes, by_rule }),
    }
}

/// What fixed patterns propose for the findings of some rules, or why nothing, by rule and place.
fn fixed_patterns<'r>(
    view: &View<'_, '_, '_>,
    rules: impl Iterator<Item = &'r &'static str>,
) -> BTreeMap<(&'static str, Svma), Proposed> {
    let rewrites = rules.filter_map(|rule| Rewrite::of(rule));
    let fixed = rewrites.filter(|rewrite| rewrite.kind != RewriteKind::Sequence);
    let proposed = fixed.flat_map(|rewrite| (rewrite.candidates)(view, rewrite.rule));
    let place = |proposed: &Proposed| match proposed {
        Ok(Candidates { rule, untried, .. }) => Some((*rule, untried.first()?.start)),
        Err(NoCandidates { rule, at, .. }) => Some((*rule, *at)),
    };
    let mut placed: Vec<_> = proposed.filter_map(|proposed| Some((place(&proposed)?, proposed))).collect();
    // Of two for one place, the last stays: one with candidates.
    placed.sort_by_key(|(_, proposed)| proposed.is_ok());
    placed.into_iter().collect()
}

/// What is proposed for a place, where the first candidate is what a file has.
fn as_proposed(proposed: Option<Proposed>, rule: &'static str, change: &Change) -> Proposed {
    let is_same = |candidates: &Candidates| {
        change.trampoline.is_none()
            && candidates.untried.first().is_some_and(|candidate| {
                candidate.old == change.old && candidate.replacements.first() == Some(&change.new)
            })
    };
    let reason = Reason::OtherWords;
    let candidates = proposed.transpose()?;
    candidates.filter(is_same).ok_or(NoCandidates { rule, at: change.at, reason })
}
