//! What is to be run → what cannot work, before anything waits for a quiet machine.
//!
//! In: a [`ComparePlan`]. Out: the first thing that is not there: a program, a folder, an input, a processor.
//! What a command before it may still make (`--setup`, `--prepare`, `--relink`) is looked for after that, or not
//! at all.

use super::plan::{ComparePlan, Contest};
use super::words::Words;
use crate::args::compare::Compare;
use crate::args::compare::sweep::{Sweep, Values};
use crate::system_error::error_text;
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::machine::Cpus;
use deburr_lab::measure::metric::Source;
use deburr_lab::measure::process::{self, Streams, Task};
use deburr_lab::measure::stop::Stop;
use deburr_lab::measure::valgrind;
use deburr_lab::readers::{self, Format};
use deburr_text::ShownPath as _;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What runs before everything else, and what all runs need.
pub(super) fn before_setup(plan: &ComparePlan) -> Result<(), String> {
    if let Some(setup) = &plan.setup {
        program(setup, "--setup")?;
    }
    // What the setup makes is not there yet.
    if plan.setup.is_none() { after_setup(plan) } else { Ok(()) }
}

/// What the runs need.
pub(super) fn after_setup(plan: &ComparePlan) -> Result<(), String> {
    plan.experiments.iter().try_for_each(experiment)
}

fn experiment(experiment: &Experiment) -> Result<(), String> {
    let events = &experiment.tasks[0].counted;
    if !events.is_empty() {
        process::can_count(events).map_err(|why| {
            format!("--metric: counters of the processor: {why}; --metric valgrind:instructions needs none")
        })?;
    }
    if experiment.metrics.iter().any(|metric| matches!(metric.source, Source::ValgrindInstructions)) {
        find(&experiment.tasks[0], OsStr::new(valgrind::PROGRAM)).map_err(|error| {
            let error = error_text(&error);
            format!("--metric valgrind:instructions: valgrind: {error} (Debian and Ubuntu: apt-get install valgrind)")
        })?;
    }
    let is_made = experiment.prepare.is_some() || experiment.relink.is_some();
    let befores = [
        ("--prepare", experiment.prepare.as_ref()),
        ("--relink", experiment.relink.as_ref().map(|relink| &relink.task)),
    ];
    for (what, task) in befores {
        task.map_or(Ok(()), |task| program(task, what))?;
    }
    let services = experiment.services.iter().flatten();
    let servers = ["--server-a", "--server-b"].into_iter().zip(services.clone().map(|service| &service.task));
    let ready = services.map(|service| ("--ready", &service.ready));
    let clients = experiment.services.is_some();
    let sides =
        ["--a", "--b"].map(|side| if clients { "--client" } else { side }).into_iter().zip(&experiment.tasks);
    for (what, task) in servers.chain(ready).chain(sides) {
        if let Some(folder) = task.folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(format!("--cwd {}: no such folder", folder.shown()));
        }
        if let Some(path) = &task.input {
            File::open(path).map_err(|error| format!("--input {}: {}", path.shown(), error_text(&error)))?;
        }
        if let (Some(wanted), Ok(allowed)) = (&task.cpus, Cpus::allowed()) {
            let missing = wanted.numbers().iter().find(|cpu| !allowed.numbers().contains(cpu));
            if let Some(missing) = missing {
                return Err(format!("--pin {wanted}: no processor {missing} here: there are {allowed}"));
            }
        }
        if !is_made {
            program(task, what)?;
        }
    }
    Ok(())
}

/// How many names a message has room for.
const MOST_NAMES: usize = 20;

/// The names of what A reports as `format`, for somebody who gave none: A is run once, without anything being
/// waited for.
pub(super) fn reported_names(
    options: &Compare,
    contest: &Contest<'_>,
    format: Format,
    stop: &Stop,
) -> Result<String, String> {
    let points = Sweep::new(&options.param)?.map_or_else(|| vec![Values::default()], |sweep| sweep.points());
    let values = points.into_iter().next().unwrap_or_default();
    let mut task = Words { options, port: None, values: &values }.task("--a", contest.commands[0])?;
    task.input.clone_from(&options.trial.input);
    program(&task, "--a")?;
    let complain = |error: io::Error| format!("--a: {}", error_text(&error));
    let output = memfd_create("deburr", MemfdFlags::CLOEXEC).map_err(|error| complain(error.into()))?;
    let mut output = File::from(output);
    let streams = Streams { output: &output, errors: &output };
    let (end, _) = process::run(&task, streams, stop).map_err(complain)?;
    let mut text = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut text)).map_err(complain)?;
    let found = readers::read(format, &String::from_utf8_lossy(&text))
        .map_err(|error| format!("A, run once to see what it reports, ended with {end}: {error}"))?;
    let names = found.iter().take(MOST_NAMES).map(|found| format!("\n  --metric '{format}:{}'", found.name));
    let more = match found.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    Ok(format!("A, run once, reports{}{more}", names.collect::<String>()))
}

/// Whether the program of a task can be run, as far as that can be known.
fn program(task: &Task, what: &str) -> Result<(), String> {
    let Some(name) = task.words.first() else { return Ok(()) };
    match find(task, name) {
        Ok(()) => Ok(()),
        Err(error) => Err(format!("{what}: {}: {}", name.shown(), error_text(&error))),
    }
}

/// As execvp finds it: by its path, from the folder that it runs in, or in one of `PATH`.
fn find(task: &Task, name: &OsStr) -> io::Result<()> {
    let base = task.folder.as_deref().unwrap_or(Path::new(""));
    if name.as_encoded_bytes().contains(&b'/') {
        return is_executable(&base.join(name));
    }
    let own = task.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let Some(path) = own.or_else(|| env::var_os("PATH")) else { return Ok(()) };
    let mut found = Err(Errno::NOENT.into());
    for folder in env::split_paths(&path) {
        let folder: PathBuf = if folder.as_os_str().is_empty() { base.to_owned() } else { base.join(folder) };
        match is_executable(&folder.join(name)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found = Err(error),
            Err(_) => {}
        }
    }
    found
}

fn is_executable(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    match metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        true => Ok(()),
        false => Err(Errno::ACCESS.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str) -> Task {
        Task { words: vec![name.into()], ..Task::default() }
    }

    #[test]
    fn programs_are_found_by_path_or_in_the_path() {
        assert_eq!(program(&task("sh"), "--a"), Ok(()));
        assert_eq!(program(&task("/bin/sh"), "--a"), Ok(()));
        let bin = Task { folder: Some("/bin".into()), ..task("./sh") };
        assert_eq!(program(&bin, "--a"), Ok(()));
        for (name, why) in [
            ("no-such-program", "--a: no-such-program: No such file"),
            ("/no/such", "--a: /no/such: No such file"),
            ("/etc/passwd", "--a: /etc/passwd: Permission denied"),
            ("/etc", "--a: /etc: Permission denied"),
        ] {
            let error = program(&task(name), "--a").expect_err(name);
            assert!(error.to_lowercase().starts_with(&why.to_lowercase()), "{error}");
        }
        let elsewhere = Task { env: vec![("PATH".into(), "/no/such".into())], ..task("sh") };
        assert!(program(&elsewhere, "--b").is_err());
    }
}
