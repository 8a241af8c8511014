//! Warnings: reasons to doubt a result, as values and as sentences.
//!
//! In: what the tests of validity found, and the verdict. Out: one sentence each, in the units of the metric.
//! Which warnings apply is decided elsewhere.

use crate::stats::outcome::Outcome;
use crate::stats::validity::limit::VerdictLimit;
use crate::stats::validity::position::Position;
use crate::stats::validity::tails::Tails;
use std::fmt;

/// A reason to doubt a result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// The machine changed while the experiment ran.
    Drift {
        /// The smaller p of the two tests for it.
        p: f64,
    },
    /// The runs of a side fall into two groups.
    TwoModes {
        /// Of the dip test.
        p: f64,
        /// Centres of the groups, in the metric's unit.
        centres: (f64, f64),
        /// Share of the runs in the upper one.
        upper: f64,
    },
    /// Something else used the machine.
    ForeignLoad {
        /// Contaminated pairs among the accepted ones.
        contaminated: usize,
        /// Accepted pairs.
        pairs: usize,
    },
    /// Too many pairs were disturbed, and the verdict would be the same whatever that did.
    Withstands,
    /// The user judges under load, and the region of equivalence has room for it.
    UnderLoad {
        /// Disturbed pairs.
        disturbed: usize,
        /// Pairs.
        pairs: usize,
        /// The region, as a fraction.
        region: f64,
    },
    /// One side has runs far out that the other has not.
    OtherTail(Tails),
    /// A hypervisor took the processors away.
    Stolen {
        /// Pairs that this disturbed.
        pairs: usize,
        /// Accepted pairs.
        of: usize,
        /// The shares of A's and of B's wall time that were taken.
        shares: [f64; 2],
    },
    /// The place in a pair makes a difference of its own.
    Position(Position),
    /// The t posterior and the Bayesian bootstrap differ: few runs far out decide.
    Tails {
        /// By how much, as a fraction.
        disagreement: f64,
    },
    /// The verdict on the mean is another than that on the typical run.
    MeanAndTypicalRunDisagree {
        /// By the signed ranks: the verdict.
        typical: Outcome,
        /// By the t posterior.
        mean: Outcome,
    },
    /// Neighbouring pairs are alike, so that they are worth fewer.
    Correlated {
        /// Accepted pairs.
        pairs: usize,
        /// What they are worth.
        effective: f64,
    },
    /// One layout of each build was measured: where code is makes a difference of its own.
    Placement,
    /// There is no verdict, whatever the numbers say.
    Limited(VerdictLimit),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Warning::Drift { p } => write!(f, "the machine changed during the experiment (p = {p:.4})"),
            Warning::TwoModes { p, centres: (low, high), upper } => write!(
                f,
                "runs fall into two groups, at {} and {} ({:.0} % in the latter; dip test p = {p:.3})",
                significant(low),
                significant(high),
                100.0 * upper
            ),
            Warning::ForeignLoad { contaminated, pairs } => {
                write!(
                    f,
                    "{contaminated} of {pairs} pairs ran during something else that kept the machine busy"
                )
            }
            Warning::Withstands => f.write_str(
                "the verdict stands whatever that did: also if every disturbed run had stood still for as long",
            ),
            Warning::UnderLoad { disturbed, pairs, region } => write!(
                f,
                "judged under load, at your own risk: {disturbed} of {pairs} pairs were disturbed; the region is wider for it, {:.1} %",
                100.0 * region
            ),
            Warning::OtherTail(Tails { out: [a, b], of: [of_a, of_b], times, means }) => {
                let (better, by) = if means < 0.0 { ("A", -means) } else { ("B", means) };
                write!(
                    f,
                    "tails differ: {a} of {of_a} runs of A and {b} of {of_b} of B are worse than typical ones, by {times:.1} times; \
                     by the mean {better} is better by {:.1} %",
                    100.0 * libm::expm1(by)
                )
            }
            Warning::Stolen { pairs, of, shares: [a, b] } => write!(
                f,
                "in {pairs} of {of} pairs a hypervisor took the processor away ({:.0} % of A's time, {:.0} % of B's): \
                 `--metric cpu` counts only the time that the program itself computed",
                100.0 * a,
                100.0 * b
            ),
            Warning::Position(Position { first: [a, b], second_ahead, p }) => {
                // As a rate: of a time that takes 6 % longer, 6 % fewer.
                let ahead = 100.0 * libm::expm1(second_ahead.unwrap_or(0.0).abs());
                let which = if second_ahead.is_some_and(|ahead| ahead < 0.0) { "first" } else { "second" };
                write!(
                    f,
                    "the {which} run of a pair is better by {ahead:.1} %, whoever it is (p = {p:.4}); A was first in {a} pairs, B in {b}"
                )
            }
            Warning::Tails { disagreement } => write!(
                f,
                "tails matter: without a normal distribution the probabilities differ by {:.0} points",
                100.0 * disagreement
            ),
            Warning::MeanAndTypicalRunDisagree { typical, mean } => {
                write!(
                    f,
                    "mean and typical run disagree (tail): the mean is {mean}, the typical run {typical}"
                )
            }
            Warning::Correlated { pairs, effective } => {
                write!(f, "neighbouring pairs are alike: {pairs} of them are worth {effective:.1}")
            }
            Warning::Placement => f.write_str(
                "each build had one layout; its place in memory may matter as much (see --relink)",
            ),
            Warning::Limited(limit) => write!(f, "no verdict: {limit}"),
        }
    }
}

/// A value in four digits, however small or large it is.
fn significant(value: f64) -> String {
    let magnitude = libm::floor(libm::log10(value.abs()));
    match magnitude.is_finite() && (-5.0..=15.0).contains(&magnitude) {
        true => format!("{value:.0$}", (3.0 - magnitude).max(0.0) as usize),
        false => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_shown_in_digits_that_distinguish_them() {
        let shown = |low, high| Warning::TwoModes { p: 0.01, centres: (low, high), upper: 0.5 }.to_string();
        assert!(shown(1405.3966, 1535.3447).contains("at 1405 and 1535 (50 %"));
        assert!(shown(0.000_678_1, 0.000_712_4).contains("at 0.0006781 and 0.0007124"));
        assert!(shown(0.0, 2.5e-9).contains("at 0.000e0 and 2.500e-9"));
    }
}
