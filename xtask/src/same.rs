//! Whether a change of structure or speed changed any result: the JSON of some 250 real files, by this tree and by another
//! revision of it, byte for byte. Half of the files are this machine's programs and libraries, half are AArch64 packages of
//! the distribution. AArch64 files are planned for as well, so that the rewriting is compared too.

use crate::repository;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of each architecture.
const EACH: usize = 125;
/// Smaller files are all alike, larger ones take the time of many.
const SIZES: std::ops::Range<u64> = 16 << 10..16 << 20;
/// AArch64 packages; the first of each group that the release has.
const PACKAGES: [&[&str]; 14] = [
    &["postgresql-17", "postgresql-16", "postgresql-15", "postgresql-14"],
    &["postgresql-client-17", "postgresql-client-16", "postgresql-client-15", "postgresql-client-14"],
    &["mariadb-server-core", "mariadb-server-core-10.6"],
    &["redis-server", "redis-tools"],
    &["libc6"],
    &["libstdc++6"],
    &["libgcc-s1"],
    &["libssl3", "libssl3t64"],
    &["coreutils"],
    &["util-linux"],
    &["openssh-client"],
    &["containerd"],
    &["python3-numpy"],
    &["libgomp1"],
];

/// Compares this tree's results with those of `revision`. Prints each file whose JSON differs; an error if one does.
pub fn run(revision: &str) -> Result<(), String> {
    let work = repository().join("target/same");
    let mut files = programs_of_this_machine()?;
    files.extend(packages(&work.join("packages"))?);
    if files.len() < EACH {
        return Err(format!("same: only {} files are found", files.len()));
    }
    let before = build_revision(revision, &work)?;
    let now = build(repository(), &repository().join("target"))?;
    let mut different = Vec::new();
    for file in &files {
        for (what, arguments) in QUERIES {
            let [old, new] = [output(&before, arguments, file)?, output(&now, arguments, file)?];
            // Two commands that refuse the arguments agree on nothing.
            if new.0.is_empty() {
                return Err(format!("same: {what} prints nothing for {}", file.display()));
            }
            if old != new {
                println!("{what} differs: {}", file.display());
                different.push(file);
            }
        }
    }
    println!("same: {} files compared with {revision}, {} differences", files.len(), different.len());
    if different.is_empty() { Ok(()) } else { Err("same: results differ".to_owned()) }
}

/// What is compared, with the arguments that select it.
const QUERIES: [(&str, &[&str]); 2] = [
    ("check", &["check", "--preview", "--format", "json"]),
    ("plan", &["fix", "--target", "armv8.1-a", "--trampolines", "--limit", "0", "--format", "json"]),
];

/// The standard output and the exit status of one run.
fn output(command: &Path, arguments: &[&str], file: &Path) -> Result<(Vec<u8>, Option<i32>), String> {
    let done = Command::new(command).args(arguments).arg(file).current_dir("/").output();
    let done = done.map_err(|error| format!("{}: {error}", command.display()))?;
    Ok((done.stdout, done.status.code()))
}

/// Builds the command of `tree`, and returns its path.
fn build(tree: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--quiet", "-p", "deburr"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target);
    succeeded(&mut cargo)?;
    Ok(target.join("release/deburr"))
}

/// Builds the command of another revision, in a work tree of its own that stays for the next time.
fn build_revision(revision: &str, work: &Path) -> Result<PathBuf, String> {
    let mut parsed = Command::new("git");
    parsed.args(["rev-parse", "--verify", &format!("{revision}^{{commit}}")]).current_dir(repository());
    let parsed = parsed.output().map_err(|error| format!("git: {error}"))?;
    if !parsed.status.success() {
        return Err(format!("same: {revision} is no revision of this repository"));
    }
    let commit = String::from_utf8_lossy(&parsed.stdout).trim().to_owned();
    let tree = work.join(&commit);
    if !tree.exists() {
        let mut add = Command::new("git");
        add.args(["worktree", "add", "--detach"]).args([&tree]).arg(&commit);
        succeeded(add.current_dir(repository()))?;
    }
    build(&tree, &work.join(format!("{commit}-target")))
}

fn succeeded(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// Some 125 programs and libraries of this machine.
pub(crate) fn programs_of_this_machine() -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/postgresql"] {
        elf_files(Path::new(folder), &mut found);
    }
    Ok(spread(found))
}

fn packages(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for names in PACKAGES {
        let mut fetch = Command::new(repository().join("scripts/fetch-package"));
        let fetched = fetch.arg(folder).arg("arm64").args(names).output();
        let fetched = fetched.map_err(|error| format!("scripts/fetch-package: {error}"))?;
        let text = String::from_utf8_lossy(&fetched.stdout);
        match text.lines().last().filter(|_| fetched.status.success()) {
            Some(unpacked) => elf_files(Path::new(unpacked), &mut found),
            None => return Err(format!("same: no package {}", names.join(", "))),
        }
    }
    Ok(spread(found))
}

/// At most [`EACH`] files, evenly over the sorted list.
fn spread(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.sort();
    let (length, step) = (files.len(), files.len().div_ceil(EACH).max(1));
    let mut chosen: Vec<PathBuf> = files.iter().step_by(step).cloned().collect();
    // What the even step leaves out fills the rest.
    chosen.extend(
        (0..length)
            .filter(|at| at % step != 0)
            .take(EACH.saturating_sub(chosen.len()))
            .map(|at| files[at].clone()),
    );
    chosen
}

/// The ELF files of a useful size below a folder; links are not followed.
fn elf_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            elf_files(&path, found);
        } else if kind.is_file()
            && entry.metadata().is_ok_and(|data| SIZES.contains(&data.len()))
            && starts_as_elf(&path)
        {
            found.push(path);
        }
    }
}

fn starts_as_elf(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 4];
    fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok() && magic == *b"\x7fELF")
}
