//! Which shards a scan has written: the same run of the same archive, written again with other rows, replaces them.
//!
//! `DIR/scans/SCAN.I-of-N`, with the names of the shards. SCAN is a hash of the run and the archive. The note is made before the
//! shard, so that a scan that is killed between the two is replaced as well: what never got its name is nowhere to be removed.

use crate::output;
use crate::output::shard::remove_shard;
use crate::product::scan_item::Part;
use crate::sha256::sha256;
use deburr_text::ShownPath as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The note of one part of a scan.
pub(super) struct Note {
    tables: PathBuf,
    file: PathBuf,
}

impl Note {
    /// `archive`: what distinguishes the archive, and what is wanted of it, from others.
    ///
    /// # Errors
    /// Where the same run was divided into another number of parts: some rows would be there twice.
    pub(super) fn of(tables: &Path, run: i64, archive: &str, part: Part) -> Result<Note, String> {
        let folder = output::folder(&tables.join("scans"))?;
        let scan = sha256([run.to_string().as_bytes(), b"\0", archive.as_bytes()]);
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let parts: Vec<String> = names
            .filter_map(|name| {
                name.strip_prefix(&format!("{scan}."))?.split_once("-of-").map(|it| it.1.to_owned())
            })
            .collect();
        if let Some(other) = parts.iter().find(|other| **other != part.of.to_string()) {
            return Err(format!(
                "{}: this run of the archive was begun in {other} parts, and not in {}",
                tables.shown(),
                part.of
            ));
        }
        let file = folder.join(format!("{scan}.{}-of-{}", part.number, part.of));
        Ok(Note { tables: tables.to_owned(), file })
    }

    /// Notes a shard that will get its name, and removes those that it replaces. For who names it, and lets nobody else.
    pub(super) fn replace(&self, shard: &str) -> Result<(), String> {
        let before = fs::read_to_string(&self.file).unwrap_or_default();
        let before: Vec<&str> = before.lines().filter(|name| is_shard(name) && *name != shard).collect();
        let names: String = before.iter().chain([&shard]).map(|name| format!("{name}\n")).collect();
        output::write(&self.file, names.as_bytes(), &[])?;
        before.into_iter().try_for_each(|before| remove_shard(&self.tables, before))
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

    fn note(folder: &Scratch, run: i64, archive: &str, part: (u64, u64)) -> Result<Note, String> {
        Note::of(folder.path(), run, archive, Part { number: part.0, of: part.1 })
    }

    #[test]
    fn only_shards_of_the_same_scan_are_replaced() {
        let folder = Scratch::new("scan-notes");
        let name = |digit: char| digit.to_string().repeat(32);
        let file =
            |table: Table, digit| folder.path().join(table.name()).join(format!("{}.parquet", name(digit)));
        for table in Table::ALL {
            fs::create_dir_all(folder.path().join(table.name())).unwrap();
            for digit in ['a', 'b', 'c', 'd'] {
                fs::write(file(table, digit), "").unwrap();
            }
        }
        let there = || ['a', 'b', 'c', 'd'].map(|digit| file(Table::Files, digit).exists());
        let replace =
            |run, archive, digit| note(&folder, run, archive, (1, 1)).unwrap().replace(&name(digit)).unwrap();
        replace(1, "one", 'a');
        replace(2, "one", 'b');
        replace(1, "other", 'b');
        replace(1, "one", 'a');
        assert_eq!(there(), [true; 4], "the same rows again");
        replace(1, "one", 'c');
        assert_eq!(there(), [false, true, true, true]);
        // The scan that would have written it was killed before it did; a third one replaces both.
        fs::write(file(Table::Files, 'a'), "").unwrap();
        replace(1, "one", 'd');
        assert_eq!(there(), [false, true, false, true]);
        let own = note(&folder, 1, "one", (1, 1)).unwrap();
        fs::write(&own.file, "../../../etc/passwd\n").unwrap();
        own.replace(&name('b')).unwrap();
    }

    #[test]
    fn a_run_is_divided_once() {
        let folder = Scratch::new("scan-divided");
        let shard = "a".repeat(32);
        note(&folder, 1, "one", (2, 3)).unwrap().replace(&shard).unwrap();
        for (run, archive, part, is_right) in [
            (1, "one", (1, 3), true),
            (1, "one", (1, 2), false),
            (1, "one", (1, 1), false),
            (2, "one", (1, 2), true),
            (1, "other", (1, 2), true),
        ] {
            assert_eq!(note(&folder, run, archive, part).is_ok(), is_right, "{run} {archive} {part:?}");
        }
    }
}
