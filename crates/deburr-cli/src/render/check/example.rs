//! A report and a run for the tests of renderers.
//!
//! In: a renderer. Out: what it makes of the example, as text.

use super::renderer::{Checked, CodeOfFile, Finished, Renderer};
use super::totals::{Answers, Totals};
use crate::config::allow::{Allowed, Remark, Remarks};
use crate::config::guard::StaleGuard;
use crate::config::in_force::InForce;
use crate::input::walk::Skipped;
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::report::{AcrossFinding, Answer};
use serde::de::DeserializeOwned;

/// A report with all parts, and a finding by comparison of files.
const EXAMPLE: &str = include_str!("example.json");

/// One part of the example.
fn part<T: DeserializeOwned>(name: &str) -> T {
    let parts: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
    serde_json::from_value(parts[name].clone()).unwrap()
}

/// A finding by comparison of files.
pub(crate) fn example_across() -> AcrossFinding {
    part("across")
}

/// A report with all parts.
pub(crate) fn example() -> Report {
    part("report")
}

/// The example, with some of it changed.
pub(crate) fn example_with(change: impl FnOnce(&mut Report)) -> Report {
    let mut report = example();
    change(&mut report);
    report
}

/// The example, undecided on a baseline.
pub(crate) fn undecided_example() -> Report {
    example_with(|report| {
        let on = serde_json::json!({
            "name": "armv8.0-a", "dying_functions": 0, "required_functions": 0, "undecided_functions": 2,
            "presumed_functions": 0, "dies_on": [],
        });
        report.answer = Some(Answer::Undecided);
        report.on_baseline = serde_json::from_value(on).unwrap();
    })
}

/// What a renderer makes of a run over some reports, each with a further finding that is allowed; one file is
/// skipped.
pub(crate) fn rendered(renderer: &mut dyn Renderer, reports: &[Report]) -> String {
    rendered_with(renderer, reports, &[])
}

/// The same, with findings by comparison of files.
pub(crate) fn rendered_with(
    renderer: &mut dyn Renderer,
    reports: &[Report],
    across: &[AcrossFinding],
) -> String {
    let mut out = Vec::new();
    let mut totals = Totals { answers: Some(Answers::default()), ..Totals::default() };
    renderer.begin(&mut out).unwrap();
    for report in reports {
        let mut finding = example().findings.remove(0);
        finding.function = None;
        let allowed = [Allowed { finding, reason: "as good as it gets".into() }];
        let mut report = report.clone();
        report.allowed = 1;
        totals.add(&report, 4096);
        let code = CodeOfFile::default();
        renderer.file(&mut out, Checked { report: &report, allowed: &allowed, code }).unwrap();
    }
    let reason = "32-bit Arm ELF: not supported".to_owned();
    let skipped =
        [Skipped { path: "old.so".to_owned(), reason, named: false, fault: false, ..Skipped::default() }];
    let place = "deburr.toml:1".to_owned();
    let reason_it_is_stale = "it matches no function of the run";
    let stale = [StaleGuard { function: "sum_*".to_owned(), reason_it_is_stale, place: place.clone() }];
    let remark = |reason: &str| Remark {
        rules: vec!["llsc-loop"],
        file: Some("bin/*".to_owned()),
        function: None,
        reason: reason.to_owned(),
        place: place.clone(),
        subject: String::new(),
    };
    let remarks = Remarks { stale: vec![remark("it is old")], exceeded: vec![remark("there are more")] };
    let configuration = InForce {
        path: "deburr.toml".to_owned(),
        rules_left_out: vec!["mfence"],
        severity: [("llsc-loop", Severity::Note)].into(),
        stated_guards: 1,
        findings_allowed: totals.allowed,
    };
    let run = Finished {
        totals: &totals,
        skipped: &skipped,
        across,
        stale_guards: &stale,
        remarks: &remarks,
        configuration: Some(&configuration),
        profile: None,
    };
    renderer.end(&mut out, run).unwrap();
    String::from_utf8(out).unwrap()
}
