//! The command where things go wrong: signals, folders that may not be read, files that change or are false.

use super::{Scratch, deburr, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_deburr");

/// An x86-64 shared object of one executable segment, which fills the file from `offset` on.
fn program(offset: u64, code: u64) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    for value in [0x1000_u64, 64, 0] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    for value in [64_u16, 56, 1, 64, 0, 0] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for value in [offset, 0x1000, 0x1000, code, code, 0x1000] {
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

/// The same, with section headers that are said to be at `offset`.
fn with_sections_at(offset: u64) -> Vec<u8> {
    let mut bytes = program(0x1000, 16);
    bytes[40..48].copy_from_slice(&offset.to_le_bytes());
    bytes[60..64].copy_from_slice(&[3, 0, 2, 0]);
    bytes.resize(0x1000, 0);
    bytes.extend([0x90; 15]);
    bytes.push(0xc3);
    bytes
}

#[test]
fn interrupt_ends_the_run_at_once_as_the_signal_does() {
    // A shell shows the status 130 for a program that SIGINT has ended. The standard input stays open, so that
    // the run would wait indefinitely; env(1) undoes the ignored signal of a background job.
    let mut child = Command::new("env")
        .args(["--default-signal=INT", BINARY, "check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    let since = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(since.elapsed() < Duration::from_secs(60));
}

#[test]
fn folder_that_may_not_be_read_is_reported_and_the_rest_is_checked() {
    let scratch = Scratch::new("unreadable");
    let bytes = with_sections_at(0);
    scratch.file("tree/open/a.so", &bytes);
    scratch.file("tree/closed/b.so", &bytes);
    let file = scratch.file("tree/open/closed.so", &bytes);
    let closed = scratch.join("tree/closed");
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&closed, 0);
    mode(file.as_ref(), 0);
    let tree = scratch.join("tree");
    // Root reads everything: then the run is somebody else's, with a copy of the command that all may run.
    let is_root = fs::metadata("/proc/self").map(|it| std::os::unix::fs::MetadataExt::uid(&it)).unwrap() == 0;
    let mut command = if is_root {
        let copy = scratch.join("deburr");
        fs::copy(BINARY, &copy).unwrap();
        mode(scratch.path(), 0o755);
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
        command
    } else {
        Command::new(BINARY)
    };
    let output = command.arg("check").arg(&tree).output().unwrap();
    mode(&closed, 0o755);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("tree/closed: permission denied"), "{}", stderr(&output));
    assert!(stderr(&output).contains("closed.so: permission denied"), "{}", stderr(&output));
    assert!(stdout(&output).contains("1 file checked") && stdout(&output).contains("2 files skipped"));
}

#[test]
fn file_that_shrinks_while_it_is_checked_is_reported_and_the_rest_is_checked() {
    const CODE: u64 = 64 << 20;
    let scratch = Scratch::new("shrinking");
    let mut bytes = program(0x1000, CODE);
    bytes.resize(0x1000, 0);
    bytes.resize(0x1000 + CODE as usize, 0x90);
    let path = scratch.file("a-shrinking.so", &bytes);
    let other = scratch.file("b.so", &with_sections_at(0));
    let child = Command::new(BINARY)
        .args(["check", "--threads", "1", &path, &other])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let maps = format!("/proc/{}/maps", child.id());
    let since = Instant::now();
    while !fs::read_to_string(&maps).unwrap_or_default().contains("a-shrinking.so") {
        assert!(since.elapsed() < Duration::from_secs(300), "the file was never mapped");
    }
    fs::File::options().write(true).open(&path).unwrap().set_len(0x1800).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("a-shrinking.so: the file changed while it was read"),
        "{}",
        stderr(&output)
    );
    assert!(stdout(&output).contains("b.so: x86_64"), "{}", stdout(&output));
}

#[test]
fn sparse_file_with_sections_far_out_costs_neither_time_nor_memory() {
    let scratch = Scratch::new("sparse");
    for (size, sections, complaint) in [(40_u64 << 30, 39_u64 << 30, "too large"), (7 << 30, 6 << 30, "")] {
        let path = scratch.file("huge.so", &with_sections_at(sections));
        fs::File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
        // Seconds of the processor, whatever else the machine does.
        let line = format!("ulimit -d 300000; ulimit -t 5; exec '{BINARY}' check --threads 1 '{path}'");
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        let expected = if complaint.is_empty() { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{}{}", stderr(&output), stdout(&output));
        assert!(stderr(&output).contains(complaint), "{}", stderr(&output));
    }
}

#[test]
fn truncated_and_lying_files_are_reported_and_the_rest_is_checked() {
    let scratch = Scratch::new("lying");
    let whole = with_sections_at(0);
    let good = scratch.file("good.so", &whole);
    scratch.file("cut-header.so", &whole[..40]);
    scratch.file("far-sections.so", &with_sections_at(1 << 40));
    let mut lying = whole.clone();
    lying[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    scratch.file("far-segments.so", &lying);
    let output = deburr(&["check", scratch.as_str()]);
    assert_eq!(output.status.code(), Some(2), "{}{}", stdout(&output), stderr(&output));
    let told = stderr(&output);
    let line = told.lines().find(|line| line.contains("cut-header.so")).unwrap();
    assert!(line.contains("0x28: expected an ELF header of 64 bytes"), "{line}");
    let text = stdout(&output);
    assert!(!text.contains("far-segments.so: x86_64"), "{text}");
    assert!(text.contains("far-sections.so: x86_64, runs on x86-64-v1\n"), "{text}");
    assert!(text.contains(&format!("{good}: x86_64, runs on x86-64-v1\n")), "{text}");
}
