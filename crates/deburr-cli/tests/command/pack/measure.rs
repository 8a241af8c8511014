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
const METRIC: &str = "cost,smaller=cost: ([0-9.]+)";

fn deburr(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deburr"));
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

const MEASURE: [&str; 7] = ["pack", "measure", "--no-gate", "--seed", "7", "--metric", METRIC];

#[test]
fn levels_are_ranked_and_those_without_gain_are_left_out() {
    let scratch = Scratch::new("measure-dist");
    let dist = assembled(&scratch, &["x86-64-v1", "x86-64-v2", "x86-64-v3"]);
    let folder = scratch.join(".");
    let measure = [&MEASURE[..], &["dist", "--", "dist/bin/prog"]].concat();

    let dry = [&measure[..2], &["--dry-run"], &measure[2..]].concat();
    let before = record(&dist);
    done(&deburr(&folder, &dry));
    assert_eq!(record(&dist), before);

    let said = done(&deburr(&folder, &measure));
    assert!(said.contains("x86-64-v2 (B) against x86-64-v1 (A): B is the same"), "{said}");
    assert!(said.contains("x86-64-v3 (B) against x86-64-v1 (A): B is better"), "{said}");
    assert!(said.contains("without gain: x86-64-v2"), "{said}");
    let measured = &record(&dist)["measured"][0];
    assert_eq!(measured["preferred"], serde_json::json!(["x86-64-v3", "x86-64-v1"]));
    assert_eq!(measured["without_gain"], serde_json::json!(["x86-64-v2"]));

    // Measured again, the model has one entry.
    let json = [&measure[..2], &["--format", "json"], &measure[2..]].concat();
    let report: Value = serde_json::from_str(&done(&deburr(&folder, &json))).unwrap();
    assert_eq!(report["comparisons"][0]["outcome"], "same");
    assert_eq!(report["comparisons"][1]["outcome"], "better");
    assert_eq!(report["comparisons"][1]["comparison"]["schema_version"], 2);
    assert_eq!(report["measured"], record(&dist)["measured"][0]);
    assert_eq!(record(&dist)["measured"].as_array().unwrap().len(), 1);
}

#[test]
fn a_pack_is_measured_by_tree_and_assemble_follows() {
    let scratch = Scratch::new("measure-pack");
    scratch.file("src/cost.c", COST.as_bytes());
    scratch.file("src/Makefile", b"bin/prog: cost.c\n\tmkdir -p bin && $(CC) -O1 -o $@ cost.c\n");
    let folder = scratch.join("src");
    // Worse than the one below it, where both run; elsewhere there is nothing to compare but v1 and v3.
    let levels = "x86-64-v1,x86-64-v3,x86-64-v4";
    done(&deburr(&folder, &["pack", "build", "--levels", levels, "--", "make"]));

    let unnamed = [&MEASURE[..], &["deburr-pack", "--", "bin/prog"]].concat();
    let refused = deburr(&folder, &unnamed);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("write {tree} in it"), "{}", stderr(&refused));

    let measure = [&MEASURE[..], &["deburr-pack", "--", "{tree}/bin/prog"]].concat();
    let said = done(&deburr(&folder, &measure));
    done(&deburr(&folder, &["pack", "assemble", "deburr-pack", "-o", "dist"]));
    let has_v4 = is_x86_feature_detected_avx512();
    assert_eq!(said.contains("without gain: x86-64-v4"), has_v4, "{said}");
    assert_eq!(said.contains("x86-64-v4: does not run here"), !has_v4, "{said}");
    assert_eq!(folder.join("dist/bin-x86-64-v4").exists(), !has_v4);
    // The launcher of this model prefers what was measured.
    let explained =
        Command::new(folder.join("dist/bin/prog")).env("DEBURR_EXPLAIN", "exit").output().unwrap();
    assert!(stderr(&explained).contains("would start"), "{}", stderr(&explained));
    assert!(stderr(&explained).trim_end().ends_with("bin-x86-64-v3/prog"), "{}", stderr(&explained));
}

/// By the kernel, and not by deburr.
fn is_x86_feature_detected_avx512() -> bool {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"].into_iter().all(has)
}

#[test]
fn a_command_that_no_level_changes_is_refused() {
    let scratch = Scratch::new("measure-nothing");
    assembled(&scratch, &["x86-64-v1", "x86-64-v3"]);
    let output = deburr(&scratch.join("."), &[&MEASURE[..], &["dist", "--", "echo", "cost: 1"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("starts nothing that DEBURR_LEVEL selects"), "{}", stderr(&output));
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
    let absent = deburr(&folder, &["pack", "measure", "nowhere", "--", "true"]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(stderr(&absent).contains("nowhere/deburr-pack.json"), "{}", stderr(&absent));
}
