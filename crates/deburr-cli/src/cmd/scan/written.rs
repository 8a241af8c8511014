//! Which shard a scan wrote last: the same run of the same archive, written again with other rows, replaces it.
//!
//! `DIR/scans/NAME`, with the name of the shard: NAME is a hash of the run, the archive and the part of it.

use crate::output::Output;
use crate::output::shard::remove_shard;
use crate::sha256::sha256;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The note of one scan.
pub(super) struct Note {
    tables: PathBuf,
    file: PathBuf,
}

impl Note {
    /// `scan`: what distinguishes it from others, in words.
    pub(super) fn of(tables: &Path, run: i64, scan: &str) -> Note {
        let name = sha256([run.to_string().as_bytes(), b"\0", scan.as_bytes()]);
        Note { tables: tables.to_owned(), file: tables.join("scans").join(name) }
    }

    /// Notes a shard that is written, and removes the one that it stands for.
    pub(super) fn replace(&self, shard: &str) -> Result<(), String> {
        let before = fs::read_to_string(&self.file).ok().filter(|name| is_shard(name) && name != shard);
        if let Some(before) = before {
            remove_shard(&self.tables, &before)?;
        }
        crate::output::folder(&self.tables.join("scans"))?;
        let mut out = Output::open(&self.file, &[])?;
        out.write_all(shard.as_bytes()).map_err(|error| format!("{}: {error}", self.file.display()))?;
        out.finish()
    }
}

/// Whether a text is the name of a shard: nothing else is ever removed.
fn is_shard(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_tables::Table;
    use deburr_test_support::Scratch;

    #[test]
    fn only_the_shard_of_the_same_scan_is_replaced() {
        let folder = Scratch::new("scan-notes");
        let name = |digit: char| digit.to_string().repeat(32);
        for digit in ['a', 'b', 'c'] {
            for table in Table::ALL {
                fs::create_dir_all(folder.path().join(table.name())).unwrap();
                fs::write(folder.path().join(table.name()).join(format!("{}.parquet", name(digit))), "")
                    .unwrap();
            }
        }
        let is_there = |digit| folder.path().join("files").join(format!("{}.parquet", name(digit))).exists();
        Note::of(folder.path(), 1, "one").replace(&name('a')).unwrap();
        Note::of(folder.path(), 2, "one").replace(&name('b')).unwrap();
        Note::of(folder.path(), 1, "other").replace(&name('b')).unwrap();
        assert!(is_there('a') && is_there('b') && is_there('c'));
        Note::of(folder.path(), 1, "one").replace(&name('a')).unwrap();
        assert!(is_there('a'), "the same rows again");
        Note::of(folder.path(), 1, "one").replace(&name('c')).unwrap();
        assert!(!is_there('a') && is_there('b') && is_there('c'));
        fs::write(Note::of(folder.path(), 1, "one").file, "../../../etc/passwd").unwrap();
        Note::of(folder.path(), 1, "one").replace(&name('b')).unwrap();
    }
}
