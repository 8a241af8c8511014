//! A run of `deburr fix` so far: what it is to do, what it printed, and what it left alone.
//!
//! In: the outcome of each file. Out: lines or a document through the renderer, the sums, and the exit status.

use super::attested::attestation::Attestation;
use super::attested::disk::Disk;
use super::breaks;
use super::rewriter::Rewriter;
use super::trailing::Trailing;
use super::trouble::Trouble;
use crate::args::fix::Fix;
use crate::cmd::failure::Failure;
use crate::render::fix::outcome::{Fixed, Left};
use crate::render::fix::renderer::FixRenderer;
use crate::render::fix::summary::FixSummary;
use deburr_patch::Plan;
use deburr_text::ShownPath as _;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// A run so far.
pub(super) struct FixRun<'r> {
    pub(super) options: &'r Fix,
    pub(super) rewriter: Rewriter<'r>,
    pub(super) render: &'r mut dyn FixRenderer,
    pub(super) out: &'r mut dyn Write,
    pub(super) complaints: &'r mut dyn Write,
    pub(super) summary: FixSummary,
    pub(super) disk: Disk,
    pub(super) failed: bool,
}

impl FixRun<'_> {
    /// Notes a file that stays as it is; says so at once if the user named it, or if it is a fault.
    pub(super) fn leave(&mut self, path: &Path, trouble: Trouble, is_named: bool) {
        let (path, reason) = (path.shown().into_owned(), trouble.reason);
        if is_named || trouble.is_fault {
            // Where the standard error is gone, the exit status still shows it.
            let _ = writeln!(self.complaints, "deburr: {path}: {reason}");
            self.failed = true;
        }
        self.summary.left.push(Left { path, reason, is_fault: trouble.is_fault });
    }

    /// A plan, with what is to be known of it.
    pub(super) fn planned(&self, path: String, plan: Plan, trailing: Option<Trailing>) -> Fixed {
        Fixed {
            path,
            needs: plan.needs(),
            breaks: if plan.sites.is_empty() { Vec::new() } else { breaks::inside(self.options, trailing) },
            plan,
            obstacle: None,
            written: None,
        }
    }

    /// Why a file whose bytes are attested stays as it is; where it is rewritten all the same, what no longer fits it.
    pub(super) fn attested(&self, fixed: &mut Fixed, attestations: Vec<Attestation>) -> Option<String> {
        match self.options.despite_signature {
            true => {
                fixed.breaks.extend(attestations.iter().map(Attestation::broken));
                None
            }
            false => attestations.first().map(Attestation::refusal),
        }
    }

    pub(super) fn show(&mut self, fixed: &Fixed, is_named: bool) -> io::Result<()> {
        self.summary.add(fixed);
        self.render.fixed(self.out, fixed, is_named)
    }

    /// Whether there is one file only, so that what is not in it is nowhere.
    pub(super) fn is_alone(&self) -> bool {
        self.options.paths.len() == 1 && !self.summary.is_tree
    }

    /// Refuses what the user named and the only file has not.
    pub(super) fn check_met(&self) -> Result<(), Trouble> {
        match self.rewriter.unmet().into_iter().next() {
            Some(unmet) if self.is_alone() => Err(Trouble::fault(unmet)),
            _ => Ok(()),
        }
    }

    pub(super) fn end(mut self) -> Result<ExitCode, Failure> {
        if !self.is_alone() {
            for unmet in self.rewriter.unmet() {
                let _ = writeln!(self.complaints, "deburr: {unmet}");
                self.failed = true;
            }
        }
        self.summary.left.sort_by(|a, b| a.path.cmp(&b.path));
        let (packages, paths) = (self.summary.packages, self.options.paths.len());
        self.summary.is_several = self.summary.is_tree || packages > 0 || paths > 1;
        self.summary.is_package = packages == 1 && paths == 1 && !self.summary.is_tree;
        self.render.end(self.out, &self.summary)?;
        Ok(if self.failed { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }
}
