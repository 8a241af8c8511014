//! What a run may cost: the budget of a file and the time of a run, and that nothing that they cut off is passed over.

use super::fixtures::folder;
use super::{Scratch, deburr, stderr, stdout};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const DIES: &str = "above_baseline/hit-avx512-above-v3.o";
const LLSC: &str = "llsc_loop/hit-cas.o";

fn fixture(name: &str) -> String {
    folder().join(name).display().to_string()
}

fn document(arguments: &[&str]) -> (Value, Option<i32>, String) {
    let output = deburr(&[&["check", "--format", "json"], arguments].concat());
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (document, output.status.code(), stderr(&output))
}

#[test]
fn what_a_budget_is_too_small_for_is_undecided_and_named() {
    let file = fixture(DIES);
    let whole = document(&["--baseline", "x86-64-v3", &file]);
    assert_eq!((&whole.0["files"][0]["answer"], whole.1), (&json!("dies"), Some(1)));
    assert_eq!(
        document(&["--baseline", "x86-64-v3", "--budget", "1G", &file]),
        whole,
        "enough is as good as all"
    );
    for threads in ["1", "2"] {
        let arguments = ["--baseline", "x86-64-v3", "--budget", "3", "-j", threads, &file];
        let (cut, status, told) = document(&arguments);
        let report = &cut["files"][0];
        assert_eq!((&report["answer"], status), (&json!("undecided"), Some(0)), "{report}");
        let over = json!({"steps": 3, "stopped": false, "checks": true, "rules": []});
        assert_eq!(report["over_budget"], over);
        assert_eq!(report["isa_functions"][0]["because"], "budget");
        assert_eq!(cut["statistics"]["files_over_budget"], 1);
        let sentence = "its 3 steps are spent (--budget), and not analysed are: run-time checks";
        assert_eq!(told, format!("deburr: warning: {file}: {sentence}\n"));
    }
    let strict = ["check", "--baseline", "x86-64-v3", "--budget", "3", "--fail-on", "error,undecided", &file];
    let output = deburr(&strict);
    assert_eq!(output.status.code(), Some(1), "it is not clean");
    let text = stdout(&output);
    assert!(text.contains("budget: its 3 steps are spent"), "{text}");
    assert!(text.trim_end().lines().last().unwrap().contains("over their budget: 1 (--budget)"), "{text}");
}

#[test]
fn rules_that_a_budget_is_too_small_for_are_named() {
    let file = fixture(LLSC);
    let (whole, ..) = document(&["--select", "llsc-loop,mfence", &file]);
    assert_eq!(whole["files"][0]["findings"].as_array().unwrap().len(), 3);
    let (cut, status, told) = document(&["--select", "llsc-loop,mfence", "--budget", "0", &file]);
    assert_eq!((&cut["files"][0]["findings"], status), (&json!([]), Some(0)));
    assert_eq!(cut["files"][0]["over_budget"]["rules"], json!(["llsc-loop"]), "mfence needs none here");
    assert!(told.contains("not analysed are: llsc-loop"), "{told}");
    for format in ["text", "concise", "github", "lintian", "junit", "sarif"] {
        let output =
            deburr(&["check", "-q", "--select", "llsc-loop", "--budget", "0", "--format", format, &file]);
        assert!(stderr(&output).contains("(--budget)"), "{format}: it is told in every format");
    }
}

#[test]
fn a_run_whose_time_is_over_says_what_it_has_not_checked() {
    let scratch = Scratch::new("max-time");
    let bytes = std::fs::read(folder().join(LLSC)).unwrap();
    let files: Vec<String> = (0..5).map(|number| scratch.file(&format!("{number}.o"), &bytes)).collect();
    let output = deburr(&["check", "--max-time", "0", scratch.as_str()]);
    // The clock may let some through.
    let unchecked = stderr(&output).matches("not checked: the time of the run is over (--max-time)").count();
    let cut = stderr(&output).matches("the time of the run is over (--max-time), and not analysed").count();
    assert!(unchecked > 0 || cut > 0, "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(if unchecked > 0 { 2 } else { 1 }));
    let plenty = deburr(&["check", "--max-time", "10h", &files[0]]);
    assert_eq!((plenty.status.code(), stderr(&plenty).as_str()), (Some(1), ""));
    for wrong in [["--max-time", "1d"], ["--budget", "many"]] {
        let output = deburr(&["check", wrong[0], wrong[1], &files[0]]);
        assert!(output.status.code() == Some(2) && stderr(&output).contains("such as"), "{wrong:?}");
    }
}

/// What each rule finds in each file that was analysed as far as its checks, and the rules that were cut off there.
fn found_by_rule(budget: &str) -> BTreeMap<String, (BTreeMap<String, String>, Vec<String>)> {
    let fixtures = folder().display().to_string();
    let machines =
        ["--target", "cortex-a720", "--target", "zen4", "--baseline", "armv8.0-a", "--baseline", "x86-64"];
    let options = ["--preview", "--limit", "0", "--budget", budget, &fixtures];
    let (document, ..) = document(&[&machines[..], &options].concat());
    let files = document["files"].as_array().unwrap().iter();
    let is_followed = |file: &&Value| file["over_budget"]["checks"] != true;
    let of_file = |file: &Value| {
        let mut found = BTreeMap::<String, String>::new();
        for finding in file["findings"].as_array().unwrap() {
            *found.entry(finding["rule"].as_str().unwrap().to_owned()).or_default() += &finding.to_string();
        }
        found.insert("atomics".to_owned(), file["atomics"].to_string());
        let cut = file["over_budget"]["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
        let cut = cut.iter().map(|rule| rule.as_str().unwrap().to_owned()).collect();
        (file["path"].as_str().unwrap().to_owned(), (found, cut))
    };
    files.filter(is_followed).map(of_file).collect()
}

#[test]
fn a_rule_says_the_same_within_any_budget_or_is_named() {
    let whole = found_by_rule("1000G");
    let mut cut_off = 0;
    for budget in ["0", "10", "30", "100", "200", "400", "1000", "3000"] {
        for (path, (found, cut)) in found_by_rule(budget) {
            cut_off += cut.len();
            for rule in whole[&path].0.keys().chain(found.keys()) {
                let is_named = cut.contains(rule) || (rule == "atomics" && !cut.is_empty());
                let same = found.get(rule) == whole[&path].0.get(rule);
                assert!(
                    same || (is_named && !found.contains_key(rule)) || (is_named && rule == "atomics"),
                    "{budget}: {path}: {rule}"
                );
            }
        }
    }
    assert!(cut_off > 1000, "{cut_off}: the budgets are small enough to cut something off");
}

#[test]
fn code_is_shown_whatever_the_budget_was() {
    let file = fixture(LLSC);
    let whole = deburr(&["show", &file, "cas_1_acquire"]);
    let small = deburr(&["show", "--budget", "0", &file, "cas_1_acquire"]);
    let insns =
        |text: &str| text.lines().filter(|line| line.contains("ldaxrb") || line.contains("stxrb")).count();
    assert_eq!(insns(&stdout(&small)), insns(&stdout(&whole)));
    assert!(insns(&stdout(&whole)) > 0, "{}", stdout(&whole));
}
