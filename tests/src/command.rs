//! The command under test, and the JSON that it promises.
//!
//! Cargo tells only the tests of the package `deburr` where its program is (`CARGO_BIN_EXE_deburr`); so [`deburr`] takes it
//! from the build directory, where `cargo test --workspace` has put it, and asks Cargo to build it where it is missing or
//! older than its sources: with all packages, since by itself it would have other features of its dependencies.

use crate::toolchain::{repository, run, target_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{fs, io};

/// The command, of the same profile as the tests.
///
/// # Panics
/// If it does not build.
pub fn deburr() -> &'static Path {
    static DEBURR: OnceLock<PathBuf> = OnceLock::new();
    DEBURR.get_or_init(|| {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let program = target_dir().join(profile).join("deburr");
        if is_current(&program).unwrap_or(false) {
            return program;
        }
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--workspace", "--bin", "deburr"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile == "release" {
            build.arg("--release");
        }
        run(&mut build);
        program
    })
}

/// Whether a program is newer than all that it is built from: what is in `crates`, and what is locked.
fn is_current(program: &Path) -> io::Result<bool> {
    let built = fs::metadata(program)?.modified()?;
    let sources = [repository().join("crates"), repository().join("Cargo.lock")];
    Ok(newest(&sources)? <= built)
}

/// When the last of some files, or of those in some folders, was written.
fn newest(paths: &[PathBuf]) -> io::Result<SystemTime> {
    let mut last = SystemTime::UNIX_EPOCH;
    for path in paths {
        let metadata = fs::metadata(path)?;
        last = last.max(match metadata.is_dir() {
            true => {
                let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
                newest(&entries.collect::<io::Result<Vec<_>>>()?)?
            }
            false => metadata.modified()?,
        });
    }
    Ok(last)
}

/// Runs `deburr check --format json` on one file and returns that file's report, with a finding for each place.
///
/// # Panics
/// If it ends with another status than 0 or 1, or its output is not the JSON that it promises.
pub fn check(file: &Path, options: &[&str]) -> Checked {
    let mut command = Command::new(deburr());
    command.arg("check").arg(file).args(["--format", "json", "--schema-version", "1"]).args(options);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command:?}: not JSON: {error}"));
    // What a file carries after its end (section headers that nothing refers to any more) is named, and is no file.
    let skipped =
        report["skipped"].as_array().unwrap_or_else(|| panic!("{command:?}: no list of what was skipped"));
    assert!(skipped.iter().all(|skip| skip["is_part"] == true), "{command:?}: {skipped:?}");
    let files = report["files"].as_array().unwrap_or_else(|| panic!("{command:?}: no files"));
    assert_eq!(files.len(), 1, "{command:?}: one file asked for");
    Checked(files[0].clone())
}

/// The report on one file.
#[derive(Debug, Clone)]
pub struct Checked(pub Value);

impl Checked {
    /// The findings of one rule: address, and that field of the evidence.
    ///
    /// # Panics
    /// If a finding lacks what the JSON promises, or two have one address.
    pub fn findings(&self, rule: &str, evidence: &str) -> BTreeMap<u64, String> {
        let mut found = BTreeMap::new();
        for finding in self.0["findings"].as_array().expect("findings is a list") {
            if finding["rule"] != rule {
                continue;
            }
            let svma = finding["svma"].as_str().expect("svma is a string");
            let svma = u64::from_str_radix(svma.trim_start_matches("0x"), 16).expect("svma is hexadecimal");
            let value = finding["evidence"][evidence].as_str().unwrap_or_default().to_owned();
            assert!(found.insert(svma, value).is_none(), "{rule} is reported twice at {svma:#x}");
        }
        found
    }

    /// How many instructions need a feature.
    pub fn feature(&self, name: &str) -> u64 {
        self.0["features"][name].as_u64().unwrap_or_default()
    }

    /// A count of the `atomics` object.
    pub fn atomics(&self, name: &str) -> u64 {
        self.0["atomics"][name]
            .as_u64()
            .unwrap_or_else(|| panic!("atomics.{name} is missing: {}", self.0["atomics"]))
    }
}
