//! Why a file is not rewritten: it must stay as it is, or the work failed, or the whole run ends.

use crate::analysis::FAILED;
use crate::cmd::failure::Failure;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why nothing can be made of a file.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) reason: String,
    /// Whether it is a fault, and not a file of a kind that stays as it is.
    pub(super) is_fault: bool,
}

impl Trouble {
    pub(super) fn fault(reason: impl Into<String>) -> Trouble {
        Trouble { reason: reason.into(), is_fault: true }
    }

    pub(super) fn left(reason: impl Into<String>) -> Trouble {
        Trouble { reason: reason.into(), is_fault: false }
    }
}

/// Why a file was not done.
pub(super) enum Stop {
    Trouble(Trouble),
    /// The run ends.
    Failure(Failure),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Stop {
        Stop::Trouble(trouble)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Failure(error.into())
    }
}

/// A panic is a fault of deburr, yet it must cost one file and not the run.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Trouble::fault(FAILED))
}
