//! The whole line: bytes → report, compared with itself, and the code at its first finding.

use crate::input::{Choice, split};
use deburr_core::profile::{CountedCall, SamplePlace, SampledEdge};
use deburr_core::report::{Answer, PlacedFinding};
use deburr_core::rule::{RULES, WHEN_HOT};
use deburr_core::{
    Knowledge, ListingPlace, Report, Request, Samples, Shown, StatedGuard, View, across, check as check_file,
    compare, inspect, learn, listing,
};
use deburr_cpu::{FeatureSet, level_named};

/// Checks an ELF file with all rules, those in preview too. The choice adds its own bytes as debug file, a target, a baseline, what it
/// exports to itself, a stated guard, samples, a comparison with itself, and a listing.
///
/// # Panics
/// Where the report does not survive JSON, a count does not add up, a file differs from itself, or a finding has no code.
pub fn check(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    let debug_file = choice.has_debug_file().then_some(bytes);
    let own =
        choice.bit(3).then(|| learn(bytes, &Request { debug_file, ..Request::default() }).ok()).flatten();
    let foreign: Vec<&Knowledge> = own.iter().collect();
    let (target, baseline) = levels(bytes, choice);
    let guard = [StatedGuard { id: 7, function: "*a*", features: target.unwrap_or(FeatureSet::EMPTY) }];
    let samples = samples(bytes);
    let request = Request {
        baseline_name: None,
        claim: None,
        debug_file,
        target,
        target_cpu: choice.bit(7).then_some(if choice.bit(6) { "haswell" } else { "cortex-a720" }),
        baseline,
        rules: Some(&ids),
        named: if choice.bit(2) { &ids } else { &[] },
        guards: if choice.bit(4) { &guard } else { &[] },
        foreign: &foreign,
        chosen: None,
        families: None,
        samples: choice.bit(7).then_some(&samples),
        when_hot: if choice.bit(5) { &WHEN_HOT } else { &[] },
        made_at_run_time: false,
        missing_interpreter: None,
        stored_at: None,
        is_packed: false,
        include_runtime: choice.bit(6),
        notes_undecided: false,
        strict: false,
        // Some are spent amid the checks, some amid the rules.
        budget: choice.bit(1).then_some(bytes.len() as u64 * 4),
        stop: None,
    };
    let Ok(report) = check_file(bytes, &request) else { return };
    hold_of_report(&report, &request);
    survives_json(&report);
    if let Some(facts) = &report.facts {
        across(&[facts.clone(), facts.clone()], Some(&ids));
    }
    if choice.bit(5) {
        let inspected = inspect(bytes, &request).expect("what is checked can be inspected");
        assert_eq!(inspected.report, report, "two runs report the same");
        let difference = compare(Some(&inspected), &inspected);
        assert!(difference.is_empty(), "a file differs from itself: {difference:?}");
    }
    if choice.bit(6) {
        lists_its_findings(bytes, &request, &report);
    }
}

/// A target and a baseline of the file's architecture (`e_machine`).
fn levels(bytes: &[u8], choice: Choice) -> (Option<FeatureSet>, Option<FeatureSet>) {
    let names = match bytes.get(18) {
        Some(183) => ["armv8.1-a", "armv9.0-a"], // EM_AARCH64
        _ => ["x86-64-v2", "x86-64-v3"],
    };
    let features = |name: &str| level_named(name).map(|level| level.features);
    (choice.bit(1).then(|| features(names[1])).flatten(), choice.bit(2).then(|| features(names[0])).flatten())
}

/// Samples all over the file, and at addresses that it holds itself.
fn samples(bytes: &[u8]) -> Samples {
    let held = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let places: Vec<SamplePlace> = held
        .map(SamplePlace::Svma)
        .chain((0..bytes.len() as u64).step_by(4).map(SamplePlace::FileOffset))
        .collect();
    let pairs = || places.iter().zip(places.iter().rev());
    let call = |(from, to): (&SamplePlace, &SamplePlace)| CountedCall {
        from: from.clone(),
        to: to.clone(),
        count: 3,
    };
    let edge = |(leaf, caller): (&SamplePlace, &SamplePlace)| SampledEdge {
        leaf: leaf.clone(),
        caller: caller.clone(),
        weight: u64::MAX,
    };
    Samples {
        event: "cycles".to_owned(),
        total: u64::MAX,
        samples: 1,
        skids: bytes.len().is_multiple_of(2),
        edges: pairs().step_by(3).map(edge).collect(),
        branches: pairs().step_by(2).map(call).collect(),
        calls: pairs().map(call).collect(),
        leaves: places.iter().map(|place| (place.clone(), 1 << 60)).collect(),
    }
}

fn hold_of_report(report: &Report, request: &Request<'_>) {
    let coverage = report.coverage;
    let sum = coverage.decoded_bytes + coverage.data_bytes + coverage.undecoded_bytes;
    assert_eq!(sum, coverage.executable_bytes);
    assert!(coverage.named_functions <= coverage.functions);
    for finding in &report.findings {
        assert!(RULES.iter().any(|rule| rule.id == finding.rule));
        assert!(!finding.message.is_empty());
        // The code it is about, which may begin before it.
        assert!(finding.extent <= coverage.executable_bytes, "{finding:?}");
    }
    assert!(report.findings.len() <= RULES.len() * (1 + coverage.executable_bytes as usize));
    assert_eq!(report.answer.is_some(), request.baseline.is_some(), "a baseline has an answer");
    let is_error = |finding: &PlacedFinding| {
        finding.rule == "above-baseline" && finding.severity == deburr_core::finding::Severity::Error
    };
    let dies = report.findings.iter().any(is_error);
    assert_eq!(dies, report.answer == Some(Answer::Dies), "an answer and its findings agree");
    for function in &report.isa_functions {
        assert!(!function.features.is_empty());
        assert!(function.features.values().all(|&count| count > 0 && count <= coverage.decoded_bytes));
    }
    assert_eq!(report.stated_guards.len(), request.guards.len());
    assert_eq!(report.profile.is_some(), request.samples.is_some());
    assert!(report.findings.iter().all(|finding| finding.weight.is_some() == request.samples.is_some()));
    let advised = |advice: &deburr_core::report::Advice| !advice.rules.is_empty() && advice.findings > 0;
    assert!(report.advice.iter().all(advised));
}

/// What a report serialises to is read back as the same report, but for what is not in the JSON.
fn survives_json(report: &Report) {
    let text = serde_json::to_string(report).expect("a report is JSON");
    let read: Report = serde_json::from_str(&text).expect("and is read back");
    let mut written = report.clone();
    (written.facts, written.stated_guards) = (None, Vec::new());
    assert_eq!(read, written);
}

/// The code at the first finding can be listed, and the finding is in it.
fn lists_its_findings(bytes: &[u8], request: &Request<'_>, report: &Report) {
    let Some(finding) = report.findings.first() else { return };
    let place = ListingPlace { base: finding.section.as_deref(), offset: Some(finding.svma.0) };
    let view = View { whole: true, ..View::default() };
    match listing(bytes, request, place, view).expect("what is checked can be listed") {
        Shown::Listing(listing) => {
            assert!(listing.insns.len() <= listing.instructions);
            assert!(listing.insns.iter().all(|line| !line.text.is_empty() && !line.bytes.is_empty()));
        }
        // Sections of a relocatable object may share a name.
        Shown::Several(candidates) => assert!(finding.section.is_some() && candidates.len() > 1),
        Shown::Nowhere(_) => assert!(finding.section.is_some(), "no code at {finding:?}"),
    }
}
