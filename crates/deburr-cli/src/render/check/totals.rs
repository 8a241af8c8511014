//! The sums of a run: reports in their order → `statistics` of the JSON document, and the summary in text.
//!
//! In: each report with the size of its file, and the findings across files. Out: counts by rule, severity
//! and level.

use crate::names::ARCHES;
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::report::{AcrossFinding, Answer};
use deburr_cpu::level_names;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The sums of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) files_checked: u64,
    pub(crate) files_skipped: u64,
    pub(crate) other_files: u64,
    /// Files and members that the user leaves out.
    pub(crate) excluded_files: u64,
    pub(crate) bytes: u64,
    pub(crate) executable_bytes: u64,
    pub(crate) decoded_bytes: u64,
    pub(crate) data_bytes: u64,
    pub(crate) undecoded_bytes: u64,
    pub(crate) functions: u64,
    /// Findings that the user allows; the counts below are without them.
    pub(crate) allowed: u64,
    /// Findings in code that the files' owners cannot change; the counts below are without them.
    pub(crate) runtime_findings: u64,
    pub(crate) findings_by_rule: BTreeMap<Cow<'static, str>, u64>,
    pub(crate) findings_by_severity: BTreeMap<Severity, u64>,
    /// Files by their answers, where there is a baseline, or files are held to their claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answers: Option<Answers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elapsed_seconds: Option<f64>,
    /// Files whose analyses had too small a budget.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) files_over_budget: u64,
    /// These, each with what was not analysed.
    #[serde(skip)]
    pub(crate) over_budget: Vec<(String, String)>,
    /// Per rule: its severest finding, and the files that have any.
    #[serde(skip)]
    pub(crate) rules: BTreeMap<Cow<'static, str>, (Severity, u64)>,
    /// Files by the level that they need; code made at run time needs none.
    #[serde(skip)]
    pub(crate) levels: BTreeMap<(Cow<'static, str>, String), LevelFiles>,
    /// Files that could be read in part only.
    #[serde(skip)]
    pub(crate) with_faults: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Files by their answers.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answers {
    pub(crate) runs: u64,
    pub(crate) runs_presumed: u64,
    pub(crate) undecided: u64,
    pub(crate) dies: u64,
    /// Files that no baseline or claim applies to.
    pub(crate) not_judged: u64,
    /// Files that die or are undecided, which the user accepts.
    pub(crate) allowed: u64,
    /// Functions of the undecided files that paths which were not followed may reach.
    pub(crate) undecided_functions: u64,
    /// Payloads of the undecided files that were not read.
    pub(crate) unread_payloads: u64,
    /// The undecided file with most such functions.
    #[serde(skip)]
    pub(crate) worst: Option<(u64, String)>,
    /// What the baselines are called.
    #[serde(skip)]
    baselines: BTreeSet<String>,
    /// Whether files are held to their claims.
    #[serde(skip)]
    are_claims: bool,
    /// Undecided files that the user does not accept.
    #[serde(skip)]
    pub(crate) undecided_and_open: u64,
}

impl Answers {
    /// Adds the answer on a file.
    pub(crate) fn add(&mut self, report: &Report) {
        let Some((answer, on)) = report.answer.zip(report.on_baseline.as_ref()) else {
            self.not_judged += 1;
            return;
        };
        self.are_claims |= report.claim.is_some();
        if !self.baselines.contains(&on.name) {
            self.baselines.insert(on.name.clone());
        }
        self.allowed += u64::from(report.answer_allowed);
        match answer {
            Answer::Runs => self.runs += 1,
            Answer::RunsPresumed => self.runs_presumed += 1,
            Answer::Dies => self.dies += 1,
            Answer::Undecided => {
                self.undecided += 1;
                self.undecided_and_open += u64::from(!report.answer_allowed);
                self.undecided_functions += on.undecided_functions;
                self.unread_payloads += report.unread_payload.len() as u64;
                if self.worst.as_ref().is_none_or(|(most, _)| on.undecided_functions > *most) {
                    self.worst = Some((on.undecided_functions, report.path.clone()));
                }
            }
        }
    }

    /// The machines that so many files run on, or do not.
    pub(crate) fn machines(&self, files: u64) -> String {
        match (self.are_claims, files) {
            (true, 1) => "the machines that it claims".to_owned(),
            (true, _) => "the machines that they claim".to_owned(),
            (false, _) => self.baselines.iter().map(String::as_str).collect::<Vec<_>>().join(" and "),
        }
    }
}

/// The files that need one level.
#[derive(Debug, Default)]
pub(crate) struct LevelFiles {
    pub(crate) count: u64,
    /// The first few of them, where the level is above the first.
    pub(crate) examples: Vec<String>,
}

/// Files named for each level.
const EXAMPLES: usize = 3;

impl Totals {
    /// Adds one report on a file of so many bytes.
    pub(crate) fn add(&mut self, report: &Report, bytes: u64) {
        self.files_checked += 1;
        self.bytes += bytes;
        self.executable_bytes += report.coverage.executable_bytes;
        self.decoded_bytes += report.coverage.decoded_bytes;
        self.data_bytes += report.coverage.data_bytes;
        self.undecoded_bytes += report.coverage.undecoded_bytes;
        self.functions += report.coverage.functions;
        self.allowed += report.allowed;
        let mut in_this_file: BTreeMap<Cow<'static, str>, Severity> = BTreeMap::new();
        self.runtime_findings += report.not_counted().values().sum::<u64>();
        for finding in report.counted() {
            *self.findings_by_rule.entry(finding.rule.clone()).or_default() += 1;
            *self.findings_by_severity.entry(finding.severity).or_default() += 1;
            let severity = in_this_file.entry(finding.rule.clone()).or_insert(finding.severity);
            *severity = (*severity).max(finding.severity);
        }
        for (rule, severity) in in_this_file {
            let (worst, files) = self.rules.entry(rule).or_insert((severity, 0));
            *worst = (*worst).max(severity);
            *files += 1;
        }
        if !report.made_at_run_time {
            self.add_level(report);
        }
        if let Some(answers) = &mut self.answers {
            answers.add(report);
        }
        if let Some(over_budget) = &report.over_budget {
            self.files_over_budget += 1;
            self.over_budget.push((report.path.clone(), over_budget.sentence()));
        }
        self.with_faults += u64::from(!report.faults.is_empty());
    }

    /// Counts a file at the level that it needs.
    fn add_level(&mut self, report: &Report) {
        let of_level = self.levels.entry((report.arch.clone(), report.level.clone())).or_default();
        of_level.count += 1;
        let arch = ARCHES.iter().find(|arch| arch.name() == report.arch);
        let first_level = arch.and_then(|&arch| level_names(arch).next());
        if first_level != Some(report.level.as_str()) && of_level.examples.len() < EXAMPLES {
            of_level.examples.push(report.path.clone());
        }
    }

    /// Adds the findings by comparison of files.
    pub(crate) fn add_across(&mut self, findings: &[AcrossFinding]) {
        let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for finding in findings {
            *self.findings_by_rule.entry(finding.rule.clone()).or_default() += 1;
            *self.findings_by_severity.entry(finding.severity).or_default() += 1;
            let (worst, _) = self.rules.entry(finding.rule.clone()).or_insert((finding.severity, 0));
            *worst = (*worst).max(finding.severity);
            files.entry(&finding.rule).or_default().insert(&finding.path);
        }
        for (rule, files) in files {
            if let Some((_, count)) = self.rules.get_mut(rule) {
                *count += files.len() as u64;
            }
        }
    }

    /// The severest finding of the run.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.findings_by_severity.keys().next_back().copied()
    }
}
