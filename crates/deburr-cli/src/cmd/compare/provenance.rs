//! The experiments to be run → what is known of their programs and of this machine, for the header of the record.
//!
//! In: what is run as A and as B. Out: [`Provenance`]. A program is looked up as the system will; its build-id is
//! read from its file, and the commit from the Git tree that the file is in, if there is a `git`.

use crate::input::mapped::Bytes;
use deburr_core::image::build_id_of;
use deburr_lab::bench::moment::now;
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::process::Task;
use deburr_lab::measure::provenance::{Host, Program, Provenance};
use deburr_text::ShownPath as _;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Of the first experiment: others run the same programs with other arguments, as far as that is known. Where a
/// shell runs the commands, it is not the program that is measured, and nothing is said of it.
pub(super) fn provenance(experiment: Option<&Experiment>, has_shell: bool, processors: usize) -> Provenance {
    let cpu = deburr_cpu::host().ok();
    let cpu = cpu.map(|host| if host.brand.is_empty() { host.name } else { host.brand });
    let programs = match experiment {
        Some(experiment) if !has_shell => {
            let tasks = experiment.services.as_ref().map_or_else(
                || experiment.tasks.each_ref(),
                |services| services.each_ref().map(|service| &service.task),
            );
            tasks.map(program)
        }
        _ => Default::default(),
    };
    Provenance { began: now(), host: Host::here(cpu, processors), programs }
}

fn program(task: &Task) -> Program {
    let Some(path) = task.words.first().and_then(|word| found(word, task.folder.as_deref())) else {
        return Program::default();
    };
    let bytes = Bytes::open(&path).ok();
    let build_id = bytes.and_then(|bytes| build_id_of(&bytes));
    let folder = path.parent().unwrap_or(Path::new("/"));
    let commit = git(folder, &["rev-parse", "--verify", "HEAD"]).filter(|commit| !commit.is_empty());
    let is_dirty = commit.as_ref().and_then(|_| {
        git(folder, &["status", "--porcelain", "--untracked-files=no"]).map(|changes| !changes.is_empty())
    });
    Program { path: Some(path.shown().into_owned()), build_id, commit, is_dirty }
}

/// The file of a program: by its path, or in `PATH`.
pub(super) fn found(word: &OsStr, folder: Option<&Path>) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
    };
    let path = if word.as_encoded_bytes().contains(&b'/') {
        let from = folder.map_or_else(PathBuf::new, Path::to_owned);
        Some(from.join(word)).filter(is_program)
    } else {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(word)).find(is_program)
    };
    path?.canonicalize().ok()
}

/// What a Git command prints of the tree that a folder is in; `None` where there is no such tree, or no `git`.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A program that the tree's configuration names is not run, and nothing is written there.
    command.args(["-c", "core.fsmonitor=false", "-C"]).arg(folder).args(arguments);
    // A hook of another tree may be what runs this.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
