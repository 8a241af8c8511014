//! Build stage: trees of files → their copy, a listing of them, and what a build made in them.
//!
//! In: a tree of sources. Out: a copy with the modes and modification times of its files, because `make` compares these;
//! a listing, which differs where any file does; the ELF files that a command made in the copy since.

use crate::record;
use deburr_text::ShownPath as _;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What is known of each file: size, modification time and mode, or the target of a link.
pub(super) type Listing = BTreeMap<PathBuf, String>;

/// Lists a tree, without what is at `leave_out`.
pub(super) fn list(root: &Path, leave_out: &Path) -> io::Result<Listing> {
    let mut listing = Listing::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            if entry.path() == leave_out {
                continue;
            }
            let path = folder.join(entry.file_name());
            let data = entry.metadata()?;
            let state = if data.is_dir() {
                folders.push(path.clone());
                format!("folder {:o}", data.mode())
            } else if data.is_symlink() {
                format!("link {}", fs::read_link(entry.path())?.shown())
            } else if data.is_file() {
                format!("file {} {}.{} {:o}", data.size(), data.mtime(), data.mtime_nsec(), data.mode())
            } else {
                continue;
            };
            listing.insert(path, state);
        }
    }
    Ok(listing)
}

/// Lists a tree of sources: without the pack at `pack`, without other packs and what was laid out of them, which would make
/// each build one of new sources, and without caches (Cache Directory Tagging Specification): what Cargo compiled before for
/// another level is in one.
pub(super) fn sources(root: &Path, pack: &Path) -> io::Result<Listing> {
    let mut listing = list(root, pack)?;
    let marks_folder = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| name == record::FILE)
            || path.file_name().is_some_and(|name| name == "CACHEDIR.TAG")
                && begins_with(&root.join(path), b"Signature: 8a477f597d28d172789f06886806bc55")
    };
    let left_out: Vec<PathBuf> = listing
        .keys()
        .filter(marks_folder)
        .filter_map(|path| path.parent().filter(|folder| *folder != Path::new("")).map(Path::to_owned))
        .collect();
    listing.retain(|path, _| !left_out.iter().any(|folder| path.starts_with(folder)));
    Ok(listing)
}

/// Object files of a listed tree: `ET_REL` (gABI, "ELF Header").
pub(super) fn objects(root: &Path, listing: &Listing) -> Vec<PathBuf> {
    let is_object = |path: &&PathBuf| {
        path.extension().is_some_and(|end| end == "o" || end == "lo")
            && elf_type(&root.join(path)).ok().flatten() == Some(1)
    };
    listing.keys().filter(is_object).cloned().collect()
}

fn begins_with(path: &Path, text: &[u8]) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(text.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == text
}

/// Copies what is listed of a tree.
pub(super) fn copy(root: &Path, listing: &Listing, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    // A folder is listed before what is in it.
    for (path, state) in listing {
        let (from, to) = (root.join(path), to.join(path));
        if state.starts_with("folder") {
            fs::create_dir_all(&to)?;
        } else if state.starts_with("link") {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else {
            fs::copy(&from, &to)?;
            let modified = fs::metadata(&from)?.modified()?;
            // Setting the time needs write access, which the mode may not give.
            let mode = fs::metadata(&to)?.permissions();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600))?;
            fs::File::options().write(true).open(&to)?.set_modified(modified)?;
            fs::set_permissions(&to, mode)?;
        }
    }
    Ok(())
}

/// The files and folders of a copy that a path names, or that it matches as a pattern: `*` stays in its folder.
pub(super) fn named(copy: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    if fs::symlink_metadata(copy.join(path)).is_ok() {
        return Ok(vec![path.to_owned()]);
    }
    let Some(Ok(pattern)) = path.to_str().map(glob::Pattern::new) else { return Ok(Vec::new()) };
    let matching = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    let listing = list(copy, Path::new(""))?;
    Ok(listing.into_keys().filter(|path| pattern.matches_path_with(path, matching)).collect())
}

/// Folders that hold what build systems link for their own use.
fn is_of_build_system(path: &Path) -> bool {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let has = |name: &str| names.iter().any(|it| it == name);
    let is_of_cargo = has("target") && ["build", "deps", "incremental"].iter().any(|name| has(name));
    is_of_cargo || has("CMakeFiles") || has("meson-private") || has(".git")
}

/// Programs and shared libraries that were linked in a copy since `before`.
pub(super) fn linked(copy: &Path, before: &Listing) -> io::Result<Vec<PathBuf>> {
    let after = list(copy, Path::new(""))?;
    let mut found = Vec::new();
    for (path, state) in after {
        let is_new = state.starts_with("file") && before.get(&path) != Some(&state);
        if is_new && !is_of_build_system(&path) && is_linked(&copy.join(&path))? {
            found.push(path);
        }
    }
    Ok(found)
}

/// Wheels in a folder that were made since `before`.
pub(super) fn wheels(folder: &Path, before: &Listing) -> io::Result<Vec<PathBuf>> {
    let is_made = |(path, state): &(PathBuf, String)| {
        state.starts_with("file")
            && before.get(path) != Some(state)
            && path.extension().is_some_and(|end| end == "whl")
    };
    let made = list(folder, Path::new(""))?.into_iter().filter(is_made);
    Ok(made.map(|(path, _)| folder.join(path)).collect())
}

/// Whether a file is an ELF program or shared library: `ET_EXEC` or `ET_DYN` (gABI, "ELF Header").
pub(crate) fn is_linked(path: &Path) -> io::Result<bool> {
    Ok(matches!(elf_type(path)?, Some(2 | 3)))
}

/// The low byte of the type of an ELF file; `None` where it is none.
fn elf_type(path: &Path) -> io::Result<Option<u8>> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(18).read_to_end(&mut head)?;
    Ok(head.get(16).copied().filter(|_| head.starts_with(b"\x7fELF")))
}

/// Copies files of one tree to the same places of another; links stay links.
pub(super) fn take(from: &Path, paths: &[PathBuf], to: &Path) -> io::Result<()> {
    for path in paths {
        let (from, to) = (from.join(path), to.join(path));
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let data = fs::symlink_metadata(&from)?;
        if data.is_dir() {
            copy(&from, &list(&from, Path::new(""))?, &to)?;
        } else if data.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

/// The programs and shared libraries of a tree, relative to it; links are left out.
pub(crate) fn binaries(tree: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for (path, state) in list(tree, Path::new(""))? {
        if state.starts_with("file") && is_linked(&tree.join(&path))? {
            found.push(path);
        }
    }
    Ok(found)
}
