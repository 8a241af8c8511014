//! The command on the rules' own fixtures: exit statuses, recorded sessions, and the JSON document.

use super::{Scratch, assert_as_recorded, deburr, stderr, stdout};
use deburr_core::rule::RULES;
use deburr_test_support::schema_faults;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LLSC: &str = "llsc_loop/hit-cas.o";
const OUTLINED: &str = "outlined_atomic/hit-libgcc.o";
const AVX512: &str = "above_baseline/hit-avx512-above-v3.o";
const PLAIN: &str = "above_baseline/miss-first-level.o";

pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures")
}

/// Runs in the folder of the fixtures, so that paths are the same everywhere.
pub(super) fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(folder()).args(arguments).output().unwrap()
}

pub(super) fn check(arguments: &[&str]) -> Output {
    run(&[&["check"], arguments].concat())
}

fn status(arguments: &[&str]) -> Option<i32> {
    check(arguments).status.code()
}

#[test]
fn exit_status_follows_the_severest_finding() {
    for (expected, arguments) in [
        (0, &[PLAIN][..]),
        (1, &[LLSC]),
        (1, &[LLSC, PLAIN]),
        // A note, unless the target guarantees LSE.
        (0, &[OUTLINED]),
        (1, &[OUTLINED, "--target", "neoverse-n1"]),
        (0, &[OUTLINED, "--target", "cortex-a72"]),
        (1, &[OUTLINED, "--fail-on", "note"]),
        // And the other way round: a loop is a note where the target has nothing better.
        (0, &[LLSC, "--target", "armv8.0-a"]),
        (1, &[LLSC, "--target", "armv8.0-a+lse"]),
        (0, &[LLSC, "--fail-on", "error"]),
        (0, &[LLSC, "--fail-on", "never"]),
        (0, &[AVX512]),
        (1, &[AVX512, "--baseline", "x86-64-v3"]),
        (1, &[AVX512, "--baseline", "x86-64-v3", "--fail-on", "error"]),
        (0, &[AVX512, "--baseline", "x86-64-v3", "--fail-on", "never"]),
        (0, &[AVX512, "--baseline", "zen4"]),
        (0, &[AVX512, "--baseline", "armv8.0-a"]),
        (2, &["no-such-file", LLSC]),
    ] {
        assert_eq!(status(arguments), Some(expected), "{arguments:?}");
    }
}

#[test]
fn rules_are_chosen_by_select_and_ignore() {
    assert_eq!(status(&[LLSC, "--select", "outlined-atomic"]), Some(0));
    assert_eq!(status(&[LLSC, "--select", "llsc-loop,outlined-atomic"]), Some(1));
    assert_eq!(status(&[LLSC, "--ignore", "llsc-loop"]), Some(0));
}

#[test]
fn sessions_are_as_recorded() {
    let sessions: [(&str, &[&str]); 6] = [
        ("llsc-loop", &["check", LLSC]),
        ("outlined-atomic", &["check", "--target", "neoverse-n1", OUTLINED]),
        ("above-baseline", &["check", "--verbose", "--baseline", "x86-64-v3", AVX512]),
        ("clean", &["check", PLAIN]),
        ("folder", &["check", "--limit", "1", "outlined_atomic", "above_baseline"]),
        ("quiet", &["check", "--quiet", "--limit", "1", LLSC, PLAIN]),
    ];
    for (name, arguments) in sessions {
        let output = run(arguments);
        let status = output.status.code().unwrap();
        let session =
            format!("$ deburr {}\n{}[exit status {status}]\n", arguments.join(" "), stdout(&output));
        assert_eq!(stderr(&output), "");
        assert_as_recorded(&format!("{name}.session"), &session);
    }
}

/// In the layout of two columns, whatever rules there are.
#[test]
fn each_rule_is_listed_with_its_summary_and_severity() {
    let output = deburr(&["rules"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let listed = stdout(&output);
    let mut lines = listed.lines();
    let width = RULES.iter().map(|rule| rule.id.len()).max().unwrap() + 2;
    for rule in RULES {
        let preview = if rule.preview { "; in preview: runs with --preview or --select" } else { "" };
        assert_eq!(lines.next(), Some(&*format!("{:width$}{}", rule.id, rule.summary)));
        assert_eq!(lines.next(), Some(&*format!("{:width$}{}{preview}", "", rule.severity)));
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn documents_of_all_fixtures_follow_the_printed_schema() {
    let schema: serde_json::Value = serde_json::from_slice(&deburr(&["schema"]).stdout).unwrap();
    let binary = crate::program();
    for arguments in [
        &["."][..],
        &[".", binary, "--statistics", "--pretty"],
        &[".", "/nonexistent", "--baseline", "x86-64-v1", "--baseline", "armv8.0-a"],
    ] {
        let output = check(&[&["--format", "json"], arguments].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let faults = schema_faults(&schema, &document);
        assert!(faults.is_empty(), "{arguments:?}: {faults:?}");
        assert!(document["files"].as_array().unwrap().len() > 20);
        assert!(
            document["files"]
                .as_array()
                .unwrap()
                .iter()
                .any(|file| file["findings"] != serde_json::json!([]))
        );
    }
}

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    // The command itself is the largest program at hand: its file is worth a pool.
    let binary = crate::program();
    for format in ["json", "text"] {
        let with = |threads| {
            let output = check(&[".", binary, "--verbose", "--format", format, "--threads", threads]);
            assert!(output.status.code() == Some(1), "{}", stderr(&output));
            stdout(&output)
        };
        let one = with("1");
        for threads in ["2", "3", "8"] {
            assert!(one == with(threads), "{format} with {threads} threads differs");
        }
    }
}

/// A static archive in the GNU format.
pub(super) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, body) in members {
        let name = format!("{name}/");
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, body.len()).bytes());
        bytes.extend_from_slice(body);
        if body.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[test]
fn members_of_an_archive_are_named_and_a_fault_keeps_those_before_it() {
    let scratch = Scratch::new("archive");
    let object = std::fs::read(folder().join(LLSC)).unwrap();
    let whole = archive(&[("a.o", &object), ("readme", b"text"), ("b.o", &object)]);
    let path = scratch.file("lib.a", &whole);
    let output = check(&[&path]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for member in ["a.o", "b.o"] {
        assert!(stdout(&output).contains(&format!("{path}({member}): aarch64")), "{}", stdout(&output));
    }
    scratch.file("lib.a", &whole[..whole.len() - 100]);
    let output = check(&[&path]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stdout(&output).contains("(a.o): aarch64"), "{}", stdout(&output));
    assert!(stderr(&output).contains(&path), "{}", stderr(&output));
}

#[test]
fn file_for_the_output_is_no_input() {
    let scratch = Scratch::new("output");
    std::fs::copy(folder().join(LLSC), scratch.join("a.o")).unwrap();
    let report = scratch.join("report.json");
    for _ in 0..2 {
        let output = deburr(&["check", scratch.as_str(), "--format", "json", "-o", report.to_str().unwrap()]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
        let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        let counts = &document["statistics"];
        assert_eq!((&counts["files_checked"], &counts["other_files"]), (&1.into(), &0.into()));
    }
    let output = deburr(&["check", scratch.as_str(), "-o", "/nonexistent/report"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent/report: no such file"), "{}", stderr(&output));
}

#[test]
fn standard_input_is_checked_like_a_file() {
    let object = std::fs::File::open(folder().join(LLSC)).unwrap();
    let output = Command::new(crate::program()).args(["check", "-"]).stdin(object).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("-: aarch64"), "{}", stdout(&output));
}

#[test]
fn colours_are_for_terminals_and_those_who_ask() {
    assert!(!stdout(&check(&[LLSC])).contains('\x1b'));
    assert!(stdout(&check(&[LLSC, "--color", "always"])).contains('\x1b'));
    // script(1) gives the command a terminal.
    for (refused, colored) in [("", true), ("1", false)] {
        let line = format!("'{}' check '{}'", crate::program(), folder().join(LLSC).display());
        let output = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("NO_COLOR", refused)
            .env("TERM", "xterm")
            .output()
            .expect("script(1) of util-linux is needed");
        assert_eq!(stdout(&output).contains("\x1b[1m"), colored, "NO_COLOR={refused:?}");
        assert!(stdout(&output).contains("cas_4_seq_cst"));
    }
}

#[test]
fn closed_pipe_in_the_middle_of_findings_ends_quietly() {
    let output = Command::new("bash")
        .args(["-c", "set -o pipefail; \"$0\" check --limit 0 --verbose . | head -1"])
        .arg(crate::program())
        .current_dir(folder())
        .output()
        .unwrap();
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output).lines().count(), 1);
}

const GUARD: &str = "[[guard]]\nfunction = \"twice\"\nimplies = [\"AVX2\"]\nreason = \"its callers ask\"\n";

fn under_guarded(config: &str) -> Output {
    let weak = "above_baseline/hit-under-guarded.o";
    check(&["--baseline", "x86-64-v2", "--format", "json", "--config", config, weak])
}

#[test]
fn stated_guard_covers_what_its_function_calls() {
    let scratch = Scratch::new("stated");
    let output = under_guarded(&scratch.file("deburr.toml", GUARD.as_bytes()));
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(stderr(&output), "");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let wide = &document["files"][0]["isa_functions"][0];
    assert_eq!((&wide["function"], &wide["reach"]), (&"wide".into(), &"guarded".into()), "{wide}");
    assert_eq!((&wide["guard"]["kind"], &wide["guard"]["function"]), (&"stated".into(), &"twice".into()));
    assert_eq!(document["files"][0]["level"], "x86-64-v1");
    assert_eq!(document["stale_guards"], serde_json::json!([]));
}

#[test]
fn stated_guard_for_too_little_leaves_the_finding() {
    let scratch = Scratch::new("stated-weak");
    let output = under_guarded(&scratch.file("deburr.toml", GUARD.replace("AVX2", "AVX").as_bytes()));
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

#[test]
fn stale_guards_are_reported_and_change_no_exit_status() {
    let scratch = Scratch::new("stale");
    for (function, reason) in
        [("no_such_*", "it matches no function of the run"), ("deep", "no verdict depends on it: ")]
    {
        let config = scratch.file("deburr.toml", GUARD.replace("twice", function).as_bytes());
        let guarded = "above_baseline/miss-guarded.o";
        let output = check(&["--baseline", "x86-64-v2", "--config", &config, guarded]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        let told =
            format!("deburr: warning: {config}:1: the stated guard of `{function}` is stale: {reason}");
        assert!(stderr(&output).starts_with(&told), "{}", stderr(&output));
        let output = check(&["--format", "json", "--config", &config, guarded]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let stale = &document["stale_guards"][0];
        assert_eq!(stale["function"], function);
        assert!(stale["reason_it_is_stale"].as_str().unwrap().starts_with(reason), "{stale}");
    }
}

#[test]
fn configuration_is_found_in_the_folders_above() {
    let scratch = Scratch::new("upward");
    let object = std::fs::read(folder().join("above_baseline/hit-under-guarded.o")).unwrap();
    scratch.file("deburr.toml", GUARD.as_bytes());
    scratch.file("a/b/weak.o", &object);
    let status = |arguments: &[&str]| {
        let mut command = Command::new(crate::program());
        let below = Path::new(scratch.as_str()).join("a/b");
        command.current_dir(below).args(["check", "--baseline", "x86-64-v2", "weak.o"]).args(arguments);
        command.output().unwrap().status.code()
    };
    assert_eq!(status(&[]), Some(0));
    let other = scratch.file("other.toml", b"");
    assert_eq!(status(&["--config", &other]), Some(1));
}

#[test]
fn faulty_configuration_is_refused_with_its_line() {
    let scratch = Scratch::new("faulty");
    let config = scratch.file("deburr.toml", GUARD.replace("implies", "implys").as_bytes());
    let output = under_guarded(&config);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        format!("deburr: {config}:3: unknown key `implys`; did you mean `implies`?\n")
    );
    let missing = under_guarded("no-such.toml");
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).starts_with("deburr: no-such.toml: "), "{}", stderr(&missing));
}
