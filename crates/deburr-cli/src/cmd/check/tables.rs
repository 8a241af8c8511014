//! Tables: reports → the shard of this run (`--format parquet=DIR`), or record batches for the caller.

use crate::batch::artefact::Artefact;
use crate::clock::microseconds;
use crate::cmd::failure::Failure;
use crate::identity::Identity;
use crate::input::walk::Skipped;
use crate::output::shard::{Place, ShardFiles};
use deburr_core::report::AcrossFinding;
use deburr_tables::{Batches, Error, FileOf, RecordBatch, Rows, Shard, Table};
use std::path::Path;

/// Where rows go.
enum Taker<'o> {
    /// The shard that is written. Boxed, as it is much larger than the other.
    Shard(Box<(Shard<Place>, ShardFiles)>),
    /// The memory of the caller.
    Memory(&'o mut Vec<(Table, RecordBatch)>),
}

impl Batches for Taker<'_> {
    type Error = Error;

    fn take(&mut self, table: Table, rows: RecordBatch) -> Result<(), Error> {
        match self {
            Taker::Shard(shard) => shard.0.take(table, rows),
            Taker::Memory(batches) => batches.take(table, rows).map_err(Error::from),
        }
    }
}

/// The rows of this run.
pub(super) struct Tables<'o> {
    rows: Rows<Taker<'o>>,
    /// Files that are no input.
    pub(super) identities: Vec<Identity>,
}

impl<'o> Tables<'o> {
    /// Opens the files, before anything is read: what cannot be written should fail at once.
    pub(super) fn open(folder: &Path) -> Result<Tables<'o>, Failure> {
        let (files, shard) = ShardFiles::open(folder).map_err(Failure::Message)?;
        let identities = files.identities();
        Ok(Tables { rows: Rows::new(microseconds(), Taker::Shard(Box::new((shard, files)))), identities })
    }

    /// Rows for the caller.
    pub(super) fn in_memory(batches: &'o mut Vec<(Table, RecordBatch)>) -> Tables<'o> {
        Tables { rows: Rows::new(microseconds(), Taker::Memory(batches)), identities: Vec::new() }
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
        match self.rows.finish().map_err(failed)? {
            Taker::Shard(shard) => {
                let (shard, files) = *shard;
                files.publish(shard, |_| Ok(())).map(drop).map_err(Failure::Message)
            }
            Taker::Memory(_) => Ok(()),
        }
    }
}

fn failed(error: Error) -> Failure {
    Failure::Message(error.to_string())
}
