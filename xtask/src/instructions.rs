//! Whether `check` costs more instructions than it did: counted by callgrind, for six files that the repository keeps.
//!
//! Instructions are the same from run to run where time is not. The counts in `tests/instructions/counts.tsv` belong to the
//! compiler that is named there; another compiler's differ by a little, for which the limit has room.

use crate::repository;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// How much more is a fault.
const LIMIT: f64 = 1.03;

/// Counts anew and compares; with `bless`, writes the counts down instead.
pub fn run(bless: bool) -> Result<(), String> {
    let folder = repository().join("tests/instructions");
    let table = folder.join("counts.tsv");
    let compiler = output_of(Command::new("rustc").arg("--version"))?;
    let build = ["build", "--release", "--quiet", "-p", "deburr"];
    let status = Command::new(env!("CARGO")).args(build).current_dir(repository()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("instructions: deburr was not built".to_owned());
    }
    let counted = count_all(&folder)?;
    if bless {
        let rows: String = counted.iter().map(|(name, count)| format!("{name}\t{count}\n")).collect();
        let text =
            format!("# Written by `cargo xtask instructions --bless`, with {}.\n{rows}", compiler.trim());
        return fs::write(&table, text).map_err(|error| format!("{}: {error}", table.display()));
    }
    let text = fs::read_to_string(&table).map_err(|error| format!("{}: {error}", table.display()))?;
    let known = counts_in(&text)?;
    let header = text.lines().next().unwrap_or_default();
    let note = if header.contains(compiler.trim()) {
        String::new()
    } else {
        format!(" (counted now with {})", compiler.trim())
    };
    let mut faults = Vec::new();
    for (name, count) in &counted {
        let Some(before) = known.get(name) else {
            faults.push(format!("{name}: has no count in {}", table.display()));
            continue;
        };
        let ratio = *count as f64 / *before as f64;
        println!("{name}: {count} instructions, {:+.1} %{note}", (ratio - 1.0) * 100.0);
        if ratio > LIMIT {
            faults.push(format!("{name}: {count} instructions, {before} before"));
        }
    }
    faults.extend(
        known.keys().filter(|name| !counted.contains_key(*name)).map(|name| format!("{name}: is missing")),
    );
    if faults.is_empty() {
        return Ok(());
    }
    let advice = "where that is worth it, `cargo xtask instructions --bless` writes the new counts down";
    Err(format!("instructions:\n{}\n{advice}", faults.join("\n")))
}

/// The instructions that `check` of each file in a folder takes.
fn count_all(folder: &Path) -> Result<BTreeMap<String, u64>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut counted = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_counted(&name) {
            counted.insert(name, count(&path)?);
        }
    }
    Ok(counted)
}

/// Whether a file of the folder is one of those that are checked.
fn is_counted(name: &str) -> bool {
    !name.contains('.') || name.ends_with(".so")
}

fn count(file: &Path) -> Result<u64, String> {
    let deburr = repository().join("target/release/deburr");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(deburr);
    valgrind.args(["check", "--threads", "1", "--format", "json"]).arg(file);
    let output =
        valgrind.output().map_err(|error| format!("valgrind: {error}; `apt-get install valgrind`"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    collected.ok_or_else(|| format!("{}: callgrind counted nothing:\n{text}", file.display()))
}

/// The counts by name, as they were written down.
fn counts_in(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let row = |line: &str| {
        let (name, count) = line.split_once('\t')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| row(line).ok_or_else(|| format!("instructions: no count: {line}"))).collect()
}

fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_count_and_the_other_way_round() {
        let folder = repository().join("tests/instructions");
        let known = counts_in(&fs::read_to_string(folder.join("counts.tsv")).unwrap()).unwrap();
        let names =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = names.filter(|name| is_counted(name)).collect();
        files.sort();
        assert_eq!(files.len(), 6);
        assert_eq!(known.into_keys().collect::<Vec<_>>(), files);
    }

    #[test]
    fn a_line_without_a_count_is_an_error() {
        assert!(counts_in("# by hand\nlibz.so\t12\n").is_ok());
        assert!(counts_in("libz.so\ttwelve\n").is_err());
        assert!(counts_in("libz.so 12\n").is_err());
    }
}
