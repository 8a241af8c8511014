//! What is counted of a run besides its time, and what it leaves behind.

use super::{on_this_machine, scratch};
use crate::{compare, document, stderr, stdout};
use std::fs;

#[test]
fn processes_that_a_run_leaves_behind_are_named() {
    let scratch = scratch("leftovers");
    let left = "sh -c 'sleep 2 & true'";
    // One that left its group, as daemons do.
    let daemon = "sh -c 'setsid tail -f /dev/null --pid=$PPID > /dev/null 2>&1 & sleep 0.05'";
    let told = document(&scratch, &["--a", left, "--b", daemon, "--pairs", "2", "--record", "runs"]);
    let notes = told["notes"].to_string();
    assert!(notes.contains("of 4 runs 2 of A and 2 of B left processes behind (sleep, tail)"), "{told:#}");
    let record = fs::read_to_string(scratch.join("runs")).unwrap();
    assert!(record.contains("\"leftovers\":[\"sleep\"]"), "{record}");
    // A run that waits for its own leaves none.
    let told = document(&scratch, &["--aa", "sh -c 'sleep 0.01 & wait'", "--pairs", "2"]);
    assert!(!told["notes"].to_string().contains("behind"), "{told:#}");
}

#[test]
#[ignore = "a quarter of a minute of runs; `cargo xtask nightly` runs it"]
fn a_percentile_of_runs_is_compared_in_blocks() {
    let scratch = scratch("percentiles");
    // One run of B in four takes longer.
    let b = "sh -c 'echo x >> n; if [ $(($(wc -l < n) % 4)) = 3 ]; then sleep 0.2; else sleep 0.005; fi'";
    let arguments =
        ["--a", "sleep 0.005", "--b", b, "--metric", "wall:p90", "--metric", "wall", "--under-load"];
    let told = document(&scratch, &[&arguments[..], &["--pairs", "160", "--min-pairs", "160"]].concat());
    assert_eq!(told["metric"]["name"], "wall:p90");
    assert_eq!(told["pairs"], 16, "{told:#}");
    assert_eq!(told["verdict"], on_this_machine(&told, "worse"), "{told:#}");
    assert!(told["effect"].as_f64().unwrap() > 1.0, "{told:#}");
    assert!(told["notes"].to_string().contains("one pair of it is of 10 runs a side"), "{told:#}");
    // As a further metric it takes as many runs, and says so.
    let both = ["--aa", "true", "--metric", "wall", "--metric", "wall:p99", "--under-load"];
    let few = document(&scratch, &[&both[..], &["--pairs", "4"]].concat());
    assert!(few["notes"].to_string().contains("wall:p99: 4 pairs of runs are too few"), "{few:#}");
    let wrong = compare(&scratch, &["--aa", "true", "--metric", "wall:p42"]);
    assert!(stderr(&wrong).contains("p10, p25, p50, p75, p90, p95, p99"), "{}", stderr(&wrong));
}

#[test]
fn page_faults_are_counted_exactly() {
    let scratch = scratch("faults");
    let told = document(
        &scratch,
        &[
            "--metric",
            "page-faults",
            "--a",
            "head -c 1 /dev/zero",
            "--b",
            "sh -c 'head -c 8M /dev/zero | tail -c 8M > x'",
            "--pairs",
            "16",
            "--under-load",
        ],
    );
    assert_eq!(told["verdict"], "worse", "{told:#}");
    assert!(told["benchstat"]["a"]["median"].as_f64().unwrap() > 20.0, "{told:#}");
}

#[test]
fn a_program_without_usual_metrics_is_run_once_to_name_them() {
    let scratch = scratch("names");
    scratch.file(
        "bench.txt",
        b"goos: linux\nBenchmarkParse-8 100 1234 ns/op 56 B/op\nBenchmarkScan-8 100 99 ns/op\n",
    );
    let output = compare(&scratch, &["--metric", "go", "--a", "cat bench.txt", "--b", "cat bench.txt"]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    for name in ["--metric 'go:Parse-8:sec/op'", "--metric 'go:Parse-8:B/op'", "--metric 'go:Scan-8:sec/op'"]
    {
        assert!(told.contains(name), "{told}");
    }
    let none = compare(&scratch, &["--metric", "go", "--aa", "echo nothing"]);
    assert!(stderr(&none).contains("A, run once to see what it reports"), "{}", stderr(&none));
}

#[test]
fn counters_of_the_processor_are_refused_before_anything_runs_where_there_are_none() {
    let scratch = scratch("counters");
    let output =
        compare(&scratch, &["--metric", "instructions", "--aa", "sh -c 'echo x >> ran'", "--pairs", "2"]);
    match output.status.code() {
        // Where the machine has them, they count.
        Some(0) => {
            assert!(stdout(&output).contains("instructions (smaller is better)"), "{}", stdout(&output))
        }
        _ => {
            assert!(
                stderr(&output).contains("--metric valgrind:instructions needs none"),
                "{}",
                stderr(&output)
            );
            assert!(!scratch.join("ran").exists());
        }
    }
}

#[test]
#[ignore = "a third of a minute of valgrind; `cargo xtask nightly` runs it"]
fn instructions_are_counted_by_valgrind_where_it_is_installed() {
    let scratch = scratch("valgrind");
    let mixed = compare(&scratch, &["--metric", "valgrind:instructions", "--metric", "wall", "--aa", "true"]);
    assert!(
        stderr(&mixed).contains("under valgrind a run is another one: measure wall by itself"),
        "{}",
        stderr(&mixed)
    );
    let (a, b) = ("head -c 100000 /dev/zero", "sh -c 'head -c 100000 /dev/zero | od -An -v | wc -l'");
    let output =
        compare(&scratch, &["--format", "json", "--metric", "valgrind:instructions", "--a", a, "--b", b]);
    if output.status.code() == Some(2) {
        assert!(stderr(&output).contains("apt-get install valgrind"), "{}", stderr(&output));
        return;
    }
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["verdict"], "worse", "{told:#}");
    assert!(told["pairs"].as_u64().is_some_and(|pairs| pairs <= 12), "{told:#}");
    // Of its children, too.
    assert!(told["effect"].as_f64().unwrap() > 2.0, "{told:#}");
}
