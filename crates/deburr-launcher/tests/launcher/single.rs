//! One file that holds its variants: what it starts from memory, and what it says where it cannot.

use crate::failures::{as_nobody, is_root, without_proc};
use crate::tree::{complaints, fields, program, table, write_program};
use deburr_launcher::single_file;
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Writes `prog`, which holds the variants of the levels.
fn single(name: &str, levels: &[&str]) -> (Scratch, PathBuf) {
    let folder = Scratch::new(&format!("single-{name}"));
    fs::set_permissions(folder.join("."), fs::Permissions::from_mode(0o755)).unwrap();
    let mut table = table(levels);
    table.variants.iter_mut().for_each(|variant| variant.path = "prog".into());
    let programs: Vec<Vec<u8>> = levels.iter().map(|level| program(level)).collect();
    let bytes: Vec<&[u8]> = programs.iter().map(Vec::as_slice).collect();
    let path = folder.join("prog");
    write_program(&path, &single_file(&table, &bytes).unwrap());
    (folder, path)
}

fn run(path: &Path, level: &str) -> Output {
    Command::new(path).arg("more").env("SEEN", "this").env("DEBURR_LEVEL", level).output().unwrap()
}

#[test]
fn each_variant_starts_from_memory_with_what_it_was_given() {
    let (folder, path) = single("starts", &["x86-64-v1", "x86-64-v2"]);
    for level in ["x86-64-v1", "x86-64-v2"] {
        let name = path.to_str().unwrap();
        let expected = [level, name, "/memfd:prog (deleted)", "2", "this"];
        assert_eq!(fields(&run(&path, level)), expected);
    }
    assert_eq!(folder.names().len(), 1, "nothing is written");
}

#[test]
fn cpus_get_the_variant_that_they_run() {
    let (_folder, path) = single("cpus", &["x86-64-v1", "x86-64-v3"]);
    for (cpu, level) in [("Nehalem", "x86-64-v1"), ("Haswell", "x86-64-v3")] {
        let mut command = Command::new("qemu-x86_64");
        let output = command.args(["-cpu", cpu]).arg(&path).env("DEBURR_EXPLAIN", "exit").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let expected = format!("{}: would start the variant for {level} from memory", path.display());
        assert_eq!(complaints(&output).last(), Some(&expected));
        let started = Command::new("qemu-x86_64").args(["-cpu", cpu]).arg(&path).output().unwrap();
        assert_eq!(fields(&started)[0], level);
    }
    let (_folder, path) = single("arm", &["armv8-a", "armv8.1-a"]);
    for (cpu, level) in [("cortex-a53", "armv8-a"), ("neoverse-n1", "armv8.1-a")] {
        let mut command = Command::new("qemu-aarch64");
        let output = command.args(["-cpu", cpu]).arg(&path).env("DEBURR_EXPLAIN", "exit").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let expected = format!("{}: would start the variant for {level} from memory", path.display());
        assert_eq!(complaints(&output).last(), Some(&expected));
    }
}

#[test]
fn descriptors_are_those_that_came() {
    let (folder, _) = single("descriptors", &["x86-64-v1"]);
    let listing = fs::read("/bin/ls").unwrap();
    let mut table = table(&["x86-64-v1"]);
    table.variants[0].path = "ls".into();
    let path = folder.join("ls");
    write_program(&path, &single_file(&table, &[&listing]).unwrap());
    let listed = |program: &Path| {
        let command = format!("exec '{}' -x /proc/self/fd 9</dev/null", program.display());
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(listed(&path), listed("/bin/ls".as_ref()));
    assert!(listed(&path).contains('9'));
}

#[test]
fn without_proc_the_executed_name_leads_to_the_file() {
    let (folder, _) = single("no-proc", &["x86-64-v1"]);
    let output = without_proc(&folder.join("."), "/prog");
    assert_eq!(fields(&output)[..3], ["x86-64-v1".to_owned(), "/prog".to_owned(), String::new()]);
}

#[test]
fn a_file_cut_anywhere_starts_nothing_that_is_cut() {
    let (folder, path) = single("cut", &["x86-64-v1", "x86-64-v2"]);
    let whole = fs::read(&path).unwrap();
    let cut = folder.join("cut");
    // The variants come after a launcher of a few KiB: the first is whole in the last of these files.
    for length in [8192, whole.len() / 4, whole.len() - 1] {
        write_program(&cut, &whole[..length]);
        let output = run(&cut, "x86-64-v2");
        assert_eq!(output.status.code(), Some(126), "{length}: {output:?}");
        assert!(complaints(&output)[0].ends_with("the variant for x86-64-v2 is truncated"), "{output:?}");
    }
    assert_eq!(fields(&run(&cut, "x86-64-v1"))[0], "x86-64-v1");
}

/// Runs a program with a system call answered by an error, by a filter that the kernel keeps over execve.
const FORBID: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **names) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ERROR),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 99;
    execv(names[1], names + 1);
    return 98;
}
"#;

/// Runs a program with a system call answered by an error.
fn forbidding(folder: &Scratch, path: &Path, call: &str, error: &str) -> Output {
    let source = folder.file("forbid.c", FORBID.as_bytes());
    let forbid = folder.join("forbid");
    let mut compiler = Command::new("gcc");
    compiler.args([format!("-DCALL=SYS_{call}"), format!("-DERROR={error}")]);
    assert!(compiler.arg("-o").arg(&forbid).arg(source).status().unwrap().success());
    Command::new(&forbid).arg(path).output().unwrap()
}

#[test]
fn where_files_in_memory_are_forbidden_it_says_so() {
    let (folder, path) = single("forbidden", &["x86-64-v1"]);
    let output = forbidding(&folder, &path, "memfd_create", "EPERM");
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    let lines = complaints(&output);
    assert!(lines[0].ends_with("the system forbids files in memory (memfd_create)"), "{lines:?}");
}

#[test]
fn where_a_file_cannot_be_executed_by_its_descriptor_its_name_in_proc_serves() {
    let (folder, path) = single("no-execveat", &["x86-64-v1"]);
    assert_eq!(fields(&forbidding(&folder, &path, "execveat", "ENOSYS"))[0], "x86-64-v1");
    let output = forbidding(&folder, &path, "execveat", "EACCES");
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert!(complaints(&output)[0].ends_with("cannot be executed: permission denied"), "{output:?}");
}

#[test]
fn starts_at_once_do_not_disturb_each_other() {
    let (_folder, path) = single("at-once", &["x86-64-v1"]);
    let starts: Vec<_> =
        (0..16).map(|_| Command::new(&path).stdout(std::process::Stdio::piped()).spawn().unwrap()).collect();
    for start in starts {
        assert_eq!(fields(&start.wait_with_output().unwrap())[0], "x86-64-v1");
    }
}

#[test]
fn more_rights_than_the_user_s_are_refused() {
    // Only root can make a file that another user runs with root's rights.
    if is_root() {
        let (_folder, path) = single("secure", &["x86-64-v1"]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
        let output = as_nobody().arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{output:?}");
        assert!(complaints(&output)[0].contains("holds its variants itself: refused"), "{output:?}");
    }
}

#[test]
fn equal_variants_are_held_once() {
    let mut table = table(&["x86-64-v1", "x86-64-v2"]);
    table.variants.iter_mut().for_each(|variant| variant.path = "prog".into());
    let bytes = vec![7_u8; 100_000];
    let file = single_file(&table, &[&bytes, &bytes]).unwrap();
    assert!(file.len() < 110_000, "{}", file.len());
    assert!(single_file(&table, &[&bytes]).is_err() && single_file(&table, &[&bytes, b""]).is_err());
}
