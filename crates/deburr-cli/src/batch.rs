//! The batch: files → outcomes in the order of the files, though many are checked at the same time.
//!
//! File-level work runs on threads of its own and not on rayon's: a rayon worker that waits for the core's
//! parallel loops would steal another file and hold two at a time. Outcomes wait in a window of bounded
//! length, so that ten thousand reports are never held together.

use crate::args;
use crate::input::debug_file;
use crate::input::gate::Gate;
use crate::input::mapped::{Bytes, MAX_FILE};
use crate::input::walk::{Candidate, Skipped, error_text};
use crate::input::{Content, arch_of, archive};
use crate::machine::{Machine, features_for};
use deburr_core::{Error, Report, Request, check, wanted_debug_file};
use std::collections::BTreeMap;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How files are checked.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) target: Vec<Machine>,
    pub(crate) baseline: Vec<Machine>,
    /// Ids of the rules to run; `None`: all.
    pub(crate) rules: Option<Vec<&'static str>>,
    /// Where separate debug files are looked for; `None`: nowhere.
    pub(crate) debug_dirs: Option<Vec<PathBuf>>,
    pub(crate) threads: usize,
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
    let gate = Gate::default();
    let workers = plan.threads.min(files.len());
    if workers <= 1 {
        return files.iter().try_for_each(|file| emit(check_file(file, plan, &gate)));
    }
    let turns = Mutex::new(Turns { next: 0, emitted: 0, done: BTreeMap::new(), stopped: false });
    let changed = Condvar::new();
    let work = || {
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
            let outcomes = check_file(file, plan, &gate);
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

/// Checks one file, or all members of an archive.
fn check_file(file: &Candidate, plan: &Plan, gate: &Gate) -> Vec<Outcome> {
    let _pass = gate.pass(file.size);
    let path = file.path.display().to_string();
    let skipped = |reason: String, fault| {
        let path = path.clone();
        vec![Outcome::Skipped(Skipped { path, reason, named: file.is_named(), fault })]
    };
    let opened = if file.is_stdin { standard_input() } else { Bytes::open(&file.path) };
    let bytes = match opened {
        Ok(bytes) => bytes,
        Err(error) => return skipped(error_text(&error), true),
    };
    let content = if file.is_stdin { Content::of(&bytes) } else { file.content };
    let outcomes = match content {
        Content::Elf => vec![check_bytes(&bytes, path.clone(), file, plan)],
        Content::Archive => match archive::members(&bytes) {
            Ok(members) => members
                .into_iter()
                .filter(|(_, member)| Content::of(member) == Content::Elf)
                .map(|(name, member)| check_bytes(member, format!("{path}({name})"), file, plan))
                .collect(),
            Err(reason) => return skipped(reason, true),
        },
        Content::Empty => skipped("an empty file".to_owned(), true),
        Content::Other | Content::ThinArchive => skipped("no ELF file".to_owned(), true),
    };
    if bytes.is_intact() { outcomes } else { skipped("the file changed while it was read".to_owned(), true) }
}

fn check_bytes(bytes: &[u8], path: String, file: &Candidate, plan: &Plan) -> Outcome {
    let arch = arch_of(bytes);
    let debug_file = plan
        .debug_dirs
        .as_deref()
        .filter(|_| !file.is_stdin)
        .and_then(|dirs| debug_file::find(&wanted_debug_file(bytes)?, &file.path, dirs));
    let request = Request {
        debug_file: debug_file.as_deref(),
        target: features_for(&plan.target, arch),
        baseline: features_for(&plan.baseline, arch),
        rules: plan.rules.as_deref(),
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
