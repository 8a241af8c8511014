//! The rows of what was checked before, each under a name made of what they depend on.
//!
//! The name is a hash of the content, the path below the archive, the options, and this very program. So a later scan, and
//! another machine, find the rows of what has not changed, and of nothing else. An entry gets its name when it is whole, and
//! has a hash of itself and of its name: whatever a killed run, a full disk or a faulty one left is checked again, and an entry
//! that was moved to another name as well.
//!
//! An entry is [`MAGIC`], frames of rows ([`deburr_tables::Stored`]), the faults as JSON, and a trailer: their length, whether to
//! try again, the run, and a hash of all and of the name.

use crate::input::mapped::Bytes;
use crate::output;
use crate::output::temporary::TemporaryFile;
use crate::sha256::sha256;
use crate::system_error::error_text;
use deburr_tables::TABLES_VERSION;
use deburr_text::ShownPath as _;
use sha2::{Digest, Sha256};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 14] = b"deburr rows 2\n";
/// Bytes of the trailer before the hash.
const TRAILER: usize = 4 + 1 + 8;
const HASH: usize = 32;
/// The maximum of faults that are kept of one item.
const MOST_FAULTS: usize = 1000;

/// What could not be checked of an item: path and reason.
pub(super) type Fault = (String, String);

/// The rows of earlier scans.
pub(super) struct Cache {
    folder: PathBuf,
    /// A hash of what all rows depend on, other than their item.
    options: String,
}

/// The name of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

/// An entry that is there as a whole.
pub(super) struct Kept {
    bytes: Bytes,
    faults_at: usize,
    pub(super) faults: Vec<Fault>,
    /// Whether the item itself could not be read: another scan tries again.
    tries_again: bool,
    run: i64,
}

impl Kept {
    /// The frames.
    pub(super) fn rows(&self) -> &[u8] {
        self.bytes.get(MAGIC.len()..self.faults_at).unwrap_or_default()
    }
}

impl Cache {
    /// `options`: all that decides about rows, in words. `program`: the file of this very code.
    ///
    /// # Errors
    /// With the path, for people; so for all that follow.
    pub(super) fn open(folder: &Path, options: &str, program: &Path) -> Result<Cache, String> {
        let folder = output::folder(&output::folder(folder)?.join("rows"))?;
        let program = Bytes::open(program).map_or_else(
            // Without /proc: all builds of a version are taken for the same.
            |_| env!("CARGO_PKG_VERSION").to_owned(),
            |bytes| sha256([&*bytes]),
        );
        let version = TABLES_VERSION.to_string();
        let options = sha256([program.as_bytes(), b"\0", version.as_bytes(), b"\0", options.as_bytes()]);
        Ok(Cache { folder, options })
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.folder.read_dir().is_ok_and(|mut entries| entries.next().is_none())
    }

    /// The name of the rows of an item.
    pub(super) fn key(&self, path: &str, sha256_of_item: &str) -> Key {
        let parts = [self.options.as_bytes(), b"\0", sha256_of_item.as_bytes(), b"\0", path.as_bytes()];
        Key(sha256(parts))
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.0.get(..2).unwrap_or_default()).join(&key.0)
    }

    /// The entry of that name, if it is there as a whole.
    pub(super) fn get(&self, key: &Key) -> Option<Kept> {
        let bytes = Bytes::open(&self.path(key)).ok()?;
        let (content, hash) = bytes.split_last_chunk::<HASH>()?;
        if Sha256::new_with_prefix(content).chain_update(&key.0).finalize().as_slice() != hash
            || !bytes.is_intact()
        {
            return None;
        }
        let (content, trailer) = content.split_last_chunk::<TRAILER>()?;
        let ([l0, l1, l2, l3, tries_again], run) = trailer.split_first_chunk::<5>()?;
        let length = usize::try_from(u32::from_le_bytes([*l0, *l1, *l2, *l3])).ok()?;
        let faults_at = content.len().checked_sub(length)?;
        let faults = serde_json::from_slice(content.get(faults_at..)?).ok()?;
        content.strip_prefix(MAGIC)?;
        let (tries_again, run) = (*tries_again != 0, i64::from_le_bytes(run.try_into().ok()?));
        Some(Kept { faults_at, faults, tries_again, run, bytes })
    }

    /// The entry of that name, if it answers a scan: one whose item could not be read does so only for its own.
    pub(super) fn answer(&self, key: &Key, run: i64) -> Option<Kept> {
        self.get(key).filter(|kept| !kept.tries_again || kept.run == run)
    }

    /// Begins an entry.
    pub(super) fn begin(&self) -> Result<Entry<'_>, String> {
        let failed = |error: io::Error| format!("{}: {}", self.folder.shown(), error_text(&error));
        let file = TemporaryFile::next_to(&self.folder.join("entry"), 0o666).map_err(failed)?;
        let out = BufWriter::new(file.file.try_clone().map_err(failed)?);
        let mut entry = Entry { cache: self, file, out, hash: Sha256::new() };
        entry.append(MAGIC).map_err(failed)?;
        Ok(entry)
    }
}

/// An entry that is written; the errors of writing name the folder.
pub(super) struct Entry<'c> {
    cache: &'c Cache,
    file: TemporaryFile,
    out: BufWriter<std::fs::File>,
    hash: Sha256,
}

impl Write for Entry<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let named =
            |error| io::Error::other(format!("{}: {}", self.cache.folder.shown(), error_text(&error)));
        self.append(bytes).map(|()| bytes.len()).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Entry<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Ends it, and gives it its name. `tries_again`: whether only the scan of this run may take it.
    pub(super) fn keep(
        mut self,
        key: &Key,
        faults: &[Fault],
        (tries_again, run): (bool, i64),
    ) -> Result<(), String> {
        let path = self.cache.path(key);
        self.end(key, &path, faults, (tries_again, run))
            .map_err(|error| format!("{}: {}", path.shown(), error_text(&error)))
    }

    fn end(
        &mut self,
        key: &Key,
        path: &Path,
        faults: &[Fault],
        (tries_again, run): (bool, i64),
    ) -> io::Result<()> {
        let faults = serde_json::to_vec(faults.get(..MOST_FAULTS).unwrap_or(faults))?;
        let length = u32::try_from(faults.len()).map_err(io::Error::other)?;
        self.append(&faults)?;
        self.append(&length.to_le_bytes())?;
        self.append(&[u8::from(tries_again)])?;
        self.append(&run.to_le_bytes())?;
        let hash = std::mem::take(&mut self.hash).chain_update(&key.0).finalize();
        self.out.write_all(&hash)?;
        self.out.flush()?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        self.file.rename_to(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

    fn open(folder: &Path, options: &str) -> Result<Cache, String> {
        Cache::open(folder, options, Path::new("/proc/self/exe"))
    }

    fn kept(cache: &Cache, key: &Key, faults: &[Fault], again: (bool, i64)) {
        let mut entry = cache.begin().unwrap();
        entry.write_all(b"frames").unwrap();
        entry.keep(key, faults, again).unwrap();
    }

    #[test]
    fn an_entry_is_found_by_all_that_it_depends_on() {
        let folder = Scratch::new("scan-cache-key");
        let cache = open(folder.path(), "options").unwrap();
        assert!(cache.is_empty());
        let key = cache.key("a.deb", "00");
        let faults = [("a.deb!x".to_owned(), "no ELF file".to_owned())];
        kept(&cache, &key, &faults, (false, 1));
        assert!(!cache.is_empty());
        let found = cache.answer(&key, 2).unwrap();
        assert_eq!((found.rows(), found.faults.as_slice()), (b"frames".as_slice(), faults.as_slice()));
        let other = open(folder.path(), "other options").unwrap();
        for (cache, path, hash) in [(&cache, "b.deb", "00"), (&cache, "a.deb", "01"), (&other, "a.deb", "00")]
        {
            assert!(cache.answer(&cache.key(path, hash), 2).is_none(), "{path} {hash}");
        }
        let program = Cache::open(folder.path(), "options", Path::new("/dev/null")).unwrap();
        assert!(program.answer(&key, 2).is_some(), "by its own name");
        assert!(program.answer(&program.key("a.deb", "00"), 2).is_none(), "another program");
        // What is in one part of a name cannot move to the next.
        assert_ne!(cache.key("b", "a"), cache.key("", "a\0b"));
    }

    #[test]
    fn what_could_not_be_read_is_tried_again_by_another_run() {
        let folder = Scratch::new("scan-cache-again");
        let cache = open(folder.path(), "").unwrap();
        let key = cache.key("a.deb", "00");
        kept(&cache, &key, &[], (true, 1));
        assert!(cache.answer(&key, 1).is_some());
        assert!(cache.answer(&key, 2).is_none());
        assert!(cache.get(&key).is_some());
    }

    #[test]
    fn an_entry_that_is_not_whole_is_none() {
        let folder = Scratch::new("scan-cache-cut");
        let cache = open(folder.path(), "").unwrap();
        let key = cache.key("a.deb", "00");
        kept(&cache, &key, &[("a".to_owned(), "b".to_owned())], (false, 1));
        let path = cache.path(&key);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(cache.get(&key).is_none(), "{length} of {} bytes", whole.len());
        }
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 1;
            std::fs::write(&path, &other).unwrap();
            assert!(cache.get(&key).is_none(), "byte {at}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(cache.get(&key).is_some());
        // An entry answers for its own item alone.
        let other = cache.key("b.deb", "00");
        std::fs::create_dir_all(cache.path(&other).parent().unwrap()).unwrap();
        std::fs::rename(&path, cache.path(&other)).unwrap();
        assert!(cache.get(&other).is_none());
    }

    #[test]
    fn an_entry_that_is_not_kept_leaves_nothing() {
        let folder = Scratch::new("scan-cache-dropped");
        let cache = open(folder.path(), "").unwrap();
        let mut entry = cache.begin().unwrap();
        entry.write_all(b"frames").unwrap();
        drop(entry);
        assert!(cache.is_empty());
    }
}
