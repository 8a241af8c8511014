//! The time of day, for what is written down with it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970. A clock before that is wrong, and no reason to fail.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same in microseconds, as tables have it.
pub(crate) fn microseconds() -> i64 {
    i64::try_from(since_1970().as_micros()).unwrap_or(i64::MAX)
}
