//! The launcher of AArch64 and the `execve` that it does, under qemu-user.
//!
//! Where the kernel lets a namespace have an interpreter of its own for AArch64, the variant really runs. Where it does not,
//! the same tests look at the system call itself, which strace sees: path, arguments and environment.

use crate::tree::{Tree, complaints, fields, program, write_program};
use deburr_test_support::{Scratch, emulating};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const LEVELS: [&str; 3] = ["armv8.0-a", "armv8.1-a", "armv8.2-a"];
/// CPUs of qemu, and the level that each gets.
const CPUS: [(&str, usize); 3] = [("cortex-a53", 0), ("neoverse-n1", 2), ("max", 2)];

/// Prints all that a program is given: its arguments, its environment, its descriptors, its file.
const WITNESS: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
    for (int at = 0; at <= argc; at++)
        printf("argument %s\n", argv[at] ? argv[at] : "(end)");
    for (char **entry = environ; *entry; entry++)
        printf("variable %s\n", *entry);
    for (int file = 0; file < 1024; file++)
        if (fcntl(file, F_GETFD) >= 0)
            printf("descriptor %d: %d\n", file, fcntl(file, F_GETFD));
    char text[4096];
    long length = readlink("/proc/self/exe", text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    printf("file %s\nsecure %lu\n", text, getauxval(AT_SECURE));
    return 7;
}
"#;

/// Runs a program as the kernel would on that CPU.
fn really(cpu: &str, program: &Path, environment: &[(&str, &str)]) -> Result<Output, String> {
    let mut command = emulating(cpu, None)?;
    let clean = command.env_remove("DEBURR_LEVEL").env_remove("DEBURR_EXPLAIN");
    clean.arg(program).envs(environment.iter().copied()).output().map_err(|error| error.to_string())
}

/// One `execve` as strace writes it: path, arguments, environment.
#[derive(Debug, PartialEq, Eq)]
struct Executed {
    path: String,
    arguments: Vec<String>,
    environment: Vec<String>,
}

/// The `execve`s that the launcher does under qemu, without the one that starts qemu.
fn traced(cpu: &str, launcher: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Vec<Executed> {
    let scratch = Scratch::new("launcher-strace");
    let log = scratch.join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-v", "-s", "100000", "-e", "trace=execve", "-o"]).arg(&log);
    command.args(["qemu-aarch64", "-cpu", cpu, "-0", "a name"]).arg(launcher).args(arguments);
    let path = std::env::var_os("PATH").unwrap();
    command.env_clear().env("PATH", path).envs(environment.iter().copied()).output().unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let calls = text.lines().filter_map(|line| line.split_once("execve(").map(|(_, call)| call));
    calls.skip(1).map(executed).collect()
}

/// `"path", ["a", "b"], ["C=d"]) = -1 …`
fn executed(call: &str) -> Executed {
    let (path, rest) = call.split_once(", [").unwrap();
    let (arguments, rest) = rest.split_once("], [").unwrap_or((rest, ""));
    let environment = rest.split_once("]) = ").unwrap().0;
    let list = |text: &str| -> Vec<String> {
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inner.map_or_else(Vec::new, |inner| inner.split("\", \"").map(str::to_owned).collect())
    };
    Executed { path: list(path).remove(0), arguments: list(arguments), environment: list(environment) }
}

#[test]
fn each_arm_cpu_starts_the_variant_of_its_level() {
    let tree = Tree::new("arm-real", &LEVELS);
    for (cpu, level) in CPUS {
        let file = fs::canonicalize(tree.variant(LEVELS[level])).unwrap();
        match really(cpu, &tree.launcher(), &[("SEEN", "x=y")]) {
            Ok(output) => {
                let name = tree.launcher().display().to_string();
                let expected = [LEVELS[level], &name, file.to_str().unwrap(), "1", "x=y"];
                assert_eq!(
                    (fields(&output).as_slice(), complaints(&output)),
                    (expected.map(str::to_owned).as_slice(), Vec::new()),
                    "{cpu}"
                );
            }
            Err(reason) => {
                eprintln!("no namespace with binfmt_misc ({reason}): strace looks at the system call");
                let calls = traced(cpu, &tree.launcher(), &["one", ""], &[("SEEN", "x=y")]);
                assert_eq!(fs::canonicalize(&calls[0].path).unwrap(), file, "{cpu}");
            }
        }
    }
}

/// What strace sees does not depend on what the kernel makes of it, so this holds on every machine.
#[test]
fn the_execve_of_an_arm_launcher_has_its_arguments_and_environment() {
    let tree = Tree::new("arm-strace", &LEVELS);
    for (cpu, level) in CPUS {
        let environment = [("SEEN", "x=y"), ("EMPTY", "")];
        let calls = traced(cpu, &tree.launcher(), &["one", "", "two words"], &environment);
        let first = &calls[0];
        assert_eq!(
            fs::canonicalize(&first.path).unwrap(),
            fs::canonicalize(tree.variant(LEVELS[level])).unwrap()
        );
        assert_eq!(first.arguments, ["a name", "one", "", "two words"], "{cpu}");
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        let mut seen = first.environment.clone();
        seen.sort();
        assert_eq!(seen, ["EMPTY=".to_owned(), path, "SEEN=x=y".to_owned()], "{cpu}");
    }
}

/// Started by Python, which gives a program any name; descriptor 9 is open, 8 closes itself.
const START: &str =
    "import os, sys; program, environment = sys.argv[1], dict(QEMU_CPU=sys.argv[2], SEEN='x=y', EMPTY='')
for number in (8, 9): os.dup2(os.open('/', os.O_RDONLY), number, inheritable=number == 9)
os.execve(program, ['another name', 'one', '', 'two words'], environment)";

fn variables(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("variable ")).collect()
}

#[test]
fn an_arm_variant_is_given_what_it_would_be_given_without_a_launcher() {
    let tree = Tree::new("arm-kept", &LEVELS[..1]);
    let source = tree.folder.file("witness.c", WITNESS.as_bytes());
    let mut gcc = Command::new("aarch64-linux-gnu-gcc");
    gcc.args(["-O1", "-static", "-o"]).arg(tree.variant(LEVELS[0])).arg(source);
    assert!(gcc.status().unwrap().success());
    let run = |program: &Path| -> Result<String, String> {
        let mut command = emulating("cortex-a53", None)?;
        let output = command.args(["python3", "-c", START]).arg(program).arg("cortex-a53").output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(complaints(&output), Vec::<String>::new());
        Ok(String::from_utf8(output.stdout).unwrap())
    };
    let (Ok(direct), Ok(launched)) = (run(&tree.variant(LEVELS[0])), run(&tree.launcher())) else {
        let calls = traced("cortex-a53", &tree.launcher(), &["one"], &[]);
        assert_eq!(calls[0].arguments, ["a name", "one"]);
        return;
    };
    // qemu-user turns the order of the variables round, each time that it starts a program.
    let (mut of_launched, of_direct) = (variables(&launched), variables(&direct));
    of_launched.reverse();
    assert_eq!(of_launched, of_direct);
    let others = |text: &str| {
        text.lines().filter(|line| !line.starts_with("variable ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(others(&launched), others(&direct));
    for line in [
        "argument another name",
        "argument two words",
        "variable EMPTY=",
        "variable SEEN=x=y",
        "descriptor 9: 0",
    ] {
        assert!(launched.lines().any(|found| found == line), "{line}: {launched}");
    }
    assert!(!launched.contains("descriptor 8:"), "{launched}");
    let file = fs::canonicalize(tree.variant(LEVELS[0])).unwrap();
    assert!(launched.contains(&format!("file {}\n", file.display())), "{launched}");
}

#[test]
fn an_arm_launcher_passes_over_what_is_damaged_and_starts_the_next() {
    let whole = program(LEVELS[2]);
    let damages: [(&str, &[u8], &str); 4] = [
        ("cut", &whole[..whole.len() / 2], "is truncated"),
        ("script", b"#!/bin/sh\nexit 7\n", "is no ELF file"),
        ("foreign", &program("x86-64-v1"), "is for another architecture"),
        ("empty", b"", "is no ELF file"),
    ];
    for (name, bytes, fault) in damages {
        let tree = Tree::new(&format!("arm-{name}"), &LEVELS);
        write_program(&tree.variant(LEVELS[2]), bytes);
        match really("neoverse-n1", &tree.launcher(), &[]) {
            Ok(output) => {
                assert_eq!(fields(&output)[0], LEVELS[1], "{name}");
                let lines = complaints(&output);
                assert!(
                    lines.len() == 1 && lines[0].ends_with(&format!("the variant for armv8.2-a {fault}")),
                    "{lines:?}"
                );
            }
            Err(_) => {
                let calls = traced("neoverse-n1", &tree.launcher(), &[], &[]);
                assert_eq!(
                    fs::canonicalize(&calls[0].path).unwrap(),
                    fs::canonicalize(tree.variant(LEVELS[1])).unwrap()
                );
            }
        }
        // On a CPU that never looks at it nothing is said.
        if let Ok(output) = really("cortex-a53", &tree.launcher(), &[]) {
            assert_eq!((fields(&output)[0].as_str(), complaints(&output)), (LEVELS[0], Vec::new()), "{name}");
        }
    }
    let tree = Tree::new("arm-missing", &LEVELS);
    fs::remove_file(tree.variant(LEVELS[2])).unwrap();
    let calls = traced("max", &tree.launcher(), &[], &[]);
    assert_eq!(fs::canonicalize(&calls[0].path).unwrap(), fs::canonicalize(tree.variant(LEVELS[1])).unwrap());
}

#[test]
fn the_environment_selects_an_arm_level_that_runs_and_no_other() {
    let tree = Tree::new("arm-override", &LEVELS);
    let selected = [("DEBURR_LEVEL", LEVELS[1])];
    match really("max", &tree.launcher(), &selected) {
        Ok(output) => assert_eq!(fields(&output)[0], LEVELS[1]),
        Err(_) => {
            let calls = traced("max", &tree.launcher(), &[], &selected);
            assert_eq!(
                fs::canonicalize(&calls[0].path).unwrap(),
                fs::canonicalize(tree.variant(LEVELS[1])).unwrap()
            );
        }
    }
    let refused = tree.on("qemu-aarch64", "cortex-a53", &selected);
    assert_eq!(refused.status.code(), Some(126), "{refused:?}");
    assert!(complaints(&refused)[0].contains("this CPU or its operating system lacks FEAT_"), "{refused:?}");
}
