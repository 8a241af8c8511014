//! `deburr record`: with a perf that is a script and says what it was given, and with the real one.

use super::{deburr, stderr, stdout};
use deburr_test_support::Scratch;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A whole profile, of `cpu-clock`.
const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-profile/tests/recordings/chains.data");

/// What a perf does that writes a profile; then it runs the command.
pub(super) const WRITES: &str = r#"cat "$profile" > "$output"; run "$@""#;

/// Puts a perf that is a script into a folder, and that before all others. It has the path of `-o` in `$output`, that of a whole
/// profile in `$profile`, and the function `run` for the command. The words that it was given are in the file `words`.
pub(super) fn pretend(command: &mut Command, folder: &Path, does: &str) {
    fs::create_dir_all(folder).unwrap();
    let script = format!(
        r#"#!/bin/sh
printf '%s\n' "$@" > '{folder}/words'
profile='{PROFILE}'
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    [ "$1" != -o ] || output=$2
    shift
done
run() {{ [ $# = 0 ] || {{ shift; "$@"; }}; }}
{does}
"#,
        folder = folder.display()
    );
    let path = folder.join("perf");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let paths = [folder.to_owned()].into_iter().chain(std::env::split_paths(&others));
    command.env("PATH", std::env::join_paths(paths).unwrap());
}

fn record(scratch: &Scratch, does: &str, arguments: &[&OsStr]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.path()).arg("record").args(arguments).stdin(Stdio::null());
    pretend(&mut command, &scratch.join("bin"), does);
    command.output().unwrap()
}

/// The same with an event, so that the kernel is not queried.
fn by_clock(scratch: &Scratch, does: &str, arguments: &[&str]) -> Output {
    let arguments = [&["--event", "cpu-clock"], arguments].concat();
    record(scratch, does, &arguments.iter().map(OsStr::new).collect::<Vec<_>>())
}

fn words(scratch: &Scratch) -> String {
    fs::read_to_string(scratch.join("bin/words")).unwrap().replace('\n', " ")
}

/// Waits for what a test waits for.
fn until(what: &str, is_true: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_true() {
        assert!(since.elapsed() < Duration::from_secs(300), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn perf_gets_the_options_in_its_own_words_and_the_command_as_it_is() {
    let scratch = Scratch::new("record-words");
    let output = by_clock(
        &scratch,
        WRITES,
        &["--event", "cache-misses", "--frequency", "99", "--", "echo", "-o", "--pid", "-- x"],
    );
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "-o --pid -- x\n"));
    let words = words(&scratch);
    let begins = "record -k mono -F 99 -e cpu-clock -e cache-misses --call-graph fp -o .perf.data.deburr-";
    assert!(words.starts_with(begins) || words.starts_with(&begins.replace(".perf", "./.perf")), "{words}");
    assert!(words.ends_with(" -q -- echo -o --pid -- x "), "{words}");
    // Those that cost or say something of the build ids are perf's own affair.
    assert!(!words.contains(" -B ") && !words.contains(" -N "), "{words}");
    assert_eq!(fs::read(scratch.join("perf.data")).unwrap(), fs::read(PROFILE).unwrap());
    let said = stderr(&output);
    assert!(said.starts_with("deburr: perf.data: ") && said.lines().count() == 1, "{said}");
    assert!(said.contains(" samples of cpu-clock; next: deburr check --profile perf.data "), "{said}");
    for (mode, expected) in [("dwarf", " --call-graph dwarf "), ("lbr", " --call-graph lbr ")] {
        by_clock(&scratch, WRITES, &["--call-graph", mode, "--", "true"]);
        assert!(self::words(&scratch).contains(expected), "{}", self::words(&scratch));
    }
    by_clock(&scratch, WRITES, &["--call-graph", "none", "--", "true"]);
    assert!(!self::words(&scratch).contains("call-graph"));
    by_clock(&scratch, WRITES, &["--pid", "1", "--pid", "1,1"]);
    assert!(self::words(&scratch).ends_with(" -p 1,1,1 "), "{}", self::words(&scratch));
}

#[test]
fn words_that_are_no_utf_8_arrive() {
    let scratch = Scratch::new("record-bytes");
    let odd = OsString::from_vec(b"a\xff b".to_vec());
    let arguments = ["--event", "cpu-clock", "-o"]
        .map(OsStr::new)
        .into_iter()
        .chain([odd.as_os_str()])
        .chain(["--", "printf", "%s"].map(OsStr::new).into_iter().chain([odd.as_os_str()]));
    let output = record(&scratch, WRITES, &arguments.collect::<Vec<_>>());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), odd.as_bytes()));
    assert!(scratch.path().join(&odd).exists());
}

#[test]
fn exit_status_and_signal_of_the_command_are_passed_on_and_the_profile_stays() {
    let scratch = Scratch::new("record-status");
    for (script, status) in [("exit 3", 3), ("exit 255", 255), ("exit 2", 2)] {
        let output = by_clock(&scratch, WRITES, &["-o", "p", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        fs::remove_file(scratch.join("p")).unwrap();
    }
    // perf dies of the signal that the command died of.
    let output = by_clock(
        &scratch,
        r#"[ "$output" = /dev/null ] || { cat "$profile" > "$output"; kill -SEGV $$; }"#,
        &["--", "true"],
    );
    assert_eq!(output.status.code(), Some(139), "{}", stderr(&output));
    assert!(scratch.join("perf.data").exists());
}

#[test]
fn without_perf_the_package_is_named() {
    let scratch = Scratch::new("record-missing");
    let mut command = Command::new(crate::program());
    let output = command.args(["record", "--", "/bin/true"]).env("PATH", scratch.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("perf is not installed; it is in the package "), "{}", stderr(&output));
}

#[test]
fn what_perf_refuses_is_shown_and_an_earlier_profile_stays() {
    let scratch = Scratch::new("record-refused");
    scratch.file("perf.data", b"earlier");
    let refuses = r"echo 'Access to performance monitoring and observability operations is limited.' >&2
        echo 'perf_event_paranoid setting is 4:' >&2; exit 255";
    let output = by_clock(&scratch, refuses, &["--", "touch", "ran"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("record: perf does not record (kernel.perf_event_paranoid is "), "{said}");
    assert!(said.contains("\n  perf_event_paranoid setting is 4:"), "{said}");
    let output = by_clock(&scratch, "echo 'no such process' >&2; exit 244", &["--pid", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("perf does not record:\n  no such process"), "{}", stderr(&output));
    assert_eq!(scratch.names(), ["bin", "perf.data"]);
    assert_eq!(fs::read(scratch.join("perf.data")).unwrap(), b"earlier");
}

#[test]
fn perf_that_is_killed_or_writes_half_a_profile_is_no_success() {
    let scratch = Scratch::new("record-killed");
    for (does, reason) in [
        (
            r#"[ "$output" = /dev/null ] || kill -KILL $$"#,
            "perf was ended by signal 9 and left no whole profile",
        ),
        (
            r#"[ "$output" = /dev/null ] || { head -c 5000 "$profile" > "$output"; exit 1; }"#,
            "perf ended with exit status 1 and left no whole profile",
        ),
    ] {
        let output = by_clock(&scratch, does, &["--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    assert_eq!(scratch.names(), ["bin"]);
    // One that is newer than the reader succeeds, and its profile is kept.
    let output = by_clock(&scratch, r#"echo PERFILE3 > "$output""#, &["--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("perf.data: recorded, and deburr cannot read it"),
        "{}",
        stderr(&output)
    );
    assert!(scratch.join("perf.data").exists());
}

#[test]
fn what_perf_warns_of_while_it_is_tried_out_is_no_failure() {
    let scratch = Scratch::new("record-warns");
    let warns = format!(r#"[ "$output" != /dev/null ] || echo 'WARNING: restricted' >&2; {WRITES}"#);
    let output = by_clock(&scratch, &warns, &["--", "true"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(!stderr(&output).contains("WARNING"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_recorded_is_said_before_anything_runs() {
    let scratch = Scratch::new("record-cannot");
    scratch.file("text", b"no program");
    for (arguments, reason) in [
        (&["--", "no-such-command-here"][..], "no-such-command-here: command not found"),
        (&["--", ""], ": command not found"),
        (&["--", "./none"], "./none: no such file or directory"),
        (&["--", "./text"], "./text: permission denied"),
        (&["--", "/usr"], "/usr: no program"),
        (&["--pid", "4194305"], "--pid 4194305: no such process"),
        (&["-o", "none/p", "--", "touch", "ran"], "none/p: no such file or directory"),
        (&["--duration", "3", "--", "touch", "ran"], "cannot be used with"),
        (&["--pid", "1", "--", "touch", "ran"], "cannot be used with"),
        (&["--frequency", "0", "--", "touch", "ran"], "0 is not in"),
        (&[], "required"),
    ] {
        let output = by_clock(&scratch, WRITES, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!scratch.join("ran").exists() && !scratch.join("perf.data").exists());
}

#[test]
fn who_may_not_write_there_hears_so_before_the_command_runs() {
    // Root may write everywhere: then the run is somebody else's, with a copy of the command that all may run.
    let scratch = Scratch::new("record-closed");
    let copy = scratch.join("deburr");
    fs::copy(crate::program(), &copy).unwrap();
    scratch.file("closed/old", b"old");
    for (name, mode) in [("", 0o755), ("closed/old", 0o444), ("closed", 0o555)] {
        fs::set_permissions(scratch.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    for place in ["closed/new", "closed/old"] {
        let mut command = Command::new(if is_root { "setpriv" } else { "env" });
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command.arg(&copy).args(["record", "--event", "cpu-clock", "-o", place, "--", "echo", "ran"]);
        pretend(&mut command, &scratch.join("bin"), WRITES);
        fs::write(scratch.join("bin/words"), "").unwrap();
        fs::set_permissions(scratch.join("bin/words"), PermissionsExt::from_mode(0o666)).unwrap();
        let output = command.current_dir(scratch.path()).output().unwrap();
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{place}: permission denied")), "{}", stderr(&output));
    }
    if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
        command.args(["record", "--event", "cpu-clock", "-o", "/dev/null", "--pid", "1"]);
        pretend(
            &mut command,
            &scratch.join("bin"),
            r#"[ "$output" = /dev/null ] || { echo no >&2; exit 1; }"#,
        );
        fs::set_permissions(scratch.join("bin/words"), PermissionsExt::from_mode(0o666)).unwrap();
        let output = command.output().unwrap();
        assert!(stderr(&output).contains("process 1 is another user's"), "{}", stderr(&output));
    }
    fs::set_permissions(scratch.join("closed"), PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(fs::read(scratch.join("closed/old")).unwrap(), b"old");
}

fn begun(scratch: &Scratch, does: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.path()).args(["record", "--event", "cpu-clock"]).args(arguments);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    pretend(&mut command, &scratch.join("bin"), does);
    command.spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn interrupt_is_handed_on_to_perf_and_the_profile_is_whole() {
    let scratch = Scratch::new("record-interrupted");
    // As perf does: it writes the profile, and dies of the signal.
    let waits = r#"[ "$output" != /dev/null ] || exit 0
        trap 'cat "$profile" > "$output"; trap - INT; kill -INT $$' INT
        touch begun; while :; do sleep 0.1; done"#;
    let child = begun(&scratch, waits, &["--", "true"]);
    until("it never begins", || scratch.join("begun").exists());
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(fs::read(scratch.join("perf.data")).unwrap(), fs::read(PROFILE).unwrap());
    // With --pid that is how it ends, and so does --duration.
    fs::remove_file(scratch.join("begun")).unwrap();
    let output = by_clock(&scratch, waits, &["--pid", "1", "--duration", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn command_that_ignores_an_interrupt_is_killed_and_perf_at_the_next_one() {
    let scratch = Scratch::new("record-stubborn");
    let waits = r#"[ "$output" != /dev/null ] || exit 0
        trap '' INT; sh -c 'trap "" INT TERM; touch begun; while :; do sleep 0.1; done'
        cat "$profile" > "$output"; touch written; [ -n "$1" ] && while :; do sleep 0.1; done"#;
    let child = begun(&scratch, waits, &["--", "true"]);
    until("it never begins", || scratch.join("begun").exists());
    signal(&child, "-INT");
    until("the command lives on", || scratch.join("written").exists());
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(scratch.join("perf.data").exists());
}

#[test]
fn daemon_is_named_and_does_not_hold_anything_up() {
    let scratch = Scratch::new("record-daemon");
    let since = Instant::now();
    let does = &["--", "sh", "-c", "(exec setsid sleep 120 </dev/null >/dev/null 2>&1) & exit 0"];
    let output = by_clock(&scratch, WRITES, does);
    assert!(since.elapsed() < Duration::from_secs(100), "it waits for the daemon");
    let said = stderr(&output);
    assert!(said.contains(" runs on, and recorded no more: deburr record --pid "), "{said}");
}

/// Whether the kernel lets this user sample anything. perf says so itself where not, and that is what is tested then.
fn may_sample() -> bool {
    let output = deburr(&["record", "-o", "/dev/null", "--", "/bin/true"]);
    assert!(!stderr(&output).contains("not installed"), "scripts/install-tools test installs perf");
    let refused = ["permit", "does not record"].iter().any(|word| stderr(&output).contains(word));
    assert!(refused || output.status.success(), "{}", stderr(&output));
    if refused {
        assert_eq!(output.status.code(), Some(2));
        // The harness does not catch this one: the reader sees that the test took another path.
        let said = format!("not sampled, as this is not permitted here: {}", stderr(&output));
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
    !refused
}

#[test]
fn real_perf_records_a_program_and_passes_its_streams_and_status_on() {
    if !may_sample() {
        return;
    }
    let scratch = Scratch::new("record-real");
    let source = scratch.file(
        "spin.c",
        b"#include <stdio.h>\nvolatile unsigned long n;\n__attribute__((noinline)) void spin(void) { while (n < 900000000) n++; }\n\
          int main(void) { int c = getchar(); spin(); putchar(c); fputs(\"err\", stderr); return 7; }\n",
    );
    let program = scratch.join("spin");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-fno-omit-frame-pointer", "-o"]).arg(&program).arg(&source);
    assert!(gcc.status().unwrap().success());
    fs::write(scratch.join("input"), "x").unwrap();
    let output = Command::new(crate::program())
        .args(["record", "-o", "p.data", "--", "./spin"])
        .current_dir(scratch.path())
        .stdin(File::open(scratch.join("input")).unwrap())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(7), "x"), "{}", stderr(&output));
    let said = stderr(&output);
    let program = program.to_str().unwrap();
    let said = said.strip_prefix("err").unwrap_or_else(|| panic!("{said}"));
    let next = format!("; next: deburr check --profile p.data {program}\n");
    assert!(said.starts_with("deburr: p.data: ") && said.ends_with(&next), "{said}");
    let samples = said["deburr: p.data: ".len()..].split(' ').next().unwrap().replace(',', "");
    assert!(samples.parse::<u32>().unwrap() > 50, "{said}");
    let mut begins = [0; 8];
    File::open(scratch.join("p.data")).unwrap().read_exact(&mut begins).unwrap();
    assert_eq!(&begins, b"PERFILE2");
}

#[test]
fn real_perf_records_a_process_that_runs() {
    if !may_sample() {
        return;
    }
    let scratch = Scratch::new("record-pid");
    let mut spins = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let place = scratch.join("p.data");
    let pid = spins.id().to_string();
    let record = |seconds: &str| {
        deburr(&["record", "-o", place.to_str().unwrap(), "--duration", seconds, "--pid", &pid])
    };
    // On a machine with much else to run, a second may pass without the process.
    let mut outputs = ["1", "4", "16", "64"].iter().map(|seconds| record(seconds));
    let output = outputs.find(|output| !stderr(output).contains(": 0 samples")).expect("samples within 64 s");
    spins.kill().unwrap();
    assert_eq!(spins.wait().unwrap().signal(), Some(9));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(" samples of c"), "{}", stderr(&output));
}
