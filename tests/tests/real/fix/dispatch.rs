//! The auditor of docs/reference/fix.md, which takes a rewritten library where the CPU has LSE: as it stands there, compiled and run.
//!
//! The library is one with exclusive loops, and its rewritten form; qemu-user is the CPU with LSE and the one without.

use deburr_patch::{ApplyOptions, PlanRequest, apply, plan, verify};
use deburr_tests::toolchain::{compile, repository, require, work_dir};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

const GCC: &str = "aarch64-linux-gnu-gcc";
/// What the cross compiler's own libraries stand for.
const ROOT: &str = "/usr/aarch64-linux-gnu";
const SIGILL: i32 = 4;

/// The C code of the document.
fn auditor() -> String {
    let document =
        fs::read_to_string(repository().join("docs/reference/fix.md")).expect("docs/reference/fix.md");
    let (_, code) = document.split_once("```c\n").expect("a block of C");
    code.split_once("\n```").expect("the end of the block").0.to_owned()
}

fn emulate(cpu: &str, variable: &str, program: &Path) -> Output {
    let mut emulator = Command::new("qemu-aarch64");
    emulator.args(["-cpu", cpu, "-L", ROOT, "-E", variable]).arg(program);
    emulator.output().expect("qemu-aarch64 starts")
}

#[test]
fn the_auditor_takes_the_rewritten_library_where_the_cpu_has_lse() {
    for tool in [GCC, "qemu-aarch64"] {
        require(tool);
    }
    let dir = work_dir("dispatch");
    fs::create_dir(dir.join("lse")).expect("a folder");
    let library = compile(
        &dir,
        "libcount.so",
        ("c", "int count(int *word) { return __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST); }\n"),
        GCC,
        &["-O2", "-march=armv8-a", "-mno-outline-atomics", "-shared", "-fPIC"],
    );
    let original = fs::read(&library).expect("the library");
    let planned = plan(&original, &PlanRequest::default()).expect("a plan");
    assert_eq!((planned.sites.len(), planned.refused.len()), (1, 0), "{planned:?}");
    let patched = apply(&original, &planned, &ApplyOptions::default()).expect("written");
    verify(&original, &patched).expect("proven");
    fs::write(dir.join("lse/libcount.so"), patched).expect("the rewritten library");
    let program = compile(
        &dir,
        "program",
        (
            "c",
            "#include <stdio.h>\nint count(int *);\nint main(void) { int n = 41; printf(\"%d\\n\", count(&n)); }\n",
        ),
        GCC,
        &["-O2", "-march=armv8-a", &format!("-L{}", dir.display()), "-lcount", "-Wl,-rpath,$ORIGIN"],
    );
    let flags = ["-O2", "-Wall", "-Werror", "-shared", "-fPIC"];
    let auditor = compile(&dir, "lse-audit.so", ("c", &auditor()), GCC, &flags);

    let audit = format!("LD_AUDIT={}", auditor.display());
    for cpu in ["max", "cortex-a53"] {
        let output = emulate(cpu, &audit, &program);
        assert!(output.status.success(), "{cpu}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{cpu}");
    }
    // Where the original is gone, only the CPU with LSE goes on: so it was the rewritten one that ran there.
    fs::write(&library, fs::read(dir.join("lse/libcount.so")).expect("the rewritten library"))
        .expect("replaced");
    assert!(emulate("max", "LC_ALL=C", &program).status.success());
    let refused = emulate("cortex-a53", "LC_ALL=C", &program).status;
    assert!(refused.signal() == Some(SIGILL) || refused.code() == Some(128 + SIGILL), "{refused}");
    // With the auditor it is the other one that is taken: spoilt, it stops the program.
    fs::write(dir.join("lse/libcount.so"), b"not a library").expect("spoilt");
    assert!(!emulate("max", &audit, &program).status.success());
}
