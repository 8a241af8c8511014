//! Measuring stage: what a process that still runs has used, with all that it started.
//!
//! In: `/proc/PID/stat` of every process (proc_pid_stat(5)). Out: CPU time of one, of those that stayed in
//! its process group, and of all that descend from them, also in sessions of their own, as PostgreSQL's are.
//! What has ended is in the time of its parent, which waited for it: of one that ignores SIGCHLD, what its
//! ended children used is lost. A daemon that left the group and lost its parent is seen no more. The unit is
//! a tick of mostly 10 ms.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

/// Samples at most, until two agree.
const SAMPLES: u32 = 50;
/// How long is waited between them.
const PAUSE: Duration = Duration::from_millis(2);

/// CPU time of a process and of its descendants so far, in seconds. `None`: there is none such, the kernel
/// does not report it, or its descendants come and go too fast to be counted.
pub(super) fn cpu_time(root: i32) -> Option<f64> {
    let mut last = Sample::at(root)?;
    for _ in 0..SAMPLES {
        let next = Sample::at(root)?;
        // What is reaped during a sample may be missing from it, and from the time of its parent, too.
        // Samples with the same processes and the same times of those reaped had none such.
        if next.reaped == last.reaped {
            return Some(next.ticks as f64 / rustix::param::clock_ticks_per_second() as f64);
        }
        last = next;
        thread::sleep(PAUSE);
    }
    None
}

/// The processes of a group that still run.
pub(super) fn members(group: i32) -> Vec<i32> {
    let all = all().unwrap_or_default().into_iter();
    all.filter(|stat| stat.group == group && !stat.is_over).map(|stat| stat.pid).collect()
}

/// Whether a process has ended, or is no longer there.
pub(super) fn is_over(pid: i32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok();
    stat.and_then(|stat| Stat::parse(&String::from_utf8_lossy(&stat))).is_none_or(|stat| stat.is_over)
}

/// The processes of a tree, read one after the other.
struct Sample {
    /// Of each, what those used that it waited for.
    reaped: BTreeMap<i32, u64>,
    /// What all used.
    ticks: u64,
}

impl Sample {
    fn at(root: i32) -> Option<Sample> {
        let mut left: Vec<Stat> = all()?;
        let mut sample = Sample { reaped: BTreeMap::new(), ticks: 0 };
        // Parents may have larger numbers than their children: as many iterations as there are generations.
        loop {
            let belongs = |stat: &Stat| {
                stat.pid == root || stat.group == root || sample.reaped.contains_key(&stat.parent)
            };
            let (members, others): (Vec<Stat>, Vec<Stat>) = left.into_iter().partition(belongs);
            for stat in &members {
                sample.reaped.insert(stat.pid, stat.reaped);
                sample.ticks = sample.ticks.saturating_add(stat.own).saturating_add(stat.reaped);
            }
            if members.is_empty() {
                break;
            }
            left = others;
        }
        sample.reaped.contains_key(&root).then_some(sample)
    }
}

/// What the kernel reports of a process. Times are in ticks, in user mode and in the kernel.
#[derive(Debug, PartialEq)]
struct Stat {
    pid: i32,
    /// Whether it has ended, and only waits to be reaped.
    is_over: bool,
    parent: i32,
    group: i32,
    own: u64,
    /// Of its children that ended and that it waited for, and of theirs.
    reaped: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Stat> {
        let pid = text.split(' ').next()?.parse().ok()?;
        // A name is in parentheses, and may have some itself.
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        let [state, parent, group, ..] = *fields else { return None };
        let [user, system, children_user, children_system, ..] = *fields.get(11..)? else { return None };
        let sum = |one: &str, other: &str| one.parse::<u64>().ok()?.checked_add(other.parse().ok()?);
        let (own, reaped) = (sum(user, system)?, sum(children_user, children_system)?);
        let is_over = matches!(state, "Z" | "X");
        Some(Stat { pid, is_over, parent: parent.parse().ok()?, group: group.parse().ok()?, own, reaped })
    }
}

/// All processes that can be seen.
fn all() -> Option<Vec<Stat>> {
    let entries = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let stats = entries.filter_map(|entry| {
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        // It may have ended just now.
        is_process.then(|| fs::read(entry.path().join("stat")).ok()).flatten()
    });
    Some(stats.filter_map(|stat| Stat::parse(&String::from_utf8_lossy(&stat))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_may_look_like_fields() {
        let text = "42 (a) S 1 (b) R 7 9 9 0 -1 4194304 1 2 3 4 100 20 3 4000 20 0 1 0 5 6 7\n";
        assert_eq!(
            Stat::parse(text),
            Some(Stat { pid: 42, is_over: false, parent: 7, group: 9, own: 120, reaped: 4003 })
        );
        for text in ["", "42", "42 (a", "42 (a) R 7 9", "x (a) R 7 9 9 0 -1 4 1 2 3 4 1 2 3 4"] {
            assert_eq!(Stat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_does_not_run_has_no_time() {
        assert_eq!((cpu_time(i32::MAX), members(i32::MAX), is_over(i32::MAX)), (None, vec![], true));
        assert!(!is_over(rustix::process::getpid().as_raw_nonzero().get()));
    }
}
