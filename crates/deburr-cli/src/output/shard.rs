//! The four files of a shard of tables: open without their names, and named at once when they are whole.
//!
//! In: a directory. Out: `DIR/files/NAME.parquet` and the like. The artefacts get their name last: a shard whose artefacts
//! are there is there as a whole.

use super::folder;
use super::temporary::TemporaryFile;
use crate::identity::{Identity, identity};
use crate::system_error::error_text;
use deburr_tables::{Shard, Table};
use deburr_text::ShownPath as _;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files without their names, the artefacts last.
pub(crate) struct ShardFiles {
    folder: PathBuf,
    temporaries: Vec<Temporary>,
}

/// A table's file without its name.
struct Temporary {
    folder: PathBuf,
    file: TemporaryFile,
}

/// Where a table is written to; its errors name the folder.
pub(crate) struct Place {
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
    format!("{}: {}", path.shown(), error_text(error))
}

impl ShardFiles {
    /// Opens the files, before anything is read: what cannot be written should fail at once.
    ///
    /// # Errors
    /// With the path, for people; so for all that follow.
    pub(crate) fn open(tables: &Path) -> Result<(ShardFiles, Shard<Place>), String> {
        let (mut temporaries, mut places) = (Vec::new(), Vec::new());
        for table in Table::ALL {
            let folder = folder(&tables.join(table.name()))?;
            let failed = |error: io::Error| fault(&folder, &error);
            let file = TemporaryFile::next_to(&folder.join("shard"), 0o666).map_err(failed)?;
            let out = file.file.try_clone().map_err(failed)?;
            places.push((table, Place { folder: folder.clone(), out }));
            temporaries.push(Temporary { folder, file });
        }
        let shard = Shard::new(places).map_err(|error| error.to_string())?;
        Ok((ShardFiles { folder: tables.to_owned(), temporaries }, shard))
    }

    /// Files that are no input.
    pub(crate) fn identities(&self) -> Vec<Identity> {
        let metadata = self.temporaries.iter().filter_map(|it| it.file.file.metadata().ok());
        metadata.map(|it| identity(&it)).collect()
    }

    /// Writes what is left, and gives the files their name, which it returns. `before` is run when that is known, and nothing has
    /// it yet, while no other process names or removes a shard in the directory.
    pub(crate) fn publish(
        self,
        shard: Shard<Place>,
        before: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<String, String> {
        let name = shard.finish().map_err(|error| error.to_string())?;
        for it in &self.temporaries {
            // A disk that is full may say so only now.
            it.file.file.sync_all().map_err(|error| fault(&it.folder, &error))?;
        }
        // A shard of the same rows may be there, with another time: the two never mix, as there are no artefacts of that
        // name until all is of one run.
        let _lock = locked(&self.folder)?;
        before(&name)?;
        remove(&self.folder, Table::Artefacts, &name)?;
        for Temporary { folder, mut file } in self.temporaries {
            let path = folder.join(file_name(&name));
            file.rename_to(&path).map_err(|error| fault(&path, &error))?;
        }
        Ok(name)
    }
}

fn file_name(shard: &str) -> String {
    format!("{shard}.parquet")
}

/// The directory, for this process alone until the file is closed.
fn locked(folder: &Path) -> Result<File, String> {
    let lock = File::open(folder).map_err(|error| fault(folder, &error))?;
    // Some file systems have no locks: there, equal runs at the same moment are the user's to avoid.
    let _ = flock(&lock, FlockOperation::LockExclusive);
    Ok(lock)
}

fn remove(folder: &Path, table: Table, shard: &str) -> Result<(), String> {
    let path = folder.join(table.name()).join(file_name(shard));
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault(&path, &error)),
        _ => Ok(()),
    }
}

/// Removes a shard, the artefacts first: what is left of it counts nowhere. For who publishes another in its place.
pub(crate) fn remove_shard(folder: &Path, shard: &str) -> Result<(), String> {
    Table::ALL.into_iter().rev().try_for_each(|table| remove(folder, table, shard))
}
