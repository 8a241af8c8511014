//! What comes out of a batch, file by file: the product of each binary, or why there is none.

use super::artefact::Artefact;
use super::plan::BatchPlan;
use crate::input::walk::Skipped;
use crate::sha256::sha256;
use deburr_core::listing::{FunctionSize, Listing};
use deburr_core::{Error, Report, Request, annotate, check};

/// What is produced for each binary.
pub(crate) trait Product: Send + Sized {
    /// Makes it, as planned.
    fn of(bytes: &[u8], request: &Request<'_>, plan: &BatchPlan) -> Result<Self, Error>;
    /// The report that it is, or has.
    fn report(&mut self) -> &mut Report;
}

/// A report, and the code that findings are about where that is planned.
pub(crate) struct CheckedFile {
    pub(crate) report: Report,
    pub(crate) listings: Vec<Listing>,
    /// Functions with findings, or hot ones, that are not listed.
    pub(crate) left_out: u64,
    pub(crate) sizes: Vec<FunctionSize>,
    /// The SHA-256 of its bytes, where that is planned.
    pub(crate) sha256: Option<String>,
}

impl Product for CheckedFile {
    fn of(bytes: &[u8], request: &Request<'_>, plan: &BatchPlan) -> Result<CheckedFile, Error> {
        let sha256 = plan.describes.then(|| sha256([bytes]));
        // The places of functions come with listings, even of nothing.
        let Some(bound) = plan.insns_listed.or(plan.describes.then_some(0)) else {
            let report = check(bytes, request)?;
            return Ok(CheckedFile { report, listings: Vec::new(), left_out: 0, sizes: Vec::new(), sha256 });
        };
        let annotated = annotate(bytes, request, bound)?;
        let (listings, left_out) = (annotated.code, annotated.left_out);
        Ok(CheckedFile { report: annotated.report, listings, left_out, sizes: annotated.sizes, sha256 })
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }
}

/// What became of one file, or of one member of an archive or a package.
pub(crate) enum Outcome<P> {
    /// The file as a whole, before all that is in it, where that is planned.
    Described(Box<Artefact>),
    Checked {
        product: Box<P>,
        bytes: u64,
    },
    Skipped(Skipped),
    /// A fault of a package or an archive: it may hold more than was found.
    Incomplete(Skipped),
    /// Something that is recognised and not read: a member of a package, or what a program carries.
    Recognised(Skipped),
    /// Members of a package that are neither binaries nor packages, nor recognised.
    PassedOver(u64),
    /// Members of a package that the user leaves out.
    Excluded(u64),
}
