//! The four numbers of a comparison, and the marks that are published with them.
//!
//! In: two tails and the probability of a further run. Out: worse, same, better, which sum to 1, and next.
//! All models of this room give these.

use crate::stats::outcome::Outcome;

/// How probable it is that B is worse than, the same as, or better than A by more than the region of
/// equivalence; and that a single further run of B beats a single further run of A. Each from 0 to 1; the
/// first three sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probabilities {
    /// A's mean is above (1 + d) times B's.
    pub worse: f64,
    /// Neither: the means are within the region.
    pub same: f64,
    /// B's mean is above (1 + d) times A's.
    pub better: f64,
    /// The next run of A is below the next run of B.
    pub next: f64,
}

impl Probabilities {
    /// `same` is what the other two leave.
    pub(crate) fn new(worse: f64, better: f64, next: f64) -> Probabilities {
        let (worse, better) = (worse.clamp(0.0, 1.0), better.clamp(0.0, 1.0));
        Probabilities { worse, same: (1.0 - (worse + better)).max(0.0), better, next: next.clamp(0.0, 1.0) }
    }

    /// How probable an outcome is; of *inconclusive*, which says nothing, 1.
    pub(crate) fn of(&self, outcome: Outcome) -> f64 {
        match outcome {
            Outcome::Better => self.better,
            Outcome::Worse => self.worse,
            Outcome::Same => self.same,
            Outcome::Inconclusive => 1.0,
        }
    }

    /// The legacy marks of these numbers.
    pub fn marks(&self) -> Marks {
        Marks {
            mean_good: self.better > 0.90,
            mean_bad: self.worse > 0.10,
            next_good: self.next > 0.80,
            next_bad: self.next < 0.20,
        }
    }
}

/// The published `:)` and `:(`. They depend on noise more than on a difference (at 3 % noise, two of three
/// comparisons of equal builds get one), so they are no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// `:)`: B better by the margin with more than 90 %.
    pub mean_good: bool,
    /// `:(`: A better by the margin with more than 10 %.
    pub mean_bad: bool,
    /// `:)`: a single run of B beats one of A with more than 80 %.
    pub next_good: bool,
    /// `:(`: with less than 20 %.
    pub next_bad: bool,
}

impl Marks {
    /// As printed in the published tables: the mark of the means, then that of single runs.
    pub fn text(&self) -> String {
        let mut marks = Vec::new();
        for (on, mark) in
            [(self.mean_good, ":)"), (self.mean_bad, ":("), (self.next_good, ":)"), (self.next_bad, ":(")]
        {
            if on {
                marks.push(mark);
            }
        }
        marks.join(" ")
    }
}
