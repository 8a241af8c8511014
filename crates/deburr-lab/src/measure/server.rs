//! Measuring stage: a server that clients are run against.
//!
//! In: a command that serves until it is signalled to end, and one that succeeds once it does. Out: a port of
//! the loopback interface that is its own, and the server's end when it is no longer needed, whatever
//! happened.

use super::process::{self, End, Process, Streams, Task};
use super::stop::Stop;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

/// How long is waited between two questions whether it serves.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one such question may take.
const QUESTION: Duration = Duration::from_secs(5);
/// Bytes of what a server printed that are quoted.
const TOLD: u64 = 2000;

/// A server, and how to see that it serves.
#[derive(Debug, Clone)]
pub struct Service {
    /// The server.
    pub task: Task,
    /// Succeeds once it serves.
    pub ready: Task,
    /// How long it may take until then.
    pub patience: Duration,
}

/// Why there is no server.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// It could not be started.
    Start(io::Error),
    /// The check whether it serves could not run.
    Probe(io::Error),
    /// It ended before it served; the last that it printed.
    Ended(End, String),
    /// It ended while it was to serve; the last that it printed.
    Gone(End, String),
    /// It does not serve, and its patience is over; the last that it printed.
    NotReady(Duration, String),
    /// Somebody wanted to stop.
    Interrupted,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            ServerError::Start(error) => return write!(f, "cannot be started: {error}"),
            ServerError::Probe(error) => return write!(f, "--ready cannot run: {error}"),
            ServerError::Interrupted => return f.write_str("was interrupted"),
            ServerError::Ended(end, text) => {
                write!(f, "ended with {end} before it was ready")?;
                text
            }
            ServerError::Gone(end, text) => {
                write!(f, "ended with {end} while it was to serve")?;
                text
            }
            ServerError::NotReady(patience, text) => {
                write!(f, "is not ready after {} s", patience.as_secs_f64())?;
                text
            }
        };
        match text.trim() {
            "" => f.write_str("; it printed nothing"),
            text => write!(f, "; the last that it printed:\n{text}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// A server that serves, until it is dropped.
#[derive(Debug)]
pub struct Server {
    process: Option<Process>,
    /// Whether it has to end at once.
    stop: Stop,
    /// What it prints.
    output: File,
}

impl Server {
    /// Starts a server, and waits until it serves.
    ///
    /// # Errors
    /// [`ServerError`]; nothing runs then.
    pub fn start(service: &Service, stop: &Stop) -> Result<Server, ServerError> {
        if stop.is_wanted() {
            return Err(ServerError::Interrupted);
        }
        let output = memfd_create("deburr", MemfdFlags::CLOEXEC).map(File::from);
        let output = output.map_err(|error| ServerError::Start(error.into()))?;
        let null = File::options().write(true).open("/dev/null").map_err(ServerError::Start)?;
        let streams = Streams { output: &output, errors: &output };
        let (start, process) = Process::start(&service.task, streams).map_err(ServerError::Start)?;
        let mut server = Server { process: Some(process), stop: stop.clone(), output };
        let quiet = Streams { output: &null, errors: &null };
        let ready = Task { timeout: Some(QUESTION), ..service.ready.clone() };
        loop {
            match process::run(&ready, quiet, stop).map_err(ServerError::Probe)?.0 {
                End::Status(0) => {}
                End::Interrupted => return Err(ServerError::Interrupted),
                _ if start.elapsed() >= service.patience => {
                    return Err(ServerError::NotReady(service.patience, printed(&server.output)));
                }
                _ => {
                    server.check(PAUSE)?;
                    continue;
                }
            }
            // Another server may have answered.
            server.check(Duration::ZERO)?;
            return Ok(server);
        }
    }

    /// Checks that it has not ended.
    ///
    /// # Errors
    /// Where it has, or that cannot be known.
    pub fn still_serves(&mut self) -> Result<(), ServerError> {
        self.check(Duration::ZERO).map_err(|error| match error {
            ServerError::Ended(end, text) => ServerError::Gone(end, text),
            error => error,
        })
    }

    /// CPU time that it has used so far with all that it started, in seconds; `None` where that cannot be
    /// known.
    pub fn cpu_time(&self) -> Option<f64> {
        self.process.as_ref()?.cpu_time()
    }

    /// Checks that it has not ended, for so long.
    fn check(&mut self, during: Duration) -> Result<(), ServerError> {
        let Some(process) = &self.process else { return Ok(()) };
        let started = Instant::now();
        let ended = process.ends_within(during).map_err(ServerError::Probe)?;
        if !ended {
            // A signal may have cut it short.
            std::thread::sleep(during.saturating_sub(started.elapsed()));
            return Ok(());
        }
        let end = self.process.take().map(Process::reap).transpose().map_err(ServerError::Probe)?;
        Err(ServerError::Ended(end.map_or(End::Interrupted, |(end, _)| end), printed(&self.output)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // There is no receiver for the error.
            let _ = process.end(&self.stop).and_then(|()| process.reap());
        }
    }
}

/// The end of what a server printed.
fn printed(mut output: &File) -> String {
    let mut text = Vec::new();
    let length = output.metadata().map_or(0, |metadata| metadata.len());
    // What cannot be read is not quoted.
    let _ = output
        .seek(io::SeekFrom::Start(length.saturating_sub(TOLD)))
        .and_then(|_| output.read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// Two ports of the loopback interface that nothing listens on now.
///
/// # Errors
/// Where there are none.
pub fn free_ports() -> io::Result<[u16; 2]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // Both are open at once, so that they differ.
    let [one, other] = [listen()?, listen()?];
    Ok([one.local_addr()?.port(), other.local_addr()?.port()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(server: &str, ready: &str) -> Service {
        Service { task: Task::shell(server), ready: Task::shell(ready), patience: Duration::from_millis(600) }
    }

    #[test]
    fn a_server_serves_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let script = format!(
            "trap 'touch {path}/ended; exit' TERM; sleep 0.1; touch {path}/up; while :; do sleep 0.05; done"
        );
        let service = service(&script, &format!("test -e {path}/up"));
        let server = Server::start(&service, &Stop::default()).unwrap();
        assert!(folder.path().join("up").exists() && !folder.path().join("ended").exists());
        drop(server);
        assert!(folder.path().join("ended").exists());
    }

    #[test]
    fn a_server_that_does_not_come_up_is_reported_with_what_it_printed() {
        let start = |server: &str, ready: &str| {
            Server::start(&service(server, ready), &Stop::default()).unwrap_err().to_string()
        };
        assert_eq!(
            start("echo no space >&2; exit 3", "false"),
            "ended with exit status 3 before it was ready; the last that it printed:\nno space\n".trim_end()
        );
        assert!(start("sleep 60", "false").starts_with("is not ready after 0.6 s; it printed nothing"));
        // One that another server answers for.
        assert!(start("exit 1", "sleep 0.2").contains("exit status 1"));
        let interrupted = Server::start(&service("sleep 60", "sleep 60"), &Stop::requested(1));
        assert!(matches!(interrupted, Err(ServerError::Interrupted)));
    }

    #[test]
    fn a_servers_time_is_that_of_its_children_too_of_any_session_and_when_they_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        // Computes for a while, and prints how long in ticks: of itself, in user mode and in the kernel.
        let work = format!(
            "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; \
             read line < /proc/$$/stat; set -- ${{line##*) }}; echo $((${{12}} + ${{13}})) > {path}/ticks; mv {path}/ticks {path}/done"
        );
        std::fs::write(folder.path().join("work"), work).unwrap();
        // The group's end is none of those in other sessions.
        let idle = format!("while test -e {path}/go; do sleep 0.05; done");
        let cases = [
            ("a child that lives", format!("sh -c '. {path}/work; {idle}' & {idle}")),
            ("one in a session of its own", format!("setsid sh -c '. {path}/work; {idle}' & {idle}")),
            ("one that has ended", format!("sh {path}/work; {idle}")),
            ("a grandchild that has ended", format!("setsid sh -c 'sh {path}/work; {idle}' & {idle}")),
        ];
        for (what, script) in cases {
            let script = format!("while ! test -e {path}/go; do sleep 0.02; done; {script}");
            let server = Server::start(&service(&script, "true"), &Stop::default()).unwrap();
            let [go, done] = ["go", "done"].map(|name| folder.path().join(name));
            let before = server.cpu_time().expect("a server");
            std::fs::write(&go, "").unwrap();
            let begun = Instant::now();
            while !done.exists() && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(20));
            }
            let used = server.cpu_time().expect("a server") - before;
            let ticks = std::fs::read_to_string(&done).unwrap();
            let printed =
                ticks.trim().parse::<f64>().unwrap() / rustix::param::clock_ticks_per_second() as f64;
            // Those that only wait use some, too.
            assert!(
                printed > 0.05 && (printed - 0.02..printed + 5.0).contains(&used),
                "{what}: {used}, {printed}"
            );
            drop(server);
            [go, done].iter().for_each(|file| std::fs::remove_file(file).unwrap());
        }
    }

    #[test]
    fn a_server_that_ends_while_it_is_to_serve_is_reported() {
        let service = service("echo worn out; read line < /dev/null; sleep 0.2; exit 4", "true");
        let mut server = Server::start(&service, &Stop::default()).unwrap();
        assert!(server.still_serves().is_ok());
        let begun = Instant::now();
        let error = loop {
            match server.still_serves() {
                Err(error) => break error.to_string(),
                Ok(()) => assert!(begun.elapsed() < Duration::from_secs(60), "it serves on"),
            }
            std::thread::yield_now();
        };
        assert_eq!(
            error,
            "ended with exit status 4 while it was to serve; the last that it printed:\nworn out"
        );
    }

    #[test]
    fn a_server_that_is_deaf_is_killed_at_once_when_somebody_hurries() {
        let folder = tempfile::tempdir().unwrap();
        let up = folder.path().join("up").display().to_string();
        let script = format!("trap '' TERM; touch {up}; while :; do sleep 60; done");
        let stop = Stop::default();
        let server = Server::start(&service(&script, &format!("test -e {up}")), &stop).unwrap();
        stop.request();
        stop.request();
        let begin = Instant::now();
        drop(server);
        assert!(begin.elapsed() < process::GRACE, "{:?}", begin.elapsed());
    }

    #[test]
    fn two_different_ports_are_free() {
        let [one, other] = free_ports().unwrap();
        assert_ne!(one, other);
        assert!(
            [one, other].map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port))).iter().all(Result::is_ok)
        );
    }
}
