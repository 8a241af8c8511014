//! An ELF file of the trees, with its variants.
//!
//! In: what `plan.rs` has read of it at all levels. Out: by which name others need it, and where it looks for what it needs.

use super::binary::Binary;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// An ELF file of the trees.
pub(super) struct Elf<'t> {
    pub(super) path: &'t Path,
    /// The lowest variant, as its loader sees it.
    pub(super) binary: Binary,
    /// For each level, the one whose file has the same code: itself, or a lower one.
    pub(super) file_of: Vec<usize>,
}

impl Elf<'_> {
    /// The levels that have a file of their own, lowest first.
    pub(super) fn own(&self) -> Vec<usize> {
        own(&self.file_of)
    }

    /// Whether the variants differ.
    pub(super) fn differs(&self) -> bool {
        self.own().len() > 1
    }

    /// The name by which others need it.
    pub(super) fn name(&self) -> &str {
        let file = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        self.binary.name.as_deref().filter(|name| !name.contains('/')).unwrap_or(file)
    }

    /// Folders of the trees in which it looks for libraries, relative to itself.
    pub(super) fn search(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let here = self.path.parent().unwrap_or(Path::new(""));
        let relative = self.binary.search.iter().filter_map(|entry| below_origin(entry));
        relative.map(move |below| lexical(&here.join(below)))
    }
}

/// The levels that have a file of their own.
pub(super) fn own(file_of: &[usize]) -> Vec<usize> {
    (0..file_of.len()).filter(|&index| file_of[index] == index).collect()
}

/// What an entry of a RUNPATH says of a folder relative to the file; `None` where it is absolute.
pub(super) fn below_origin(entry: &str) -> Option<&str> {
    let below = entry.strip_prefix("$ORIGIN").or_else(|| entry.strip_prefix("${ORIGIN}"))?;
    Some(below.trim_start_matches('/'))
}

/// A path without `.` and, as far as that is known, without `..`.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Whether the loader looks into a folder by itself (ld.so(8)), wherever the trees will be installed.
pub(super) fn is_standard(folder: &Path) -> bool {
    let parts: Vec<&str> = folder.iter().filter_map(OsStr::to_str).collect();
    let below = match parts.as_slice() {
        ["usr", "local", rest @ ..] | ["usr", rest @ ..] => rest,
        rest => rest,
    };
    matches!(below, ["lib" | "lib64"]) || matches!(below, ["lib", triplet] if triplet.contains("-linux-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_the_loader_knows_are_standard() {
        for folder in ["lib", "usr/lib", "usr/lib64", "usr/local/lib", "usr/lib/x86_64-linux-gnu"] {
            assert!(is_standard(Path::new(folder)), "{folder}");
        }
        for folder in
            ["", "usr/lib/postgresql", "usr/lib/x86_64-linux-gnu/gstreamer-1.0", "opt/x/lib", "plugins"]
        {
            assert!(!is_standard(Path::new(folder)), "{folder}");
        }
    }
}
