//! How an experiment goes: what is refused before it begins, how often and how long it runs, and several commands.

use super::super::{compare, document, stderr, stdout};
use super::{RATE, printing, scratch};
use serde_json::Value;
use std::fs;

#[test]
fn what_cannot_work_is_said_before_anything_runs() {
    let scratch = scratch("preflight");
    let cases: [(&[&str], &str); 10] = [
        (&["--a", "true", "--b", "./none"], "--b: ./none: no such file"),
        (&["--a", "touch ran", "--b", "none-such"], "--b: none-such: no such file"),
        (&["--a", "touch ran", "--b", "cat x | wc"], "\"|\" is for a shell: add --shell sh"),
        (&["--a", "touch ran", "--b", "cd /; true"], "\"cd\" is for a shell"),
        (&["--a", "touch ran", "--b", "X=1 true"], "\"X=1\" is for a shell"),
        (&["--a", "touch ran", "--b", "echo {n}"], "{n} has no value: give its values by --param n="),
        (
            &["--a", "echo {n}", "--b", "echo {m}", "--param", "n=1,2"],
            "{m} has no value: --param has values of {n}",
        ),
        (&["--a", "touch ran", "--b", "true", "--param", "n=1,2"], "--param n: no command has {n} in it"),
        (&["--a", "touch {port}", "--b", "true"], "only commands of servers and their clients have a port"),
        (
            &["--a", "touch ran", "--b", "true", "--min-pairs", "30", "--pairs", "20"],
            "--min-pairs 30: more than --pairs 20",
        ),
    ];
    for (arguments, message) in cases {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
        assert!(!scratch.join("ran").exists(), "{arguments:?}");
    }
    // What a setup makes is looked for after it.
    let made = [
        "--setup",
        "sh -c 'printf \"#!/bin/sh\\n\" > made; chmod +x made'",
        "--a",
        "./made",
        "--b",
        "./made",
        "--pairs",
        "2",
    ];
    assert_eq!(compare(&scratch, &made).status.code(), Some(0));
    let output = compare(&scratch, &["--setup", "true", "--a", "./none", "--b", "./none", "--pairs", "2"]);
    assert!(stderr(&output).contains("--a: ./none: no such file"), "{}", stderr(&output));
    let output = compare(&scratch, &["--a", "false", "--b", "false"]);
    assert!(stderr(&output).contains("--ignore-failure"), "{}", stderr(&output));
}

#[test]
fn several_commands_are_each_compared_with_the_first_or_each_two() {
    let scratch = scratch("several");
    let commands = [10_000, 11_000, 9_000].map(printing);
    let [a, b, c] = commands.each_ref().map(String::as_str);
    let names = ["--name", "main", "--name", "fast", "--name", "slow"];
    let arguments = ["--shell", "sh", "--metric", RATE, "--a", a, "--b", b, "--b", c, "--seed", "1"];
    let arguments = [&arguments[..], &names].concat();
    let found = document(&scratch, &arguments);
    let verdicts = |found: &Value| -> Vec<String> {
        let further = found["further"].as_array().into_iter().flatten();
        [found].into_iter().chain(further).map(|one| one["verdict"].to_string()).collect()
    };
    assert_eq!(verdicts(&found), ["\"better\"", "\"worse\""], "{found:#}");
    // They share the error: half of 10 % each.
    assert_eq!(found["confidence"], 0.95, "{found:#}");
    let all = document(&scratch, &[&arguments[..], &["--all-pairs"]].concat());
    assert_eq!(verdicts(&all), ["\"better\"", "\"worse\"", "\"worse\""], "{all:#}");
    assert_eq!(all["names"], serde_json::json!(["main", "fast"]), "{all:#}");
    let rows = stdout(&compare(&scratch, &[&arguments[..], &["--format", "csv"]].concat()));
    let names: Vec<&str> = rows.lines().skip(1).filter_map(|row| row.split(',').next()).collect();
    assert_eq!(names, ["fast", "slow"], "{rows}");
    let text = stdout(&compare(&scratch, &arguments));
    let summary = text.split("Summary").nth(1).expect("a summary");
    assert!(
        summary.contains("better") && summary.contains("fast (") && summary.contains("against main ("),
        "{text}"
    );
    let output = compare(&scratch, &[&arguments[..], &["--record", "one"]].concat());
    assert!(stderr(&output).contains("--record: of two commands"), "{}", stderr(&output));
}

#[test]
fn a_time_limit_ends_it_and_what_there_is_is_judged_the_same_again() {
    let scratch = scratch("max-time");
    let (a, b) = (printing(10_000), printing(9_000));
    let arguments = ["--shell", "sh", "--metric", RATE, "--a", &a, "--b", &b, "--record", "runs"];
    let told = document(&scratch, &[&arguments[..], &["--max-time", "0.3"]].concat());
    let pairs = told["pairs"].as_u64().unwrap();
    assert!((2..40).contains(&pairs), "{told:#}");
    let note = format!("ended after {pairs} pairs by --max-time");
    // On a machine so slow that a pair takes as long, or so fast that the limit comes after a decision.
    let is_ended = told["notes"].to_string().contains(&note);
    assert!(is_ended || [16, 24].contains(&pairs), "{told:#}");
    assert_eq!(document(&scratch, &["runs"]), told);
}

#[test]
fn warm_ups_and_the_fewest_pairs_are_as_many_as_wanted() {
    let scratch = scratch("fewest");
    let counting = "sh -c 'echo x >> n; echo rate = 100'";
    let arguments = ["--metric", RATE, "--aa", counting, "--under-load"];
    let told = document(
        &scratch,
        &[&arguments[..], &["--warmup", "3", "--min-pairs", "20", "--pairs", "30"]].concat(),
    );
    assert_eq!((&told["pairs"], &told["verdict"]), (&24.into(), &"same".into()), "{told:#}");
    assert_eq!(fs::read_to_string(scratch.join("n")).unwrap().lines().count(), 2 * (3 + 24));
    assert!(told["warnings"].to_string().contains("judged under load"), "{told:#}");
}

#[test]
fn parameters_are_ranges_and_all_their_combinations() {
    let scratch = scratch("product");
    let (a, b) = ("sh -c 'echo rate = 1{n}{m}0'", "sh -c 'echo rate = 1{n}{m}1'");
    let arguments =
        ["--metric", RATE, "--a", a, "--b", b, "--param", "n=1..2", "--param", "m=2..8*2", "--pairs", "2"];
    let told = document(&scratch, &arguments);
    assert_eq!(told["sweep"]["param"], "n/m", "{told:#}");
    let points = told["sweep"]["points"].as_array().unwrap();
    let values: Vec<&str> = points.iter().map(|point| point["value"].as_str().unwrap()).collect();
    assert_eq!(values, ["1/2", "1/4", "1/8", "2/2", "2/4", "2/8"]);
    let output = compare(&scratch, &[&arguments[..], &["--format", "benchstat"]].concat());
    assert!(stdout(&output).contains("rate/n=1/m=2"), "{}", stdout(&output));
}

#[test]
fn equal_commands_of_which_one_has_a_tail_are_the_same_only_typically() {
    let scratch = scratch("tails");
    // Each tenth run of B takes three times as long.
    let b = "sh -c 'echo x >> n; if [ $(($(wc -l < n) % 10)) = 7 ]; then echo time = 300; else echo time = 100; fi'";
    let metric = "time,smaller,s=time = ([0-9]+)";
    let arguments = [
        "--metric",
        metric,
        "--a",
        "echo time = 100",
        "--b",
        b,
        "--under-load",
        "--pairs",
        "40",
        "--min-pairs",
        "40",
    ];
    let text = stdout(&compare(&scratch, &arguments));
    assert!(text.contains("in a typical run, but the tails differ"), "{text}");
    assert!(text.contains("tails differ: 0 of 40 runs of A and 4 of 40 of B"), "{text}");
}
