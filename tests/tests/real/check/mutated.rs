//! Damaged copies of real programs: each is refused or checked, without a panic, in bounded time and memory.

use deburr_core::image::{Image, Linkage};
use deburr_core::{Request, check};
use deburr_tests::catalogue::c_source;
use deburr_tests::command::deburr;
use deburr_tests::mutation::mutate;
use deburr_tests::toolchain::{compile, require, run, stripped, work_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How many damaged copies of each file.
const COPIES: u64 = 91;
/// For one small file, on a busy machine, without optimisation.
const TIME_LIMIT: Duration = Duration::from_secs(20);

const CPP: &str = r#"
#include <stdexcept>
#include <string>
#include <vector>
static int may_throw(int n) { if (n > 3) throw std::runtime_error("no"); return n; }
int sum(const std::vector<int> &v) { int s = 0; for (int x : v) { try { s += may_throw(x); } catch (const std::exception &) { s--; } } return s; }
int main(int c, char **) { return sum(std::vector<int>(c, c)); }
"#;

fn go_program(dir: &Path) -> PathBuf {
    require("go");
    fs::write(dir.join("main.go"), "package main\n\nfunc main() { println(len(\"go\")) }\n")
        .expect("a writable folder");
    fs::write(dir.join("go.mod"), "module small\n\ngo 1.19\n").expect("a writable folder");
    run(Command::new("go").current_dir(dir).args(["build", "-o", "small", "-ldflags=-s -w"]).envs([
        ("GOARCH", "arm64"),
        ("GOOS", "linux"),
        ("CGO_ENABLED", "0"),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
    ]));
    dir.join("small")
}

/// Small real files of every kind that deburr reads.
fn originals(dir: &Path) -> Vec<PathBuf> {
    let source = c_source(false);
    let gcc = "aarch64-linux-gnu-gcc";
    let arm = compile(dir, "arm", ("c", &source), gcc, &["-g", "-O2", "-mno-outline-atomics"]);
    let object = compile(dir, "object.o", ("c", &source), gcc, &["-O1", "-moutline-atomics", "-c"]);
    let archive = dir.join("archive.a");
    run(Command::new("ar").arg("rcs").arg(&archive).arg(&object));
    vec![
        stripped("aarch64-linux-gnu-strip", &arm),
        arm,
        object,
        compile(dir, "host", ("cpp", CPP), "g++", &["-g", "-O2"]),
        compile(dir, "shared.so", ("cpp", CPP), "g++", &["-O2", "-shared", "-fPIC"]),
        go_program(dir),
        archive,
    ]
}

fn mutated(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for original in originals(dir) {
        let bytes = fs::read(&original).expect("the program just made");
        let name = original.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for seed in 0..COPIES {
            let (what, damaged) = mutate(&bytes, seed);
            all.push((format!("{name}-{seed}: {what}"), damaged));
        }
    }
    all
}

/// Of the damaged files, one in so many is checked on each push.
const SAMPLED: usize = 16;

#[test]
fn no_damage_in_a_sample_makes_the_library_panic_or_hang() {
    let mutations = mutated(&work_dir("mutated-sample")).into_iter().step_by(SAMPLED).collect();
    hold(mutations);
}

#[test]
#[ignore = "minutes; `cargo xtask nightly` runs it"]
fn no_damage_makes_the_library_panic_or_hang() {
    hold(mutated(&work_dir("mutated-library")));
}

/// Checks damaged files, each within its time.
fn hold(mutations: Vec<(String, Vec<u8>)>) {
    let total = mutations.len();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for (what, bytes) in mutations {
            let outcome = std::panic::catch_unwind(|| {
                if let Ok(image) = Image::parse(&bytes, Some(&bytes)) {
                    let _ = Linkage::parse(&image);
                }
                check(&bytes, &Request::default()).is_ok()
            });
            if send.send((what, outcome.is_err())).is_err() {
                return;
            }
        }
    });
    let (mut panicked, mut last) = (Vec::new(), String::from("the first"));
    for done in 0..total {
        match receive.recv_timeout(TIME_LIMIT) {
            Ok((what, panic)) => {
                if panic {
                    panicked.push(what.clone());
                }
                last = what;
            }
            Err(_) => panic!("{done} of {total} done: more than {TIME_LIMIT:?} for the file after {last}"),
        }
    }
    assert!(panicked.is_empty(), "{} of {total} panic: {panicked:#?}", panicked.len());
}

/// The same files as one batch, as the command reads them, with its address space bounded.
#[test]
#[ignore = "minutes; `cargo xtask nightly` runs it"]
fn the_command_checks_a_batch_of_damaged_files_to_its_end_within_bounded_memory() {
    let dir = work_dir("mutated-command");
    let (made, batch) = (dir.join("made"), dir.join("batch"));
    for folder in [&made, &batch] {
        fs::create_dir(folder).expect("a writable folder");
    }
    let mut written = 0;
    for (what, bytes) in mutated(&made) {
        let name = what.split(':').next().unwrap_or_default();
        fs::write(batch.join(name), bytes).expect("a writable folder");
        written += 1;
    }
    let program = deburr();
    let started = Instant::now();
    // 1 GiB of address space: the bound of 1.5 times the file + 64 MB, and the stacks and arenas of the threads.
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 1048576; ulimit -t 600; exec \"$0\" check \"$1\" --format json"])
        .arg(program)
        .arg(&batch)
        .output()
        .expect("sh");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0..=2)), "{}: {errors}", output.status);
    assert!(!errors.contains("panicked"), "{errors}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON to the end");
    let count = |list: &str| report[list].as_array().map_or(0, Vec::len);
    println!(
        "{written} files: {} checked, {} skipped, {:?}",
        count("files"),
        count("skipped"),
        started.elapsed()
    );
    assert!(count("files") > written / 4, "most damage is small: {} of {written} checked", count("files"));
}

#[test]
fn the_damage_is_the_same_on_every_run() {
    let bytes: Vec<u8> = (0..4096u32).map(|n| n as u8).collect();
    assert!((0..40).all(|seed| mutate(&bytes, seed) == mutate(&bytes, seed)));
}
