//! The sums of a run: reports in their order → `statistics` of the JSON document, and the summary in text.
//!
//! In: each report with the size of its file, and the findings across files. Out: counts by rule, severity
//! and level.

use crate::names::ARCHES;
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::report::AcrossFinding;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elapsed_seconds: Option<f64>,
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
