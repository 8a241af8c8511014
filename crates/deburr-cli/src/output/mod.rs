//! All that the command writes to files: an option's path → an [`Output`]. It is at its place as a whole or
//! not at all, wherever a place has names for that.
//!
//! A regular file is replaced under its name, with the mode and the owner that it had. Its other names (hard
//! links) keep what they had, as they may be somebody's copy. What is no regular file is written to as it is.
//! What is read by the same run is not written over.

pub(crate) mod attributes;
pub(crate) mod complaints;
pub(crate) mod reader;
pub(crate) mod shard;
pub(crate) mod sparse;
pub(crate) mod target;
pub(crate) mod temporary;

use crate::identity::{Identity, identity};
use crate::input::content::Content;
use crate::system_error::error_text;
use attributes::{Inherited, inherit};
use deburr_text::ShownPath as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use target::{Regular, Stream, Target};
use temporary::TemporaryFile;

/// Bytes that are written at a time: as many as a pipe holds.
pub(crate) const BLOCK: usize = 1 << 16;

/// A place to write to, opened before the work begins: what cannot be written should fail at once.
pub(crate) struct Output {
    /// As the user calls it.
    pub(crate) name: String,
    out: BufWriter<File>,
    /// The file that gets its name at the end, and the name.
    temporary: Option<(TemporaryFile, PathBuf)>,
    /// What the run must not take for input: the new file and the one that it replaces.
    pub(crate) identities: Vec<Identity>,
    /// Whether it is the standard output, by whatever name.
    pub(crate) is_stdout: bool,
}

impl Output {
    /// Opens it; `inputs`: files and folders that the run reads.
    ///
    /// # Errors
    /// With the path, for people.
    pub(crate) fn open(path: &Path, inputs: &[&Path]) -> Result<Output, String> {
        let name = path.shown().into_owned();
        let fault = |error: io::Error| format!("{name}: {}", error_text(&error));
        let target = Target::of(path).map_err(fault)?;
        refuse_input(&target, inputs).map_err(|reason| format!("{name}: {reason}"))?;
        let output = match target {
            Target::Stream(stream) => Ok(Output::through(&name, stream)),
            Target::File(file) => Output::replacing(&name, file),
        };
        output.map_err(|error| format!("{name}: {}", error_text(&error)))
    }

    fn through(name: &str, stream: Stream) -> Output {
        Output {
            name: name.to_owned(),
            identities: stream.identity().into_iter().collect(),
            is_stdout: stream.is_stdout,
            out: BufWriter::with_capacity(BLOCK, stream.file),
            temporary: None,
        }
    }

    fn replacing(name: &str, Regular { path, there }: Regular) -> io::Result<Output> {
        let mut identities: Vec<Identity> = there.iter().map(identity).collect();
        if let Some(there) = &there {
            // Whoever may not write to a file does not replace it either.
            let old = to_regular(&path)?;
            let temporary = TemporaryFile::next_to(&path, 0o600).and_then(|temporary| {
                let inherited = Inherited { metadata: there, replaced: Some(&old), is_privileged: false };
                inherit(&temporary.file, inherited).map(|_| temporary)
            });
            // Neither the folder nor the owner may be in this user's hand: then the file itself is written to.
            let Ok(temporary) = temporary else {
                old.set_len(0)?;
                let stream = Stream { file: old, is_stdout: false };
                return Ok(Output { identities, ..Output::through(name, stream) });
            };
            identities.push(identity(&temporary.file.metadata()?));
            return Output::temporary(name, temporary, path, identities);
        }
        let temporary = TemporaryFile::next_to(&path, 0o666)?;
        identities.push(identity(&temporary.file.metadata()?));
        Output::temporary(name, temporary, path, identities)
    }

    fn temporary(
        name: &str,
        temporary: TemporaryFile,
        path: PathBuf,
        identities: Vec<Identity>,
    ) -> io::Result<Output> {
        let out = BufWriter::with_capacity(BLOCK, temporary.file.try_clone()?);
        Ok(Output {
            name: name.to_owned(),
            out,
            temporary: Some((temporary, path)),
            identities,
            is_stdout: false,
        })
    }

    /// The file that gets its name at the end, for another program to write to instead.
    pub(crate) fn unfinished(&self) -> Option<&Path> {
        self.temporary.as_ref().map(|(temporary, _)| temporary.path())
    }

    /// Whether both are one place, where one would overwrite or interrupt the other.
    pub(crate) fn is_same(&self, other: &Output) -> bool {
        let place = |output: &Output| target::place(&output.temporary.as_ref()?.1);
        (self.is_stdout && other.is_stdout)
            || self.is_one_of(&other.identities)
            || place(self).is_some_and(|own| place(other) == Some(own))
    }

    /// Whether it is one of these files.
    pub(crate) fn is_one_of(&self, files: &[Identity]) -> bool {
        self.identities.iter().any(|identity| files.contains(identity))
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    /// With the path, for people.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.flush().map_err(|error| error.to_string())?;
        let Some((mut temporary, path)) = self.temporary.take() else { return Ok(()) };
        let fault = |error: io::Error| format!("{}: {}", self.name, error_text(&error));
        match temporary.rename_to(&path) {
            // A file that is mounted has its name for as long as that lasts.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                write_over(&path, &mut temporary.file).map_err(fault)
            }
            done => done.map_err(fault),
        }
    }

    fn named(&self, error: io::Error) -> io::Error {
        // Another kind than a closed pipe's: a file that was requested is not there.
        io::Error::other(format!("{}: {}", self.name, error_text(&error)))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.named(error))
    }
}

/// Makes bytes what a file holds; `inputs` as in [`Output::open`].
///
/// # Errors
/// With the path, for people.
pub(crate) fn write(path: &Path, bytes: &[u8], inputs: &[&Path]) -> Result<(), String> {
    let mut output = Output::open(path, inputs)?;
    output.write_all(bytes).map_err(|error| error.to_string())?;
    output.finish()
}

/// Opens what grows as the work goes on: a file that is not there yet, or what is no regular file. `others`: further places
/// that the run writes to.
///
/// # Errors
/// With the path, for people; also where there is a file, which would be lost.
pub(crate) fn begin(path: &Path, others: &[&Path]) -> Result<Stream, String> {
    let fault = |error: io::Error| format!("{}: {}", path.shown(), error_text(&error));
    match Target::of(path).map_err(fault)? {
        Target::Stream(stream) => Ok(stream),
        Target::File(Regular { there: Some(_), .. }) => {
            Err(format!("{}: File exists, and is never written over", path.shown()))
        }
        Target::File(own) => {
            let is_own = |other: &&Path| match Target::of(other) {
                Ok(Target::File(other)) => other.place() == own.place(),
                _ => false,
            };
            if own.place().is_some() && others.iter().any(is_own) {
                return Err(format!("{}: two outputs for one file", path.shown()));
            }
            let opened = OpenOptions::new().read(true).append(true).create_new(true).open(&own.path);
            Ok(Stream { file: opened.map_err(fault)?, is_stdout: false })
        }
    }
}

/// A directory to put files into, made where there is none.
///
/// # Errors
/// With the path, for people.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, String> {
    let made = target::folder(path).and_then(|folder| fs::create_dir_all(&folder).map(|()| folder));
    made.map_err(|error| format!("{}: {}", path.shown(), error_text(&error)))
}

/// Opens a regular file that is there, as it is.
fn to_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("another file took its place")),
    }
}

/// Puts a file's bytes into another one, which keeps all else.
pub(crate) fn write_over(path: &Path, from: &mut File) -> io::Result<()> {
    let mut to = to_regular(path)?;
    to.set_len(0)?;
    from.rewind()?;
    io::copy(from, &mut to).map(|_| ())
}

/// Refuses what the run reads: what it would say of that would take its place.
pub(crate) fn refuse_input(target: &Target, inputs: &[&Path]) -> Result<(), &'static str> {
    let Some(own) = target.identity() else { return Ok(()) };
    let of = |path: &&Path| fs::metadata(path).ok();
    if inputs.iter().filter_map(of).any(|input| identity(&input) == own) {
        return Err("it is read by this run, and would be lost");
    }
    let Target::File(file) = target else { return Ok(()) };
    let is_below = |folder: &&Path| {
        let place = fs::canonicalize(&file.path).and_then(|file| Ok((file, fs::canonicalize(folder)?)));
        place.is_ok_and(|(file, folder)| file.starts_with(folder))
    };
    let is_program = || match File::open(&file.path).and_then(crate::input::mapped::Bytes::of) {
        Ok(bytes) => !matches!(Content::of_all(&bytes), Content::Empty | Content::Other),
        Err(_) => false,
    };
    match inputs.iter().any(is_below) && is_program() {
        true => Err("a file of the directory that this run reads, and no report: it would be lost"),
        false => Ok(()),
    }
}
