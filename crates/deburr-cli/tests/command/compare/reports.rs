//! `deburr compare FILE FILE`: what benchmark programs wrote, compared by metric; tables of it; and what is
//! refused.

use super::on_this_machine;
use crate::{Scratch, assert_as_recorded, compare, document, stderr, stdout};
use serde_json::Value;
use std::process::Command;

/// So many reports of pgbench, one after the other.
fn pgbench(reports: u32, factor: f64) -> String {
    let report = |index: u32| {
        let tps = factor * (1000.0 + f64::from(index * 7 % 5));
        format!(
            "transaction type: <builtin: select only>\nlatency average = {:.6} ms\n\
             tps = {tps:.6} (without initial connection time)\n",
            1e3 / tps
        )
    };
    (0..reports).map(report).collect()
}

fn go(nanoseconds: f64) -> String {
    let line = |index: u32| format!("BenchmarkE-8 10 {} ns/op 7 B/op\n", nanoseconds + f64::from(index % 3));
    format!("goos: linux\n{}", (0..8).map(line).collect::<String>())
}

#[test]
fn reports_are_compared_by_metric_as_recorded() {
    let scratch = Scratch::new("reported");
    scratch.file("old.txt", pgbench(20, 1.0).as_bytes());
    scratch.file("new.txt", pgbench(20, 1.05).as_bytes());
    let mut session = String::new();
    for arguments in [
        &["old.txt", "new.txt", "--paired"][..],
        &["old.txt", "new.txt", "--metric", "latency"],
        &["old.txt", "new.txt", "--format", "benchstat"],
        &["old.txt", "new.txt", "--paired", "--format", "markdown"],
        &["old.txt", "new.txt", "--metric", "pgbench:tps", "--format", "csv"],
    ] {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        session += &format!("$ deburr compare {}\n{}\n", arguments.join(" "), stdout(&output));
    }
    assert_as_recorded("compare-files.session", &session);
    let told = document(&scratch, &["old.txt", "new.txt", "--paired", "--metric", "tps"]);
    assert_eq!((&told["verdict"], &told["metric"]["name"]), (&"better".into(), &"tps".into()));
    assert!((told["effect"].as_f64().unwrap() - 0.05).abs() < 1e-6);
    let expected = ["old.txt", "new.txt", "--paired", "--metric", "tps", "--expect", "same"];
    assert_eq!(compare(&scratch, &expected).status.code(), Some(1));
    // Who knows better which way a metric is better, says so.
    let told = document(&scratch, &["old.txt", "new.txt", "--paired", "--metric", "tps,smaller"]);
    assert_eq!(told["verdict"], "worse");
}

#[test]
fn metrics_of_one_side_and_single_values_are_noted() {
    let scratch = Scratch::new("reported-notes");
    let hyperfine = |times: &str| {
        format!(r#"{{"results":[{{"command":"x","user":0.1,"system":0.0,"times":[{times}]}}]}}"#)
    };
    scratch.file("a.json", hyperfine("1.0,1.1,1.2").as_bytes());
    scratch.file("b.json", hyperfine("1.0,1.2").as_bytes());
    let told = document(&scratch, &["a.json", "b.json"]);
    assert_eq!((&told["metric"]["name"], &told["verdict"]), (&"time".into(), &"inconclusive".into()));
    assert_eq!(told["notes"][0], "user: at least 2 values are needed, A has 1, B 1");
    scratch.file("a.txt", go(5.0).as_bytes());
    scratch.file("b.txt", go(6.0).replace(" 7 B/op", " 7 MB/s").as_bytes());
    let told = document(&scratch, &["a.txt", "b.txt"]);
    assert_eq!(told["notes"], serde_json::json!(["only A has E-8:B/op", "only B has E-8:B/s"]));
    assert_eq!(told["other_metrics"], serde_json::json!([]));
}

#[test]
fn several_metrics_share_the_error() {
    let scratch = Scratch::new("reported-holm");
    scratch.file("a.txt", go(50.0).as_bytes());
    scratch.file("b.txt", go(50.7).as_bytes());
    let told = document(&scratch, &["a.txt", "b.txt"]);
    let p = |told: &Value| ["p", "p_adjusted"].map(|name| told["benchstat"][name].as_f64().unwrap());
    let [alone, adjusted] = p(&told);
    assert!(alone < 1.0 && (adjusted - 2.0 * alone).abs() < 1e-12, "{told:#}");
    // What the user named first decides at its own p.
    let told = document(&scratch, &["a.txt", "b.txt", "--metric", "E-8:sec/op", "--metric", "go:E-8:B/op"]);
    assert_eq!(p(&told), [alone; 2]);
}

#[test]
fn each_further_file_is_compared_with_the_first_as_recorded() {
    let scratch = Scratch::new("reported-further");
    for (name, factor) in [("main.txt", 1.0), ("one.txt", 1.05), ("two.txt", 0.95)] {
        scratch.file(name, pgbench(20, factor).as_bytes());
    }
    let files = ["main.txt", "one.txt", "two.txt", "--paired", "--metric", "tps"];
    let mut session = String::new();
    for format in ["text", "markdown", "csv"] {
        let output = compare(&scratch, &[&files[..], &["--format", format]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        session += &format!("$ deburr compare {} --format {format}\n{}\n", files.join(" "), stdout(&output));
    }
    assert_as_recorded("compare-further.session", &session);
    let told = document(&scratch, &files);
    assert_eq!((&told["verdict"], &told["files"][1]), (&"better".into(), &"one.txt".into()));
    let further = told["further"].as_array().unwrap();
    assert_eq!(further.len(), 1);
    assert_eq!((&further[0]["verdict"], &further[0]["files"][0]), (&"worse".into(), &"main.txt".into()));
    // What is expected has to hold for all of them.
    for (files, expected, code) in [
        (&["main.txt", "one.txt", "two.txt"][..], "better", 1),
        (&["two.txt", "one.txt", "main.txt"], "better", 0),
        (&["one.txt", "one.txt", "two.txt"], "not-worse", 1),
    ] {
        let arguments = [files, &["--paired", "--metric", "tps", "--expect", expected]].concat();
        assert_eq!(compare(&scratch, &arguments).status.code(), Some(code), "{files:?}");
    }
}

#[test]
fn all_files_share_the_error() {
    let scratch = Scratch::new("reported-further-holm");
    scratch.file("a", go(50.0).as_bytes());
    scratch.file("b", go(52.5).as_bytes());
    let told = document(&scratch, &["a", "b", "b"]);
    // Two metrics of two files.
    for told in [&told, &told["further"][0]] {
        let [p, adjusted] = ["p", "p_adjusted"].map(|name| told["benchstat"][name].as_f64().unwrap());
        assert!((adjusted - 4.0 * p).abs() < 1e-12, "{told:#}");
    }
    let numbers = |factor: f64| -> String {
        (0..20).map(|at| format!("{}\n", factor * (100.0 + f64::from(at * 7 % 11)))).collect()
    };
    let turned: String = numbers(1.0).lines().rev().map(|line| format!("{line}\n")).collect();
    scratch.file("even", numbers(1.0).as_bytes());
    scratch.file("noise", turned.as_bytes());
    let verdict = |further: &[&str]| {
        let files = [&["--paired", "--better", "larger", "--values", "even", "b"], further].concat();
        document(&scratch, &files)["verdict"].clone()
    };
    // The least by which it has to be better to be so alone: that is too little among others of which nothing
    // is proven.
    let least = (0..200).find(|step| {
        let better: Vec<f64> = turned.lines().map(|line| line.parse::<f64>().unwrap()).collect();
        let better = better.iter().map(|value| format!("{}\n", value * (1.0 + f64::from(*step) * 3e-3)));
        scratch.file("b", better.collect::<String>().as_bytes());
        verdict(&[]) == "better"
    });
    assert!(least.is_some_and(|least| least > 3), "{least:?}");
    assert_eq!(verdict(&["noise", "noise", "noise"]), "inconclusive");
}

#[test]
fn tables_of_go_are_those_of_benchstat_for_any_number_of_files() {
    let scratch = Scratch::new("reported-benchstat");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-lab/tests/benchstat");
    for name in ["crc-old.txt", "crc-new.txt"] {
        scratch.file(name, &std::fs::read(format!("{folder}/inputs/{name}")).unwrap());
    }
    let golden = std::fs::read_to_string(format!("{folder}/upstream_golden/crcOldNew.stdout")).unwrap();
    let output = compare(&scratch, &["--format", "benchstat", "crc-old.txt", "crc-new.txt"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), golden));
    let three = compare(&scratch, &["--format", "benchstat", "crc-old.txt", "crc-new.txt", "crc-new.txt"]);
    assert!(stdout(&three).contains("crc-new.txt#1"), "{}", stdout(&three));
    // A pipe can be read once.
    let piped = format!("cat crc-old.txt | {} compare --format benchstat /dev/stdin", crate::program());
    let piped = Command::new("sh").current_dir(scratch.path()).args(["-c", &piped]).output().unwrap();
    let of_one = stdout(&compare(&scratch, &["--format", "benchstat", "crc-old.txt"]));
    assert_eq!(rows(&stdout(&piped)), rows(&of_one), "{}", stderr(&piped));
    scratch.file("bad.txt", b"BenchmarkE 1 5 ns/op\nBenchmarkE 1 x ns/op\n");
    let bad = compare(&scratch, &["--format", "benchstat", "--input-format", "go", "bad.txt"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(stdout(&bad).contains("sec/op") && stderr(&bad).contains("bad.txt:2: parsing measurement"));
}

fn reference(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-lab/tests/benchstat");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// Writes the two sides of what benchstat was given in one file, as files of their names; gives A's.
fn sides(scratch: &Scratch, name: &str) -> String {
    let input = reference(&format!("inputs/{name}.txt"));
    let [a, b] = ["a", "b"].map(|side| {
        let lines = input.lines().skip_while(|line| *line != format!("arm: {side}")).skip(1);
        let lines = lines.take_while(|line| !line.starts_with("arm: ")).map(|line| format!("{line}\n"));
        let text: String = lines.collect();
        scratch.file(side, text.as_bytes());
        text
    });
    assert!(!a.is_empty() && !b.is_empty());
    a
}

/// The rows below a table's head, whatever its columns are called and how wide they are.
fn rows(table: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<&str>>().join(" ");
    table.lines().filter(|line| !line.contains('│')).map(words).collect()
}

#[test]
fn p_of_ties_depends_on_which_side_comes_first_on_request_only() {
    let scratch = Scratch::new("reported-ties");
    sides(&scratch, "gen_ties_asym");
    let table = |arguments: &[&str]| {
        rows(&stdout(&compare(&scratch, &[&["--format", "benchstat"], arguments].concat())))
    };
    let cases: Value = serde_json::from_str(&reference("benchstat_cases.json")).unwrap();
    let mut cases = cases["cases"].as_array().unwrap().iter();
    let case = cases.find(|case| case["name"] == "gen_ties_asym_text").unwrap();
    let printed = table(&["--benchstat-faults", "a", "b"]);
    assert_eq!(printed, rows(case["stdout"].as_str().unwrap()));
    let corrected = table(&["a", "b"]);
    let differing: Vec<_> = printed.iter().zip(&corrected).filter(|(one, other)| one != other).collect();
    assert!(!differing.is_empty() && differing.iter().all(|(_, row)| row.contains('+')), "{differing:?}");
    let p = |arguments: &[&str]| {
        let told = document(&scratch, &[arguments, &["--metric", "X2:sec/op"]].concat());
        told["benchstat"]["p"].as_f64().unwrap()
    };
    assert!((p(&["a", "b"]) - p(&["b", "a"])).abs() < 1e-12);
    let [one, other] =
        [["a", "b"], ["b", "a"]].map(|files| p(&[&["--benchstat-faults"], &files[..]].concat()));
    assert!((one - 0.070).abs() < 5e-4 && (one - other).abs() > 1e-3, "{one} {other}");
}

#[test]
fn the_interval_of_24_values_is_shifted_on_request_only() {
    let scratch = Scratch::new("reported-24");
    let a = sides(&scratch, "gen_noties");
    let values = a.lines().filter_map(|line| line.strip_prefix("BenchmarkN24x24 ")?.split(' ').nth(1));
    let mut values: Vec<f64> = values.map(|value| value.parse::<f64>().unwrap() * 1e-9).collect();
    values.sort_by(f64::total_cmp);
    assert_eq!(values.len(), 24);
    let places = |faults: &[&str]| {
        let told = document(&scratch, &[faults, &["a", "b", "--metric", "N24x24:sec/op"]].concat());
        [0, 1].map(|end| {
            let end = told["benchstat"]["a"]["interval"][end].as_f64().unwrap();
            values.iter().position(|value| (value / end - 1.0).abs() < 1e-12).unwrap()
        })
    };
    assert_eq!(places(&["--benchstat-faults"]), places(&[]).map(|place| place + 1));
}

#[test]
fn published_marks_are_shown_on_request_only() {
    let scratch = Scratch::new("reported-marks");
    let numbers = |factor: f64| -> String {
        (0..16).map(|at| format!("{}\n", factor * (100.0 + f64::from(at * 7 % 11)))).collect()
    };
    for (name, factor) in [("a", 1.0), ("good", 1.2), ("bad", 0.8), ("near", 1.0)] {
        scratch.file(name, numbers(factor).as_bytes());
    }
    // A mark, too, where both are the same numbers, for they are noisy.
    for (name, mean, next, text) in [
        ("good", Value::from(":)"), Value::from(":)"), ":) :)"),
        ("bad", Value::from(":("), Value::from(":("), ":( :("),
        ("near", Value::from(":("), Value::Null, ":("),
    ] {
        let files = ["--better", "larger", "--values", "a", name];
        let marked = [&["--marks"], &files[..]].concat();
        let told = document(&scratch, &marked);
        assert_eq!((&told["marks"]["mean"], &told["marks"]["next"]), (&mean, &next), "{told:#}");
        assert!(document(&scratch, &files).get("marks").is_none());
        let said = |format: &str| stdout(&compare(&scratch, &[&["--format", format], &marked[..]].concat()));
        assert!(said("text").lines().any(|line| line.ends_with(&format!("   {text}"))), "{}", said("text"));
        assert!(said("markdown").lines().any(|line| line.ends_with(&format!(" | {text} |"))), "{name}");
        let csv = said("csv");
        assert!(csv.lines().next().unwrap().ends_with(",first_p,marks"), "{csv}");
        assert_eq!(csv.lines().nth(1).unwrap().rsplit(',').next(), Some(text));
    }
}

#[test]
fn runs_are_measured_by_what_a_program_reports_of_them() {
    let scratch = Scratch::new("reported-runs");
    let run = |tps: u32| {
        format!(
            "echo 'latency average = 2.5 ms'; echo \"tps = $(({tps} + $$ % 7)) (without initial connection time)\""
        )
    };
    let (a, b) = (run(10_000), run(11_000));
    let common = ["--record", "runs", "--shell", "sh", "--pairs", "16", "--metric", "pgbench"];
    let told = document(&scratch, &[&common[..], &["--a", &a, "--b", &b]].concat());
    assert_eq!(told["verdict"], on_this_machine(&told, "better"), "{told:#}");
    assert!(told["paired"]["better"].as_f64().unwrap() > 0.99, "{told:#}");
    assert_eq!(told["metric"]["name"], "pgbench:tps");
    let latency = &told["other_metrics"][0];
    assert_eq!(latency["metric"]["name"], "pgbench:latency");
    assert_eq!(latency["verdict"], on_this_machine(&told, "same"), "{told:#}");
    let again = ["--resume=runs", "--shell", "sh", "--metric", "pgbench", "--format", "benchstat"];
    let output = compare(&scratch, &[&again[..], &["--pairs", "16", "--a", &a, "--b", &b]].concat());
    assert!(stdout(&output).contains("pgbench:tps"), "{}{}", stdout(&output), stderr(&output));
    let none = ["--metric", "pgbench:tps", "--a", "echo hello", "--b", "echo hello", "--record", "none"];
    let output = compare(&scratch, &none);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no result of pgbench in it"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_compared_is_refused_with_file_and_place() {
    let scratch = Scratch::new("reported-refused");
    scratch.file("pg", pgbench(3, 1.0).as_bytes());
    scratch.file("twice", format!("{}tps = 7\n", pgbench(3, 1.0)).as_bytes());
    scratch.file("cut.json", br#"{"results":[{"command":"x","times":[1,"#);
    scratch.file("numbers", b"1\n2\n");
    scratch.file("prose", b"It was fast.\n");
    let cases: [(&[&str], &str); 16] = [
        (&["pg"], "pg: give a second file"),
        (&["pg", "pg", "numbers"], "pg is of pgbench, numbers is of values"),
        (&["pg", "pg", "--html", "x", "twice"], "--html: a page has two sides; twice: a third file"),
        (&["--values", "numbers"], "2 values required"),
        (&["pg", "numbers"], "pg is of pgbench, numbers is of values"),
        (&["pg", "prose"], "prose: results of no program that is known; --input-format says which: pgbench"),
        (&["pg", "none"], "none: "),
        (&["pg", "twice"], "twice: line 10: tps a second time in one report of pgbench"),
        (&["cut.json", "cut.json"], "cut.json: line 1: EOF while parsing a value (cut off, or no JSON)"),
        (&["pg", "pg", "--input-format", "wrk"], "pg: no result of wrk in it"),
        (&["pg", "pg", "--input-format", "pg"], "unknown format \"pg\"; expected one of pgbench, sysbench"),
        (
            &["pg", "pg", "--metric", "speed"],
            "--metric \"speed\": not in both files, or given twice; they have tps, latency",
        ),
        (&["pg", "pg", "--expect", "same"], "--expect: several metrics are compared; --metric names the one"),
        (&["pg", "pg", "--format", "benchstat", "--expect", "same"], "benchstat's tables have no verdict"),
        (&["pg", "pg", "--format", "benchstat", "--marks"], "--marks: benchstat's tables have none"),
        (&["pg", "pg", "--a", "true", "--b", "true"], "cannot be used with"),
    ];
    for (arguments, message) in cases {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_mark_of_the_encoding_and_line_ends_of_windows_make_no_difference() {
    let scratch = Scratch::new("reported-elsewhere");
    let hyperfine = "{\n \"results\": [{\"command\": \"a\", \"times\": [1.0, 1.5,\n 1.25]}]}\n";
    let values = "# seconds\n1.5\n\n1.25\n1.75\n";
    for (name, text) in [
        ("go", go(100.0)),
        ("pgbench", pgbench(4, 1.0)),
        ("values", values.to_owned()),
        ("json", hyperfine.to_owned()),
    ] {
        let written = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        scratch.file("plain", text.as_bytes());
        scratch.file(&format!("plain-{name}"), text.as_bytes());
        scratch.file(&format!("windows-{name}"), written.as_bytes());
        for format in ["csv", "benchstat"] {
            let table = |file: &str| {
                let output = compare(&scratch, &["plain", file, "--format", format]);
                assert!(output.status.success(), "{name}: {}", stderr(&output));
                stdout(&output).replace("windows", "plain")
            };
            let [plain, windows] = [table(&format!("plain-{name}")), table(&format!("windows-{name}"))];
            assert_eq!(
                plain.split_whitespace().collect::<Vec<_>>(),
                windows.split_whitespace().collect::<Vec<_>>()
            );
        }
    }
}
