//! `deburr pack install`: an assembled tree → files of a system, and what was chosen there.

use crate::args::format::Format;
use crate::args::pack::install::{Install, When};
use crate::cmd::failure::Failure;
use crate::output::complaints::complaints;
use deburr_pack::install::{Choice, Installed, install, remove};
use deburr_text::ShownPath as _;
use std::io::Write;
use std::process::ExitCode;

/// Runs the step.
pub(super) fn run(options: &Install, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let choice = match options.select {
        None => Choice::AtStart,
        Some(When::Boot) => Choice::AtBoot,
        Some(When::Once) => Choice::Once,
    };
    let done = match options.remove {
        true => remove(&options.tree, &options.root),
        false => install(&options.tree, &options.root, choice),
    };
    let done = done.map_err(|error| Failure::Message(error.to_string()))?;
    match options.format {
        Format::Text => text(options, &done, out)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &done).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(options: &Install, done: &Installed, out: &mut dyn Write) -> std::io::Result<()> {
    let files = |count: usize| format!("{count} file{}", if count == 1 { "" } else { "s" });
    for remark in &done.remarks {
        writeln!(complaints(), "deburr: {remark}")?;
    }
    if let Some(tree) = &done.selected {
        writeln!(out, "selected: {}", tree.shown())?;
    }
    let root = options.root.shown();
    match (options.remove, done.removed) {
        (true, removed) => writeln!(out, "{root}: {} removed", files(removed)),
        (false, 0) => writeln!(out, "{root}: {} installed", files(done.written)),
        (false, removed) => {
            writeln!(
                out,
                "{root}: {} installed, {} of an earlier version removed",
                files(done.written),
                removed
            )
        }
    }
}
