//! Where an output goes: a path as the user gave it → a regular file to be replaced or made, or a stream (a
//! device, a FIFO, an open file of this process).
//!
//! Links are followed one by one, as the last one may lead to a file that does not exist yet (POSIX, open
//! with `O_CREAT`). What `/proc/self/fd` leads to is no path. The standard output and error are duplicated,
//! since opening them anew would begin at the start of a file that somebody else writes to.

use super::complaints::complaints;
use crate::identity::{Identity, identity};
use deburr_text::ShownPath as _;
use rustix::fs::{OFlags, fcntl_setfl};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Links followed, one after another, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where bytes go.
#[derive(Debug)]
pub(crate) enum Target {
    /// To a regular file.
    File(Regular),
    /// Through something that is no regular file.
    Stream(Stream),
}

/// A regular file that is or will be.
#[derive(Debug)]
pub(crate) struct Regular {
    /// Where it is, links followed.
    pub(crate) path: PathBuf,
    /// What is there now.
    pub(crate) there: Option<Metadata>,
}

/// Something that bytes go through.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) file: File,
    /// Whether it is the standard output, by whatever name.
    pub(crate) is_stdout: bool,
}

/// Where a chain of links ends.
enum End {
    Path(PathBuf, Option<Metadata>),
    /// In `/proc`, whose links lead to open files rather than to paths.
    Open(PathBuf),
}

impl Target {
    /// Finds out what a path means; `-` is the standard output.
    ///
    /// # Errors
    /// What cannot be written to: directories, sockets, block devices, links in a circle, a path without a name.
    pub(crate) fn of(path: &Path) -> io::Result<Target> {
        if path == Path::new("-") {
            return stdout().map(Target::Stream);
        }
        if path.as_os_str().is_empty() {
            return Err(io::Error::other("no name of a file"));
        }
        match end_of_links(path)? {
            End::Open(path) => open_descriptor(&path),
            End::Path(path, Some(there)) if there.is_file() => {
                Ok(Target::File(Regular { path, there: Some(there) }))
            }
            End::Path(path, Some(there)) => open_special(&path, &there).map(Target::Stream),
            End::Path(path, None) => match path.file_name() {
                // `name/` means a directory, here and to every tool.
                Some(_) if !path.as_os_str().as_bytes().ends_with(b"/") => {
                    Ok(Target::File(Regular { path, there: None }))
                }
                _ => Err(io::ErrorKind::IsADirectory.into()),
            },
        }
    }

    /// What it is, if it is there already: what is known of two names of one file.
    pub(crate) fn identity(&self) -> Option<Identity> {
        match self {
            Target::File(file) => file.there.as_ref().map(identity),
            Target::Stream(stream) => stream.identity(),
        }
    }
}

/// Whether a path is a name of the standard output.
pub(crate) fn is_named_stdout(path: &Path) -> bool {
    let is_first = |path: &Path| path.file_name() == Some(OsStr::new("1")) && is_own_descriptor(path);
    path == Path::new("-") || matches!(end_of_links(path), Ok(End::Open(path)) if is_first(&path))
}

fn is_own_descriptor(path: &Path) -> bool {
    let Ok(folder) = fs::canonicalize(folder_of(path)) else { return false };
    let own = ["/proc/self/fd", "/proc/thread-self/fd"];
    own.iter().any(|own| fs::canonicalize(own).is_ok_and(|own| own == folder))
}

impl Stream {
    /// Which file it is; `None` for devices, which any number of writers may share.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let metadata = self.file.metadata().ok()?;
        (!metadata.file_type().is_char_device()).then(|| identity(&metadata))
    }

    /// Whether a person reads it, who could read no binary.
    pub(crate) fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }
}

impl Regular {
    /// Where it is or will be, whatever the path to it.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        place(&self.path)
    }
}

/// Where a file is or will be whose path's last part is no link; `None` where its folder is not there.
pub(crate) fn place(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?))
}

/// The folder that a path is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A directory that is or will be, links followed.
///
/// # Errors
/// Where something else is there.
pub(crate) fn folder(path: &Path) -> io::Result<PathBuf> {
    match end_of_links(path)? {
        End::Path(path, Some(there)) if there.is_dir() => Ok(path),
        End::Path(path, None) => Ok(path),
        End::Path(..) | End::Open(_) => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn end_of_links(path: &Path) -> io::Result<End> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_symlink() => {
                let folder = fs::canonicalize(folder_of(&path))?;
                if folder.starts_with("/proc") {
                    return Ok(End::Open(path));
                }
                path = folder.join(fs::read_link(&path)?);
            }
            Ok(there) => return Ok(End::Path(path, Some(there))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(End::Path(path, None)),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// An open file of this process, or of another one.
fn open_descriptor(path: &Path) -> io::Result<Target> {
    let there = fs::metadata(path)?;
    if there.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let stream = match path.file_name().filter(|_| is_own_descriptor(path)).and_then(OsStr::to_str) {
        Some("1") => stdout()?,
        Some("2") => Stream { file: io::stderr().as_fd().try_clone_to_owned()?.into(), is_stdout: false },
        _ if there.file_type().is_socket() => return Err(io::Error::other("a socket")),
        // At its end, so that what is there already stays.
        _ => {
            let file = OpenOptions::new().append(true).open(path)?;
            Stream { is_stdout: is_stdout(&file), file }
        }
    };
    Ok(Target::Stream(stream))
}

fn stdout() -> io::Result<Stream> {
    Ok(Stream { file: io::stdout().as_fd().try_clone_to_owned()?.into(), is_stdout: true })
}

/// Whether a pipe or a file is what the standard output goes to.
fn is_stdout(file: &File) -> bool {
    let of = |file: &File| file.metadata().ok().filter(|it| !it.file_type().is_char_device());
    let stdout = stdout().ok().and_then(|stdout| of(&stdout.file));
    of(file).zip(stdout).is_some_and(|(one, other)| identity(&one) == identity(&other))
}

/// Opens what is no regular file, and sees that it still is what it was: no link is followed any more.
fn open_special(path: &Path, there: &Metadata) -> io::Result<Stream> {
    let kind = there.file_type();
    let refused = match () {
        () if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_block_device() => Some("a block device"),
        () => None,
    };
    if let Some(what) = refused {
        return Err(io::Error::other(what));
    }
    let file = if kind.is_fifo() { open_fifo(path)? } else { for_writing(OFlags::empty()).open(path)? };
    if identity(&file.metadata()?) != identity(there) {
        return Err(io::Error::other("another file took its place"));
    }
    Ok(Stream { is_stdout: is_stdout(&file), file })
}

fn for_writing(flags: OFlags) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags((flags | OFlags::NOFOLLOW).bits().cast_signed());
    options
}

/// Waits for whoever reads a FIFO, as every tool does, but says so.
fn open_fifo(path: &Path) -> io::Result<File> {
    match for_writing(OFlags::NONBLOCK).open(path) {
        Ok(file) => {
            fcntl_setfl(&file, OFlags::empty())?;
            Ok(file)
        }
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
            // Where the standard error is gone, it waits all the same.
            let _ = writeln!(complaints(), "deburr: {}: waiting for a reader of the FIFO", path.shown());
            for_writing(OFlags::empty()).open(path)
        }
        Err(error) => Err(error),
    }
}
