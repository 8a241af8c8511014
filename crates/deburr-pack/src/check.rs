//! Check stage: the tree of a variant → what in it is not what the variant's level says.
//!
//! In: the programs and shared libraries of a tree, and the target. Out: each function that needs more than the target has
//! where a path without a sufficient check is known, as the rule `above-baseline` finds it, and each file for another machine;
//! and each file that is not decided.
//! Also the features that its instructions need at all: a variant without any of its level is mentioned.

use crate::build::tree::binaries;
use crate::demand;
use crate::record::CheckRecord;
use deburr_core::finding::{Severity, Value};
use deburr_core::{Report, Request, StatedGuard, check};
use deburr_cpu::{Arch, Feature, FeatureSet, Target, system_features};
use deburr_text::ShownPath as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Fault {
    /// The file, relative to the tree.
    pub path: PathBuf,
    /// The function and its address (SVMA), where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<(String, u64)>,
    /// One sentence.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.shown())?;
        if let Some((name, svma)) = &self.function {
            write!(f, "{name} at {svma:#x}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// What a check goes by, besides the target.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The steps that each file may take, as [`Request::budget`].
    pub budget: Option<u64>,
    /// The time that the check of a tree may take: what is not analysed then is undecided.
    pub max_time: Option<Duration>,
    /// Functions that may need more than the target: names, or patterns with `*` ([`deburr_core::pattern`]).
    pub accepted: &'a [String],
    /// What the user states.
    pub guards: &'a dyn Guards,
}

impl Terms<'_> {
    /// Nothing is believed, and each file may take what its size gives it.
    pub const STRICT: Terms<'static> =
        Terms { budget: None, max_time: None, accepted: &[], guards: &Unguarded };
}

/// Guards that the user states: functions that are only entered where the CPU has some features.
pub trait Guards: fmt::Debug {
    /// Those that speak of a file of an architecture.
    fn of_file(&self, path: &Path, arch: Arch) -> Vec<StatedGuard<'_>>;
    /// Where one is stated, by its [`StatedGuard::id`]: `deburr.toml:3`.
    fn place(&self, id: usize) -> String;
}

/// No guard is stated.
#[derive(Debug)]
struct Unguarded;

impl Guards for Unguarded {
    fn of_file(&self, _: &Path, _: Arch) -> Vec<StatedGuard<'_>> {
        Vec::new()
    }

    fn place(&self, _: usize) -> String {
        String::new()
    }
}

/// A file of which it is not known whether all machines of the target run it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Undecided {
    /// The file, relative to the tree.
    pub path: PathBuf,
    /// How many functions paths that were not followed may reach, and need more than the target.
    pub functions: u64,
    /// Why, in a clause: `2 functions not followed, such as hot`.
    pub reason: String,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.shown(), self.reason)
    }
}

/// What a check of a tree or a file gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is not what the target says.
    pub faults: Vec<Fault>,
    /// What would be a fault, in functions that are accepted.
    pub accepted: Vec<Fault>,
    /// What is neither proven to be a fault nor to be none.
    pub undecided: Vec<Undecided>,
    /// The stated guards on which a verdict depends, by their places.
    pub guards: BTreeSet<String>,
    /// What the machine needs that runs the code: on paths without a sufficient check, and on those that are not decided.
    pub needs: FeatureSet,
    /// What the instructions need, on paths that are checked or not; without what only an operating system uses.
    pub present: FeatureSet,
}

impl Checked {
    /// The name of the least of `others` that has all that the instructions need of `target`; `None` where they need more
    /// than each of those that `target` exceeds.
    pub fn nothing_above<'a>(
        &self,
        target: FeatureSet,
        others: impl Iterator<Item = (&'a str, FeatureSet)>,
    ) -> Option<&'a str> {
        let used = self.present.intersection(target);
        others
            .filter(|(_, features)| *features != target && features.is_subset(target))
            .filter(|(_, features)| used.is_subset(*features))
            .min_by_key(|(_, features)| features.iter().count())
            .map(|(name, _)| name)
    }

    /// How the check went, for the record.
    pub(crate) fn record(&self) -> CheckRecord {
        CheckRecord {
            left_out: false,
            accepted: self.accepted.clone(),
            guards: self.guards.iter().cloned().collect(),
            undecided: self.undecided.clone(),
            needs: self.needs.iter().map(|feature| feature.name().to_owned()).collect(),
        }
    }

    /// Adds what a check of another file gives.
    fn add(&mut self, other: Checked) {
        self.faults.extend(other.faults);
        self.accepted.extend(other.accepted);
        self.undecided.extend(other.undecided);
        self.guards.extend(other.guards);
        self.needs = self.needs.union(other.needs);
        self.present = self.present.union(other.present);
    }
}

/// Checks all programs and shared libraries of a tree. `follow` gets how many are checked, and how many there are.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn check_tree(
    tree: &Path,
    target: &Target,
    terms: &Terms<'_>,
    follow: &mut dyn FnMut(usize, usize),
) -> Result<Checked, (PathBuf, io::Error)> {
    let paths = binaries(tree).map_err(|error| (tree.to_owned(), error))?;
    let mut checked = 0;
    let mut read = |path: &PathBuf| {
        follow(checked, paths.len());
        checked += 1;
        let whole = tree.join(path);
        fs::read(&whole).map_err(|error| (whole, error))
    };
    let all = check_files(paths.iter().map(|path| (path.as_path(), read(path))), target, terms)?;
    follow(paths.len(), paths.len());
    Ok(all)
}

/// Checks the files of a variant, each given by its path and its bytes; they have the time of the terms together.
///
/// # Errors
/// The first of the files that cannot be read.
pub fn check_files<'p, E>(
    files: impl Iterator<Item = (&'p Path, Result<Vec<u8>, E>)>,
    target: &Target,
    terms: &Terms<'_>,
) -> Result<Checked, E> {
    let alarm = terms.max_time.map(Alarm::after);
    let mut all = Checked::default();
    for (path, bytes) in files {
        all.add(check_bytes(path, &bytes?, target, terms, alarm.as_ref()));
    }
    Ok(all)
}

/// Whether bytes begin an ELF program or shared library, of either byte order: `ET_EXEC` or `ET_DYN` (gABI, "ELF Header").
pub fn is_linked(bytes: &[u8]) -> bool {
    let kind = match bytes.get(5) {
        Some(2) => bytes.get(17),
        _ => bytes.get(16),
    };
    bytes.starts_with(b"\x7fELF") && matches!(kind, Some(2 | 3))
}

/// What ends analyses after some time.
struct Alarm {
    /// Whether the time is over, as [`Request::stop`].
    is_over: Arc<AtomicBool>,
    /// Its end ends the wait.
    _waited_for: mpsc::Sender<()>,
}

impl Alarm {
    fn after(time: Duration) -> Alarm {
        let is_over = Arc::new(AtomicBool::new(time.is_zero()));
        let (waited_for, wait) = mpsc::channel();
        let over = Arc::clone(&is_over);
        // Where there is no thread, the analyses take the time that they take.
        let _ = thread::Builder::new().spawn(move || {
            if wait.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                over.store(true, Ordering::Relaxed);
            }
        });
        Alarm { is_over, _waited_for: waited_for }
    }
}

/// Checks a file. What is reached only by what the analysis does not follow is no proof, and so no fault: it is undecided.
pub fn check_file(path: &Path, bytes: &[u8], target: &Target, terms: &Terms<'_>) -> Checked {
    let alarm = terms.max_time.map(Alarm::after);
    check_bytes(path, bytes, target, terms, alarm.as_ref())
}

fn check_bytes(
    path: &Path,
    bytes: &[u8],
    target: &Target,
    terms: &Terms<'_>,
    alarm: Option<&Alarm>,
) -> Checked {
    let whole = |message: String| Checked {
        faults: vec![Fault { path: path.to_owned(), function: None, message }],
        ..Checked::default()
    };
    let guards = terms.guards.of_file(path, target.arch);
    let request = Request {
        baseline: Some(target.features),
        rules: Some(&["above-baseline"]),
        guards: &guards,
        budget: terms.budget,
        stop: alarm.map(|alarm| &alarm.is_over),
        ..Request::default()
    };
    let report = match check(bytes, &request) {
        Ok(report) => report,
        Err(error) => return whole(format!("cannot be checked: {error}")),
    };
    let arch = match target.arch {
        Arch::X86_64 => "x86_64",
        Arch::Aarch64 => "aarch64",
    };
    if report.arch != arch {
        return whole(format!("is for {}, not for {}; use a compiler for {arch}", report.arch, target.name));
    }
    let is_present =
        |feature: &Feature| feature.arch() == target.arch && report.features.contains_key(feature.name());
    let present: Vec<Feature> = Feature::all().filter(is_present).collect();
    let needed = report.stated_guards.iter().filter(|used| used.is_needed);
    let mut checked = Checked {
        present: FeatureSet::of(&present).minus(system_features(target.arch)),
        guards: needed.map(|used| terms.guards.place(used.id)).collect(),
        ..Checked::default()
    };
    let is_accepted =
        |name: &str| terms.accepted.iter().any(|pattern| deburr_core::pattern::matches(pattern, name));
    checked.needs = demand::named(&report.needed_features).with_implied();
    checked.undecided.extend(undecided(path, &report, &is_accepted));
    if !checked.undecided.is_empty() {
        checked.needs = checked.needs.union(checked.present);
    }
    for finding in report.findings.into_iter().filter(|finding| finding.severity == Severity::Error) {
        let name = finding.function.as_deref();
        let to = if name.is_some_and(is_accepted) { &mut checked.accepted } else { &mut checked.faults };
        to.push(Fault {
            path: path.to_owned(),
            function: Some((name.unwrap_or("a function without a name").to_owned(), finding.svma.0)),
            message: finding.message.to_string(),
        });
    }
    checked
}

/// What of a file is not decided: functions that are not accepted, or the whole.
fn undecided(path: &Path, report: &Report, is_accepted: &dyn Fn(&str) -> bool) -> Option<Undecided> {
    let undecided = |functions, reason| Some(Undecided { path: path.to_owned(), functions, reason });
    if let Some(over_budget) = report.over_budget.as_ref().filter(|over_budget| over_budget.checks) {
        return undecided(0, over_budget.sentence());
    }
    let functions = report.on_baseline.as_ref().map_or(0, |on| on.undecided_functions);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for finding in report.findings.iter().filter(|finding| finding.severity != Severity::Error) {
        // One finding is about all functions that are not decided for one reason.
        if let Some(Value::List(listed)) = finding.evidence.get("functions") {
            names.extend(listed.iter().map(String::as_str));
        }
    }
    let accepted = names.iter().filter(|name| is_accepted(name)).count() as u64;
    let left = functions.saturating_sub(accepted);
    if left > 0 {
        let such = names.iter().find(|name| !is_accepted(name)).map(|name| format!(", such as {name}"));
        let s = if left == 1 { "" } else { "s" };
        return undecided(left, format!("{left} function{s} not followed{}", such.unwrap_or_default()));
    }
    match report.unread_payload.first() {
        Some(unread) => {
            undecided(0, format!("{} at {:#x} is not read: {}", unread.format, unread.offset, unread.reason))
        }
        None => None,
    }
}
