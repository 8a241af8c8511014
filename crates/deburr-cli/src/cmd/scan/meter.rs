//! How far a scan is, on the standard error where that is a terminal: items, bytes, and an estimate of the rest.

use crate::args::batch::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// A scan shorter than this shows none.
const PATIENCE: Duration = Duration::from_secs(2);

/// The meter.
pub(super) struct Meter {
    is_wanted: bool,
    since: Instant,
    items: u64,
    bytes: u64,
    /// The items and bytes that there are.
    all: (u64, u64),
    bar: Option<ProgressBar>,
}

impl Meter {
    pub(super) fn new(progress: Progress, all: (u64, u64)) -> Meter {
        let is_wanted = progress == Progress::Auto && std::io::stderr().is_terminal();
        Meter { is_wanted, since: Instant::now(), items: 0, bytes: 0, all, bar: None }
    }

    /// So many more are done.
    pub(super) fn add(&mut self, items: u64, bytes: u64) {
        self.items += items;
        self.bytes += bytes;
        if !self.is_wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        let begin = || {
            let bar = ProgressBar::new(self.all.1).with_elapsed(PATIENCE);
            match ProgressStyle::with_template("{wide_bar} {msg}, {bytes}/{total_bytes}, {eta} left") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        };
        let bar = self.bar.get_or_insert_with(begin);
        bar.set_message(format!("{} of {}", self.items, self.all.0));
        bar.set_position(self.bytes);
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
