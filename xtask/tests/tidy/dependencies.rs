//! The dependencies: licences that allow what ours allow, and no version with a known fault.
//!
//! Both come from data in the repository: licences from the manifests that Cargo has already downloaded, advisories from
//! `xtask/advisories.toml`, which `cargo xtask advisories` writes.

use crate::{assert_none, read, repository};
use semver::{Version, VersionReq};
use serde_json::Value;
use std::process::Command;
use toml::Table;

/// Licences that may be linked into a program under MIT or Apache-2.0; SPDX identifiers.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be met by the allowed licences alone: `OR` of `AND`s, with brackets; `/` is an old `OR`.
pub(crate) fn allowed(expression: &str) -> bool {
    let expression = expression.trim();
    match outer(expression, &[" OR ", "/"]).or_else(|| outer(expression, &[" AND "])) {
        Some((left, " AND ", right)) => allowed(left) && allowed(right),
        Some((left, _, right)) => allowed(left) || allowed(right),
        None => match expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => allowed(inner),
            None => ALLOWED.contains(&expression),
        },
    }
}

/// Splits at the first of these operators that stands outside all brackets.
fn outer<'a>(expression: &'a str, operators: &[&'static str]) -> Option<(&'a str, &'static str, &'a str)> {
    let mut depth = 0;
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        let rest = &expression[at..];
        if let Some(operator) = operators.iter().find(|operator| depth == 0 && rest.starts_with(**operator)) {
            return Some((&expression[..at], operator, &rest[operator.len()..]));
        }
    }
    None
}

/// The locked packages that have an advisory, and those that are newer than the table.
pub(crate) fn faults(lock: &Table, advisories: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for package in tables(lock, "package") {
        if package.get("source").is_none() {
            continue;
        }
        let (name, version) = (text(package, "name"), text(package, "version"));
        if !strings(advisories, "crates").contains(&format!("{name} {version}").as_str()) {
            found.push(format!(
                "{name} {version} is newer than the table: `cargo xtask advisories` renews it"
            ));
        }
        let version = Version::parse(version).unwrap_or_else(|error| panic!("{name} {version}: {error}"));
        for advisory in tables(advisories, "advisory").filter(|advisory| text(advisory, "package") == name) {
            let safe = ["patched", "unaffected"].iter().flat_map(|key| strings(advisory, key));
            if !safe.map(requirement).any(|safe| safe.matches(&version)) {
                found.push(format!("{name} {version}: {}", text(advisory, "id")));
            }
        }
    }
    found
}

fn requirement(text: &str) -> VersionReq {
    VersionReq::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn tables<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    table.get(key).and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_table)
}

fn strings<'a>(table: &'a Table, key: &str) -> Vec<&'a str> {
    let values = table.get(key).and_then(toml::Value::as_array);
    values.into_iter().flatten().filter_map(toml::Value::as_str).collect()
}

fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    table.get(key).and_then(toml::Value::as_str).unwrap_or_default()
}

fn parsed(path: &str) -> Table {
    read(&repository().join(path)).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn no_dependency_has_a_known_fault() {
    let advisories = parsed("xtask/advisories.toml");
    assert!(tables(&advisories, "advisory").count() > 10, "the table is empty");
    let locks = ["Cargo.lock", "fuzz/Cargo.lock"].map(parsed);
    assert_none(locks.iter().flat_map(|lock| faults(lock, &advisories)).collect());
}

/// The dependencies of our crates that the lock file of another workspace lacks: its builds with `--locked` would fail.
fn missing(lock: &Table, manifest: impl Fn(&str) -> Option<Table>) -> Vec<String> {
    let mut found = Vec::new();
    for package in tables(lock, "package").filter(|package| package.get("source").is_none()) {
        let name = text(package, "name");
        let locked: Vec<&str> =
            strings(package, "dependencies").iter().filter_map(|it| it.split(' ').next()).collect();
        let Some(manifest) = manifest(name) else { continue };
        let wanted = manifest.get("dependencies").and_then(toml::Value::as_table);
        let lacks = wanted.into_iter().flat_map(Table::keys).filter(|it| !locked.contains(&it.as_str()));
        found.extend(lacks.map(|it| format!("{name}: {it}")));
    }
    found
}

#[test]
fn lock_files_of_other_workspaces_have_what_our_crates_depend_on() {
    let manifest = |name: &str| {
        let folder = if name == "deburr" { "deburr-cli" } else { name };
        let path = format!("crates/{folder}/Cargo.toml");
        repository().join(&path).is_file().then(|| parsed(&path))
    };
    for lock in ["python/Cargo.lock", "fuzz/Cargo.lock"] {
        let lacks = missing(&parsed(lock), manifest);
        let hint = |it| format!("{lock}: {it}: `cargo update --workspace` in its folder adds it");
        assert_none(lacks.into_iter().map(hint).collect());
    }
    let lock: Table =
        "[[package]]\nname = \"a\"\ndependencies = [\"b 1.0.0\"]\n".parse().expect("a lock file");
    let of = |text: &str| missing(&lock, |_| Some(text.parse().expect("a manifest")));
    assert_eq!(of("[dependencies]\nb = \"1\"\n"), [""; 0]);
    assert_eq!(of("[dependencies]\nb = \"1\"\nc.workspace = true\n"), ["a: c"]);
}

#[test]
fn every_dependency_has_a_licence_that_allows_what_ours_allow() {
    let mut cargo = Command::new(env!("CARGO"));
    let output =
        cargo.current_dir(repository()).args(["metadata", "--format-version=1", "--locked"]).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "{} packages", packages.len());
    let licence = |package: &Value| package["license"].as_str().unwrap_or_default().to_owned();
    let faults = packages.iter().filter(|package| !allowed(&licence(package)));
    assert_none(
        faults.map(|package| format!("{}: licence {:?}", package["name"], licence(package))).collect(),
    );
}

#[test]
fn a_licence_that_is_not_allowed_is_found() {
    for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR GPL-2.0) AND Unicode-3.0"] {
        assert!(allowed(good), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-2.0",
        "(MIT OR GPL-2.0) AND LGPL-2.1",
        "MIT AND (GPL-2.0 OR LGPL-2.1)",
    ] {
        assert!(!allowed(bad), "{bad}");
    }
}

#[test]
fn a_version_with_a_fault_and_a_crate_that_is_new_are_found() {
    let advisories = "crates = [\"a 0.9.0\", \"a 1.1.0\", \"a 1.2.0\"]\n[[advisory]]\nid = \"X\"\npackage = \"a\"\npatched = [\">= 1.2.0\"]\nunaffected = [\"< 1.0.0\"]\n";
    let of = |name: &str, version: &str| {
        let lock =
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry\"\n");
        faults(&lock.parse().expect("a lock file"), &advisories.parse().expect("a table")).join("\n")
    };
    assert_eq!(of("a", "0.9.0"), "");
    assert_eq!(of("a", "1.1.0"), "a 1.1.0: X");
    assert_eq!(of("a", "1.2.0"), "");
    assert!(of("b", "1.0.0").starts_with("b 1.0.0 is newer than the table"));
    assert!(of("a", "1.3.0").starts_with("a 1.3.0 is newer than the table"));
}
