//! What load leaves of a verdict: whether it would be the same, whatever the load did.
//!
//! In: a series with the most that each disturbed run may have lost. Out: the limit that applies, or the
//! interval of a verdict that stands beyond it; and, where somebody judges under load at their own risk, a wider
//! region.
//!
//! In each pair the true ratio is at least what was seen less what A may have lost, and at most that and what B
//! may have lost. A verdict that is the same with all pairs at their lower ends and with all at their upper ends
//! holds for whatever is between.

use super::series::Series;
use crate::stats::difference::Difference;
use crate::stats::position::Position;
use crate::stats::verdict::{self, Outcome, Rule, Sequence, VerdictLimit};
use crate::stats::{Error, Rope};
use std::borrow::Cow;

/// The verdict on some pairs as far as load goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Standing {
    /// What keeps the pairs from a verdict.
    pub(super) limit: Option<VerdictLimit>,
    /// The interval with room for all that the load may have done, where a verdict stands beyond it.
    pub(super) interval: Option<(f64, f64)>,
}

impl Standing {
    /// Of pairs that `limit` applies to.
    pub(super) fn of(
        limit: Option<VerdictLimit>,
        series: &Series,
        pairs: &[Difference],
        rule: &Rule,
    ) -> Result<Standing, Error> {
        let is_load = matches!(limit, Some(VerdictLimit::Contaminated { .. } | VerdictLimit::Stolen { .. }));
        if is_load && series.is_bounded {
            let seen = sequence(pairs, rule)?.decision().map(|decision| decision.outcome);
            let ends = ends(series, pairs, rule)?;
            if let [Some((outcome, (low, _))), Some((other, (_, high)))] = ends
                && outcome == other
                && seen == Some(outcome)
            {
                // What load no longer prevents, the order of the runs may.
                let limit = first_too_often(pairs);
                return Ok(Standing { limit, interval: limit.is_none().then_some((low, high)) });
            }
        }
        Ok(Standing { limit, interval: None })
    }
}

/// What some pairs prove, with their interval.
type Proven = (Outcome, (f64, f64));

/// What the pairs would say at their lower ends and at their upper ends.
fn ends(series: &Series, pairs: &[Difference], rule: &Rule) -> Result<[Option<Proven>; 2], Error> {
    let mut found = [None; 2];
    for (end, found) in found.iter_mut().enumerate() {
        let mut sequence = Sequence::new(rule.clone());
        for pair in shifted(series, pairs, end) {
            sequence.push(pair)?;
        }
        let interval = sequence.interval();
        *found = sequence.decision().map(|decision| decision.outcome).zip(interval);
    }
    Ok(found)
}

/// The pairs at their lower ends (0) or at their upper ends (1).
pub(super) fn shifted(series: &Series, pairs: &[Difference], end: usize) -> Vec<Difference> {
    let losses = series.losses.iter().copied().chain(std::iter::repeat([0.0; 2]));
    let shifted = pairs.iter().zip(losses).map(|(pair, [of_a, of_b])| {
        let ratio = if end == 0 { pair.ratio - of_a } else { pair.ratio + of_b };
        Difference { ratio, ..*pair }
    });
    shifted.collect()
}

/// The rule that a series is judged by.
pub(super) fn in_force<'r>(rule: &'r Rule, series: &Series) -> Result<Cow<'r, Rule>, Error> {
    Ok(if series.is_under_load { Cow::Owned(under_load(rule)?) } else { Cow::Borrowed(rule) })
}

/// How many times wider the region is for whoever judges under load.
const WIDER: f64 = 3.0;

/// The rule with a region that has room for load: [`WIDER`]. It is fixed before the first pair, so that the
/// interim analyses stay what they are; what load does to one side and not to the other beyond that is the
/// user's own risk.
fn under_load(rule: &Rule) -> Result<Rule, Error> {
    Ok(rule.with_rope(Rope::new(libm::expm1(WIDER * rule.rope().half_width()))?))
}

/// All pairs of a series, analysed as the rule says.
pub(super) fn sequence(pairs: &[Difference], rule: &Rule) -> Result<Sequence, Error> {
    let mut sequence = Sequence::new(rule.clone());
    for pair in pairs {
        sequence.push(*pair)?;
    }
    Ok(sequence)
}

/// What keeps a series from a verdict.
pub(super) fn limit(series: &Series, drifts: bool, pairs: &[Difference]) -> Option<VerdictLimit> {
    let [a, b] = series.values.each_ref().map(Vec::len);
    match verdict::verdict_limit(series.order, drifts, series.contaminated, a.min(b)) {
        // It is said which of the two it takes the more to mend.
        Some(VerdictLimit::Contaminated { .. }) if series.is_under_load => first_too_often(pairs),
        Some(VerdictLimit::Contaminated { share }) if 2 * series.stolen.pairs > series.contaminated => {
            Some(VerdictLimit::Stolen { share })
        }
        Some(limit) => Some(limit),
        None => first_too_often(pairs),
    }
}

/// That one side ran first in nearly all pairs.
fn first_too_often(pairs: &[Difference]) -> Option<VerdictLimit> {
    Position::of(pairs).and_then(|position| position.limit())
}
