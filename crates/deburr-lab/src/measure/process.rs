//! Measuring stage: one run of a process, from its start to its end.
//!
//! In: a command. Out: how it ended, and what it took. Wall time is counted from before the process is made
//! until its end is known; CPU time, peak memory and context switches are what the kernel counted for it and
//! for the children that it waited for (`wait4`, as `/usr/bin/time` does). Nothing else runs meanwhile: its
//! output goes to a file, and its end wakes one `poll`.

use super::machine::Cpus;
use super::stop::Stop;
use super::tree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process that is signalled to end may take, until it is killed.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How often a wish to stop is polled.
const POLL: Duration = Duration::from_millis(500);
/// How often a wish to stop at once is polled, while a process takes its time to end.
const HURRIED_POLL: Duration = Duration::from_millis(50);

/// A command, and what it runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// The program, and its arguments.
    pub words: Vec<OsString>,
    /// Added to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its folder; that of this process where there is none.
    pub folder: Option<PathBuf>,
    /// What it reads; nothing where there is none.
    pub input: Option<PathBuf>,
    /// The processors that it may run on; all where there are none.
    pub cpus: Option<Cpus>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With an exit status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It ran too long, and was ended.
    TimedOut,
    /// Somebody wanted to stop, and it was ended.
    Interrupted,
}

impl Default for End {
    fn default() -> End {
        End::Status(0)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Status(status) => write!(f, "exit status {status}"),
            End::Signal(signal) => write!(f, "signal {signal}"),
            End::TimedOut => f.write_str("the time limit"),
            End::Interrupted => f.write_str("an interrupt"),
        }
    }
}

/// What a run took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall time, in seconds.
    pub wall: f64,
    /// CPU time outside of the kernel, in seconds.
    pub user: f64,
    /// CPU time in the kernel, in seconds.
    pub system: f64,
    /// The most memory that it, or one of its children, had at once: the resident set, in bytes. Never less
    /// than what this process had when it made it, which the kernel counts as the new one's until it runs its
    /// own program.
    pub peak_memory: u64,
    /// How often it waited for something.
    pub voluntary_switches: u64,
    /// How often it lost its processor.
    pub involuntary_switches: u64,
}

/// Where a run prints to. Files, so that nothing has to read meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Streams<'f> {
    /// Its standard output.
    pub output: &'f File,
    /// Its standard error.
    pub errors: &'f File,
}

/// Runs a command, unless somebody wants to stop.
///
/// # Errors
/// Where the process cannot be made, as for a program that does not exist, or cannot be waited for.
pub fn run(task: &Task, streams: Streams<'_>, stop: &Stop) -> io::Result<(End, Usage)> {
    if stop.is_wanted() {
        return Ok((End::Interrupted, Usage::default()));
    }
    let (start, process) = Process::start(task, streams)?;
    let early = process.wait(task.timeout, stop);
    let wall = start.elapsed();
    if early.is_err() {
        // Nobody else will.
        let _ = process.end(stop);
    }
    let (end, usage) = process.reap()?;
    Ok((early?.unwrap_or(end), Usage { wall: wall.as_secs_f64(), ..usage }))
}

impl Task {
    /// The kernel reports a missing folder as it does a missing program.
    fn failed_to_start(&self, error: io::Error) -> io::Error {
        match (&self.folder, self.words.first()) {
            (Some(folder), _) if !folder.is_dir() => {
                explained(folder.display(), io::ErrorKind::NotADirectory.into())
            }
            (_, Some(program)) => explained(program.display(), error),
            (_, None) => error,
        }
    }
}

/// An error, with what it is about.
fn explained(what: impl fmt::Display, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A process that was started, until it is reaped.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    /// Becomes readable when it has ended.
    handle: OwnedFd,
}

impl Process {
    /// Starts a command; returns the time just before.
    pub(super) fn start(task: &Task, streams: Streams<'_>) -> io::Result<(Instant, Process)> {
        let mut command = command(task, streams)?;
        // Children inherit where their parent may run; a hook between fork and exec would make starting
        // slower.
        let pinned = task.cpus.as_ref().map(Cpus::pin).transpose();
        let pinned = pinned.map_err(|error| explained("processors that it may use", error))?;
        let start = Instant::now();
        let child = command.spawn();
        drop(pinned);
        let mut child = child.map_err(|error| task.failed_to_start(error))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let handle = pid.ok_or(Errno::SRCH).and_then(|pid| Ok((pid, pidfd_open(pid, PidfdFlags::empty())?)));
        match handle {
            Ok((pid, handle)) => Ok((start, Process { pid, handle })),
            Err(error) => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(io::Error::other(format!("cannot wait for a process (Linux 5.3 is needed): {error}")))
            }
        }
    }

    /// CPU time that it has used so far with all that it started, in seconds; `None` where that cannot be
    /// known.
    pub(super) fn cpu_time(&self) -> Option<f64> {
        tree::cpu_time(self.pid.as_raw_nonzero().get())
    }

    /// Whether it ends within so long.
    pub(super) fn ends_within(&self, most: Duration) -> io::Result<bool> {
        let most = Timespec::try_from(most).map_err(|_| Errno::INVAL)?;
        match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&most)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it has ended, by itself or because it had to; returns why it had to.
    fn wait(&self, timeout: Option<Duration>, stop: &Stop) -> io::Result<Option<End>> {
        let start = Instant::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            if self.ends_within(left.map_or(POLL, |left| left.min(POLL)))? {
                return Ok(None);
            }
            let early = match left {
                _ if stop.is_wanted() => End::Interrupted,
                Some(Duration::ZERO) => End::TimedOut,
                _ => continue,
            };
            self.end(stop)?;
            return Ok(Some(early));
        }
    }

    /// Ends it, and what it started: it is signalled, and killed if it does not end, or the user wants that
    /// at once.
    pub(super) fn end(&self, stop: &Stop) -> io::Result<()> {
        // It may have ended just now.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let signalled = Instant::now();
        let mut ended = false;
        while !ended && signalled.elapsed() < GRACE && !stop.is_urgent() {
            ended = self.ends_within(HURRIED_POLL)?;
        }
        // What it started may still be there.
        let _ = kill_process_group(self.pid, Signal::KILL);
        while !ended {
            ended = self.ends_within(POLL)?;
        }
        Ok(())
    }

    /// Takes it, once it has ended, off the kernel's list; gives what the kernel counted for it.
    pub(super) fn reap(self) -> io::Result<(End, Usage)> {
        let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: both pointers are to live places of the types that wait4 fills, and zero is a value of
        // `rusage`, whose fields are integers.
        #[expect(unsafe_code, reason = "the usage of one child alone has no safe form")]
        let (reaped, usage) = unsafe {
            let reaped = libc::wait4(self.pid.as_raw_nonzero().get(), &raw mut status, 0, usage.as_mut_ptr());
            (reaped, usage.assume_init())
        };
        if reaped < 0 {
            return Err(io::Error::last_os_error());
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let usage = Usage {
            wall: 0.0,
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
            peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or_default().saturating_mul(1024),
            voluntary_switches: u64::try_from(usage.ru_nvcsw).unwrap_or_default(),
            involuntary_switches: u64::try_from(usage.ru_nivcsw).unwrap_or_default(),
        };
        let end = match libc::WIFSIGNALED(status) {
            true => End::Signal(libc::WTERMSIG(status)),
            false => End::Status(libc::WEXITSTATUS(status)),
        };
        Ok((end, usage))
    }
}

fn command(task: &Task, streams: Streams<'_>) -> io::Result<Command> {
    let (program, arguments) =
        task.words.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let mut command = Command::new(program);
    command.args(arguments).envs(task.env.iter().map(|(name, value)| (name, value)));
    command.stdin(match &task.input {
        Some(path) => Stdio::from(File::open(path).map_err(|error| explained(path.display(), error))?),
        None => Stdio::null(),
    });
    command.stdout(streams.output.try_clone()?).stderr(streams.errors.try_clone()?);
    // So that it can be ended with all that it started, and does not get the terminal's Ctrl-C itself.
    command.process_group(0);
    if let Some(folder) = &task.folder {
        command.current_dir(folder);
    }
    Ok(command)
}

#[cfg(test)]
impl Task {
    /// What a shell does.
    pub(super) fn shell(script: &str) -> Task {
        Task { words: ["sh", "-c", script].map(Into::into).to_vec(), ..Task::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn task(words: &[&str]) -> Task {
        Task { words: words.iter().map(Into::into).collect(), ..Task::default() }
    }

    fn ran_to(task: &Task, file: &File) -> io::Result<(End, Usage)> {
        run(task, Streams { output: file, errors: file }, &Stop::default())
    }

    fn ran(task: &Task) -> (End, Usage) {
        ran_to(task, &output()).expect("a run")
    }

    fn output() -> File {
        tempfile::tempfile().expect("a file")
    }

    fn printed(task: &Task) -> String {
        let mut file = output();
        assert_eq!(ran_to(task, &file).expect("a run").0, End::Status(0));
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_run_states_how_it_ended() {
        assert_eq!(ran(&task(&["true"])).0, End::Status(0));
        assert_eq!(ran(&task(&["sh", "-c", "exit 7"])).0, End::Status(7));
        assert_eq!(ran(&task(&["sh", "-c", "kill -SEGV $$"])).0, End::Signal(11));
        let missing = ran_to(&task(&["/no/such/program"]), &output());
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(ran_to(&task(&[]), &output()).is_err());
    }

    #[test]
    fn a_run_that_hangs_is_ended_with_its_children() {
        let hanging =
            Task { timeout: Some(Duration::from_millis(200)), ..task(&["sh", "-c", "sleep 60 & sleep 60"]) };
        let (end, usage) = ran(&hanging);
        assert_eq!(end, End::TimedOut);
        assert!(usage.wall < 30.0, "{}", usage.wall);
        // One that does not listen, either.
        let deaf = Task {
            timeout: Some(Duration::from_millis(100)),
            ..task(&["sh", "-c", "trap '' TERM; sleep 60; sleep 60"])
        };
        assert_eq!(ran(&deaf).0, End::TimedOut);
    }

    /// Runs it, and wants to stop so many times once it has begun.
    fn stopped(task: &Task, times: u32) -> (End, Usage) {
        let (file, stop) = (output(), Stop::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                (0..times).for_each(|_| stop.request());
            });
            run(task, Streams { output: &file, errors: &file }, &stop).expect("a run")
        })
    }

    #[test]
    fn who_wants_to_stop_ends_a_run_and_begins_none() {
        let (end, usage) = stopped(&task(&["sleep", "60"]), 1);
        assert_eq!(end, End::Interrupted);
        assert!((0.2..30.0).contains(&usage.wall), "{}", usage.wall);
        let file = output();
        let streams = Streams { output: &file, errors: &file };
        let unbegun = run(&task(&["/no/such/program"]), streams, &Stop::requested(1));
        assert_eq!(unbegun.unwrap(), (End::Interrupted, Usage::default()));
    }

    #[test]
    fn an_urgent_wish_kills_what_may_take_its_time_else() {
        let (end, usage) = stopped(&task(&["sh", "-c", "trap '' TERM; sleep 60; sleep 60"]), 2);
        assert_eq!(end, End::Interrupted);
        assert!(usage.wall < GRACE.as_secs_f64(), "{}", usage.wall);
    }

    #[test]
    fn a_run_gets_its_input_environment_and_folder() {
        let folder = std::env::temp_dir();
        let task = Task {
            env: vec![("DEBURR_TEST".into(), "set".into())],
            folder: Some(folder.clone()),
            input: Some("/proc/self/comm".into()),
            ..task(&["sh", "-c", "cat; echo $DEBURR_TEST; pwd; echo told >&2"])
        };
        let text = printed(&task);
        let expected = format!("set\n{}\ntold\n", folder.canonicalize().unwrap().display());
        assert!(text.ends_with(&expected), "{text}");
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn what_a_run_took_is_what_the_kernel_counted() {
        // 64 MiB in one block, and a second of nothing.
        let (end, usage) =
            ran(&task(&["sh", "-c", "head -c 64M /dev/zero | tail -c 64M >/dev/null; sleep 0.3"]));
        assert_eq!(end, End::Status(0));
        assert!(usage.wall >= 0.3 && usage.user + usage.system < usage.wall + 0.1, "{usage:?}");
        assert!(usage.peak_memory > 48 << 20, "{usage:?}");
        assert!(usage.voluntary_switches > 0);
    }

    #[test]
    fn a_pinned_run_sees_one_processor_and_the_rest_stay_free() {
        let before = std::thread::available_parallelism().unwrap();
        let pinned = Task { cpus: Some("0".parse().unwrap()), ..task(&["nproc"]) };
        assert_eq!(printed(&pinned), "1\n");
        assert_eq!(std::thread::available_parallelism().unwrap(), before);
    }
}
