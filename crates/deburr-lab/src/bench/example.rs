//! Records for tests, of what was measured nowhere.

use super::record::BenchRecord;
use serde_json::{Value, json};

/// A variant that took so long, or did not run.
pub(super) fn variant(name: &str, ns: Option<f64>, outcome: Option<&str>) -> Value {
    let measured = ns.map(|ns| {
        json!({
            "rounds": 10, "rate": 1e9 / ns, "range": [1e9 / ns, 1e9 / ns], "ns": ns, "thread_rates": [1e9 / ns],
            "fairness": 1.0, "longest_wait_ns": ns, "wait_operations": 1, "preempted": 0,
        })
    });
    let verdict = outcome.map(|outcome| json!({"outcome": outcome, "slowdown": 2.0, "interval": null}));
    json!({"name": name, "lacks": [], "measured": measured, "verdict": verdict})
}

/// A kernel with so many threads.
pub(super) fn point((kernel, threads): (&str, usize), think: &str, variants: &[Value]) -> Value {
    json!({
        "suite": "atomics", "kernel": kernel, "placement": "same-word", "think": think,
        "processors": (0..threads).collect::<Vec<usize>>(), "variants": variants,
    })
}

/// The record of these points.
pub(super) fn record(points: &[Value]) -> BenchRecord {
    let machine = json!({
        "cpu": "a", "arch": "x86_64", "level": "x86-64-v1", "microcode": null, "kernel": null, "governor": null,
        "smt": null, "virtualised": null, "processors": 2,
    });
    let record = json!({
        "schema_version": 1, "tool_version": "0", "machine": machine, "loop_ns": 0.5, "clock_ns": 20.0,
        "sample_ms": 1.0, "region": 0.03, "is_interrupted": false, "points": points,
    });
    BenchRecord::parse(&record.to_string()).unwrap()
}
