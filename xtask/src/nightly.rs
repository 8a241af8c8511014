//! What is too long for every push: the ignored tests (larger packages, exhaustive tables), the A64 prefilter on every
//! word, and the fuzz target.

use crate::repository;
use std::process::Command;

/// Runs everything; the fuzz target for so many seconds.
pub fn run(seconds: u32) -> Result<(), String> {
    let mut faults = Vec::new();
    let mut step = |what: &str, command: &mut Command| {
        println!("nightly: {what}");
        match command.current_dir(repository()).status() {
            Ok(status) if status.success() => {}
            Ok(status) => faults.push(format!("nightly: {what}: {status}")),
            Err(error) => faults.push(format!("nightly: {what}: {error}")),
        }
    };
    step(
        "the ignored tests",
        Command::new(env!("CARGO")).args([
            "test",
            "--release",
            "--workspace",
            "--",
            "--ignored",
            "--nocapture",
        ]),
    );
    step(
        "the prefilter of A64 against the decoder, for every word",
        Command::new(env!("CARGO")).args([
            "run",
            "--release",
            "-p",
            "deburr-core",
            "--example",
            "prefilter_aarch64",
        ]),
    );
    match missing_for_fuzzing() {
        None => {
            let mut fuzz = Command::new("cargo");
            fuzz.args([
                "+nightly",
                "fuzz",
                "run",
                "check",
                "--",
                "-rss_limit_mb=2048",
                "-timeout=20",
                "-max_len=262144",
            ]);
            step("the fuzz target", fuzz.arg(format!("-max_total_time={seconds}")));
        }
        Some(missing) => faults.push(format!("nightly: fuzzing: {missing}")),
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What stands between this machine and `cargo fuzz`.
fn missing_for_fuzzing() -> Option<&'static str> {
    let works = |arguments: &[&str]| {
        Command::new("cargo").args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !works(&["+nightly", "--version"]) {
        return Some("no nightly toolchain: `rustup toolchain install nightly` brings one");
    }
    if !works(&["+nightly", "fuzz", "--version"]) {
        return Some("no cargo-fuzz: `cargo install cargo-fuzz` brings it");
    }
    None
}
