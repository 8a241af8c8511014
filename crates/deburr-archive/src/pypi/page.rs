//! What both forms of a project's page have.

use crate::error::quoted;

/// A file that a page links to.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// Its name, if the page says it.
    pub(super) name: Option<String>,
    pub(super) link: Option<String>,
    pub(super) sha256: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) is_yanked: bool,
}

/// The major version of the interface, as a page states it; this one reads 1.
pub(super) fn check_version(version: &str) -> Result<(), String> {
    match version.split('.').next() {
        Some("1") => Ok(()),
        _ => Err(format!("has version {} of the interface, and 1 is known", quoted(version))),
    }
}
