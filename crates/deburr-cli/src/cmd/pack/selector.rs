//! `deburr pack selector`: an architecture → the selector's files in a folder, and their names.

use crate::args::pack::selector::Selector;
use crate::cmd::failure::Failure;
use deburr_cpu::Arch;
use deburr_launcher::{SELECTOR_HEADER, SELECTOR_NAME, SELECTOR_SOURCE, selector};
use deburr_text::ShownPath as _;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(options: &Selector, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let fault = |path: &Path, error| Failure::Message(format!("{}: {error}", path.shown()));
    let folder = &options.output;
    let own = if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 };
    let arch = options.arch.map_or(own, |arch| arch.arch());
    fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
    let mut files = vec![(SELECTOR_NAME, selector(arch)), ("deburr_select.h", SELECTOR_HEADER.as_bytes())];
    if options.source {
        files.push(("deburr_select.c", SELECTOR_SOURCE.as_bytes()));
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| fault(&path, error))?;
        writeln!(out, "{}", path.shown())?;
    }
    // The linker looks for the name without a number.
    let link = folder.join("libdeburr-select.so");
    match symlink(SELECTOR_NAME, &link) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if fs::read_link(&link).ok().as_deref() != Some(Path::new(SELECTOR_NAME)) {
                let reason = format!("expected a link to {SELECTOR_NAME}, or nothing; remove it");
                return Err(Failure::Message(format!("{}: {reason}", link.shown())));
            }
        }
        other => other.map_err(|error| fault(&link, error))?,
    }
    writeln!(out, "{}", link.shown())?;
    Ok(ExitCode::SUCCESS)
}
