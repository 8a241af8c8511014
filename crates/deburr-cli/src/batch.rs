//! The batch: files → outcomes in the order of the files, though many are checked at the same time.
//!
//! File-level work runs on threads of its own and not on rayon's: a rayon worker that waits for the core's
//! parallel loops would steal another file and hold two at a time. Each of these threads is a rayon pool of
//! one, so that the core's parallel loops run where the file is; a file too large to share the gate with one
//! file per thread gets a pool of all threads instead. Outcomes wait in a window of bounded length, so that
//! ten thousand reports are never held together.

use crate::args;
use crate::config::Config;
use crate::input::closure::Closures;
use crate::input::debug_file;
use crate::input::gate::{BUDGET, Gate};
use crate::input::mapped::{Bytes, MAX_FILE};
use crate::input::walk::{Candidate, Skipped, error_text};
use crate::input::{Content, arch_of};
use crate::machine::features_for;
use deburr_core::image::Archive;
use deburr_core::report::Reach;
use deburr_core::{Error, Knowledge, Report, Request, check, wanted_debug_file};
use deburr_cpu::Target;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How files are checked.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) target: Vec<Target>,
    pub(crate) baseline: Vec<Target>,
    /// Ids of the rules to run; `None`: all.
    pub(crate) rules: Option<Vec<&'static str>>,
    /// Where separate debug files are looked for; `None`: nowhere.
    pub(crate) debug_dirs: Option<Vec<PathBuf>>,
    /// Whether the shared libraries that a file needs are looked at with it.
    pub(crate) closure: bool,
    /// What stands for `/` where libraries are looked for.
    pub(crate) root: Option<PathBuf>,
    pub(crate) threads: usize,
    /// What the user states.
    pub(crate) config: Config,
}

/// What became of one file, or of one member of an archive.
pub(crate) enum Outcome {
    Checked { report: Box<Report>, bytes: u64 },
    Skipped(Skipped),
}

/// Outcomes that may wait for their turn.
const WINDOW: usize = 64;
/// A run shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// A lone file of fewer bytes is done before a second thread has started.
const WORTH_A_POOL: u64 = 1 << 20;

struct Turns {
    next: usize,
    emitted: usize,
    done: BTreeMap<usize, Vec<Outcome>>,
    stopped: bool,
}

/// Checks all files, and hands each one's outcomes to `emit` in order; an error of `emit` ends the run.
pub(crate) fn check_all<E>(
    files: &[Candidate],
    plan: &Plan,
    progress: args::Progress,
    mut emit: impl FnMut(Vec<Outcome>) -> Result<(), E>,
) -> Result<(), E> {
    let closures = plan.closure.then(|| Closures::new(files, plan.root.as_deref(), plan.debug_dirs.clone()));
    let alone = files.len() == 1;
    let crew = Crew { plan, gate: Gate::default(), alone, pool: OnceLock::new(), closures };
    let workers = plan.threads.min(files.len());
    if workers <= 1 {
        let _here = pool_of_this_thread();
        return files.iter().try_for_each(|file| emit(crew.check_file(file)));
    }
    let turns = Mutex::new(Turns { next: 0, emitted: 0, done: BTreeMap::new(), stopped: false });
    let changed = Condvar::new();
    let work = || {
        let _here = pool_of_this_thread();
        loop {
            let mut state = changed
                .wait_while(turns.lock().unwrap_or_else(PoisonError::into_inner), |turns| {
                    !turns.stopped && turns.next < files.len() && turns.next >= turns.emitted + WINDOW
                })
                .unwrap_or_else(PoisonError::into_inner);
            let Some(file) = files.get(state.next).filter(|_| !state.stopped) else { return };
            let turn = state.next;
            state.next += 1;
            drop(state);
            let outcomes = crew.check_file(file);
            turns.lock().unwrap_or_else(PoisonError::into_inner).done.insert(turn, outcomes);
            changed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
        let mut meter = Meter::new(progress, files.len());
        for turn in 0..files.len() {
            let outcomes = loop {
                let state = turns.lock().unwrap_or_else(PoisonError::into_inner);
                let (mut state, _) = changed
                    .wait_timeout_while(state, PATIENCE, |turns| !turns.done.contains_key(&turn))
                    .unwrap_or_else(PoisonError::into_inner);
                if let Some(outcomes) = state.done.remove(&turn) {
                    state.emitted = turn + 1;
                    break outcomes;
                }
                drop(state);
                meter.show(turn);
            };
            changed.notify_all();
            meter.show(turn + 1);
            if let Err(error) = meter.aside(|| emit(outcomes)) {
                turns.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
                changed.notify_all();
                return Err(error);
            }
        }
        meter.finish();
        Ok(())
    })
}

/// Progress on the standard error, where it is a terminal.
struct Meter {
    wanted: bool,
    since: Instant,
    files: usize,
    bar: Option<indicatif::ProgressBar>,
}

impl Meter {
    fn new(progress: args::Progress, files: usize) -> Meter {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        Meter {
            wanted: progress == args::Progress::Auto && terminal,
            since: Instant::now(),
            files,
            bar: None,
        }
    }

    fn show(&mut self, done: usize) {
        if !self.wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        let files = self.files as u64;
        self.bar.get_or_insert_with(|| indicatif::ProgressBar::new(files)).set_position(done as u64);
    }

    fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A rayon pool of the calling thread alone: parallel loops run in it as plain loops. Where rayon refuses, its
/// global pool serves.
fn pool_of_this_thread() -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok()
}

/// What all files of a run share.
struct Crew<'a> {
    plan: &'a Plan,
    gate: Gate,
    /// Whether there is one file only.
    alone: bool,
    pool: OnceLock<Option<rayon::ThreadPool>>,
    /// The libraries that files need, where they are looked at.
    closures: Option<Closures>,
}

impl Crew<'_> {
    /// The pool of all threads, for a file that is worth it.
    fn pool_for(&self, bytes: u64) -> Option<&rayon::ThreadPool> {
        let threads = self.plan.threads;
        let share = BUDGET / u64::try_from(threads).unwrap_or(u64::MAX).max(1);
        if threads < 2 || bytes < if self.alone { WORTH_A_POOL } else { share } {
            return None;
        }
        let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
        self.pool.get_or_init(build).as_ref()
    }

    /// Checks one file, or all members of an archive.
    fn check_file(&self, file: &Candidate) -> Vec<Outcome> {
        let _pass = self.gate.pass(file.size);
        let path = file.path.display().to_string();
        let skipped = |reason: String| {
            let path = path.clone();
            Outcome::Skipped(Skipped { path, reason, named: file.is_named(), fault: true })
        };
        let opened = if file.is_stdin { standard_input() } else { Bytes::open(&file.path) };
        let bytes = match opened {
            Ok(bytes) => bytes,
            Err(error) => return vec![skipped(error_text(&error))],
        };
        let content = if file.is_stdin { Content::of(&bytes) } else { file.content };
        let check = || match content {
            Content::Elf => vec![check_bytes(&bytes, path.clone(), file, self.plan, &[])],
            Content::Archive => match Archive::parse(&bytes) {
                Ok(archive) => {
                    let mut outcomes = check_members(&bytes, archive.as_ref(), &path, file, self.plan);
                    let faults = archive.into_iter().flat_map(|archive| archive.faults);
                    outcomes.extend(faults.map(&skipped));
                    outcomes
                }
                Err(error) => vec![skipped(error.to_string())],
            },
            Content::Empty => vec![skipped("an empty file".to_owned())],
            Content::Other | Content::ThinArchive => vec![skipped("no ELF file".to_owned())],
        };
        let pool = self.pool_for(bytes.len() as u64);
        let mut outcomes = match pool {
            Some(pool) => pool.install(check),
            None => check(),
        };
        if let (Some(closures), [Outcome::Checked { report, .. }], Content::Elf) =
            (&self.closures, outcomes.as_mut_slice(), content)
        {
            let closure = closures.of(&bytes, (!file.is_stdin).then_some(file.path.as_path()));
            // Not in the pool: a worker that waits there could take up another file that waits for the same library.
            let known = if is_open(report) { closures.knowledge(&closure) } else { Vec::new() };
            if !known.is_empty() {
                let foreign: Vec<&Knowledge> = known.iter().map(Arc::as_ref).collect();
                let again = || check_bytes(&bytes, path.clone(), file, self.plan, &foreign);
                outcomes = vec![match pool {
                    Some(pool) => pool.install(again),
                    None => again(),
                }];
            }
            if let [Outcome::Checked { report, .. }] = outcomes.as_mut_slice() {
                let libraries = closure.libraries.iter().map(|library| library.display().to_string());
                report.closure = Some(libraries.collect());
                report.missing_libraries = closure.missing;
            }
        }
        let is_whole = file.is_stdin || bytes.len() as u64 == file.size;
        if is_whole && bytes.is_intact() {
            outcomes
        } else {
            vec![skipped("the file changed while it was read".to_owned())]
        }
    }
}

/// Checks the members of an archive that are ELF files.
fn check_members(
    bytes: &[u8],
    archive: Option<&Archive>,
    path: &str,
    file: &Candidate,
    plan: &Plan,
) -> Vec<Outcome> {
    let members = archive.map_or(&[][..], |archive| &archive.members);
    let checked = members.par_iter().filter_map(|member| {
        let object = bytes.get(member.range.clone()).filter(|object| Content::of(object) == Content::Elf)?;
        Some(check_bytes(object, format!("{path}({})", member.name), file, plan, &[]))
    });
    checked.collect()
}

/// Whether a check in another file could change the verdict on a function.
fn is_open(report: &Report) -> bool {
    let mut reach = report.isa_functions.iter().map(|function| function.reach);
    reach.any(|reach| !matches!(reach, Reach::Guarded | Reach::Unreached))
}

fn check_bytes(bytes: &[u8], path: String, file: &Candidate, plan: &Plan, foreign: &[&Knowledge]) -> Outcome {
    let arch = arch_of(bytes);
    let debug_file = plan
        .debug_dirs
        .as_deref()
        .filter(|_| !file.is_stdin)
        .and_then(|dirs| debug_file::find(&wanted_debug_file(bytes)?, &file.path, dirs));
    let guards = plan.config.guards_for(&path, arch);
    let request = Request {
        debug_file: debug_file.as_deref(),
        target: features_for(&plan.target, arch),
        baseline: features_for(&plan.baseline, arch),
        rules: plan.rules.as_deref(),
        guards: &guards,
        foreign,
    };
    // A panic is a fault of deburr, yet it must cost one file and not the batch, whose turns would wait for ever.
    let checked = catch_unwind(AssertUnwindSafe(|| check(bytes, &request)));
    let Ok(checked) = checked else {
        let reason = "deburr itself failed on this file; please report it".to_owned();
        return Outcome::Skipped(Skipped { path, reason, named: file.is_named(), fault: true });
    };
    match checked {
        Ok(mut report) => {
            report.path = path;
            if debug_file.as_ref().is_some_and(|debug| !debug.is_intact()) {
                report.faults.push("the debug file changed while it was read".to_owned());
            }
            Outcome::Checked { report: Box::new(report), bytes: bytes.len() as u64 }
        }
        Err(error) => {
            let fault = !matches!(error, Error::Unsupported(_));
            Outcome::Skipped(Skipped { path, reason: error.to_string(), named: file.is_named(), fault })
        }
    }
}

/// Reads the standard input, up to the size that files may have.
fn standard_input() -> std::io::Result<Bytes> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(std::io::Error::other("too large: at most 8 GiB are read"));
    }
    Ok(Bytes::Owned(bytes))
}
