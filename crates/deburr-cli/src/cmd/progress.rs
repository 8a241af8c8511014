//! Progress of measuring → a bar on the standard error, for people: none where that is no terminal.

use crate::args::batch::Progress;
use indicatif::{ProgressBar, ProgressStyle};
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

    pub(super) fn finish(&self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}
