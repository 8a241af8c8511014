//! Ids: the same for the same path in every run.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;

/// The id of a path, and which of several it is: 32 hexadecimal digits of a SHA-256.
pub(crate) fn id(path: &str, turn: u64) -> String {
    // No path has a zero byte, so that no two pairs are one text.
    let hash = Sha256::new().chain_update(path).chain_update([0]).chain_update(turn.to_le_bytes()).finalize();
    hexadecimal(&hash[..16])
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The ids of a run.
///
/// Paths are unique, but for three cases: an archive may have several members of one name, names that are no UTF-8 may look the
/// same, and a file may have a name that spells the path of a member. The first two are counted, the third is not: a path is all that a
/// comparison of files says of one.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// Artefacts of each path that may look like another.
    odd: Turns,
    /// Files of each path in the current artefact.
    files: Turns,
    /// What distinguishes the files of the current artefact from those of another that looks the same.
    base: u64,
}

/// How often each text was met, by a hash of it.
#[derive(Debug, Default)]
struct Turns(HashMap<[u8; 8], u64>);

impl Turns {
    /// How often it was met before.
    fn next(&mut self, text: &str) -> u64 {
        let hash: [u8; 32] = Sha256::digest(text).into();
        let [a, b, c, d, e, f, g, h, ..] = hash;
        let turns = self.0.entry([a, b, c, d, e, f, g, h]).or_default();
        *turns += 1;
        *turns - 1
    }
}

impl Ids {
    /// The next artefact's; the files that come are its own.
    pub(crate) fn artefact(&mut self, path: &str) -> String {
        self.files = Turns::default();
        self.base = self.base_of(path);
        id(path, self.base)
    }

    /// The next file's in the artefact.
    pub(crate) fn file(&mut self, path: &str) -> String {
        id(path, self.base + self.files.next(path))
    }

    /// The next file's that is in no artefact.
    pub(crate) fn lone(&mut self, path: &str) -> String {
        id(path, self.base_of(path))
    }

    fn base_of(&mut self, path: &str) -> u64 {
        if path.contains(char::REPLACEMENT_CHARACTER) { self.odd.next(path) << 32 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_members_of_one_artefact_have_ids_of_their_own_and_keep_them() {
        let mut ids = Ids::default();
        let mut of = || {
            ids.artefact("x.a");
            ["x.a(y.o)", "x.a(y.o)", "x.a(z.o)"].map(|path| ids.file(path))
        };
        let first = of();
        assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2]);
        assert_eq!(of(), first);
        assert_eq!(first[0], id("x.a(y.o)", 0));
        assert_eq!(first[0].len(), 32);
    }

    #[test]
    fn paths_that_only_look_the_same_have_ids_of_their_own() {
        let mut ids = Ids::default();
        let one = (ids.artefact("a\u{fffd}.so"), ids.file("a\u{fffd}.so"));
        let other = (ids.artefact("a\u{fffd}.so"), ids.file("a\u{fffd}.so"));
        assert!(one.0 != other.0 && one.1 != other.1);
        assert_ne!(ids.lone("a\u{fffd}.so"), other.1);
        assert_eq!(ids.lone("b"), ids.lone("b"));
    }
}
