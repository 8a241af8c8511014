//! Documents that are run: sessions, whose commands are executed and whose output is compared, and files that a reader is to write.
//!
//! In: the text of a document. In a block of `console`, a line that begins with `$ ` is a command for `sh`, and what follows is what
//! it prints, on both streams; a line `…` is any number of lines. A block with a second word after its language, "c main.c", is a file.
//! Out: these steps in their order, and the answer whether some lines are as expected.

use deburr_tests::command::deburr;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Write { file: String, text: String },
    Run { command: String, expected: Vec<String> },
}

/// What a text tells its reader to do.
pub(crate) fn steps(text: &str) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let (mut is_session, mut is_file) = (false, false);
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            is_session = info == "console";
            is_file = false;
            if let Some((_, file)) = info.split_once(' ') {
                is_file = true;
                found.push(Step::Write { file: file.to_owned(), text: String::new() });
            }
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_session) {
            found.push(Step::Run { command: command.to_owned(), expected: Vec::new() });
        } else if is_session || is_file {
            match found.last_mut() {
                Some(Step::Write { text, .. }) if is_file => *text += &format!("{line}\n"),
                Some(Step::Run { expected, .. }) => expected.push(line.to_owned()),
                _ => panic!("no command prints {line}"),
            }
        }
    }
    found
}

/// Whether lines are as expected, where `…` is any number of them, and two lines are alike as `is_alike` has it.
pub(crate) fn is_as_expected(expected: &[String], lines: &[&str], is_alike: fn(&str, &str) -> bool) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=lines.len()).any(|skipped| is_as_expected(rest, &lines[skipped..], is_alike))
        }
        Some((first, rest)) => {
            lines.first().is_some_and(|line| is_alike(first, line))
                && is_as_expected(rest, &lines[1..], is_alike)
        }
    }
}

/// What a command of a session prints.
pub(crate) fn printed(command: &str, folder: &Path) -> String {
    let mut paths = vec![deburr().parent().expect("a program is in a folder").to_owned()];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(folder).stdin(Stdio::null());
    shell.env("PATH", std::env::join_paths(paths).expect("folders of PATH")).env("COLUMNS", "120");
    shell.env("XDG_STATE_HOME", folder.join("state")).env("NO_COLOR", "1");
    let output = shell.output().unwrap_or_else(|error| panic!("{command}: {error}"));
    String::from_utf8(output.stdout).unwrap_or_else(|error| panic!("{command}: {error}"))
}

#[test]
fn steps_are_commands_with_what_they_print_and_files() {
    let text = "x\n```console\n$ one\na\n$ two\n```\n```c a/b.c\nint\n\n$ x\n```\n$ no\n```sh\n$ no\n```\n";
    let run = |command: &str, expected: &[&str]| Step::Run {
        command: command.to_owned(),
        expected: expected.iter().map(|line| (*line).to_owned()).collect(),
    };
    let file = Step::Write { file: "a/b.c".to_owned(), text: "int\n\n$ x\n".to_owned() };
    assert_eq!(steps(text), [run("one", &["a"]), run("two", &[]), file]);
    let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let is_expected =
        |expected: &str, printed: &[&str]| is_as_expected(&lines(expected), printed, |a, b| a == b);
    assert!(is_expected("a … d", &["a", "b", "c", "d"]));
    assert!(is_expected("… d …", &["d"]));
    assert!(!is_expected("a … d", &["a", "b"]));
    assert!(!is_expected("a", &["a", "b"]));
}
