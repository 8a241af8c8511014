//! `SKILL.md`, what coding agents read of the command: each of its sessions runs as it stands there, and each option exists.
//!
//! A session is a block of `console`: lines that begin with `$ ` are run by `sh`, and what follows is what they print, on both
//! streams. A line `…` is any number of lines. They run in a copy of the rules' fixtures with one library next to it.

use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, require, run};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn skill() -> String {
    fs::read_to_string(repository().join("SKILL.md")).expect("SKILL.md")
}

/// The commands of a text's sessions, each with the lines that it prints.
fn sessions(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_session = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_session = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_session) {
            found.push((command.to_owned(), Vec::new()));
        } else if is_session {
            let last = found.last_mut().unwrap_or_else(|| panic!("no command prints {line}"));
            last.1.push(line.to_owned());
        }
    }
    found
}

/// Whether lines are as expected, where `…` is any number of them.
fn is_as_expected(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=lines.len()).any(|skipped| is_as_expected(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines.first() == Some(&first.as_str()) && is_as_expected(rest, &lines[1..]),
    }
}

/// What a command of a session prints.
fn printed(command: &str, folder: &Path) -> String {
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
    let text = "x\n```console\n$ one\na\n$ two\n```\n$ no\n```sh\n$ no\n```\n";
    let expected = [("one".to_owned(), vec!["a".to_owned()]), ("two".to_owned(), Vec::new())];
    assert_eq!(sessions(text), expected);
    let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    assert!(is_as_expected(&lines("a … d"), &["a", "b", "c", "d"]));
    assert!(is_as_expected(&lines("… d …"), &["d"]));
    assert!(!is_as_expected(&lines("a … d"), &["a", "b"]));
    assert!(!is_as_expected(&lines("a"), &["a", "b"]));
}

#[test]
fn each_session_prints_what_it_shows() {
    require("jq");
    let scratch = Scratch::new("skill");
    let folder = scratch.path().join("fixtures");
    run(Command::new("cp").arg("-r").arg(repository().join("crates/deburr-core/fixtures")).arg(&folder));
    let library = "libcounters.so";
    let committed = repository().join("crates/deburr-cli/tests/data").join(library);
    fs::copy(committed, folder.join(library)).expect("the library is copied");
    let sessions = sessions(&skill());
    assert!(sessions.len() > 20, "only {} commands are found", sessions.len());
    for (command, expected) in sessions {
        let printed = printed(&command, &folder);
        let lines: Vec<&str> = printed.lines().collect();
        assert!(
            is_as_expected(&expected, &lines),
            "$ {command}\n{printed}expected:\n{}",
            expected.join("\n")
        );
    }
}

/// The words in the code of a text, in blocks and between backquotes.
fn words_of_code(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        is_block ^= line.starts_with("```");
        let spans = line.split('`').enumerate().filter(|(at, _)| is_block || at % 2 == 1);
        found.extend(spans.flat_map(|(_, span)| span.split_whitespace()));
    }
    found
}

#[test]
fn each_option_and_each_rule_that_is_named_exists() {
    let text = skill();
    let verbs = [
        "check", "show", "diff", "fix", "compare", "bench", "try", "explain", "rules", "schema", "cpu",
        "pack",
    ];
    let helps: Vec<String> =
        verbs.iter().map(|verb| run(Command::new(deburr()).args([verb, "--help"]))).collect();
    let is_known = |option: &str| {
        let mut words = helps.iter().flat_map(|help| help.split(|c: char| !c.is_alphanumeric() && c != '-'));
        words.any(|word| word == option)
    };
    let words = words_of_code(&text);
    let options: Vec<&str> = words.iter().filter(|word| word.starts_with("--")).copied().collect();
    assert!(options.len() > 20, "only {} options are found", options.len());
    let unknown: Vec<&str> = options.into_iter().filter(|option| !is_known(option)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
    let named = words.windows(2).filter(|pair| pair[0] == "explain").map(|pair| pair[1]);
    for rule in named.filter(|rule| *rule != "RULE") {
        assert!(deburr_core::rule::find(rule).is_some(), "no rule {rule}");
    }
}
