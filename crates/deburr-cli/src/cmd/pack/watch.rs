//! What happens in a build → lines on the standard error, and one live line where that is a terminal.

use crate::cmd::interrupt::{Attended, Interrupts};
use crate::cmd::progress::LiveLine;
use crate::output::complaints::complaints;
use anstream::adapter::strip_str;
use deburr_lab::measure::stop::Stop;
use deburr_pack::build::{Event, Observer, Progress, Stage};
use deburr_pack::record::CheckRecord;
use deburr_text::ShownPath as _;
use std::cell::RefCell;
use std::io::Write;

/// Says on the standard error what happens.
pub(super) struct Watcher {
    stop: Stop,
    attended: Attended,
    quiet: bool,
    /// While a variant is built.
    live: RefCell<Option<LiveLine>>,
}

impl Watcher {
    pub(super) fn new(interrupts: &Interrupts, quiet: bool) -> Watcher {
        let (stop, attended) = (interrupts.stop.clone(), interrupts.attended.clone());
        Watcher { stop, attended, quiet, live: RefCell::new(None) }
    }

    /// Says what is wrong, or what is to be known in any case.
    pub(super) fn say(&self, message: &str) {
        let write = || {
            // Nobody reads it where the standard error is closed.
            let _ = writeln!(complaints(), "deburr: {message}");
        };
        match &*self.live.borrow() {
            Some(live) => live.hidden_while(write),
            None => write(),
        }
    }

    /// Ends the live line.
    pub(super) fn end(&self) {
        self.live.replace(None);
    }

    /// Says what is to be known, except where only faults are.
    pub(super) fn mention(&self, message: &str) {
        if !self.quiet {
            self.say(message);
        }
    }

    /// Says what a check has not decided, and what it was told to believe.
    fn mention_believed(&self, level: &str, check: &CheckRecord) {
        for line in check.believed() {
            self.mention(&format!("{level}: {line}"));
        }
    }
}

impl Observer for Watcher {
    fn happened(&self, event: &Event<'_>) {
        match event {
            Event::Begins(level) => match LiveLine::new(!self.quiet) {
                None => self.mention(&format!("{level}: building")),
                live => drop(self.live.replace(live)),
            },
            Event::Kept(level, check) => {
                self.mention(&format!("{level}: unchanged since it was built"));
                self.mention_believed(level, check);
            }
            Event::Done(level, time, check) => {
                self.end();
                let checked = if check.left_out { "built, not checked" } else { "built and checked" };
                self.mention(&format!("{level}: {checked}, {:.1} s", time.as_secs_f64()));
                self.mention_believed(level, check);
            }
            Event::SlowCheck(level, time) => {
                let seconds = time.as_secs();
                self.mention(&format!(
                    "{level}: the check took longer than the build, {seconds} s; --budget and --max-time bound it"
                ));
            }
            Event::Failed(level, reason, log, lines) => {
                self.end();
                self.say(&format!("{level}: {reason}; the end of {}:\n{lines}", log.shown()));
            }
            Event::Rejected(level, faults) => {
                self.end();
                for fault in *faults {
                    self.say(&format!("{level}: rejected: {fault}"));
                }
            }
            Event::Unknown { level, unable, able } => self.mention(&format!(
                "{level}: not known to {}; a build that calls {} will fail ({} would do)",
                unable.join(", "),
                if unable.len() == 1 { "it" } else { "one of them" },
                able.join(", ")
            )),
            Event::Objects(first, count) => self.mention(&format!(
                "the sources hold {count} object file{} of an earlier build, such as {}: the command may take them as \
                 they are, at every level; clean the sources first",
                if *count == 1 { "" } else { "s" },
                first.shown()
            )),
            Event::OwnFlag(level, flag) => self.mention(&format!(
                "{level}: the project's own {flag} comes after the level's flags and overrides them"
            )),
            Event::NothingAbove { level, below } => {
                self.mention(&format!("{level}: no instruction needs more than {below}"));
            }
            Event::Same { level, below, others: 0, .. } => {
                self.mention(&format!("{level} has the same code as {below} in every file"));
            }
            Event::Same { level, below, same, others } => {
                let (first, more) = (same[0].shown(), same.len() - 1);
                let names = if more == 0 { first.to_string() } else { format!("{first} and {more} more") };
                self.mention(&format!(
                    "{level} has the same code as {below} in {names}, of {} files",
                    same.len() + others
                ));
            }
            _ => {}
        }
    }

    fn proceeds(&self, progress: &Progress<'_>) {
        if let Some(live) = &*self.live.borrow() {
            let Progress { level, number, of, stage, .. } = progress;
            live.show(format!("{level}, {number} of {of}"), how_far(*stage));
        }
    }

    fn is_stop_wanted(&self) -> bool {
        self.stop.is_wanted()
    }

    fn is_stop_urgent(&self) -> bool {
        self.stop.is_urgent()
    }

    fn attends(&self, is_running: bool) {
        self.attended.set(is_running);
    }
}

/// How far a variant is, for a person. Colours of the build, and what else moves a terminal's cursor, are left out.
fn how_far(stage: Stage<'_>) -> String {
    let plain = |line: &str| deburr_text::one_line(&strip_str(line).to_string()).into_owned();
    match stage {
        Stage::Prepares => "copying the sources, wrapping the compilers".to_owned(),
        Stage::Builds { calls: 1, line } => format!("1 compiler call  {}", plain(line)),
        Stage::Builds { calls, line } => format!("{calls} compiler calls  {}", plain(line)),
        Stage::Checks { done, all } => format!("{done} of {all} files checked"),
        _ => String::new(),
    }
}
