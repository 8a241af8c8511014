//! A program of several trees → one file that holds its variants.
//!
//! In: the variants, and where the program is in their trees. Out: a launcher with the variants after it, stored as they
//! are, equal ones once. It starts them from a cache, or from memory: what looks for files next to itself is refused where
//! that can be seen.

use super::elf::own;
use super::plan::{Levels, table, variant, variants_of};
use super::{AssembleError, Laid, Mechanism, Request, metadata, place};
use crate::assemble::binary::Kind;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes one file that holds the variants of a program, which is at `program` in each tree.
///
/// # Errors
/// [`AssembleError`]; then the output is as it was.
pub fn assemble_single(request: &Request, program: &Path, output: &Path) -> Result<Laid, AssembleError> {
    let refuse = |reason: &str| AssembleError::File(program.to_owned(), reason.to_owned());
    let levels = Levels::of(request)?;
    for source in &levels.sources {
        let file = source.tree.join(program);
        let data = fs::metadata(&file).map_err(|error| AssembleError::Io(file.clone(), error))?;
        if data.permissions().mode() & 0o6000 != 0 || metadata::is_with_capabilities(&file) {
            return Err(refuse(
                "it runs with more rights than its user, which one file cannot keep; assemble a tree instead",
            ));
        }
    }
    // A program's variants may differ: no remark says so.
    let (binary, file_of) = variants_of(&levels, program, &mut Vec::new())?;
    let kept = own(&file_of);
    let Some(binary) = binary.filter(|binary| binary.kind == Kind::Program) else {
        return Err(refuse("expected a program; a library cannot be started from one file"));
    };
    if kept.len() < 2 {
        return Err(refuse(
            "all variants have the same code, so there is nothing to choose; take one of them",
        ));
    }
    if binary.search.iter().any(|folder| folder.contains("$ORIGIN") || folder.contains("${ORIGIN}")) {
        return Err(refuse(
            "its RUNPATH has $ORIGIN, and it would be started from a cache or from memory; assemble a tree instead",
        ));
    }
    let name = program.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| refuse("expected a name in UTF-8"))?;
    let (mut variants, mut bytes) = (Vec::new(), Vec::new());
    for source in kept.iter().map(|index| &levels.sources[*index]) {
        let file = source.tree.join(program);
        let content = fs::read(&file).map_err(|error| AssembleError::Io(file, error))?;
        variants.push(variant(source, format!("{}/{name}", cache_name(&content))));
        bytes.push(content);
    }
    let names = variants.iter().map(|variant| variant.level.clone()).collect();
    let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let file = deburr_launcher::single_file(&table(request, &levels, variants, None), &slices)
        .map_err(|error| AssembleError::Table(program.to_owned(), error))?;
    write(&file, output)?;
    Ok(Laid { path: output.to_owned(), mechanism: Mechanism::Launcher, levels: names })
}

/// The folder of a variant in the cache: half of the SHA-256 of its bytes, in hexadecimal digits.
fn cache_name(content: &[u8]) -> String {
    Sha256::digest(content).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a program that does not exist yet, whole or not at all.
fn write(bytes: &[u8], output: &Path) -> Result<(), AssembleError> {
    if fs::symlink_metadata(output).is_ok() {
        let reason = "expected a name at which there is no file yet".to_owned();
        return Err(AssembleError::File(output.to_owned(), reason));
    }
    let mut temporary = output.as_os_str().to_owned();
    temporary.push(format!(".{}.new", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written =
        place::write(&temporary, bytes).and_then(|()| place::set_mode(&temporary, 0o755)).and_then(|()| {
            fs::rename(&temporary, output).map_err(|error| AssembleError::Io(output.to_owned(), error))
        });
    if written.is_err() {
        // The first fault is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}
