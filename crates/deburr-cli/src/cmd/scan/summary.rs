//! What a scan did, as text or JSON.

use crate::args::format::Format;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// The failures that are listed one by one on the standard error.
const MOST_LISTED: usize = 200;

/// What a scan did; its JSON is described by `schema-scan.json`.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// The moment by which the tables know it, in seconds since 1970.
    pub(super) run: f64,
    pub(super) items: usize,
    /// Of these, whose rows were kept from before.
    pub(super) kept: usize,
    pub(super) checked: usize,
    /// Bytes of those that were checked, as the archive has them.
    pub(super) bytes_checked: u64,
    pub(super) shard: String,
    pub(super) elapsed_seconds: f64,
    pub(super) failures: Vec<Failed>,
}

/// A path that could not be checked.
#[derive(Debug, Serialize)]
pub(super) struct Failed {
    pub(super) path: String,
    pub(super) reason: String,
}

impl Summary {
    /// Lists the failures for people.
    pub(super) fn complain(&self, complaints: &mut dyn Write) {
        // Where the standard error is gone, the exit status still shows it.
        for Failed { path, reason } in self.failures.iter().take(MOST_LISTED) {
            let _ = writeln!(complaints, "deburr: {path}: {reason}");
        }
        if let Some(more) = self.failures.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
            let _ = writeln!(
                complaints,
                "deburr: and {more} more failures, as column error of the table files has them"
            );
        }
    }

    pub(super) fn write(&self, format: Format, tables: &Path, out: &mut dyn Write) -> io::Result<()> {
        let Summary { items, kept, checked, elapsed_seconds, shard, failures, .. } = self;
        if format == Format::Json {
            serde_json::to_writer(&mut *out, self)?;
            return writeln!(out);
        }
        let failures = failures.len();
        writeln!(
            out,
            "{items} in the archive: {kept} as before, {checked} checked, in {elapsed_seconds:.1} s; failures: {failures}"
        )?;
        writeln!(out, "{}: shard {shard}", tables.display())
    }
}
