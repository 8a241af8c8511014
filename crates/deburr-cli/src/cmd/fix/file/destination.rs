//! Where a rewritten file goes: the options → a [`Destination`], which takes the new bytes and checks them
//! there.
//!
//! In: a path, the goal and the bytes. Out: what was written, and what could not be kept.

use super::install::{self, Existing};
use super::source::Source;
use crate::args::fix::Fix;
use crate::cmd::fix::trouble::Trouble;
use crate::identity::identity;
use crate::input::mapped::Bytes;
use crate::output::attributes::{self, Inherited};
use crate::output::refuse_input;
use crate::output::target::{Regular, Stream, Target};
use crate::render::fix::outcome::{Break, Written};
use crate::sha256::sha256;
use crate::system_error::error_text;
use deburr_patch::Edited;
use deburr_text::ShownPath as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is to become of a binary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal<'p> {
    Plan,
    /// The rewritten file goes there.
    New(&'p Path),
    /// It comes in the place of the old one.
    Replace,
}

/// Where bytes go.
pub(crate) enum OutputPlace {
    File(PathBuf),
    /// With its name.
    Stream(Stream, PathBuf),
}

impl OutputPlace {
    pub(crate) fn path(&self) -> &Path {
        match self {
            OutputPlace::File(path) | OutputPlace::Stream(_, path) => path,
        }
    }
}

/// Where a file goes.
pub(crate) struct Destination {
    pub(crate) place: OutputPlace,
    /// What the old file there is called then.
    backup: Option<PathBuf>,
    /// Whether it takes the place of the file that was read.
    pub(crate) is_replaced: bool,
}

impl Destination {
    /// Where a file goes, if anywhere; refuses what must not be written to.
    pub(crate) fn of(
        options: &Fix,
        path: &Path,
        source: &Source,
        goal: Goal<'_>,
    ) -> Result<Option<Destination>, Trouble> {
        Ok(match goal {
            Goal::Plan => None,
            Goal::New(output) => {
                let config: Vec<&Path> = options.config.iter().map(PathBuf::as_path).collect();
                let place = new_file(output, source, &config)?;
                Some(Destination { place, backup: None, is_replaced: false })
            }
            Goal::Replace => {
                let real = with_links_followed(path)?;
                // What was rewritten once can be so again.
                let is_kept = !options.revert || options.backup.is_some();
                let backup = is_kept.then(|| {
                    let mut backup = real.clone().into_os_string();
                    backup.push(options.suffix());
                    PathBuf::from(backup)
                });
                Some(Destination { place: OutputPlace::File(real), backup, is_replaced: true })
            }
        })
    }

    /// Writes what was made of a file, or a copy of the file where that is nothing; `check` sees what was
    /// made, once it is written. Returns what does not fit any more as well.
    pub(crate) fn deliver(
        self,
        path: &Path,
        source: &Source,
        made: Option<Edited<'_>>,
        check: impl FnOnce(&Bytes) -> Result<(), Trouble>,
    ) -> Result<(Written, Vec<Break>), Trouble> {
        let Destination { place, backup, is_replaced } = self;
        let backup = backup.filter(|_| made.is_some());
        if let Some(backup) = &backup {
            refuse_existing(backup)?;
        }
        let (is_made, name) = (made.is_some(), place.path().to_owned());
        let new = &made.unwrap_or_else(|| (&*source.bytes).into());
        let check = |written: &Bytes| {
            if is_made {
                check(written)?;
            }
            source.check()
        };
        let lost = match place {
            OutputPlace::Stream(stream, name) => {
                install::put_through(new, stream, &name, check)?;
                Vec::new()
            }
            OutputPlace::File(destination) if is_made || !is_replaced => {
                let replaced = is_replaced.then_some(&source.file);
                let inherited = Inherited { metadata: &source.metadata, replaced, is_privileged: true };
                let existing = backup.as_deref().map_or(Existing::Replace, Existing::Rename);
                install::put(new, &destination, inherited, existing, check)?
            }
            OutputPlace::File(_) => Vec::new(),
        };
        let mut breaks = Vec::new();
        if !lost.is_empty() {
            let text = format!("attributes that could not be kept: {}", lost.join(", "));
            breaks.push(Break { what: "attributes", text });
        }
        if backup.is_some() && attributes::is_privileged(&source.file, &source.metadata) {
            let text = "the backup has no set-user-ID, set-group-ID or capabilities, so that no second program with \
                 another's rights stays";
            breaks.push(Break { what: "privilege", text: text.to_owned() });
        }
        let written = Written {
            path: if is_replaced { path } else { &name }.shown().into_owned(),
            is_changed: is_made,
            sha256: sha256(new.pieces()),
            backup: backup.map(|path| path.shown().into_owned()),
        };
        Ok((written, breaks))
    }
}

/// What is a backup already is not written over.
fn refuse_existing(backup: &Path) -> Result<(), Trouble> {
    match fs::symlink_metadata(backup) {
        Ok(_) => {
            let backup = backup.shown();
            Err(Trouble::fault(format!("the backup {backup} exists; --backup gives it another suffix")))
        }
        Err(_) => Ok(()),
    }
}

/// The file that is meant, where a path is a link.
fn with_links_followed(path: &Path) -> Result<PathBuf, Trouble> {
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    fs::canonicalize(path).map_err(|error| Trouble::fault(error_text(&error)))
}

/// The place of a new file; not the file that is read.
fn new_file(output: &Path, source: &Source, others: &[&Path]) -> Result<OutputPlace, Trouble> {
    let refused = |reason: &str| Trouble::fault(format!("{}: {reason}", output.shown()));
    let target = Target::of(output).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => refused("a directory; give the name of the new file"),
        _ => refused(&error_text(&error)),
    })?;
    if target.identity() == Some(identity(&source.metadata)) {
        return Err(refused("the same file; --in-place rewrites it and keeps a backup"));
    }
    refuse_input(&target, others).map_err(refused)?;
    match target {
        Target::File(Regular { path, .. }) => Ok(OutputPlace::File(path)),
        Target::Stream(stream) if stream.is_terminal() => {
            Err(refused("a terminal, which cannot show a binary"))
        }
        Target::Stream(stream) => Ok(OutputPlace::Stream(stream, output.to_owned())),
    }
}
