//! Measuring stage: one run of a process, from its start to its end.
//!
//! In: a command. Out: how it ended, and what it took. Wall time is counted from before the process is made
//! until its end is known; CPU time, peak memory and context switches are what the kernel counted for it and
//! for the children that it waited for (`wait4`, as `/usr/bin/time` does). Nothing else runs meanwhile: its
//! output goes to a file, and its end wakes one `poll`. A process of some pages makes it, where that works,
//! so that this one's memory is not counted (`starter.rs`).

mod counters;
mod image;
mod leader;
mod leftovers;
mod starter;

use super::machine::{Cpus, Pinned};
use super::stop::Stop;
use super::tree;
use counters::Counters;
use deburr_text::ShownPath as _;
use leader::Leader;
use leftovers::Before;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, waitpid};
use serde::{Deserialize, Serialize};
use starter::Starter;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process that is signalled to end may take, until it is killed; after a request to stop it is less
/// ([`Stop::is_urgent`]).
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How often a wish to stop is polled that cannot wake who waits.
const POLL: Duration = Duration::from_millis(500);
/// How often a wish to stop at once is polled, while a process takes its time to end.
const HURRIED_POLL: Duration = Duration::from_millis(50);

pub use counters::{Count, Event, NotCounted, can_count};
pub(crate) use leftovers::Left;
pub use leftovers::adopt;

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
    /// What the processor counts meanwhile.
    pub counted: Vec<Event>,
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
    /// The most memory that it, or one of its children, had at once: the resident set, in bytes.
    pub peak_memory: u64,
    /// The least that `peak_memory` can be, where this process itself had to make it: its own memory, which
    /// the kernel counts as the new one's until that executes its program. Else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_floor: u64,
    /// How often it touched memory that it did not have yet, whether that came from a disk or not; 0 in records of
    /// earlier versions.
    #[serde(default)]
    pub page_faults: u64,
    /// How often it waited for something.
    pub voluntary_switches: u64,
    /// How often it lost its processor.
    pub involuntary_switches: u64,
    /// How long it could have run and had no processor, in seconds; `None` where it was more than one thread, where
    /// the kernel does not count it, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<f64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
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
    run_and_look(task, streams, stop, None).map(|ran| (ran.end, ran.usage))
}

/// All that is known of a run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) end: End,
    pub(super) usage: Usage,
    /// What the task wanted counted, in its order.
    pub(super) counts: Vec<Count>,
    /// Names of the processes that it left running.
    pub(super) leftovers: Vec<String>,
}

/// The same as [`run`], with all that is known of it. Looking for what it left running takes a moment where it left
/// something.
pub(super) fn run_alone(task: &Task, streams: Streams<'_>, stop: &Stop) -> io::Result<Ran> {
    run_and_look(task, streams, stop, Some(&Before::now()))
}

/// `before`: the children before it, where it is wanted what it left running.
fn run_and_look(task: &Task, streams: Streams<'_>, stop: &Stop, before: Option<&Before>) -> io::Result<Ran> {
    if stop.is_wanted() {
        return Ok(Ran {
            end: End::Interrupted,
            usage: Usage::default(),
            counts: Vec::new(),
            leftovers: Vec::new(),
        });
    }
    let (start, mut process) = Process::start(task, streams)?;
    let counters = process.counters.take();
    let early = process.wait(task.timeout, stop);
    let wall = start.elapsed();
    if early.is_err() {
        // Nobody else will.
        let _ = process.end(stop);
    }
    let group = process.pid;
    let (end, usage) = process.reap()?;
    let leftovers = before.map(|before| before.left(group)).unwrap_or_default();
    let counts = counters.map(Counters::read).transpose()?.unwrap_or_default();
    let usage = Usage { wall: wall.as_secs_f64(), ..usage };
    Ok(Ran { end: early?.unwrap_or(end), usage, counts, leftovers })
}

impl Task {
    /// Starts it by a process of its own, so that it begins with the memory of that one.
    fn start_apart(&self, streams: Streams<'_>) -> io::Result<(Instant, Pid, Child, Option<Counters>)> {
        let starter = Starter::new()?;
        let name = self.words.first().map(OsString::as_os_str).unwrap_or_default();
        let own = self.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let paths = own.or_else(|| std::env::var_os("PATH"));
        let path = starter::found(name, paths.as_deref(), self.folder.as_deref());
        let path = path.ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(starter.program());
        command.arg0(path).args(&self.words);
        self.furnish(&mut command, streams)?;
        let pinned = self.pinned()?;
        let waiting = starter.spawn(&mut command)?;
        drop(pinned);
        let counters = match self.counted.as_slice() {
            [] => None,
            events => Some(Counters::attach(events, waiting.pid())?),
        };
        let (start, pid, starter) = waiting.start()?;
        Ok((start, pid, starter, counters))
    }

    /// Starts it.
    fn start_directly(&self, streams: Streams<'_>) -> io::Result<(Instant, Pid)> {
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        self.furnish(&mut command, streams)?;
        let pinned = self.pinned()?;
        let start = Instant::now();
        let child = command.spawn();
        drop(pinned);
        let child = child.map_err(|error| self.failed_to_start(error))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok((start, pid.ok_or(Errno::SRCH)?))
    }

    /// Keeps what is started on the processors that it may use: children inherit where their parent may run,
    /// and a hook between fork and exec would make starting slower.
    fn pinned(&self) -> io::Result<Option<Pinned>> {
        let pinned = self.cpus.as_ref().map(Cpus::pin).transpose();
        pinned.map_err(|error| explained("processors that it may use", error))
    }

    /// What a command runs in.
    fn furnish(&self, command: &mut Command, streams: Streams<'_>) -> io::Result<()> {
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(match &self.input {
            Some(path) => Stdio::from(File::open(path).map_err(|error| explained(path.shown(), error))?),
            None => Stdio::null(),
        });
        command.stdout(streams.output.try_clone()?).stderr(streams.errors.try_clone()?);
        // So that it can be ended with all that it started, and does not get the terminal's Ctrl-C itself.
        command.process_group(0);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(())
    }

    /// The kernel reports a missing folder as it does a missing program.
    fn failed_to_start(&self, error: io::Error) -> io::Error {
        match (&self.folder, self.words.first()) {
            (Some(folder), _) if !folder.is_dir() => {
                explained(folder.shown(), io::ErrorKind::NotADirectory.into())
            }
            (_, Some(program)) => explained(program.shown(), error),
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
    /// What made it, if not this process.
    starter: Option<Child>,
    /// What is counted of it.
    counters: Option<Counters>,
    /// As in [`Usage`].
    memory_floor: u64,
}

impl Process {
    /// Starts a command; returns the time just before.
    pub(super) fn start(task: &Task, streams: Streams<'_>) -> io::Result<(Instant, Process)> {
        // What it could not start fails once more, or starts as a shell would.
        let (start, pid, starter, counters) = match task.start_apart(streams) {
            Ok((start, pid, starter, counters)) => (start, pid, Some(starter), counters),
            // There it would not be counted.
            Err(error) if !task.counted.is_empty() => return Err(task.failed_to_start(error)),
            Err(_) => {
                let (start, pid) = task.start_directly(streams)?;
                (start, pid, None, None)
            }
        };
        let memory_floor = if starter.is_some() { 0 } else { own_memory() };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok((start, Process { pid, handle, starter, counters, memory_floor })),
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
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
        self.ends_before(None, Some(most))
    }

    /// Whether it ends before something else becomes readable, and within so long.
    fn ends_before(&self, waker: Option<BorrowedFd<'_>>, most: Option<Duration>) -> io::Result<bool> {
        let most = most.map(Timespec::try_from).transpose().map_err(|_| Errno::INVAL)?;
        let awaited = [Some(self.handle.as_fd()), waker];
        let mut awaited: Vec<PollFd<'_>> =
            awaited.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut awaited, most.as_ref()) {
            Ok(_) => Ok(awaited.first().is_some_and(|handle| !handle.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it has ended, by itself or because it had to; returns why it had to.
    fn wait(&self, timeout: Option<Duration>, stop: &Stop) -> io::Result<Option<End>> {
        let start = Instant::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            let waker = stop.waker();
            let most = if waker.is_some() { left } else { Some(left.map_or(POLL, |left| left.min(POLL))) };
            if self.ends_before(waker, most)? {
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
        let leader = Leader::of(self.pid.as_raw_nonzero().get());
        let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: both pointers are to live places of the types that wait4 fills, and zero is a value of
        // `rusage`, whose fields are integers.
        #[expect(unsafe_code, reason = "the usage of one child alone has no safe form")]
        let (reaped, usage) = unsafe {
            let reaped = libc::wait4(self.pid.as_raw_nonzero().get(), &raw mut status, 0, usage.as_mut_ptr());
            (reaped, usage.assume_init())
        };
        let failed = (reaped < 0).then(io::Error::last_os_error);
        if let Some(mut starter) = self.starter {
            // It has ended long since.
            let _ = starter.wait();
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let usage = Usage {
            wall: 0.0,
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
            peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or_default().saturating_mul(1024),
            memory_floor: self.memory_floor,
            page_faults: u64::try_from(usage.ru_minflt.saturating_add(usage.ru_majflt)).unwrap_or_default(),
            voluntary_switches: u64::try_from(usage.ru_nvcsw).unwrap_or_default(),
            involuntary_switches: u64::try_from(usage.ru_nivcsw).unwrap_or_default(),
            queued: None,
        };
        let queued = leader.filter(|leader| leader.is_all_of(usage.user + usage.system, usage.page_faults));
        let queued = queued.map(|leader| leader.queued);
        let usage = Usage { queued, ..usage };
        let end = match libc::WIFSIGNALED(status) {
            true => End::Signal(libc::WTERMSIG(status)),
            false => End::Status(libc::WEXITSTATUS(status)),
        };
        Ok((end, usage))
    }
}

/// The most memory that this process has had, in bytes.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: u64 =
        peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    kibibytes.saturating_mul(1024)
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
        // The wish comes 0.2 s after the call of `run`, whose clock starts a little later.
        assert!((0.1..30.0).contains(&usage.wall), "{}", usage.wall);
        let file = output();
        let streams = Streams { output: &file, errors: &file };
        let unbegun = run(&task(&["/no/such/program"]), streams, &Stop::requested(1));
        assert_eq!(unbegun.unwrap(), (End::Interrupted, Usage::default()));
    }

    #[test]
    fn a_deaf_process_is_killed_at_a_second_wish_and_a_while_after_the_first() {
        for times in [1, 2] {
            let (end, usage) = stopped(&task(&["sh", "-c", "trap '' TERM; sleep 60; sleep 60"]), times);
            assert_eq!(end, End::Interrupted, "{times}");
            assert!(usage.wall < GRACE.as_secs_f64(), "{times}: {}", usage.wall);
        }
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
        let expected = format!("set\n{}\ntold\n", folder.canonicalize().unwrap().shown());
        assert!(text.ends_with(&expected), "{text}");
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn the_queue_of_one_thread_is_known_and_that_of_children_is_not() {
        let (_, alone) = ran(&Task::shell("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"));
        let queued = alone.queued.expect("a kernel that counts");
        assert!((0.0..=alone.wall).contains(&queued), "{alone:?}");
        assert!(queued + alone.user + alone.system <= alone.wall + 0.001, "{alone:?}");
        assert_eq!(ran(&Task::shell("true | cat; cat /dev/null")).1.queued, None);
    }

    #[test]
    fn processes_that_share_a_processor_were_queued() {
        let own = Cpus::allowed().unwrap().numbers()[0];
        let cpus = Some(own.to_string().parse().unwrap());
        let task = Task { cpus, ..Task::shell("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done") };
        // The two have one processor, so while both run one is queued.
        let [one, other] = std::thread::scope(|scope| {
            let threads = [scope.spawn(|| ran(&task).1), scope.spawn(|| ran(&task).1)];
            threads.map(|thread| thread.join().unwrap())
        });
        let queued = one.queued.unwrap() + other.queued.unwrap();
        let shortest = (one.user + one.system).min(other.user + other.system);
        assert!(queued >= 0.5 * shortest, "{one:?} {other:?}");
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
    fn peak_memory_is_that_of_the_run_alone() {
        let held = vec![1_u8; 200 << 20];
        let (_, small) = ran(&task(&["true"]));
        let (_, large) = ran(&task(&["sh", "-c", "head -c 64M /dev/zero | tail -c 64M >/dev/null"]));
        assert!(own_memory() > 200 << 20);
        // Other architectures have no starter.
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_eq!((small.memory_floor, large.memory_floor), (0, 0));
            assert!((1 << 16..20 << 20).contains(&small.peak_memory), "{small:?}");
            assert!((64 << 20..90 << 20).contains(&large.peak_memory), "{large:?}");
        }
        let streams = output();
        let (_, pid) = task(&["true"])
            .start_directly(Streams { output: &streams, errors: &streams })
            .expect("a process");
        let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let direct = Process { pid, handle, starter: None, counters: None, memory_floor: own_memory() };
        let direct = direct.reap().expect("its end").1;
        assert!(direct.peak_memory > 200 << 20 && direct.memory_floor > 200 << 20, "{direct:?}");
        drop(held);
    }

    #[test]
    fn a_program_that_cannot_start_says_why_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let error = |task: &Task| ran_to(task, &output()).unwrap_err().to_string();
        let plain = file("plain", "exit 3\n", 0o755);
        let missing = file("missing", "#!/no/such/shell\n", 0o755);
        let unknown = file("unknown", "\x7fELF\n", 0o755);
        for (program, why) in [
            ("/no/such/program", "No such file or directory (os error 2)"),
            ("no-such-program", "No such file or directory (os error 2)"),
            (&missing, "No such file or directory (os error 2)"),
            (&plain, "Exec format error (os error 8)"),
            (&unknown, "Exec format error (os error 8)"),
            ("/", "Permission denied (os error 13)"),
        ] {
            assert_eq!(error(&task(&[program])), format!("{program}: {why}"));
        }
        let astray = Task { folder: Some("/no/such/folder".into()), ..task(&["true"]) };
        assert_eq!(error(&astray), "/no/such/folder: not a directory");
        let unread = Task { input: Some("/no/such/file".into()), ..task(&["true"]) };
        assert!(error(&unread).starts_with("/no/such/file: No such file"));
        let zero = Task { env: vec![("A".into(), "\0".into())], ..task(&["true"]) };
        assert!(error(&zero).contains("nul byte"));
    }

    #[test]
    fn a_program_is_looked_for_where_its_own_path_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deburr-test-tool");
        std::fs::write(&path, "#!/bin/sh\necho $0 $#\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let env = |paths: &str| vec![("PATH".into(), paths.into())];
        let absolute = format!("/no/such/folder:{}:/usr/bin:/bin", folder.path().shown());
        let tool = Task { env: env(&absolute), ..task(&["deburr-test-tool", "x"]) };
        assert_eq!(printed(&tool), format!("{} 1\n", path.shown()));
        let relative = Task { env: env(".:/bin"), folder: Some(folder.path().into()), ..tool.clone() };
        assert_eq!(printed(&relative), "./deburr-test-tool 1\n");
        let inside = Task { words: vec!["./deburr-test-tool".into()], env: env("/bin"), ..relative };
        assert_eq!(printed(&inside), "./deburr-test-tool 0\n");
    }

    #[test]
    fn a_run_is_a_child_that_leads_a_group_and_has_no_socket_of_its_starter() {
        let large = Task {
            env: vec![("LARGE".into(), "x".repeat(100_000).into())],
            ..task(&[
                "sh",
                "-c",
                "echo $PPID $(ps -o pgid= $$) $$ ${#LARGE}; for f in /proc/$$/fd/*; do [ ! -S $f ] || echo $f; done",
            ])
        };
        let text = printed(&large);
        let mut lines = text.lines();
        let first: Vec<&str> = lines.next().unwrap().split(' ').collect();
        assert_eq!((first[0], first[3]), (std::process::id().to_string().as_str(), "100000"));
        assert_eq!(first[1], first[2]);
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn a_pinned_run_sees_one_processor_and_the_rest_stay_free() {
        let before = std::thread::available_parallelism().unwrap();
        let pinned = Task { cpus: Some("0".parse().unwrap()), ..task(&["nproc"]) };
        assert_eq!(printed(&pinned), "1\n");
        assert_eq!(std::thread::available_parallelism().unwrap(), before);
    }
}
