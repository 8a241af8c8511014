//! The driver: bytes → report, on one screen.

use crate::image::Error;
use crate::report::Report;
use deburr_cpu::FeatureSet;

/// What is asked of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// The separate debug file, if the caller has it.
    pub debug_file: Option<&'a [u8]>,
    /// Features that every machine the file will run on has.
    pub target: Option<FeatureSet>,
    /// Features that the file may use.
    pub baseline: Option<FeatureSet>,
    /// Ids of the rules to run; `None`: all.
    pub rules: Option<&'a [&'a str]>,
}

/// Checks one ELF file.
///
/// # Errors
/// [`Error`], where the bytes are no ELF file that deburr reads, or contradict themselves.
pub fn check(_bytes: &[u8], _request: &Request<'_>) -> Result<Report, Error> {
    Err(Error::Unsupported("everything".to_owned()))
}
