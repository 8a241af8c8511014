//! Measuring stage: a tiny process that starts the measured one.
//!
//! In: a command. Out: its process, a child of this one, and when it was made. The kernel counts, as the peak
//! memory of a process, also what the memory was that it had before it executed its program: that of the
//! process that made it. Between this process and the measured one is therefore one that has some pages only
//! ([`super::image`]). It also reads the clock, right before it makes the process, and it exists
//! before that: counters can be attached to it, which the measured process inherits.

use super::image;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What it writes: seconds, nanoseconds, the number of the process, an error.
const REPORT: usize = 24;

/// Whoever is starting one: for that time its socket is open to all that is started.
static STARTING: Mutex<()> = Mutex::new(());

/// A starter that does not run yet.
pub(super) struct Starter {
    program: File,
    own: UnixStream,
    theirs: UnixStream,
}

impl Starter {
    /// Fails where the architecture, or the system, has none.
    pub(super) fn new() -> io::Result<Starter> {
        let (own, theirs) = UnixStream::pair()?;
        let code = image::elf(theirs.as_raw_fd()).ok_or(io::ErrorKind::Unsupported)?;
        // Kernels before 6.3 know no such flag, and need none.
        let file = match memfd_create("deburr-start", MemfdFlags::CLOEXEC | MemfdFlags::EXEC) {
            Err(Errno::INVAL) => memfd_create("deburr-start", MemfdFlags::CLOEXEC),
            file => file,
        };
        let mut program = File::from(file?);
        program.write_all(&code)?;
        Ok(Starter { program, own, theirs })
    }

    /// Its file. It takes the path of the program that it starts for its own name, and starts that with the
    /// arguments that it gets, its name first.
    pub(super) fn program(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.program.as_raw_fd()))
    }

    /// Runs it, as the command that was made for it.
    pub(super) fn spawn(self, command: &mut Command) -> io::Result<Waiting> {
        let alone = STARTING.lock();
        fcntl_setfd(&self.theirs, FdFlags::empty())?;
        let child = command.spawn();
        fcntl_setfd(&self.theirs, FdFlags::CLOEXEC)?;
        drop(alone);
        Ok(Waiting { child: child?, socket: self.own })
    }
}

/// A starter that waits.
pub(super) struct Waiting {
    child: Child,
    socket: UnixStream,
}

impl Waiting {
    /// Its number, for counters that what it starts inherits.
    pub(super) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or_default()
    }

    /// Makes it start the program; gives the time just before. What is given with it, once the program's
    /// process is reaped, is to be reaped, too.
    ///
    /// Where the program cannot be started, nothing runs any more.
    pub(super) fn start(mut self) -> io::Result<(Instant, Pid, Child)> {
        match self.report() {
            Ok((start, pid)) => Ok((start, pid, self.child)),
            Err(error) => {
                // It ends once its socket is closed.
                drop(self.socket);
                let _ = self.child.wait();
                Err(error)
            }
        }
    }

    fn report(&mut self) -> io::Result<(Instant, Pid)> {
        self.socket.write_all(&[1])?;
        let mut report = [0; REPORT];
        self.socket.read_exact(&mut report)?;
        let long = |at: usize| {
            report.get(at..at + 8).and_then(|bytes| Some(i64::from_le_bytes(bytes.try_into().ok()?)))
        };
        let int = |at: usize| {
            report.get(at..at + 4).and_then(|bytes| Some(i32::from_le_bytes(bytes.try_into().ok()?)))
        };
        let (seconds, nanoseconds) = (long(0).unwrap_or_default(), long(8).unwrap_or_default());
        let pid = int(16).and_then(Pid::from_raw);
        let error = int(20).unwrap_or_default();
        if error != 0 {
            // One that executed nothing.
            if let Some(pid) = pid {
                let _ = waitpid(Some(pid), WaitOptions::empty());
            }
            return Err(io::Error::from_raw_os_error(error));
        }
        let now = clock_gettime(ClockId::Monotonic);
        let since = 1_000_000_000 * (now.tv_sec - seconds) + (now.tv_nsec - nanoseconds);
        let since = Duration::from_nanos(u64::try_from(since).unwrap_or_default());
        // An `Instant` is of the same clock.
        let start = Instant::now().checked_sub(since);
        Ok((start.ok_or(io::ErrorKind::InvalidData)?, pid.ok_or(Errno::SRCH)?))
    }
}

/// The path at which a shell would find a program: that of the first file in the folders of `paths` that may
/// be executed. A path stays what it is.
pub(super) fn found(
    program: &OsStr,
    paths: Option<&OsStr>,
    folder: Option<&std::path::Path>,
) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(program.into());
    }
    if program.is_empty() {
        return None;
    }
    let mut candidates = std::env::split_paths(paths?).map(|place| match place.as_os_str().is_empty() {
        true => PathBuf::from(".").join(program),
        false => place.join(program),
    });
    candidates.find(|candidate| {
        // Relative to where it will be started.
        let place = folder.map_or_else(|| candidate.clone(), |folder| folder.join(candidate));
        let may = rustix::fs::Access::EXEC_OK;
        place.is_file() && rustix::fs::access(&place, may).is_ok()
    })
}
