//! Emulating stage: keeps the emulated program away from the descriptor of qemu's log.
//!
//! The log is a descriptor of the process like any other. A program that closes all its descriptors, as servers do when they
//! start, would close it, and get its number for the next file that it opens: the log would then be written into that file. So
//! 3 to 9 are taken while qemu opens the log, which gets a number that no program uses by itself. And calls that would close or
//! replace that number are decided here (seccomp_unotify(2)): they fail where it is the log. Loaders and native programs, which
//! have something else there, go on. No privilege is needed, once new ones are given up (`PR_SET_NO_NEW_PRIVS`); Linux 5.5 is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// The first number that is left to the log.
const FIRST: u32 = 10;
/// `FD_CLOEXEC` in `/proc/self/fdinfo`, which shows it as `O_CLOEXEC`.
const CLOEXEC: u32 = 0o2_000_000;

/// The descriptors that a program inherits, and what becomes of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// The number that the log gets.
    pub(super) log: u32,
    /// Numbers from 3 on that are free, and must not be.
    pub(super) filled: Vec<u32>,
}

impl Descriptors {
    /// Those of this process.
    pub(super) fn of_this_process() -> io::Result<Descriptors> {
        let mut inherited = BTreeSet::new();
        for entry in fs::read_dir("/proc/self/fdinfo")? {
            let name = entry?.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // The descriptor of this very folder is gone by then.
            let text = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
            let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok());
            if flags.is_some_and(|flags| flags & CLOEXEC == 0) {
                inherited.insert(number);
            }
        }
        Ok(Descriptors::besides(&inherited))
    }

    fn besides(inherited: &BTreeSet<u32>) -> Descriptors {
        let is_free = |number: &u32| !inherited.contains(number);
        Descriptors {
            log: (FIRST..).find(is_free).unwrap_or(FIRST),
            filled: (3..FIRST).filter(is_free).collect(),
        }
    }

    /// What a shell runs so that a command, its arguments, has these descriptors.
    pub(super) fn script(&self) -> String {
        let filled = self.filled.iter().map(|number| format!(" {number}</dev/null"));
        format!("exec \"$@\"{}", filled.collect::<String>())
    }
}

/// Decides about calls, until it is dropped.
#[derive(Debug)]
pub(super) struct Shield {
    is_over: Arc<AtomicBool>,
}

impl Shield {
    /// Does some work, such as starting a process, in a thread of which calls are decided here, as are those of processes that it
    /// starts. `log`: the number, and the file that it leads to; `emulator`: the program that must not lose it.
    pub(super) fn around<T: Send + 'static>(
        log: (u32, PathBuf),
        emulator: PathBuf,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<(T, Shield)> {
        let (give, take) = mpsc::channel::<OwnedFd>();
        let shield = Shield { is_over: Arc::default() };
        let (is_over, number) = (Arc::clone(&shield.is_over), log.0);
        // It is not filtered itself, and there before the first call that it has to decide about.
        thread::Builder::new().spawn(move || {
            if let Ok(listener) = take.recv() {
                decide(&File::from(listener), &log, &emulator, &is_over);
            }
        })?;
        let filtered = thread::Builder::new().spawn(move || {
            // Who is gone decides nothing, and the calls fail.
            let _ = give.send(install(number)?);
            work()
        })?;
        let done = filtered.join().map_err(|_| io::Error::other("a thread could not go on"))??;
        Ok((done, shield))
    }
}

impl Drop for Shield {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// `struct seccomp_notif`, `struct seccomp_notif_resp` (Linux, `uapi/linux/seccomp.h`).
#[derive(Default)]
#[repr(C)]
struct Notice {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    instruction_pointer: u64,
    arguments: [u64; 6],
}

#[derive(Default)]
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// `SECCOMP_IOCTL_NOTIF_RECV`, `SECCOMP_IOCTL_NOTIF_SEND`: `_IOWR('!', 0, …)` and `_IOWR('!', 1, …)`.
const RECEIVE: u64 = 0xc000_2100 | (size_of::<Notice>() as u64) << 16;
const SEND: u64 = 0xc000_2101 | (size_of::<Answer>() as u64) << 16;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`.
const GO_ON: u32 = 1;

/// Puts the filter on this thread; what decides reads from the result.
fn install(log: u32) -> io::Result<OwnedFd> {
    rustix::thread::set_no_new_privs(true)?;
    let filter = filter(log);
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the program, of which pointer and length are those of a live array; what it returns is a new
    // descriptor that nobody else owns.
    #[expect(unsafe_code, reason = "installing a filter has no safe form")]
    unsafe {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let listener =
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
        match i32::try_from(listener) {
            Ok(listener @ 0..) => Ok(OwnedFd::from_raw_fd(listener)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Answers until it is over, or nobody is left who calls.
fn decide(listener: &File, log: &(u32, PathBuf), emulator: &Path, is_over: &AtomicBool) {
    let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    while !is_over.load(Ordering::Relaxed) {
        let mut fds = [rustix::event::PollFd::new(listener, rustix::event::PollFlags::IN)];
        if !matches!(rustix::event::poll(&mut fds, Some(&patience)), Ok(1..)) {
            continue;
        }
        let events =
            fds.first().map(rustix::event::PollFd::revents).unwrap_or(rustix::event::PollFlags::empty());
        if !events.contains(rustix::event::PollFlags::IN) {
            return;
        }
        let mut notice = Notice::default();
        // SAFETY: the kernel fills a structure of the size that is part of the request; it wants zeros there before.
        #[expect(unsafe_code, reason = "the request has no safe form")]
        let received = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &raw mut notice) };
        if received != 0 {
            continue;
        }
        let of = |link: &str| fs::read_link(format!("/proc/{}/{link}", notice.pid)).ok();
        let is_log =
            of("exe").as_deref() == Some(emulator) && of(&format!("fd/{}", log.0)).as_ref() == Some(&log.1);
        let mut answer = match (is_log, libc::c_long::from(notice.number)) {
            (false, _) => Answer { flags: GO_ON, ..Answer::default() },
            (true, libc::SYS_close_range) => Answer { error: -libc::ENOSYS, ..Answer::default() },
            (true, _) => Answer { error: -libc::EBADF, ..Answer::default() },
        };
        answer.id = notice.id;
        // SAFETY: the kernel reads a structure of the size that is part of the request. It fails where the caller is gone.
        #[expect(unsafe_code, reason = "the request has no safe form")]
        unsafe {
            libc::ioctl(listener.as_raw_fd(), SEND as _, &raw mut answer)
        };
    }
}

/// `AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64` (Linux, `uapi/linux/audit.h`).
const ARCH: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };
/// Offsets in `struct seccomp_data`; of arguments the low half, as little-endian machines have it.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: [u32; 2] = [16, 24];

/// The filter: `close(log)`, `dup2(_, log)` and a `close_range` that includes it are decided about. Of the log the first two fail
/// with `EBADF`, as for a descriptor that there is not, and the last with `ENOSYS`, upon which callers close one by one.
fn filter(log: u32) -> Vec<libc::sock_filter> {
    let load = |k: u32| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k }; // BPF_LD | BPF_W | BPF_ABS
    let equal = |k: u32, jt: u8, jf: u8| libc::sock_filter { code: 0x15, jt, jf, k }; // BPF_JMP | BPF_JEQ | BPF_K
    let greater = |k: u32, jt: u8, jf: u8| libc::sock_filter { code: 0x25, jt, jf, k }; // BPF_JMP | BPF_JGT | BPF_K
    let ret = |k: u32| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k }; // BPF_RET | BPF_K
    let number = |number: libc::c_long| u32::try_from(number).unwrap_or(u32::MAX);
    #[cfg(target_arch = "x86_64")]
    let dup2 = number(libc::SYS_dup2);
    // There it has no call of its own.
    #[cfg(not(target_arch = "x86_64"))]
    let dup2 = number(libc::SYS_dup3);
    vec![
        load(ARCHITECTURE),
        equal(ARCH, 0, 5),
        load(NUMBER),
        equal(number(libc::SYS_close), 4, 0),
        equal(dup2, 5, 0),
        equal(number(libc::SYS_dup3), 4, 0),
        equal(number(libc::SYS_close_range), 5, 0),
        ret(libc::SECCOMP_RET_ALLOW),
        load(ARGUMENTS[0]),
        equal(log, 5, 4),
        load(ARGUMENTS[1]),
        equal(log, 3, 2),
        load(ARGUMENTS[0]),
        greater(log, 0, 1),
        ret(libc::SECCOMP_RET_ALLOW),
        ret(libc::SECCOMP_RET_USER_NOTIF),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_log_gets_the_first_free_number_from_ten_on() {
        let of = |numbers: &[u32]| Descriptors::besides(&numbers.iter().copied().collect());
        assert_eq!(of(&[0, 1, 2]), Descriptors { log: 10, filled: (3..10).collect() });
        assert_eq!(of(&[0, 1, 2, 4, 10, 11]), Descriptors { log: 12, filled: vec![3, 5, 6, 7, 8, 9] });
        assert_eq!(of(&[3, 4, 5, 6, 7, 8, 9]).script(), "exec \"$@\"");
    }

    /// A shell that stands for the emulator closes everything but the log.
    #[test]
    fn the_log_is_neither_closed_nor_replaced_and_everything_else_is() {
        let bash = fs::canonicalize("/bin/bash").unwrap();
        let run = |log: &str, emulator: &PathBuf| {
            let script = "exec 7</dev/null 8</dev/zero; exec 7<&-; exec 8<&- 2>/dev/null; exec 8</etc/passwd; \
                          readlink /proc/$$/fd/7; readlink /proc/$$/fd/8";
            let start = move || Command::new("/bin/bash").args(["-c", script]).output();
            let (output, _shield) = Shield::around((8, log.into()), emulator.clone(), start).unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(run("/dev/zero", &bash), "/dev/zero\n");
        for (log, emulator) in [("/dev/null", &bash), ("/dev/zero", &PathBuf::from("/bin/other"))] {
            assert_eq!(run(log, emulator), "/etc/passwd\n");
        }
    }
}
