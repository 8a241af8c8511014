//! What was measured is reported and kept, whatever comes after it.

use super::{compare, document, scratch};
use crate::{stderr, stdout};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_cleanup_that_fails_takes_nothing_from_the_verdict() {
    let scratch = scratch("cleanup-fails");
    let output = compare(&scratch, &["--a", "true", "--b", "true", "--pairs", "2", "--cleanup", "false"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("inconclusive: wall"), "{}", stdout(&output));
    assert!(stderr(&output).contains("--cleanup ended with exit status 1"), "{}", stderr(&output));
}

#[test]
fn points_that_a_record_has_are_reported_when_another_one_is_interrupted() {
    let scratch = scratch("points");
    // No pair is measured again, whatever else runs.
    let sweep = ["--a", "sleep 0.0{n}", "--b", "sleep 0.0{n}", "--param", "n=1,2", "--under-load"];
    let first = document(&scratch, &[&sweep[..], &["--pairs", "2", "--record", "runs"]].concat());
    assert_eq!(first["sweep"]["points"].as_array().unwrap().len(), 2);
    let lines = || fs::read_to_string(scratch.join("runs")).unwrap().lines().count();
    let before = lines();
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.path()).args(["compare", "--no-gate", "--format", "json", "--resume=runs"]);
    command.args(sweep).args(["--pairs", "5000", "--region", "0"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while lines() < before + 6 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not go on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = told["sweep"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2, "{told:#}");
    let of = |point: &Value| point["metrics"][0]["benchstat"].clone();
    assert_eq!(of(&points[1]), of(&first["sweep"]["points"][1]));
}

#[test]
fn a_record_goes_on_and_is_judged_with_its_own_number_of_pairs() {
    let scratch = scratch("own-pairs");
    let commands = ["--a", "true", "--b", "true", "--region", "0"];
    let first = document(&scratch, &[&commands[..], &["--pairs", "3", "--record", "runs"]].concat());
    assert_eq!(first["pairs"], 3);
    let again = document(&scratch, &[&commands[..], &["--resume=runs"]].concat());
    assert_eq!((&again, &document(&scratch, &["--region", "0", "runs"])), (&first, &first));
    let more = document(&scratch, &[&commands[..], &["--resume=runs", "--pairs", "4"]].concat());
    assert_eq!(more["pairs"], 4);
}

#[test]
fn what_only_runs_can_have_is_refused_where_nothing_runs() {
    let scratch = scratch("nothing-runs");
    scratch.file("values", b"1\n2\n");
    for option in
        [["--relink", "x"], ["--env-a", "A=1"], ["--pin", "0"], ["--output", "kept"], ["--param", "n=1,2"]]
    {
        let arguments = [&["values", "values", "--input-format", "values"], &option[..]].concat();
        let output = compare(&scratch, &arguments);
        assert_eq!(output.status.code(), Some(2), "{option:?}");
        assert!(stderr(&output).contains("cannot be used with"), "{option:?}: {}", stderr(&output));
    }
}

/// What hyperfine's scripts and other readers of its JSON look at, in both versions of its schema.
#[test]
fn runs_are_exported_as_hyperfine_has_them_and_read_back() {
    let scratch = scratch("exported");
    let arguments = ["--a", "sleep 0.0{n}", "--b", "sleep 0.0{n}", "--param", "n=1,2", "--pairs", "3"];
    let told = document(
        &scratch,
        &[&arguments[..], &["--record", "runs", "--export-hyperfine", "all.json"]].concat(),
    );
    let exported: Value = serde_json::from_slice(&fs::read(scratch.join("all.json")).unwrap()).unwrap();
    assert_eq!(
        (&exported["schema_version"], &exported["primary_metric"]),
        (&2.into(), &"time_wall_clock".into())
    );
    let results = exported["results"].as_array().unwrap();
    let commands: Vec<&str> = results.iter().map(|result| result["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["sleep 0.01", "sleep 0.01", "sleep 0.02", "sleep 0.02"]);
    assert_eq!(
        (&results[0]["name"], &results[3]["name"]),
        (&"A: sleep 0.01".into(), &"B: sleep 0.02".into())
    );
    let mut medians = Vec::new();
    for result in results {
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{result:#}"));
        let times: Vec<f64> = result["times"].as_array().unwrap().iter().map(number).collect();
        let runs = result["measurements"].as_array().unwrap();
        assert_eq!((times.len(), runs.len()), (3, 3));
        for (run, time) in runs.iter().zip(&times) {
            assert_eq!(number(&run["time_wall_clock"]["value"]), *time);
            assert_eq!(run["exit_code"], 0);
        }
        let metrics = ["time_wall_clock", "time_cpu", "time_user", "time_system", "memory_peak_resident"];
        for metric in metrics {
            let summary = &result["summary"][metric];
            assert_eq!(summary["unit"], runs[0][metric]["unit"]);
            assert_eq!(summary["count"], 3);
            for field in ["mean", "stddev", "median", "min", "max"] {
                number(&summary[field]);
            }
        }
        for field in ["mean", "stddev", "median", "min", "max"] {
            assert_eq!(result[field], result["summary"]["time_wall_clock"][field], "{field}");
        }
        assert_eq!(result["user"], result["summary"]["time_user"]["mean"]);
        assert_eq!(result["system"], result["summary"]["time_system"]["mean"]);
        assert_eq!(result["exit_codes"], serde_json::json!([0, 0, 0]));
        assert_eq!(result["memory_usage_byte"].as_array().unwrap().len(), 3);
        assert!(result["parameters"]["n"]["value"].is_string());
        medians.push(result["median"].clone());
    }
    let of = |point: usize, side: &str| {
        told["sweep"]["points"][point]["metrics"][0]["benchstat"][side]["median"].clone()
    };
    assert_eq!(medians, [of(0, "a"), of(0, "b"), of(1, "a"), of(1, "b")]);
    // A record has the same runs, and deburr reads what it wrote.
    let again = compare(&scratch, &["runs", "--export-hyperfine", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&again)).unwrap(), exported, "{}", stderr(&again));
    let read = document(&scratch, &["all.json", "all.json", "--metric", "B: sleep 0.02:time"]);
    assert_eq!(read["benchstat"]["a"]["median"], medians[3]);
    for format in ["text", "benchstat"] {
        let of_files = ["all.json", "all.json", "--format", format, "--export-hyperfine", "more.json"];
        let refused = compare(&scratch, &of_files);
        assert!(stderr(&refused).contains("have no runs of processes"), "{}", stderr(&refused));
    }
}

#[test]
fn a_record_knows_its_machine_and_the_commits_of_its_programs() {
    let scratch = scratch("provenance");
    let script = scratch.join("tree/script");
    scratch.file("tree/script", b"#!/bin/sh\nexit 0\n");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.args(identity).arg("-C").arg(scratch.join("tree")).args(arguments);
        command
            .output()
            .ok()
            .filter(|output| output.status.success())
            .map(|output| stdout(&output).trim().to_owned())
    };
    let made =
        ["init -q", "add script", "commit -q -m a"].map(|words| git(&words.split(' ').collect::<Vec<_>>()));
    // Where there is no Git, nothing is known of commits.
    let commit = made[2].as_ref().and_then(|_| git(&["rev-parse", "HEAD"]));
    let itself = crate::program();
    let b = format!("{itself} --version");
    let told = || document(&scratch, &["--a", "tree/script", "--b", &b, "--pairs", "2", "--record", "runs"]);
    let found = told();
    let [of_a, of_b] = [0, 1].map(|side| found["provenance"]["programs"][side].clone());
    assert_eq!(of_a["path"], script.canonicalize().unwrap().to_str().unwrap());
    assert_eq!((&of_a["build_id"], &of_a["commit"]), (&Value::Null, &serde_json::json!(commit)));
    assert_eq!(of_a["is_dirty"], commit.as_ref().map_or(Value::Null, |_| false.into()));
    // The note has the digits as bytes (gABI, "Note Section").
    let digits = of_b["build_id"].as_str().unwrap_or_else(|| panic!("{found:#}"));
    let id: Vec<u8> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
    let mut note = [4u32.to_le_bytes(), (id.len() as u32).to_le_bytes(), 3u32.to_le_bytes()].concat();
    note.extend(b"GNU\0");
    note.extend(&id);
    assert!(fs::read(itself).unwrap().windows(note.len()).any(|at| at == note), "{digits}");
    let host = &found["provenance"]["host"];
    assert_eq!(host["kernel"], fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim());
    // The record has the same, and a record of an earlier version has none.
    assert_eq!(document(&scratch, &["runs"])["provenance"], found["provenance"]);
    let lines = fs::read_to_string(scratch.join("runs")).unwrap();
    let (header, runs) = lines.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header.as_object_mut().unwrap().remove("provenance").unwrap();
    scratch.file("earlier", format!("{header}\n{runs}").as_bytes());
    assert_eq!(document(&scratch, &["earlier"])["provenance"], Value::Null);
    assert!(!stdout(&compare(&scratch, &["earlier"])).contains("\non: "));
    scratch.file("tree/script", b"#!/bin/sh\nexit 0 \n");
    fs::remove_file(scratch.join("runs")).unwrap();
    assert_eq!(told()["provenance"]["programs"][0]["is_dirty"], commit.map_or(Value::Null, |_| true.into()));
    // What a shell runs is not looked for.
    let shell = document(&scratch, &["--shell", "sh", "--a", "true", "--b", "true", "--pairs", "2"]);
    assert_eq!(shell["provenance"]["programs"][0]["path"], Value::Null);
}
