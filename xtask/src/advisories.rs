//! What RustSec says of the crates that deburr is built from, as a table in the repository: `xtask/advisories.toml`.
//!
//! The tidy test holds `Cargo.lock` against that table, so that CI needs neither the network nor another tool. The table names
//! every crate that was looked up, with its version; a dependency that is newer fails the test until this task has run again. That
//! the table grows old fails nothing: a push would fail for what it did not change. The nightly run says how old it is.
//! Source: <https://github.com/rustsec/advisory-db>, whose format is described in its README.

use crate::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use toml::{Table, Value};

const DATABASE: &str = "https://github.com/rustsec/advisory-db";
/// The lock files whose crates are looked up.
const LOCKS: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];

/// Writes the table from a clone of the database; without one, from a clone that is made under `target/`.
pub fn run(database: Option<&Path>) -> Result<(), String> {
    let database = database.map_or_else(cloned, |path| Ok(path.to_owned()))?;
    let crates = locked_crates()?;
    let mut advisories = Vec::new();
    let names: BTreeSet<&str> = crates.iter().filter_map(|it| it.split(' ').next()).collect();
    for name in names {
        advisories.extend(of_crate(&database, name)?);
    }
    let count = advisories.len();
    let mut table = Table::new();
    table.insert("revision".to_owned(), Value::String(git(&database, &["log", "-1", "--format=%H"])?));
    table.insert("date".to_owned(), Value::String(git(&database, &["log", "-1", "--format=%cs"])?));
    table.insert("crates".to_owned(), Value::Array(crates.into_iter().map(Value::String).collect()));
    table.insert("advisory".to_owned(), Value::Array(advisories));
    let text = toml::to_string(&table).map_err(|error| error.to_string())?;
    let path = repository().join("xtask/advisories.toml");
    let header =
        "# Written by `cargo xtask advisories`: RustSec's advisories on the crates of the lock files.\n\n";
    fs::write(&path, format!("{header}{text}")).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}: {count} advisories", path.display());
    Ok(())
}

fn cloned() -> Result<PathBuf, String> {
    let clone = repository().join("target/advisory-db");
    let _ = fs::remove_dir_all(&clone);
    let status = Command::new("git").args(["clone", "--quiet", "--depth=1", DATABASE]).arg(&clone).status();
    match status {
        Ok(status) if status.success() => Ok(clone),
        _ => Err(format!(
            "{DATABASE} cannot be cloned; give the path of a clone: `cargo xtask advisories PATH`"
        )),
    }
}

fn git(database: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(database).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => Err(format!("{}: git {} failed", database.display(), arguments.join(" "))),
    }
}

/// Days after which the table is to be renewed.
const RENEWED_AFTER: i64 = 30;

/// How old the table is, as a warning where that is too old.
pub fn age() -> Result<String, String> {
    let path = repository().join("xtask/advisories.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let table: Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let date = table.get("date").and_then(Value::as_str).unwrap_or_default();
    let then = days(date).ok_or_else(|| format!("{}: expected a date, found {date:?}", path.display()))?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let age = i64::try_from(seconds / 86_400).unwrap_or(i64::MAX) - then;
    let what = if age > RENEWED_AFTER { "warning: " } else { "" };
    Ok(format!("{what}xtask/advisories.toml is of {date}, {age} days old: cargo xtask advisories renews it"))
}

/// The days from 1970-01-01 to a date `YYYY-MM-DD` (Gregorian calendar; a year is taken to begin in March, so that the day that leap
/// years have is its last one).
fn days(date: &str) -> Option<i64> {
    let mut fields = date.split('-').map(|field| field.parse::<i64>().ok());
    let (year, month, day) = (fields.next()??, fields.next()??, fields.next()??);
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
}

/// All crates in the lock files that come from a registry, as `name version`.
fn locked_crates() -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for lock in LOCKS {
        let path = repository().join(lock);
        let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let table: Table = fs::read_to_string(&path)
            .map_err(|error| fault(&error))?
            .parse()
            .map_err(|error| fault(&error))?;
        for package in table.get("package").and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| package.get(key).and_then(Value::as_str);
            if let (Some(name), Some(version), Some(_)) = (text("name"), text("version"), text("source")) {
                names.insert(format!("{name} {version}"));
            }
        }
    }
    Ok(names)
}

/// The advisories on one crate that were not withdrawn. Read from the commit, since a mirror has no work tree.
fn of_crate(database: &Path, name: &str) -> Result<Vec<Value>, String> {
    let folder = format!("crates/{name}/");
    let listed = git(database, &["ls-tree", "--name-only", "HEAD", &folder])?;
    let mut found = Vec::new();
    for path in listed.lines() {
        let text = git(database, &["show", &format!("HEAD:{path}")])?;
        let front = text.split("```toml").nth(1).and_then(|rest| rest.split("```").next());
        let front: Table = front.unwrap_or_default().parse().map_err(|error| format!("{path}: {error}"))?;
        let advisory = front.get("advisory").ok_or_else(|| format!("{path}: no [advisory]"))?;
        if advisory.get("withdrawn").is_none() {
            found.push(row(advisory, front.get("versions")));
        }
    }
    Ok(found)
}

/// What the test needs of an advisory.
fn row(advisory: &Value, versions: Option<&Value>) -> Value {
    let mut row = Table::new();
    for key in ["id", "package", "informational"] {
        if let Some(value) = advisory.get(key) {
            row.insert(key.to_owned(), value.clone());
        }
    }
    for key in ["patched", "unaffected"] {
        let none = Value::Array(Vec::new());
        row.insert(key.to_owned(), versions.and_then(|versions| versions.get(key)).cloned().unwrap_or(none));
    }
    Value::Table(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        // By `date -u -d DATE +%s`, divided by 86,400.
        let known =
            [("1970-01-01", 0), ("2000-02-29", 11_016), ("2000-03-01", 11_017), ("2026-08-21", 20_686)];
        for (date, since) in known {
            assert_eq!(days(date), Some(since), "{date}");
        }
        assert_eq!((days(""), days("2026-08")), (None, None));
        assert!(age().unwrap().contains("days old"));
    }
}
