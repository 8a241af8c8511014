//! The answers: whether the machines of a baseline run a file, on the fixtures of `above-baseline`.

use deburr_core::report::{Answer, Report, UnreadPayload};
use deburr_core::{Request, StatedClaim, check};
use std::fs;
use std::path::Path;

/// The object of a fixture of `above-baseline`, checked against a level.
fn report(name: &str, level: &str, strict: bool) -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/above_baseline");
    let object = fs::read(folder.join(name).with_extension("o")).unwrap();
    let level = deburr_cpu::Target::parse(level).unwrap();
    let (baseline, baseline_name) = (Some(level.features), Some(level.name.as_str()));
    check(&object, &Request { baseline, baseline_name, strict, ..Request::default() }).unwrap()
}

fn answer(name: &str, level: &str) -> Answer {
    report(name, level, false).answer.expect("an answer for a baseline")
}

#[test]
fn each_fixture_has_the_answer_that_its_findings_have() {
    assert_eq!(answer("hit-popcnt", "x86-64-v1"), Answer::Dies);
    assert_eq!(answer("hit-popcnt", "x86-64-v2"), Answer::Runs);
    assert_eq!(answer("hit-under-guarded", "x86-64-v2"), Answer::Dies);
    assert_eq!(answer("hit-lse", "armv8.0-a"), Answer::Dies);
    assert_eq!(answer("hit-not-followed", "x86-64-v2"), Answer::Undecided);
    assert_eq!(answer("hit-not-followed", "x86-64-v3"), Answer::Runs);
    assert_eq!(answer("miss-guarded", "x86-64-v2"), Answer::Runs);
    assert_eq!(answer("miss-unreached", "x86-64-v2"), Answer::Runs);
}

#[test]
fn answer_rests_on_functions_and_known_cpus_of_the_baseline() {
    let on = report("hit-under-guarded", "x86-64-v2", false).on_baseline.unwrap();
    assert_eq!((on.name.as_str(), on.dying_functions, on.undecided_functions), ("x86-64-v2", 1, 0));
    assert!(on.dies_on.iter().any(|cpu| cpu == "sandybridge"), "{:?}", on.dies_on);
    assert!(!on.dies_on.iter().any(|cpu| ["nehalem", "haswell"].contains(&cpu.as_str())), "{:?}", on.dies_on);
    let on = report("hit-not-followed", "x86-64-v2", false).on_baseline.unwrap();
    assert_eq!((on.dying_functions, on.undecided_functions, on.dies_on.len()), (0, 1, 0));
}

#[test]
fn a_file_that_no_baseline_or_claim_applies_to_has_no_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/above_baseline");
    let object = fs::read(folder.join("hit-popcnt.o")).unwrap();
    let of = |request: &Request<'_>| {
        let report = check(&object, request).unwrap();
        (report.answer, report.on_baseline.map(|on| on.name))
    };
    assert_eq!(of(&Request::default()), (None, None));
    let baseline = Some(deburr_cpu::first_level(deburr_cpu::Arch::X86_64));
    assert_eq!(of(&Request { baseline, made_at_run_time: true, ..Request::default() }), (None, None));
    let rules: Option<&[&str]> = Some(&["llsc-loop"]);
    assert_eq!(of(&Request { baseline, rules, ..Request::default() }), (None, None), "its rule is not run");
    let (part, text, level) = ("p", "says (here)", "x86-64-v1");
    let claim = Some(StatedClaim {
        part,
        text,
        level,
        raised: None,
        largest_page: None,
        oldest_glibc: None,
        pythons: 0,
    });
    let held = of(&Request { baseline, claim, ..Request::default() });
    assert_eq!(held, (Some(Answer::Dies), Some("x86-64-v1".to_owned())));
}

#[test]
fn a_payload_that_was_not_read_makes_a_running_file_undecided_and_no_dying_one_better() {
    let payload = || UnreadPayload::new("squashfs".to_owned(), 4096, 1 << 20, "not read".to_owned());
    let with = |name: &str, level: &str| {
        let mut report = report(name, level, false);
        report.add_unread_payload(payload());
        (report.answer, report.unread_payload.len())
    };
    assert_eq!(with("miss-guarded", "x86-64-v2"), (Some(Answer::Undecided), 1));
    assert_eq!(with("hit-popcnt", "x86-64-v1"), (Some(Answer::Dies), 1));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/above_baseline");
    let object = fs::read(folder.join("miss-guarded.o")).unwrap();
    let mut unjudged = check(&object, &Request::default()).unwrap();
    unjudged.add_unread_payload(payload());
    assert_eq!(unjudged.answer, None, "nothing was asked");
}

#[test]
fn answers_are_ordered_by_how_bad_they_are_and_spelled_as_in_json() {
    let all = Answer::ALL;
    assert!(all.is_sorted());
    for answer in all {
        assert_eq!(serde_json::to_value(answer).unwrap(), answer.name());
    }
    assert_eq!(all.into_iter().max(), Some(Answer::Dies));
}
