//! The ways back: a rewritten file → its original; both → whether they do the same.

use super::place::{self, Existing, Inherited};
use super::work::{Trouble, guarded};
use super::{Goal, Run, Source, Stop, behind_links, new_file, refuse_existing, sha256};
use crate::cmd::Failure;
use crate::input::mapped::Bytes;
use crate::input::walk::error_text;
use crate::render::fix::{Render, Reverted, Summary, Verdict, Written};
use deburr_core::patch::{self, PlanError, VerifyError};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

impl Run<'_> {
    /// Gives the original of a file back.
    pub(super) fn revert(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Stop> {
        let source = Source::open(path)?;
        let (destination, backup) = match (goal, &self.options.backup) {
            (Goal::New(output), _) => (new_file(output, &source)?, None),
            (_, Some(_)) => {
                let (real, backup) = self.destination(path, &source, goal)?;
                (real.unwrap_or_else(|| path.to_owned()), backup)
            }
            // What was rewritten once can be so again.
            (_, None) => (behind_links(path)?, None),
        };
        let reverted = guarded(|| patch::revert(&source.bytes))?;
        let original = reverted.map_err(|error| Trouble::fault(error.to_string()))?;
        if let Some(backup) = &backup {
            refuse_existing(backup)?;
        }
        let is_replaced = matches!(goal, Goal::Replace);
        let inherited =
            Inherited { metadata: &source.metadata, replaced: is_replaced.then_some(&source.file) };
        let existing = backup.as_deref().map_or(Existing::Replace, Existing::Rename);
        place::put(&original, &destination, inherited, existing, |_| source.check())?;
        let shown = if is_replaced { path } else { &destination };
        let reverted = Reverted {
            path: path.display().to_string(),
            written: Written {
                path: shown.display().to_string(),
                is_changed: true,
                sha256: sha256(&original),
                backup: backup.as_ref().map(|path: &PathBuf| path.display().to_string()),
            },
        };
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
