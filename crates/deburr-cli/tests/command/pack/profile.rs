//! `deburr pack measure --profile`: profiles that perf and callgrind wrote, of a program of which one function gains.

use crate::stderr;
use deburr_test_support::{Scratch, schema_faults};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Uses about as much CPU time outside of the kernel as a run of the profiled program, and states what it costs.
const WORK: &str = r#"#include <stdio.h>
#include <time.h>
int main(void) {
#ifdef __AVX2__
    double cost = 60;
#else
    double cost = 100;
#endif
    while (clock() < cost / 1e3 * CLOCKS_PER_SEC)
        for (volatile int step = 0; step < 200000; step++)
            ;
    printf("cost: %g\n", cost);
    return 0;
}
"#;

fn deburr(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(folder).args(arguments).env_remove("DEBURR_LEVEL").env("XDG_STATE_HOME", folder);
    command.stdin(Stdio::null()).output().unwrap()
}

fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-lab/tests/profiles").join(name);
    path.display().to_string()
}

/// A pack of two levels, each a tree with one program.
fn pack(scratch: &Scratch) -> PathBuf {
    scratch.file("work.c", WORK.as_bytes());
    let mut variants = Vec::new();
    for level in ["x86-64-v1", "x86-64-v3"] {
        let program = scratch.join(format!("pack/{level}/tree/bin/prog"));
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let march = format!("-march={}", if level == "x86-64-v1" { "x86-64" } else { level });
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", &march, "work.c", "-o"]).arg(&program).current_dir(scratch.path());
        assert!(gcc.status().unwrap().success());
        variants.push(serde_json::json!({"level": level, "state": "done", "tree": format!("{level}/tree")}));
    }
    let record = serde_json::json!({"schema_version": 1, "command": ["make"], "variants": variants});
    scratch.file("pack/deburr-pack.json", record.to_string().as_bytes());
    scratch.path().to_owned()
}

/// Measures with these profiles of v1 and v3; some may be missing.
fn measured(folder: &Path, format: &str, profiles: [Option<&str>; 2]) -> Output {
    let mut arguments: Vec<String> =
        ["pack", "measure", "--no-gate", "--pairs", "8", "--min-pairs", "8", "--seed", "3", "--dry-run"]
            .map(str::to_owned)
            .to_vec();
    arguments
        .extend(["--metric", "cost,smaller,count=cost: ([0-9.]+)", "--format", format].map(str::to_owned));
    for (level, profile) in ["x86-64-v1", "x86-64-v3"].into_iter().zip(profiles) {
        arguments.extend(profile.map(|profile| format!("--profile={level}={profile}")));
    }
    arguments.extend(["pack", "--", "{tree}/bin/prog"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    deburr(folder, &arguments)
}

fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let printed = deburr(Path::new("."), &["schema", "pack-measure"]);
    let schema: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let faults = schema_faults(&schema, &document);
    assert!(faults.is_empty(), "{faults:?}");
    let mut wrong = document.clone();
    wrong["comparisons"][0]["functions"] = Value::Bool(true);
    assert!(!schema_faults(&schema, &wrong).is_empty());
    document
}

fn portion<'d>(functions: &'d Value, name: &str) -> &'d Value {
    let all = functions["portions"].as_array().unwrap();
    all.iter().find(|row| row["function"] == name).unwrap_or_else(|| panic!("{name}: {functions:#}"))
}

#[test]
fn the_function_that_gains_is_named_and_the_other_is_not() {
    let scratch = Scratch::new("measure-profile");
    let folder = pack(&scratch);
    let (low, high) = (recorded("pages-v1.perf"), recorded("pages-v3.perf"));
    let document = document(&measured(&folder, "json", [Some(&low), Some(&high)]));
    let functions = &document["comparisons"][0]["functions"];
    assert_eq!(
        (&functions["unit"], &functions["is_time"]),
        (&Value::from("CPU seconds"), &Value::from(true))
    );
    assert_eq!(functions["samples"], serde_json::json!({"a": 433, "b": 270}));
    let sums = portion(functions, "sum_page");
    assert_eq!((&sums["change"], &sums["object"]), (&Value::from("gained"), &Value::from("pages")));
    assert_eq!(sums["samples"], serde_json::json!({"a": 198, "b": 23}));
    // The share times the time of a run, as the profile and the measured time have it.
    let [total, amount] = ["total", "amount"].map(|what| {
        let of = if what == "total" { functions } else { sums };
        of[what]["a"].as_f64().unwrap()
    });
    assert!((amount - total * 198.0 / 433.0).abs() < 1e-9, "{sums:#}");
    assert!(total > 0.05 && total < 1.0, "{total}");
    let margin = sums["margin"].as_f64().unwrap();
    assert!(margin > 0.0 && sums["difference"].as_f64().unwrap() + margin < 0.0, "{sums:#}");
    // 224 and 243 samples: the clone suffix of one of them is gone, and the change is noise.
    assert_eq!(portion(functions, "walk")["change"], "unclear", "{functions:#}");
    let others = functions["portions"].as_array().unwrap().iter().filter(|row| row["change"] != "unclear");
    assert_eq!(others.count(), 1, "{functions:#}");

    let text = measured(&folder, "text", [Some(&low), Some(&high)]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("CPU time of a run by function: "), "{text}");
    let line = text.lines().find(|line| line.contains("sum_page (pages): ")).unwrap();
    assert!(line.trim_start().starts_with('−') && line.contains(" ± ") && line.contains(" → "), "{line}");
    assert!(
        !text.contains("walk") && text.contains("no change beyond chance (5 %, all functions together)"),
        "{text}"
    );
}

#[test]
fn a_profile_against_itself_shows_no_gain() {
    let scratch = Scratch::new("measure-profile-same");
    let folder = pack(&scratch);
    // Shares are equal, but one level takes 40 % less time: what is in every function gains by that.
    let low = recorded("pages-v1.perf");
    let document = document(&measured(&folder, "json", [Some(&low), Some(&low)]));
    let functions = &document["comparisons"][0]["functions"];
    let total = |side: &str| functions["total"][side].as_f64().unwrap();
    for row in functions["portions"].as_array().unwrap() {
        let amount = |side: &str| row["amount"][side].as_f64().unwrap();
        assert!((amount("a") / total("a") - amount("b") / total("b")).abs() < 1e-9, "{row:#}");
        assert_ne!(row["change"], "lost", "{row:#}");
    }
}

#[test]
fn counts_of_callgrind_are_compared_as_counts() {
    let scratch = Scratch::new("measure-callgrind");
    let folder = pack(&scratch);
    let (low, high) = (recorded("pages-v1.callgrind"), recorded("pages-v3.callgrind"));
    let document = document(&measured(&folder, "json", [Some(&low), Some(&high)]));
    let functions = &document["comparisons"][0]["functions"];
    assert_eq!((&functions["unit"], &functions["is_time"]), (&Value::from("Ir"), &Value::from(false)));
    let sums = portion(functions, "sum_page");
    assert_eq!((&sums["change"], &sums["amount"]["b"]), (&Value::from("gained"), &Value::from(1_827_200.0)));
    assert_eq!(sums["margin"], Value::Null);
    let walk = portion(functions, "walk");
    assert_eq!((&walk["change"], &walk["difference"]), (&Value::from("unclear"), &Value::from(0.0)));
    let text = measured(&folder, "text", [Some(&low), Some(&high)]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("instructions executed by function, which is not time: "), "{text}");
    assert!(text.contains("  sum_page (pages): ") && text.contains(" → 1,827,200"), "{text}");
}

/// All of it before anything is run: a command that would leave a trace leaves none.
#[test]
fn wrong_profiles_are_refused_before_anything_is_measured() {
    let scratch = Scratch::new("measure-profile-wrong");
    let folder = pack(&scratch);
    let low = recorded("pages-v1.perf");
    let refused = |profiles: &[&str], expected: &str| {
        let profiles: Vec<String> = profiles.iter().map(|profile| format!("--profile={profile}")).collect();
        let mut arguments = vec!["pack", "measure", "--no-gate"];
        arguments.extend(profiles.iter().map(String::as_str));
        arguments.extend(["pack", "--", "sh", "-c", "touch ran; {tree}/bin/prog"]);
        let output = deburr(&folder, &arguments);
        assert_eq!(output.status.code(), Some(2), "{profiles:?}");
        assert!(stderr(&output).contains(expected), "{profiles:?}: {}", stderr(&output));
        assert!(stderr(&output).len() < 2000 && !stderr(&output).contains('\x1b'), "{}", stderr(&output));
        assert!(!folder.join("ran").exists());
    };
    let v1 = format!("x86-64-v1={low}");
    refused(&[&low], "expected LEVEL=FILE");
    refused(&["x86-64-v1="], "expected LEVEL=FILE");
    refused(&[&v1], "the only one; functions of two levels are compared");
    refused(&[&v1, &v1], "a second profile of x86-64-v1");
    let v2 = format!("x86-64-v2={low}");
    refused(&[&v2], "x86-64-v2 is not among the levels that are measured here: x86-64-v1, x86-64-v3");
    let counts = format!("x86-64-v3={}", recorded("pages-v3.callgrind"));
    refused(&[&v1, &counts], "that of x86-64-v1 has samples, that of x86-64-v3 counts of Ir");
    refused(&[&v1, "x86-64-v3=nowhere.perf"], "nowhere.perf: ");
    refused(&[&v1, "x86-64-v3=pack"], "pack: ");
    let write = |bytes: &[u8], expected: &str| {
        scratch.file("bad.perf", bytes);
        refused(&[&v1, "x86-64-v3=bad.perf"], expected);
    };
    write(b"", "bad.perf: no sample of perf script in it");
    write(
        b"PERFILE2\x68\0\0\0",
        "bad.perf: a perf.data, where text is expected; perf script -F comm,ip,sym,dso",
    );
    write(b"\x7fELF\x02", "bad.perf: an ELF file");
    let text = fs::read(&low).unwrap();
    write(&text[..text.len() - 3], "bad.perf: line 433: the file ends within this line: cut off");
    write(&[&text[..], &[b'x'; 10 << 20], b"\n"].concat(), "bad.perf: line 434: longer than 1024 KiB");
    write(
        &[&text[..], b"\x1b[2J\x07 evil (x)\n"].concat(),
        "bad.perf: line 434: expected an instruction pointer",
    );
    write(&[&text[..], b"\tevil\n"].concat(), "bad.perf: line 434: expected a sample before its frames");
}

#[test]
fn names_that_a_terminal_would_obey_are_shown_tame_and_long_ones_cut() {
    let scratch = Scratch::new("measure-profile-names");
    let folder = pack(&scratch);
    let profile = |name: &str, count: usize, others: usize| {
        let mut text =
            format!("            prog      55d7166862b6 {name} (/bin/\u{1b}]0;evil\u{7})\n").repeat(count);
        text += &"            prog      55d7166862b6 other (/bin/prog)\n".repeat(others);
        text
    };
    let name = format!("\u{1b}[2Jlong{}", "<x>".repeat(100_000));
    scratch.file("a.perf", profile(&name, 900, 100).as_bytes());
    scratch.file("b.perf", profile(&name, 100, 900).as_bytes());
    let output = measured(&folder, "text", [Some("a.perf"), Some("b.perf")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}') && text.len() < 4000, "{}", text.len());
    assert!(text.contains("long<x>") && text.contains('…'), "{text}");
}

#[test]
fn a_level_without_a_profile_is_named() {
    let scratch = Scratch::new("measure-profile-none");
    let folder = pack(&scratch);
    // v2 is the same as v1, and has no profile.
    let v2 = folder.join("pack/x86-64-v2/tree/bin");
    fs::create_dir_all(&v2).unwrap();
    fs::copy(folder.join("pack/x86-64-v3/tree/bin/prog"), v2.join("prog")).unwrap();
    let record = folder.join("pack/deburr-pack.json");
    let mut changed: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    let own = serde_json::json!({"level": "x86-64-v2", "state": "done", "tree": "x86-64-v2/tree"});
    changed["variants"].as_array_mut().unwrap().push(own);
    fs::write(&record, changed.to_string()).unwrap();
    let (low, high) = (recorded("pages-v1.perf"), recorded("pages-v3.perf"));
    let document = document(&measured(&folder, "json", [Some(&low), Some(&high)]));
    let first = &document["comparisons"][0];
    assert_eq!(first["level"], "x86-64-v2");
    assert_eq!(first["functions"], serde_json::json!({"no_profile_of": "x86-64-v2"}));
}
