//! `deburr try`: programs that die, catch, fork, load, make code and hide, run as other CPUs; and what `check` makes of it.

use super::{deburr, stderr, stdout};
use deburr_test_support::{Scratch, schema_faults};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output, Stdio};

/// One program with everything that a run may meet, chosen by its first argument.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static void caught(int signal) { (void)signal; siglongjmp(back, 1); }

#if defined(__x86_64__)
__attribute__((target("avx2"), noinline)) int fast(const int *p) {
    int s = 0;
    for (int i = 0; i < 8; i++) s += p[i] * 3;
    __builtin_ia32_vzeroupper();
    return s;
}
__attribute__((target("lzcnt"), noinline)) int leading(unsigned value) { return __builtin_clz(value); }
static int has(void) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2"); }
#else
#include <sys/auxv.h>
__attribute__((target("+lse"), noinline)) int fast(const int *p) {
    int old;
    __asm__ volatile("ldaddal %w1, %w0, [%2]" : "=r"(old) : "r"(1), "r"(p) : "memory");
    return old;
}
int leading(unsigned value) { return __builtin_clz(value); }
static int has(void) { return (getauxval(AT_HWCAP) >> 8) & 1; }
#endif

int main(int argc, char **argv) {
    int numbers[8] = {1, 2, 3}, status = 0;
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "die")) return fast(numbers) & 0;
    if (!strcmp(mode, "guarded")) return has() ? fast(numbers) & 0 : 0;
    if (!strcmp(mode, "catch")) {
        signal(SIGILL, caught);
        if (!sigsetjmp(back, 1)) fast(numbers);
        return 0;
    }
    if (!strcmp(mode, "fork-die")) {
        if (!fork()) _exit(fast(numbers));
        wait(&status);
        return 0;
    }
    if (!strcmp(mode, "trap")) __builtin_trap();
    if (!strcmp(mode, "exec")) {
        if (!fork()) { execl("/no/such/program", "x", NULL); execl("/bin/true", "true", NULL); _exit(1); }
        wait(&status);
        return 0;
    }
    if (!strcmp(mode, "leave")) execl("/bin/true", "true", NULL);
    if (!strcmp(mode, "close")) {
        for (int i = 3; i < 100; i++) close(i);
        for (int i = 3; i < 40; i++) {
            int file = open(argv[2], O_RDWR | O_CREAT | O_APPEND, 0600);
            if (write(file, "x", 1) != 1) return 1;
        }
        int refused = 0;
        for (int i = 10; i < 99; i++) refused += dup2(3, i) < 0;
        return refused != 1;
    }
    if (!strcmp(mode, "load")) {
        void *library = dlopen(argv[2], RTLD_NOW);
        int (*loaded)(const int *) = library ? (int (*)(const int *))dlsym(library, "fast") : NULL;
        return loaded ? loaded(numbers) & 0 : 9;
    }
    if (!strcmp(mode, "lzcnt")) {
        int count = leading(argc);
        __asm__ volatile("" : : "r"(count));
        return 0;
    }
    if (!strcmp(mode, "make")) {
#if defined(__x86_64__)
        static const unsigned char code[] = {0x31, 0xc0, 0xc3}; /* xor eax, eax; ret */
        for (int i = 0; i < 50; i++) {
            void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(page, code, sizeof code);
            if (((int (*)(void))page)()) return 1;
        }
#endif
        return 0;
    }
    if (!strcmp(mode, "print")) puts("printed");
    if (!strcmp(mode, "wait")) for (;;) pause();
    return argc > 1 ? 7 : 0;
}
"#;

/// Compiles the program.
fn program(scratch: &Scratch, compiler: &str, flags: &[&str], name: &str) -> String {
    let source = scratch.file("program.c", PROGRAM.as_bytes());
    let path = scratch.join(name);
    let mut command = Command::new(compiler);
    command.args(["-O1", "-w"]).args(flags).arg("-o").arg(&path).arg(&source).arg("-ldl");
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{}", stderr(&output));
    path.to_str().unwrap().to_owned()
}

fn native(scratch: &Scratch) -> String {
    program(scratch, "gcc", &["-rdynamic"], "program")
}

fn run_as(cpu: &str, options: &[&str], command: &[&str]) -> Output {
    deburr(&[&["try", "--cpu", cpu], options, &["--"], command].concat())
}

/// The record of a run, checked against its schema, and the exit status.
fn tried(cpu: &str, command: &[&str]) -> (Value, Option<i32>) {
    let output = run_as(cpu, &["--format", "json"], command);
    let record: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "try"]).stdout).unwrap();
    let faults = schema_faults(&schema, &record);
    assert!(faults.is_empty(), "{faults:?}");
    (record, output.status.code())
}

/// What is known of a file.
fn file<'r>(record: &'r Value, path: &str) -> &'r Value {
    let files = record["files"].as_array().unwrap();
    let path = deburr_text::one_line(path);
    files.iter().find(|file| file["path"] == *path).unwrap_or_else(|| panic!("{path} in {record:#}"))
}

/// A function of a file, if it was entered.
fn function<'r>(file: &'r Value, name: &str) -> Option<&'r Value> {
    file["functions"].as_array().unwrap().iter().find(|function| function["function"] == name)
}

#[test]
fn a_program_that_dies_is_shown_with_function_instruction_and_path() {
    let scratch = Scratch::new("try-dies");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "die"]);
    assert_eq!((status, &record["runs"][0]["end"]["signal"]), (Some(1), &4.into()));
    let trap = &file(&record, &path)["traps"][0];
    assert_eq!((&trap["function"], &trap["count"], &trap["deaths"]), (&"fast".into(), &1.into(), &1.into()));
    assert!(
        trap["features"].as_array().unwrap().iter().all(|it| it.as_str().unwrap().starts_with("AVX")),
        "{trap}"
    );
    assert!(trap["instruction"].as_str().unwrap().starts_with('v'), "{trap}");
    // Exported and called without a check: the analysis knew it.
    assert_eq!(trap["reach"], "required");
    let entered = function(file(&record, &path), "fast").unwrap();
    assert_eq!((&entered["executed"], &entered["refused"]), (&0.into(), &1.into()));
    let text = stdout(&run_as("x86-64-v2", &[], &[&path, "die"]));
    assert!(text.contains("the command died of SIGILL") && text.contains(" in fast+0x"), "{text}");
    // As a CPU that has it, nothing is there to be shown.
    let (record, status) = tried("x86-64-v3", &[&path, "die"]);
    assert_eq!((status, &record["runs"][0]["end"]["status"]), (Some(0), &0.into()));
    assert!(
        record["files"].as_array().unwrap().iter().all(|file| file["path"] != path.as_str()),
        "{record:#}"
    );
}

#[test]
fn a_check_keeps_a_program_alive_and_the_function_is_not_entered() {
    let scratch = Scratch::new("try-guarded");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "guarded"]);
    let file = file(&record, &path);
    assert_eq!((status, file["above"].as_u64(), function(file, "fast")), (Some(0), Some(2), None));
    // A static program is no different.
    let path = program(&scratch, "gcc", &["-static"], "static");
    let (record, status) = tried("x86-64-v2", &[&path, "guarded"]);
    assert_eq!((status, function(self::file(&record, &path), "fast")), (Some(0), None));
}

#[test]
fn a_program_that_catches_sigill_is_not_called_dead() {
    let scratch = Scratch::new("try-catches");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "catch"]);
    let trap = &file(&record, &path)["traps"][0];
    assert_eq!((status, &trap["function"], &trap["deaths"]), (Some(0), &"fast".into(), &0.into()));
    let text = stdout(&run_as("x86-64-v2", &[], &[&path, "catch"]));
    assert!(text.contains("and the program went on"), "{text}");
}

#[test]
fn a_forked_process_that_dies_is_seen_though_its_parent_succeeds() {
    let scratch = Scratch::new("try-forks");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "fork-die"]);
    assert_eq!((status, &record["runs"][0]["end"]["status"]), (Some(1), &0.into()));
    assert_eq!(file(&record, &path)["traps"][0]["deaths"], 1);
}

#[test]
fn a_trap_on_purpose_is_said_to_be_one() {
    let scratch = Scratch::new("try-trap");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v3", &[&path, "trap"]);
    let trap = &file(&record, &path)["traps"][0];
    assert_eq!(
        (status, &trap["instruction"], &trap["features"]),
        (Some(1), &"ud2".into(), &Value::Array(vec![]))
    );
}

#[test]
fn programs_that_go_on_natively_are_counted() {
    let scratch = Scratch::new("try-native");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "exec"]);
    assert_eq!((status, &record["runs"][0]["native"]), (Some(0), &serde_json::json!({"/bin/true": 1})));
    // Where the command itself leaves, nothing was tried.
    let output = run_as("x86-64-v2", &[], &[&path, "leave"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("ran natively, not as x86-64-v2: /bin/true"), "{}", stdout(&output));
}

#[test]
fn a_program_that_closes_everything_does_not_get_the_log_into_its_files() {
    let scratch = Scratch::new("try-closes");
    let path = native(&scratch);
    let precious = scratch.join("precious");
    let (record, status) = tried("x86-64-v2", &[&path, "close", precious.to_str().unwrap()]);
    assert_eq!((status, &record["runs"][0]["end"]["status"]), (Some(0), &0.into()));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "x".repeat(37));
    assert!(record["runs"][0]["blocks"].as_u64().unwrap() > 100);
}

#[test]
fn a_library_that_is_opened_by_name_is_the_file_that_is_named() {
    let scratch = Scratch::new("try-loads");
    let path = native(&scratch);
    let name = "a \") = 3\n9 execve(\"b.so";
    let library = program(&scratch, "gcc", &["-shared", "-fPIC"], name);
    let (record, status) = tried("x86-64-v2", &[&path, "load", &library]);
    assert_eq!(status, Some(1), "{record:#}");
    assert_eq!(file(&record, &library)["traps"][0]["deaths"], 1);
    let text = stdout(&run_as("x86-64-v2", &[], &[&path, "load", &library]));
    assert!(text.lines().any(|line| line.contains("a \") = 3\\x0a9 execve")), "{text}");
}

#[test]
fn what_the_emulation_executes_although_the_cpu_does_not_have_it_fails_a_run() {
    let scratch = Scratch::new("try-executes");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "lzcnt"]);
    let leading = function(file(&record, &path), "leading").unwrap();
    assert_eq!((status, &record["runs"][0]["end"]["status"]), (Some(1), &0.into()));
    assert_eq!((&leading["executed"], &leading["features"]), (&1.into(), &serde_json::json!(["LZCNT"])));
}

#[test]
fn code_that_is_made_at_run_time_is_in_no_file() {
    let scratch = Scratch::new("try-makes");
    let path = native(&scratch);
    let (record, status) = tried("x86-64-v2", &[&path, "make"]);
    assert_eq!(status, Some(0));
    assert!(record["runs"][0]["blocks_elsewhere"].as_u64().unwrap() >= 50, "{record:#}");
}

#[test]
fn a_command_that_goes_on_is_ended_by_the_time_limit_and_its_output_is_kept_apart() {
    let scratch = Scratch::new("try-waits");
    let path = native(&scratch);
    let output = run_as("x86-64-v1", &["--timeout", "1"], &[&path, "wait"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("ran until --timeout"), "{}", stdout(&output));
    let output = run_as("x86-64-v1", &[], &[&path, "print"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), "printed\n"));
    assert!(stdout(&output).contains("ended with exit status 7"), "{}", stdout(&output));
}

#[test]
fn a_script_is_run_by_its_interpreter_as_that_cpu() {
    let scratch = Scratch::new("try-script");
    let script = scratch.file("run", b"#!/usr/bin/env sh\necho \"$1\" \"$(basename $0)\"\n");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = run_as("x86-64-v2", &[], &[&script, "given"]);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "given run\n"),
        "{}",
        stdout(&output)
    );
    assert!(stdout(&output).contains("ran natively"), "basename: {}", stdout(&output));
}

#[test]
fn what_cannot_be_tried_is_said_with_what_to_do() {
    let scratch = Scratch::new("try-cannot");
    let path = native(&scratch);
    let object = scratch.file("arm32", &super::arm32());
    for (cpu, command, reason) in [
        ("x86-64-v2", "no-such-command-here", "no-such-command-here: command not found"),
        ("x86-64-v4", &*path, "AVX512F, AVX512VL"),
        ("armv8.0-a", &*path, "it is for x86_64, and --cpu armv8.0-a is of aarch64"),
        ("x86-64-v2", &*object, "no 64-bit ELF program, and no script"),
        ("nehalen", &*path, "did you mean 'nehalem'?"),
    ] {
        let output = run_as(cpu, &[], &[command]);
        assert_eq!(output.status.code(), Some(2), "{cpu} {command}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    let mut without = Command::new(crate::program());
    without.env("PATH", scratch.path()).args(["try", "--cpu", "x86-64-v2", "--", &path]).stdin(Stdio::null());
    let output = without.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("apt-get install qemu-user"), "{}", stderr(&output));
}

#[test]
fn records_of_several_runs_add_up_and_check_shows_them() {
    let scratch = Scratch::new("try-records");
    let path = native(&scratch);
    let record = scratch.join("v2.json").to_str().unwrap().to_owned();
    for mode in ["catch", "guarded", "lzcnt"] {
        let output = run_as("x86-64-v2", &["--record", &record, "--append"], &[&path, mode]);
        assert_eq!(stderr(&output), "", "{mode}");
    }
    let other = run_as("x86-64-v1", &["--record", &record, "--append"], &[&path, "guarded"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("give another file"), "{}", stderr(&other));

    let (document, _) = super::json(&["--tried", &record, &path]);
    let schema: Value = serde_json::from_slice(&deburr(&["schema"]).stdout).unwrap();
    assert!(schema_faults(&schema, &document).is_empty(), "{:?}", schema_faults(&schema, &document));
    let report = &document["files"][0];
    let expected = serde_json::json!([{"cpu": "x86-64-v2", "runs": 3, "above": 2, "entered": 2, "executed": 1, "died": 0}]);
    assert_eq!(report["tried"], expected);
    let functions = report["isa_functions"].as_array().unwrap();
    let fast = functions.iter().find(|function| function["function"] == "fast").unwrap();
    let expected =
        serde_json::json!([{"cpu": "x86-64-v2", "runs": 3, "entered": 1, "executed": 0, "died": 0}]);
    assert_eq!(fast["tried"], expected);
    let text = stdout(&deburr(&["check", "--verbose", "--tried", &record, &path]));
    assert!(text.contains("entered in 1 of 3 runs as x86-64-v2: without harm"), "{text}");

    // Another build of that name has nothing of it.
    let rebuilt = program(&scratch, "gcc", &["-rdynamic", "-g"], "program");
    let output = deburr(&["check", "--tried", &record, &rebuilt]);
    assert!(stderr(&output).contains("another build"), "{}", stderr(&output));
    assert!(deburr(&["check", "--tried", &path, &path]).status.code() == Some(2), "no record");
}

#[test]
fn a_death_in_a_function_that_seemed_guarded_is_an_error_of_check() {
    let scratch = Scratch::new("try-contradicts");
    let source = scratch.file(
        "guarded.c",
        b"__attribute__((target(\"avx2\"), noinline)) static int fast(int *p) {\n\
          int s = 0; for (int i = 0; i < 8; i++) s += p[i] * 3; __builtin_ia32_vzeroupper(); return s; }\n\
          int numbers[8];\n\
          int main(void) { __builtin_cpu_init(); return __builtin_cpu_supports(\"avx2\") ? fast(numbers) : 0; }\n",
    );
    let path = scratch.join("guarded").to_str().unwrap().to_owned();
    let gcc = Command::new("gcc").args(["-O1", "-w", "-o", &path, &source]).status().unwrap();
    assert!(gcc.success());
    let (before, _) = super::json(&[&path]);
    let fast = &before["files"][0]["isa_functions"][0];
    assert_eq!(fast["reach"], "guarded", "{fast:#}");
    // No run does that, and so it is written into the record.
    let (mut record, _) = tried("x86-64-v2", &[&path]);
    let files = record["files"].as_array_mut().unwrap();
    let file = files.iter_mut().find(|file| file["path"] == path.as_str()).unwrap();
    file["functions"] = serde_json::json!([{
        "function": "fast", "svma": fast["svma"], "features": ["AVX2"], "reach": "guarded",
        "instructions": 1, "executed": 0, "refused": 1, "runs": 1,
    }]);
    file["traps"] = serde_json::json!([{
        "svma": fast["svma"], "function": "fast", "start": fast["svma"], "instruction": "vzeroupper",
        "features": ["AVX2"], "reach": "guarded", "count": 1, "deaths": 1,
    }]);
    let kept = scratch.file("v2.json", record.to_string().as_bytes());
    let (after, output) = super::json(&["--tried", &kept, &path]);
    let report = &after["files"][0];
    // The verdict keeps saying what the analysis knows.
    assert_eq!((output.status.code(), &report["isa_functions"][0]["reach"]), (Some(1), &"guarded".into()));
    let findings = report["findings"].as_array().unwrap();
    let died = findings.iter().find(|finding| finding["evidence"]["run"] == "x86-64-v2").unwrap();
    assert_eq!((&died["severity"], &died["rule"]), (&"error".into(), &"above-baseline".into()));
}

#[test]
fn programs_for_aarch64_are_tried_as_its_cpus() {
    let scratch = Scratch::new("try-arm");
    let path = program(&scratch, "aarch64-linux-gnu-gcc", &["-static"], "arm");
    let (record, status) = tried("cortex-a53", &[&path, "die"]);
    assert_eq!(status, Some(1));
    let trap = &file(&record, &path)["traps"][0];
    assert_eq!((&trap["function"], &trap["features"]), (&"fast".into(), &serde_json::json!(["FEAT_LSE"])));
    assert!(trap["instruction"].as_str().unwrap().starts_with("ldaddal"), "{trap}");
    for (cpu, mode, expected) in [
        ("armv8.0-a", "guarded", 0),
        ("armv8.0-a", "catch", 0),
        ("neoverse-n1", "die", 0),
        ("armv8.9-a", "die", 2),
    ] {
        assert_eq!(run_as(cpu, &[], &[&path, mode]).status.code(), Some(expected), "{cpu} {mode}");
    }
    let (record, _) = tried("armv8.0-a", &[&path]);
    let besides = record["cpu"]["besides"].as_array().unwrap();
    assert!(besides.contains(&"FEAT_CRC32".into()) && !besides.contains(&"FEAT_LSE".into()), "{besides:?}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_that_refused_to_start_fails_the_run() {
    let scratch = Scratch::new("try-refused");
    let source = scratch.file(
        "refuses.c",
        br#"#include <stdio.h>
int main(void) {
    if (!__builtin_cpu_supports("avx2")) { fputs("refuses: AVX2 is needed here\n", stderr); return 1; }
    return puts("works") < 0;
}"#,
    );
    let path = scratch.join("refuses");
    let made = Command::new("gcc").arg("-O1").arg("-o").arg(&path).arg(&source).output().expect("gcc");
    assert!(made.status.success(), "{}", stderr(&made));
    let path = path.to_str().unwrap();
    let (record, status) = tried("nehalem", &[path]);
    let refused = &file(&record, path)["refused"];
    assert_eq!((status, &refused["without"]), (Some(1), &serde_json::json!(["AVX2"])), "{record:#}");
    assert_eq!(refused["text"], "refuses: AVX2 is needed here");
    let output = run_as("nehalem", &[], &[path]);
    assert!(stdout(&output).contains("refused  the program refuses without AVX2"), "{}", stdout(&output));
    let (record, status) = tried("haswell", &[path]);
    assert_eq!(status, Some(0), "{record:#}");
    assert!(record["files"].as_array().unwrap().iter().all(|file| file["refused"].is_null()), "{record:#}");
}
