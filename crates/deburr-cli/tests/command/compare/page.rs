//! `deburr compare --html`: the page as recorded, whole or not at all. `tests/tests/real/compare/page.rs` looks at
//! it in a browser.

use crate::{Scratch, assert_as_recorded, deburr, stderr, stdout};
use std::fs;

fn numbers(scratch: &Scratch, name: &str, base: u32) -> String {
    let lines: String = (0..16).map(|pair| format!("{}.{:02}\n", base, pair * 37 % 100)).collect();
    scratch.file(name, lines.as_bytes())
}

#[test]
fn the_page_and_the_chart_are_as_recorded() {
    let scratch = Scratch::new("compare-page");
    let (a, b) = (numbers(&scratch, "a.txt", 100), numbers(&scratch, "b<b>.txt", 104));
    let page = scratch.file("page.html", b"an older page");
    let output = deburr(&["compare", "--paired", "--values", &a, &b, "--html", &page]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_as_recorded("compare-page.session", &stdout(&output).replace(scratch.as_str(), "."));
    let text = fs::read_to_string(&page).unwrap();
    let version = format!("deburr {}<", env!("CARGO_PKG_VERSION"));
    let encoded = format!("{}%22", env!("CARGO_PKG_VERSION"));
    assert_as_recorded(
        "compare-page.html",
        &text
            .replace(scratch.as_str(), ".")
            .replace(&version, "deburr VERSION<")
            .replace(&encoded, "VERSION%22"),
    );
    // Nothing is left of how it came to be.
    let mut names: Vec<String> = fs::read_dir(scratch.as_str())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["a.txt", "b<b>.txt", "page.html"]);
}

#[test]
fn a_page_that_cannot_be_written_fails_before_anything_runs() {
    let scratch = Scratch::new("compare-no-page");
    let touched = format!("{}/touched", scratch.as_str());
    for (page, reason) in [
        (format!("{}/none/page.html", scratch.as_str()), "no such file"),
        (scratch.as_str().to_owned(), "is a directory"),
    ] {
        let output =
            deburr(&["compare", "--setup", &format!("touch {touched}"), "--aa", "true", "--html", &page]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("--html") && stderr(&output).contains(reason),
            "{}",
            stderr(&output)
        );
        assert!(!fs::exists(&touched).unwrap());
    }
}

#[test]
fn a_comparison_that_fails_leaves_the_older_page() {
    let scratch = Scratch::new("compare-older-page");
    let page = scratch.file("page.html", b"an older page");
    let record = format!("{}/record", scratch.as_str());
    let output = deburr(&["compare", "--no-gate", "--aa", "false", "--record", &record, "--html", &page]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(&page).unwrap(), b"an older page");
    assert_eq!(fs::read_dir(scratch.as_str()).unwrap().count(), 2);
}
