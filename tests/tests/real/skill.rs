//! `SKILL.md`, what coding agents read of the command: each of its sessions runs as it stands there, and each option exists.
//!
//! The sessions run in a copy of the rules' fixtures with one library next to it.

use super::session::{Step, is_as_expected, printed, steps};
use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, require, run};
use std::fs;
use std::process::Command;

fn skill() -> String {
    fs::read_to_string(repository().join("SKILL.md")).expect("SKILL.md")
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
    let steps = steps(&skill());
    assert!(steps.len() > 20, "only {} commands are found", steps.len());
    for step in steps {
        let Step::Run { command, expected } = step else { panic!("a file: {step:?}") };
        let printed = printed(&command, &folder);
        let lines: Vec<&str> = printed.lines().collect();
        assert!(
            is_as_expected(&expected, &lines, |shown, line| shown == line),
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
