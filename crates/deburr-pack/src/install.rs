//! Install: an assembled tree, and the root of a system → the tree's files below it, those of a former version replaced.
//!
//! In: what `deburr pack assemble` wrote with a tree for each level. Out: the files, each renamed into its place, in the order in
//! which package managers write them: sorted by their paths, folder by folder. So the launcher comes last, and at each moment a whole
//! old or a whole new program starts (`assemble/whole.rs`). A list of the files is kept in the place of the trees: what a former
//! version alone had is removed by it, the last file first, and so is all of them by [`remove`].

use crate::assemble::{AssembleError, BASE, Entry, SCRIPT, entries_of, keep_metadata};
use crate::record::{self, Record, RecordError};
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The list of what is installed, in the place of the trees. Each path ends with a NUL.
const LIST: &str = "installed";

/// When the machine chooses a level, for programs that are laid out for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Never: launchers choose at each start.
    AtStart,
    /// Now, where it chooses again at each boot.
    AtBoot,
    /// Now, and whatever the next boot does.
    Once,
}

/// What was installed or removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// How many files and links were written.
    pub written: usize,
    /// How many of a former version were removed.
    pub removed: usize,
    /// The tree that was chosen, such as `0123456789ab/x86-64-v3`; `None` where launchers choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<PathBuf>,
    /// What the reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Why nothing, or not all, was installed.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallError {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// The tree has no record that can be read.
    Record(RecordError),
    /// The tree cannot be read, or what a file of it is besides its bytes cannot be kept.
    Assembled(AssembleError),
    /// The tree is of another layout: which, and what to do.
    Layout(PathBuf, &'static str),
    /// A path is taken by a folder, or by no folder.
    Taken(PathBuf, &'static str),
    /// The list of what is installed names something that it cannot have named.
    List(PathBuf),
    /// The script that chooses did not end well: its path, and what it wrote.
    Select(PathBuf, String),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::Io(path, error) => write!(f, "{}: {error}", path.shown()),
            InstallError::Record(error) => error.fmt(f),
            InstallError::Assembled(error) => error.fmt(f),
            InstallError::Layout(path, reason) | InstallError::Taken(path, reason) => {
                write!(f, "{}: {reason}", path.shown())
            }
            InstallError::List(path) => write!(
                f,
                "{}: expected the list that an earlier pack install wrote; nothing was removed",
                path.shown()
            ),
            InstallError::Select(path, said) => write!(f, "{}: {said}", path.shown()),
        }
    }
}

impl std::error::Error for InstallError {}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |error| InstallError::Io(path, error)
}

/// Installs an assembled tree below a root.
///
/// # Errors
/// [`InstallError`]; what was written until then stays, and the same command goes on.
pub fn install(dist: &Path, root: &Path, choice: Choice) -> Result<Installed, InstallError> {
    let record = Record::read(dist).map_err(InstallError::Record)?;
    let place = place_of(dist, &record)?;
    let link = match (choice, &record.selection) {
        (Choice::AtStart, _) => None,
        (_, Some(link)) => Some(root.join(link)),
        (_, None) => {
            let reason = "laid out without --select: deburr pack assemble --select";
            return Err(InstallError::Layout(dist.to_owned(), reason));
        }
    };
    let entries = entries_of(dist).map_err(InstallError::Assembled)?;
    let new = entries.into_iter().filter(|(_, entry)| *entry != Entry::Folder).map(|(path, _)| path);
    let new: Vec<PathBuf> = new.filter(|path| path != Path::new(record::FILE)).collect();
    let old = read_list(root, &place)?;
    are_free(dist, root, &new)?;
    // The link must not lead to a tree that goes away.
    launcher_of(root, &place)?;
    fs::create_dir_all(root).map_err(io_at(root))?;
    // The list first, of both: an installation that was interrupted can be removed.
    let both: BTreeSet<&PathBuf> = old.iter().chain(&new).collect();
    write_list(root, &place, both.iter().map(|path| path.as_path()))?;
    let mut first = BTreeMap::new();
    for path in &new {
        put(dist, root, path, &mut first)?;
    }
    let kept: BTreeSet<&PathBuf> = new.iter().collect();
    let gone: Vec<&PathBuf> = old.iter().filter(|path| !kept.contains(path)).collect();
    let removed = take_away(root, gone.into_iter().rev())?;
    write_list(root, &place, new.iter().map(PathBuf::as_path))?;
    let mut installed = Installed { written: new.len(), removed, ..Installed::default() };
    if let Some(link) = link {
        let arguments: &[&str] = if choice == Choice::Once { &["--always"] } else { &[] };
        let said = run_script(root, &place, arguments)?.filter(|said| !said.is_empty());
        installed.remarks.extend(said);
        let target = fs::read_link(&link).map_err(io_at(&link))?;
        installed.selected = Some(target).filter(|target| target.components().count() > 1);
    }
    Ok(installed)
}

/// Removes what [`install`] wrote below a root for a tree with this place.
///
/// # Errors
/// [`InstallError`]; what could not be removed stays in the list.
pub fn remove(dist: &Path, root: &Path) -> Result<Installed, InstallError> {
    let record = Record::read(dist).map_err(InstallError::Record)?;
    let place = place_of(dist, &record)?;
    let old = read_list(root, &place)?;
    if old.is_empty() {
        let reason = "there is no list of an earlier pack install, so nothing is known to be removed";
        return Err(InstallError::Layout(root.join(place.join(LIST)), reason));
    }
    launcher_of(root, &place)?;
    let removed = take_away(root, old.iter().rev())?;
    let list = root.join(place.join(LIST));
    fs::remove_file(&list).map_err(io_at(&list))?;
    empty_folders(root, &place.join(LIST));
    Ok(Installed { removed, ..Installed::default() })
}

/// Where the trees of the levels are, in one tree for all packages.
fn place_of(dist: &Path, record: &Record) -> Result<PathBuf, InstallError> {
    let Some(place) = &record.place else {
        let reason =
            "expected what deburr pack assemble wrote with a tree for each level; copy this one (cp -a)";
        return Err(InstallError::Layout(dist.to_owned(), reason));
    };
    if place.starts_with(BASE) {
        let reason = "laid out in packages (--split): install these, or assemble without --split";
        return Err(InstallError::Layout(dist.to_owned(), reason));
    }
    if !is_below(place) {
        return Err(InstallError::Layout(dist.to_owned(), "its record names a place outside of the tree"));
    }
    Ok(place.clone())
}

fn is_below(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether no path is that of a folder, and none leads over a file: then nothing was written.
fn are_free(dist: &Path, root: &Path, new: &[PathBuf]) -> Result<(), InstallError> {
    for path in new {
        let there = root.join(path);
        if fs::symlink_metadata(&there).is_ok_and(|data| data.is_dir()) {
            return Err(InstallError::Taken(there, "is a folder, and the tree has a file of this name"));
        }
        for above in path.ancestors().skip(1).filter(|above| dist.join(above).is_dir()) {
            let above = root.join(above);
            if fs::metadata(&above).is_ok_and(|data| !data.is_dir()) {
                return Err(InstallError::Taken(
                    above,
                    "is no folder, and the tree has a folder of this name",
                ));
            }
        }
    }
    Ok(())
}

/// Writes a file or link beside its place, and renames it.
fn put(
    dist: &Path,
    root: &Path,
    path: &Path,
    first: &mut BTreeMap<(u64, u64), PathBuf>,
) -> Result<(), InstallError> {
    let (from, to) = (dist.join(path), root.join(path));
    make_folders(dist, root, path.parent().unwrap_or(Path::new("")))?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".deburr-new");
    let new = to.with_file_name(name);
    let _ = fs::remove_file(&new);
    let data = fs::symlink_metadata(&from).map_err(io_at(&from))?;
    let file = (data.dev(), data.ino());
    let twin = first.get(&file).filter(|_| data.nlink() > 1);
    let written = if data.is_symlink() {
        fs::read_link(&from).and_then(|target| symlink(target, &new))
    } else if let Some(twin) = twin {
        fs::hard_link(twin, &new)
    } else {
        fs::copy(&from, &new).map(drop)
    };
    written.map_err(io_at(&new))?;
    let placed =
        if twin.is_some() { Ok(()) } else { keep_metadata(&from, &new).map_err(InstallError::Assembled) };
    let placed = placed.and_then(|()| fs::rename(&new, &to).map_err(io_at(&to)));
    if placed.is_err() {
        let _ = fs::remove_file(&new);
        return placed;
    }
    // Of two names of one file, a rename of one over the other leaves both.
    let _ = fs::remove_file(&new);
    first.entry(file).or_insert(to);
    Ok(())
}

/// Makes the folders that are not there as they are in the tree. Those that are there stay as they are.
fn make_folders(dist: &Path, root: &Path, below: &Path) -> Result<(), InstallError> {
    let missing: Vec<&Path> = below.ancestors().take_while(|above| !root.join(above).is_dir()).collect();
    for folder in missing.into_iter().rev() {
        let to = root.join(folder);
        fs::create_dir(&to).map_err(io_at(&to))?;
        keep_metadata(&dist.join(folder), &to).map_err(InstallError::Assembled)?;
    }
    Ok(())
}

/// Removes files, and the folders that become empty by it.
fn take_away<'p>(root: &Path, paths: impl Iterator<Item = &'p PathBuf>) -> Result<usize, InstallError> {
    let mut removed = 0;
    for path in paths {
        let there = root.join(path);
        match fs::remove_file(&there) {
            Ok(()) => removed += 1,
            Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            }
            Err(error) => return Err(InstallError::Io(there, error)),
        }
        empty_folders(root, path);
    }
    Ok(removed)
}

/// Removes the folders above a path below the root that are empty.
fn empty_folders(root: &Path, path: &Path) {
    // The first that is not empty ends it, and a folder that cannot be removed stays.
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
}

fn read_list(root: &Path, place: &Path) -> Result<Vec<PathBuf>, InstallError> {
    let list = root.join(place.join(LIST));
    let bytes = match fs::read(&list) {
        Ok(bytes) => bytes,
        // A file where a folder is expected is another fault, and the next to be found.
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(InstallError::Io(list, error)),
    };
    let mut found = Vec::new();
    for path in bytes.split_inclusive(|byte| *byte == 0) {
        let path =
            path.strip_suffix(&[0]).map(|path| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())));
        match path.filter(|path| is_below(path)) {
            Some(path) => found.push(path),
            None => return Err(InstallError::List(list)),
        }
    }
    Ok(found)
}

fn write_list<'p>(
    root: &Path,
    place: &Path,
    paths: impl Iterator<Item = &'p Path>,
) -> Result<(), InstallError> {
    let folder = root.join(place);
    fs::create_dir_all(&folder).map_err(io_at(&folder))?;
    let (list, new) = (folder.join(LIST), folder.join(format!(".{LIST}.deburr-new")));
    let bytes: Vec<u8> =
        paths.flat_map(|path| path.as_os_str().as_bytes().iter().chain(&[0])).copied().collect();
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, &list)).map_err(io_at(&list))
}

/// Runs the script of what is installed, if there is one.
fn run_script(root: &Path, place: &Path, argument: &[&str]) -> Result<Option<String>, InstallError> {
    let script = root.join(place).join(SCRIPT);
    if !script.is_file() {
        return Ok(None);
    }
    let output = Command::new(&script).args(argument).output().map_err(io_at(&script))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.success() {
        true => Ok(Some(said)),
        false => Err(InstallError::Select(script, format!("{}: {said}", output.status))),
    }
}

/// Back to the launchers of what is installed.
fn launcher_of(root: &Path, place: &Path) -> Result<(), InstallError> {
    run_script(root, place, &["--launcher"]).map(drop)
}
