//! Profiling stage: `perf record` of a command, or of processes that run.
//!
//! In: what to sample, and how. Out: a profile at the path that was given, and how perf ended. perf passes the exit status of the
//! command on, and dies of the signal that the command died of; whether the profile is whole shows in the profile.
//!
//! The command has the standard streams of this process, and so has perf, which is kept quiet by its own option. What it has to say
//! against the options is found out by a rehearsal, whose output is caught.

use crate::emulate::run::in_path;
use crate::measure::process::{End, Left, Task};
use crate::measure::stop::Stop;
use crate::readers::ReadError;
use crate::readers::profile::{self, Profile};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::ffi::OsString;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a wish to stop is polled.
const POLL: Duration = Duration::from_millis(200);

/// How a profile is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// In perf's words.
    pub events: Vec<String>,
    /// Samples a second.
    pub frequency: u32,
    /// perf's name of how callers are found; none are where there is none.
    pub call_graph: Option<&'static str>,
}

/// What is sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A program that is started, with its arguments, and all that it starts.
    Command(Vec<OsString>),
    /// Processes that run, and what they start, until they end.
    Processes {
        /// Their numbers.
        pids: Vec<u32>,
        /// Or until this has passed.
        duration: Option<Duration>,
    },
}

/// How recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// How perf ended; see the head of this file.
    pub end: End,
    /// Whether perf was signalled to end: after the duration, or because somebody wanted to stop.
    pub is_stopped: bool,
    /// What perf said. Nothing where there is a command, whose standard error it shares.
    pub said: String,
    /// Processes that the command left running: their numbers and names.
    pub left: Vec<(i32, String)>,
}

/// The program `perf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Perf {
    program: PathBuf,
}

impl Perf {
    /// Finds it in the search path.
    pub fn find() -> Option<Perf> {
        in_path("perf").map(|program| Perf { program })
    }

    /// The arguments that record what comes after them, by the clock that jitdumps have.
    fn arguments(recording: &Recording, output: &Path) -> Vec<OsString> {
        let mut arguments = ["record", "-k", "mono", "-F"].map(OsString::from).to_vec();
        arguments.push(recording.frequency.to_string().into());
        for event in &recording.events {
            arguments.extend(["-e".into(), event.into()]);
        }
        if let Some(mode) = recording.call_graph {
            arguments.extend(["--call-graph".into(), mode.into()]);
        }
        arguments.extend(["-o".into(), output.into()]);
        arguments
    }

    fn command(&self, recording: &Recording, output: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(Perf::arguments(recording, output));
        command
    }

    /// A task that records another one to a file, whose path is absolute.
    pub fn recorded(&self, recording: &Recording, task: &Task, output: &Path) -> Task {
        let mut words = vec![self.program.clone().into_os_string()];
        words.extend(Perf::arguments(recording, output));
        words.extend(["-q".into(), "--".into()]);
        words.extend(task.words.iter().cloned());
        Task { words, counted: Vec::new(), ..task.clone() }
    }

    /// What functions took in a recording.
    ///
    /// # Errors
    /// Where perf cannot be started.
    pub fn functions(&self, recorded: &Path) -> io::Result<Result<Profile, ReadError>> {
        let mut command = Command::new(&self.program);
        command
            .args(["script", "--no-inline", "-F", "comm,tid,time,period,event,ip,sym,dso", "-i"])
            .arg(recorded);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let text = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let read = profile::read(&mut BufReader::with_capacity(1 << 16, text));
        // Where the text is not read to its end, its writer would wait.
        let _ = child.kill();
        child.wait()?;
        Ok(read)
    }

    /// Records nothing, of a program that does nothing: what perf says where it does not want to.
    ///
    /// # Errors
    /// Where perf cannot be started.
    pub fn rehearse(&self, recording: &Recording) -> io::Result<Result<(), String>> {
        let mut command = self.command(recording, Path::new("/dev/null"));
        command.arg("--").arg(std::env::current_exe()?).arg("--version").stdin(Stdio::null());
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(if output.status.success() { Ok(()) } else { Err(said) })
    }

    /// Records until the command or the processes have ended, or somebody wants to stop. A command that does not end then is
    /// killed ([`Stop::is_urgent`]); a further wish to stop kills perf itself.
    ///
    /// # Errors
    /// Where perf cannot be started or waited for.
    pub fn record(
        &self,
        recording: &Recording,
        subject: &Subject,
        output: &Path,
        stop: &Stop,
    ) -> io::Result<Recorded> {
        let mut command = self.command(recording, output);
        let mut said = None;
        let duration = match subject {
            Subject::Command(words) => {
                command.args(["-q", "--"]).args(words);
                None
            }
            Subject::Processes { pids, duration } => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let file = tempfile::tempfile()?;
                command.arg("-p").arg(pids.join(",")).stdin(Stdio::null()).stdout(Stdio::null());
                command.stderr(file.try_clone()?);
                said = Some(file);
                *duration
            }
        };
        let mut running = Running::start(&mut command, duration)?;
        let waited = running.wait(stop);
        if waited.is_err() {
            // Nobody else will.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        let status = waited?;
        let mut bytes = Vec::new();
        if let Some(mut file) = said {
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
        }
        Ok(Recorded {
            end: end(status),
            is_stopped: running.signals > 0 || stop.is_wanted(),
            said: String::from_utf8_lossy(&bytes).trim().to_owned(),
            left: running.left.running(),
        })
    }
}

fn end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Status(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

/// A perf that records.
struct Running {
    child: Child,
    pid: Pid,
    until: Option<Instant>,
    left: Left,
    /// How many it was sent.
    signals: u32,
}

impl Running {
    fn start(command: &mut Command, duration: Option<Duration>) -> io::Result<Running> {
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        // perf itself is none of those that are left.
        let left = Left::since_now();
        let until = duration.and_then(|duration| Instant::now().checked_add(duration));
        Ok(Running { child, pid, until, left, signals: 0 })
    }

    fn wait(&mut self, stop: &Stop) -> io::Result<ExitStatus> {
        let ended = pidfd_open(self.pid, PidfdFlags::empty())?;
        let mut last = None;
        loop {
            let now = Instant::now();
            let pause = self.until.map_or(POLL, |until| POLL.min(until.saturating_duration_since(now)));
            let pause = Timespec::try_from(pause).map_err(|_| Errno::INVAL)?;
            match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&pause)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            self.left.reap();
            let is_over = self.until.is_some_and(|until| until <= Instant::now());
            if self.signals == 0 && (is_over || stop.is_wanted()) {
                self.until = None;
                self.signals = 1;
                // It writes the rest of the profile, and ends the command.
                self.signal(Signal::INT);
            } else if self.signals == 1 && stop.is_urgent() {
                self.signals = 2;
                last = Some(stop.only_further());
                let command = Left::children_of(&self.pid.as_raw_nonzero().to_string());
                command.into_iter().filter_map(Pid::from_raw).for_each(|pid| {
                    let _ = kill_process(pid, Signal::KILL);
                });
            } else if last.as_ref().is_some_and(Stop::is_wanted) {
                self.signal(Signal::KILL);
            }
        }
    }

    fn signal(&self, signal: Signal) {
        // It is not reaped yet, so that the number is its own.
        let _ = kill_process(self.pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perf_gets_what_was_wanted_in_its_own_words() {
        let perf = Perf { program: "perf".into() };
        let recording = Recording {
            events: vec!["cycles:P".to_owned(), "cache-misses".to_owned()],
            frequency: 99,
            call_graph: None,
        };
        let words = |recording: &Recording| {
            let command = perf.command(recording, Path::new("./-o"));
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(&recording), "record -k mono -F 99 -e cycles:P -e cache-misses -o ./-o");
        let recording = Recording { call_graph: Some("dwarf"), ..recording };
        assert!(words(&recording).contains(" --call-graph dwarf -o "));
        let task = Task { words: vec!["prog".into(), "-v".into()], ..Task::default() };
        let recorded = perf.recorded(&recording, &task, Path::new("/t")).words;
        assert_eq!(recorded[0], "perf");
        assert!(recorded.ends_with(&["/t", "-q", "--", "prog", "-v"].map(OsString::from)));
    }
}
