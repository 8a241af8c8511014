//! Why a wheel is not taken, or not written.

use std::fmt;

/// Why a wheel is not taken, or not written: one sentence, without the wheel's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelError {
    reason: String,
}

impl WheelError {
    pub(super) fn new(reason: impl Into<String>) -> WheelError {
        WheelError { reason: reason.into() }
    }
}

impl fmt::Display for WheelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for WheelError {}
