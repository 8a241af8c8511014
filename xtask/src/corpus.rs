//! Grows the committed inputs of the fuzz targets and minimises them: seeds → `fuzz/corpus/<target>.hex`.
//!
//! In: the rules' fixtures and `fuzz/seeds/*.s`, assembled without debug information and linked to as little as an ELF file can be;
//! packages; indices of archives; profiles; reports of benchmark programs; and what is committed already. Small inputs make many runs: of fourteen kilobytes twelve
//! were debug information.

use crate::fuzz::{TARGETS, committed, found, minimise, run, unpack};
use crate::repository;
use deburr_inputs::write_inputs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Maximum of bytes of the committed inputs of one target, 5 MB together. Their text has two digits a byte.
const MOST_BYTES: u64 = 700 << 10;

/// Runs every target for an equal part of the time, and keeps what adds coverage.
pub fn grow(seconds: u32) -> Result<(), String> {
    if let Some(missing) = crate::fuzz::missing() {
        return Err(missing.to_owned());
    }
    let seeds = repository().join("target/fuzz-seeds");
    let elf = elf_seeds(&seeds.join("elf")).map_err(|error| format!("the seeds: {error}"))?;
    println!("corpus: {elf} small ELF files as seeds");
    for target in TARGETS {
        let own = match target {
            "package" => repository().join("crates/deburr-package/fixtures"),
            "container" => container_seeds(&seeds.join("container"))
                .map_err(|error| format!("the seeds of {target}: {error}"))?,
            "archive" => archive_seeds(&seeds.join("archive"))
                .map_err(|error| format!("the seeds of {target}: {error}"))?,
            "profile" => chosen_seeds("crates/deburr-profile/tests/recordings", &seeds.join("profile"))
                .map_err(|error| format!("the seeds of {target}: {error}"))?,
            "readers" => chosen_seeds("crates/deburr-lab/tests/reports", &seeds.join("readers"))
                .map_err(|error| format!("the seeds of {target}: {error}"))?,
            _ => seeds.join("elf"),
        };
        let (found, unpacked) = (found(target), unpack(target)?);
        println!("{}", run(target, &[&found, &unpacked, &own], seconds / TARGETS.len() as u32)?.line(target));
        let few = repository().join("target/fuzz-few").join(target);
        minimise(target, &few, &[&unpacked, &own, &found])?;
        let (inputs, bytes) =
            commit(&few, target).map_err(|error| format!("fuzz/corpus/{target}.hex: {error}"))?;
        println!("{target}: {inputs} inputs of {} KB", bytes >> 10);
    }
    Ok(())
}

/// Replaces the committed inputs of a target by the files of a folder, the smallest first, as far as there is room. Returns how many,
/// and how many bytes.
fn commit(from: &Path, target: &str) -> io::Result<(usize, u64)> {
    let mut files = Vec::new();
    for file in fs::read_dir(from)? {
        let file = file?;
        files.push((file.metadata()?.len(), file.path()));
    }
    files.sort();
    let (mut inputs, mut bytes) = (Vec::new(), 0);
    for (size, path) in files {
        if bytes + size > MOST_BYTES {
            break;
        }
        inputs.push(fs::read(path)?);
        bytes += size;
    }
    fs::write(committed(target), write_inputs(target, &inputs))?;
    Ok((inputs.len(), bytes))
}

/// The files of a folder of the repository, each for two choices.
fn chosen_seeds(from: &str, folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for file in fs::read_dir(repository().join(from))? {
        let file = file?;
        let text = fs::read(file.path())?;
        for choice in [0u8, 1] {
            let name = format!("{}-{choice}", file.file_name().to_string_lossy());
            fs::write(folder.join(name), [&[choice], text.as_slice()].concat())?;
        }
    }
    Ok(folder.to_owned())
}

/// Containers of the fixtures, with the choice by which the stage takes each for what it is.
fn container_seeds(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for file in fs::read_dir(repository().join("crates/deburr-package/fixtures"))? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        let choice = match name.rsplit('.').next() {
            Some("sqfs") => 0,
            Some("7z") => 1,
            _ => continue,
        };
        fs::write(folder.join(&name), [&[choice], fs::read(file.path())?.as_slice()].concat())?;
    }
    Ok(folder.to_owned())
}

/// Indices of archives. Their names begin with the choice by which the stage takes each for what it is.
fn archive_seeds(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for file in fs::read_dir(repository().join("fuzz/seeds/archive"))? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        let choice = name.bytes().next().unwrap_or_default().wrapping_sub(b'0');
        fs::write(folder.join(name), [&[choice], fs::read(file.path())?.as_slice()].concat())?;
    }
    Ok(folder.to_owned())
}

/// The sources of small ELF files: the rules' fixtures, and shapes of their own.
fn sources() -> io::Result<Vec<PathBuf>> {
    let mut folders = vec![repository().join("fuzz/seeds")];
    for rule in fs::read_dir(repository().join("crates/deburr-core/fixtures"))? {
        folders.push(rule?.path());
    }
    let mut found = Vec::new();
    for folder in folders {
        for file in fs::read_dir(folder)? {
            let file = file?.path();
            if file.extension().is_some_and(|extension| extension == "s") {
                found.push(file);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Assembles and links all sources. Each input has a first byte of its own. Returns how many there are.
fn elf_seeds(folder: &Path) -> io::Result<usize> {
    let made = folder.with_extension("made");
    for folder in [folder, &made] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    fs::create_dir_all(folder)?;
    let mut seeds = 0;
    for source in sources()? {
        fs::create_dir_all(&made)?;
        let name: Vec<_> = source.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
        for (form, bytes) in forms(&source, &made)? {
            let input = [&[seeds as u8], bytes.as_slice()].concat();
            fs::write(folder.join(format!("{}-{form}", name.join("-"))), input)?;
            seeds += 1;
        }
        fs::remove_dir_all(&made)?;
    }
    Ok(seeds)
}

/// One source in up to four forms: an object, a shared library, that one stripped, and a static program. What does not link is no
/// seed in that form.
fn forms(source: &Path, made: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    /// As few bytes as linkers can do with.
    const LINK: [&str; 6] = ["-z", "noseparate-code", "-z", "norelro", "--hash-style=gnu", "--build-id=sha1"];
    let prefix = match (fs::read_to_string(source)?.starts_with("//"), cfg!(target_arch = "x86_64")) {
        (true, _) => "aarch64-linux-gnu-",
        (false, true) => "",
        (false, false) => "x86_64-linux-gnu-",
    };
    let steps: [(&str, &str, &[&str], Option<&str>); 4] = [
        ("object", "as", &[], None),
        ("shared", "ld", &["-shared"], Some("object")),
        ("stripped", "strip", &[], Some("shared")),
        ("program", "ld", &["-static"], Some("object")),
    ];
    let mut found = Vec::new();
    for (form, tool, arguments, from) in steps {
        let (to, from) = (made.join(form), from.map_or(source.to_owned(), |from| made.join(from)));
        let mut command = Command::new(format!("{prefix}{tool}"));
        command.args(arguments).args(if tool == "ld" { &LINK[..] } else { &[] });
        let output = command.arg("-o").args([&to, &from]).output()?;
        if output.status.success() {
            found.push((form, fs::read(&to)?));
        }
    }
    Ok(found)
}
