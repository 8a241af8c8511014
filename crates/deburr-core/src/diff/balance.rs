//! Whether the new one of two builds is worse: [`Balance`].
//!
//! In: what differs, file by file. Out: for each respect, the weightiest first, in how many files the new build is worse, less those in which
//! it is better. The first that is not zero decides. Exchanged builds have the opposite balance, so that neither is worse than the other
//! in both directions; and a build that has its optimisation back is not worse because an optimiser's work has findings. One thing is not
//! so: a build that needs a higher level is worse, and one that needs a lower level and has more findings is worse, too, unless the
//! user names machines that have both levels.

use super::build::Aspect;
use super::compare::{FileDiff, FindingGroup};
use crate::finding::Severity;
use crate::rule;
use std::cmp::Ordering;

/// Respects in which builds are compared, the weightiest first.
const RESPECTS: [&str; 15] = [
    "answers",
    "higher levels",
    "errors",
    "what loaders refuse",
    "largest pages",
    "floating-point arithmetic",
    "unoptimised code",
    "instrumentation",
    "warnings",
    "assertions",
    "vector instructions",
    "interposable calls",
    "debug information",
    "notes",
    "lower levels",
];

/// How much worse a build is, by respect: findings in numbers, and whatever else in files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance([i64; RESPECTS.len()]);

impl Balance {
    /// Of one file. Findings of a severity below `from` do not count, and none without one.
    pub fn of(diff: &FileDiff, from: Option<Severity>) -> Balance {
        let level = diff.levels.iter().find(|level| level.what == "needed" && !level.is_within_stated);
        // A lower level makes up for nothing: what runs on more machines may be slower on all of them.
        let is_raised = level.is_some_and(|level| level.raised);
        let is_lowered = level.is_some_and(|level| !level.raised);
        // Of a file that only one build has, a finding says so.
        let is_unoptimised =
            |groups: &[FindingGroup]| groups.iter().any(|it| rule::is_of_optimisation(&it.rule));
        let optimisation = match diff.optimisation {
            Some(change) if change.worse => 1,
            Some(_) => -1,
            None => i64::from(is_unoptimised(&diff.came)) - i64::from(is_unoptimised(&diff.went)),
        };
        let build = |what: Aspect| {
            let change = diff.build.iter().find(|change| change.what == what);
            change.map_or(0, |change| i64::from(change.worse) - i64::from(change.better))
        };
        let findings = |severity: Severity| {
            let sum = |groups: &[FindingGroup]| {
                let is_counted =
                    |it: &&FindingGroup| it.severity == severity && !rule::is_of_optimisation(&it.rule);
                groups.iter().filter(is_counted).map(|it| it.count.cast_signed()).sum::<i64>()
            };
            let is_counted = from.is_some_and(|from| severity >= from);
            if is_counted { sum(&diff.came) - sum(&diff.went) } else { 0 }
        };
        Balance([
            0,
            i64::from(is_raised),
            findings(Severity::Error),
            build(Aspect::ExecutableStack) + build(Aspect::TextRelocations),
            build(Aspect::LargestPage),
            build(Aspect::FastMathAtLoad),
            optimisation,
            build(Aspect::Instrumentation),
            findings(Severity::Warning),
            build(Aspect::Assertions) + build(Aspect::OverflowChecks),
            build(Aspect::Vectorised),
            build(Aspect::InterposableCalls),
            build(Aspect::DebugInformation),
            findings(Severity::Note),
            -i64::from(is_lowered),
        ])
    }

    /// The same with what became of the answer: greater where the new one is worse.
    #[must_use]
    pub const fn with_answer(mut self, answer: Ordering) -> Balance {
        self.0[0] = answer as i64;
        self
    }

    /// Of both.
    #[must_use]
    pub fn plus(self, other: Balance) -> Balance {
        let mut sum = self;
        for (sum, more) in sum.0.iter_mut().zip(other.0) {
            *sum += more;
        }
        sum
    }

    /// The opposite.
    #[must_use]
    pub fn reversed(self) -> Balance {
        Balance(self.0.map(|count| -count))
    }

    /// Whether the new build is worse, better, or neither: greater where it is worse.
    pub fn tendency(self) -> Ordering {
        self.0.iter().find(|count| **count != 0).map_or(Ordering::Equal, |count| count.cmp(&0))
    }

    /// The respect that decides, if another one says the opposite.
    pub fn deciding(self) -> Option<&'static str> {
        let tendency = self.tendency();
        let mut differing = self.0.iter().zip(RESPECTS).filter(|(count, _)| **count != 0);
        let (_, name) = differing.next()?;
        differing.any(|(count, _)| count.cmp(&0) != tendency).then_some(name)
    }

    /// Whether the new build is worse.
    pub fn is_worse(self) -> bool {
        self.tendency().is_gt()
    }

    /// Whether the new build is better.
    pub fn is_better(self) -> bool {
        self.tendency().is_lt()
    }
}

impl FileDiff {
    /// Whether the new file is worse, by the weightiest respect in which it is worse or better. Findings of that severity and above
    /// count.
    pub fn is_worse(&self, from: Option<Severity>) -> bool {
        Balance::of(self, from).is_worse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::build::BuildChange;
    use crate::diff::compare::{LevelChange, OptimisationChange};
    use crate::report::Hex;

    fn findings(rule: &'static str, severity: Severity, count: u64) -> FindingGroup {
        FindingGroup {
            rule: rule.into(),
            severity,
            function: None,
            message: "".into(),
            svma: Hex(0),
            section: None,
            source: None,
            count,
        }
    }

    fn level(raised: bool) -> LevelChange {
        LevelChange {
            what: "needed",
            old: String::new(),
            new: String::new(),
            raised,
            is_within_stated: false,
        }
    }

    fn optimisation(worse: bool) -> OptimisationChange {
        OptimisationChange { old_functions: 0, new_functions: 0, old_per_mille: 0, new_per_mille: 0, worse }
    }

    fn change(what: Aspect, worse: bool) -> BuildChange {
        BuildChange { what, old: String::new(), new: String::new(), worse, better: !worse }
    }

    /// The same builds, exchanged.
    fn exchanged(diff: &FileDiff) -> FileDiff {
        let mut other = FileDiff { came: diff.went.clone(), went: diff.came.clone(), ..diff.clone() };
        other.levels.iter_mut().for_each(|level| level.raised = !level.raised);
        other.optimisation = diff.optimisation.map(|change| optimisation(!change.worse));
        for change in &mut other.build {
            (change.worse, change.better) = (change.better, change.worse);
        }
        other
    }

    #[test]
    fn builds_that_are_exchanged_are_not_worse_in_both_directions() {
        let warning = || findings("llsc-loop", Severity::Warning, 1);
        let of = |make: &dyn Fn(&mut FileDiff)| {
            let mut diff = FileDiff::default();
            make(&mut diff);
            let (one, other) =
                (diff.is_worse(Some(Severity::Note)), exchanged(&diff).is_worse(Some(Severity::Note)));
            (one, other)
        };
        // Findings elsewhere: as many, and more of the more severe.
        assert_eq!(
            of(&|diff| (diff.came, diff.went) =
                (vec![warning()], vec![findings("mfence", Severity::Warning, 1)])),
            (false, false)
        );
        assert_eq!(
            of(&|diff| (diff.came, diff.went) =
                (vec![warning()], vec![findings("mfence", Severity::Note, 5)])),
            (true, false)
        );
        assert_eq!(
            of(&|diff| (diff.came, diff.went) =
                (vec![warning()], vec![findings("mfence", Severity::Error, 1)])),
            (false, true)
        );
        // Code that is optimised again has findings of optimised code, and traces.
        assert_eq!(
            of(&|diff| {
                diff.optimisation = Some(optimisation(false));
                diff.came = vec![warning()];
                diff.build = vec![change(Aspect::Instrumentation, true)];
            }),
            (false, true)
        );
        assert_eq!(
            of(&|diff| diff.build =
                vec![change(Aspect::ExecutableStack, true), change(Aspect::Assertions, false)]),
            (true, false)
        );
        assert_eq!(of(&|diff| diff.levels = vec![level(true)]), (true, false));
        assert_eq!(of(&|_| {}), (false, false));
    }

    #[test]
    fn a_lower_level_makes_up_for_no_finding_and_a_higher_one_is_always_worse() {
        let mut diff = FileDiff { levels: vec![level(true)], ..FileDiff::default() };
        diff.went = vec![findings("llsc-loop", Severity::Warning, 9)];
        assert!(diff.is_worse(Some(Severity::Warning)) && exchanged(&diff).is_worse(Some(Severity::Warning)));
        assert!(!exchanged(&diff).is_worse(None) && Balance::of(&exchanged(&diff), None).is_better());
        // Where the user names machines that have both levels, the findings decide.
        diff.levels[0].is_within_stated = true;
        assert!(
            !diff.is_worse(Some(Severity::Warning)) && exchanged(&diff).is_worse(Some(Severity::Warning))
        );
    }

    #[test]
    fn what_only_one_build_has_is_weighed_by_what_it_is() {
        let gone =
            FileDiff { came: vec![findings("unoptimised-code", Severity::Error, 1)], ..FileDiff::default() };
        let gone = Balance::of(&gone, Some(Severity::Warning)).reversed();
        assert!(gone.is_better());
        let higher = FileDiff { levels: vec![level(true)], ..FileDiff::default() };
        let both = gone.plus(Balance::of(&higher, Some(Severity::Warning)));
        assert!(both.is_worse());
        assert_eq!(both.deciding(), Some("higher levels"));
        let answer = both.with_answer(Ordering::Less);
        assert_eq!((answer.is_better(), answer.deciding()), (true, Some("answers")));
        assert_eq!(Balance::default().deciding(), None);
    }
}
