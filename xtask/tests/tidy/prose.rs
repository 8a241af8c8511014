//! The prose of `README.md` and `docs/`: constructions that a native reader stumbles over.
//!
//! In: the text of a Markdown file. Out: its sentences that begin with a word of [`OPENINGS`] or have a phrase of [`PHRASES`], as lines
//! for a reader. Headings, cells of tables, labels at the start of a paragraph (in bold, or a link), questions and code are excluded by principle:
//! a label may be "What it finds", and a question may begin with "Where". "There is no …" is English, "it is no …" is not.
//! `docs/results/` has reports, which are written with their figures. `prose.tsv` has the exceptions: a file, the beginning of a
//! sentence or `*` for all, and the reason. An exception that excepts nothing is a fault.

use crate::{assert_none, files_below, read, repository};
use std::collections::BTreeSet;

/// How no sentence begins.
const OPENINGS: [&str; 6] = ["What ", "Where ", "Whether ", "That of ", "Of these", "So many"];

/// What no sentence has, in lower case; `.` and `;` stand for the end of a clause.
const PHRASES: [&str; 10] = [
    " is no ",
    " are none",
    " but for ",
    "so many ",
    " for ever ",
    " for ever,",
    " for ever.",
    " at most.",
    " at most;",
    " at most:",
];

/// Paragraphs and items of lists, each with the number of its first line, on one line.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut is_open, mut is_indented) = (false, false, false);
    for (at, line) in text.lines().enumerate() {
        let body = line.trim_start();
        is_code ^= body.starts_with("```");
        is_indented = line.starts_with("    ") && (is_indented || !is_open);
        let is_item =
            body.starts_with("- ") || body.split_once(". ").is_some_and(|(number, _)| is_number(number));
        let is_definition = body.starts_with('[') && body.contains("]: ");
        let is_skipped =
            is_code || is_indented || is_definition || body.is_empty() || body.starts_with("```");
        if is_skipped || body.starts_with(['#', '|', '<']) {
            is_open = false;
            continue;
        }
        let body = if is_item { body.split_once(' ').map_or(body, |(_, rest)| rest) } else { body };
        match found.last_mut().filter(|_| is_open && !is_item) {
            Some((_, paragraph)) => *paragraph += &format!(" {body}"),
            None => found.push((at + 1, body.to_owned())),
        }
        is_open = true;
    }
    found
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// A paragraph's words alone: code is one word, links are their texts, and a label at its start is left out.
fn plain(paragraph: &str) -> String {
    let bold = paragraph.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let label = bold.or_else(|| paragraph.strip_prefix('[').and_then(|rest| rest.split_once(')')));
    let paragraph = label.map_or(paragraph, |(_, rest)| rest.trim_start_matches([':', ' ']));
    let spans = paragraph.split('`').enumerate().map(|(at, span)| if at % 2 == 1 { "code" } else { span });
    let text: String = spans.collect();
    let mut parts = text.split("](");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        words += part.split_once(')').map_or("", |(_, rest)| rest);
    }
    words.replace(['[', '*', '"', '“'], "")
}

/// The sentences of a text with the numbers of their paragraphs' lines: each ends before a space and a capital letter.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, paragraph) in paragraphs(text) {
        let words = plain(&paragraph);
        let mut start = 0;
        for (at, _) in words.match_indices(['.', '?', '!']) {
            let mut after = words[at + 1..].chars();
            let is_end = match after.next() {
                None => true,
                Some(next) => next == ' ' && after.next().is_none_or(char::is_uppercase),
            };
            if is_end {
                found.push((line, words[start..=at].trim().to_owned()));
                start = at + 1;
            }
        }
        found.push((line, words[start..].trim().to_owned()));
    }
    found.retain(|(_, sentence)| !sentence.is_empty());
    found
}

/// What is wrong with a sentence.
fn fault(sentence: &str) -> Option<&'static str> {
    if sentence.ends_with('?') {
        return None;
    }
    let lower = sentence.to_lowercase().replace("there is no ", "there exists no ");
    let opening = OPENINGS.into_iter().find(|opening| sentence.starts_with(opening));
    opening.or_else(|| PHRASES.into_iter().find(|phrase| lower.contains(phrase)))
}

/// The faulty sentences of a text, each with its line.
fn faulty(text: &str) -> Vec<(usize, String, &'static str)> {
    let found = sentences(text).into_iter();
    found.filter_map(|(line, sentence)| fault(&sentence).map(|fault| (line, sentence, fault))).collect()
}

/// The rows of `prose.tsv`: a file, the beginning of a sentence or `*`, the reason.
fn exceptions() -> Vec<[String; 3]> {
    let rows = read(&repository().join("xtask/tests/tidy/prose.tsv"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, sentence, reason] = cells[..] else { panic!("prose.tsv: three columns: {line}") };
        assert!(reason.len() > 10, "prose.tsv: a reason: {line}");
        [file, sentence, reason].map(str::to_owned)
    };
    rows.lines().skip(1).map(row).collect()
}

#[test]
fn prose_has_no_construction_that_a_reader_stumbles_over() {
    let exceptions = exceptions();
    let mut files = files_below(&repository().join("docs"));
    files.push(repository().join("README.md"));
    let name = |path: &std::path::Path| {
        let below = path.strip_prefix(repository()).expect("a file of the repository");
        below.to_string_lossy().replace('\\', "/")
    };
    let (mut found, mut used, mut seen) = (Vec::new(), BTreeSet::new(), 0);
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let file = name(path);
        if file.starts_with("docs/results/") {
            continue;
        }
        let text = read(path);
        seen += sentences(&text).len();
        for (line, sentence, fault) in faulty(&text) {
            let row = exceptions.iter().position(|[other, beginning, _]| {
                *other == file && (beginning == "*" || sentence.starts_with(beginning.as_str()))
            });
            match row {
                Some(row) => drop(used.insert(row)),
                None => found.push(format!("{file}:{line}: `{}`: {sentence}", fault.trim())),
            }
        }
    }
    assert!(seen > 1000, "only {seen} sentences are found");
    let needless = exceptions.iter().enumerate().filter(|(row, _)| !used.contains(row));
    found.extend(
        needless.map(|(_, [file, beginning, _])| format!("prose.tsv: {file}: {beginning}: excepts nothing")),
    );
    assert_none(found);
}

#[test]
fn planted_constructions_are_found() {
    let planted = "# What it is\n\n\
        What is left stays. It runs; where it does not, it says so. Where is it?\n\
        A list of\nthem is no list. There is no list.\n\n\
        - Whether it\n  runs is open.\n- **What to do.** Build it with 40 at most.\n- [What](x.md)\n1. Of these two one is right.\n\n\
        | What | Where |\n|---|---|\n\n```text\nWhere it is.\n```\n\n    What a block says.\n\n\
        It waits for ever, but for one, for everything. `What` is code. [Where it leads](x.md) is a link, of `a.md`. So many are left.\n";
    let found: Vec<(usize, &str)> =
        faulty(planted).into_iter().map(|(line, _, fault)| (line, fault.trim())).collect();
    let expected = [
        (3, "What"),
        (3, "is no"),
        (7, "Whether"),
        (9, "at most."),
        (11, "Of these"),
        (22, "but for"),
        (22, "Where"),
        (22, "So many"),
    ];
    assert_eq!(found, expected);
    assert!(
        faulty("Each of these is a rule. Nowhere is it said what it does, and at most 40 run.\n").is_empty()
    );
}
