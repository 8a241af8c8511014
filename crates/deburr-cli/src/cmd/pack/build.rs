//! `deburr pack build`: options → variants, with progress on the standard error and a line for each variant on the
//! standard output.

use super::assemble;
use crate::args::format::Format;
use crate::args::pack::assemble::Assemble;
use crate::args::pack::build::Build;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::{INTERRUPTED, Interrupts};
use deburr_cpu::Target;
use deburr_lab::measure::stop::Stop;
use deburr_pack::build::{BuildError, BuildRequest, Event, Observer, build};
use deburr_pack::record::{Record, State};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(options: &Build, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let targets = options
        .levels
        .iter()
        .map(|name| {
            Target::parse(name).map_err(|error| Failure::Message(format!("--levels {name}: {error}")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    options.dist.as_deref().map_or(Ok(()), is_free)?;
    let (source, folder) = place(options.source.as_deref()).map_err(Failure::Message)?;
    let request = BuildRequest {
        targets,
        command: options.command.clone(),
        source,
        folder,
        pack: options.output.clone(),
        take: options.take.clone(),
        fresh: options.fresh,
    };
    let interrupts =
        Interrupts::heed().map_err(|error| Failure::Message(format!("heeding signals: {error}")))?;
    let watcher = Watcher { stop: interrupts.stop.clone(), quiet: options.quiet };
    let was_measured = Record::read(&options.output).is_ok_and(|record| !record.measured.is_empty());
    let record = match build(&request, &watcher) {
        Ok(record) => record,
        Err(error @ BuildError::Interrupted) => {
            watcher.say(&error.to_string());
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Err(error) => return Err(Failure::Message(error.to_string())),
    };
    if was_measured && record.measured.is_empty() {
        watcher.say("what was measured is of another build, and left out: deburr pack measure does it again");
    }
    for variant in &record.variants {
        let state = match variant.state {
            State::Done => "done",
            State::Failed => "failed",
            State::Rejected => "rejected",
        };
        writeln!(out, "{:<16} {state:<9} {}", variant.level, options.output.join(&variant.tree).display())?;
    }
    let is_rejected = record.variants.iter().any(|variant| variant.state == State::Rejected);
    match &options.dist {
        Some(dist) if is_rejected => {
            let reason = "a variant is rejected, so nothing is laid out";
            watcher.say(&format!("{}: {reason}; build without its level, or mend it", dist.display()));
        }
        Some(dist) => assemble::run(&layout(options, dist), out).map(|_| ())?,
        None => {}
    }
    let is_done = record.variants.iter().all(|variant| variant.state == State::Done);
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Whether variants can be laid out in a folder, before the time to build them is spent.
fn is_free(dist: &Path) -> Result<(), Failure> {
    match fs::read_dir(dist).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(Failure::Message(format!(
            "--dist {}: expected a folder that is empty or does not exist",
            dist.display()
        ))),
    }
}

/// The layout of what was built.
fn layout(options: &Build, dist: &Path) -> Assemble {
    Assemble {
        pack: Some(options.output.clone()),
        variants: Vec::new(),
        output: dist.to_owned(),
        single_file: None,
        prefix: options.prefix.clone(),
        by_name: Vec::new(),
        by_loader: Vec::new(),
        keep: false,
        split: false,
        no_check: false,
        format: Format::Text,
    }
}

/// The tree of sources, and the current folder in it; the tree itself where the current folder is elsewhere.
fn place(source: Option<&Path>) -> Result<(PathBuf, PathBuf), String> {
    let here = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let Some(named) = source else { return Ok((here, PathBuf::new())) };
    let source = fs::canonicalize(named).map_err(|error| format!("{}: {error}", named.display()))?;
    let folder = here.strip_prefix(&source).map(Path::to_owned).unwrap_or_default();
    Ok((source, folder))
}

/// Says on the standard error what happens.
struct Watcher {
    stop: Stop,
    quiet: bool,
}

impl Watcher {
    fn say(&self, message: &str) {
        // Nobody reads it where the standard error is closed.
        let _ = writeln!(io::stderr(), "deburr: {message}");
    }

    fn mention(&self, message: &str) {
        if !self.quiet {
            self.say(message);
        }
    }
}

impl Observer for Watcher {
    fn happened(&self, event: &Event<'_>) {
        match event {
            Event::Begins(level) => self.mention(&format!("{level}: building")),
            Event::Kept(level) => self.mention(&format!("{level}: unchanged since it was built")),
            Event::Done(level, time) => {
                self.mention(&format!("{level}: built and checked, {:.1} s", time.as_secs_f64()));
            }
            Event::Failed(level, reason, log, lines) => {
                self.say(&format!("{level}: {reason}; the end of {}:\n{lines}", log.display()));
            }
            Event::Rejected(level, faults) => {
                for fault in *faults {
                    self.say(&format!("{level}: rejected: {fault}"));
                }
            }
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
                let (first, more) = (same[0].display(), same.len() - 1);
                let names = if more == 0 { first.to_string() } else { format!("{first} and {more} more") };
                self.mention(&format!(
                    "{level} has the same code as {below} in {names}, of {} files",
                    same.len() + others
                ));
            }
            _ => {}
        }
    }

    fn is_stop_wanted(&self) -> bool {
        self.stop.is_wanted()
    }

    fn is_stop_urgent(&self) -> bool {
        self.stop.is_urgent()
    }
}
