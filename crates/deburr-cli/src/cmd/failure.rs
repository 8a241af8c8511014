//! Why a verb could not do its work: exit status 2 and a message, or the silent end after a closed pipe.

use std::io;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output is gone: no fault.
    ClosedPipe,
    /// For people.
    Message(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Message(format!("writing the output: {error}")),
        }
    }
}
