//! `deburr bench`: what there is to measure, its record, and what cannot be done.

use crate::{deburr, stderr, stdout};
use deburr_test_support::{Scratch, schema_faults};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn all_kernels_are_listed_with_their_variants() {
    let listed = deburr(&["bench", "--list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    let text = stdout(&listed);
    for name in ["atomics", "fetch-add", "failing-compare-and-swap", "pause", "forwarding", "popcount"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let one = stdout(&deburr(&["bench", "--list", "llsc-loop"]));
    assert!(one.contains("fetch-add") && !one.contains("popcount"), "{one}");
}

/// The record of a short run, and of the first processor alone.
#[test]
fn a_record_follows_the_printed_schema_and_its_rates_fit_together() {
    let ran =
        deburr(&["bench", "store", "popcount", "--threads", "1,2", "--sample", "1", "--format", "json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let record: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "bench"]).stdout).unwrap();
    let faults = schema_faults(&schema, &record);
    assert!(faults.is_empty(), "{faults:#?}");
    let points = record["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        let threads = point["processors"].as_array().unwrap().len() as f64;
        for variant in point["variants"].as_array().unwrap() {
            if variant["lacks"].as_array().is_some_and(|lacks| !lacks.is_empty()) {
                assert!(variant["measured"].is_null() && variant["verdict"].is_null());
                continue;
            }
            let rates = &variant["measured"];
            let (rate, ns) = (rates["rate"].as_f64().unwrap(), rates["ns"].as_f64().unwrap());
            assert!((rate * ns / 1e9 / threads - 1.0).abs() < 1e-9, "{variant}");
            assert!(
                rates["range"][0].as_f64().unwrap() <= rate && rate <= rates["range"][1].as_f64().unwrap()
            );
            assert_eq!(rates["thread_rates"].as_array().unwrap().len() as f64, threads);
            assert!((0.0..=1.0).contains(&rates["fairness"].as_f64().unwrap()));
        }
        assert!(point["variants"][0]["verdict"].is_null());
        assert!(point["variants"][1]["verdict"]["slowdown"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_rule_runs_what_belongs_to_it_and_its_page_names_the_command() {
    let ran = deburr(&["bench", "mfence", "--threads", "1", "--sample", "1"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let text = stdout(&ran);
    assert!(text.contains("\nstore") && text.contains(" as long: "), "{text}");
    // What shares no word has lines of its own, whatever the words' place is.
    let apart = ["bench", "forwarding", "--threads", "2", "--words", "same-line", "--sample", "1"];
    assert!(stdout(&deburr(&apart)).contains("\nforwarding (own-line)\n"));
    let crowded = stdout(&deburr(&["bench", "load", "--threads", "3", "--cpus", "0", "--sample", "1"]));
    assert!(crowded.contains("\n           3 threads took turns on 1 processor\n"), "{crowded}");
    assert!(stdout(&deburr(&["explain", "mfence"])).ends_with("\n    deburr bench mfence\n"));
    assert!(!stdout(&deburr(&["explain", "above-baseline"])).contains("deburr bench"));
}

#[test]
fn a_record_is_shown_again_and_set_next_to_another_run() {
    let scratch = Scratch::new("bench-record");
    let ran = deburr(&["bench", "popcount", "--sample", "1", "--format", "json"]);
    let path = scratch.file("machine.json", &ran.stdout);
    let shown = deburr(&["bench", "--show", &path]);
    assert_eq!((shown.status.code(), stderr(&shown).as_str()), (Some(0), ""));
    assert!(stdout(&shown).contains("\npopcount\n"), "{}", stdout(&shown));
    assert_eq!(deburr(&["bench", "--show", &path, "--format", "json"]).stdout, ran.stdout);
    let both = deburr(&["bench", "popcount", "--sample", "1", "--compare-with", &path]);
    let text = stdout(&both);
    assert!(
        text.starts_with("here:  ") && text.contains("\nthere: ") && text.contains("masks and shifts"),
        "{text}"
    );
    let cut = scratch.file("cut.json", &ran.stdout[..ran.stdout.len() / 2]);
    let other = stdout(&ran).replacen("\"schema_version\": 1", "\"schema_version\": 2", 1);
    let other = scratch.file("other.json", other.as_bytes());
    for (path, message) in [
        (&cut, "cut.json: no record of `deburr bench --format json`: EOF"),
        (&other, "other.json: a record of version 2, where this deburr reads version 1"),
        (&scratch.join("none.json").display().to_string(), "none.json: no such file or directory"),
    ] {
        for option in ["--show", "--compare-with"] {
            let refused = deburr(&["bench", option, path]);
            assert_eq!(refused.status.code(), Some(2));
            assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
        }
    }
}

#[test]
fn a_record_is_drawn_tabulated_and_a_page_without_measuring_again() {
    let scratch = Scratch::new("bench-outputs");
    let before = date_now();
    let ran = deburr(&["bench", "store", "--threads", "1,2", "--sample", "1", "--format", "json"]);
    let record: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let measured_at = record["measured_at"].as_str().unwrap();
    assert!(before.as_str() <= measured_at && measured_at <= date_now().as_str(), "{before} {measured_at}");
    let path = scratch.file("machine.json", &ran.stdout);
    let table = stdout(&deburr(&["bench", "--show", &path, "--format", "csv"]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0], "source_date,machine,threads,iterations_per_thread,op,build,real_s,cpu_user_s",
        "{table}"
    );
    assert!(lines[1].starts_with(measured_at) && lines[1].ends_with(",STORE,xchg,0.001,"), "{table}");
    let drawn = deburr(&["bench", "--show", &path, "--chart"]);
    let text = stdout(&drawn);
    assert!(text.starts_with(&stdout(&deburr(&["bench", "--show", &path]))), "{text}");
    let (_, chart) = text.split_once("store (same-word): operations per second of all threads\n").unwrap();
    assert!(!text.contains('\u{1b}') && chart.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = scratch.join("page.html");
    let shown = deburr(&["bench", "--show", &path, "--html", &page.display().to_string()]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    assert!(stdout(&shown).contains("\nstore"), "{}", stdout(&shown));
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!DOCTYPE html>") && written.contains(measured_at), "{written}");
    // A page on the standard output has it for itself.
    let alone = deburr(&["bench", "--show", &path, "--html", "-"]);
    assert_eq!(stdout(&alone), written);
    assert!(stderr(&alone).contains("\nstore"), "{}", stderr(&alone));
    for (arguments, message) in [
        (&["--html", &path][..], "it is read by this run, and would be lost"),
        (&["--chart", "--format", "csv"], "--chart: only --format text has that"),
        (&["--chart", "--format", "json"], "--chart: only --format text has that"),
    ] {
        let refused = deburr(&[&["bench", "--show", &path], arguments].concat());
        assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
    }
}

/// As the system's own program has it.
fn date_now() -> String {
    let date = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    stdout(&date).trim().to_owned()
}

#[test]
fn what_cannot_be_measured_is_said() {
    for (arguments, message) in [
        (&["fetch-ad"][..], "no kernel, suite or rule is called `fetch-ad`; did you mean `fetch-add`?"),
        (&["above-baseline"], "above-baseline: no kernel measures what this rule finds"),
        (&["--cpus", "9999", "store"], "9999"),
        (&["--threads", "0", "store"], "0"),
        (&["--threads", "2000", "store"], "2000"),
        (&["--sample", "0", "store"], "0"),
        (&["--sample", "2001", "store"], "2001"),
        (&["--region", "-1", "store"], "-1"),
    ] {
        let refused = deburr(&[&["bench"], arguments].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}", stdout(&refused));
        assert!(stderr(&refused).contains(message), "{arguments:?}: {}", stderr(&refused));
        assert_eq!(stdout(&refused), "", "{arguments:?}");
    }
}

/// The example has one and two threads.
#[test]
fn what_more_threads_would_get_is_predicted_apart_from_what_was_measured() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render/bench/example.json");
    let path = path.display().to_string();
    let ran = deburr(&["bench", "--show", &path, "--predict", "64,1,64", "--format", "json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "bench"]).stdout).unwrap();
    let faults = schema_faults(&schema, &document);
    assert!(faults.is_empty(), "{faults:#?}");
    let shown = deburr(&["bench", "--show", &path, "--format", "json"]);
    let measured: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert!(measured.get("forecast").is_none());
    assert_eq!(document["points"], measured["points"]);
    assert_eq!(document["forecast"]["preview"], true);
    let predicted = document["forecast"]["points"].as_array().unwrap();
    let threads: Vec<u64> = predicted.iter().map(|point| point["threads"].as_u64().unwrap()).collect();
    assert_eq!(threads, [1, 64, 1, 64]);
    assert!(predicted.iter().all(|point| point["kind"] == "predicted"));
    // A document with a forecast is a record, too, and predicts the same again.
    let scratch = Scratch::new("bench-predicted");
    let again = scratch.file("predicted.json", &ran.stdout);
    assert_eq!(
        deburr(&["bench", "--show", &again, "--predict", "1,64", "--format", "json"]).stdout,
        ran.stdout
    );
    let text = stdout(&deburr(&["bench", "--show", &path, "--predict", "64"]));
    assert!(
        text.contains("\nPredicted, not measured, in preview, ")
            && text.contains("\nfetch-add (predicted)\n"),
        "{text}"
    );
    assert!(
        text.lines().filter(|line| line.starts_with("       64 ")).all(|line| line.contains(" predicted ")),
        "{text}"
    );
}

#[test]
fn what_cannot_be_predicted_is_said_after_what_was_measured() {
    let scratch = Scratch::new("bench-not-predicted");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render/bench/example.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    record["points"].as_array_mut().unwrap().pop();
    let path = scratch.file("one.json", record.to_string().as_bytes());
    for format in ["text", "json"] {
        let refused = deburr(&["bench", "--show", &path, "--predict", "64", "--format", format]);
        assert_eq!(refused.status.code(), Some(2));
        let shown = deburr(&["bench", "--show", &path, "--format", format]);
        assert_eq!(stdout(&refused), stdout(&shown));
        let message = stderr(&refused);
        assert!(message.contains("--predict: nothing to predict from: "), "{message}");
        assert!(
            message.contains("run `deburr bench atomics --threads 1,2,4 --format json` on that machine"),
            "{message}"
        );
    }
    for wrong in ["0", "1025", "-1", "many", "1000000"] {
        let refused = deburr(&["bench", "--show", &path, "--predict", wrong]);
        assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(2), ""), "{wrong}");
    }
}

#[test]
fn who_interrupts_it_gets_what_was_measured() {
    let mut command = Command::new(crate::program());
    command.args(["bench", "pause", "load", "--sample", "2000", "--threads", "1", "--format", "json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let begun = Instant::now();
    while !catches_interrupts(&fs::read_to_string(&status).unwrap()) {
        assert!(begun.elapsed() < Duration::from_secs(300), "it never begins");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", stderr(&ended));
    let record: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(record["is_interrupted"], true);
}

/// Whether a process has a handler of SIGINT, by its `/proc/PID/status`.
fn catches_interrupts(status: &str) -> bool {
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

/// A record in which `mov and mfence` takes 20 ns and `xchg` 5.
fn machine(scratch: &Scratch, arch: &str) -> String {
    let variant = |name: &str, ns: f64| {
        serde_json::json!({
            "name": name, "lacks": [], "verdict": null,
            "measured": {
                "rounds": 10, "rate": 1e9 / ns, "range": [1e9 / ns, 1e9 / ns], "ns": ns, "thread_rates": [1e9 / ns],
                "fairness": 1.0, "longest_wait_ns": ns, "wait_operations": 1, "preempted": 0,
            },
        })
    };
    let point = |threads: usize, slower: f64| {
        serde_json::json!({
            "suite": "atomics", "kernel": "store", "placement": "same-word", "processors": vec![0; threads],
            "variants": [variant("xchg", 5.0), variant("mov and mfence", slower)],
        })
    };
    let record = serde_json::json!({
        "schema_version": 1, "tool_version": "0", "loop_ns": 0.5, "clock_ns": 20.0, "sample_ms": 1.0, "region": 0.03,
        "is_interrupted": false,
        "machine": {
            "cpu": "a", "arch": arch, "level": "x86-64-v1", "microcode": null, "kernel": null, "governor": null,
            "smt": null, "virtualised": null, "processors": 2,
        },
        "points": [point(1, 20.0), point(8, 105.0)],
    });
    let path = scratch.join(format!("{arch}.json"));
    std::fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn findings_are_in_the_order_of_what_they_cost_on_the_machine_of_a_record() {
    let scratch = Scratch::new("measured");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-core/fixtures/mfence/hit-store.o");
    let check = |arch: &str, format: &str| {
        let record = machine(&scratch, arch);
        deburr(&["check", "--preview", "--measured", &record, "--format", format, folder])
    };
    let text = stdout(&check("x86_64", "text"));
    let said = ", each 15.0 ns alone, 100 ns with 8 threads more than xchg";
    assert!(text.contains(said), "{text}");
    let document: Value = serde_json::from_slice(&check("x86_64", "json").stdout).unwrap();
    let schema: Value = serde_json::from_slice(&deburr(&["schema"]).stdout).unwrap();
    let faults = schema_faults(&schema, &document);
    assert!(faults.is_empty(), "{faults:#?}");
    let file = &document["files"][0];
    let cost = &file["costs"]["mfence"]["by_threads"];
    assert_eq!(
        (&cost[0]["picoseconds"], &cost[1]["picoseconds"]),
        (&15_000.into(), &100_000.into()),
        "{file}"
    );
    assert_eq!(file["findings"][0]["rule"], "mfence");

    let other = stdout(&check("aarch64", "text"));
    assert!(other.contains(", not measured"), "{other}");
    let plain = stdout(&deburr(&["check", "--preview", "--format", "json", folder]));
    assert!(!plain.contains("\"costs\""), "{plain}");
    let missing = deburr(&["check", "--measured", "/no/such.json", folder]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("/no/such.json"), "{}", stderr(&missing));
}

#[test]
fn a_lock_is_measured_by_its_length_and_by_the_time_between_two_operations() {
    let ran = deburr(&[
        "bench",
        "lock",
        "--threads",
        "2",
        "--sample",
        "1",
        "--section",
        "0,100",
        "--think",
        "none,exponential:50",
        "--format",
        "json",
    ]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let record: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let points = record["points"].as_array().unwrap();
    let settings: Vec<(f64, &str)> = points
        .iter()
        .map(|point| (point["section_ns"].as_f64().unwrap(), point["think"].as_str().unwrap()))
        .collect();
    let expected = [0.0, 100.0].map(|section| ["none", "exponential:50"].map(|think| (section, think)));
    assert_eq!(settings, expected.concat());
    for point in points {
        for variant in point["variants"].as_array().unwrap().iter().filter(|it| !it["measured"].is_null()) {
            assert!(variant["measured"]["run_length"].as_f64().unwrap() >= 1.0, "{variant}");
        }
    }
    // Two threads that take turns inside for 100 ns each need 100 ns an operation together: 1e7 a second, and twice that if both were
    // inside at once. Next to other tests a section may be calibrated a fifth too short.
    let rate = |at: usize| points[at]["variants"][0]["measured"]["rate"].as_f64().unwrap();
    assert!(rate(2) < 1.6e7, "{}", rate(2));
    for wrong in ["fixed", "some:3", "exponential:0", "fixed:99999"] {
        let refused = deburr(&["bench", "lock", "--think", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{wrong}");
        assert!(
            stderr(&refused).contains("expected none, fixed:NS or exponential:NS"),
            "{}",
            stderr(&refused)
        );
    }
}
