//! `--format parquet=DIR`: reports → the shard of this run, a file in the folder of each table.
//!
//! In: artefacts and what is in them, in order. Out: `DIR/files/NAME.parquet` and the like, under temporary names until all
//! are whole. The artefacts get their name last: a shard whose artefacts are there is there as a whole.

use crate::batch::artefact::Artefact;
use crate::cmd::failure::Failure;
use crate::identity::{Identity, identity};
use crate::input::walk::Skipped;
use crate::output;
use crate::output::temporary::TemporaryFile;
use crate::system_error::error_text;
use deburr_core::report::AcrossFinding;
use deburr_tables::{ArtefactOf, Error, FileOf, Rows, Shard, Table};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The shard that is written.
pub(super) struct Tables {
    rows: Rows<Shard<Place>>,
    files: Unnamed,
    /// Files that are no input.
    pub(super) identities: Vec<Identity>,
}

/// The files without their names, the artefacts last.
struct Unnamed {
    folder: PathBuf,
    temporaries: Vec<Temporary>,
}

/// A table's file without its name.
struct Temporary {
    folder: PathBuf,
    file: TemporaryFile,
}

/// Where a table is written to; its errors name the folder.
struct Place {
    folder: PathBuf,
    out: File,
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| io::Error::other(fault(&self.folder, &error)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fault(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), error_text(error))
}

impl Tables {
    /// Opens the files, before anything is read: what cannot be written should fail at once.
    pub(super) fn open(folder: &Path) -> Result<Tables, Failure> {
        let (mut temporaries, mut places) = (Vec::new(), Vec::new());
        for table in Table::ALL {
            let folder = output::folder(&folder.join(table.name())).map_err(Failure::Message)?;
            let failed = |error: io::Error| Failure::Message(fault(&folder, &error));
            let file = TemporaryFile::next_to(&folder.join("shard"), 0o666).map_err(failed)?;
            let out = file.file.try_clone().map_err(failed)?;
            places.push((table, Place { folder: folder.clone(), out }));
            temporaries.push(Temporary { folder, file });
        }
        let identities = temporaries.iter().filter_map(|it| it.file.file.metadata().ok());
        let identities = identities.map(|it| identity(&it)).collect();
        // A clock before 1970 is wrong, and no reason to fail.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let shard = Shard::new(places).map_err(failed)?;
        let files = Unnamed { folder: folder.to_owned(), temporaries };
        Ok(Tables { rows: Rows::new(run, shard), files, identities })
    }

    /// Begins an artefact.
    pub(super) fn artefact(&mut self, artefact: &Artefact) -> Result<(), Failure> {
        let of = ArtefactOf {
            path: &artefact.path,
            kind: artefact.kind,
            sha256: artefact.sha256.as_deref(),
            bytes: artefact.bytes,
            package: artefact.identity.name.as_deref(),
            version: artefact.identity.version.as_deref(),
            architecture: artefact.identity.architecture.as_deref(),
            built: artefact.identity.built,
            claims: &artefact.claims,
            tool_version: env!("CARGO_PKG_VERSION"),
        };
        self.rows.artefact(&of).map_err(failed)
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
        let name = self.rows.finish().and_then(Shard::finish).map_err(failed)?;
        for it in &self.files.temporaries {
            // A disk that is full may say so only now.
            it.file.file.sync_all().map_err(|error| Failure::Message(fault(&it.folder, &error)))?;
        }
        self.files.publish(&format!("{name}.parquet"))
    }
}

impl Unnamed {
    /// Gives the files their name. A shard of the same rows may be there, with another time: the two never mix, as there
    /// are no artefacts of that name until all is of one run.
    fn publish(self, name: &str) -> Result<(), Failure> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| Failure::Message(fault(&path, &error))
        };
        // Some file systems have no locks: there, equal runs at the same moment are the user's to avoid.
        let lock = File::open(&self.folder).map_err(failed(&self.folder))?;
        let _ = flock(&lock, FlockOperation::LockExclusive);
        let artefacts = self.folder.join(Table::Artefacts.name()).join(name);
        match fs::remove_file(&artefacts) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&artefacts)(error)),
            _ => {}
        }
        for Temporary { folder, mut file } in self.temporaries {
            let path = folder.join(name);
            file.rename_to(&path).map_err(failed(&path))?;
        }
        Ok(())
    }
}

fn failed(error: Error) -> Failure {
    Failure::Message(error.to_string())
}
