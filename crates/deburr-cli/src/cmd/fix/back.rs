//! The ways back: a rewritten file → its original; both → whether they do the same.

use super::work::{Trouble, guarded};
use super::{Goal, Run, Source, Stop};
use crate::cmd::Failure;
use crate::input::Content;
use crate::input::mapped::Bytes;
use crate::input::walk::error_text;
use crate::render::fix::{Render, Reverted, Summary, Verdict};
use deburr_core::patch::{self, PlanError, VerifyError};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

impl Run<'_> {
    /// Gives the original of a file back.
    pub(super) fn revert(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Stop> {
        let source = Source::open(path)?;
        if Content::of_all(&source.bytes) == Content::Package {
            return self.package(path, &source, goal);
        }
        let Some(destination) = self.destination(path, &source, goal)? else { return Ok(()) };
        let reverted = guarded(|| patch::revert(&source.bytes))?;
        let original = reverted.map_err(|error| Trouble::fault(error.to_string()))?;
        // That it is the original, the note's own SHA-256 has told.
        let (written, _) = destination.deliver(path, &source, Some(&original), |_| Ok(()))?;
        let reverted = Reverted { path: path.display().to_string(), written };
        self.render.reverted(self.out, &reverted)?;
        Ok(())
    }
}

/// Proves the difference of two files.
pub(super) fn verify(
    original: &Path,
    patched: &Path,
    render: &mut dyn Render,
    out: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let complain = |path: &Path, reason: &str| Failure::Message(format!("{}: {reason}", path.display()));
    let open = |path: &Path| {
        let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        match Bytes::open(path) {
            _ if is_special => Err(complain(path, "no regular file")),
            opened => opened.map_err(|error| complain(path, &error_text(&error))),
        }
    };
    let (old, new) = (open(original)?, open(patched)?);
    for (path, bytes) in [(original, &old), (patched, &new)] {
        if Content::of_all(bytes) == Content::Package {
            return Err(complain(path, "a package: unpack both, and verify their files"));
        }
    }
    let verified =
        guarded(|| patch::verify(&old, &new)).map_err(|trouble| complain(patched, &trouble.reason))?;
    for (path, bytes) in [(original, &old), (patched, &new)] {
        if !bytes.is_intact() {
            return Err(complain(path, "the file changed while it was read"));
        }
    }
    if let Err(VerifyError::Plan(PlanError::Unreadable(error))) = &verified {
        return Err(complain(original, &error.to_string()));
    }
    let verdict = Verdict {
        path: patched.display().to_string(),
        original: original.display().to_string(),
        verified: verified.as_ref().map(|verified| verified.by_rule.clone()).map_err(ToString::to_string),
    };
    render.begin(out)?;
    render.verdict(out, &verdict)?;
    render.end(out, &Summary::default())?;
    Ok(if verdict.verified.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
