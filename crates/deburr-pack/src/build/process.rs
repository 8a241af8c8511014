//! Build stage: the build command → its exit status, with what it wrote in a log. It runs in a process group of its own, so
//! that a request to stop ends all that it started.

use super::lock::Lock;
use super::request::{BuildError, Observer, at};
use deburr_text::ShownPath as _;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at the command and at requests to stop.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two looks at how far the command is.
const SHOWN: Duration = Duration::from_millis(200);

/// Runs the command, attended. `follow` is called every now and then while it runs.
pub(super) fn run(
    command: &mut Command,
    log: &Path,
    observer: &dyn Observer,
    lock: &Lock,
    follow: &mut dyn FnMut(),
) -> Result<ExitStatus, BuildError> {
    let file = File::create(log).map_err(at(log))?;
    let same = file.try_clone().map_err(at(log))?;
    command.stdin(Stdio::null()).stdout(file).stderr(same).process_group(0);
    let program = command.get_program().to_owned();
    let _attended = Attended::begin(observer);
    let mut child = command.spawn().map_err(|error| {
        let reason = format!("{}: {error}; expected a build command, as in -- make", program.shown());
        BuildError::Request(reason)
    })?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _guard = group.and_then(|group| Guard::of(group, lock));
    let mut is_signalled = false;
    let mut shown = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(at(Path::new(&program)))? {
            if !is_signalled && !observer.is_stop_wanted() {
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
        if shown.elapsed() >= SHOWN {
            follow();
            shown = Instant::now();
        }
        thread::sleep(PAUSE);
    }
}

/// The time in which the command runs.
struct Attended<'o>(&'o dyn Observer);

impl Attended<'_> {
    fn begin(observer: &dyn Observer) -> Attended<'_> {
        observer.attends(true);
        Attended(observer)
    }
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        self.0.attends(false);
    }
}

/// A process in the command's group that ends the group when this process is no more: killed, it could not do so itself, and
/// the next run would build in a copy in which the command still works. It keeps the lock as long.
struct Guard(Child);

impl Guard {
    /// A guard, where there is `sh`; the wrappers need one, too.
    fn of(group: Pid, lock: &Lock) -> Option<Guard> {
        const SCRIPT: &str = "trap '' TERM INT HUP; read -r none; kill -TERM 0; sleep 1; kill -KILL 0";
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", SCRIPT]).process_group(group.as_raw_pid());
        // The other end of its input is open as long as this process is.
        guard.stdin(Stdio::piped()).stdout(lock.share().ok()?).stderr(Stdio::null());
        guard.spawn().ok().map(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Before its input is closed, which it would take for the end of this process.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The last lines of a log. A log may be long, or a device without an end.
pub(super) fn last_lines(log: &Path) -> String {
    const LINES: usize = 12;
    const END: u64 = 16 * 1024;
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(END)))?;
        file.take(END).read_to_end(&mut bytes)
    });
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}
