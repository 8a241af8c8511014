//! Progress of a run on the standard error, where it is a terminal: files, or bytes where there are packages.
//! A sign of life is shown where nobody knows how much there is to do.

use crate::args::batch::Progress;
use crate::input::walk::InputFile;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A run shorter than this shows no progress.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The meter.
pub(super) struct Meter {
    wanted: bool,
    since: Instant,
    /// Files, or bytes.
    length: u64,
    is_bytes: bool,
    bar: Option<ProgressBar>,
}

impl Meter {
    pub(super) fn new(progress: Progress, files: &[InputFile]) -> Meter {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let is_bytes = files.iter().any(|file| file.content.is_package());
        Meter {
            wanted: progress == Progress::Auto && terminal,
            since: Instant::now(),
            length: if is_bytes { files.iter().map(|file| file.size).sum() } else { files.len() as u64 },
            is_bytes,
            bar: None,
        }
    }

    /// Shows how far the run is.
    pub(super) fn show(&mut self, files: usize, bytes: u64) {
        if !self.wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        let begin = || {
            let bar = ProgressBar::new(self.length);
            match ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes}") {
                Ok(style) if self.is_bytes => bar.with_style(style),
                _ => bar,
            }
        };
        let position = if self.is_bytes { bytes } else { files as u64 };
        self.bar.get_or_insert_with(begin).set_position(position);
    }

    /// Writes while the bar is hidden.
    pub(super) fn with_bar_hidden<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        if progress == Progress::Never || !terminal {
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
