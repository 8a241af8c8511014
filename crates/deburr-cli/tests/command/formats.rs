//! The command's formats: where they go, and what they say of the rules' own fixtures.

use super::fixtures::{check, folder};
use super::{Scratch, assert_as_recorded, deburr, stderr, stdout};
use deburr_test_support::schema_faults;
use serde_json::Value;
use std::fs;

const LLSC: &str = "llsc_loop/hit-cas.o";
const STRIPPED: &str = "outlined_atomic/hit-stripped.o";

#[test]
fn several_formats_say_the_same_as_each_alone() {
    let scratch = Scratch::new("several");
    let file = |name: &str| scratch.join(name).display().to_string();
    let formats = ["concise", "json", "sarif", "github", "junit"];
    let options = formats.map(|format| format!("--format={format}={}", file(format)));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let together = check(&[&[LLSC, STRIPPED, "--format", "text"], options.as_slice()].concat());
    assert_eq!((together.status.code(), stderr(&together).as_str()), (Some(1), ""));
    assert_eq!(stdout(&together), stdout(&check(&[LLSC, STRIPPED])));
    for format in formats {
        let alone = stdout(&check(&[LLSC, STRIPPED, "--format", format]));
        assert!(!alone.is_empty() && fs::read_to_string(file(format)).unwrap() == alone, "{format}");
        check(&[LLSC, STRIPPED, "--format", format, "--output", &file("alone")]);
        assert_eq!(fs::read_to_string(file("alone")).unwrap(), alone, "{format}");
    }
    let quiet = check(&[&[LLSC, STRIPPED], options.as_slice()].concat());
    assert_eq!((stdout(&quiet).as_str(), stderr(&quiet).as_str()), ("", ""));
}

#[test]
fn a_page_is_wanted_by_either_option() {
    let scratch = Scratch::new("page-options");
    let file = |name: &str| scratch.join(name).display().to_string();
    let page = |arguments: &[&str], name: &str| {
        let output = deburr(&[arguments, &[&file(name)]].concat());
        assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()), "{arguments:?}");
        fs::read_to_string(file(name)).unwrap()
    };
    let objects = [LLSC, "llsc_loop/miss-lse.o"].map(|name| folder().join(name).display().to_string());
    let [hit, miss] = objects.each_ref().map(String::as_str);
    let one = page(&["check", hit, "--html"], "a");
    assert!(one.contains("<html") && one.contains("llsc-loop"));
    let equals = format!("html={}", file("b"));
    assert_eq!(deburr(&["check", hit, "--format", &equals]).status.code(), Some(1));
    assert_eq!(fs::read_to_string(file("b")).unwrap(), one);
    let text = deburr(&["check", hit, "--format", "text", "--html", &file("c")]);
    assert!(stdout(&text).contains("llsc-loop") && fs::read_to_string(file("c")).unwrap() == one);
    let two = page(&["diff", miss, hit, "--html"], "d");
    assert!(two.contains("<html"));
    assert_eq!(
        deburr(&["diff", miss, hit, "--format", &format!("html={}", file("e"))]).status.code(),
        Some(1)
    );
    assert_eq!(fs::read_to_string(file("e")).unwrap(), two);
    let both = deburr(&["diff", miss, hit, "--html", &file("f"), "--format", "json"]);
    assert_eq!((both.status.code(), scratch.join("f").exists()), (Some(2), false), "{}", stderr(&both));
}

#[test]
fn destinations_that_contradict_each_other_are_refused() {
    let scratch = Scratch::new("contradiction");
    let file = scratch.join("report").display().to_string();
    let to_file = format!("json={file}");
    for (arguments, complaint) in [
        (&["--format", "json", "--format", "sarif"][..], "two formats for one place"),
        (&["--format", "json", "--format", "sarif=-"], "two formats for one place"),
        (&["--format", &to_file, "--output", "/nonexistent"], "--output: every format has a file of its own"),
        (&["--format", &to_file, "--format", &to_file.replace("json", "sarif")], "two formats for one file"),
        (&["--format", "sarif=/nonexistent/report"], "/nonexistent/report: no such file or directory"),
        (
            &["--format", "sarf"],
            "[possible values: text, concise, json, sarif, github, junit, lintian, variant-json, html, parquet]",
        ),
        (&["--format", "sarf=x"], "'sarif'"),
    ] {
        let output = check(&[&[LLSC], arguments].concat());
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr(&output).contains(complaint), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn lines_for_programs_are_as_recorded() {
    for format in ["concise", "github", "junit"] {
        let output = check(&["--format", format, LLSC, STRIPPED]);
        let session = format!(
            "$ deburr check --format {format} {LLSC} {STRIPPED}\n{}[exit status 1]\n",
            stdout(&output)
        );
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
        assert_as_recorded(&format!("{format}.session"), &session);
    }
}

#[test]
fn document_of_all_fixtures_follows_the_schema_of_sarif() {
    // Two patterns have a bracket too many, which not every engine takes.
    let schema = include_str!("../data/sarif-schema-2.1.0.json").replace("{2}]?$", "{2}$");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let scratch = Scratch::new("sarif");
    let config = "[[allow]]\nrule = \"llsc-loop\"\nreason = \"known\"\n";
    let config = scratch.file("deburr.toml", config.as_bytes());
    let broken = scratch.file("broken.so", b"\x7fELF\x02\x01\x01");
    let output = check(&["--format", "sarif", "--baseline", "x86-64-v1", "--config", &config, ".", &broken]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let faults = schema_faults(&schema, &document);
    assert!(faults.is_empty(), "{faults:?}");
    let run = &document["runs"][0];
    let results = run["results"].as_array().unwrap();
    let of = |rule: &str| results.iter().filter(|result| result["ruleId"] == rule).collect::<Vec<_>>();
    assert!(of("llsc-loop").iter().all(|result| result["suppressions"][0]["justification"] == "known"));
    assert!(!of("llsc-loop").is_empty() && !of("above-baseline").is_empty());
    assert!(of("above-baseline").iter().all(|result| result.get("suppressions").is_none()));
    let mut prints: Vec<_> =
        results.iter().map(|result| result["partialFingerprints"]["deburr/v1"].as_str()).collect();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!((prints.len(), prints.contains(&None)), (results.len(), false));
    let uri = &results[0]["analysisTarget"]["uri"];
    assert!(folder().join(uri.as_str().unwrap()).exists(), "{uri}");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let notifications = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    let of = |level: &str| notifications.iter().filter(|it| it["level"] == level).count();
    let answers = run["artifacts"].as_array().unwrap().iter().map(|it| &it["properties"]["answer"]);
    // One for the broken file, and one for each that is undecided.
    assert_eq!((of("error"), of("warning")), (1, answers.filter(|answer| *answer == "undecided").count()));
    assert_eq!(notifications.len(), of("error") + of("warning"));
}

#[test]
fn suites_of_all_fixtures_are_read_by_an_xml_parser() {
    let output = check(&["--format", "junit", "--fail-on", "note", "."]);
    let text = stdout(&output);
    let document = roxmltree::Document::parse(&text).unwrap();
    let suites: Vec<_> =
        document.root_element().children().filter(|node| node.has_tag_name("testsuite")).collect();
    let failures = document.descendants().filter(|node| node.has_tag_name("failure")).count();
    let json: Value = serde_json::from_str(&stdout(&check(&["--format", "json", "."]))).unwrap();
    assert_eq!(suites.len(), json["files"].as_array().unwrap().len());
    let findings: u64 = json["statistics"]["findings_by_severity"]
        .as_object()
        .unwrap()
        .values()
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!(failures as u64, findings);
}
