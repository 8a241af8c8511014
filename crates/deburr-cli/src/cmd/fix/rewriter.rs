//! What is done with one binary: options → [`Rewriter`], and from it, file by file, what is to be rewritten
//! and the bytes with it.
//!
//! Knows bytes only; where they come from and go to is the business of whoever calls.

use super::trailing::{Trailing, is_stray};
use super::trouble::{Trouble, guarded};
use crate::analysis::{debug_dirs, machines};
use crate::args::fix::{Fix, PauseChoice};
use crate::config::document::Config;
use crate::input::content::Content;
use crate::input::debug_file;
use crate::names::{cpu_for, features_for, machines_named};
use deburr_core::idiom::slow_lse::{SlowLse, slow_in_all_forms};
use deburr_core::image::demangle;
use deburr_core::{Error, Svma, pattern, wanted_debug_file};
use deburr_cpu::{Arch, Feature, FeatureSet, Target};
use deburr_patch::{
    self, ApplyError, ApplyOptions, Edited, Pause, Plan, PlanError, PlanRequest, Reason, Refused,
};
use std::path::{Path, PathBuf};

/// What is to be rewritten, and how.
pub(super) struct Rewriter<'o> {
    rules: Option<Vec<&'o str>>,
    target: Option<FeatureSet>,
    skip_spinning: bool,
    pause: Pause,
    trampolines: bool,
    options: ApplyOptions,
    /// Whether nothing is to be written.
    is_plan: bool,
    debug_dirs: Option<Vec<PathBuf>>,
    functions: Vec<Wanted<&'o str>>,
    sites: Vec<Wanted<Svma>>,
}

/// A place that the user names, and whether any file has it.
struct Wanted<T> {
    what: T,
    is_met: bool,
}

/// What can be made of a binary.
pub(super) struct Rewrite<'b> {
    pub(super) plan: Plan,
    /// The file with it, or why it cannot be written; `None` where there is nothing to write, or nothing is
    /// to be written.
    pub(super) patched: Option<Result<Edited<'b>, ApplyError>>,
    /// Bytes after the last section, where they were no obstacle.
    pub(super) trailing: Option<Trailing>,
}

impl<'o> Rewriter<'o> {
    /// Understands the options.
    pub(super) fn new(options: &'o Fix) -> Result<Rewriter<'o>, String> {
        let target = target(options)?;
        Ok(Rewriter {
            rules: (!options.only.is_empty()).then(|| options.only.iter().map(String::as_str).collect()),
            target,
            skip_spinning: options.skip_spin_cas,
            pause: match options.pause {
                PauseChoice::Sb => Pause::Sb,
                PauseChoice::Auto if target.is_some_and(|target| target.contains(Feature::FEAT_SB)) => {
                    Pause::Sb
                }
                PauseChoice::Isb | PauseChoice::Auto => Pause::Isb,
            },
            trampolines: options.trampolines,
            options: ApplyOptions { new_build_id: options.new_build_id, trailer: options.despite_signature },
            is_plan: options.is_plan(),
            debug_dirs: debug_dirs(&options.batch.debug_files),
            functions: options
                .function
                .iter()
                .map(|it| Wanted { what: it.as_str(), is_met: false })
                .collect(),
            sites: options.site.iter().map(|it| Wanted { what: *it, is_met: false }).collect(),
        })
    }

    /// What the user states that every machine has.
    pub(super) fn target(&self) -> FeatureSet {
        self.target.unwrap_or_default()
    }

    /// Plans for a file and applies the plan, in memory. `file`: what its debug file may be next to.
    pub(super) fn make<'b>(&mut self, bytes: &'b [u8], file: Option<&Path>) -> Result<Rewrite<'b>, Trouble> {
        match Content::of_all(bytes) {
            Content::Elf => self.make_elf(bytes, file),
            Content::Archive | Content::ThinArchive => {
                Err(Trouble::left("a static archive: rewrite what it is linked into"))
            }
            Content::Package | Content::Layout => {
                Err(Trouble::left("a package: unpack it, and give its files"))
            }
            Content::Jitdump => Err(Trouble::left("a jitdump: code made at run time is in no program")),
            Content::Known(known) => Err(Trouble::left(format!("{}: not read", known.name()))),
            Content::Empty => Err(Trouble::left("an empty file")),
            Content::Other => Err(Trouble::left("no ELF file")),
        }
    }

    fn make_elf<'b>(&mut self, bytes: &'b [u8], file: Option<&Path>) -> Result<Rewrite<'b>, Trouble> {
        let debug_file = self
            .debug_dirs
            .as_deref()
            .zip(file)
            .and_then(|(dirs, file)| debug_file::find(&wanted_debug_file(bytes)?, file, dirs));
        let request = PlanRequest {
            debug_file: debug_file.as_deref(),
            target: self.target,
            rules: self.rules.as_deref(),
            skip_spinning: self.skip_spinning,
            pause: self.pause,
            trampolines: self.trampolines,
        };
        let planned = guarded(|| deburr_patch::plan(bytes, &request))?;
        if debug_file.as_ref().is_some_and(|debug| !debug.is_intact()) {
            return Err(Trouble::fault("the debug file changed while it was read"));
        }
        let whole = planned.map_err(|error| Trouble {
            reason: error.to_string(),
            is_fault: !matches!(error, PlanError::Unfit(_) | PlanError::Unreadable(Error::Unsupported(_))),
        })?;
        let plan = self.narrow(whole);
        let (mut patched, mut trailing) = (None, None);
        if !plan.sites.is_empty() {
            let strict = ApplyOptions { trailer: false, ..self.options };
            let mut made = self.apply(bytes, &plan, &strict)?;
            if let Err(ApplyError::Trailer { file_offset, length }) = made {
                let rest = usize::try_from(file_offset).ok().and_then(|start| bytes.get(start..));
                let is_stray = rest.is_some_and(is_stray);
                if is_stray || self.options.trailer {
                    trailing = Some(Trailing { length, is_stray });
                    made = self.apply(bytes, &plan, &ApplyOptions { trailer: true, ..self.options })?;
                }
            }
            patched = made.transpose();
        }
        Ok(Rewrite { plan, patched, trailing })
    }

    /// The file with a plan, or why it cannot be written; of what is not to be written only the latter.
    fn apply<'b>(
        &self,
        bytes: &'b [u8],
        plan: &Plan,
        options: &ApplyOptions,
    ) -> Result<Result<Option<Edited<'b>>, ApplyError>, Trouble> {
        guarded(|| match self.is_plan {
            true => deburr_patch::obstacle(bytes, plan, options).map_or(Ok(None), Err),
            false => deburr_patch::edit(bytes, plan, options).map(Some),
        })
    }

    /// Leaves out what is not wanted, and what the target could not run.
    fn narrow(&mut self, mut plan: Plan) -> Plan {
        plan.sites.retain(|site| self.wants(site.function.as_deref(), |at| site.extent().contains(at)));
        plan.refused.retain(|refused| self.wants(refused.function.as_deref(), |at| refused.at == at));
        if self.target.is_some_and(|target| !target.contains(Feature::FEAT_LSE)) {
            let refused =
                plan.sites.extract_if(.., |site| site.needs().contains(Feature::FEAT_LSE)).map(|site| {
                    Refused {
                        rule: site.rule,
                        function: site.function,
                        at: site.at,
                        reason: Reason::TargetWithoutLse,
                        detail: None,
                    }
                });
            plan.refused.extend(refused);
            plan.refused.sort_by_key(|refused| refused.at);
        }
        plan
    }

    /// Whether a place in some function is wanted.
    fn wants(&mut self, function: Option<&str>, is_at: impl Fn(Svma) -> bool) -> bool {
        let mut by_address = self.sites.is_empty();
        for site in self.sites.iter_mut().filter(|site| is_at(site.what)) {
            (site.is_met, by_address) = (true, true);
        }
        let mut by_function = self.functions.is_empty();
        let is_called = |wanted: &str, name: &str| {
            wanted == name || demangle(wanted) == name || pattern::matches(wanted, name)
        };
        for wanted in &mut self.functions {
            if function.is_some_and(|name| is_called(wanted.what, name)) {
                (wanted.is_met, by_function) = (true, true);
            }
        }
        by_address && by_function
    }

    /// What was named and is in no file so far.
    pub(super) fn unmet(&self) -> Vec<String> {
        let sites = self
            .sites
            .iter()
            .filter(|site| !site.is_met)
            .map(|site| format!("--site {}: no selected rule finds anything there", site.what));
        let functions =
            self.functions.iter().filter(|function| !function.is_met).map(|function| {
                format!("--function {}: no selected rule finds anything in it", function.what)
            });
        sites.chain(functions).collect()
    }
}

/// What every AArch64 machine has that the files will run on, by the options or the configuration.
pub(super) fn target(options: &Fix) -> Result<Option<FeatureSet>, String> {
    Ok(features_for(&machines_of(options)?, Some(Arch::Aarch64)))
}

/// What is published of the CPU that the files will run on, if LSE is the slower way there. Only of runs that may write LSE.
pub(super) fn slow_target(options: &Fix) -> Result<Option<&'static SlowLse>, String> {
    let is_pause = |rule: &String| rule == "yield-in-spin-loop";
    if !options.only.is_empty() && options.only.iter().all(is_pause) {
        return Ok(None);
    }
    Ok(slow_in_all_forms(cpu_for(&machines_of(options)?, Some(Arch::Aarch64))))
}

/// The machines that the options or the configuration name.
fn machines_of(options: &Fix) -> Result<Vec<Target>, String> {
    let config = Config::read(options.config.as_deref())?;
    Ok(machines(machines_named("--target", &options.target)?, &config.target))
}

/// Proves what was written, from the bytes and the target alone; `release` gets what is not needed of them any more.
pub(super) fn verify(
    original: &[u8],
    written: &[u8],
    target: FeatureSet,
    release: &(dyn Fn(&[u8]) + Sync),
    plan: &Plan,
) -> Result<(), Trouble> {
    let complain = |reason: String| {
        Trouble::fault(format!("what was written is not proven and was removed, please report it: {reason}"))
    };
    let verified = guarded(|| deburr_patch::verify_releasing(original, written, target, release))?
        .map_err(|error| complain(error.to_string()))?;
    match verified.changes.len() == plan.sites.len() {
        true => Ok(()),
        false => Err(complain("another number of changes than was planned".to_owned())),
    }
}
