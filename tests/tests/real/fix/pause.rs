//! `sb` in the place of `yield`, run: a program that waits, before and after, on CPUs with FEAT_SB and without.

use deburr_cpu::Target;
use deburr_patch::{ApplyOptions, Pause, PlanRequest, apply, plan};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

const SIGILL: i32 = 4;
const SYSROOT: &str = "/usr/aarch64-linux-gnu";

fn ended(program: &Path, cpu: &str) -> ExitStatus {
    require("qemu-aarch64");
    let mut command = Command::new("qemu-aarch64");
    command
        .current_dir(program.parent().expect("its folder"))
        .args(["-cpu", cpu, "-L", SYSROOT])
        .arg(program);
    command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[test]
fn sb_pauses_where_the_cpu_has_it_and_is_undefined_elsewhere() {
    require("aarch64-linux-gnu-gcc");
    let dir = work_dir("pause");
    let program = dir.join("wait");
    let mut build = Command::new("aarch64-linux-gnu-gcc");
    // It begins with the pause, so that it has one although nothing is to be waited for.
    build.arg("-O2").arg(repository().join("tests/patched/waits.c"));
    run(build.arg("-o").arg(&program));
    let bytes = fs::read(&program).expect("the program");
    let target = Some(Target::parse("armv8.5-a").expect("a level").features);
    let request = PlanRequest { target, pause: Pause::Sb, ..PlanRequest::default() };
    let plan = plan(&bytes, &request).expect("a plan");
    assert!(plan.sites.iter().any(|site| site.rule == "yield-in-spin-loop"), "{:?}", plan.refused);
    let patched = program.with_extension("patched");
    fs::write(&patched, apply(&bytes, &plan, &ApplyOptions::default()).expect("a file")).expect("room");
    fs::set_permissions(&patched, fs::Permissions::from_mode(0o755)).expect("a program");

    for (program, cpu) in [(&program, "max"), (&program, "cortex-a72"), (&patched, "max")] {
        assert!(ended(program, cpu).success(), "{} on {cpu}", program.display());
    }
    let dead = ended(&patched, "cortex-a72");
    // qemu-user dies of the same signal as the program.
    assert_eq!(dead.signal().or(dead.code().map(|code| code - 128)), Some(SIGILL), "{dead:?}");
}
