//! What surrounds a file, wherever it is: its names, the files beside it and the lists above it.
//!
//! In: a file's path and bytes, and a [`Place`]. Out: the attestations that its surroundings hold. The file's own `DT_SONAME` counts as
//! a name of it: its link may be made where it is installed.

use super::attestation::Attestation;
use super::list::vouches;
use super::name::{above, beside};
use deburr_core::image::needed;
use deburr_text::shown;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A list of checksums.
#[derive(Debug, Clone)]
pub(crate) struct ChecksumList {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Rc<Vec<u8>>,
}

/// A folder tree, on disk or in a package.
pub(crate) trait Place {
    /// All paths of a file: itself, and links that lead to it.
    fn names(&self, path: &Path) -> Vec<PathBuf>;

    /// Whether there is a file or a link.
    fn has(&self, path: &Path) -> bool;

    /// The lists of checksums in a folder.
    fn lists(&self, folder: &Path) -> Vec<ChecksumList>;
}

/// What vouches for a file in its surroundings, each once.
pub(crate) fn around(place: &dyn Place, path: &Path, bytes: &[u8]) -> Vec<Attestation> {
    let mut names = place.names(path);
    let soname = needed(bytes).ok().and_then(|needed| needed.soname).filter(|name| !name.contains('/'));
    names.extend(soname.map(|soname| path.with_file_name(soname)));
    names.sort();
    names.dedup();
    let mut found: Vec<PathBuf> = Vec::new();
    for alias in &names {
        let Some(name) = alias.file_name() else { continue };
        let folder = alias.parent().unwrap_or(Path::new(""));
        found.extend(
            beside(name).into_iter().map(|sibling| folder.join(sibling)).filter(|sibling| place.has(sibling)),
        );
        for ancestor in folder.ancestors() {
            found.extend(
                above(name).into_iter().map(|hash| ancestor.join(hash)).filter(|hash| place.has(hash)),
            );
            let relative = alias.strip_prefix(ancestor).unwrap_or(alias);
            let lists = place.lists(ancestor).into_iter();
            let lists =
                lists.filter(|list| list.path != *alias && vouches(&list.path, &list.bytes, relative, bytes));
            found.extend(lists.map(|list| list.path));
        }
    }
    found.sort();
    found.dedup();
    let own = path.parent().unwrap_or(Path::new(""));
    let by = |it: &PathBuf| shown(it.strip_prefix(own).unwrap_or(it).as_os_str().as_bytes()).into_owned();
    found.iter().map(|it| Attestation::new(by(it))).collect()
}
