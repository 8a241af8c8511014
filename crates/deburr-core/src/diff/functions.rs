//! All functions of two builds by name, each with its size and level in both: what a map is drawn of.
//!
//! In: two inspections, and what differs. Out: a [`FunctionPair`] for each name of either. Several functions of one name
//! (file-local ones, clones) are one here, as large as all of them.

use super::compare::{Change, FileDiff, FindingGroup, Inspection, Named, as_one, by_name};
use crate::report::Hex;
use deburr_cpu::{Arch, FeatureSet, Level, describe, first_level, levels, smallest_level};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A function in one build.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltFunction {
    /// Where it is; of several of one name the first.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    pub section: Option<Arc<str>>,
    /// Its length in bytes, split-off parts included.
    pub size: u64,
    /// The smallest level that covers what it uses, and the features beyond that.
    pub level: String,
    /// How many have the name.
    pub count: u64,
}

/// A function by its name, which one build has, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionPair {
    /// Its plain name.
    pub name: String,
    /// In the old build.
    pub old: Option<BuiltFunction>,
    /// In the new build.
    pub new: Option<BuiltFunction>,
    /// Findings in it that came, and that went.
    pub findings: (u64, u64),
    /// How it came out differently.
    pub changes: Vec<Change>,
    /// Direct calls of it in the old build and in the new one, where that is reported.
    pub calls: Option<(u64, u64)>,
    /// How what the new one uses compares with what the old one uses: greater where it needs a higher level, or features beyond
    /// the same level that the old one does not use. Equal where only one is there.
    level: Ordering,
}

impl FunctionPair {
    /// What became of it, what matters most first: `gained` or `lost` findings, a level that is `raised` or `lowered`, whether it
    /// `appeared` or is `gone`, is made `otherwise`, `called` from more or fewer places, or `resized`. Nothing where none of this is
    /// so; then its instructions may still be others.
    pub fn what(&self) -> Vec<&'static str> {
        let size = |it: &Option<BuiltFunction>| it.as_ref().map(|it| it.size);
        let all = [
            ("gained", self.findings.0 > 0),
            ("raised", self.level == Ordering::Greater),
            ("lost", self.findings.1 > 0),
            ("lowered", self.level == Ordering::Less),
            ("appeared", self.old.is_none()),
            ("gone", self.new.is_none()),
            ("otherwise", self.changes.iter().any(|change| change.what != "size")),
            ("called", self.calls.is_some()),
            ("resized", self.old.is_some() && self.new.is_some() && size(&self.old) != size(&self.new)),
        ];
        all.into_iter().filter(|(_, is)| *is).map(|(what, _)| what).collect()
    }
}

/// The functions of two builds, by name; without an old build all are new. `diff`: what [`compare`](super::compare()) says of the two.
pub fn function_pairs(old: Option<&Inspection>, new: &Inspection, diff: &FileDiff) -> Vec<FunctionPair> {
    let before = old.map(by_name).unwrap_or_default();
    let after = by_name(new);
    let (came, went) = (count_by_name(&diff.came), count_by_name(&diff.went));
    let calls: HashMap<&str, (u64, u64)> =
        diff.calls.iter().map(|it| (&*it.function, (it.old_calls, it.new_calls))).collect();
    let mut changes: HashMap<&str, Vec<Change>> = HashMap::new();
    for function in &diff.functions {
        changes.entry(&function.function).or_default().extend(function.changes.iter().cloned());
    }
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let pair = |name: &str| {
        let of = |functions: Option<&Vec<&Named>>| {
            let functions = functions?;
            let function = as_one(functions)?;
            let level = SmallestLevel::of(new.arch, function.features);
            Some((built(function, level, functions.len() as u64), level))
        };
        let (a, b) = (of(before.get(name)), of(after.get(name)));
        let level = match (&a, &b) {
            (Some((_, a)), Some((_, b))) => a.compare(*b),
            _ => Ordering::Equal,
        };
        let count = |of: &HashMap<&str, u64>| of.get(name).copied().unwrap_or(0);
        FunctionPair {
            name: name.to_owned(),
            old: a.map(|(built, _)| built),
            new: b.map(|(built, _)| built),
            findings: (count(&came), count(&went)),
            changes: changes.get(name).cloned().unwrap_or_default(),
            calls: calls.get(name).copied(),
            level,
        }
    };
    names.into_iter().map(pair).collect()
}

fn count_by_name(groups: &[FindingGroup]) -> HashMap<&str, u64> {
    let mut counts = HashMap::new();
    for (name, count) in groups.iter().filter_map(|group| Some((group.function.as_deref()?, group.count))) {
        *counts.entry(name).or_default() += count;
    }
    counts
}

fn built(function: Named, level: SmallestLevel, count: u64) -> BuiltFunction {
    let level = describe(level.level, level.beyond).to_string();
    BuiltFunction { svma: function.svma, section: function.section, size: function.size, level, count }
}

/// The smallest level that covers some features, and those beyond it.
#[derive(Debug, Clone, Copy)]
struct SmallestLevel {
    level: Option<&'static Level>,
    beyond: FeatureSet,
}

impl SmallestLevel {
    /// `features`: above the first level.
    fn of(arch: Arch, features: FeatureSet) -> SmallestLevel {
        let (level, beyond) = smallest_level(arch, first_level(arch).union(features));
        SmallestLevel { level, beyond }
    }

    fn rank(self) -> Option<usize> {
        let level = self.level?;
        levels(level.arch).iter().position(|it| it.name == level.name)
    }

    /// How that of `new` compares with this one.
    fn compare(self, new: SmallestLevel) -> Ordering {
        new.rank().cmp(&self.rank()).then_with(|| {
            match (new.beyond.minus(self.beyond).is_empty(), self.beyond.minus(new.beyond).is_empty()) {
                (false, _) => Ordering::Greater,
                (true, false) => Ordering::Less,
                (true, true) => Ordering::Equal,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compare::{compare, inspect};
    use crate::request::Request;
    use deburr_cpu::Feature;

    const LSE: &[u8] = include_bytes!("../../fixtures/llsc_loop/miss-lse.o");
    const INLINE: &[u8] = include_bytes!("../../fixtures/llsc_loop/hit-cas.o");

    fn inspected(bytes: &[u8]) -> Inspection {
        inspect(bytes, &Request::default()).unwrap()
    }

    #[test]
    fn every_function_of_both_builds_is_there_once() {
        let (old, new) = (inspected(LSE), inspected(INLINE));
        let diff = compare(Some(&old), &new);
        let pairs = function_pairs(Some(&old), &new, &diff);
        let only = |is: fn(&FunctionPair) -> bool| pairs.iter().filter(|pair| is(pair)).count() as u64;
        assert_eq!(only(|pair| pair.old.is_none()), diff.functions_came);
        assert_eq!(only(|pair| pair.new.is_none()), diff.functions_went);
        assert!(pairs.iter().all(|pair| pair.old.is_some() || pair.new.is_some()));
        let findings =
            pairs.iter().map(|pair| pair.findings).fold((0, 0), |(a, b), (came, went)| (a + came, b + went));
        let named = |groups: &[FindingGroup]| {
            groups.iter().filter(|it| it.function.is_some()).map(|it| it.count).sum::<u64>()
        };
        assert_eq!(findings, (named(&diff.came), named(&diff.went)));
        assert!(findings.0 > 0, "findings that no function has");
        let names: BTreeSet<&str> = pairs.iter().map(|pair| &*pair.name).collect();
        assert_eq!(names.len(), pairs.len());
        assert!(
            pairs
                .iter()
                .all(|pair| pair.new.as_ref().is_none_or(|new| new.section.is_some() && new.size > 0))
        );
    }

    #[test]
    fn what_matters_most_is_first_and_the_same_build_has_nothing() {
        let new = inspected(INLINE);
        let mut old = new.clone();
        let named = |name: Option<&str>| name == Some("cas_1_acquire");
        let function = old.functions.iter_mut().find(|it| named(Some(&it.name))).unwrap();
        function.features = FeatureSet::of(&[Feature::FEAT_LSE]);
        old.report.findings.retain(|finding| !named(finding.function.as_deref()));
        let what = |a: &Inspection, b: &Inspection| {
            let pairs = function_pairs(Some(a), b, &compare(Some(a), b));
            let differing: Vec<_> = pairs.into_iter().filter(|pair| !pair.what().is_empty()).collect();
            assert!(matches!(differing.as_slice(), [pair] if named(Some(&pair.name))), "{differing:?}");
            differing[0].what()
        };
        assert_eq!(what(&old, &new), ["gained", "lowered", "otherwise"]);
        assert_eq!(what(&new, &old), ["raised", "lost", "otherwise"]);
        let same = function_pairs(Some(&new), &new, &compare(Some(&new), &new));
        assert!(!same.is_empty() && same.iter().all(|pair| pair.what().is_empty()));
        let all_new = function_pairs(None, &new, &compare(None, &new));
        assert!(all_new.iter().all(|pair| pair.what().contains(&"appeared") && pair.old.is_none()));
    }

    #[test]
    fn a_level_is_higher_with_more_features_only() {
        let level = |features| SmallestLevel::of(Arch::Aarch64, features);
        let plain = level(inspected(INLINE).functions.remove(0).features);
        let lse = level(FeatureSet::of(&[Feature::FEAT_LSE]));
        let sve = level(FeatureSet::of(&[Feature::FEAT_SVE]));
        assert_eq!(plain.compare(lse), Ordering::Greater);
        assert_eq!(lse.compare(plain), Ordering::Less);
        assert_eq!(lse.compare(lse), Ordering::Equal);
        assert_ne!(lse.compare(sve), Ordering::Equal);
    }
}
