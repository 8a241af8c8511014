//! The CPU time of the calling thread.

use rustix::time::{ClockId, clock_gettime};

/// User and system time of this thread so far, in seconds (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
