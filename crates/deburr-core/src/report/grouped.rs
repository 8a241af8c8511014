//! Findings that say the same of several places, said once: the shape of version 2 of the JSON document.
//!
//! In: the findings of one file, each about one place. Out: [`FindingGroup`]s. The findings of one have the rule, the function's name, the
//! remedies and the words in common; what a place has alone is said with the place. Nothing is left out: every finding can be made
//! of its group and its place again.

use super::model::{is_none_of_them, is_yes};
use super::{CallerWeight, Hex, Origin, PlacedFinding, SourceLocation, Weight};
use crate::finding::{Severity, Value};
use crate::remedy::Maker;
use crate::rule;
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

/// What the findings of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Common<'r> {
    /// The rule's id.
    pub rule: &'r str,
    /// How much each matters.
    pub severity: Severity,
    /// The function's name, demangled; `None` where the file has none for it. Functions of the same name share a group.
    pub function: Option<&'r str>,
    /// Where the function is, if it has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<&'r str>,
    /// The section, in relocatable objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<&'r str>,
    /// Length of the code that each is about, in bytes.
    pub extent: u64,
    /// What made the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<Maker>,
    /// Who wrote the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Whether they count.
    #[serde(skip_serializing_if = "is_yes")]
    pub counted: bool,
    /// One sentence.
    pub message: &'r str,
    /// Which of the rule's remedies remove them.
    #[serde(skip)]
    remedies: Vec<bool>,
}

/// Findings of one file that differ in their places alone.
#[derive(Debug, Serialize)]
pub struct FindingGroup<'r> {
    /// What they have in common.
    #[serde(flatten)]
    pub common: Common<'r>,
    /// The facts that all places share.
    pub evidence: Facts<'r>,
    /// How many places there are.
    pub count: u64,
    /// The places, in the order of the findings.
    pub places: Vec<FindingPlace<'r>>,
}

/// One place of a group.
#[derive(Debug, Serialize)]
pub struct FindingPlace<'r> {
    /// Its address.
    pub svma: Hex,
    /// Whether it is in a loop of its function.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_loop: bool,
    /// Direct calls of its function in the file.
    #[serde(skip_serializing_if = "is_none_of_them")]
    pub calls: u64,
    /// How much of a run it took, where there was a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<&'r Weight>,
    /// The calls that took most, where there was a profile.
    #[serde(skip_serializing_if = "<[CallerWeight]>::is_empty")]
    pub callers: &'r [CallerWeight],
    /// Source line, where DWARF has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'r SourceLocation>,
    /// The facts that it has alone.
    #[serde(skip_serializing_if = "Facts::is_empty")]
    pub evidence: Facts<'r>,
}

/// Some of the facts of a finding.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts<'r>(Vec<(&'r str, &'r Value)>);

impl Facts<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Puts findings together that have the rule, the function's name, the remedies and the words in common. Groups are in the order of the
/// first finding of each.
pub fn grouped(findings: &[PlacedFinding]) -> Vec<FindingGroup<'_>> {
    let mut numbers: FxHashMap<Common<'_>, usize> = FxHashMap::default();
    let mut members: Vec<Vec<&PlacedFinding>> = Vec::new();
    for finding in findings {
        let number = *numbers.entry(Common::of(finding)).or_insert(members.len());
        match members.get_mut(number) {
            Some(members) => members.push(finding),
            None => members.push(vec![finding]),
        }
    }
    let mut groups: Vec<(Common<'_>, usize)> = numbers.into_iter().collect();
    groups.sort_unstable_by_key(|&(_, number)| number);
    groups.into_iter().zip(&members).map(|((common, _), members)| group(common, members)).collect()
}

impl<'r> Common<'r> {
    fn of(finding: &'r PlacedFinding) -> Common<'r> {
        let remedies = rule::find(&finding.rule).map_or(&[][..], |rule| rule.remedies);
        Common {
            rule: &finding.rule,
            severity: finding.severity,
            function: finding.function.as_deref(),
            near: finding.near.as_deref(),
            section: finding.section.as_deref(),
            extent: finding.extent,
            compiler: finding.compiler,
            origin: finding.origin,
            counted: finding.counted,
            message: &finding.message,
            remedies: remedies.iter().map(|remedy| remedy.removes(&finding.evidence)).collect(),
        }
    }
}

fn group<'r>(common: Common<'r>, members: &[&'r PlacedFinding]) -> FindingGroup<'r> {
    let is_shared = |&(name, value): &(&str, &Value)| {
        members.iter().all(|member| member.evidence.get(name) == Some(value))
    };
    let facts = |member: &&'r PlacedFinding| member.evidence.facts();
    let shared: Vec<_> = members.first().into_iter().flat_map(facts).filter(is_shared).collect();
    let place = |member: &&'r PlacedFinding| FindingPlace {
        svma: member.svma,
        in_loop: member.in_loop,
        calls: member.calls,
        weight: member.weight.as_ref(),
        callers: &member.callers,
        source: member.source.as_deref(),
        evidence: Facts(facts(member).filter(|fact| !shared.contains(fact)).collect()),
    };
    let places: Vec<FindingPlace<'r>> = members.iter().map(place).collect();
    FindingGroup { common, count: places.len() as u64, places, evidence: Facts(shared) }
}
