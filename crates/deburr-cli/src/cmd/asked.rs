//! What is asked of a check: options → a [`Request`], made anew for each file with its debug file.

use crate::args::asked::Asked;
use crate::config::Config;
use crate::input::{arch_of, debug_file};
use crate::machine::{features_for, machines_named, nearest, unknown};
use deburr_core::rule::RULES;
use deburr_core::{Error, Request, wanted_debug_file};
use deburr_cpu::Target;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The options, understood.
pub(super) struct Asking {
    target: Vec<Target>,
    baseline: Vec<Target>,
    rules: Option<Vec<&'static str>>,
    debug_dirs: Option<Vec<PathBuf>>,
    config: Config,
}

/// Why a file gave no answer.
pub(super) struct Refusal {
    pub(super) reason: String,
    /// Whether it is a fault: work that was asked for and not done.
    pub(super) fault: bool,
}

impl Asking {
    /// Understands the options.
    pub(super) fn new(asked: &Asked) -> Result<Asking, String> {
        let mut debug_dirs = asked.debug_dir.clone();
        if debug_dirs.is_empty() {
            debug_dirs.push(PathBuf::from("/usr/lib/debug"));
        }
        Ok(Asking {
            target: machines_named("--target", &asked.target)?,
            baseline: machines_named("--baseline", &asked.baseline)?,
            rules: chosen_rules(asked)?,
            debug_dirs: (!asked.no_debug_files).then_some(debug_dirs),
            config: Config::read(None)?,
        })
    }

    /// Asks something of an ELF file. `path`: as the user knows it; `place`: the file that its debug file is looked for
    /// beside, if it lies in one.
    pub(super) fn ask<T>(
        &self,
        bytes: &[u8],
        path: &str,
        place: Option<&Path>,
        work: impl FnOnce(&Request<'_>) -> Result<T, Error>,
    ) -> Result<T, Refusal> {
        let arch = arch_of(bytes);
        let debug_file = self
            .debug_dirs
            .as_deref()
            .zip(place)
            .and_then(|(dirs, place)| debug_file::find(&wanted_debug_file(bytes)?, place, dirs));
        let guards = self.config.guards_for(path, arch);
        let request = Request {
            debug_file: debug_file.as_deref(),
            target: features_for(&self.target, arch),
            baseline: features_for(&self.baseline, arch),
            rules: self.rules.as_deref(),
            guards: &guards,
            foreign: &[],
        };
        let fault = |reason: &str| Refusal { reason: reason.to_owned(), fault: true };
        let done = catch_unwind(AssertUnwindSafe(|| work(&request)))
            .map_err(|_| fault("deburr itself failed on this file; please report it"))?;
        if debug_file.as_ref().is_some_and(|debug| !debug.is_intact()) {
            return Err(fault("the debug file changed while it was read"));
        }
        done.map_err(|error| Refusal {
            reason: error.to_string(),
            fault: !matches!(error, Error::Unsupported(_)),
        })
    }
}

/// The rules to run; `None`: all but those in preview.
fn chosen_rules(asked: &Asked) -> Result<Option<Vec<&'static str>>, String> {
    let Asked { select, ignore, preview, .. } = asked;
    for name in select.iter().chain(ignore) {
        if !RULES.iter().any(|rule| rule.id == name) {
            let nearest = nearest(name, RULES.iter().map(|rule| rule.id));
            return Err(unknown("rule", name, nearest, "`deburr rules` lists them"));
        }
    }
    if select.is_empty() && ignore.is_empty() && !preview {
        return Ok(None);
    }
    let named = |names: &[String], id: &str| names.iter().any(|name| name == id);
    let chosen = RULES.iter().filter(|rule| match select.as_slice() {
        [] => *preview || !rule.preview,
        names => named(names, rule.id) || (*preview && rule.preview),
    });
    Ok(Some(chosen.map(|rule| rule.id).filter(|id| !named(ignore, id)).collect()))
}
