//! The census: its page, charts and tables are what `scripts/census page` makes of its results, and its lists are whole.
//!
//! In: `docs/results/census/results.json` and the lists next to it. Out: files that differ from what the script writes.

use crate::{entries, read, repository};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn census() -> PathBuf {
    repository().join("docs/results/census")
}

fn results() -> Value {
    serde_json::from_str(&read(&census().join("results.json"))).unwrap()
}

/// Makes the page from these results in a folder, from a copy of the scripts, so that the repository stays as it is.
fn page(results: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let copied = |from: &Path| {
        let to = folder.path().join(from.strip_prefix(repository()).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    copied(&repository().join("scripts/census"));
    entries(&repository().join("scripts/censused"))
        .iter()
        .filter(|path| path.is_file())
        .for_each(|path| copied(path));
    copied(&census().join("readings.tsv"));
    std::fs::write(folder.path().join("docs/results/census/results.json"), results).unwrap();
    let output =
        Command::new("python3").arg("-B").arg(folder.path().join("scripts/census")).arg("page").output();
    let output = output.unwrap_or_else(|error| panic!("python3: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// The tables that the page points at.
const TABLES: [&str; 5] = ["exceeded.tsv", "gains.tsv", "not-checked.tsv", "refused.tsv", "worst.tsv"];

/// The page, its charts and its tables in a repository, by name.
fn written(root: &Path) -> Vec<(String, String)> {
    let charts = entries(&root.join("docs/results/census")).into_iter();
    let charts = charts.filter(|path| path.extension().is_some_and(|extension| extension == "svg"));
    let tables = TABLES.map(|name| root.join("docs/results/census").join(name));
    let files = charts.chain(tables).chain([root.join("docs/results/census.md")]);
    let mut found: Vec<_> =
        files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(&path))).collect();
    found.sort();
    found
}

#[test]
fn the_page_of_the_census_is_made_of_its_results() {
    let made = page(&read(&census().join("results.json")));
    let (made, kept) = (written(made.path()), written(repository()));
    assert!(made.len() > TABLES.len() + 1, "no charts");
    let differing: Vec<&str> =
        made.iter().filter(|file| !kept.contains(file)).map(|(name, _)| name.as_str()).collect();
    assert!(made == kept, "not what scripts/census page writes: {differing:?}");
}

#[test]
fn a_census_with_another_number_has_another_page() {
    let mut results = results();
    let row = &mut results["census"]["packages"][0];
    row["with_code"] = Value::from(row["with_code"].as_i64().unwrap() - 1);
    let (made, kept) = (written(page(&results.to_string()).path()), written(repository()));
    let differing: Vec<&str> =
        made.iter().filter(|file| !kept.contains(file)).map(|(name, _)| name.as_str()).collect();
    assert!(differing.contains(&"census.md"), "{differing:?}");
}

#[test]
fn the_lists_of_the_census_are_whole_and_what_was_counted() {
    let results = results();
    let packages = results["census"]["packages"].as_array().unwrap();
    assert_eq!(packages.len(), 4);
    for row in packages {
        let group = row["group"].as_str().unwrap();
        let list = read(&census().join(format!("{group}.tsv")));
        let lines: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split('\t').collect()).collect();
        for line in &lines {
            let [name, version, sha256, chosen] = line[..] else { panic!("{group}: {line:?}") };
            let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(!name.is_empty() && !version.is_empty() && is_hash, "{group}: {line:?}");
            assert!(["named", "depended on", "downloaded"].contains(&chosen), "{group}: {line:?}");
        }
        let names: BTreeSet<&str> = lines.iter().map(|line| line[0]).collect();
        assert_eq!(names.len(), lines.len(), "{group}: a package is there twice");
        assert_eq!(row["listed"].as_i64().unwrap(), i64::try_from(lines.len()).unwrap(), "{group}");
        assert_eq!(row["checked"], row["listed"], "{group}: packages that are listed and not counted");
    }
}
