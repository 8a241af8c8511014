//! What a scan did, as text or JSON.

use crate::args::format::Format;
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// The failures that are listed one by one on the standard error.
const MOST_LISTED: usize = 200;

/// What a scan did; its JSON is described by `schema-scan.json`.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// The directory of the tables.
    #[serde(skip)]
    pub(crate) tables: PathBuf,
    /// The moment by which the tables know it, in seconds since 1970.
    pub(crate) run: f64,
    pub(crate) items: usize,
    /// Of these, whose rows were kept from before.
    pub(crate) kept: usize,
    pub(crate) checked: usize,
    /// Bytes of those that were checked, as the archive has them.
    pub(crate) bytes_checked: u64,
    pub(crate) shard: String,
    pub(crate) elapsed_seconds: f64,
    pub(crate) failures: Vec<Failed>,
}

/// A path that could not be checked.
#[derive(Debug, Serialize)]
pub(crate) struct Failed {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// What a scan of an archive would scan.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    pub(crate) packages: Vec<Listed>,
    /// What could not be listed.
    pub(crate) failures: Vec<Failed>,
}

/// A package of an archive.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    /// Below the archive; a URL where an index leads elsewhere.
    pub(crate) path: String,
    /// Bytes; 0 where the index does not say.
    pub(crate) size: u64,
    /// Where the index states it.
    pub(crate) sha256: Option<String>,
}

impl Summary {
    /// Lists the failures for people.
    pub(crate) fn complain(&self, complaints: &mut dyn Write) {
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

    pub(crate) fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let Summary { tables, items, kept, checked, elapsed_seconds, shard, failures, .. } = self;
        if format == Format::Json {
            serde_json::to_writer(&mut *out, self)?;
            return writeln!(out);
        }
        let failures = failures.len();
        writeln!(
            out,
            "{items} in the archive: {kept} as before, {checked} checked, in {elapsed_seconds:.1} s; failures: {failures}"
        )?;
        writeln!(out, "{}: shard {shard}", tables.shown())
    }
}
