//! The analysis of each binary: options and configuration → [`Analysis`], and from it, binary by binary, a
//! [`Request`] with its debug file and its guards.
//!
//! In: options, configuration, and the bytes of a binary. Out: the result of some work on it, or why there is
//! none. Where options and configuration disagree, the options win.

pub(crate) mod claims;

use crate::analysis::claims::Held;
use crate::args::analysis::{AnalysisOptions, DebugFiles};
use crate::config::document::Config;
use crate::config::in_force::InForce;
use crate::input::content::arch_of;
use crate::input::debug_file;
use crate::input::root::missing_interpreter;
use crate::names::{CLAIM, cpu_for, features_for, machines_named, name_for, rule_named};
use crate::profile::Profiles;
use deburr_core::rule::{RULES, Rule, WHEN_HOT};
use deburr_core::{Error, Families, Knowledge, Request, StatedClaim, wanted_debug_file};
use deburr_cpu::Target;
use deburr_profile::JitImage;
use deburr_text::ShownPath as _;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What is looked for in binaries, and by which features they are judged.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) target: Vec<Target>,
    pub(crate) baseline: Vec<Target>,
    /// Whether each file is held to what its package says of itself, instead of one baseline.
    pub(crate) claims: bool,
    /// Whether a file that is held to a claim has notes of what is not proven.
    pub(crate) notes_undecided: bool,
    /// Ids of the rules to run.
    pub(crate) rules: Vec<&'static str>,
    /// Steps that the analysis of a file may take, where the user states it.
    budget: Option<u64>,
    /// Whether the time of the run is over.
    stop: Arc<AtomicBool>,
    /// Those that would run without the configuration.
    rules_left_out: Vec<&'static str>,
    /// Of rules that run where there is a profile, and otherwise do not.
    when_hot: Vec<&'static str>,
    /// What profiles saw of the files, where the user has some.
    pub(crate) profiles: Option<Profiles>,
    /// Ids of those that the user names, who wants all that they find.
    pub(crate) named: Vec<&'static str>,
    /// Where separate debug files are looked for; `None`: nowhere.
    pub(crate) debug_dirs: Option<Vec<PathBuf>>,
    /// What the user states apart from the command line.
    pub(crate) config: Config,
}

/// Where a binary comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Provenance<'a> {
    /// As the user knows it.
    pub(crate) path: &'a str,
    /// The file that its debug file may be next to, if there is one.
    pub(crate) file: Option<&'a Path>,
    /// Of a member of an archive, what the other members show.
    pub(crate) siblings: Siblings<'a>,
    /// What it is held to, with `--baseline claim`.
    pub(crate) held: Option<&'a Held>,
    /// The folder that is taken for `/`, where the user names one.
    pub(crate) root: Option<&'a Path>,
    /// As `deburr_package::Object` has it.
    pub(crate) stored_at: Option<u64>,
    /// As [`Request::is_packed`].
    pub(crate) is_packed: bool,
    /// Whether the user named the file, rather than a directory above it.
    pub(crate) is_named: bool,
    /// What of a jitdump it is, if its code was made at run time.
    pub(crate) jit: Option<JitPart<'a>>,
}

/// What the members of an archive show of one of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Siblings<'a> {
    /// The functions that only resolvers of the archive choose.
    pub(crate) chosen: Option<&'a HashSet<&'a str>>,
    /// The families of all functions of the archive.
    pub(crate) families: Option<&'a Families>,
}

/// A program that stands for functions of a jitdump.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JitPart<'a> {
    pub(crate) dump: &'a Path,
    pub(crate) image: &'a JitImage,
}

/// What is said of a panic.
pub(crate) const FAILED: &str = "deburr itself failed on this file; please report it";

/// Why a binary gave no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    /// Whether it is a fault: work that was requested and not done.
    pub(crate) fault: bool,
    /// What the file is, where that is recognised and not read.
    pub(crate) kind: Option<String>,
}

impl Analysis {
    /// Reads the options and the configuration.
    pub(crate) fn new(options: &AnalysisOptions, debug_files: &DebugFiles) -> Result<Analysis, String> {
        let config = Config::read(options.config.as_deref())?;
        let named = if options.select.is_empty() { config.select.clone() } else { ids(&options.select)? };
        let claims = match options.baseline.as_slice() {
            [] => config.claims,
            [only] if only == CLAIM => true,
            several if several.iter().any(|name| name == CLAIM) => {
                return Err(format!("--baseline {CLAIM}: give it alone: each file is held to its own claim"));
            }
            _ => false,
        };
        Ok(Analysis {
            named,
            target: machines(machines_named("--target", &options.target)?, &config.target),
            baseline: if claims {
                Vec::new()
            } else {
                machines(machines_named("--baseline", &options.baseline)?, &config.baseline)
            },
            claims,
            notes_undecided: false,
            budget: options.budget,
            stop: Arc::default(),
            when_hot: rules_when_hot(options, &config)?,
            rules_left_out: {
                let (all, chosen) =
                    (chosen_rules(options, &Config::default())?, chosen_rules(options, &config)?);
                all.into_iter().filter(|rule| !chosen.contains(rule)).collect()
            },
            rules: chosen_rules(options, &config)?,
            profiles: None,
            debug_dirs: debug_dirs(debug_files),
            config,
        })
    }

    /// Ends all work after some time, which begins now.
    pub(crate) fn end_after(&self, time: Duration) {
        let stop = Arc::clone(&self.stop);
        // Where there is no thread, the run takes the time that it takes.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        });
    }

    /// What the configuration does to a run in which it allows so many findings.
    pub(crate) fn in_force(&self, findings_allowed: u64) -> Option<InForce> {
        let path = self.config.path.as_ref()?.shown().into_owned();
        let changed = self.config.severity.iter().filter_map(|(rule, severity)| Some((*rule, (*severity)?)));
        Some(InForce {
            path,
            rules_left_out: self.rules_left_out.clone(),
            severity: changed.filter(|(rule, _)| self.rules.contains(rule)).collect(),
            stated_guards: self.config.guards.len() as u64,
            findings_allowed,
        })
    }

    /// Does some work on an ELF file. `foreign`: what the libraries show that it needs.
    pub(crate) fn run<T>(
        &self,
        bytes: &[u8],
        provenance: Provenance<'_>,
        foreign: &[&Knowledge],
        work: impl FnOnce(&[u8], &Request<'_>) -> Result<T, Error>,
    ) -> Result<T, Refusal> {
        let refused = |reason: String| Refusal { reason, fault: true, kind: None };
        if self.stop.load(Ordering::Relaxed) {
            return Err(refused("not checked: the time of the run is over (--max-time)".to_owned()));
        }
        let arch = arch_of(bytes);
        let debug_file = self
            .debug_dirs
            .as_deref()
            .zip(provenance.file)
            .and_then(|(dirs, file)| debug_file::find(&wanted_debug_file(bytes)?, file, dirs));
        let guards = self.config.guards_for(provenance.path, arch);
        let held = provenance.held.filter(|held| self.claims && Some(held.level.arch) == arch);
        let claim = held.map(|held| StatedClaim {
            part: &held.part,
            text: &held.text,
            level: &held.level.name,
            largest_page: held.systems.largest_page,
            oldest_glibc: held.systems.oldest_glibc,
            pythons: held.systems.pythons,
            raised: held.raised_from.as_ref().map(|general| (general.name.as_str(), general.features)),
        });
        let seen = |profiles: &Profiles| match provenance.jit {
            Some(JitPart { dump, image }) => Ok(profiles.samples_of_jit(dump, &image.extent)),
            None => {
                profiles.samples_of(bytes, Path::new(provenance.path), provenance.is_named).map_err(refused)
            }
        };
        let missing_interpreter = provenance.root.and_then(|root| missing_interpreter(bytes, root));
        let samples = self.profiles.as_ref().map(seen).transpose()?.flatten();
        let when_hot = samples.as_ref().map_or(&[][..], |_| &self.when_hot);
        let rules: Vec<&str> = self.rules.iter().chain(when_hot).copied().collect();
        let request = Request {
            debug_file: debug_file.as_deref(),
            target: features_for(&self.target, arch),
            target_cpu: cpu_for(&self.target, arch),
            // There is none where files are held to claims.
            baseline: held.map(|held| held.level.features).or_else(|| features_for(&self.baseline, arch)),
            baseline_name: name_for(&self.baseline, arch),
            claim,
            rules: Some(&rules),
            named: &self.named,
            guards: &guards,
            foreign,
            chosen: provenance.siblings.chosen,
            families: provenance.siblings.families,
            samples: samples.as_ref(),
            when_hot,
            made_at_run_time: provenance.jit.is_some(),
            stored_at: provenance.stored_at,
            is_packed: provenance.is_packed,
            missing_interpreter,
            notes_undecided: self.notes_undecided,
            strict: self.config.strict,
            budget: self.budget,
            stop: Some(&self.stop),
            include_runtime: self.config.include_runtime,
        };
        let fault = |reason: &str| Refusal { reason: reason.to_owned(), fault: true, kind: None };
        // A panic is a fault of deburr, yet it must cost one file and not the batch, whose turns would wait
        // indefinitely.
        let done = catch_unwind(AssertUnwindSafe(|| work(bytes, &request))).map_err(|_| fault(FAILED))?;
        if debug_file.as_ref().is_some_and(|debug| !debug.is_intact()) {
            return Err(fault("the debug file changed while it was read"));
        }
        done.map_err(|error| Refusal {
            reason: error.to_string(),
            fault: !matches!(error, Error::Unsupported(_)),
            kind: match error {
                Error::Unsupported(what) => Some(what),
                _ => None,
            },
        })
    }
}

/// Where separate debug files are looked for; `None`: nowhere.
pub(crate) fn debug_dirs(options: &DebugFiles) -> Option<Vec<PathBuf>> {
    let dirs = match options.debug_dir.as_slice() {
        [] => vec![PathBuf::from("/usr/lib/debug")],
        dirs => dirs.to_vec(),
    };
    (!options.no_debug_files).then_some(dirs)
}

/// The machines of an option, and those that are configured for other architectures.
pub(crate) fn machines(mut given: Vec<Target>, configured: &[Target]) -> Vec<Target> {
    for machine in configured {
        if !given.iter().any(|other| other.arch == machine.arch) {
            given.push(machine.clone());
        }
    }
    given
}

fn ids(names: &[String]) -> Result<Vec<&'static str>, String> {
    names.iter().map(|name| rule_named(name)).collect()
}

/// The rules that run in addition where there is a profile, unless the user says which rules run.
fn rules_when_hot(options: &AnalysisOptions, config: &Config) -> Result<Vec<&'static str>, String> {
    if !options.select.is_empty() || !config.select.is_empty() {
        return Ok(Vec::new());
    }
    let (run, left_out) = (chosen_rules(options, config)?, ids(&options.ignore)?);
    let is_off = |id: &str| {
        left_out.contains(&id) || config.ignore.contains(&id) || config.severity.get(id) == Some(&None)
    };
    Ok(WHEN_HOT.into_iter().filter(|id| !run.contains(id) && !is_off(id)).collect())
}

/// The rules to run. `--select` says it alone; otherwise the configuration may select, and turn rules off.
fn chosen_rules(options: &AnalysisOptions, config: &Config) -> Result<Vec<&'static str>, String> {
    let (named, left_out) = (ids(&options.select)?, ids(&options.ignore)?);
    let says_all = !named.is_empty();
    let select = if says_all { &named } else { &config.select };
    let ignore = if says_all || !left_out.is_empty() { &left_out } else { &config.ignore };
    let preview = options.preview || (config.preview && !says_all);
    let is_selected = |rule: &&Rule| match select.as_slice() {
        [] => preview || !rule.preview,
        ids => ids.contains(&rule.id) || (preview && rule.preview),
    };
    let is_off = |id: &str| !says_all && config.severity.get(id) == Some(&None);
    let chosen = RULES.iter().filter(is_selected).map(|rule| rule.id);
    Ok(chosen.filter(|id| !ignore.contains(id) && !is_off(id)).collect())
}
