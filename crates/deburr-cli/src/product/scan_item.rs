//! What an archive holds: one thing to check after another, each with its place.

use crate::input::content::Content;
use crate::sha256::sha256;
use std::collections::HashSet;
use std::path::PathBuf;

/// A package, or a file of its own.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Below the archive: the same on every machine that has it.
    pub(crate) path: String,
    pub(crate) place: Place,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) content: Content,
    /// SHA-256 of its bytes, where that is known before they are read.
    pub(crate) sha256: Option<String>,
    /// Whether an index states that hash: then other bytes are an error.
    pub(crate) is_stated: bool,
}

/// Where an item is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Here(PathBuf),
    /// A URL.
    There(String),
}

/// One part of several, which together are the whole: counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) number: u64,
    pub(crate) of: u64,
}

impl Part {
    pub(crate) const WHOLE: Part = Part { number: 1, of: 1 };

    /// Whether an item of that path is in it. Only the path decides, so that an item stays in its part when others come and
    /// go.
    pub(crate) fn has(self, path: &str) -> bool {
        let hash = sha256([path.as_bytes()]);
        let number = hash.get(..15).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
        number % self.of == self.number - 1
    }

    /// Reads `I/N`.
    pub(crate) fn parse(text: &str) -> Result<Part, String> {
        let expected = || "expected I/N, such as 3/16, with I from 1 to N".to_owned();
        let (number, of) = text.split_once('/').ok_or_else(expected)?;
        let (number, of) = (number.parse().map_err(|_| expected())?, of.parse().map_err(|_| expected())?);
        if number == 0 || number > of { Err(expected()) } else { Ok(Part { number, of }) }
    }
}

/// In the order of their paths, each path once: another file whose name looks the same is distinguished by a number.
pub(crate) fn in_order(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by(|one, other| one.path.cmp(&other.path));
    let mut taken: HashSet<String> = HashSet::new();
    for item in &mut items {
        let numbered = (2..).map(|number| format!("{}#{number}", item.path));
        let free = std::iter::once(item.path.clone()).chain(numbered).find(|path| !taken.contains(path));
        item.path = free.unwrap_or_default();
        taken.insert(item.path.clone());
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_and_nothing_twice() {
        for of in [1, 2, 7, 64] {
            for path in (0..500).map(|number| format!("pool/main/p/package_{number}.deb")) {
                let parts = (1..=of).filter(|number| Part { number: *number, of }.has(&path));
                assert_eq!(parts.count(), 1, "{path} of {of}");
            }
        }
        let part = Part { number: 1, of: 4 };
        let count = (0..1000).filter(|number| part.has(&format!("p{number}"))).count();
        assert!((150..350).contains(&count), "{count} of 1000 in a quarter");
    }

    #[test]
    fn a_part_is_counted_from_one() {
        assert_eq!(Part::parse("3/16"), Ok(Part { number: 3, of: 16 }));
        assert_eq!(Part::parse("1/1"), Ok(Part { number: 1, of: 1 }));
        for wrong in ["0/4", "5/4", "4", "/", "1/0", "a/b", "-1/4", "1/4/2", ""] {
            assert!(Part::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_item_has_a_path_of_its_own() {
        let item = |path: &str| Item {
            path: path.to_owned(),
            place: Place::Here(PathBuf::new()),
            size: 0,
            content: Content::Elf,
            sha256: None,
            is_stated: false,
        };
        let paths: Vec<String> =
            in_order(["b", "a\u{fffd}", "a\u{fffd}#2", "c", "a\u{fffd}", "a\u{fffd}"].map(item).to_vec())
                .into_iter()
                .map(|item| item.path)
                .collect();
        assert_eq!(paths, ["a\u{fffd}", "a\u{fffd}#2", "a\u{fffd}#3", "a\u{fffd}#2#2", "b", "c"]);
    }
}
