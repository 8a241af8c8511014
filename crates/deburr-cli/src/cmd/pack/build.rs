//! `deburr pack build`: options → variants, with progress on the standard error and a line for each variant on the
//! standard output.

use super::assemble;
use super::terms::Stated;
use super::watch::Watcher;
use crate::args::format::Format;
use crate::args::pack::assemble::Assemble;
use crate::args::pack::build::Build;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::{INTERRUPTED, Interrupts};
use crate::output::complaints::complaints;
use deburr_cpu::Target;
use deburr_pack::build::{BuildError, BuildRequest, build};
use deburr_pack::record::{Record, State};
use deburr_text::ShownPath as _;
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
    if let Some(dist) = &options.dist {
        is_free(dist, options.layout.single_file.is_some())?;
        if targets.len() < 2 {
            let reason = "--dist: expected at least two levels, among which the launcher chooses";
            return Err(Failure::Message(reason.to_owned()));
        }
    }
    let (source, folder) = place(options.source.as_deref()).map_err(Failure::Message)?;
    let request = BuildRequest {
        targets,
        command: options.command.clone(),
        source,
        folder,
        pack: options.output.clone(),
        take: options.take.clone(),
        wheel: None,
        fresh: options.fresh,
        no_check: options.checking.no_check,
    };
    let stated = Stated::read(&options.checking).map_err(Failure::Message)?;
    let was_measured = Record::read(&options.output).is_ok_and(|record| !record.measured.is_empty());
    let interrupts = heeded()?;
    let watcher = Watcher::new(&interrupts, options.quiet);
    let Some(record) = watched(&request, &stated, &watcher)? else {
        return Ok(ExitCode::from(INTERRUPTED));
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
        writeln!(out, "{:<16} {state:<9} {}", variant.level, options.output.join(&variant.tree).shown())?;
    }
    let is_rejected = record.variants.iter().any(|variant| variant.state == State::Rejected);
    match &options.dist {
        Some(dist) if is_rejected => {
            let reason = "a variant is rejected, so nothing is laid out";
            watcher.say(&format!("{}: {reason}; build without its level, or mend it", dist.shown()));
        }
        Some(dist) => assemble::run(&layout(options, dist), out).map(|_| ())?,
        None => {}
    }
    let is_done = record.variants.iter().all(|variant| variant.state == State::Done);
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Heeds signals while a build command runs; at any other time they end the process after a word.
pub(super) fn heeded() -> Result<Interrupts, Failure> {
    let farewell = || drop(writeln!(complaints(), "deburr: {}", BuildError::Interrupted));
    Interrupts::heed_at_times(farewell).map_err(|error| Failure::Message(format!("heeding signals: {error}")))
}

/// Builds, and says what happens; `None` where the build was interrupted, which is said, too.
pub(super) fn watched(
    request: &BuildRequest,
    stated: &Stated,
    watcher: &Watcher,
) -> Result<Option<Record>, Failure> {
    if let Some(line) = stated.in_force() {
        watcher.mention(&line);
    }
    let built = build(request, &stated.terms(), watcher);
    watcher.end();
    match built {
        Ok(record) => Ok(Some(record)),
        Err(error @ BuildError::Interrupted) => {
            watcher.say(&error.to_string());
            Ok(None)
        }
        Err(error) => Err(Failure::Message(error.to_string())),
    }
}

/// Whether variants can be laid out in a folder or in one file, before the time to build them is spent.
fn is_free(dist: &Path, is_file: bool) -> Result<(), Failure> {
    let what = match fs::symlink_metadata(dist) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        _ if is_file => "a name at which there is no file yet",
        _ if fs::read_dir(dist).is_ok_and(|mut entries| entries.next().is_none()) => return Ok(()),
        _ => "a folder that is empty or does not exist",
    };
    Err(Failure::Message(format!("--dist {}: expected {what}", dist.shown())))
}

/// The layout of what was built.
fn layout(options: &Build, dist: &Path) -> Assemble {
    Assemble {
        pack: Some(options.output.clone()),
        variants: Vec::new(),
        output: dist.to_owned(),
        layout: options.layout.clone(),
        checking: options.checking.clone(),
        format: Format::Text,
    }
}

/// The tree of sources, and the current folder in it; the tree itself where the current folder is elsewhere.
pub(super) fn place(source: Option<&Path>) -> Result<(PathBuf, PathBuf), String> {
    let here = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let Some(named) = source else { return Ok((here, PathBuf::new())) };
    let source = fs::canonicalize(named).map_err(|error| format!("{}: {error}", named.shown()))?;
    let folder = here.strip_prefix(&source).map(Path::to_owned).unwrap_or_default();
    Ok((source, folder))
}
