//! The table of `docs/explanation/evidence.md`, row by row: the rule finds the fact in the program that has it, and nothing in the one
//! that has not.

use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, require, run, work_dir};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One row.
#[derive(Debug)]
struct Fact {
    rule: String,
    options: Vec<String>,
    /// The commands that build the program or programs.
    has_it: Vec<String>,
    has_it_not: Vec<String>,
}

/// The words in backquotes of a cell.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn facts() -> Vec<Fact> {
    let text = fs::read_to_string(repository().join("docs/explanation/evidence.md"))
        .expect("docs/explanation/evidence.md");
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    let fact = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, _, rule, has_it, has_it_not] = cells.as_slice() else { panic!("not five cells: {row}") };
        let rule = quoted(rule).remove(0);
        let mut words = rule.split_whitespace().map(str::to_owned);
        Fact {
            rule: words.next().unwrap_or_default(),
            options: words.collect(),
            has_it: quoted(has_it),
            has_it_not: quoted(has_it_not),
        }
    };
    rows.map(fact).collect()
}

/// Builds a program by one of the table's commands, in which the last word is the source.
fn build(dir: &Path, name: &str, command: &str) -> PathBuf {
    let words: Vec<&str> = command.split_whitespace().collect();
    let settings = words.iter().take_while(|word| word.contains('=') && !word.starts_with('-')).count();
    let (settings, words) = words.split_at(settings);
    let (Some(&compiler), Some(&source)) = (words.first(), words.last()) else {
        panic!("no command: {command}")
    };
    let compiler = if compiler == "A64" { "aarch64-linux-gnu-gcc" } else { compiler };
    require(compiler);
    let program = dir.join(name);
    let mut build = Command::new(compiler);
    build.current_dir(repository().join("tests/evidence"));
    build.envs(settings.iter().filter_map(|setting| setting.split_once('=')));
    if compiler == "go" {
        build.args(["build", "-o"]).arg(&program).arg(source);
    } else {
        build.args(&words[1..]).arg("-o").arg(&program);
    }
    run(&mut build);
    program
}

/// How many findings of the rule the programs of some commands have.
fn findings(fact: &Fact, commands: &[String], name: &str) -> usize {
    let dir = work_dir(&format!("evidence-{}-{name}", fact.rule));
    for (number, command) in commands.iter().enumerate() {
        build(&dir, &format!("program{number}"), command);
    }
    let mut options: Vec<&str> = vec!["--select", &fact.rule];
    options.extend(fact.options.iter().map(String::as_str));
    let mut check = Command::new(deburr());
    check.arg("check").arg(&dir).args(["--format", "json"]).args(options);
    let output = check.output().unwrap_or_else(|error| panic!("{check:?}: {error}"));
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{check:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)));
    let files = report["files"].as_array().unwrap_or_else(|| panic!("{check:?}: no files"));
    let elf = files.len();
    assert_eq!(elf, commands.len(), "{check:?}: looked at {elf} files");
    let counts = &report["statistics"]["findings_by_rule"];
    counts.as_object().map_or(0, |counts| counts.values().filter_map(Value::as_u64).sum::<u64>()) as usize
}

/// Checks the rows that need Go's own toolchains, or the others.
fn hold(with_toolchains: bool, at_least: usize) {
    let needs_them = |fact: &Fact| fact.has_it.iter().any(|command| command.contains("GOTOOLCHAIN"));
    let facts: Vec<Fact> = facts().into_iter().filter(|fact| needs_them(fact) == with_toolchains).collect();
    assert!(facts.len() >= at_least, "{facts:?}");
    let mut faults = Vec::new();
    for fact in &facts {
        let (has, has_not) =
            (findings(fact, &fact.has_it, "has"), findings(fact, &fact.has_it_not, "has-not"));
        println!("{}: {has} findings where it is, {has_not} where it is not", fact.rule);
        if has == 0 || has_not != 0 {
            faults.push(format!("{}: {has} and {has_not}", fact.rule));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_published_fact_is_found_where_it_is_and_only_there() {
    hold(false, 10);
}

#[test]
#[ignore = "fetches two of Go's toolchains; the nightly task runs it"]
fn the_published_fact_of_go_is_found_where_it_is_and_only_there() {
    hold(true, 1);
}
