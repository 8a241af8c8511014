//! What is too long for every push: the ignored tests (larger packages, exhaustive tables, a PostgreSQL that is built and
//! run), the A64 prefilter on every word, and the fuzz targets. One command does it all on a fresh machine: the
//! distribution's tools are installed first, and what only a person can install is named at the start and again at the end.

use crate::repository;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// The fuzz targets.
const TARGETS: [&str; 4] = ["check", "package", "patch", "report"];
/// Bytes at most of an input to the fuzz target.
const LONGEST_INPUT: usize = 256 << 10;

/// Runs everything; the fuzz targets for so many seconds together.
pub fn run(seconds: u32) -> Result<(), String> {
    let mut faults = Vec::new();
    let missing = missing_for_fuzzing();
    if let Some(missing) = missing {
        let fault = format!("nightly: fuzzing will be left out: {missing}");
        println!("{fault}");
        faults.push(fault);
    }
    if missing.is_none() {
        match seed_corpus() {
            Ok(seeds) => println!("nightly: {seeds} seeds for the fuzz targets"),
            Err(error) => faults.push(format!("nightly: the fuzz targets' seeds: {error}")),
        }
    }
    let mut step = |what: &str, command: &mut Command| {
        println!("nightly: {what}");
        match command.current_dir(repository()).status() {
            Ok(status) if status.success() => {}
            Ok(status) => faults.push(format!("nightly: {what}: {status}")),
            Err(error) => faults.push(format!("nightly: {what}: {error}")),
        }
    };
    step("the tools that the tests drive", Command::new("scripts/install-tools").arg("nightly"));
    let tests = ["test", "--workspace", "--", "--ignored", "--nocapture"];
    step("the ignored tests", Command::new(env!("CARGO")).args(tests));
    let prefilter = ["run", "--release", "-p", "deburr-core", "--example", "prefilter_aarch64"];
    step(
        "the prefilter of A64 against the decoder, for every word",
        Command::new(env!("CARGO")).args(prefilter),
    );
    if missing.is_none() {
        for target in TARGETS {
            let mut fuzz = Command::new("cargo");
            fuzz.args(["+nightly", "fuzz", "run", target, "--", "-rss_limit_mb=2048", "-timeout=20"]);
            fuzz.args([
                format!("-max_len={LONGEST_INPUT}"),
                format!("-max_total_time={}", seconds / TARGETS.len() as u32),
            ]);
            step(&format!("the fuzz target {target}"), &mut fuzz);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What this machine lacks for `cargo fuzz`.
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

/// Puts the fixtures of the package reader into the corpus of its target. Returns how many there are.
fn seed_packages() -> io::Result<usize> {
    let corpus = repository().join("fuzz/corpus/package");
    fs::create_dir_all(&corpus)?;
    let mut seeds = 0;
    for file in fs::read_dir(repository().join("crates/deburr-package/fixtures"))? {
        let file = file?;
        fs::copy(file.path(), corpus.join(file.file_name()))?;
        seeds += 1;
    }
    Ok(seeds)
}

/// Puts shared libraries with something to rewrite into the corpus of the patch target: fixtures, linked. Returns how many
/// there are.
fn seed_patches() -> io::Result<usize> {
    let corpus = repository().join("fuzz/corpus/patch");
    fs::create_dir_all(&corpus)?;
    let mut seeds = 0;
    for rule in ["llsc_loop", "outlined_atomic", "yield_in_spin_loop", "barrier_around_atomic"] {
        for file in fs::read_dir(repository().join("crates/deburr-core/fixtures").join(rule))? {
            let object = file?.path();
            if object.extension().is_none_or(|extension| extension != "o") {
                continue;
            }
            let linked = corpus.join("linked.so");
            let mut linker = Command::new("aarch64-linux-gnu-ld");
            linker.args(["-shared", "-o"]).args([&linked, &object]);
            // A fixture of another instruction set, or one that does not link, is no seed.
            if linker.output()?.status.success() {
                seeds += seed(&corpus, &linked, &object)?;
                fs::remove_file(&linked)?;
            }
        }
    }
    Ok(seeds)
}

/// Puts reports of benchmark programs into the corpus of their target, each for either choice. Returns how many there are.
fn seed_reports() -> io::Result<usize> {
    let corpus = repository().join("fuzz/corpus/report");
    fs::create_dir_all(&corpus)?;
    let mut seeds = 0;
    for file in fs::read_dir(repository().join("crates/deburr-lab/tests/reports"))? {
        let file = file?.path();
        seeds += seed(&corpus, &file, &file)?;
    }
    Ok(seeds)
}

/// Puts small real files into the fuzz targets' corpora. For `check`: the rules' fixtures, which are objects, and two of this machine's
/// programs, which are linked. Each goes in once for either choice that the first byte makes. Returns how many there are.
fn seed_corpus() -> io::Result<usize> {
    let corpus = repository().join("fuzz/corpus/check");
    fs::create_dir_all(&corpus)?;
    let mut files = vec![PathBuf::from("/usr/bin/true"), PathBuf::from("/usr/bin/env")];
    for rule in fs::read_dir(repository().join("crates/deburr-core/fixtures"))? {
        for file in fs::read_dir(rule?.path())? {
            let file = file?.path();
            if file.extension().is_some_and(|extension| extension == "o") {
                files.push(file);
            }
        }
    }
    let mut seeds = seed_packages()? + seed_patches()? + seed_reports()?;
    for file in files {
        seeds += seed(&corpus, &file, &file)?;
    }
    Ok(seeds)
}

/// Puts one file in, if it is there and short enough, under the name of another.
fn seed(corpus: &Path, file: &Path, named: &Path) -> io::Result<usize> {
    let Ok(bytes) = fs::read(file) else { return Ok(0) };
    if bytes.len() >= LONGEST_INPUT {
        return Ok(0);
    }
    let name: Vec<_> = named.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    for choice in [0u8, 1] {
        let input = [std::slice::from_ref(&choice), &bytes].concat();
        fs::write(corpus.join(format!("seed-{}-{choice}", name.join("-"))), input)?;
    }
    Ok(2)
}
