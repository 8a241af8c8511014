//! Build stage: the build command → its exit status, with what it wrote in a log. It runs in a process group of its own, so
//! that a request to stop ends all that it started.

use super::request::{BuildError, Observer, at};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// Between two looks at the command and at requests to stop.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the command.
pub(super) fn run(
    command: &mut Command,
    log: &Path,
    observer: &dyn Observer,
) -> Result<ExitStatus, BuildError> {
    let file = File::create(log).map_err(at(log))?;
    let same = file.try_clone().map_err(at(log))?;
    command.stdin(Stdio::null()).stdout(file).stderr(same).process_group(0);
    let program = command.get_program().to_owned();
    let mut child = command.spawn().map_err(at(Path::new(&program)))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut is_signalled = false;
    loop {
        if let Some(status) = child.try_wait().map_err(at(Path::new(&program)))? {
            if !is_signalled {
                return Ok(status);
            }
            // What it started may not have heeded the signal.
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            return Err(BuildError::Interrupted);
        }
        if observer.is_stop_urgent() {
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            is_signalled = true;
        } else if observer.is_stop_wanted() && !is_signalled {
            let _ = group.map(|group| kill_process_group(group, Signal::TERM));
            is_signalled = true;
        }
        thread::sleep(PAUSE);
    }
}

/// The last lines of a log.
pub(super) fn last_lines(log: &Path) -> String {
    const LINES: usize = 12;
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}
