//! Sessions of documents: blocks of `console`, whose commands are run and whose output is compared.
//!
//! In: the text of a document. A line that begins with `$ ` is a command for `sh`, lines that begin with `>` continue it, and what
//! follows is what it prints, on both streams. A line `…` is any number of lines. Out: the commands with the lines that they print,
//! and the answer whether some lines are as expected.

use deburr_tests::command::deburr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The commands of a text's sessions, each with the lines that it prints.
pub(crate) fn sessions(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_session = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_session = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_session) {
            found.push((command.to_owned(), Vec::new()));
        } else if is_session {
            let last = found.last_mut().unwrap_or_else(|| panic!("no command prints {line}"));
            match line.strip_prefix('>').filter(|_| last.1.is_empty()) {
                Some(more) => last.0 += &format!("\n{}", more.strip_prefix(' ').unwrap_or(more)),
                None => last.1.push(line.to_owned()),
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
fn a_session_has_commands_and_what_they_print() {
    let text = "x\n```console\n$ one\na\n> b\n$ two <<E\n> t\n>\n> E\n```\n$ no\n```sh\n$ no\n```\n";
    let expected = [
        ("one".to_owned(), vec!["a".to_owned(), "> b".to_owned()]),
        ("two <<E\nt\n\nE".to_owned(), Vec::new()),
    ];
    assert_eq!(sessions(text), expected);
    let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let is_expected =
        |expected: &str, printed: &[&str]| is_as_expected(&lines(expected), printed, |a, b| a == b);
    assert!(is_expected("a … d", &["a", "b", "c", "d"]));
    assert!(is_expected("… d …", &["d"]));
    assert!(!is_expected("a … d", &["a", "b"]));
    assert!(!is_expected("a", &["a", "b"]));
}
