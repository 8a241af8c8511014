//! Under which tests that were not followed control gets to a place: a disjunction over the paths to it, each the
//! conjunction of the outcomes on it.
//!
//! A place that all outcomes lead to depends on none: `x ∧ P` and `¬x ∧ P` join to `P`. One that is reached by two
//! different tests depends on both, as where a cached answer is tested, or else a fresh one.

use crate::address::Svma;
use std::sync::Arc;

/// What a test came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The branch was not taken.
    Passed,
    /// The branch was taken.
    Taken,
    /// A jump through a table led here; which other places it leads to is not known.
    Chosen,
}

/// The outcome of a test: of the branch, or of what led to the place.
type Literal = (Svma, Side);

/// The outcomes on a path, sorted. A function that ends wherever something is wrong has thousands on each.
type Path = Arc<[Literal]>;

/// The tests that control depends on. No path: on none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Doubts {
    /// None is empty. `None`: no path. An empty list would be one for all threads, which they would all count their uses of.
    paths: Option<Arc<[Path]>>,
}

impl Doubts {
    fn paths(&self) -> &[Path] {
        self.paths.as_deref().unwrap_or_default()
    }

    /// Whether control gets here whatever the tests come to.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_none()
    }

    /// One of the tests: the last in order of address.
    pub(crate) fn last(&self) -> Option<Svma> {
        self.paths().iter().filter_map(|path| path.last()).max().map(|&(at, _)| at)
    }

    /// Control gets here only after one more outcome. In a loop the last outcome of a test counts.
    pub(crate) fn add(&mut self, at: Svma, side: Side) {
        let paths = match self.paths() {
            [] => vec![[(at, side)].into()],
            paths => paths.iter().map(|path| after(path, (at, side))).collect(),
        };
        self.paths = Some(least(paths).into());
    }

    /// What control depends on where it comes from either of two places.
    pub(crate) fn join(&self, other: &Doubts) -> Doubts {
        if self == other {
            return self.clone();
        }
        let (Some(own), Some(others)) = (&self.paths, &other.paths) else { return Doubts::default() };
        let all = || own.iter().chain(others.iter());
        let mut on_all: Path = all().next().map(Arc::clone).unwrap_or_default();
        for path in all().skip(1) {
            if !is_within(&on_all, path) {
                on_all = on_all.iter().filter(|literal| has(path, literal)).copied().collect();
            }
        }
        // Where some places that a table leads to meet, all may.
        let stays = |literal: &Literal| literal.1 != Side::Chosen || has(&on_all, literal);
        let kept = |path: &Path| match path.iter().all(stays) {
            true => Arc::clone(path),
            false => path.iter().filter(|literal| stays(literal)).copied().collect(),
        };
        let paths = canonical(all().map(kept).collect()).unwrap_or_else(|| vec![Arc::clone(&on_all)]);
        let is_free = paths.iter().any(|path| path.is_empty());
        if is_free { Doubts::default() } else { Doubts { paths: Some(paths.into()) } }
    }
}

/// Maximum of paths that are distinguished.
const MOST: usize = 8;

/// The prime implicants of a disjunction, by iterated consensus (Blake 1937; Brown, *Boolean Reasoning*, 1990, 3.3): the same
/// for each that means the same, so that what is joined twice changes nothing. `None` if they are too many.
fn canonical(paths: Vec<Path>) -> Option<Vec<Path>> {
    let mut paths = least(paths);
    loop {
        let pairs =
            paths.iter().enumerate().flat_map(|(index, a)| paths.iter().skip(index + 1).map(move |b| (a, b)));
        let new = pairs
            .filter_map(|(a, b)| consensus(a, b))
            .find(|new| !paths.iter().any(|path| is_within(path, new)));
        match new {
            None => return (paths.len() <= MOST).then_some(paths),
            Some(_) if paths.len() > 2 * MOST => return None,
            Some(new) => {
                paths.push(new);
                paths = least(paths);
            }
        }
    }
}

/// What both paths depend on together, without the test whose outcomes are opposite on them. `None` unless there is exactly one such
/// test.
fn consensus(a: &[Literal], b: &[Literal]) -> Option<Path> {
    let opposite = |&(at, side): &Literal| match side {
        Side::Taken => Some((at, Side::Passed)),
        Side::Passed => Some((at, Side::Taken)),
        Side::Chosen => None,
    };
    let mut opposed = a.iter().filter(|literal| opposite(literal).is_some_and(|other| has(b, &other)));
    let &(at, _) = opposed.next()?;
    if opposed.next().is_some() {
        return None;
    }
    let mut all: Vec<Literal> = Vec::with_capacity(a.len() + b.len());
    all.extend(a.iter().chain(b).filter(|literal| literal.0 != at));
    // Two sorted runs: this merges them.
    all.sort();
    all.dedup();
    Some(all.into())
}

/// A path after one more outcome.
fn after(path: &Path, (at, side): Literal) -> Path {
    let (before, rest) = path.split_at(path.partition_point(|literal| literal.0 < at));
    let (of_test, rest) = rest.split_at(rest.partition_point(|literal| literal.0 == at));
    if *of_test == [(at, side)] {
        return Arc::clone(path);
    }
    [before, &[(at, side)], rest].concat().into()
}

/// The paths that depend on no more than another one, in order.
fn least(mut paths: Vec<Path>) -> Vec<Path> {
    paths.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let mut least: Vec<Path> = Vec::with_capacity(paths.len());
    for path in paths {
        if !least.iter().any(|shorter| is_within(shorter, &path)) {
            least.push(path);
        }
    }
    least
}

fn has(path: &[Literal], literal: &Literal) -> bool {
    path.binary_search(literal).is_ok()
}

/// Whether all outcomes on a path are on another one.
fn is_within(a: &[Literal], b: &[Literal]) -> bool {
    let mut rest = b.iter();
    a.len() <= b.len() && a.iter().all(|literal| rest.by_ref().any(|other| other == literal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::draws;
    use Side::{Chosen, Passed, Taken};

    fn path(literals: &[(u64, Side)]) -> Doubts {
        let mut doubts = Doubts::default();
        literals.iter().for_each(|&(at, side)| doubts.add(Svma(at), side));
        doubts
    }

    #[test]
    fn both_outcomes_of_a_test_leave_no_doubt() {
        assert!(path(&[(1, Taken)]).join(&path(&[(1, Passed)])).is_empty());
        assert!(path(&[(1, Taken)]).join(&Doubts::default()).is_empty());
        assert_eq!(
            path(&[(1, Taken), (2, Taken)]).join(&path(&[(1, Passed), (2, Taken)])),
            path(&[(2, Taken)])
        );
    }

    #[test]
    fn either_of_two_tests_leaves_a_doubt() {
        // if (cached ? cached & bit : fresh() & bit) …; else …
        let cached = path(&[(1, Taken), (2, Taken)]).join(&path(&[(1, Passed), (3, Taken)]));
        assert_eq!(cached.last(), Some(Svma(3)));
        let other = path(&[(1, Taken), (2, Passed)]).join(&path(&[(1, Passed), (3, Passed)]));
        assert!(!other.is_empty());
        assert!(cached.join(&other).is_empty(), "both sides of the whole condition");
        // if (x || y)
        assert_eq!(path(&[(1, Taken)]).join(&path(&[(1, Passed), (2, Taken)])).last(), Some(Svma(2)));
    }

    #[test]
    fn what_a_table_leads_to_is_free_of_doubt_where_it_meets() {
        assert!(path(&[(1, Chosen)]).join(&path(&[(2, Chosen)])).is_empty());
        assert_eq!(
            path(&[(1, Chosen), (7, Taken)]).join(&path(&[(2, Chosen), (7, Taken)])),
            path(&[(7, Taken)])
        );
    }

    #[test]
    fn joining_once_more_changes_nothing() {
        // Joins of paths over six tests.
        let mut draw = draws(12345);
        let mut next = |below| draw(below) as u64;
        for _ in 0..200 {
            let mut joined = path(&[(next(6), Taken), (next(6), Passed)]);
            for _ in 0..200 {
                let other = path(&[(next(6), Taken), (next(6), Passed), (next(6), Taken)]);
                let now = joined.join(&other);
                assert_eq!(now.join(&other), now, "a second time changes nothing");
                assert_eq!(now.join(&joined), now, "what was there is part of it");
                joined = now;
            }
        }
    }
}
