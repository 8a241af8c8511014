//! `--format parquet=DIR`: reports → the shard of this run.

use crate::batch::artefact::Artefact;
use crate::cmd::failure::Failure;
use crate::identity::Identity;
use crate::input::walk::Skipped;
use crate::output::shard::{Place, ShardFiles};
use deburr_core::report::AcrossFinding;
use deburr_tables::{Error, FileOf, Rows, Shard};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The shard that is written.
pub(super) struct Tables {
    rows: Rows<Shard<Place>>,
    files: ShardFiles,
    /// Files that are no input.
    pub(super) identities: Vec<Identity>,
}

impl Tables {
    /// Opens the files, before anything is read: what cannot be written should fail at once.
    pub(super) fn open(folder: &Path) -> Result<Tables, Failure> {
        let (files, shard) = ShardFiles::open(folder).map_err(Failure::Message)?;
        // A clock before 1970 is wrong, and no reason to fail.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        Ok(Tables { rows: Rows::new(run, shard), identities: files.identities(), files })
    }

    /// Begins an artefact.
    pub(super) fn artefact(&mut self, artefact: &Artefact) -> Result<(), Failure> {
        self.rows.artefact(&artefact.row()).map_err(failed)
    }

    /// Adds a file.
    pub(super) fn file(&mut self, file: FileOf<'_>) -> Result<(), Failure> {
        self.rows.file(file).map_err(failed)
    }

    /// Adds what was not checked.
    pub(super) fn skip(&mut self, skip: &Skipped) -> Result<(), Failure> {
        self.rows.failure(&skip.path, &skip.reason).map_err(failed)
    }

    /// Writes what is left, and gives the files their name.
    pub(super) fn end(mut self, across: &[AcrossFinding]) -> Result<(), Failure> {
        self.rows.across(across).map_err(failed)?;
        let shard = self.rows.finish().map_err(failed)?;
        self.files.publish(shard).map(drop).map_err(Failure::Message)
    }
}

fn failed(error: Error) -> Failure {
    Failure::Message(error.to_string())
}
