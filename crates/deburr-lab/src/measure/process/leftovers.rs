//! Measuring stage: what a run left running, which may disturb the runs after it.
//!
//! In: the process group of a run that has ended, and the children that this process had before. Out: the names of
//! the processes that are still there. Daemons that left the group are found where they become children of
//! this process ([`adopt`]).

use super::super::tree;
use rustix::io::Errno;
use rustix::process::{
    Pid, WaitOptions, child_subreaper, getpid, set_child_subreaper, test_kill_process_group, waitpid,
};
use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

/// How long what was started may take to end by itself.
const MOMENT: Duration = Duration::from_millis(50);
/// How many names a record has room for.
const MOST_NAMES: usize = 8;

/// From now on, processes that lose their parent become children of this one (prctl(2),
/// `PR_SET_CHILD_SUBREAPER`), so that daemons are found. For programs that run one command at a time: what other
/// threads start meanwhile would count as left behind.
///
/// # Errors
/// The system's, where it has no such thing.
pub fn adopt() -> std::io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The children of this process before a run, if it adopts; else none.
#[derive(Debug)]
pub(super) struct Before {
    children: Option<BTreeSet<i32>>,
}

impl Before {
    pub(super) fn now() -> Before {
        let adopts = child_subreaper().is_ok_and(|pid| pid.is_some());
        Before { children: if adopts { children("self") } else { None } }
    }

    /// The names of what the run of a group left running.
    pub(super) fn left(&self, group: Pid) -> Vec<String> {
        // Mostly nothing, which is known at once.
        if test_kill_process_group(group) == Err(Errno::SRCH) && self.adopted().is_empty() {
            return Vec::new();
        }
        thread::sleep(MOMENT);
        let members = tree::members(group.as_raw_nonzero().get());
        let all: BTreeSet<i32> = members.into_iter().chain(self.adopted()).collect();
        let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let names: BTreeSet<String> =
            all.iter().filter_map(name).map(|name| name.trim().to_owned()).collect();
        names.into_iter().take(MOST_NAMES).collect()
    }

    /// Children that came since, and still run. Those that have ended are reaped.
    fn adopted(&self) -> Vec<i32> {
        let Some(before) = &self.children else { return Vec::new() };
        let came = children("self").unwrap_or_default().into_iter().filter(|pid| !before.contains(pid));
        came.filter(|&pid| match tree::is_over(pid) {
            true => {
                let _ = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
                false
            }
            false => true,
        })
        .collect()
    }
}

/// What a command leaves running whose process is the child of another program, which this process waits for.
#[derive(Debug)]
pub(crate) struct Left {
    before: Before,
}

impl Left {
    /// From now on.
    pub(crate) fn since_now() -> Left {
        Left { before: Before::now() }
    }

    /// Reaps those that have ended.
    pub(crate) fn reap(&self) {
        self.before.adopted();
    }

    /// Those that run, with their names, after a moment to end by themselves.
    pub(crate) fn running(&self) -> Vec<(i32, String)> {
        if self.before.adopted().is_empty() {
            return Vec::new();
        }
        thread::sleep(MOMENT);
        let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let left = self.before.adopted().into_iter();
        left.filter_map(|pid| Some((pid, name(&pid)?.trim().to_owned()))).take(MOST_NAMES).collect()
    }

    /// The children of a process, by its number.
    pub(crate) fn children_of(pid: &str) -> BTreeSet<i32> {
        children(pid).unwrap_or_default()
    }
}

/// The children of all threads of a process (proc_pid_task_tid_children(5)); `None` where the kernel does
/// not say.
fn children(pid: &str) -> Option<BTreeSet<i32>> {
    let mut all = BTreeSet::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.filter_map(Result::ok) {
        // It may have ended just now.
        let Ok(text) = fs::read_to_string(thread.path().join("children")) else { continue };
        all.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(all)
}
