//! The worked example of the manual, to its end: an old AArch64 program and its rewritten form, chosen between at start.
//!
//! The kernel starts AArch64 programs through qemu-user in a namespace of the test's own. Where it refuses, strace shows
//! which of them the launcher executes.

use super::tree_of;
use crate::stderr;
use deburr_test_support::{Scratch, emulating};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Four threads add with old compilers' loops; says which file ran, and returns 7 where the sum is right.
const COUNTER: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static long count;
__attribute__((noinline)) static void add(long *at) { __atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST); }
static void *run(void *nothing) {
    for (int round = 0; round < 20000; round++)
        add(&count);
    return nothing;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    char file[4096];
    long length = readlink("/proc/self/exe", file, sizeof file - 1);
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], 0, run, 0);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], 0);
    printf("%.*s|%s|%d\n", (int)length, file, argv[0], argc);
    return count == 80000 ? 7 : 1;
}
"#;

fn deburr(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::program()).current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn an_old_arm_program_gets_its_rewritten_form_where_the_cpu_has_lse() {
    let scratch = Scratch::new("pack-arm64");
    let top = scratch.join(".");
    let (old, new) = (scratch.join("old/bin/prog"), scratch.join("new/bin/prog"));
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    let source = scratch.file("counter.c", COUNTER.as_bytes());
    let mut gcc = Command::new("aarch64-linux-gnu-gcc");
    // Of the C library's functions none is linked that needs LSE by itself.
    gcc.args(["-O2", "-static", "-mno-outline-atomics", "-march=armv8-a", "-o"]).arg(&old).arg(&source);
    assert!(gcc.status().unwrap().success());
    let fixed = deburr(&top, &["fix", "old/bin/prog", "-o", "new/bin/prog"]);
    assert_eq!(fixed.status.code(), Some(0), "{}", stderr(&fixed));
    assert_ne!(fs::read(&old).unwrap(), fs::read(&new).unwrap());
    let variants = ["--variant=armv8-a=old", "--variant=armv8-a+lse=new"];
    let done = deburr(&top, &[&["pack", "assemble"], &variants[..], &["-o", "dist"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));

    let place = |level: &str| tree_of(&scratch.join("dist"), level).join("bin/prog").canonicalize().unwrap();
    for (cpu, level) in [("cortex-a53", "armv8-a"), ("neoverse-n1", "armv8-a+lse"), ("max", "armv8-a+lse")] {
        let launcher = scratch.join("dist/bin/prog");
        match emulating(cpu, None) {
            Ok(mut command) => {
                let output = command.arg(&launcher).args(["one", "two"]).output().unwrap();
                assert_eq!(output.status.code(), Some(7), "{cpu}: {output:?}");
                // argv[0] is the path of the variant, through the folder of the launcher.
                let called =
                    launcher.parent().unwrap().join("..").join(
                        place(level).strip_prefix(scratch.join("dist").canonicalize().unwrap()).unwrap(),
                    );
                let expected = format!("{}|{}|3\n", place(level).display(), called.display());
                assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{cpu}");
            }
            Err(_) => assert_eq!(executed(&scratch, cpu, &launcher), place(level), "{cpu}"),
        }
    }
    // Without a launcher the rewritten program would not run there.
    let alone = Command::new("qemu-aarch64").args(["-cpu", "cortex-a53"]).arg(&new).output().unwrap();
    assert_ne!(alone.status.code(), Some(7), "{alone:?}");

    // The rewritten form is damaged: the original runs on every CPU, after a line.
    let damaged = place("armv8-a+lse");
    let whole = fs::read(&damaged).unwrap();
    fs::write(&damaged, &whole[..whole.len() / 2]).unwrap();
    if let Ok(mut command) = emulating("max", None) {
        let output = command.arg(scratch.join("dist/bin/prog")).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(place("armv8-a").to_str().unwrap()));
        assert!(stderr(&output).contains("the variant for armv8-a+lse is truncated"), "{}", stderr(&output));
    } else {
        assert_eq!(executed(&scratch, "max", &scratch.join("dist/bin/prog")), place("armv8-a"));
    }
}

/// The first file that the launcher executes, by strace.
fn executed(scratch: &Scratch, cpu: &str, launcher: &Path) -> std::path::PathBuf {
    let log = scratch.join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=execve", "-o"]).arg(&log);
    strace.args(["qemu-aarch64", "-cpu", cpu]).arg(launcher).output().unwrap();
    let text = fs::read_to_string(log).unwrap();
    let call = text.lines().filter_map(|line| line.split_once("execve(\"")).nth(1).unwrap().1;
    fs::canonicalize(call.split('"').next().unwrap()).unwrap()
}
