//! The hashes of files that were read before: path, size and times → SHA-256, so that what has not changed is not read.
//!
//! A file counts as the same by its size, both times and its inode. A file that had changed shortly before it was hashed, or
//! later than the clock says, is hashed again: a second change might leave the same times.

use crate::clock::since_1970;
use crate::input::mapped::Bytes;
use crate::output;
use crate::sha256::sha256;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What tells whether a file has changed. Times are nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    size: u64,
    modified: i128,
    changed: i128,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Stamp {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Stamp {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// Whether a change after that moment would show: times of files may be as coarse as two seconds.
    fn is_settled(self, moment: i128) -> bool {
        self.modified.max(self.changed) + 2_000_000_000 < moment
    }
}

/// The hashes.
#[derive(Debug, Default)]
pub(super) struct Hashes {
    file: PathBuf,
    known: HashMap<String, (Stamp, String)>,
    is_new: bool,
}

impl Hashes {
    /// Those of a file, which may be missing or broken: then none is known.
    pub(super) fn read(file: &Path) -> Hashes {
        let known = fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Hashes { file: file.to_owned(), known: known.unwrap_or_default(), is_new: false }
    }

    /// The hash of a file that has not changed since it was noted.
    pub(super) fn known(&self, path: &str, stamp: Stamp) -> Option<&str> {
        self.known.get(path).filter(|(known, _)| *known == stamp).map(|(_, sha256)| sha256.as_str())
    }

    /// Notes what bytes hashed to that were read since `moment`, when the file had that stamp, as it has afterwards.
    pub(super) fn note(&mut self, path: &str, stamp: Stamp, moment: Moment, sha256: &str) {
        if stamp.is_settled(moment.0) && self.known(path, stamp) != Some(sha256) {
            self.known.insert(path.to_owned(), (stamp, sha256.to_owned()));
            self.is_new = true;
        }
    }

    /// Writes them, if there is something new.
    pub(super) fn write(&self) -> Result<(), String> {
        if !self.is_new {
            return Ok(());
        }
        let text = serde_json::to_vec(&self.known).map_err(|error| error.to_string())?;
        output::write(&self.file, &text, &[])
    }
}

/// A moment, by this machine's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(i128);

impl Moment {
    pub(super) fn now() -> Moment {
        Moment(i128::try_from(since_1970().as_nanos()).unwrap_or(0))
    }
}

/// The hash of a file, with what it was before and after: `None` where it changed meanwhile.
pub(super) fn hash(path: &Path) -> io::Result<Option<(Stamp, Moment, String)>> {
    let moment = Moment::now();
    let before = Stamp::of(&fs::metadata(path)?);
    let bytes = Bytes::open(path)?;
    let sha256 = sha256([&*bytes]);
    let is_same = bytes.is_intact() && Stamp::of(&fs::metadata(path)?) == before;
    Ok(is_same.then_some((before, moment, sha256)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

    #[test]
    fn only_what_had_settled_is_known_again() {
        let folder = Scratch::new("scan-hashes");
        let stamp = |changed| Stamp { size: 1, modified: 5, changed, inode: 7 };
        let at = |seconds: i128| Moment(seconds * 1_000_000_000);
        let mut hashes = Hashes::read(&folder.path().join("hashes"));
        hashes.note("just now", stamp(9_000_000_000), at(10), "aa");
        hashes.note("later than the clock", stamp(90_000_000_000), at(10), "bb");
        hashes.note("long ago", stamp(1_000_000_000), at(10), "cc");
        hashes.write().unwrap();
        let hashes = Hashes::read(&folder.path().join("hashes"));
        assert_eq!(hashes.known("long ago", stamp(1_000_000_000)), Some("cc"));
        assert_eq!(hashes.known("long ago", stamp(1_000_000_001)), None, "its time is another");
        assert_eq!(hashes.known("just now", stamp(9_000_000_000)), None);
        assert_eq!(hashes.known("later than the clock", stamp(90_000_000_000)), None);
    }

    #[test]
    fn a_broken_file_knows_nothing() {
        let folder = Scratch::new("scan-hashes-broken");
        let file = folder.path().join("hashes");
        for text in ["", "{", "[]", "{\"a\":1}", "null"] {
            fs::write(&file, text).unwrap();
            assert!(Hashes::read(&file).known.is_empty(), "{text}");
        }
    }
}
