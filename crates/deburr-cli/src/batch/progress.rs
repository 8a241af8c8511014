//! Progress of a run on the standard error, where it is a terminal: files, or bytes where there are packages.
//! A sign of life is shown where nobody knows how much there is to do.

use crate::args::batch::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A run shorter than this shows no progress.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The meter.
pub(crate) struct Meter {
    is_wanted: bool,
    since: Instant,
    length: u64,
    /// What the bar looks like (indicatif's template).
    template: &'static str,
    bar: Option<ProgressBar>,
}

impl Meter {
    /// Of so much work.
    pub(crate) fn new(progress: Progress, length: u64, template: &'static str) -> Meter {
        let is_wanted = progress == Progress::Auto && std::io::stderr().is_terminal();
        Meter { is_wanted, since: Instant::now(), length, template, bar: None }
    }

    /// Shows how much is done, with a message where the template has room for one.
    pub(crate) fn show(&mut self, done: u64, message: impl FnOnce() -> String) {
        if !self.is_wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        let begin = || {
            let bar = ProgressBar::new(self.length).with_elapsed(PATIENCE);
            match ProgressStyle::with_template(self.template) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        };
        let bar = self.bar.get_or_insert_with(begin);
        bar.set_message(message());
        bar.set_position(done);
    }

    /// Writes while the bar is hidden.
    pub(crate) fn with_bar_hidden<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The files that are at work, by their numbers, each with when it began.
#[derive(Debug, Default)]
pub(crate) struct AtWork(Mutex<BTreeMap<usize, Instant>>);

impl AtWork {
    pub(crate) fn begins(&self, turn: usize) {
        self.began().insert(turn, Instant::now());
    }

    pub(crate) fn ends(&self, turn: usize) {
        self.began().remove(&turn);
    }

    /// The one that takes the longest, and how long that is by now, where it is long.
    pub(crate) fn longest(&self) -> Option<(usize, Duration)> {
        let began = self.began();
        let (turn, since) = began.iter().min_by_key(|(_, since)| **since)?;
        Some((*turn, since.elapsed())).filter(|(_, time)| *time >= PATIENCE)
    }

    fn began(&self) -> MutexGuard<'_, BTreeMap<usize, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sign of life during one long piece of work, until it is dropped. Nothing else may be written meanwhile.
pub(crate) struct Life {
    /// Its end is what the thread waits for.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Life {
    pub(crate) fn new(progress: Progress, what: String) -> Life {
        if progress == Progress::Never || !std::io::stderr().is_terminal() {
            return Life { over: None, thread: None };
        }
        let (over, is_over) = channel();
        let show = move || {
            if is_over.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what).with_elapsed(PATIENCE);
            let bar = match ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            };
            bar.enable_steady_tick(Duration::from_millis(100));
            let _ = is_over.recv();
            bar.finish_and_clear();
        };
        // Without a thread, there is only no sign.
        Life { over: Some(over), thread: thread::Builder::new().spawn(show).ok() }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
