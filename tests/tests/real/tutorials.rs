//! The tutorials, `docs/tutorials/`: each is run from its first command to its last, in an empty folder and without a network.
//!
//! A fenced block of a tutorial is a session or a file, and all are run; indented lines are for other machines. Figures that differ
//! from one machine to the next are compared loosely: addresses, shares, and the versions of gcc and qemu. `…` in a line is any text.

use super::session::{Step, is_as_expected, printed, steps};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::{repository, require};
use std::fs;

/// The tutorials, by the tools that each needs.
const TUTORIALS: [(&str, &[&str]); 4] = [
    ("database", &["gcc", "aarch64-linux-gnu-gcc", "valgrind", "qemu-x86_64"]),
    ("distribution", &["gcc", "aarch64-linux-gnu-gcc", "dpkg-deb", "jq"]),
    ("toolchain", &["gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64", "jq"]),
    ("wheels", &["gcc", "openssl", "python3"]),
];

fn read(name: &str) -> String {
    let path = repository().join(format!("docs/tutorials/{name}.md"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A line in which `…` stands for each figure that differs between machines: `0x1118`, `61 %`, `gcc 12`.
fn without_figures(line: &str) -> String {
    let is_figure = |word: &str| {
        let word = word.trim_matches(|c: char| "()[],:−-".contains(c));
        !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let is_address = |word: &str| word.trim_matches(|c: char| "()[],:".contains(c)).starts_with("0x");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let after = at.checked_sub(1).map(|before| words[before].trim_start_matches('('));
        let is_share = words.get(at + 1).is_some_and(|next| next.starts_with('%'));
        let is_version = matches!(after, Some("gcc" | "qemu"));
        let varies = is_address(word) || is_figure(word) && (is_share || is_version);
        kept.push(if varies { "…" } else { word });
    }
    // An address may follow a path: `[usr/bin/sums:0x1054]`, `bits+0x2:`.
    let joined = kept.join(" ");
    let mut parts = joined.split("0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += "…";
        text += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    text
}

/// Whether a line is like the one that a tutorial shows.
fn is_alike(shown: &str, line: &str) -> bool {
    let (shown, line) = (without_figures(shown), without_figures(line));
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn figures_are_compared_loosely_and_words_are_not() {
    let alike = [
        ("    0x1118  scale", "    0x1120  scale"),
        ("  To remove 1 finding with gcc 12: -O2", "  To remove 1 finding with gcc 14.2: -O2"),
        ("in main [usr/bin/sums:0x1054]", "in main [usr/bin/sums:0x10f4]"),
        ("bits at …/pages.c:7", "bits at /tmp/x/pages.c:7"),
        (
            "B is better: −51.44 % [−51.44 %, −51.40 %], 10 pairs",
            "B is better: −50.1 % [−50.1 %, −49.9 %], 10 pairs",
        ),
        ("x, kryo, …)", "x, kryo, …)"),
    ];
    for (shown, line) in alike {
        assert!(is_alike(shown, line), "{shown} / {line}");
    }
    let different = [
        ("1 file checked: 1 error", "1 file checked: 2 errors"),
        ("B is better: −51.44 %", "B is worse: −51.44 %"),
        ("To remove 1 finding with gcc 12", "To remove 2 findings with gcc 12"),
        ("status 0", "status 1"),
        ("bits at …/pages.c:7", "bits at /tmp/x/pages.c:8"),
        ("a", "a b"),
    ];
    for (shown, line) in different {
        assert!(!is_alike(shown, line), "{shown} / {line}");
    }
}

#[test]
fn every_tutorial_is_run_and_has_no_code_but_its_steps() {
    let folder = repository().join("docs/tutorials");
    let files = fs::read_dir(&folder).expect("the tutorials").map(|entry| entry.expect("a file").file_name());
    let mut names: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, TUTORIALS.map(|(name, _)| format!("{name}.md")));
    for (name, _) in TUTORIALS {
        let text = read(name);
        let lines: Vec<&str> = text.lines().collect();
        let fences: Vec<usize> =
            (0..lines.len()).filter(|at| lines[*at].trim_start().starts_with("```")).collect();
        assert!(fences.len().is_multiple_of(2) && fences.len() >= 12, "{name}: {} fences", fences.len());
        for at in fences.into_iter().step_by(2) {
            let info = lines[at]
                .strip_prefix("```")
                .unwrap_or_else(|| panic!("{name}:{}: an indented block", at + 1));
            match info.split_once(' ') {
                None => {
                    assert!(info == "console" && lines[at + 1].starts_with("$ "), "{name}:{}: {info}", at + 1)
                }
                Some((_, file)) => assert_eq!(lines[at - 2], format!("Write `{file}`:"), "{name}:{}", at + 1),
            }
        }
        let is_shown = |step: &Step| matches!(step, Step::Run { expected, .. } if !expected.is_empty());
        assert!(steps(&text).iter().filter(|step| is_shown(step)).count() >= 8, "{name}");
    }
}

/// Does all steps of a tutorial in one folder.
fn run(name: &str) {
    let (_, tools) = TUTORIALS.into_iter().find(|(other, _)| *other == name).expect("a tutorial");
    tools.iter().for_each(|tool| require(tool));
    let scratch = Scratch::new(&format!("tutorial-{name}"));
    let folder = scratch.join("work");
    fs::create_dir(&folder).expect("a folder");
    for step in steps(&read(name)) {
        let (command, expected) = match step {
            Step::Run { command, expected } => (command, expected),
            Step::Write { file, text } => {
                fs::write(folder.join(file), text).expect("the file can be written");
                continue;
            }
        };
        let printed = printed(&command, &folder);
        let lines: Vec<&str> = printed.trim_end().lines().collect();
        assert!(
            is_as_expected(&expected, &lines, is_alike),
            "$ {command}\n{printed}expected:\n{}",
            expected.join("\n")
        );
    }
}

#[test]
fn the_tutorial_on_wheels_runs() {
    run("wheels");
}

#[test]
fn the_tutorial_on_distributions_runs() {
    run("distribution");
}

#[test]
fn the_tutorial_on_databases_runs() {
    run("database");
}

#[test]
fn the_tutorial_on_toolchains_runs() {
    run("toolchain");
}
