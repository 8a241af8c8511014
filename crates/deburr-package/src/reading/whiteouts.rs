//! What the layers above hide: files that they have themselves, and what their whiteouts name.
//!
//! image-spec, "Image Layer Filesystem Changeset". In: names in the order of a layer, layers from the last to
//! the first. Out: whether a file shows in the image.

use crate::name::tidied;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// The names that the layers above have taken: by hashes of 128 bits that nobody can foresee, so that a
/// million names take little and no image can make two of them meet.
#[derive(Default)]
pub(crate) struct Covered {
    keys: (RandomState, RandomState),
    above: HashSet<u128>,
    /// Those of the layer in hand, which hide nothing in it.
    own: Vec<u128>,
}

impl Covered {
    /// Takes note of a name in the layer in hand; whether it is a file or directory that shows in the image.
    pub(crate) fn is_new(&mut self, name: &[u8], is_directory: bool) -> bool {
        let (folder, file) = match name.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (name.get(..at).unwrap_or_default(), name.get(at + 1..).unwrap_or_default()),
            None => (&b""[..], name),
        };
        if file == b".wh..wh..opq" {
            self.own.push(self.hash(folder));
            return false;
        }
        if let Some(hidden) = file.strip_prefix(b".wh.") {
            let path = if folder.is_empty() { hidden.to_vec() } else { [folder, hidden].join(&b'/') };
            self.own.push(self.hash(&path));
            return false;
        }
        let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let is_hidden = std::iter::once(0)
            .chain(ends)
            .chain([name.len()])
            .any(|end| self.above.contains(&self.hash(name.get(..end).unwrap_or_default())));
        if !is_directory {
            self.own.push(self.hash(tidied(name)));
        }
        !is_hidden
    }

    /// The layer in hand is done: what it has hides what comes below.
    pub(super) fn settle(&mut self) {
        self.above.extend(self.own.drain(..));
    }

    fn hash(&self, name: &[u8]) -> u128 {
        u128::from(self.keys.0.hash_one(name)) << 64 | u128::from(self.keys.1.hash_one(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_layer_hides_files_and_whiteouts_hide_folders() {
        let mut covered = Covered::default();
        assert!(covered.is_new(b"usr/bin/a", false));
        assert!(!covered.is_new(b"usr/lib/.wh.old", false));
        assert!(!covered.is_new(b"opt/.wh..wh..opq", false));
        assert!(covered.is_new(b"opt/new", false), "an opaque folder hides nothing of its own layer");
        covered.settle();
        assert!(!covered.is_new(b"usr/bin/a", false));
        assert!(covered.is_new(b"usr/bin/ab", false));
        assert!(!covered.is_new(b"usr/lib/old/x.so", false));
        assert!(!covered.is_new(b"opt/b", false));
        assert!(covered.is_new(b"usr/lib", true));
    }
}
