//! What to do where nothing can be recorded, and why an event was chosen: for people.

use crate::system_error::error_text;
use deburr_lab::emulate::run::in_path;
use deburr_lab::measure::process::End;
use deburr_lab::profiling::event::{Sampled, paranoid};
use deburr_lab::profiling::perf::Recorded;
use deburr_text::ShownPath as _;
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Lines of perf that are shown.
const MOST_LINES: usize = 12;

/// That perf is not installed, and which package has it.
pub(crate) fn no_perf() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    format!("perf is not installed; it is in the package {}", package(&release))
}

/// The package of perf, by os-release(5).
fn package(release: &str) -> String {
    let is = |name: &str| {
        let fields = release.lines().filter_map(|line| line.split_once('='));
        let mut ids = fields.filter(|(key, _)| matches!(*key, "ID" | "ID_LIKE"));
        ids.any(|(_, value)| value.trim_matches('"').split_whitespace().any(|id| id == name))
    };
    if is("ubuntu") {
        // Its perf is a script that looks for the one of the kernel that runs.
        return "linux-tools-$(uname -r) (apt-get install linux-tools-$(uname -r))".to_owned();
    }
    if is("debian") {
        return "linux-perf (apt-get install linux-perf)".to_owned();
    }
    if is("fedora") || is("rhel") {
        return "perf (dnf install perf)".to_owned();
    }
    "perf (linux-perf on Debian, linux-tools-$(uname -r) on Ubuntu)".to_owned()
}

/// That a command is not there, or no program.
pub(super) fn found(program: &OsStr) -> Result<(), String> {
    let path = Path::new(program);
    let fault = |reason: &str| format!("{}: {reason}", path.shown());
    if !program.as_bytes().contains(&b'/') {
        return in_path(path).map(|_| ()).ok_or_else(|| fault("command not found"));
    }
    let metadata = fs::metadata(path).map_err(|error| fault(&error_text(&error)))?;
    if !metadata.is_file() {
        return Err(fault("no program"));
    }
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(|_| fault("permission denied"))
}

/// That the kernel samples nothing for this user, and what would change that.
pub(crate) fn not_permitted(error: Errno) -> String {
    explained(error, paranoid())
}

fn explained(error: Errno, level: Option<i32>) -> String {
    match (error, level) {
        (Errno::ACCESS | Errno::PERM, Some(level)) if level > 2 => format!(
            "the kernel does not permit it: kernel.perf_event_paranoid is {level}. As root: sysctl kernel.perf_event_paranoid=1; or give CAP_PERFMON"
        ),
        (Errno::ACCESS | Errno::PERM | Errno::NOSYS, _) => {
            "perf_event_open is not permitted here, as in most containers: give CAP_PERFMON (--cap-add PERFMON), or a seccomp profile that permits it".to_owned()
        }
        (error, _) => format!("nothing can be sampled here: {}", error_text(&error.into())),
    }
}

/// What perf said against the options.
pub(super) fn refused(said: &str) -> String {
    if said.trim().is_empty() {
        return "perf does not record, and does not say why".to_owned();
    }
    let said = shown(said);
    let is_denied = ["perf_event_paranoid", "Permission", "permitted"].iter().any(|word| said.contains(word));
    match paranoid() {
        Some(level) if is_denied => format!(
            "perf does not record (kernel.perf_event_paranoid is {level}; 1 permits most, and CAP_PERFMON all):\n{said}"
        ),
        _ => format!("perf does not record:\n{said}"),
    }
}

/// Why there is no profile. `reason`: that of the reader.
pub(super) fn failed(ended: &Recorded, said: &str, reason: &str) -> String {
    let left = left(&ended.left).map(|left| format!("; {left}")).unwrap_or_default();
    match ended.end {
        _ if !said.is_empty() => refused(said),
        _ if ended.is_stopped => format!("stopped before anything was recorded{left}"),
        End::Signal(_) => {
            format!("perf was ended by {} and left no whole profile ({reason}){left}", ended.end)
        }
        end => format!(
            "perf ended with {end} and left no whole profile ({reason}); is there room on the disk?{left}"
        ),
    }
}

/// That a process is another user's, which may be the reason.
pub(super) fn foreign(pids: &[u32]) -> String {
    let own = rustix::process::geteuid();
    let is_foreign =
        |pid: &&u32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() != own.as_raw());
    match pids.iter().find(is_foreign) {
        Some(pid) if !own.is_root() => {
            format!(
                "\n  process {pid} is another user's: only root records it, or who has CAP_PERFMON and CAP_SYS_PTRACE"
            )
        }
        _ => String::new(),
    }
}

/// The first lines of what perf said.
fn shown(said: &str) -> String {
    let lines = said.lines().filter(|line| !line.trim().is_empty()).take(MOST_LINES);
    let lines: Vec<String> =
        lines.map(|line| format!("  {}", deburr_text::one_line(line.trim_end()))).collect();
    lines.join("\n")
}

/// Why this event, in parentheses; nothing where it is the best that there is.
pub(super) fn why(sampled: Sampled) -> String {
    reasons(sampled, paranoid())
}

fn reasons(sampled: Sampled, level: Option<i32>) -> String {
    let clock = (!sampled.is_hardware).then_some("no counters of the processor, as in most virtual machines");
    let kernel = match level {
        _ if sampled.has_kernel => None,
        Some(level) => Some(format!("without the kernel, as kernel.perf_event_paranoid is {level}")),
        None => Some("without the kernel, which is not permitted".to_owned()),
    };
    let precise = sampled.is_precise.then_some("precise: the samples name the instruction itself");
    let all = clock.map(Cow::from).into_iter().chain(precise.map(Cow::from)).chain(kernel.map(Cow::from));
    let all: Vec<Cow<'_, str>> = all.collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

/// What the command left running.
pub(super) fn left(left: &[(i32, String)]) -> Option<String> {
    let names: Vec<String> = left.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
    let verb = if names.len() == 1 { "runs on" } else { "run on" };
    (!names.is_empty()).then(|| format!("{} {verb}", names.join(", ")))
}

/// The command that shows the profile, of this file.
pub(super) fn next(profile: &Path, file: &str) -> String {
    format!("; next: deburr check --profile {} {}", word(&profile.to_string_lossy()), word(file))
}

/// A word for a shell.
fn word(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_that_of_the_distribution() {
        for (release, begins) in [
            ("ID=debian\n", "linux-perf "),
            ("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", "linux-tools-$(uname -r) "),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "linux-tools-"),
            ("ID=fedora\n", "perf (dnf"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "perf (dnf"),
            ("ID=arch\n", "perf (linux-perf on Debian"),
            ("", "perf (linux-perf on Debian"),
        ] {
            assert!(package(release).starts_with(begins), "{release}: {}", package(release));
        }
    }

    #[test]
    fn who_is_not_permitted_hears_what_would_permit_it() {
        assert!(explained(Errno::ACCESS, Some(4)).contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(explained(Errno::PERM, Some(2)).contains("--cap-add PERFMON"));
        assert!(explained(Errno::NOSYS, None).contains("containers"));
        assert!(explained(Errno::NODEV, None).contains("no such device"));
    }

    #[test]
    fn why_an_event_was_chosen_is_said() {
        let sampled = |is_hardware, is_precise, has_kernel| Sampled { is_hardware, is_precise, has_kernel };
        assert_eq!(reasons(sampled(true, false, true), Some(1)), "");
        assert_eq!(
            reasons(sampled(false, false, false), Some(2)),
            " (no counters of the processor, as in most virtual machines; without the kernel, as kernel.perf_event_paranoid is 2)"
        );
        assert!(reasons(sampled(true, true, true), None).contains("precise"));
    }
}
