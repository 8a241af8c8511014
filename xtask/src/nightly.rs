//! What is too long for every push: the ignored tests (larger packages, ten minutes of `fix` in random surroundings, exhaustive tables,
//! benchstat on random files, pages in a browser, a PostgreSQL that is built and run), the documentation, of the code and by mdBook, the
//! verdicts on every build of tests/reach, the sweeps' prefilters exhaustively, the instructions that a check takes, the kernels of AArch64
//! under the emulator, families of growing files, what packagers use, verdicts beside loads, the survey of released files, and the fuzz targets. One command does it all
//! on a fresh machine: the distribution's tools are installed first, and what only a person can install is named at the start and again at the end.

use crate::book;
use crate::fuzz::{self, TARGETS};
use crate::repository;
use crate::{same, tables};
use std::process::Command;

/// Runs everything; the fuzz targets for so many seconds together.
pub fn run(seconds: u32) -> Result<(), String> {
    let mut faults = Vec::new();
    let missing = fuzz::missing();
    if let Some(missing) = missing {
        let fault = format!("nightly: fuzzing will be left out: {missing}");
        println!("{fault}");
        faults.push(fault);
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
    // No distribution of today has mdBook.
    if book::mdbook().is_none() {
        let mut install = Command::new(env!("CARGO"));
        install.args(["install", "--quiet", "--locked", "mdbook", "--root"]).arg(book::tools());
        step("mdBook", &mut install);
    }
    let mut documentation = Command::new(env!("CARGO"));
    documentation.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    step("the documentation of the code", &mut documentation);
    let tests = ["test", "--workspace", "--", "--ignored", "--nocapture"];
    step("the ignored tests", Command::new(env!("CARGO")).args(tests));
    // A push judges one build of each compiler.
    let mut reach = Command::new(env!("CARGO"));
    reach
        .args(["test", "--workspace", "--test", "real", "--", "reach::"])
        .env("DEBURR_TEST_EVERY_BUILD", "1");
    step("the verdicts on every build of the programs in tests/reach", &mut reach);
    let prefilter = ["run", "--release", "-p", "deburr-core", "--example", "prefilter_aarch64"];
    step(
        "the prefilter of A64 against the decoder, for every word",
        Command::new(env!("CARGO")).args(prefilter),
    );
    println!("nightly: the table of the x86-64 sweep");
    let table = tables::run(false);
    let prefilter = ["run", "--release", "-p", "deburr-core", "--example", "prefilter_x86_64", "--"];
    let mut exhaustive = Command::new(env!("CARGO"));
    step(
        "the prefilter of x86-64 against the decoder, for all that can be made up",
        exhaustive.args(prefilter),
    );
    let mut files = Command::new(env!("CARGO"));
    files.args(prefilter).args(same::programs_of_this_machine().unwrap_or_default());
    step("the same from every byte of this machine's programs", &mut files);
    for cpu in ["max", "cortex-a53"] {
        let mut kernels = Command::new("scripts/cargo-arm64");
        kernels
            .args(["test", "-q", "-p", "deburr-lab", "--lib", "--", "bench::", "kernel::"])
            .env("QEMU_CPU", cpu);
        step(&format!("the kernels of AArch64 on an emulated {cpu}"), &mut kernels);
    }
    step("the tests of the command for AArch64, emulated", &mut Command::new("scripts/test-arm64"));
    step("the instructions that a check takes", Command::new(env!("CARGO")).args(["xtask", "instructions"]));
    let build = ["build", "--release", "-p", "deburr"];
    step("deburr, for the families", Command::new(env!("CARGO")).args(build));
    step("how the cost of a check grows with a file", &mut Command::new("scripts/families"));
    step("the Python module, compared with the command", &mut Command::new("scripts/test-python"));
    // A package server that does not answer is a fault that says so: the survey's status is 2 then, and never that of a pass.
    step(
        "packages by debhelper and rpm, and rules for SELinux and AppArmor",
        &mut Command::new("scripts/test-packaging"),
    );
    let build = ["build", "--release", "-p", "deburr"];
    step("deburr, for the survey", Command::new(env!("CARGO")).args(build));
    step(
        "verdicts of compare beside loads: ten minutes of a drawn order",
        Command::new("scripts/loaded").args(["run", "--seconds", "600"]),
    );
    let survey = ["--sample", "fresh", "--compare"];
    step(
        "the survey of released files, compared with its frozen figures",
        Command::new("scripts/survey").args(survey),
    );
    // By the Python that the tests of the module installed, which has duckdb.
    step(
        "a sample of the packages of the census, compared with what it found",
        Command::new("target/python-tools/bin/python").args(["scripts/census", "sample", "--seed", "1"]),
    );
    step(
        "the files of public reports, none of which may die and be answered as running",
        Command::new("scripts/reports").arg("--compare"),
    );
    faults.extend(table.err());
    // How far coverage grows from the committed inputs shows whether more of them are worth finding.
    let targets = if missing.is_none() { &TARGETS[..] } else { &[] };
    for target in targets {
        println!("nightly: the fuzz target {target}");
        match fuzz::run_committed(target, seconds / TARGETS.len() as u32) {
            Ok(outcome) => println!("nightly: {}", outcome.line(target)),
            Err(fault) => faults.push(format!("nightly: {fault}")),
        }
    }
    match crate::advisories::age() {
        Ok(age) => println!("nightly: {age}"),
        Err(fault) => faults.push(fault),
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}
