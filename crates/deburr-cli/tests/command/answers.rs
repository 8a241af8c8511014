//! The three answers of a baseline or a claim, in every format, and the exit status that follows from them.

use super::packages::{gzip, tar};
use super::{Scratch, deburr, json, stderr, stdout};
use deburr_test_support::schema_faults;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const RUNS: &str = "miss-first-level.o";
const DIES: &str = "hit-popcnt.o";
const UNDECIDED: &str = "hit-not-followed.o";
const GUARDED: &str = "miss-guarded.o";
const UNDER_GUARDED: &str = "hit-under-guarded.o";
const ARM: &str = "miss-aarch64-hints.o";

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures/above_baseline");
    folder.join(name).display().to_string()
}

/// A folder with some fixtures.
fn folder(scratch: &Scratch, names: &[&str]) -> String {
    for name in names {
        scratch.file(name, &fs::read(fixture(name)).unwrap());
    }
    scratch.as_str().to_owned()
}

/// The exit status of a check, and its text.
fn checked(arguments: &[&str]) -> (i32, String) {
    let output = deburr(&[&["check"], arguments].concat());
    (output.status.code().unwrap(), stdout(&output))
}

/// The first line of the text on one fixture, without its path, and the last line.
fn ends(name: &str, options: &[&str]) -> (i32, String, String) {
    let path = fixture(name);
    let (status, text) = checked(&[&[path.as_str()], options].concat());
    let first = text.lines().next().unwrap().strip_prefix(&format!("{path}: ")).unwrap().to_owned();
    (status, first, text.lines().last().unwrap().to_owned())
}

#[test]
fn first_line_of_a_file_carries_its_answer_and_the_last_line_counts_it() {
    let of = |name, baseline| ends(name, &["--baseline", baseline]);
    let (status, first, last) = of(RUNS, "x86-64-v1");
    assert_eq!((status, first.as_str()), (0, "x86_64, runs on x86-64-v1"));
    assert_eq!(last, "1 file runs on x86-64-v1");
    let (status, first, last) = of(RUNS, "x86-64-v3");
    assert_eq!((status, first.as_str()), (0, "x86_64, runs on x86-64-v3; needs x86-64-v1"));
    assert_eq!(last, "1 file runs on x86-64-v3");
    let (status, first, last) = of(DIES, "x86-64-v1");
    assert_eq!(status, 1);
    assert!(first.starts_with("x86_64, dies on x86-64-v1: needs x86-64-v2"), "{first}");
    assert_eq!(last, "1 file dies on x86-64-v1");
    let (status, first, last) = of(UNDECIDED, "x86-64-v2");
    assert_eq!(status, 0);
    assert!(first.starts_with("x86_64, undecided on x86-64-v2 (1 function)"), "{first}");
    assert!(!first.contains("runs on"), "{first}");
    assert_eq!(last, "1 file undecided on x86-64-v2 (1 function)");
    let (status, first, last) = of(UNDER_GUARDED, "x86-64-v2");
    assert_eq!(status, 1);
    assert!(first.starts_with("x86_64, dies on sandybridge and "), "{first}");
    assert!(first.contains(" more CPUs, of x86-64-v2"), "{first}");
    assert_eq!(last, "1 file dies on x86-64-v2");
}

#[test]
fn a_file_that_dies_on_a_known_machine_of_its_level_does_not_run_on_the_level() {
    let (status, first, _) = ends(UNDER_GUARDED, &[]);
    assert_eq!(status, 0);
    assert!(first.starts_with("x86_64, dies on "), "{first}");
    assert!(first.contains(", of x86-64-v1") && !first.contains("but not on"), "{first}");
    let (document, _) = json(&[&fixture(UNDER_GUARDED)]);
    let levels = &document["files"][0]["runs_on"]["levels"];
    assert!(!levels.as_array().unwrap().contains(&"x86-64-v1".into()), "{levels}");
    assert!(levels.as_array().unwrap().contains(&"x86-64-v3".into()), "{levels}");
}

#[test]
fn the_last_line_counts_files_by_answer_and_what_is_not_judged_apart() {
    let scratch = Scratch::new("answers-folder");
    let folder = folder(&scratch, &[RUNS, DIES, UNDECIDED, GUARDED, ARM]);
    let (status, text) = checked(&[&folder, "--baseline", "x86-64-v1"]);
    assert_eq!(status, 1);
    let last = text.lines().last().unwrap();
    assert_eq!(last, "2 files run on x86-64-v1, 1 dies, 1 undecided (1 function); not judged: 1");
    let (document, _) = json(&[&folder, "--baseline", "x86-64-v1"]);
    let expected = json!({
        "runs": 2, "runs_presumed": 0, "undecided": 1, "dies": 1, "not_judged": 1, "allowed": 0,
        "undecided_functions": 1, "unread_payloads": 0,
    });
    assert_eq!(document["statistics"]["answers"], expected);
    let answers: Vec<&Value> =
        document["files"].as_array().unwrap().iter().map(|file| &file["answer"]).collect();
    let none = Value::Null;
    assert_eq!(answers, [&json!("undecided"), &json!("dies"), &none, &json!("runs"), &json!("runs")]);
    let schema: Value = serde_json::from_slice(&deburr(&["schema"]).stdout).unwrap();
    assert_eq!(schema_faults(&schema, &document), Vec::<String>::new());
    // Without a baseline, nothing was asked, and nothing is answered.
    let (document, _) = json(&[&folder]);
    assert_eq!((document["statistics"].get("answers"), document["files"][0].get("answer")), (None, None));
    assert!(!checked(&[&folder]).1.contains("not judged"));
}

#[test]
fn an_undecided_file_fails_where_it_is_listed_or_the_run_is_strict() {
    let file = fixture(UNDECIDED);
    let status =
        |options: &[&str]| checked(&[&[file.as_str(), "--baseline", "x86-64-v2"], options].concat()).0;
    assert_eq!(status(&[]), 0);
    assert_eq!(status(&["--fail-on", "error"]), 0);
    assert_eq!(status(&["--fail-on", "error,undecided"]), 1);
    assert_eq!(status(&["--fail-on", "undecided"]), 1);
    assert_eq!(status(&["--strict"]), 1);
    assert_eq!(status(&["--strict", "--fail-on", "error"]), 1, "a strict run adds undecided");
    assert_eq!(status(&["--fail-on", "never", "--strict"]), 0);
    // A file that runs fails nowhere, and one that dies fails also where only undecided is listed.
    let of = |name: &str, baseline: &str| {
        checked(&[&fixture(name), "--baseline", baseline, "--fail-on", "error,undecided"]).0
    };
    assert_eq!((of(GUARDED, "x86-64-v2"), of(RUNS, "x86-64-v1"), of(UNDECIDED, "x86-64-v3")), (0, 0, 0));
    assert_eq!(checked(&[&fixture(DIES), "--baseline", "x86-64-v1", "--fail-on", "undecided"]).0, 1);
    let refused = deburr(&["check", &file, "--fail-on", "never,undecided"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("never: give it alone"), "{}", stderr(&refused));
}

#[test]
fn the_configuration_takes_the_list_and_its_guards_and_allowances_settle_answers() {
    let scratch = Scratch::new("answers-config");
    let (file, dying) = (fixture(UNDECIDED), fixture(DIES));
    let with = |file: &str, baseline: &str, config: &str| {
        let config = scratch.file("deburr.toml", format!("{config}\n").as_bytes());
        checked(&[file, "--baseline", baseline, "--config", &config])
    };
    let list = "fail-on = [\"error\", \"undecided\"]";
    assert_eq!(with(&file, "x86-64-v2", list).0, 1);
    assert_eq!(with(&file, "x86-64-v2", "fail-on = \"error\"").0, 0);
    let guard = "[[guard]]\nfunction = \"wide\"\nimplies = \"AVX2\"\nreason = \"callers test\"";
    let (status, text) = with(&file, "x86-64-v2", &format!("{list}\n{guard}"));
    assert_eq!((status, text.lines().last()), (0, Some("1 file runs on x86-64-v2")));
    // The owner accepts the answer: the file still has it, and it fails nothing.
    let allow = "[[allow]]\nrule = \"above-baseline\"\nreason = \"only on our machines\"";
    let (status, text) = with(&file, "x86-64-v2", &format!("{list}\n{allow}"));
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("undecided on x86-64-v2 (1 function) (allowed)"), "{text}");
    let (status, text) = with(&dying, "x86-64-v1", allow);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("dies on x86-64-v1 (allowed)"), "{text}");
    assert_eq!(text.lines().last(), Some("1 file dies on x86-64-v1; allowed: 1"));
    let other = allow.replace("above-baseline", "llsc-loop");
    assert_eq!(with(&dying, "x86-64-v1", &other).0, 1, "an allowance of another rule accepts nothing");
}

#[test]
fn a_rule_that_is_not_run_answers_nothing_and_the_file_is_not_called_running() {
    let (status, text) = checked(&[&fixture(DIES), "--baseline", "x86-64-v1", "--select", "mfence"]);
    assert_eq!((status, text.lines().last()), (0, Some("not judged: 1")));
    assert!(!text.contains("runs on x86-64"), "{text}");
}

#[test]
fn every_format_tells_of_an_undecided_file() {
    let file = fixture(UNDECIDED);
    let of = |format: &str| checked(&[&file, "--baseline", "x86-64-v2", "--format", format]);
    let why =
        "undecided on x86-64-v2: 1 function that needs more may be reached by paths that were not followed";
    let (status, github) = of("github");
    assert_eq!(status, 0);
    let warnings: Vec<&str> = github.lines().filter(|line| line.starts_with("::warning ")).collect();
    assert_eq!(warnings.len(), 1, "{github}");
    assert!(warnings[0].contains(why) && warnings[0].contains("title=undecided"), "{github}");
    assert!(of("concise").1.contains(&format!("{file}: warning undecided: {why}")));
    assert!(
        of("lintian")
            .1
            .starts_with(&format!("W: {UNDECIDED}: deburr-undecided undecided on x86-64-v2: 1 function "))
    );
    let junit = of("junit").1;
    assert!(junit.contains("<property name=\"answer\" value=\"undecided\"/>"), "{junit}");
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    let sarif: Value = serde_json::from_str(&of("sarif").1).unwrap();
    assert_eq!(sarif["runs"][0]["artifacts"][0]["properties"]["answer"], "undecided");
    let page = of("html").1;
    assert!(
        page.contains("\"answer\":\"undecided\"") && page.contains("1 file undecided on x86-64-v2"),
        "{page}"
    );
    // Text that shows findings only still says what is open.
    let quiet = checked(&[&file, "--baseline", "x86-64-v2", "--quiet"]).1;
    assert_eq!(quiet.lines().last(), Some("1 file undecided on x86-64-v2 (1 function)"));
    let quiet = checked(&[&fixture(RUNS), "--baseline", "x86-64-v2", "--quiet"]).1;
    assert_eq!(quiet, "");
}

#[test]
fn a_diff_tells_which_answers_changed_and_is_worse_by_them() {
    let diff = |old: &str, new: &str, options: &[&str]| {
        let (old, new) = (fixture(old), fixture(new));
        let output = deburr(&[&["diff", &old, &new, "--baseline", "x86-64-v2"], options].concat());
        (output.status.code().unwrap(), stdout(&output))
    };
    let (status, text) = diff(RUNS, UNDECIDED, &[]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("  answer: runs → undecided on x86-64-v2 (1 function)\n"), "{text}");
    assert!(text.contains("answers in the new build: 1 × undecided\n"), "{text}");
    assert_eq!(diff(RUNS, UNDECIDED, &["--fail-on", "error,undecided"]).0, 1);
    assert_eq!(diff(UNDECIDED, UNDECIDED, &["--fail-on", "error,undecided"]).0, 0, "it was no better before");
    assert_eq!(diff(UNDECIDED, RUNS, &["--fail-on", "error,undecided"]).0, 0);
    let (status, text) = diff(UNDECIDED, UNDER_GUARDED, &["--fail-on", "error"]);
    assert_eq!(status, 1);
    assert!(text.contains("  answer: undecided → dies on sandybridge and "), "{text}");
    let document: Value = serde_json::from_str(&diff(RUNS, UNDECIDED, &["--format", "json"]).1).unwrap();
    let file = &document["files"][0];
    assert_eq!((&file["old_answer"], &file["answer"]), (&json!("runs"), &json!("undecided")));
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "diff"]).stdout).unwrap();
    assert_eq!(schema_faults(&schema, &document), Vec::<String>::new());
    // Without a baseline there is no answer that could change.
    let output = deburr(&["diff", &fixture(RUNS), &fixture(GUARDED)]);
    assert!(!stdout(&output).contains("  answer: "), "{}", stdout(&output));
    assert!(!stdout(&output).contains("answers in the new build"), "{}", stdout(&output));
}

#[test]
fn a_claim_is_answered_like_a_baseline() {
    let scratch = Scratch::new("answers-claim");
    let control = gzip(&tar(&[("./control".to_owned(), b"Package: x\nArchitecture: amd64\n".to_vec())]));
    let members: Vec<(String, Vec<u8>)> = [RUNS, UNDECIDED, ARM]
        .iter()
        .map(|name| (format!("./usr/lib/{name}"), fs::read(fixture(name)).unwrap()))
        .collect();
    let member = |name: &str, bytes: &[u8]| {
        let size = bytes.len();
        let mut member =
            format!("{name:<16}{0:<12}{0:<6}{0:<6}{1:<8}{size:<10}`\n", 0, "100644").into_bytes();
        member.extend(bytes);
        member.resize(member.len().next_multiple_of(2), b'\n');
        member
    };
    let parts = [
        b"!<arch>\n".to_vec(),
        member("debian-binary", b"2.0\n"),
        member("control.tar.gz", &control),
        member("data.tar", &tar(&members)),
    ];
    let package = scratch.file("x.deb", &parts.concat());
    let of = |options: &[&str]| checked(&[&[package.as_str(), "--baseline", "claim"], options].concat());
    let (status, text) = of(&[]);
    assert_eq!(status, 0, "{text}");
    let last = text.lines().last().unwrap();
    assert_eq!(
        last, "1 file runs on the machines that it claims, 1 undecided (1 function); not judged: 1",
        "{text}"
    );
    assert!(!text.contains("claim-exceeded"), "a note of each cause would drown what is broken: {text}");
    let (status, text) = of(&["--fail-on", "error,undecided"]);
    assert_eq!(status, 1);
    assert!(text.contains("note[claim-exceeded] 1 finding"), "who gates on it is told why: {text}");
}
