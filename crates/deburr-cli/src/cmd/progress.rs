//! Progress of measuring and building → a bar or a line on the standard error, for people: none where that is no terminal.

use crate::args::batch::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

/// A bar for so many of something, where somebody sees it.
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(super) fn new(progress: Progress, length: u64, what: &str) -> Bar {
        let wanted = progress == Progress::Auto && std::io::stderr().is_terminal();
        Bar(wanted.then(|| {
            let bar = ProgressBar::new(length);
            bar.enable_steady_tick(Duration::from_secs(1));
            match ProgressStyle::with_template(&format!(
                "{{wide_bar}} {{pos}}/{{len}} {what}, {{elapsed}}{{msg}}"
            )) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        }))
    }

    pub(super) fn set_position(&self, position: u32) {
        self.0.iter().for_each(|bar| bar.set_position(u64::from(position)));
    }

    pub(super) fn set_message(&self, message: String) {
        if let Some(bar) = &self.0 {
            bar.set_message(message);
        }
    }

    /// Writes while the bar is hidden.
    pub(super) fn hidden_while(&self, write: impl FnOnce()) {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(super) fn finish(&self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// A line that changes, with the time since it began, until it is dropped; where somebody sees it.
pub(super) struct LiveLine {
    bar: ProgressBar,
    is_ticking: Cell<bool>,
}

impl LiveLine {
    /// A line, where it is wanted and the standard error is a terminal.
    pub(super) fn new(is_wanted: bool) -> Option<LiveLine> {
        if !is_wanted || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::new_spinner();
        let bar = match ProgressStyle::with_template("{prefix} {elapsed_precise} {wide_msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        Some(LiveLine { bar, is_ticking: Cell::new(false) })
    }

    /// Shows what is done before the time, and how far it is after it; what does not fit is cut.
    pub(super) fn show(&self, what: String, how_far: String) {
        self.bar.set_prefix(what);
        self.bar.set_message(how_far);
        if !self.is_ticking.replace(true) {
            // The time goes on where nothing else does.
            self.bar.enable_steady_tick(Duration::from_secs(1));
        }
    }

    /// Writes while the line is hidden.
    pub(super) fn hidden_while<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
