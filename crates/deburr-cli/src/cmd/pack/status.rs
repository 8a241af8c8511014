//! `deburr pack status`: a folder → what it holds, on the standard output.

use crate::args::format::Format;
use crate::args::pack::status::Status as Options;
use crate::cmd::failure::Failure;
use deburr_pack::record::{CheckRecord, State};
use deburr_pack::status::{FileState, Status, status};
use deburr_text::ShownPath as _;
use std::io::Write;
use std::process::ExitCode;

/// Runs the step.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let status = status(&options.folder).map_err(|error| Failure::Message(error.to_string()))?;
    match options.format {
        Format::Text => text(&status, out)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &status).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::from(u8::from(!status.is_whole)))
}

fn text(status: &Status, out: &mut dyn Write) -> std::io::Result<()> {
    for variant in &status.record.variants {
        let state = match (variant.state, &variant.check) {
            (State::Failed, _) => "not built",
            (State::Rejected, _) => "rejected: not what its level says",
            (State::Done, None) => "built",
            (State::Done, Some(CheckRecord { left_out: true, .. })) => "built, not checked",
            (State::Done, Some(_)) => "built and checked",
        };
        writeln!(out, "{}: {state}", variant.level)?;
        for line in variant.check.iter().flat_map(CheckRecord::believed) {
            writeln!(out, "  {line}")?;
        }
        for found in status.found.iter().filter(|found| found.file.level == variant.level) {
            let state = match found.state {
                FileState::Whole => "",
                FileState::Missing => "missing: ",
                FileState::Other => "of another build, or damaged: ",
            };
            let id = found.file.build_id.as_deref().unwrap_or("no build ID");
            writeln!(out, "  {state}{}  {id}", found.file.path.shown())?;
        }
    }
    if let Some(link) = &status.record.selection {
        match &status.selected {
            Some(target) => writeln!(out, "{} leads to {}", link.shown(), target.shown())?,
            None => writeln!(out, "missing: {}", link.shown())?,
        }
    }
    for interface in status.record.interfaces.iter().filter(|interface| interface.accepted) {
        writeln!(out, "{}: believed: {}", interface.path.shown(), interface.finding())?;
    }
    writeln!(out, "{}", if status.is_whole { "all is whole" } else { "not all is whole" })
}
