//! One file that holds its variants: what it starts from its cache or from memory, and what it says where it cannot.

use crate::failures::{as_nobody, is_root, without_proc};
use crate::tree::{complaints, fields, program, table, write_program};
use deburr_launcher::single_file;
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
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
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        let expected = format!("{}: would start the variant for {level} from memory", path.display());
        assert_eq!(complaints(&output).last(), Some(&expected));
        let started = Command::new("qemu-x86_64").args(["-cpu", cpu]).arg(&path).output().unwrap();
        assert_eq!(fields(&started)[0], level);
    }
    let (_folder, path) = single("arm", &["armv8-a", "armv8.1-a"]);
    for (cpu, level) in [("cortex-a53", "armv8-a"), ("neoverse-n1", "armv8.1-a")] {
        let mut command = Command::new("qemu-aarch64");
        let output = command.args(["-cpu", cpu]).arg(&path).env("DEBURR_EXPLAIN", "exit").output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        let expected = format!("{}: would start the variant for {level} from memory", path.display());
        assert_eq!(complaints(&output).last(), Some(&expected));
    }
}

#[test]
fn a_cpu_below_each_variant_is_told_what_it_lacks_and_nothing_is_unpacked() {
    let (_folder, path, cache) = cached("below", &["x86-64-v3", "x86-64-v4"]);
    let mut command = Command::new("qemu-x86_64");
    let output = command.args(["-cpu", "Nehalem"]).arg(&path).env("DEBURR_CACHE", &cache).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    let line = complaints(&output).remove(0);
    assert!(line.contains("needs x86-64-v3 or more; this CPU or its operating system lacks FMA, "), "{line}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
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
    // The variants come after a launcher of less than 12 KiB: the first is whole in the last of these files.
    for length in [12_288, whole.len() / 4, whole.len() - 1] {
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
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST < 0 ? 0 : 16 /* the first argument's low half */),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIRST < 0 ? CALL : FIRST, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ERROR),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {6, filter};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 99;
    execv(names[1], names + 1);
    return 98;
}
"#;

/// Runs a program with a system call answered by an error, without a cache.
fn forbidding(folder: &Scratch, path: &Path, call: &str, error: &str) -> Output {
    forbidding_with(folder, path, (call, error, None), Path::new(""))
}

/// Runs a program with a system call answered by an error, whatever its first argument or only with that one.
fn forbidding_with(
    folder: &Scratch,
    path: &Path,
    (call, error, first): (&str, &str, Option<u32>),
    cache: &Path,
) -> Output {
    let first = first.map_or("-1".to_owned(), |first| first.to_string());
    let source = folder.file("forbid.c", FORBID.as_bytes());
    let forbid = folder.join("forbid");
    let mut compiler = Command::new("gcc");
    compiler.args([format!("-DCALL=SYS_{call}"), format!("-DERROR={error}"), format!("-DFIRST={first}")]);
    assert!(compiler.arg("-o").arg(&forbid).arg(source).status().unwrap().success());
    Command::new(&forbid).arg(path).env("DEBURR_CACHE", cache).output().unwrap()
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
    assert!(file.len() < 115_000, "{}", file.len());
    assert!(single_file(&table, &[&bytes]).is_err() && single_file(&table, &[&bytes, b""]).is_err());
}

/// Writes `prog`, which holds variants that go into a cache, and makes the folder of the cache.
fn cached(name: &str, levels: &[&str]) -> (Scratch, PathBuf, PathBuf) {
    let folder = Scratch::new(&format!("cached-{name}"));
    fs::set_permissions(folder.join("."), fs::Permissions::from_mode(0o755)).unwrap();
    let mut table = table(levels);
    table.variants.iter_mut().for_each(|variant| variant.path = format!("hash-{}/prog", variant.level));
    let programs: Vec<Vec<u8>> = levels.iter().map(|level| program(level)).collect();
    let bytes: Vec<&[u8]> = programs.iter().map(Vec::as_slice).collect();
    let path = folder.join("prog");
    write_program(&path, &single_file(&table, &bytes).unwrap());
    let cache = folder.join("cache");
    fs::create_dir(&cache).unwrap();
    (folder, path, cache)
}

fn with_cache(path: &Path, cache: &Path) -> Command {
    let mut command = Command::new(path);
    command.env_clear().env("DEBURR_CACHE", cache);
    command
}

/// The executable of the variant that ran.
fn started(output: &Output) -> String {
    fields(output)[2].clone()
}

const IN_MEMORY: &str = "/memfd:prog (deleted)";

#[test]
fn the_first_start_fills_the_cache_and_the_next_ones_use_it() {
    let (_folder, path, cache) = cached("fills", &["x86-64-v1", "x86-64-v2"]);
    let place = cache.join("hash-x86-64-v1/prog");
    let run =
        || with_cache(&path, &cache).env("DEBURR_LEVEL", "x86-64-v1").arg0("its name").output().unwrap();
    let expected = ["x86-64-v1", "its name", place.to_str().unwrap(), "1", ""];
    assert_eq!(fields(&run()), expected);
    let identity = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.ino(), metadata.mtime_nsec(), metadata.mode() & 0o777)
    };
    let first = identity(&place);
    assert_eq!(first.2, 0o700);
    assert_eq!(fields(&run()), expected);
    assert_eq!(identity(&place), first, "nothing is written again");
    assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    let explained = with_cache(&path, &cache).env("DEBURR_EXPLAIN", "exit").output().unwrap();
    let last = complaints(&explained).pop().unwrap();
    assert!(last.ends_with("hash-x86-64-v2/prog"), "{last}");
}

#[test]
fn the_cache_is_where_the_environment_says() {
    let (folder, path, cache) = cached("where", &["x86-64-v1"]);
    let run = |variables: &[(&str, &Path)]| {
        let mut command = Command::new(&path);
        started(&command.env_clear().envs(variables.iter().copied()).output().unwrap())
    };
    let (home, data) = (folder.join("home"), folder.join("data"));
    fs::create_dir(&home).unwrap();
    let below =
        |folder: &Path, middle: &str| folder.join(middle).join("hash-x86-64-v1/prog").display().to_string();
    assert_eq!(run(&[("HOME", &home)]), below(&home, ".cache/deburr"));
    assert_eq!(run(&[("HOME", &home), ("XDG_CACHE_HOME", &data)]), below(&data, "deburr"));
    let all = [("HOME", home.as_path()), ("XDG_CACHE_HOME", &data), ("DEBURR_CACHE", &cache)];
    assert_eq!(run(&all), below(&cache, ""));
    let none = [("HOME", home.as_path()), ("DEBURR_CACHE", Path::new(""))];
    assert_eq!(run(&none), IN_MEMORY);
    assert_eq!(run(&[("HOME", Path::new("relative"))]), IN_MEMORY);
    assert_eq!(run(&[]), IN_MEMORY);
}

#[test]
fn first_starts_at_once_leave_one_whole_file() {
    let (_folder, path, cache) = cached("at-once", &["x86-64-v1"]);
    let start = || with_cache(&path, &cache).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let starts: Vec<_> = (0..24).map(|_| start()).collect();
    for start in starts {
        assert_eq!(fields(&start.wait_with_output().unwrap())[0], "x86-64-v1");
    }
    let place = cache.join("hash-x86-64-v1");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "{:?}", fs::read_dir(&place));
    assert_eq!(fs::read(place.join("prog")).unwrap(), program("x86-64-v1"));
}

#[test]
fn a_cache_that_cannot_be_written_leaves_memory() {
    for (call, error) in [("mkdirat", "EROFS"), ("renameat", "EROFS"), ("unlinkat", "EACCES")] {
        let (folder, path, cache) = cached(&format!("no-{call}"), &["x86-64-v1"]);
        let output = forbidding_with(&folder, &path, (call, error, None), &cache);
        let expected = cache.join("hash-x86-64-v1/prog").display().to_string();
        // Nothing is removed where nothing went wrong.
        let expected = if call == "unlinkat" { expected } else { IN_MEMORY.to_owned() };
        assert_eq!(started(&output), expected, "{call}");
        let left = fs::read_dir(cache.join("hash-x86-64-v1")).map_or(0, Iterator::count);
        assert_eq!(left, usize::from(call == "unlinkat"), "{call}");
    }
}

#[test]
fn a_disk_without_room_leaves_memory_and_no_rest() {
    // The third descriptor after the standard ones is the file in the cache: the launcher's own file and the folder are open.
    let (folder, path, cache) = cached("full", &["x86-64-v1"]);
    let output = forbidding_with(&folder, &path, ("sendfile", "ENOSPC", Some(5)), &cache);
    assert_eq!(started(&output), IN_MEMORY);
    assert_eq!(fs::read_dir(cache.join("hash-x86-64-v1")).unwrap().count(), 0);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_signal() {
    let (_folder, path, cache) = cached("limit", &["x86-64-v1"]);
    let mut shell = Command::new("sh");
    let output = shell
        .args(["-c", "ulimit -f 1; exec \"$0\""])
        .arg(&path)
        .env("DEBURR_CACHE", &cache)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert!(complaints(&output)[0].contains("the limit of file sizes (ulimit -f)"), "{output:?}");
}

#[test]
fn what_others_can_write_is_not_started() {
    let planted = b"#!/bin/sh\necho planted\n";
    let plant = |place: &Path| {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        write_program(place, planted);
    };
    // A folder that others may write to.
    let (_folder, path, cache) = cached("open-folder", &["x86-64-v1"]);
    let place = cache.join("hash-x86-64-v1/prog");
    plant(&place);
    fs::set_permissions(place.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(started(&with_cache(&path, &cache).output().unwrap()), IN_MEMORY);
    assert_eq!(fs::read(&place).unwrap(), planted);

    // A folder that is a link, and one whose owner is another user.
    let (folder, path, cache) = cached("link", &["x86-64-v1"]);
    let elsewhere = folder.join("elsewhere");
    plant(&elsewhere.join("prog"));
    std::os::unix::fs::symlink(&elsewhere, cache.join("hash-x86-64-v1")).unwrap();
    assert_eq!(started(&with_cache(&path, &cache).output().unwrap()), IN_MEMORY);

    // A file of another size, one that others may write to, a link: written anew.
    for kind in ["size", "mode", "link"] {
        let (folder, path, cache) = cached(&format!("file-{kind}"), &["x86-64-v1"]);
        let place = cache.join("hash-x86-64-v1/prog");
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::set_permissions(place.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
        match kind {
            "size" => plant(&place),
            "mode" => {
                let mut same_size = program("x86-64-v1");
                *same_size.last_mut().unwrap() ^= 1;
                write_program(&place, &same_size);
                fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
            }
            _ => {
                plant(&folder.join("elsewhere"));
                std::os::unix::fs::symlink(folder.join("elsewhere"), &place).unwrap();
            }
        }
        assert_eq!(started(&with_cache(&path, &cache).output().unwrap()), place.to_str().unwrap(), "{kind}");
        assert_eq!(fs::read(&place).unwrap(), program("x86-64-v1"), "{kind}");
        assert!(!fs::symlink_metadata(&place).unwrap().file_type().is_symlink());
        if kind == "link" {
            assert_eq!(
                fs::read(folder.join("elsewhere")).unwrap(),
                planted,
                "what the link named is as it was"
            );
        }
    }
}

#[test]
fn another_user_s_cache_is_not_used() {
    // Only root can make files of another user.
    if is_root() {
        let (_folder, path, cache) = cached("another-user", &["x86-64-v1"]);
        assert_eq!(
            started(&with_cache(&path, &cache).output().unwrap()),
            cache.join("hash-x86-64-v1/prog").to_str().unwrap()
        );
        fs::set_permissions(cache.join("hash-x86-64-v1"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(cache.join("hash-x86-64-v1/prog"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
        let output = as_nobody().arg(&path).env("DEBURR_CACHE", &cache).output().unwrap();
        assert_eq!(started(&output), IN_MEMORY);
    }
}

#[test]
fn nothing_is_made_in_another_user_s_home() {
    if is_root() {
        let (folder, path, _) = cached("another-home", &["x86-64-v1"]);
        let home = folder.join("home");
        fs::create_dir(&home).unwrap();
        std::os::unix::fs::chown(&home, Some(65534), Some(65534)).unwrap();
        // As root has it after `sudo -E`, or `su` without a hyphen.
        let below = home.join("cache");
        for (name, value) in
            [("HOME", &home), ("XDG_CACHE_HOME", &home), ("XDG_CACHE_HOME", &below), ("DEBURR_CACHE", &below)]
        {
            let output = Command::new(&path).env_clear().env(name, value).output().unwrap();
            assert_eq!(started(&output), IN_MEMORY, "{name}");
            assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "{name}");
        }
    }
}

#[test]
fn what_a_killed_start_left_is_replaced() {
    let (_folder, path, cache) = cached("killed", &["x86-64-v1"]);
    let place = cache.join("hash-x86-64-v1");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
    // The shell's process becomes the launcher's: its number, digits reversed, names what it would write.
    let script = "printf half >\"$1/.new-$(echo $$ | rev)\"; exec \"$0\"";
    let mut shell = Command::new("sh");
    let output =
        shell.args(["-c", script]).arg(&path).arg(&place).env("DEBURR_CACHE", &cache).output().unwrap();
    assert_eq!(started(&output), place.join("prog").to_str().unwrap());
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
}
