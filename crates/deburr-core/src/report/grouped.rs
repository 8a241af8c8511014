//! Findings that say the same of several places, said once: the shape of version 2 of the JSON document.
//!
//! In: the findings of one file, each about one place. Out: [`FindingGroup`]s. What is in one has the rule, the function, the
//! remedies and the words in common; what a place alone has is said with the place. Nothing is left out: every finding can be made
//! of its group and its place again.

use super::{CallerWeight, Hex, Origin, PlacedFinding, SourceLocation, Weight};
use crate::finding::{Evidence, Severity, Value};
use crate::remedy::Maker;
use crate::rule;
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

/// Findings of one file that differ in their places alone.
#[derive(Debug, Serialize)]
pub struct FindingGroup<'r> {
    /// The rule's id.
    pub rule: &'r str,
    /// How much each matters.
    pub severity: Severity,
    /// The function's name, demangled; `None` where the file has none for it.
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
    #[serde(skip_serializing_if = "is_true")]
    pub counted: bool,
    /// One sentence.
    pub message: &'r str,
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
    #[serde(skip_serializing_if = "is_zero")]
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
    /// The facts that are its own.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_true(flag: &bool) -> bool {
    *flag
}

/// Puts findings together that have the rule, the function, the remedies and the words in common. Groups are in the order of the
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
    members.iter().filter_map(|members| group(members)).collect()
}

/// What the findings of a group have in common.
#[derive(PartialEq, Eq, Hash)]
struct Common<'r> {
    rule: &'r str,
    severity: Severity,
    function: Option<&'r str>,
    near: Option<&'r str>,
    section: Option<&'r str>,
    extent: u64,
    compiler: Option<Maker>,
    origin: Option<Origin>,
    counted: bool,
    message: &'r str,
    /// Which of the rule's remedies remove it.
    remedies: Vec<bool>,
    /// The names of its facts.
    facts: Vec<&'r str>,
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
            facts: finding.evidence.facts().map(|(name, _)| name).collect(),
        }
    }
}

fn group<'r>(members: &[&'r PlacedFinding]) -> Option<FindingGroup<'r>> {
    let first = members.first()?;
    let is_shared =
        |name: &str, value: &Value| members.iter().all(|member| member.evidence.get(name) == Some(value));
    let facts = |evidence: &'r Evidence, shared: &Facts<'_>| {
        let own = evidence.facts().filter(|fact| !shared.0.contains(fact));
        Facts(own.collect())
    };
    let shared = Facts(first.evidence.facts().filter(|(name, value)| is_shared(name, value)).collect());
    let place = |member: &&'r PlacedFinding| FindingPlace {
        svma: member.svma,
        in_loop: member.in_loop,
        calls: member.calls,
        weight: member.weight.as_ref(),
        callers: &member.callers,
        source: member.source.as_deref(),
        evidence: facts(&member.evidence, &shared),
    };
    Some(FindingGroup {
        rule: &first.rule,
        severity: first.severity,
        function: first.function.as_deref(),
        near: first.near.as_deref(),
        section: first.section.as_deref(),
        extent: first.extent,
        compiler: first.compiler,
        origin: first.origin,
        counted: first.counted,
        message: &first.message,
        count: members.len() as u64,
        places: members.iter().map(place).collect(),
        evidence: shared,
    })
}
