//! Pages in a browser: Chromium lays a page out; a second page around it (`page/read.html`) reads it and tells what it found.

use deburr_tests::toolchain::{repository, require, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a browser sees of a page.
pub(crate) fn browse(dir: &Path, page: &Path, is_dark: bool, width: u32) -> Value {
    require("chromium");
    let reader = fs::read_to_string(repository().join("tests/page/read.html")).expect("page/read.html");
    let name = page.file_name().unwrap_or_default().to_string_lossy();
    let around = dir.join("read.html");
    let filled =
        reader.replacen("WIDTHpx", &format!("{width}px"), 1).replacen("\"PAGE\"", &format!("{name:?}"), 1);
    fs::write(&around, filled).expect("a file in a work folder");
    let mut chromium = Command::new("chromium");
    chromium
        // No sandbox where tests run as root, in containers. The reader and the page are both files of ours.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"])
        .args(["--window-size=1300,3000", "--virtual-time-budget=10000"])
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark)))
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("file://{}", around.display()));
    let dom = run(&mut chromium);
    let told = dom.split_once("<pre id=\"read\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let told = told.unwrap_or_else(|| panic!("the reader told nothing: {dom}")).0;
    let found: Value = serde_json::from_slice(&percent_decoded(told)).expect("JSON");
    assert_eq!(found["error"], Value::Null);
    found
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("two digits"));
        bytes.extend(&part.as_bytes()[2..]);
    }
    bytes
}

/// A number of the page: they are told as text.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}

/// Insists that a number of the page is one of the document, but for the last bit, which reading JSON may lose.
pub(crate) fn assert_same(what: &str, page: f64, document: &Value) {
    let expected = document.as_f64().unwrap_or_else(|| panic!("{what}: the document has {document}"));
    assert!((page - expected).abs() <= 2.0 * f64::EPSILON * expected.abs(), "{what}: {page}, not {expected}");
}

/// Insists that everything can be read, and that nothing was fetched.
pub(crate) fn assert_readable(found: &Value, is_dark: bool) {
    assert_eq!(found["dark"], is_dark);
    let faintest = &found["faintest"];
    assert!(
        faintest["contrast"].as_f64().is_some_and(|contrast| contrast >= 4.5),
        "dark {is_dark}: {faintest}"
    );
    assert_eq!(found["overflow"], 0, "wider than its window");
    assert_eq!((&found["fetched"], &found["scripts"], &found["unnamed"]), (&0.into(), &0.into(), &0.into()));
}
