//! Programs and libraries that look for private libraries in absolute folders → links by which they find those of their own tree.
//!
//! In: what is in the trees. Out: for each such file another RUNPATH, and links beside the file. An absolute folder is the same from
//! every tree: it has the libraries of the lowest level. In the tree, each such entry becomes two: a link to the tree's own folder, and
//! one to the folder itself, in which other packages may have libraries. `$ORIGIN/1:$ORIGIN/2` is shorter than most folders of
//! private libraries, so the text fits into the place of the old one (`runpath.rs`).

use super::elf::{Elf, below_origin, lexical};
use super::tree::Trees;
use deburr_text::ShownPath as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most links that a folder may get; a digit each keeps the text short.
const MOST: usize = 9;

/// What the files of the trees need to find the libraries of their own tree.
#[derive(Default)]
pub(super) struct Redirects {
    /// The RUNPATH of each file in its tree.
    pub(super) runpaths: BTreeMap<PathBuf, String>,
    /// Links beside files, by their path in the lowest tree.
    pub(super) links: BTreeMap<PathBuf, Leads>,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leads {
    /// To a folder of the same tree.
    Within(PathBuf),
    /// To a folder as it is without trees.
    Without(PathBuf),
}

impl Redirects {
    /// What these files need; or which one cannot have it, and why.
    pub(super) fn of(
        files: &[&Elf<'_>],
        private: &[&Elf<'_>],
        trees: &Trees,
        is_privileged: impl Fn(&Path) -> bool,
    ) -> Result<Redirects, (PathBuf, String)> {
        let mut redirects = Redirects::default();
        for file in files {
            let found = absolute(file, private);
            let Some((first, _, library)) = found.first() else { continue };
            let refuse = |why: &str| {
                let reason = format!(
                    "its RUNPATH {first} leads to {} of the lowest level from every tree, and {why}; link it with \
                     -Wl,-rpath,'$ORIGIN/…', or pass --layout shared",
                    library.shown()
                );
                Err((file.path.to_owned(), reason))
            };
            if is_privileged(file.path) {
                return refuse("a set-user-ID program may have no other (ld.so(8), \"$ORIGIN\")");
            }
            let mut entries = Vec::new();
            for entry in &file.binary.search {
                match found.iter().find(|(of, ..)| of == entry) {
                    Some((_, folder, _)) => {
                        let here = file.path.parent().unwrap_or(Path::new(""));
                        for leads in [Leads::Within(folder.clone()), Leads::Without(folder.clone())] {
                            if leads == Leads::Within(here.to_owned()) {
                                entries.push("$ORIGIN".to_owned());
                                continue;
                            }
                            let Some(name) = redirects.link(here, leads, trees) else {
                                return refuse("links beside it have no free names");
                            };
                            entries.push(format!("$ORIGIN/{name}"));
                        }
                    }
                    None => entries.push(entry.clone()),
                }
            }
            let text = entries.join(":");
            let room = file.binary.search.join(":").len();
            if text.len() > room {
                return refuse(&format!("it is too short for {text}"));
            }
            redirects.runpaths.insert(file.path.to_owned(), text);
        }
        Ok(redirects)
    }

    /// The name of a link in a folder that leads there: the one that there is, or the next free digit.
    fn link(&mut self, folder: &Path, leads: Leads, trees: &Trees) -> Option<usize> {
        let at = |number: usize| folder.join(number.to_string());
        let number = (1..=MOST).find(|number| match self.links.get(&at(*number)) {
            Some(other) => *other == leads,
            None => !trees.entries.contains_key(&at(*number)),
        })?;
        self.links.insert(at(number), leads);
        Some(number)
    }
}

/// The absolute entries of a file's search path by which it, or where they are inherited what it loads, would find a private library
/// before its own tree is looked into: each with the folder and one such library.
fn absolute(file: &Elf<'_>, private: &[&Elf<'_>]) -> Vec<(String, PathBuf, PathBuf)> {
    let here = file.path.parent().unwrap_or(Path::new(""));
    let needs = |library: &&&Elf<'_>| {
        file.binary.is_search_inherited || file.binary.needed.iter().any(|name| name == library.name())
    };
    let mut found: Vec<(String, PathBuf, PathBuf)> = Vec::new();
    for library in private.iter().filter(needs) {
        let folder = library.path.parent().unwrap_or(Path::new(""));
        let leads_there = |entry: &&String| match below_origin(entry) {
            Some(below) => lexical(&here.join(below)) == folder,
            None => {
                let absolute = lexical(Path::new(entry.trim_start_matches('/')));
                !folder.as_os_str().is_empty() && absolute.ends_with(folder)
            }
        };
        let first = file.binary.search.iter().find(leads_there);
        let Some(entry) = first.filter(|entry| below_origin(entry).is_none()) else { continue };
        if found.iter().all(|(of, ..)| of != entry) {
            found.push((entry.clone(), folder.to_owned(), library.path.to_owned()));
        }
    }
    found
}
