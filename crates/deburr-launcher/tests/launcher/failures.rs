//! What is damaged, missing or hostile, and what the launcher says to it.

use crate::tree::{Tree, complaints, fields, program, table, write_program};
use deburr_launcher::{Build, Table, launcher};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v2"];

/// What happens where the file of the higher of two variants is replaced by other bytes: the lower one runs, after a line.
fn replaced(name: &str, bytes: &[u8]) -> String {
    let tree = Tree::new(name, &LEVELS);
    write_program(&tree.variant(LEVELS[1]), bytes);
    let output = tree.run(&[]);
    assert_eq!(fields(&output)[0], LEVELS[0]);
    let lines = complaints(&output);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (place, fault) = lines[0].split_once(": the variant for x86-64-v2 ").expect("which variant it is");
    assert!(place.ends_with("/bin/../bin-x86-64-v2/prog"), "{place}");
    fault.to_owned()
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_variant_that_is_not_installed_is_passed_over_silently() {
    let tree = Tree::new("missing", &LEVELS);
    fs::remove_dir_all(tree.folder.join("bin-x86-64-v2")).unwrap();
    let output = tree.run(&[]);
    assert_eq!((fields(&output)[0].as_str(), complaints(&output)), (LEVELS[0], Vec::new()));
}

#[test]
fn damaged_variants_are_passed_over_with_a_line() {
    let whole = program(LEVELS[1]);
    assert_eq!(replaced("empty", b""), "is no ELF file");
    assert_eq!(replaced("script", b"#!/bin/sh\nexit 0\n"), "is no ELF file");
    assert_eq!(replaced("foreign", &program("armv8.0-a")), "is for another architecture");
    assert_eq!(replaced("head", &whole[..64]), "is truncated");
    assert_eq!(replaced("headers", &whole[..64 + 56 + 20]), "is truncated");
    // Segments are cut from here on; what is behind them are section headers, which no loader reads.
    for length in [1000, whole.len() / 3, whole.len() / 2] {
        assert_eq!(replaced(&format!("cut-{length}"), &whole[..length]), "is truncated");
    }
    let mut headless = whole;
    headless[56..58].copy_from_slice(&[0, 0]);
    assert_eq!(replaced("headless", &headless), "has no program headers");
}

#[test]
fn an_unreadable_or_unexecutable_variant_is_passed_over_with_a_line() {
    let tree = Tree::new("permissions", &LEVELS);
    let with_mode = |mode: u32| -> Output {
        fs::set_permissions(tree.variant(LEVELS[1]), fs::Permissions::from_mode(mode)).unwrap();
        as_nobody().arg(tree.launcher()).output().unwrap()
    };
    for (mode, fault) in
        [(0o111, "cannot be read: permission denied"), (0o644, "cannot be executed: permission denied")]
    {
        let output = with_mode(mode);
        assert_eq!(fields(&output)[0], LEVELS[0]);
        assert!(complaints(&output)[0].ends_with(fault), "{mode:o}: {output:?}");
    }
    assert_eq!(fields(&with_mode(0o555))[0], LEVELS[1]);
}

/// A command that runs what follows without root's rights.
pub(crate) fn as_nobody() -> Command {
    if !is_root() {
        return Command::new("env");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
}

#[test]
fn a_launcher_never_starts_a_launcher() {
    let tree = Tree::new("itself", &LEVELS);
    for place in LEVELS {
        fs::remove_file(tree.variant(place)).unwrap();
        symlink(tree.launcher(), tree.variant(place)).unwrap();
    }
    let output = tree.run(&[]);
    let lines = complaints(&output);
    assert_eq!(output.status.code(), Some(126));
    assert!(lines[0].ends_with("is a launcher itself, and no variant"), "{lines:?}");
    assert!(lines[2].ends_with("no variant could be started; install the program again"), "{lines:?}");
    // A copy with another table, which names the first one.
    let other = launcher(&table(&["x86-64-v1"])).unwrap();
    for place in LEVELS {
        fs::remove_file(tree.variant(place)).unwrap();
        write_program(&tree.variant(place), &other);
    }
    assert_eq!(tree.run(&[]).status.code(), Some(126));
}

#[test]
fn a_launcher_that_moved_alone_says_so() {
    let tree = Tree::new("alone", &LEVELS);
    let alone = tree.folder.join("elsewhere/prog");
    fs::create_dir_all(alone.parent().unwrap()).unwrap();
    fs::copy(tree.launcher(), &alone).unwrap();
    let output = Command::new(&alone).output().unwrap();
    // Its variants would be found next to its new folder.
    assert_eq!(fields(&output).len(), 5);
    let alone = tree.folder.join("else/where/deeper/prog");
    fs::create_dir_all(alone.parent().unwrap()).unwrap();
    fs::copy(tree.launcher(), &alone).unwrap();
    let output = Command::new(&alone).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let expected = format!(
        "{}: no variant that runs here is in its place below {}/; the launcher moves only together with its variants",
        alone.display(),
        alone.parent().unwrap().display()
    );
    assert_eq!(complaints(&output), [expected]);
}

#[test]
fn a_cpu_below_the_lowest_level_is_told_what_it_lacks() {
    let tree = Tree::new("below", &["x86-64-v3", "x86-64-v4"]);
    let output = tree.on("qemu-x86_64", "Nehalem", &[]);
    assert_eq!(output.status.code(), Some(126));
    let lines = complaints(&output);
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].contains("needs x86-64-v3 or more; this CPU or its operating system lacks FMA, "),
        "{lines:?}"
    );
    assert!(!lines[0].contains("AVX512F") && !lines[0].contains("SSE4_2"), "{lines:?}");
}

#[test]
fn a_level_that_does_not_run_is_an_error_and_one_of_another_program_is_ignored() {
    let tree = Tree::new("levels", &["x86-64-v1", "x86-64-v3"]);
    let output = tree.on("qemu-x86_64", "Nehalem", &[("DEBURR_LEVEL", "x86-64-v3")]);
    assert_eq!(output.status.code(), Some(126));
    assert!(
        complaints(&output)[0].contains("DEBURR_LEVEL=x86-64-v3: this CPU or its operating system lacks FMA")
    );
    for level in ["v3", &"x".repeat(100_000)] {
        let output = tree.on("qemu-x86_64", "Haswell", &[("DEBURR_LEVEL", level)]);
        assert_eq!((fields(&output)[0].as_str(), complaints(&output)), ("x86-64-v3", Vec::new()));
        let explained = [("DEBURR_LEVEL", level), ("DEBURR_EXPLAIN", "1")];
        let lines = complaints(&tree.on("qemu-x86_64", "Haswell", &explained));
        let ignored = lines.iter().find(|line| line.contains("DEBURR_LEVEL=")).unwrap();
        assert!(
            ignored.ends_with(" is ignored: there are x86-64-v3, x86-64-v1") && ignored.len() < 500,
            "{ignored}"
        );
    }
    // It is not replaced by another one that would run.
    fs::remove_file(tree.variant("x86-64-v1")).unwrap();
    assert_eq!(tree.run(&[("DEBURR_LEVEL", "x86-64-v1")]).status.code(), Some(127));
}

#[test]
fn a_pipe_in_the_place_of_a_variant_does_not_make_it_wait() {
    let tree = Tree::new("pipe", &LEVELS);
    fs::remove_file(tree.variant(LEVELS[1])).unwrap();
    assert!(Command::new("mkfifo").arg(tree.variant(LEVELS[1])).status().unwrap().success());
    let output = tree.run(&[]);
    assert_eq!(fields(&output)[0], LEVELS[0]);
    assert!(complaints(&output)[0].ends_with("the variant for x86-64-v2 is no regular file"), "{output:?}");
}

/// The text that a tool prints of a file.
fn printed(tool: &str, option: &str, file: &Path) -> String {
    let output = Command::new(tool).arg(option).arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_variant_of_another_build_is_passed_over_and_a_stripped_one_is_not() {
    let compiled = Tree::new("builds", &LEVELS);
    let notes = printed("readelf", "-n", &compiled.variant(LEVELS[1]));
    let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).unwrap().to_owned();
    let of = |id: Option<&str>, loaded: u64| {
        let mut table = table(&LEVELS);
        table.variants[1].build = Build { id: id.map(str::to_owned), loaded };
        Tree::with("build", &table)
    };
    let is_started = |tree: &Tree| {
        let output = tree.run(&[]);
        let started = fields(&output)[0] == LEVELS[1];
        let expected = if started { Vec::new() } else { vec!["is of another build".to_owned()] };
        let faults: Vec<String> = complaints(&output)
            .iter()
            .filter_map(|line| line.rsplit_once("x86-64-v2 "))
            .map(|it| it.1.into())
            .collect();
        assert_eq!(faults, expected, "{output:?}");
        started
    };
    let known = of(Some(&id), 0);
    assert!(is_started(&known));
    assert!(Command::new("strip").arg(known.variant(LEVELS[1])).status().unwrap().success());
    assert!(is_started(&known));
    for other in [&id[2..], &format!("{id}00"), &id.replace(|digit: char| digit.is_ascii_digit(), "a"), "0"] {
        assert!(!is_started(&of(Some(other), 0)), "{other}");
    }
    // Without a build ID, what is loaded says it, which stripping leaves alone.
    let headers = printed("readelf", "-lW", &compiled.variant(LEVELS[1]));
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
    let ends = headers.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let loaded =
        ends.filter(|it| it.first() == Some(&"LOAD")).map(|it| number(it[1]) + number(it[4])).max().unwrap();
    let sized = of(None, loaded);
    assert!(is_started(&sized));
    assert!(Command::new("strip").arg(sized.variant(LEVELS[1])).status().unwrap().success());
    assert!(is_started(&sized) && !is_started(&of(None, loaded + 1)));
}

#[test]
fn long_arguments_names_and_environments_pass() {
    let tree = Tree::new("long", &["x86-64-v1"]);
    let long = "x".repeat(100_000);
    let output = Command::new(tree.launcher()).args(vec![&long; 10]).env("SEEN", &long).output().unwrap();
    assert_eq!(fields(&output)[3..], ["11".to_owned(), long]);
    let mut table = table(&["x86-64-v1"]);
    table.variants[0].path = format!("{}prog", "./".repeat(3000));
    let tree = Tree::with("long-path", &table);
    let output = tree.run(&[]);
    assert_eq!(output.status.code(), Some(126));
    assert!(complaints(&output)[0].ends_with("has too long a path"), "{output:?}");
}

/// Runs a program in a root folder of its own, in which there is no /proc.
pub(crate) fn without_proc(root: &Path, program: &str) -> Output {
    let mut command = Command::new(if is_root() { "chroot" } else { "unshare" });
    if !is_root() {
        command.args(["-r", "chroot"]);
    }
    command.arg(root).arg(program).output().unwrap()
}

#[test]
fn without_proc_the_executed_name_leads_to_the_tree() {
    let tree = Tree::new("no-proc", &LEVELS);
    fs::create_dir_all(tree.folder.join("usr/local")).unwrap();
    symlink("../bin/prog", tree.folder.join("usr/absolute")).unwrap();
    symlink("/usr/absolute", tree.folder.join("usr/local/prog")).unwrap();
    for name in ["/bin/prog", "/usr/local/prog", "bin/prog"] {
        let output = without_proc(&tree.folder.join("."), name);
        assert_eq!(fields(&output)[..3], ["x86-64-v2".to_owned(), name.to_owned(), String::new()]);
    }
}

/// The launcher as a program that takes itself to run with more rights than its user: it sets AT_SECURE on its own stack.
fn secure_launcher(tree: &Tree, table: &Table) {
    let bytes: Vec<String> = table.encode().unwrap().iter().map(|byte| byte.to_string()).collect();
    let source = format!(
        r#"
#include "launcher.c"
_Alignas(16) const char deburr_own_table[] = {{ {} }};
__attribute__((used)) static void secured(long *stack) {{
    uint64_t *words = (uint64_t *)(stack + 1 + stack[0] + 1);
    while (*words) words++;
    for (words++; words[0]; words += 2)
        if (words[0] == SECURE) words[1] = 1;
    start(stack);
}}
__asm__(".globl entry\nentry:\nmov %rsp, %rdi\nand $-16, %rsp\ncall secured\n");
"#,
        bytes.join(",")
    );
    let file = tree.folder.file("secured.c", source.as_bytes());
    let status = Command::new("x86_64-linux-gnu-gcc")
        .args([
            "-O1",
            "-fno-stack-protector",
            "-ffreestanding",
            "-static",
            "-nostdlib",
            "-Wl,-e,entry",
            "-Wl,--build-id=none",
        ])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/c"))
        .args(["-o".as_ref(), tree.launcher().as_os_str(), file.as_ref()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn more_rights_than_the_user_s_ignore_the_environment_and_need_a_prefix() {
    let hostile = [("DEBURR_LEVEL", "x86-64-v1"), ("DEBURR_EXPLAIN", "1")];
    let installed = Tree::new("secure-installed", &LEVELS);
    let prefix = installed.launcher().parent().unwrap().display().to_string();
    let table_with = |prefix: Option<&str>| Table { prefix: prefix.map(str::to_owned), ..table(&LEVELS) };
    let check = |refused: &Output, started: &Output| {
        assert_eq!(refused.status.code(), Some(126), "{refused:?}");
        assert!(complaints(refused)[0].ends_with("was assembled without --prefix: refused"), "{refused:?}");
        // The prefix is another tree's: only that counts, wherever the launcher is.
        assert_eq!((fields(started)[0].as_str(), complaints(started)), (LEVELS[1], Vec::new()));
        assert!(fields(started)[2].contains("secure-installed"), "{started:?}");
    };
    let outputs = [None, Some(prefix.as_str())].map(|prefix| {
        let tree = Tree::new("secured", &LEVELS);
        secure_launcher(&tree, &table_with(prefix));
        tree.run(&hostile)
    });
    check(&outputs[0], &outputs[1]);
    // The same with the kernel's word for it, where the test may set the bit for another user.
    if is_root() {
        let outputs = [None, Some(prefix.as_str())].map(|prefix| {
            let tree = Tree::with("secure", &table_with(prefix));
            fs::set_permissions(tree.launcher(), fs::Permissions::from_mode(0o4755)).unwrap();
            as_nobody().arg(tree.launcher()).envs(hostile).output().unwrap()
        });
        check(&outputs[0], &outputs[1]);
    }
}

#[test]
fn what_a_program_with_more_rights_starts_does_not_see_the_variables() {
    let tree = Tree::new("secure-children", &LEVELS);
    let prefix = tree.launcher().parent().unwrap().display().to_string();
    let table = Table { prefix: Some(prefix), ..table(&LEVELS) };
    fs::copy("/usr/bin/env", tree.variant(LEVELS[1])).unwrap();
    secure_launcher(&tree, &table);
    let mut command = Command::new(tree.launcher());
    command.env_clear().envs([("A", "1"), ("DEBURR_EXPLAIN", "exit"), ("DEBURR_CACHE", "/x"), ("Z", "2")]);
    command.env("DEBURR_LEVEL", "x86-64-v1");
    // What the loader of the variant would follow, where a security module has given the launcher its domain and the kernel therefore
    // does not tell the variant.
    let followed = [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "GLIBC_TUNABLES",
        "GCONV_PATH",
        "MALLOC_TRACE",
        "TZDIR",
    ];
    command.envs(followed.map(|name| (name, ""))).envs([("LDFLAGS", "-s"), ("LOCPATHS", "3"), ("TZ", "UTC")]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut seen: Vec<&str> = text.lines().collect();
    seen.sort_unstable();
    let kept = vec!["A=1", "LDFLAGS=-s", "LOCPATHS=3", "TZ=UTC", "Z=2"];
    assert_eq!((seen, output.stderr.len()), (kept, 0));
}
