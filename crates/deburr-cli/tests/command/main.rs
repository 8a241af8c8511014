//! The command as a user meets it: help texts as recorded, exit statuses, and input of every awkward kind.
//!
//! `DEBURR_RECORD=1 cargo test -p deburr` writes the recorded texts anew.

mod adversity;
mod agreement;
mod answers;
mod archives;
mod bench;
mod bounds;
mod claims;
mod compare;
mod configured;
mod containers;
mod diff;
mod emulate;
mod fix;
mod fixtures;
mod formats;
mod jit;
mod names;
mod outputs;
mod pack;
mod packages;
mod record;
mod scan;
mod show;
mod tables;

use deburr_test_support::{Scratch, schema_faults};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// The command under test; `DEBURR_UNDER_TEST` names another, such as a script that runs that of another architecture under qemu-user.
fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("DEBURR_UNDER_TEST").unwrap_or_else(|_| env!("CARGO_BIN_EXE_deburr").to_owned())
    });
    &PROGRAM
}

fn deburr(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Compares with what is recorded under the name, or records it.
fn assert_as_recorded(name: &str, text: &str) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(name);
    if std::env::var_os("DEBURR_RECORD").is_some() {
        fs::create_dir_all(recorded.parent().unwrap()).unwrap();
        fs::write(&recorded, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&recorded).unwrap(), "{name}: DEBURR_RECORD=1 records it anew");
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The header of an ELF file of another kind: 32-bit Arm.
fn arm32() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x01\x01\x01".to_vec();
    bytes.resize(18, 0);
    bytes.extend([40, 0]);
    bytes.resize(64, 0);
    bytes
}

fn json(arguments: &[&str]) -> (serde_json::Value, Output) {
    let output = deburr(&[&["check", "--format", "json"], arguments].concat());
    (serde_json::from_slice(&output.stdout).unwrap(), output)
}

/// Compares in a folder of its own, where nothing is left.
fn compare(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.path()).env("XDG_STATE_HOME", scratch.join("state"));
    command.args(["compare", "--no-gate"]).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What a comparison says in JSON, checked against the schema.
fn document(scratch: &Scratch, arguments: &[&str]) -> serde_json::Value {
    let output = compare(scratch, &[&["--format", "json"], arguments].concat());
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let schema: serde_json::Value = serde_json::from_slice(&deburr(&["schema", "compare"]).stdout).unwrap();
    let faults = schema_faults(&schema, &document);
    assert!(faults.is_empty(), "{faults:?}");
    document
}

#[test]
fn help_texts_are_as_recorded() {
    for verb in [
        "",
        "check",
        "show",
        "diff",
        "fix",
        "compare",
        "bench",
        "try",
        "record",
        "pack",
        "pack build",
        "pack assemble",
        "pack measure",
        "pack oci",
        "pack policy",
        "pack selector",
        "pack install",
        "pack wheel",
        "query",
        "scan",
        "cpu",
        "rules",
        "explain",
        "schema",
        "completions",
        "man",
    ] {
        let mut arguments: Vec<_> = verb.split_whitespace().collect();
        arguments.push("--help");
        let text = stdout(&deburr(&arguments));
        let name = if verb.is_empty() { "deburr" } else { verb };
        assert_as_recorded(&format!("{name}.help"), &text);
        assert!(text.contains("Examples:"), "deburr {verb} --help");
    }
}

#[test]
fn path_that_does_not_exist_is_a_failure_and_the_rest_is_checked() {
    let scratch = Scratch::new("missing");
    let other = scratch.file("other.so", &arm32());
    let output = deburr(&["check", "/nonexistent", &other]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("deburr: /nonexistent: no such file or directory"),
        "{}",
        stderr(&output)
    );
    let text = stdout(&output);
    assert!(text.contains("1 file skipped") && text.contains("Not checked: 1 × 32-bit Arm ELF"), "{text}");
}

#[test]
fn directory_without_elf_files_is_clean() {
    let scratch = Scratch::new("scripts");
    scratch.file("a.sh", b"#!/bin/sh\n");
    scratch.file("empty", b"");
    let (document, output) = json(&[scratch.as_str()]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(document["statistics"]["other_files"], 2);
}

#[test]
fn named_file_that_is_no_elf_file_is_reported_and_is_not_clean() {
    let scratch = Scratch::new("named");
    let script = scratch.file("a.sh", b"#!/bin/sh\n");
    let empty = scratch.file("empty", b"");
    let output = deburr(&["check", &script, &empty]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a.sh: no ELF file"));
    assert!(stderr(&output).contains("empty: an empty file"));
}

#[test]
fn links_and_cycles_are_visited_once_and_special_files_are_skipped() {
    let scratch = Scratch::new("links");
    let first = scratch.file("tree/a/old.so", &arm32());
    let root = scratch.join("tree");
    fs::hard_link(&first, root.join("hard.so")).unwrap();
    std::os::unix::fs::symlink("a/old.so", root.join("0-soft.so")).unwrap();
    std::os::unix::fs::symlink("..", root.join("a/up")).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    assert!(Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let (document, output) = json(&[root.to_str().unwrap(), &first, root.to_str().unwrap()]);
    let skipped = document["skipped"].as_array().unwrap();
    let of_elf: Vec<_> = skipped.iter().filter(|s| s["path"].as_str().unwrap().ends_with(".so")).collect();
    assert_eq!(of_elf.len(), 1, "{skipped:?}");
    assert!(skipped.iter().any(|s| s["reason"] == "a fifo"), "{skipped:?}");
    assert!(skipped.iter().any(|s| s["reason"] == "a symbolic link that leads nowhere"), "{skipped:?}");
    // Named by the user, and nothing else was there to check.
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn excluded_files_and_members_are_counted_and_not_checked() {
    let scratch = Scratch::new("excluded");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures");
    let object = fs::read(fixtures.join("llsc_loop/hit-cas.o")).unwrap();
    scratch.file("tree/a.o", &object);
    scratch.file("tree/tests/b.o", &object);
    scratch.file("in/lib/c.o", &object);
    scratch.file("in/tests/d.o", &object);
    let (tree, package) = (scratch.join("tree"), scratch.join("tree/p.tar"));
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(&package).arg("-C").arg(scratch.join("in")).args(["lib", "tests"]);
    assert!(tar.status().unwrap().success());
    let paths = |options: &[&str]| {
        let (document, output) = json(&[options, &[tree.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let files = document["files"].as_array().unwrap().iter();
        let names = files.map(|file| file["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned());
        (names.collect::<Vec<_>>(), document["statistics"]["excluded_files"].as_u64().unwrap())
    };
    let all = ["a.o", "c.o", "d.o", "b.o"].map(str::to_owned).to_vec();
    assert_eq!(paths(&[]), (all, 0));
    assert_eq!(paths(&["--exclude", "tests"]), (["a.o", "c.o"].map(str::to_owned).to_vec(), 2));
    assert_eq!(paths(&["--exclude", "*.tar", "--exclude=b.*"]), (vec!["a.o".to_owned()], 2));
    let output = deburr(&["check", "--exclude", "tests", tree.to_str().unwrap()]);
    assert!(stdout(&output).contains("2 files left out by --exclude\n"), "{}", stdout(&output));
}

#[test]
fn huge_sparse_file_is_refused_at_once() {
    let scratch = Scratch::new("huge");
    let path = scratch.file("huge", &arm32());
    fs::File::options().write(true).open(&path).unwrap().set_len(40 << 30).unwrap();
    let output = deburr(&["check", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("too large"), "{}", stderr(&output));
}

#[test]
fn unknown_names_are_answered_with_a_hint() {
    for (arguments, hint) in [
        (&["check", "--select", "no-such-rule", "."][..], "deburr rules"),
        (&["check", "--select", "llsc_lop", "."], "did you mean `llsc-loop`?"),
        (&["explain", "outlined-atomics"], "did you mean `outlined-atomic`?"),
        (&["check", "--target", "pdp-11", "."], "deburr cpu"),
        (&["check", "--target", "neoverse-n7", "."], "did you mean 'neoverse-n1'"),
        (&["check", "--baseline", "armv8-a+lsee", "."], "did you mean 'lse'"),
        (&["check", "--target", "zen4", "--target", "zen3", "."], "one per architecture"),
        (&["explain", "no-such-rule"], "deburr rules"),
    ] {
        let output = deburr(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
}

#[test]
fn man_page_holds_the_verbs_and_completions_are_printed() {
    let page = stdout(&deburr(&["man"]));
    assert!(page.contains("DEBURR CHECK") && page.contains("fail\\-on"));
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&deburr(&["completions", shell]));
        for offered in ["_deburr", "llsc-loop", "x86-64-v3", "zen4", "neoverse-n1", "claim"] {
            assert!(
                script.contains(offered) || offered == "_deburr" && shell == "fish",
                "{shell}: {offered}"
            );
        }
    }
    let bash = stdout(&deburr(&["completions", "bash"]));
    let zsh = stdout(&deburr(&["completions", "zsh"]));
    let of = |option: &str| {
        let mut lines = zsh.lines().filter(|line| line.contains(option));
        lines.clone().count() > 0 && lines.all(|line| line.contains("neoverse-n1"))
    };
    assert!(of("--cpu=") && of("--target=") && !of("--timeout="));
    let fish = stdout(&deburr(&["completions", "fish"]));
    let offered =
        fish.split("complete -c").find(|one| one.contains("subcommand try") && one.contains("-l cpu "));
    assert!(offered.is_some_and(|cpu| cpu.contains("neoverse-n1")));
    let offers = |option: &str, word: &str| {
        let call = format!("_deburr_lists deburr '{word}' {option}");
        let set = format!("COMP_WORDS=(deburr check {option} '{word}')\nCOMP_CWORD=3\n");
        let script = format!("{bash}\n{set}{call}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"");
        stdout(&Command::new("bash").args(["--norc", "-c", &script]).output().unwrap())
    };
    assert_eq!(offers("--select", "llsc-p"), "llsc-pair\n");
    assert_eq!(offers("--select", "llsc-loop,mf"), "llsc-loop,mfence\n");
    assert_eq!(offers("--fail-on", "error,und"), "error,undecided\n");
    assert_eq!(offers("--baseline", "zen4,zen"), "\n", "it takes no list");
    let schema: serde_json::Value = serde_json::from_slice(&deburr(&["schema"]).stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

/// Runs the command with an output that nobody reads.
fn unread(arguments: &[&str]) -> Output {
    let mut child = Command::new(crate::program())
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap()
}

#[test]
fn closed_pipe_ends_quietly() {
    let output = unread(&["man"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn closed_pipe_changes_no_exit_status() {
    let scratch = Scratch::new("unread");
    let found = fixtures::folder().join("llsc_loop/hit-cas.o").display().to_string();
    let clean = fixtures::folder().join("llsc_loop/miss-lse.o").display().to_string();
    // More than the 64 KiB that are written at a time.
    let many: Vec<String> = (0..40)
        .map(|number| {
            let bytes = fs::read(&found).unwrap();
            scratch.file(&format!("many/{number}.o"), &bytes)
        })
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let other = scratch.join("report.json").display().to_string();
    let to_other = format!("json={other}");
    for (arguments, status) in [
        (vec!["check", "--target", "neoverse-n1", &found], 1),
        (vec!["check", "--target", "neoverse-n1", "--format", "json", &found], 1),
        (vec!["check", "--target", "neoverse-n1", "--format", "sarif", &found, &clean], 1),
        (vec!["check", "--target", "neoverse-n1", &clean], 0),
        (vec!["check", "--target", "neoverse-n1", &clean, "/no/such/file"], 2),
        (vec!["check", "--target", "neoverse-n1", "--format", "html", scratch.as_str()], 1),
        ([vec!["check", "--target", "neoverse-n1", "--format", "json"], many.clone()].concat(), 1),
        (
            vec![
                "check",
                "--target",
                "neoverse-n1",
                "--format",
                "text",
                "--format",
                &to_other,
                scratch.as_str(),
            ],
            1,
        ),
        (vec!["diff", "--target", "neoverse-n1", &clean, &found], 1),
        (vec!["diff", "--target", "neoverse-n1", &found, &clean], 0),
    ] {
        let read = deburr(&arguments);
        assert_eq!(read.status.code(), Some(status), "{arguments:?}: {}", stderr(&read));
        let output = unread(&arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), stderr(&read), "{arguments:?}");
    }
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&other).unwrap()).unwrap();
    assert_eq!(report["files"].as_array().unwrap().len(), 40, "another output is written nevertheless");
}
