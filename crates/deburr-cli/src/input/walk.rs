//! The walk: paths of the user → files to check, each (device, inode) once, in the order of their paths.
//!
//! Directories are read in parallel. Files are recognised by their first bytes. Real entries of a tree come
//! before symbolic links, which are followed afterwards, so that what is found, and under which path, does
//! not depend on which thread was faster.

use super::content::Content;
use super::image_layout::ImageLayout;
use crate::identity::Identity;
use crate::input::exclude::Excluded;
use crate::system_error::error_text;
use deburr_package::BLOCK;
use deburr_text::ShownPath as _;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A file to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputFile {
    /// As the user will know it; `-` for the standard input.
    pub(crate) path: PathBuf,
    /// Where it is opened.
    pub(crate) place: PathBuf,
    /// Its size in bytes; 0 for a stream.
    pub(crate) size: u64,
    /// ELF, archive, jitdump or package.
    pub(crate) content: Content,
    /// Whether it is the standard input, or held by the caller: bytes without a file.
    pub(crate) is_stdin: bool,
    identity: Identity,
    origin: Origin,
}

/// How a file was met; of several routes to one file the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Named,
    Tree,
    Symlink,
}

/// A file that is not checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) path: String,
    /// Why, for people.
    pub(crate) reason: String,
    /// Whether the user named it.
    pub(crate) named: bool,
    /// Whether it is a fault: work that was requested and not done.
    pub(crate) fault: bool,
    /// What it is, where that is recognised and not read: `PE`, `32-bit Arm ELF`. Such files are counted by it.
    pub(crate) kind: Option<String>,
    /// Whether it is in a file that is checked itself: what a program carries.
    pub(crate) is_part: bool,
    /// Its size, where that is known.
    pub(crate) bytes: Option<u64>,
}

impl Skipped {
    /// Something that is recognised and not read. Where the user named it, that is a fault.
    pub(crate) fn recognised(path: String, kind: &str, bytes: Option<u64>, named: bool) -> Skipped {
        let reason = match bytes {
            Some(bytes) => format!("{kind}, {bytes} bytes: not read"),
            None => format!("{kind}: not read"),
        };
        Skipped { path, reason, named, fault: named, kind: Some(kind.to_owned()), is_part: false, bytes }
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) files: Vec<InputFile>,
    pub(crate) skipped: Vec<Skipped>,
    /// Regular files in directories that are neither ELF nor archive nor jitdump nor package, nor recognised.
    pub(crate) other_files: u64,
}

/// Walks all paths. The files that the output goes to are left out: they are no input, even where they are in
/// a tree of the user. `packages`: whether these are input, too.
pub(crate) fn walk(paths: &[PathBuf], threads: usize, outputs: &[Identity], packages: bool) -> Walked {
    let mut found = Found { outputs, packages, ..Found::default() };
    let mut seen = HashSet::new();
    for path in paths {
        if path.as_os_str() == "-" {
            found.walked.files.push(InputFile::stream(path, u64::MAX));
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                if seen.insert((metadata.dev(), metadata.ino())) {
                    read_trees(vec![path.clone()], threads, &mut seen, &mut found);
                }
            }
            Ok(metadata) => found.examine(path, &metadata, Origin::Named),
            Err(error) => found.skip(path, error_text(&error), Origin::Named, true),
        }
    }
    // A directory that a link leads to may hold links itself: iterate until no new directory turns up.
    while !found.links.is_empty() {
        let mut links = std::mem::take(&mut found.links);
        links.sort_unstable();
        for link in links {
            match fs::metadata(&link) {
                Ok(metadata) if metadata.is_dir() => {
                    if seen.insert((metadata.dev(), metadata.ino())) {
                        read_trees(vec![link], threads, &mut seen, &mut found);
                    }
                }
                Ok(metadata) => found.examine(&link, &metadata, Origin::Symlink),
                Err(_) => {
                    found.skip(&link, "a symbolic link that leads nowhere".to_owned(), Origin::Symlink, false)
                }
            }
        }
    }
    let Found { mut walked, .. } = found;
    walked.files.sort_unstable_by(|a, b| {
        (a.origin, a.path.as_os_str().as_bytes()).cmp(&(b.origin, b.path.as_os_str().as_bytes()))
    });
    let mut identities = HashSet::new();
    walked.files.retain(|file| identities.insert(file.identity));
    walked.files.sort_unstable_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    walked.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walked
}

/// What has been found so far.
#[derive(Default)]
struct Found<'o> {
    walked: Walked,
    links: Vec<PathBuf>,
    /// Files of other kinds met already, so that two links to one script count once.
    others: HashSet<Identity>,
    /// Those that are recognised and not read.
    known: HashSet<Identity>,
    outputs: &'o [Identity],
    packages: bool,
}

impl Walked {
    /// Leaves some files out, and says how many.
    pub(crate) fn exclude(&mut self, excluded: &Excluded) -> u64 {
        let before = self.files.len() + self.skipped.len();
        self.files.retain(|file| !excluded.has(&file.path.shown()));
        self.skipped.retain(|skip| !excluded.has(&skip.path));
        (before - self.files.len() - self.skipped.len()) as u64
    }

    /// Adds what the caller holds, by names that no other file of the walk has.
    pub(crate) fn add_held(&mut self, names: &[&Path]) {
        self.files.extend((0..).zip(names).map(|(number, name)| InputFile::stream(name, number)));
        self.files.sort_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    }
}

impl InputFile {
    /// Bytes without a file; the number distinguishes them.
    fn stream(name: &Path, number: u64) -> InputFile {
        InputFile {
            path: name.to_owned(),
            place: name.to_owned(),
            size: 0,
            content: Content::Other,
            is_stdin: true,
            identity: (u64::MAX, number),
            origin: Origin::Named,
        }
    }

    /// A file at a place that is known, under a name of its own, as if a folder above it had been named.
    pub(crate) fn below(path: &Path, place: &Path, size: u64, content: Content) -> InputFile {
        InputFile {
            path: path.to_owned(),
            place: place.to_owned(),
            size,
            content,
            is_stdin: false,
            identity: (u64::MAX, u64::MAX),
            origin: Origin::Tree,
        }
    }

    /// Whether the user named the file, rather than a directory above it.
    pub(crate) fn is_named(&self) -> bool {
        self.origin == Origin::Named
    }
}

impl Found<'_> {
    fn skip(&mut self, path: &Path, reason: String, origin: Origin, fault: bool) {
        let named = origin == Origin::Named;
        let path = path.shown().into_owned();
        self.walked.skipped.push(Skipped { path, reason, named, fault, ..Skipped::default() });
    }

    /// Looks at what is no directory, and at its first bytes if it is a regular file.
    fn examine(&mut self, path: &Path, metadata: &Metadata, origin: Origin) {
        let kind = metadata.file_type();
        if !kind.is_file() {
            let what = match () {
                () if kind.is_fifo() => "a fifo",
                () if kind.is_socket() => "a socket",
                () if kind.is_block_device() || kind.is_char_device() => "a device",
                () => "no regular file",
            };
            return self.skip(path, what.to_owned(), origin, false);
        }
        let identity = (metadata.dev(), metadata.ino());
        if self.outputs.contains(&identity) && origin != Origin::Named {
            return;
        }
        let mut first = Vec::with_capacity(BLOCK);
        match File::open(path).and_then(|file| file.take(BLOCK as u64).read_to_end(&mut first)) {
            Ok(_) => {}
            Err(error) => return self.skip(path, error_text(&error), origin, true),
        }
        let recognised = match Content::of(&first, || File::open(path).map(BufReader::new)) {
            Ok(content) => content,
            // Where the user named it, reading it finds out.
            Err(_) if origin == Origin::Named => Content::Package,
            Err(error) => return self.skip(path, error.to_string(), origin, false),
        };
        let is_left_out = recognised == Content::Package && !self.packages;
        let content = if is_left_out { Content::Other } else { recognised };
        match (content, origin) {
            (Content::Elf | Content::Archive | Content::Jitdump | Content::Package | Content::Layout, _) => {
                self.walked.files.push(InputFile {
                    path: path.to_owned(),
                    place: path.to_owned(),
                    size: metadata.len(),
                    content,
                    is_stdin: false,
                    identity,
                    origin,
                });
            }
            (Content::ThinArchive, _) => {
                self.skip(
                    path,
                    "a thin archive: check the object files themselves".to_owned(),
                    origin,
                    false,
                );
            }
            (Content::Known(known), _) => {
                if origin == Origin::Named || self.known.insert(identity) {
                    let (path, named) = (path.shown().into_owned(), origin == Origin::Named);
                    let size = Some(metadata.len());
                    self.walked.skipped.push(Skipped::recognised(path, known.name(), size, named));
                }
            }
            (Content::Empty, Origin::Named) => self.skip(path, "an empty file".to_owned(), origin, false),
            (Content::Other, Origin::Named) => self.skip(path, "no ELF file".to_owned(), origin, false),
            (Content::Empty | Content::Other, _) => {
                if self.others.insert(identity) {
                    self.walked.other_files += 1;
                }
            }
        }
    }

    /// A folder that is a container image, and with all below it one input.
    fn add_layout(&mut self, folder: &Path) {
        match fs::metadata(folder) {
            Ok(metadata) => self.walked.files.push(InputFile {
                path: folder.to_owned(),
                place: folder.to_owned(),
                size: 0,
                content: Content::Layout,
                is_stdin: false,
                identity: (metadata.dev(), metadata.ino()),
                origin: Origin::Tree,
            }),
            Err(error) => self.skip(folder, error_text(&error), Origin::Tree, true),
        }
    }

    fn merge(&mut self, other: Found<'_>) {
        self.walked.files.extend(other.walked.files);
        self.walked.skipped.extend(other.walked.skipped);
        self.links.extend(other.links);
        self.walked.other_files +=
            u64::try_from(other.others.difference(&self.others).count()).unwrap_or(u64::MAX);
        self.others.extend(other.others);
        self.known.extend(other.known);
    }
}

/// Directories still to be read.
struct Queue {
    waiting: Vec<PathBuf>,
    busy: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads directories and all below them, in parallel; symbolic links are left in `found.links`.
fn read_trees(roots: Vec<PathBuf>, threads: usize, seen: &mut HashSet<(u64, u64)>, found: &mut Found<'_>) {
    let queue = Mutex::new(Queue { waiting: roots, busy: 0 });
    let changed = Condvar::new();
    let shared_seen = Mutex::new(std::mem::take(seen));
    let (outputs, packages) = (found.outputs, found.packages);
    let read_some = || {
        let mut found = Found { outputs, packages, ..Found::default() };
        loop {
            let mut state = changed
                .wait_while(lock(&queue), |queue| queue.waiting.is_empty() && queue.busy > 0)
                .unwrap_or_else(PoisonError::into_inner);
            let Some(directory) = state.waiting.pop() else { return found };
            state.busy += 1;
            drop(state);
            let below = read_directory(&directory, &shared_seen, &mut found);
            let mut state = lock(&queue);
            state.waiting.extend(below);
            state.busy -= 1;
            drop(state);
            changed.notify_all();
        }
    };
    let parts: Vec<Found<'_>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(read_some)).collect();
        let own = read_some();
        handles.into_iter().filter_map(|handle| handle.join().ok()).chain([own]).collect()
    });
    for part in parts {
        found.merge(part);
    }
    *seen = shared_seen.into_inner().unwrap_or_else(PoisonError::into_inner);
}

/// Reads one directory, and returns those in it that nobody has read.
fn read_directory(
    directory: &Path,
    seen: &Mutex<HashSet<(u64, u64)>>,
    found: &mut Found<'_>,
) -> Vec<PathBuf> {
    let mut below = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            found.skip(directory, error_text(&error), Origin::Tree, true);
            return below;
        }
    };
    let (mut listed, mut names) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Ok(entry) => {
                names.push(entry.file_name());
                listed.push(entry);
            }
            Err(error) => found.skip(directory, error_text(&error), Origin::Tree, true),
        }
    }
    if found.packages && ImageLayout::is_one(names.iter().map(OsString::as_os_str)) {
        found.add_layout(directory);
        return below;
    }
    for entry in listed {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_symlink() => found.links.push(path),
            Ok(metadata) if metadata.is_dir() => {
                if lock(seen).insert((metadata.dev(), metadata.ino())) {
                    below.push(path);
                }
            }
            Ok(metadata) => found.examine(&path, &metadata, Origin::Tree),
            Err(error) => found.skip(&path, error_text(&error), Origin::Tree, true),
        }
    }
    below
}
