//! What findings cost on a machine: the record of `deburr bench` → reports whose findings are in that order.
//!
//! In: a record, and reports. Out: [`Report::costs`], and the findings that cost most first; what was not measured follows.

use crate::cmd::bench;
use crate::cmd::failure::Failure;
use deburr_core::Report;
use deburr_core::report::{Cost, ThreadCost};
use deburr_core::rule;
use deburr_lab::bench::record::BenchRecord;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a finding of each rule costs on one machine.
pub(super) struct Costs {
    /// The machine's architecture.
    arch: String,
    by_rule: BTreeMap<&'static str, Cost>,
}

impl Costs {
    /// Those that a record has.
    pub(super) fn read(path: &Path) -> Result<Costs, Failure> {
        Ok(Costs::of(&bench::read(path)?))
    }

    fn of(record: &BenchRecord) -> Costs {
        let by_rule = rule::RULES.iter().filter_map(|rule| {
            let benchmark = rule.benchmark?;
            let cost = record.cost(benchmark.kernel, benchmark.found, benchmark.instead)?;
            let with = |cost: &deburr_lab::bench::cost::ThreadCost| {
                ThreadCost::new(cost.threads as u32, (1e3 * cost.extra_ns()).round() as i64)
            };
            let by_threads = cost.by_threads.iter().map(with).collect();
            Some((rule.id, Cost::new(benchmark.kernel.to_owned(), cost.found, cost.instead, by_threads)))
        });
        Costs { arch: record.machine.arch.clone(), by_rule: by_rule.collect() }
    }

    /// Adds them to a report, and brings its findings into their order: the most that they cost with any number of threads.
    pub(super) fn add(&self, report: &mut Report) {
        let rules: BTreeSet<&str> = report.findings.iter().map(|finding| &*finding.rule).collect();
        let cost = |rule: &str| self.by_rule.get(rule).filter(|_| self.arch == report.arch);
        report.costs = Some(rules.iter().map(|&rule| (rule.to_owned(), cost(rule).cloned())).collect());
        report.findings.sort_by_key(|finding| Reverse(cost(&finding.rule).and_then(Cost::most)));
    }
}
