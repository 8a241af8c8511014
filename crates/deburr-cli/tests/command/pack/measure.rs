//! `deburr pack measure` on programs that state what they cost, so that no verdict depends on the machine.

use crate::stderr;
use deburr_test_support::Scratch;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What it prints differs by run as measurements do, and by level as the constants say.
const COST: &str = r#"#include <stdio.h>
#include <unistd.h>
int main(void) {
#if defined(__AVX512F__)
    double cost = 51;
#elif defined(__AVX2__)
    double cost = 50;
#else
    double cost = 100;
#endif
    printf("cost: %g\n", cost * (1 + (getpid() * 7919 % 1000) * 1e-6));
    return 0;
}
"#;
const METRIC: &str = "cost,smaller,count=cost: ([0-9.]+)";

fn deburr(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(folder).args(arguments).env_remove("DEBURR_LEVEL").env("XDG_STATE_HOME", folder);
    command.stdin(Stdio::null()).output().unwrap()
}

fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Trees in which each level states its cost; levels with the same constant have the same code.
fn trees(scratch: &Scratch, levels: &[&str]) -> Vec<String> {
    scratch.file("cost.c", COST.as_bytes());
    let variants = levels.iter().map(|level| {
        let folder = scratch.join(format!("trees/{level}/bin"));
        fs::create_dir_all(&folder).unwrap();
        let march = format!("-march={}", if *level == "x86-64-v1" { "x86-64" } else { level });
        let compiled = Command::new("gcc")
            .args(["-O1", &march, "cost.c", "-o"])
            .arg(folder.join("prog"))
            .current_dir(scratch.join("."))
            .status();
        assert!(compiled.unwrap().success());
        format!("{level}=trees/{level}")
    });
    variants.collect()
}

fn assembled(scratch: &Scratch, levels: &[&str]) -> PathBuf {
    let variants = trees(scratch, levels);
    let mut arguments = vec!["pack", "assemble", "-o", "dist"];
    arguments.extend(variants.iter().flat_map(|variant| ["--variant", variant]));
    done(&deburr(&scratch.join("."), &arguments));
    scratch.join("dist")
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("deburr-pack.json")).unwrap()).unwrap()
}

const MEASURE: [&str; 9] =
    ["pack", "measure", "--no-gate", "--seed", "7", "--metric", METRIC, "--format", "json"];

/// Builds a pack of these levels.
fn pack(scratch: &Scratch, levels: &str) -> PathBuf {
    scratch.file("src/cost.c", COST.as_bytes());
    scratch.file("src/Makefile", b"bin/prog: cost.c\n\tmkdir -p bin && $(CC) -O1 -o $@ cost.c\n");
    let folder = scratch.join("src");
    done(&deburr(&folder, &["pack", "build", "--levels", levels, "--", "make"]));
    folder
}

/// The report; and whether each verdict is the one that is expected. Where other programs or a hypervisor took the CPUs, the
/// engine gives none, whatever the numbers are.
fn measured(output: &Output, expected: &[(&str, &str, &str)]) -> (Value, bool) {
    let report: Value = serde_json::from_str(&done(output)).unwrap();
    let comparisons = report["comparisons"].as_array().unwrap();
    let mut is_quiet = true;
    for (comparison, (level, against, outcome)) in comparisons.iter().zip(expected) {
        let warnings = comparison["comparison"]["warnings"].as_array().unwrap().iter().map(Value::to_string);
        let is_disturbed = warnings
            .filter(|warning| warning.contains("no verdict: "))
            .any(|warning| warning.contains("foreign load") || warning.contains("hypervisor"));
        assert_eq!(comparison["level"], *level);
        if is_disturbed {
            assert_eq!(comparison["outcome"], "inconclusive", "{report:#}");
            is_quiet = false;
            break;
        }
        assert_eq!(comparison["against"], *against);
        assert_eq!(comparison["outcome"], *outcome, "{report:#}");
    }
    assert_eq!(comparisons.len(), expected.len());
    (report, is_quiet)
}

#[test]
fn levels_are_ranked_and_assemble_leaves_out_those_without_gain() {
    let scratch = Scratch::new("measure-pack");
    let folder = pack(&scratch, "x86-64-v1,x86-64-v2,x86-64-v3");
    let measure = [&MEASURE[..], &["deburr-pack", "--", "{tree}/bin/prog"]].concat();
    let expected = [("x86-64-v2", "x86-64-v1", "same"), ("x86-64-v3", "x86-64-v1", "better")];

    let dry = [&measure[..2], &["--dry-run"], &measure[2..]].concat();
    let before = record(&folder.join("deburr-pack"));
    measured(&deburr(&folder, &dry), &expected);
    assert_eq!(record(&folder.join("deburr-pack")), before);

    let (report, is_quiet) = measured(&deburr(&folder, &measure), &expected);
    assert_eq!(record(&folder.join("deburr-pack"))["measured"][0], report["measured"]);
    if is_quiet {
        assert_eq!(report["measured"]["preferred"], serde_json::json!(["x86-64-v3", "x86-64-v1"]));
        assert_eq!(report["measured"]["without_gain"], serde_json::json!(["x86-64-v2"]));
        assert_eq!(report["comparisons"][1]["comparison"]["schema_version"], 2);
    } else {
        // What is not proven is not given up.
        let without_gain = report["measured"]["without_gain"].as_array().unwrap();
        assert!(without_gain.iter().all(|level| level == "x86-64-v2"), "{report:#}");
    }
    // Measured again, the model has one entry.
    measured(&deburr(&folder, &measure), &expected);
    assert_eq!(record(&folder.join("deburr-pack"))["measured"].as_array().unwrap().len(), 1);
}

#[test]
fn launchers_follow_what_was_measured_on_this_model() {
    let scratch = Scratch::new("measure-follow");
    let folder = pack(&scratch, "x86-64-v1,x86-64-v3");
    let report: Value = serde_json::from_str(&done(&deburr(
        &folder,
        &[&MEASURE[..], &["--pairs", "8", "deburr-pack", "--", "{tree}/bin/prog"]].concat(),
    )))
    .unwrap();
    // The other order than without measurements, and another model that prefers nothing.
    let mut record = record(&folder.join("deburr-pack"));
    record["measured"][0]["preferred"] = serde_json::json!(["x86-64-v1", "x86-64-v3"]);
    record["measured"][0]["without_gain"] = serde_json::json!([]);
    assert_eq!(record["measured"][0]["signature"], report["measured"]["signature"]);
    fs::write(folder.join("deburr-pack/deburr-pack.json"), record.to_string()).unwrap();
    done(&deburr(&folder, &["pack", "assemble", "deburr-pack", "-o", "dist"]));
    let here = Command::new(folder.join("dist/bin/prog")).env("DEBURR_EXPLAIN", "exit").output().unwrap();
    assert!(stderr(&here).trim_end().ends_with("x86-64-v1/bin/prog"), "{}", stderr(&here));
    let mut elsewhere = Command::new("qemu-x86_64");
    elsewhere.args(["-cpu", "Haswell"]).arg(folder.join("dist/bin/prog")).env("DEBURR_EXPLAIN", "exit");
    let elsewhere = stderr(&elsewhere.output().unwrap());
    assert!(elsewhere.trim_end().ends_with("x86-64-v3/bin/prog"), "{elsewhere}");
}

#[test]
fn an_assembled_tree_is_measured_by_its_launcher_and_stays_as_it_is() {
    let scratch = Scratch::new("measure-dist");
    // Both are the same program: the launcher knows v2, too.
    let dist = assembled(&scratch, &["x86-64-v1", "x86-64-v2", "x86-64-v3"]);
    let before = record(&dist);
    let output = deburr(&scratch.join("."), &[&MEASURE[..], &["dist", "--", "dist/bin/prog"]].concat());
    let expected = [("x86-64-v2", "x86-64-v1", "same"), ("x86-64-v3", "x86-64-v1", "better")];
    measured(&output, &expected);
    assert_eq!(record(&dist), before);
}

/// What is refused, because no verdict on it would be about levels.
#[test]
fn a_command_that_no_level_changes_is_refused() {
    let scratch = Scratch::new("measure-nothing");
    assembled(&scratch, &["x86-64-v1", "x86-64-v3"]);
    let top = scratch.join(".");
    let folder = pack(&scratch, "x86-64-v1,x86-64-v3");
    let refused = |folder: &Path, arguments: &[&str], expected: &str| {
        let output = deburr(folder, &[&MEASURE[..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    };
    refused(&top, &["dist", "--", "echo", "cost: 1"], "starts nothing that DEBURR_LEVEL selects");
    refused(&top, &["dist", "--", "sh", "-c", "exit 3"], "ended with exit status 3 for x86-64-v1");
    refused(&top, &["--ignore-failure", "dist", "--", "dist/bin/prog"], "--ignore-failure");
    // What the command needs of --setup is there before it is tried.
    let later = [
        "--setup",
        "touch here",
        "--cleanup",
        "rm here",
        "dist",
        "--",
        "sh",
        "-c",
        "test -e here; echo cost: 1",
    ];
    refused(&top, &later, "starts nothing that DEBURR_LEVEL selects");
    assert!(!top.join("here").exists());
    refused(&folder, &["deburr-pack", "--", "bin/prog"], "write {tree} in it");
    let named_only = ["deburr-pack", "--", "sh", "-c", ": {tree}; deburr-pack/x86-64-v1/tree/bin/prog"];
    refused(&folder, &named_only, "the command runs nothing of {tree}");
    // Libraries that the loader chooses follow no variable.
    fs::create_dir_all(top.join("dist/lib/glibc-hwcaps/x86-64-v3")).unwrap();
    refused(&top, &["dist", "--", "dist/bin/prog"], "the loader chooses these libraries");
}

#[test]
fn trees_with_blanks_are_measured_by_a_shell_too() {
    let scratch = Scratch::new("measure with blanks");
    let folder = pack(&scratch, "x86-64-v1,x86-64-v3");
    let shell = ["--shell", "sh", "deburr-pack", "--", "cd {tree} && bin/prog"];
    measured(&deburr(&folder, &[&MEASURE[..], &shell].concat()), &[("x86-64-v3", "x86-64-v1", "better")]);
}

#[test]
fn an_interrupt_leaves_the_record_as_it_is() {
    let scratch = Scratch::new("measure-interrupt");
    let folder = pack(&scratch, "x86-64-v1,x86-64-v3");
    let before = record(&folder.join("deburr-pack"));
    // At the first run, which only looks whether the level matters, and at a later one.
    for at in [1, 6] {
        let count = scratch.join(format!("count-{at}"));
        // The parent of a run is deburr itself.
        let script = format!(
            "echo >>'{0}'; test $(wc -l <'{0}') -lt {at} || {{ kill -INT $PPID; sleep 5; }}; {{tree}}/bin/prog",
            count.display()
        );
        let output =
            deburr(&folder, &[&MEASURE[..], &["--shell", "sh", "deburr-pack", "--", &script]].concat());
        assert_eq!(output.status.code(), Some(130), "{at}: {}", stderr(&output));
        assert!(stderr(&output).contains("interrupted; the record is as it was"), "{}", stderr(&output));
        assert_eq!(record(&folder.join("deburr-pack")), before);
    }
}

#[test]
fn a_workload_that_fails_and_a_pack_of_one_level_are_errors() {
    let scratch = Scratch::new("measure-fails");
    let dist = assembled(&scratch, &["x86-64-v1", "x86-64-v3"]);
    let before = record(&dist);
    let folder = scratch.join(".");
    let failing =
        deburr(&folder, &[&MEASURE[..], &["dist", "--", "sh", "-c", "dist/bin/prog; exit 3"]].concat());
    assert_eq!(failing.status.code(), Some(2));
    assert!(stderr(&failing).contains("exit status 3"), "{}", stderr(&failing));
    assert_eq!(record(&dist), before);

    let mut single = before.clone();
    single["variants"].as_array_mut().unwrap().truncate(1);
    fs::write(dist.join("deburr-pack.json"), single.to_string()).unwrap();
    let output = deburr(&folder, &[&MEASURE[..], &["dist", "--", "dist/bin/prog"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("fewer than two levels"), "{}", stderr(&output));
    // At one level alone, and not at the one that is tried first.
    fs::write(dist.join("deburr-pack.json"), before.to_string()).unwrap();
    let one = "dist/bin/prog && test {level} != x86-64-v3 || exit 5";
    let failing = deburr(&folder, &[&MEASURE[..], &["dist", "--", "sh", "-c", one]].concat());
    assert_eq!(failing.status.code(), Some(2));
    assert!(stderr(&failing).contains("exit status 5"), "{}", stderr(&failing));
    assert_eq!(record(&dist), before);
    let absent = deburr(&folder, &["pack", "measure", "nowhere", "--", "true"]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(stderr(&absent).contains("nowhere/deburr-pack.json"), "{}", stderr(&absent));
}

#[test]
fn a_workload_that_takes_too_long_or_leaves_processes_does_not_hold_it_up() {
    let scratch = Scratch::new("measure-long");
    let dist = assembled(&scratch, &["x86-64-v1", "x86-64-v3"]);
    let before = record(&dist);
    let folder = scratch.join(".");
    let begun = std::time::Instant::now();
    let long = ["--timeout", "0.5", "dist", "--", "sh", "-c", "sleep 600; dist/bin/prog"];
    let output = deburr(&folder, &[&MEASURE[..], &long].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("for x86-64-v1"), "{}", stderr(&output));
    assert_eq!(record(&dist), before);
    // The process that is left has the standard streams of the run.
    let left = ["--pairs", "5", "dist", "--", "sh", "-c", "sleep 600 & echo $! >>left; exec dist/bin/prog"];
    let output = deburr(&folder, &[&MEASURE[..], &left].concat());
    let pids = fs::read_to_string(folder.join("left")).unwrap();
    Command::new("kill").args(pids.split_whitespace()).status().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Two runs before the pairs. Beside load the pairs end early, as the report says.
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = &report["comparisons"][0]["comparison"];
    let pairs = told["pairs"].as_u64().unwrap_or_else(|| panic!("{told:#}")) as usize;
    assert!(pairs >= 2 && pids.lines().count() >= 2 + 2 * pairs, "{pairs} pairs: {pids}");
    assert!(begun.elapsed().as_secs() < 300, "{:?}", begun.elapsed());
}
