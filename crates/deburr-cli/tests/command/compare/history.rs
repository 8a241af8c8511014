//! Programs that are saved, and records in a row.

use super::{printing, scratch};
use crate::{Scratch, compare, deburr, document, schema_faults, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// A number that the program counts, so that it is the same on a busy machine.
const RATE: &str = "rate,larger,count=rate = ([0-9]+)";

/// A program that prints a rate.
fn program(scratch: &Scratch, rate: u32) {
    scratch.file("server", format!("#!/bin/sh\n{}\n", printing(rate)).as_bytes());
    fs::set_permissions(scratch.join("server"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_that_was_saved_is_compared_with_what_it_is_now() {
    let scratch = scratch("saved");
    program(&scratch, 10_000);
    let saved = ["--metric", RATE, "--save", "main", "--aa", "./server --fast", "--pairs", "4"];
    let output = compare(&scratch, &saved);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // The build of tomorrow.
    program(&scratch, 8_000);
    let told = document(&scratch, &["--metric", RATE, "--against", "main"]);
    assert_eq!(
        (&told["verdict"], &told["commands"][1]),
        (&"worse".into(), &"./server --fast".into()),
        "{told:#}"
    );
    let a = told["commands"][0].as_str().unwrap();
    assert!(a.ends_with("deburr/compare/saved/main/program --fast"), "{a}");
    assert_eq!(told["names"], json!(["main", ""]));
    let gated = compare(&scratch, &["--metric", RATE, "--against", "main", "--expect", "not-worse"]);
    assert_eq!(gated.status.code(), Some(1), "{}", stdout(&gated));
    // What is saved again takes the place of what was.
    let again = compare(&scratch, &["--metric", RATE, "--against", "main", "--save", "main", "--pairs", "2"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    let same = document(&scratch, &["--metric", RATE, "--against", "main"]);
    assert_eq!(same["verdict"], "same", "{same:#}");
    let folder = scratch.join("state/deburr/compare/saved");
    let names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["main"]);
    // A copy that somebody changed is no longer what was saved.
    fs::write(folder.join("main/program"), "#!/bin/sh\necho rate = 1\n").unwrap();
    let refused = compare(&scratch, &["--metric", RATE, "--against", "main"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no longer what was saved"), "{}", stderr(&refused));
}

#[test]
fn what_cannot_be_saved_or_is_not_there_is_refused_before_anything_runs() {
    let scratch = scratch("unsaved");
    let runs = "sh -c 'echo x >> ran'";
    let cases: [(&[&str], &str); 8] = [
        (&["--save", "a/b", "--aa", runs], "names of what is saved have letters"),
        (&["--save", "main", "--shell", "sh", "--aa", runs], "--save: what a shell runs is not known"),
        (&["--save", "main", "--aa", "no-such-program"], "no-such-program: no program that can be kept"),
        (&["--save", "main", "--a", runs, "--b", runs, "--b", runs], "of several comparisons"),
        (&["--against", "main"], "nothing is saved yet; --save main"),
        (&["--against", "./no-such-record", "--b", runs], "no record of deburr compare"),
        (&["--against", "main", "--aa", runs], "cannot be used with"),
        (&["--against", "main", "--shell", "sh"], "--against: what a shell runs is not known"),
    ];
    for (arguments, why) in cases {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(why), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!scratch.join("ran").exists());
}

#[test]
fn a_record_names_a_program_as_long_as_it_is_the_same() {
    let scratch = scratch("against-record");
    let bin = scratch.join("sleeper");
    fs::copy("/bin/sleep", &bin).unwrap();
    let arguments = ["--aa", "./sleeper 0.01", "--record", "runs", "--pairs", "2"];
    assert_eq!(compare(&scratch, &arguments).status.code(), Some(0));
    let alone = compare(&scratch, &["--against", "runs"]);
    assert!(stderr(&alone).contains("its program is still what was measured"), "{}", stderr(&alone));
    let told = document(&scratch, &["--against", "runs", "--b", "sleep 0.1", "--pairs", "4"]);
    assert!(told["commands"][0].as_str().unwrap().ends_with("sleeper 0.01"), "{told:#}");
    fs::remove_file(&bin).unwrap();
    fs::copy("/bin/true", &bin).unwrap();
    let refused = compare(&scratch, &["--against", "runs", "--b", "sleep 0.1"]);
    assert!(stderr(&refused).contains("no longer the program of that record"), "{}", stderr(&refused));
}

/// A record of 16 pairs, of so many hours after the first one, in which B takes so much of what A takes.
fn record(hours: u32, commit: &str, ratio: f64, a: &str) -> String {
    let began = 1.7e9 + 3600.0 * f64::from(hours);
    let program = |commit: Value| json!({"path": null, "build_id": null, "commit": commit, "is_dirty": null});
    let host = json!({"name": "box", "cpu": "c", "kernel": "k", "governor": null, "virtualised": null, "hypervisor": null, "processors": 2});
    let header = json!({
        "format": 1, "tool": "deburr 0.1.0", "commands": [a, "./new"], "seed": 1, "metrics": [["wall", "wall"]],
        "cores": 2, "pairs": 16, "options": {"shell": "none"},
        "provenance": {"began": null, "host": host, "programs": [program(Value::Null), program(commit.into())]},
    });
    let mut lines = vec![header.to_string()];
    // A machine that is now slower, now faster, which moves both sides.
    let machine = 1.0 + 0.1 * f64::from(hours * 7 % 5);
    for pair in 0..16u32 {
        for (side, wall) in [("a", machine), ("b", machine * ratio)] {
            let wall = wall * (1.0 + 0.0002 * f64::from((pair * 5 + hours * 3 + u32::from(side == "b")) % 7));
            lines.push(
                json!({
                    "pair": pair, "attempt": 0, "side": side, "is_first": side == "a", "is_warm_up": false, "began": began,
                    "waited": 0.0, "end": {"status": 0}, "busy": wall, "stolen": 0.0, "fault": null,
                    "usage": {"wall": wall, "user": wall, "system": 0.0, "peak_memory": 1, "voluntary_switches": 0,
                              "involuntary_switches": 0},
                    "metrics": {"wall": wall},
                })
                .to_string(),
            );
        }
    }
    lines.join("\n") + "\n"
}

fn log(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.path()).args(["compare", "log"]).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Records of 24 commits, of which the sixteenth made B slower by 5 %.
fn history(name: &str) -> Scratch {
    let scratch = scratch(name);
    fs::create_dir(scratch.join("log")).unwrap();
    for hours in 0..24u32 {
        let ratio = if hours < 15 { 1.0 } else { 1.05 };
        // Their names are in no order.
        let name = format!("log/{:02}.jsonl", hours * 7 % 24);
        scratch.file(&name, record(hours, &format!("{hours:040x}"), ratio, "./main").as_bytes());
    }
    scratch
}

#[test]
fn the_commit_that_made_it_slower_is_found_in_a_row_of_records() {
    let scratch = history("log");
    scratch.file("log/notes.txt", b"no record\n");
    scratch.file("log/empty", b"");
    let output = log(&scratch, &["log", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "compare-log"]).stdout).unwrap();
    let faults = schema_faults(&schema, &told);
    assert!(faults.is_empty(), "{faults:?}");
    let series = &told["series"][0];
    assert_eq!((&series["is_relative"], series["records"].as_array().unwrap().len()), (&true.into(), 24));
    let changes = series["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{series:#}");
    assert_eq!((&changes[0]["at"], &changes[0]["verdict"]), (&15.into(), &"worse".into()), "{series:#}");
    assert!((changes[0]["change"].as_f64().unwrap() - 0.05).abs() < 0.002, "{series:#}");
    assert_eq!(told["notes"], json!(["2 files are no records of deburr compare"]));
    let text = stdout(&log(&scratch, &["log"]));
    assert!(text.contains("since commit 000000000000: worse by more than 1.00 %: +5.00 %"), "{text}");
    for (expected, status) in [("not-worse", 1), ("same", 1), ("better", 1)] {
        assert_eq!(log(&scratch, &["log", "--expect", expected]).status.code(), Some(status), "{expected}");
    }
    let wide = log(&scratch, &["log", "--expect", "not-worse", "--region", "10"]);
    assert_eq!(wide.status.code(), Some(0), "{}", stdout(&wide));
}

#[test]
fn records_without_a_common_a_are_followed_by_what_b_took() {
    let scratch = scratch("log-alone");
    fs::create_dir(scratch.join("log")).unwrap();
    for hours in 0..12u32 {
        let name = format!("log/{hours:02}.jsonl");
        scratch.file(&name, record(hours, "", 1.0, &format!("./old-{hours}")).as_bytes());
    }
    let output = log(&scratch, &["log", "--format", "json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["series"][0]["is_relative"], false, "{told:#}");
    assert_eq!(told["series"][0]["changes"], json!([]));
    assert_eq!(log(&scratch, &["log", "--expect", "same"]).status.code(), Some(0));
}

#[test]
fn what_a_record_says_of_itself_does_not_reach_the_terminal() {
    let scratch = scratch("log-hostile");
    fs::create_dir(scratch.join("log")).unwrap();
    let hostile = record(0, "\u{1b}[2Jabc", 1.0, "./a\u{1b}]0;x\u{7}").replace("./new", "./new\\u001b[31m");
    scratch.file("log/x", hostile.as_bytes());
    let output = log(&scratch, &["log"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7), "{}", stdout(&output));
}

#[test]
fn a_directory_without_records_is_an_error_that_says_why() {
    let scratch = scratch("log-nothing");
    fs::create_dir(scratch.join("log")).unwrap();
    for (name, contents, why) in [
        ("", "", "it is empty"),
        ("x", "no record\n", "1 files are no records"),
        (
            "x",
            &record(0, "", 1.0, "./a").replace("\"wall\",\"wall\"", "\"x\",\"no such\""),
            "nothing that this version knows",
        ),
        ("x", record(0, "", 1.0, "./a").lines().next().unwrap(), "no records"),
    ] {
        if !name.is_empty() {
            scratch.file(&format!("log/{name}"), format!("{}\n", contents.trim_end()).as_bytes());
        }
        let output = log(&scratch, &["log"]);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains(why), "{why}: {}", stderr(&output));
    }
    let missing = log(&scratch, &["no-such"]);
    assert!(stderr(&missing).contains("no-such: no such file"), "{}", stderr(&missing));
}
