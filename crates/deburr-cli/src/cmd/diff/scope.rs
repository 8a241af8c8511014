//! Scopes: two builds → groups of files whose contents may belong together, in the order in which they are to
//! be checked.
//!
//! Two files are one scope, whatever they are called, and so is a file with a folder: a package next to what
//! was unpacked of it. In two folders each pair of files is a scope, so that what is held of one is given up
//! before the next begins.

use super::build::Build;
use crate::input::content::Content;
use crate::input::pairs::pair;
use crate::input::walk::InputFile;
use deburr_text::ShownPath as _;

/// One of the two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
}

/// A file in the comparison, and what it is compared with.
#[derive(Debug)]
pub(super) struct ScopedFile {
    /// The number of its scope; scopes follow one another.
    pub(super) scope: usize,
    pub(super) side: Side,
    /// The file, as the paths of what is in it begin.
    path: String,
    /// What it is called in the names of its scope.
    name: String,
    /// Whether what is in it goes by its own names alone.
    is_all: bool,
    /// Whether it is one binary, or may hold several.
    pub(super) is_binary: bool,
}

/// All there is to compare.
#[derive(Default)]
pub(super) struct Agenda {
    /// The files of both builds; in each scope those of the old one come first.
    pub(super) files: Vec<InputFile>,
    /// The same, each with its scope.
    pub(super) scoped: Vec<ScopedFile>,
    /// Files that only the old build has.
    pub(super) only_old: Vec<String>,
}

impl Agenda {
    /// Brings the files of two builds together.
    pub(super) fn of(old: &Build, new: &Build) -> Agenda {
        let mut agenda = Agenda::default();
        if old.is_one() && new.is_one() {
            for (side, build) in [(Side::Old, old), (Side::New, new)] {
                build.files.iter().for_each(|file| agenda.add(file, 0, side, String::new(), true));
            }
        } else if old.is_one() || new.is_one() {
            for (side, build) in [(Side::Old, old), (Side::New, new)] {
                build
                    .files
                    .iter()
                    .for_each(|file| agenda.add(file, 0, side, build.name(file), build.is_one()));
            }
        } else {
            agenda.add_pairs(old, new);
        }
        agenda
    }

    fn add_pairs(&mut self, old: &Build, new: &Build) {
        let names = |build: &Build| {
            let mark = |file: &InputFile| if file.content.is_package() { "!" } else { "" };
            let name = |file| format!("{}{}", build.name(file), mark(file));
            build.files.iter().map(name).collect::<Vec<_>>()
        };
        for (scope, (a, b)) in pair(&names(old), &names(new)).into_iter().enumerate() {
            let (a, b) = (a.and_then(|index| old.files.get(index)), b.and_then(|index| new.files.get(index)));
            match b {
                Some(b) => {
                    a.into_iter().for_each(|a| self.add(a, scope, Side::Old, String::new(), true));
                    self.add(b, scope, Side::New, String::new(), true);
                }
                None => self.only_old.extend(a.map(|a| a.path.shown().into_owned())),
            }
        }
    }

    fn add(&mut self, file: &InputFile, scope: usize, side: Side, name: String, is_all: bool) {
        let (path, is_binary) = (file.path.shown().into_owned(), file.content == Content::Elf);
        self.files.push(file.clone());
        self.scoped.push(ScopedFile { scope, side, path, name, is_all, is_binary });
    }
}

impl ScopedFile {
    /// The name in the scope of what has this path: the file, or something in it.
    pub(super) fn name_of(&self, path: &str) -> String {
        let inner = path.strip_prefix(&self.path).unwrap_or(path);
        let name = match inner.strip_prefix('!') {
            Some(inner) if self.is_all => inner.to_owned(),
            _ => format!("{}{inner}", self.name),
        };
        without_layers(&name)
    }

    /// Whether a path is that of the file itself.
    pub(super) fn is_at(&self, path: &str) -> bool {
        self.path == path
    }
}

/// A name without the layers of container images: in which of them a file is, is no matter of the file.
fn without_layers(name: &str) -> String {
    let is_layer = |part: &&str| {
        let numbers = part.strip_prefix("layer ").and_then(|numbers| numbers.split_once('/'));
        numbers.is_some_and(|(at, of)| at.parse::<u32>().is_ok() && of.parse::<u32>().is_ok())
    };
    name.split('!').filter(|part| !is_layer(part)).collect::<Vec<_>>().join("!")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoped(path: &str, name: &str, is_all: bool) -> ScopedFile {
        let (path, name) = (path.to_owned(), name.to_owned());
        ScopedFile { scope: 0, side: Side::Old, path, name, is_all, is_binary: false }
    }

    #[test]
    fn names_leave_out_what_two_builds_need_not_share() {
        for (file, path, name) in [
            (scoped("old/server", "", true), "old/server", ""),
            (scoped("old/libx.a", "", true), "old/libx.a(m.o)", "(m.o)"),
            (scoped("x_1.deb", "", true), "x_1.deb!usr/bin/x", "usr/bin/x"),
            (scoped("x_1.deb", "x_1.deb", true), "x_1.deb!usr/bin/x", "usr/bin/x"),
            (scoped("build/server", "server", true), "build/server", "server"),
            (scoped("tree/usr/bin/x", "usr/bin/x", false), "tree/usr/bin/x", "usr/bin/x"),
            (scoped("tree/a.whl", "a.whl", false), "tree/a.whl!x.so", "a.whl!x.so"),
            (scoped("image.tar", "", true), "image.tar!layer 2/13!bin/sh", "bin/sh"),
            (
                scoped("image.tar", "", true),
                "image.tar!app:1 linux/amd64!layer 1/2!a.whl!x.so",
                "app:1 linux/amd64!a.whl!x.so",
            ),
            (scoped("x.tar", "", true), "x.tar!layer x/2!a", "layer x/2!a"),
        ] {
            assert_eq!(file.name_of(path), name);
        }
    }
}
