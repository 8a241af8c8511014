//! Emulating stage: runs a command under qemu, and reads its log while it runs.
//!
//! In: a command, and the emulated CPU. Out: [`Trace`]: how it ended, which code of which files was entered, and where
//! SIGILL came. The log goes through a FIFO of one page, so that it takes no room on disk, and qemu is never far ahead of
//! its reader: the kernel's list of what is mapped is read in time. Each block's bytes are compared with those of the file
//! that is mapped there: what differs is not of that file.

use super::cpu;
use super::log::{Call, Event, LogReader};
use super::maps::Maps;
use super::probe;
use super::shield::{Descriptors, Shield};
use crate::measure::process::End;
use crate::measure::stop::Stop;
use deburr_cpu::{Arch, FeatureSet};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, kill_process_group, setrlimit};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes in the FIFO: no more than the smallest pipe.
const FIFO: usize = 4096;
/// How long one wait for the log takes.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long other processes may go on after the command has ended, while they are silent, and the maximum in all.
const SILENCE: Duration = Duration::from_millis(300);
const AFTERMATH: Duration = Duration::from_secs(5);
/// How long a command may take to end, once it is signalled to.
const GRACE: Duration = Duration::from_secs(2);
/// Blocks and processes that are kept.
const MOST_BLOCKS: usize = 8 << 20;
const MOST_PROCESSES: usize = 1 << 16;
/// Places of SIGILL that are kept.
const MOST_TRAPS: usize = 4096;
/// The variables by which qemu would take other options than those that are given.
const VARIABLES: [&str; 9] = [
    "QEMU_CPU",
    "QEMU_LOG",
    "QEMU_LOG_FILENAME",
    "QEMU_STRACE",
    "QEMU_DFILTER",
    "QEMU_PLUGIN",
    "QEMU_TRACE",
    "QEMU_GUEST_BASE",
    "QEMU_GDB",
];

/// A CPU that qemu emulates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedCpu {
    /// The program `qemu-x86_64` or `qemu-aarch64`.
    pub program: PathBuf,
    /// Its version, as it prints it.
    pub version: String,
    /// The value of `-cpu`.
    pub spec: String,
    /// What it shows to programs.
    pub shown: FeatureSet,
}

/// Why there is no such CPU.
#[derive(Debug)]
#[non_exhaustive]
pub enum EmulationError {
    /// qemu is not installed; the name of its program.
    NoQemu(String),
    /// qemu does not run, or not as expected.
    Qemu(PathBuf, io::Error),
    /// No model has these features.
    Lacks(FeatureSet, String),
    /// The log cannot be set up.
    Log(io::Error),
    /// The command cannot be started.
    Start(io::Error),
}

impl EmulatedCpu {
    /// Finds the nearest model. `wanted`: the features of a level or of the CPU that is named. Features that no model has are
    /// an error for a level; for a CPU the model with most of them is taken.
    ///
    /// # Errors
    /// [`EmulationError`].
    pub fn find(arch: Arch, named: Option<&str>, wanted: FeatureSet) -> Result<EmulatedCpu, EmulationError> {
        let name = format!("qemu-{}", arch.name());
        let program = in_path(&name).or_else(|| in_path(format!("{name}-static")));
        let program = program.ok_or(EmulationError::NoQemu(name))?;
        let fault = |error| EmulationError::Qemu(program.clone(), error);
        let printed = |arguments: &[&OsStr]| printed(&program, arguments).map_err(fault);
        let version = String::from_utf8_lossy(&printed(&["--version".as_ref()])?).into_owned();
        let version = version.split_whitespace().nth(2).unwrap_or("of unknown version").to_owned();
        // qemu prints the list and fails.
        let listed = Command::new(&program).args(["-cpu", "help"]).env_clear().stdin(Stdio::null()).output();
        let listed = String::from_utf8_lossy(&listed.map_err(fault)?.stdout).into_owned();
        let folder = Folder::new().map_err(EmulationError::Log)?;
        let probe = folder.path.join("probe");
        fs::write(&probe, probe::program(arch)).map_err(EmulationError::Log)?;
        fs::set_permissions(&probe, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .map_err(EmulationError::Log)?;
        let visible = cpu::visible(wanted);
        let mut nearest: Option<(usize, EmulatedCpu)> = None;
        let mut fault = None;
        for spec in cpu::candidates(arch, named, wanted, &listed) {
            let argument = probe::argument();
            let arguments: [&OsStr; 4] = ["-cpu".as_ref(), spec.as_ref(), probe.as_ref(), argument.as_ref()];
            let shown = match self::printed(&program, &arguments) {
                Ok(printed) => probe::features(arch, &printed),
                Err(error) => {
                    fault = Some(error);
                    None
                }
            };
            let Some(shown) = shown else { continue };
            let lacking = visible.minus(shown).iter().count();
            if nearest.as_ref().is_none_or(|(least, _)| lacking < *least) {
                let emulated =
                    EmulatedCpu { program: program.clone(), version: version.clone(), spec, shown };
                nearest = Some((lacking, emulated));
            }
            if lacking == 0 {
                break;
            }
        }
        match nearest {
            Some((0, emulated)) => Ok(emulated),
            Some((_, emulated)) if named.is_some() => Ok(emulated),
            Some((_, emulated)) => Err(EmulationError::Lacks(visible.minus(emulated.shown), version)),
            None => {
                let none = || io::Error::other("no CPU model of it runs a small program");
                Err(EmulationError::Qemu(program.clone(), fault.unwrap_or_else(none)))
            }
        }
    }
}

/// What a program prints, if it succeeds. Nothing of the environment is for it.
fn printed(program: &Path, arguments: &[&OsStr]) -> io::Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).env_clear().stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(io::Error::other(if said.is_empty() { output.status.to_string() } else { said }))
        }
    }
}

/// A program of the search path.
pub fn in_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let mode = |metadata: fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && mode(metadata) & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(is_program)
}

/// A command to be run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program, an ELF file, and its arguments.
    pub words: Vec<OsString>,
    /// The folder that stands for `/` where the loader and libraries are looked for.
    pub root: Option<PathBuf>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// A file of which code was entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnteredFile {
    /// Where it is.
    pub path: PathBuf,
    /// Blocks: where in the file each begins, and how many bytes it has.
    pub blocks: BTreeMap<u64, u32>,
}

/// A place where SIGILL came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// The address in the process.
    pub address: u64,
    /// The file, by its number in [`Trace::files`], and the offset there; `None` where no file is known to be.
    pub place: Option<(usize, u64)>,
    /// How often it came.
    pub count: u64,
    /// How many processes it ended.
    pub deaths: u64,
}

/// What a run showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// How the command ended.
    pub end: End,
    /// The files of which code was entered.
    pub files: Vec<EnteredFile>,
    /// Where SIGILL came, by address.
    pub traps: Vec<Trap>,
    /// Blocks that were translated.
    pub blocks: u64,
    /// Of those, blocks that are in no file: made at run time, or changed after the file was mapped.
    pub blocks_elsewhere: u64,
    /// Programs that processes went on as, outside of the emulation, as they were named, and how often.
    pub natives: BTreeMap<String, u64>,
    /// Whether the command itself did.
    pub is_left: bool,
    /// Processes that began and were not seen in the log: they closed it, or ended at once.
    pub unseen: u64,
    /// Whether there was more than is kept.
    pub is_truncated: bool,
}

/// Runs a command.
///
/// # Errors
/// Where it cannot be started, or the log cannot be read.
pub fn run(emulated: &EmulatedCpu, job: &Job, stop: &Stop) -> Result<Trace, EmulationError> {
    let folder = Folder::new().map_err(EmulationError::Log)?;
    let log = folder.fifo().map_err(EmulationError::Log)?;
    // qemu would write an image of the memory where the command dies.
    let mut limit = getrlimit(Resource::Core);
    limit.current = Some(0);
    let _ = setrlimit(Resource::Core, limit);
    let descriptors = Descriptors::of_this_process().map_err(EmulationError::Log)?;
    let place = folder.path.join("log");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &descriptors.script(), "sh"]).arg(&emulated.program);
    command.args(["-cpu", &emulated.spec, "-d", "in_asm,strace", "-D"]).arg(&place);
    if let Some(root) = &job.root {
        command.arg("-L").arg(root);
    }
    command.args(&job.words);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    // The report has the standard output for itself.
    let errors = io::stderr().as_fd().try_clone_to_owned().map_err(EmulationError::Start)?;
    command.stdout(Stdio::from(errors));
    // A group of its own is ended as a whole, but could not read from a terminal.
    let is_group = !io::stdin().is_terminal();
    if is_group {
        command.process_group(0);
    }
    let log_descriptor = (descriptors.log, place);
    let emulator = fs::canonicalize(&emulated.program).map_err(EmulationError::Start)?;
    let start = move || command.spawn();
    let (child, _shield) =
        Shield::around(log_descriptor.clone(), emulator, start).map_err(EmulationError::Start)?;
    let mut running = Running { child, is_group, since: Instant::now(), signalled: None, log_descriptor };
    let mut tracer = Tracer::new(running.pid(), &emulated.program);
    let end = running.follow(log, job.timeout, stop, &mut tracer);
    running.end_all();
    let trace = tracer.finish(end.map_err(EmulationError::Log)?);
    Ok(trace)
}

/// The command while it runs.
struct Running {
    child: Child,
    is_group: bool,
    since: Instant,
    /// Why and when it was signalled to end.
    signalled: Option<(End, Instant)>,
    /// The number that the log is to have in the process, and where it leads.
    log_descriptor: (u32, PathBuf),
}

impl Running {
    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid()) else { return };
        // It may have ended just now.
        let _ = if self.is_group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
    }

    fn end_all(&mut self) {
        if self.is_group {
            self.signal(Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Reads the log until the command has ended and all is read.
    fn follow(
        &mut self,
        log: OwnedFd,
        timeout: Option<Duration>,
        stop: &Stop,
        tracer: &mut Tracer,
    ) -> io::Result<End> {
        let mut log = File::from(log);
        let mut reader = LogReader::new().map_err(io::Error::other)?;
        let (mut buffer, mut events) = (vec![0; 64 << 10], Vec::new());
        let mut ended: Option<(End, Instant)> = None;
        let (mut last_read, mut is_begun) = (Instant::now(), false);
        loop {
            match poll(&mut [PollFd::new(&log, PollFlags::IN)], Some(&PATIENCE)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            match log.read(&mut buffer) {
                Ok(count) => {
                    if !std::mem::replace(&mut is_begun, true) && !self.is_log_protected() {
                        return Err(io::Error::other(
                            "it has an unexpected descriptor, which the program could close",
                        ));
                    }
                    last_read = Instant::now();
                    reader.read(buffer.get(..count).unwrap_or_default(), &mut events);
                    events.drain(..).for_each(|event| tracer.take(event));
                }
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
            if let Some((end, at)) = ended {
                if last_read.elapsed() >= SILENCE || at.elapsed() >= AFTERMATH || stop.is_wanted() {
                    reader.end(&mut events);
                    events.drain(..).for_each(|event| tracer.take(event));
                    return Ok(end);
                }
                continue;
            }
            self.hurry(timeout, stop);
            if let Some(status) = self.child.try_wait()? {
                let by_itself = match status.signal() {
                    Some(signal) => End::Signal(signal),
                    None => End::Status(status.code().unwrap_or_default()),
                };
                ended = Some((self.signalled.map_or(by_itself, |(why, _)| why), Instant::now()));
            }
        }
    }

    /// Whether the log is where it is protected, as far as can be seen.
    fn is_log_protected(&self) -> bool {
        let (number, place) = &self.log_descriptor;
        let of = |link: &str| fs::read_link(format!("/proc/{}/{link}", self.pid()));
        match of(&format!("fd/{number}")) {
            Ok(leads) => leads == *place,
            // It has ended already.
            Err(_) => of("exe").is_err(),
        }
    }

    /// Signals it to end, where it has to, and kills it where it does not.
    fn hurry(&mut self, timeout: Option<Duration>, stop: &Stop) {
        match self.signalled {
            None if stop.is_wanted() => self.signalled = Some((End::Interrupted, Instant::now())),
            None if timeout.is_some_and(|timeout| self.since.elapsed() >= timeout) => {
                self.signalled = Some((End::TimedOut, Instant::now()));
            }
            None => return,
            Some((_, at)) if at.elapsed() >= GRACE || stop.is_urgent() => return self.signal(Signal::KILL),
            Some(_) => return,
        }
        self.signal(Signal::TERM);
    }
}

/// What a process did last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Last {
    Born,
    Call,
    Exec(Vec<u8>),
    Exit,
}

/// What is kept of the log.
struct Tracer {
    main: i32,
    /// The program that emulated processes are, for the kernel.
    emulator: PathBuf,
    /// Each process with what it did last, and when.
    processes: BTreeMap<i32, (Last, u64)>,
    maps: HashMap<i32, Maps>,
    /// Processes in which something may be mapped that is not in `maps`.
    stale: BTreeSet<i32>,
    /// Processes that have done nothing yet.
    newborn: BTreeSet<i32>,
    misses: u64,
    files: Vec<(EnteredFile, Option<File>)>,
    by_path: HashMap<PathBuf, usize>,
    traps: BTreeMap<u64, Trap>,
    /// When SIGILL came, and at which address; the last ones.
    trap_times: VecDeque<(u64, u64)>,
    kept: usize,
    now: u64,
    trace: Trace,
    buffer: Vec<u8>,
}

impl Tracer {
    fn new(main: i32, emulator: &Path) -> Tracer {
        Tracer {
            main,
            emulator: fs::canonicalize(emulator).unwrap_or_else(|_| emulator.to_owned()),
            processes: BTreeMap::from([(main, (Last::Born, 0))]),
            maps: HashMap::new(),
            stale: BTreeSet::from([main]),
            newborn: BTreeSet::new(),
            misses: 0,
            files: Vec::new(),
            by_path: HashMap::new(),
            traps: BTreeMap::new(),
            trap_times: VecDeque::new(),
            kept: 0,
            now: 0,
            trace: Trace::default(),
            buffer: Vec::new(),
        }
    }

    fn take(&mut self, event: Event) {
        self.now += 1;
        match event {
            Event::Block { address, bytes } => {
                self.trace.blocks += 1;
                match self.find(address, &bytes) {
                    Some((file, offset)) => self.enter(file, offset, bytes.len()),
                    None => self.trace.blocks_elsewhere += 1,
                }
            }
            Event::UnplacedBlock => {
                self.trace.blocks += 1;
                self.trace.blocks_elsewhere += 1;
            }
            Event::IllegalInstruction(address) => self.trap(address),
            Event::Call { pid, call } => {
                let last = match call {
                    Call::Exec(path) => Last::Exec(path),
                    Call::Exit => Last::Exit,
                    Call::MapsCode => {
                        self.stale.insert(pid);
                        Last::Call
                    }
                    Call::Fork(child) => {
                        if let Some(child) = child {
                            self.born(child);
                        }
                        Last::Call
                    }
                    Call::Other => Last::Call,
                };
                self.did(pid, last);
            }
        }
    }

    fn born(&mut self, pid: i32) {
        if self.processes.len() < MOST_PROCESSES {
            self.processes.entry(pid).or_insert((Last::Born, self.now));
            self.newborn.insert(pid);
            self.stale.insert(pid);
        } else {
            self.trace.is_truncated = true;
        }
    }

    fn did(&mut self, pid: i32, last: Last) {
        if !self.processes.contains_key(&pid) {
            self.born(pid);
        }
        self.newborn.remove(&pid);
        if matches!(last, Last::Exit | Last::Exec(_)) {
            self.maps.remove(&pid);
            self.stale.remove(&pid);
        }
        if let Some(process) = self.processes.get_mut(&pid) {
            *process = (last, self.now);
        }
    }

    /// Reads what is mapped in the processes that are stale.
    fn refresh(&mut self) {
        for pid in std::mem::take(&mut self.stale) {
            // A process that has just ended keeps what was known of it.
            match fs::read(format!("/proc/{pid}/maps")) {
                Ok(text) if !text.is_empty() => _ = self.maps.insert(pid, Maps::parse(&text)),
                _ => {}
            }
        }
    }

    /// The file that has these bytes, at an address.
    fn find(&mut self, address: u64, bytes: &[u8]) -> Option<(usize, u64)> {
        let was_stale = !self.stale.is_empty();
        self.refresh();
        if let Some(found) = self.look(address, bytes) {
            return Some(found);
        }
        // Code that is made at run time is in no file: the list is not read for each block of it.
        self.misses += 1;
        if was_stale || !self.misses.is_power_of_two() {
            return None;
        }
        self.stale.extend(self.maps.keys());
        self.refresh();
        self.look(address, bytes)
    }

    fn look(&mut self, address: u64, bytes: &[u8]) -> Option<(usize, u64)> {
        let main = self.maps.get(&self.main).and_then(|maps| maps.at(address));
        let others = self.maps.iter().filter(|(pid, _)| **pid != self.main);
        let parts = main.into_iter().chain(others.filter_map(|(_, maps)| maps.at(address)));
        let places: Vec<(PathBuf, u64)> =
            parts.map(|part| (part.path.clone(), address - part.start + part.offset)).collect();
        places.into_iter().find_map(|(path, offset)| {
            let file = self.file(path);
            let (entered, opened) = self.files.get(file)?;
            if entered.blocks.get(&offset).is_some_and(|length| *length as usize >= bytes.len()) {
                return Some((file, offset));
            }
            self.buffer.resize(bytes.len(), 0);
            opened.as_ref()?.read_exact_at(&mut self.buffer, offset).ok()?;
            (self.buffer == bytes).then_some((file, offset))
        })
    }

    fn file(&mut self, path: PathBuf) -> usize {
        if let Some(&file) = self.by_path.get(&path) {
            return file;
        }
        let file = self.files.len();
        self.by_path.insert(path.clone(), file);
        let is_regular = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let opened = if is_regular { File::open(&path).ok() } else { None };
        self.files.push((EnteredFile { path, blocks: BTreeMap::new() }, opened));
        file
    }

    fn enter(&mut self, file: usize, offset: u64, length: usize) {
        let Some((entered, _)) = self.files.get_mut(file) else { return };
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if self.kept >= MOST_BLOCKS {
            self.trace.is_truncated = true;
            return;
        }
        let before = entered.blocks.insert(offset, length);
        match before {
            None => self.kept += 1,
            Some(longer) if longer > length => _ = entered.blocks.insert(offset, longer),
            Some(_) => {}
        }
    }

    /// Processes that have done nothing yet may be those that got the signal, unless they are another program by now.
    fn look_after_the_newborn(&mut self) {
        for pid in std::mem::take(&mut self.newborn) {
            // A process that has just ended leads nowhere, and one that is emulated to qemu.
            let other =
                fs::read_link(format!("/proc/{pid}/exe")).ok().filter(|program| *program != self.emulator);
            if let (Some(program), Some((last, _))) = (other, self.processes.get_mut(&pid)) {
                *last = Last::Exec(program.into_os_string().into_vec());
            }
        }
    }

    fn trap(&mut self, address: u64) {
        self.refresh();
        self.look_after_the_newborn();
        if self.trap_times.len() >= MOST_TRAPS {
            self.trap_times.pop_front();
        }
        self.trap_times.push_back((self.now, address));
        if let Some(trap) = self.traps.get_mut(&address) {
            trap.count += 1;
            return;
        }
        if self.traps.len() >= MOST_TRAPS {
            self.trace.is_truncated = true;
            return;
        }
        let part = self.maps.get(&self.main).and_then(|maps| maps.at(address));
        let part = part.or_else(|| self.maps.values().find_map(|maps| maps.at(address)));
        let place = part.map(|part| (part.path.clone(), address - part.start + part.offset));
        let place = place.map(|(path, offset)| (self.file(path), offset));
        self.traps.insert(address, Trap { address, place, count: 1, deaths: 0 });
    }

    fn finish(mut self, end: End) -> Trace {
        let mut dead: Vec<u64> = Vec::new();
        for (pid, (last, when)) in &self.processes {
            let is_main = *pid == self.main;
            match last {
                Last::Exec(path) => {
                    let path = OsString::from_vec(path.clone()).to_string_lossy().into_owned();
                    *self.trace.natives.entry(path).or_default() += 1;
                    self.trace.is_left |= is_main;
                }
                Last::Exit => {}
                // It ended before the first SIGILL, or closed its log.
                Last::Born if !is_main && self.trap_times.back().is_none_or(|(time, _)| time <= when) => {
                    self.trace.unseen += 1;
                }
                // What a process does not live on after SIGILL shows in that it does nothing any more.
                Last::Born | Last::Call if !is_main || end == End::Signal(Signal::ILL.as_raw()) => {
                    let first = self.trap_times.partition_point(|(time, _)| time <= when);
                    let mut after = self.trap_times.iter().skip(first);
                    let trap = if is_main { after.next_back() } else { after.next() };
                    dead.extend(trap.map(|(_, address)| *address));
                }
                Last::Born | Last::Call => {}
            }
        }
        for address in dead {
            if let Some(trap) = self.traps.get_mut(&address) {
                trap.deaths += 1;
            }
        }
        let files = self.files.into_iter().map(|(entered, _)| entered).collect();
        Trace { end, files, traps: self.traps.into_values().collect(), ..self.trace }
    }
}

/// A folder of this run, gone with it.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> io::Result<Folder> {
        let mut tries = 0_u32;
        let parent = fs::canonicalize(std::env::temp_dir())?;
        loop {
            let path = parent.join(format!("deburr-try-{}-{tries}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 1000 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the FIFO, and opens it for both directions, so that it never ends.
    fn fifo(&self) -> io::Result<OwnedFd> {
        let path = self.path.join("log");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let fifo = open(&path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        // A system that does not allow it has larger ones.
        let _ = rustix::pipe::fcntl_setpipe_size(&fifo, FIFO);
        Ok(fifo)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody hears of it where it stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that no process has.
    const MAIN: i32 = 1 << 29;
    const CHILD: i32 = MAIN + 1;
    const OTHER: i32 = MAIN + 2;

    fn traced(events: &[Event], end: End) -> Trace {
        let mut tracer = Tracer::new(MAIN, Path::new("/usr/bin/qemu-x86_64"));
        events.iter().for_each(|event| tracer.take(event.clone()));
        tracer.finish(end)
    }

    fn call(pid: i32, call: Call) -> Event {
        Event::Call { pid, call }
    }

    fn deaths(events: &[Event], end: End) -> Vec<(u64, u64)> {
        traced(events, end).traps.iter().map(|trap| (trap.address, trap.deaths)).collect()
    }

    #[test]
    fn who_does_nothing_after_sigill_died_of_it() {
        let trap = Event::IllegalInstruction;
        let catches = [
            call(MAIN, Call::Other),
            trap(0x10),
            call(MAIN, Call::Other),
            trap(0x20),
            call(MAIN, Call::Exit),
        ];
        assert_eq!(deaths(&catches, End::Status(0)), [(0x10, 0), (0x20, 0)]);
        // The last one is deadly, and only where the signal ended the command.
        assert_eq!(deaths(&catches[..4], End::Signal(4)), [(0x10, 0), (0x20, 1)]);
        assert_eq!(deaths(&catches[..4], End::TimedOut), [(0x10, 0), (0x20, 0)]);
        let child = [
            call(MAIN, Call::Fork(Some(CHILD))),
            call(CHILD, Call::Other),
            trap(0x10),
            call(MAIN, Call::Other),
            call(MAIN, Call::Exit),
        ];
        assert_eq!(deaths(&child, End::Status(0)), [(0x10, 1)]);
        let mut survives = child.to_vec();
        survives.push(call(CHILD, Call::Exit));
        assert_eq!(deaths(&survives, End::Status(0)), [(0x10, 0)]);
    }

    #[test]
    fn a_program_that_is_not_heard_of_again_went_on_natively() {
        let exec = |path: &str| Call::Exec(path.as_bytes().to_vec());
        let events = [
            call(MAIN, Call::Fork(Some(CHILD))),
            call(MAIN, Call::Fork(Some(OTHER))),
            call(CHILD, exec("/no/such")),
            call(CHILD, exec("/bin/true")),
            call(MAIN, exec("/fails")),
            call(MAIN, Call::Exit),
        ];
        let trace = traced(&events, End::Status(0));
        assert_eq!(trace.natives, BTreeMap::from([("/bin/true".to_owned(), 1)]));
        assert_eq!((trace.is_left, trace.unseen), (false, 1));
        assert!(traced(&events[4..5], End::Status(0)).is_left);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut tracer = Tracer::new(MAIN, Path::new("/usr/bin/qemu-x86_64"));
        for i in 0..66_000 {
            tracer.take(Event::IllegalInstruction(i));
            tracer.take(call(i32::try_from(i).unwrap() + OTHER, Call::Other));
        }
        let trace = tracer.finish(End::Status(0));
        assert!(trace.is_truncated && trace.traps.len() == MOST_TRAPS);
    }
}
