//! Assembles `crates/deburr-core/fixtures/<rule>/*.s` with GNU as and holds the result against the committed `.o`.
//!
//! `cargo test` needs only the objects, so that it needs no cross toolchain; this task keeps them true to their source.
//! Assemblers of different versions differ in symbol tables and notes: what is compared is every section that is loaded, by
//! name, flags and bytes.

use crate::repository;
use object::{Object, ObjectSection, SectionFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compares, or with `bless` writes, all objects.
pub fn run(bless: bool) -> Result<(), String> {
    let root = repository().join("crates/deburr-core/fixtures");
    let mut sources: Vec<PathBuf> = Vec::new();
    for rule in read_dir(&root)? {
        if rule.is_dir() {
            sources.extend(
                read_dir(&rule)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "s")),
            );
        }
    }
    sources.sort();
    let scratch = repository().join("target/fixtures");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut faults = Vec::new();
    for source in &sources {
        let committed = source.with_extension("o");
        let fresh = if bless { committed.clone() } else { scratch.join("fresh.o") };
        if let Err(fault) = assemble(source, &fresh)
            .and_then(|()| if bless { Ok(()) } else { compare(&committed, &fresh, is_linked(source)) })
        {
            faults.push(fault);
        }
    }
    for orphan in orphans(&root, &sources)? {
        faults.push(format!("{}: no .s next to it", orphan.display()));
    }
    if faults.is_empty() {
        println!(
            "{} fixtures {}",
            sources.len(),
            if bless { "assembled" } else { "are what their sources say" }
        );
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

fn read_dir(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
}

fn orphans(root: &Path, sources: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut objects = Vec::new();
    for rule in read_dir(root)?.iter().filter(|path| path.is_dir()) {
        objects.extend(read_dir(rule)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "o")));
    }
    objects.retain(|object| !sources.contains(&object.with_extension("s")));
    Ok(objects)
}

/// Whether a fixture is a shared object: for rules on files as they are loaded.
fn is_linked(source: &Path) -> bool {
    fs::read_to_string(source).is_ok_and(|text| linker_options(&text).is_some())
}

/// The options that a fixture gives its linker; `None` where it is not linked.
fn linker_options(text: &str) -> Option<impl Iterator<Item = &str>> {
    text.lines().find_map(|line| line.strip_prefix(LINKED)).map(str::split_whitespace)
}

/// The line of a fixture that is to be linked, before options of the linker.
const LINKED: &str = "# deburr: linked";

/// The entry point that a fixture gives its linker, which takes the start of the code otherwise, or none.
fn entry_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# deburr: entry "))
}

/// x86 fixtures open with a `#` comment, A64 ones with `//`: each assembler's own.
fn assemble(source: &Path, to: &Path) -> Result<(), String> {
    let text = fs::read_to_string(source).map_err(|error| format!("{}: {error}", source.display()))?;
    let (prefix, package) = if text.starts_with("//") {
        ("aarch64-linux-gnu-", "binutils-aarch64-linux-gnu")
    } else if cfg!(target_arch = "x86_64") {
        ("", "binutils")
    } else {
        ("x86_64-linux-gnu-", "binutils-x86-64-linux-gnu")
    };
    let assembler = format!("{prefix}as");
    // Line tables let a test compare findings with the marks in the source. The path in them must be the same for all.
    let root = repository();
    let output = Command::new(&assembler)
        .current_dir(root)
        .arg("-g")
        .arg(format!("--debug-prefix-map={}=.", root.display()))
        .arg("-o")
        .arg(to)
        .arg(source.strip_prefix(root).unwrap_or(source))
        .output()
        .map_err(|error| format!("{assembler}: {error} (Debian and Ubuntu: {package})"))?;
    let said = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stderr);
        let is_well = output.status.success() && said.is_empty();
        if is_well { Ok(()) } else { Err(format!("{}: {said}", source.display())) }
    };
    said(&output)?;
    if !is_linked(source) {
        return Ok(());
    }
    let linker = format!("{prefix}ld");
    let linked = to.with_extension("so");
    let output = Command::new(&linker)
        .args(["-shared", "--build-id=none", "-z", "noseparate-code", "-o"])
        .args([&linked, to])
        .args(linker_options(&text).into_iter().flatten())
        .args(entry_of(&text).into_iter().flat_map(|entry| ["-e", entry]))
        .output()
        .map_err(|error| format!("{linker}: {error} (Debian and Ubuntu: {package})"))?;
    said(&output)?;
    fs::rename(&linked, to).map_err(|error| format!("{}: {error}", linked.display()))
}

type Section = (String, u64, Vec<u8>);

fn loaded_sections(path: &Path) -> Result<Vec<Section>, String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| fault(&error))?;
    let file = object::File::parse(&*bytes).map_err(|error| fault(&error))?;
    let mut sections = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if sh_flags.0 & object::elf::SHF_ALLOC.0 != 0
            && section.size() > 0
            && section.name() != Ok(".note.gnu.property")
        {
            let data = section.data().map_err(|error| fault(&error))?;
            sections.push((section.name().unwrap_or_default().to_owned(), sh_flags.0, data.to_vec()));
        }
    }
    Ok(sections)
}

/// Compares; of a linked fixture the code alone, since linkers lay out the rest as they like.
fn compare(committed: &Path, fresh: &Path, is_linked: bool) -> Result<(), String> {
    let sections = |path: &Path| {
        let mut sections = loaded_sections(path)?;
        sections.retain(|(name, ..)| !is_linked || name == ".text");
        Ok::<_, String>(sections)
    };
    if sections(committed)? == sections(fresh)? {
        Ok(())
    } else {
        Err(format!(
            "{}: not what its source assembles to; `cargo xtask fixtures --bless` writes it",
            committed.display()
        ))
    }
}
