//! Packages of the distribution for another architecture, fetched through an apt root of our own.
//!
//! The machine's apt sources and keys are used, its package state is neither read nor changed, and no root is needed. The
//! lists and packages stay under the build directory, so a second run downloads nothing that has not changed.

use crate::toolchain::{require, run, target_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Fetches the first of the named packages that the release has, and unpacks it.
///
/// Returns the package's name and the folder.
///
/// # Panics
/// With one line, if there is no apt, no network or no such package: a test must not pass without its input.
pub fn fetch(architecture: &str, names: &[&str]) -> (String, PathBuf) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let script = crate::toolchain::repository().join("scripts/fetch-package");
    require("apt-get");
    require("dpkg");
    let into = target_dir().join("packages");
    fs::create_dir_all(&into).unwrap_or_else(|error| panic!("{}: {error}", into.display()));
    let printed = run(Command::new(script).arg(into).arg(architecture).args(names));
    let dir = PathBuf::from(printed.lines().last().unwrap_or_default());
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (name, dir)
}

/// The regular files below a folder that start like an ELF file, by path.
///
/// # Panics
/// If the folder cannot be read.
pub fn elf_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let kind =
                entry.file_type().unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file()
                && fs::read(entry.path()).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
            {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
