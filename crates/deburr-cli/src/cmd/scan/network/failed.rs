//! The items that could not be fetched or read: the next scan begins with them, before a server is tired of it again.

use crate::output;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The failures of one scan, in a file of the cache.
pub(crate) struct LastFailed {
    file: PathBuf,
    paths: BTreeSet<String>,
}

impl LastFailed {
    /// Those of a file, which may be missing or broken: then there are none.
    pub(crate) fn read(file: &Path) -> LastFailed {
        let paths = fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        LastFailed { file: file.to_owned(), paths: paths.unwrap_or_default() }
    }

    /// Whether an item failed.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Puts the failures of this scan in their place.
    ///
    /// # Errors
    /// With the path, for people.
    pub(crate) fn replace(&mut self, paths: BTreeSet<String>) -> Result<(), String> {
        if self.paths == paths {
            return Ok(());
        }
        self.paths = paths;
        let text = serde_json::to_vec(&self.paths).map_err(|error| error.to_string())?;
        output::write(&self.file, &text, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

    #[test]
    fn what_failed_is_known_to_the_next_scan() {
        let scratch = Scratch::new("scan-failed");
        let file = scratch.join("failed");
        let mut last = LastFailed::read(&file);
        assert!(!last.has("a.deb"));
        last.replace(["a.deb".to_owned()].into()).unwrap();
        let mut next = LastFailed::read(&file);
        assert!(next.has("a.deb") && !next.has("b.deb"));
        next.replace(BTreeSet::new()).unwrap();
        assert!(!LastFailed::read(&file).has("a.deb"));
        fs::write(&file, "{").unwrap();
        assert!(!LastFailed::read(&file).has("a.deb"));
    }
}
