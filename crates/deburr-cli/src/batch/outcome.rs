//! What comes out of a batch, file by file: the product of each binary, or why there is none.

use crate::input::walk::Skipped;
use deburr_core::{Error, Report, Request, check};

/// What is produced for each binary.
pub(crate) trait Product: Send + Sized {
    /// Makes it.
    fn of(bytes: &[u8], request: &Request<'_>) -> Result<Self, Error>;
    /// The report that it is, or has.
    fn report(&mut self) -> &mut Report;
}

impl Product for Report {
    fn of(bytes: &[u8], request: &Request<'_>) -> Result<Report, Error> {
        check(bytes, request)
    }

    fn report(&mut self) -> &mut Report {
        self
    }
}

/// What became of one file, or of one member of an archive or a package.
pub(crate) enum Outcome<P> {
    Checked {
        product: Box<P>,
        bytes: u64,
    },
    Skipped(Skipped),
    /// A fault of a package or an archive: it may hold more than was found.
    Incomplete(Skipped),
    /// Members of a package that are neither binaries nor packages.
    PassedOver(u64),
}
