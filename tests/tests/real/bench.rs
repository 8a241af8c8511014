//! `deburr bench` compared with the same operations written in C, by gcc.

use deburr_tests::command::deburr;
use deburr_tests::toolchain::{compile, repository, run, work_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Nanoseconds of an operation, by kernel and variant, with one thread. The least of several runs: what else the machine does
/// only ever adds to it.
fn measured(times: &mut BTreeMap<(String, String), f64>) {
    let mut bench = Command::new(deburr());
    bench.args(["bench", "atomics", "pause", "--threads", "1", "--sample", "5", "--format", "json"]);
    let record: Value = serde_json::from_str(&run(&mut bench)).expect("a record");
    for point in record["points"].as_array().expect("points") {
        let kernel = point["kernel"].as_str().expect("a name");
        for variant in point["variants"].as_array().expect("variants") {
            // What the CPU lacks did not run.
            let Some(fastest) = variant["measured"]["range"][1].as_f64() else { continue };
            let name = variant["name"].as_str().expect("a name").to_owned();
            let time = times.entry((kernel.to_owned(), name)).or_insert(f64::INFINITY);
            *time = time.min(1e9 / fastest);
        }
    }
}

#[test]
#[ignore = "times code, which takes a quiet machine; `cargo xtask nightly` runs it"]
fn kernels_take_what_the_same_operations_in_c_take() {
    if cfg!(not(target_arch = "x86_64")) {
        panic!("the program in C has names of x86-64");
    }
    let source = fs::read_to_string(repository().join("tests/bench/naive.c")).expect("the source");
    let program = compile(&work_dir("bench-naive"), "naive", ("c", &source), "gcc", &["-O2"]);
    let (mut times, mut in_c) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..3 {
        measured(&mut times);
        for line in run(&mut Command::new(&program)).lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [kernel, variant, time] = fields[..] else { panic!("{line}") };
            let least = in_c.entry((kernel.to_owned(), variant.to_owned())).or_insert(f64::INFINITY);
            *least = time.parse::<f64>().expect("a number").min(*least);
        }
    }
    assert_eq!(in_c.len(), 9);
    let mut apart = Vec::new();
    for (name, in_c) in in_c {
        let ratio = times[&name] / in_c;
        println!("{}, {}: {:.2} ns, {in_c:.2} ns in C: {ratio:.3}", name.0, name.1, times[&name]);
        if !(0.9..1.1).contains(&ratio) {
            apart.push((name, ratio));
        }
    }
    assert!(apart.is_empty(), "{apart:?}");
}
