//! Records that say under which conditions they came about: older ones, stolen time, and what running first
//! does.

use super::{compare, document, scratch, stderr, stdout};
use serde_json::{Value, json};
use std::fs;

/// Records as an earlier version wrote them, with the order of each pair drawn by itself.
const LOOP: &[u8] = include_bytes!("../../data/old-loop.jsonl");
const ORDER: &[u8] = include_bytes!("../../data/old-order.jsonl");

/// A record as it would be if nothing else had run on the machine.
fn without_others(record: &[u8]) -> String {
    let mut lines = Vec::new();
    for line in std::str::from_utf8(record).unwrap().lines() {
        let mut run: Value = serde_json::from_str(line).unwrap();
        if !run["busy"].is_null() {
            let [user, system] = ["user", "system"].map(|time| run["usage"][time].as_f64().unwrap());
            run["busy"] = json!(user + system);
        }
        lines.push(run.to_string());
    }
    lines.join("\n") + "\n"
}

#[test]
fn records_of_an_earlier_version_are_judged_by_the_rules_of_this_one() {
    let scratch = scratch("older");
    scratch.file("loaded", ORDER);
    scratch.file("loop", without_others(LOOP).as_bytes());
    scratch.file("order", without_others(ORDER).as_bytes());
    // Both processors were busy all the time, and the runs waited for something.
    let told = document(&scratch, &["loaded", "--region", "0.1"]);
    assert_eq!((&told["verdict"], &told["interval"]), (&"inconclusive".into(), &Value::Null));
    assert!(told["warnings"].to_string().contains("100 % of the pairs ran during foreign load"), "{told:#}");

    let told = document(&scratch, &["loop"]);
    assert_eq!((&told["verdict"], &told["pairs"]), (&"inconclusive".into(), &16.into()));
    assert_eq!(told["other_metrics"][0]["metric"]["name"], "user");
    assert_eq!((&told["confidence"], &told["interval_pairs"]), (&json!(0.9), &16.into()), "{told:#}");

    let told = document(&scratch, &["order", "--region", "0.1"]);
    assert_eq!(told["position"]["first"], json!({"a": 15, "b": 9}));
    let [effect, p] = ["effect", "p"].map(|name| told["position"][name].as_f64().unwrap());
    assert!((-0.07..-0.05).contains(&effect) && p < 1e-4, "{told:#}");
    let warnings = told["warnings"].to_string();
    assert!(warnings.contains("the second run of a pair is better by 6."), "{warnings}");
    // What running first does cannot decide, although it moves the pairs by more than 1 %.
    let end = |index: usize| told["interval"][index].as_f64().unwrap();
    assert!(end(0) < 0.0 && end(1) > 0.01 && told["verdict"] == "inconclusive", "{told:#}");
    let text = stdout(&compare(&scratch, &["order"]));
    assert!(
        text.contains("order       A first in 15 of 24 pairs; the first run of a pair against the second −"),
        "{text}"
    );
}

#[test]
fn a_record_of_an_earlier_version_goes_on_in_balanced_blocks() {
    let scratch = scratch("older-resumed");
    let before = without_others(ORDER);
    scratch.file("order", before.as_bytes());
    scratch.file("step.sh", b"sleep 0.01; echo rate = $((10000 + $(od -An -N1 -tu1 /dev/urandom) % 64))\n");
    let arguments = ["--shell", "sh", "--metric", "rate,larger=rate = ([0-9]+)", "--a", "sh step.sh"];
    let arguments =
        [&arguments[..], &["--b", "sh step.sh # again", "--resume=order", "--pairs", "40"]].concat();
    let told = document(&scratch, &arguments);
    let text = fs::read_to_string(scratch.join("order")).unwrap();
    assert!(text.starts_with(&before));
    assert_eq!(told["seed"], 17);
    let added = text.lines().skip(1 + 50).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut firsts: Vec<(u64, String)> = added
        .filter(|run| run["is_first"] == true && run["is_warm_up"] == false)
        .map(|run| (run["pair"].as_u64().unwrap(), run["side"].as_str().unwrap().to_owned()))
        .collect();
    // A pair that something disturbed is measured again, in the same order.
    firsts.dedup();
    let pairs: Vec<u64> = firsts.iter().map(|(pair, _)| *pair).collect();
    assert_eq!(pairs, (24..24 + pairs.len() as u64).collect::<Vec<u64>>());
    for block in firsts.chunks_exact(4) {
        assert_eq!(block.iter().filter(|(_, side)| side == "a").count(), 2, "{firsts:?}");
    }
}

/// A record of 24 pairs of a program that computes for half a second in A and 2 % longer in B, while a
/// hypervisor takes a third of A's time and a quarter of B's.
fn robbed(metrics: &[&str], first_of_all: bool) -> String {
    let names: Vec<[&str; 2]> = metrics.iter().map(|name| [*name; 2]).collect();
    let header = json!({
        "format": 1, "tool": "deburr 0.1.0", "commands": ["./old", "./new"], "seed": 1, "metrics": names,
        "cores": 2, "pairs": 24, "options": {"shell": "none"},
    });
    let mut lines = vec![header.to_string()];
    for pair in 0..24u32 {
        for (side, work, share) in [("a", 0.5, 0.33), ("b", 0.51, 0.24)] {
            let own = work * (1.0 + 0.001 * f64::from(pair * 7 % 5));
            let wall = own / (1.0 - share * (0.9 + 0.01 * f64::from(pair * 11 % 20)));
            let is_first = (pair % 2 == 0 || first_of_all) == (side == "a");
            lines.push(
                json!({
                    "pair": pair, "attempt": 0, "side": side, "is_first": is_first, "is_warm_up": false, "began": 1.7e9,
                    "waited": 0.0, "end": {"status": 0}, "busy": own, "stolen": wall - own, "fault": null,
                    "usage": {"wall": wall, "user": own, "system": 0.0, "peak_memory": 1, "voluntary_switches": 0,
                              "involuntary_switches": 0},
                    "metrics": {"wall": wall, "user": own},
                })
                .to_string(),
            );
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn what_a_hypervisor_took_decides_nothing_and_cpu_time_still_does() {
    let scratch = scratch("robbed");
    scratch.file("wall", robbed(&["wall", "user"], false).as_bytes());
    scratch.file("user", robbed(&["user"], false).as_bytes());
    let told = document(&scratch, &["wall"]);
    assert_eq!((&told["verdict"], &told["interval"]), (&"inconclusive".into(), &Value::Null), "{told:#}");
    assert_eq!(told["steal"]["pairs"], 24);
    let share = |side: &str| (told["steal"][side].as_f64().unwrap() * 100.0).round();
    assert_eq!((share("a"), share("b")), (33.0, 24.0));
    let text = stdout(&compare(&scratch, &["wall"]));
    for expected in [
        "warning: no verdict: in 100 % of the pairs a hypervisor took the processor away, which decides here more than the builds do; \
         `--metric cpu` counts only the time that the program itself computed",
        "(33 % of A's time, 24 % of B's)",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    // Of the CPU time nothing is missing.
    assert_eq!(told["other_metrics"][0]["verdict"], "worse");
    let told = document(&scratch, &["user"]);
    assert_eq!((&told["verdict"], &told["steal"]["pairs"]), (&"worse".into(), &0.into()), "{told:#}");
}

#[test]
fn a_side_that_always_ran_first_gets_no_verdict() {
    let scratch = scratch("always-first");
    scratch.file("user", robbed(&["user"], true).as_bytes());
    let told = document(&scratch, &["user"]);
    assert_eq!((&told["verdict"], &told["position"]["effect"]), (&"inconclusive".into(), &Value::Null));
    assert!(told["warnings"].to_string().contains("no verdict: A ran first in 24 of 24 pairs"), "{told:#}");
}

#[test]
fn what_a_hostile_record_says_of_stolen_time_is_no_reason_to_panic() {
    let scratch = scratch("hostile-steal");
    let record = robbed(&["wall"], false);
    for (stolen, verdict) in [("-3.5", "better"), ("1e308", "better"), ("null", "better")] {
        let lines: Vec<String> = record
            .lines()
            .map(|line| match line.split_once("\"stolen\":") {
                Some((before, behind)) => {
                    let rest = behind.split_once(',').unwrap().1;
                    format!("{before}\"stolen\":{stolen},{rest}")
                }
                None => line.to_owned(),
            })
            .collect();
        scratch.file("changed", (lines.join("\n") + "\n").as_bytes());
        let output = compare(&scratch, &["changed", "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        // Nobody knows that the processor was away, where no run shows what the program takes alone.
        assert_eq!(
            (&told["verdict"], &told["steal"]),
            (&verdict.into(), &json!({"pairs": 0, "a": 0.0, "b": 0.0}))
        );
    }
}
