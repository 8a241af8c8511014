//! What is to be run → what cannot work, before anything waits for a quiet machine.
//!
//! In: a [`ComparePlan`]. Out: the first thing that is not there: a program, a folder, an input, a processor.
//! What a command before it may still make (`--setup`, `--prepare`, `--relink`) is looked for after that, or not
//! at all.

use super::plan::ComparePlan;
use crate::system_error::error_text;
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::machine::Cpus;
use deburr_lab::measure::process::Task;
use rustix::io::Errno;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
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
            return Err(format!("--cwd {}: no such folder", folder.display()));
        }
        if let Some(path) = &task.input {
            File::open(path)
                .map_err(|error| format!("--input {}: {}", path.display(), error_text(&error)))?;
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

/// Whether the program of a task can be run, as far as that can be known.
fn program(task: &Task, what: &str) -> Result<(), String> {
    let Some(name) = task.words.first() else { return Ok(()) };
    match find(task, name) {
        Ok(()) => Ok(()),
        Err(error) => Err(format!("{what}: {}: {}", name.display(), error_text(&error))),
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
