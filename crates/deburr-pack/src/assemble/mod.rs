//! Lays out variants of an installed tree so that one of them is chosen at start.
//!
//! In: one tree for each level ([`Source`]). Out: one tree, which can be moved as a whole. What is the same in all trees
//! is copied once. By default each level has a tree of its own, of which a launcher starts a program (`whole.rs`). In the shared
//! layout, and where no program could choose, a program that differs becomes a launcher, with its variants in sibling folders of
//! the same depth: `bin/prog` starts `bin-x86-64-v3/prog`, so `$ORIGIN/../lib` keeps its meaning, and so does the base name. A
//! library that the dynamic loader finds goes into `glibc-hwcaps/` (ld.so(8), "Hardware capabilities"); one that is opened by
//! name gets a table beside it, which `deburr_select.c` reads.
//!
//! The tree is composed in a temporary folder next to the output, and renamed: it is there whole or not at all.

mod binary;
pub(crate) use binary::build_of;
mod elf;
pub(crate) use elf::lexical;
mod interface;
mod metadata;
pub(crate) use metadata::keep_metadata;
mod place;
pub(crate) use place::BASE;
mod plan;
mod redirect;
mod runpath;
mod select;
pub(crate) use select::SCRIPT;
mod single;
mod sound;
mod tree;
pub(crate) use tree::{Entry, entries_of};
mod whole;
pub(crate) use whole::{ID_DIGITS, START};

pub use glob::Pattern;
pub use single::assemble_single;
pub use sound::{Soundness, check_sources};

use crate::check::Fault;
use crate::demand::demanded;
use crate::record::{self, CheckRecord, InterfaceRecord, Measured, RecordError};
use deburr_cpu::{Arch, FeatureSet, Target};
use deburr_launcher::TableError;
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A variant: an installed tree, and what its code may need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The level's name.
    pub level: String,
    /// The level's architecture.
    pub arch: Arch,
    /// The level's features.
    pub features: FeatureSet,
    /// The installed tree.
    pub tree: PathBuf,
    /// How it was checked, if that is known.
    pub check: Option<CheckRecord>,
}

impl Source {
    /// What a machine must have to run the variant.
    pub(crate) fn demanded(&self) -> FeatureSet {
        let target = Target { name: self.level.clone(), arch: self.arch, features: self.features };
        demanded(&target, self.check.as_ref().and_then(CheckRecord::used))
    }
}

/// What to lay out.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The variants; one of them needs no more than any other.
    pub sources: Vec<Source>,
    /// Where the output will be installed, an absolute path: set-user-ID programs look for variants only there.
    pub prefix: Option<String>,
    /// What was measured: preferences by CPU model.
    pub measured: Vec<Measured>,
    /// Paths of libraries that are opened by name, relative to the tree, whatever else speaks for the loader.
    pub by_name: Vec<Pattern>,
    /// Paths of libraries that the dynamic loader finds.
    pub by_loader: Vec<Pattern>,
    /// The command that built the trees, for the record.
    pub command: Vec<String>,
    /// Lay all levels out in one tree, in which a process may open libraries of other levels than its own; otherwise each level has
    /// a tree of its own, where a program chooses.
    pub is_shared: bool,
    /// Where the trees of the levels are, relative to the tree; `None`: below `lib`, by the name of the first program.
    pub place: Option<PathBuf>,
    /// Let programs be links that lead to a level's tree once it was chosen on the machine, and to launchers before (`select.rs`).
    pub is_selected: bool,
    /// Write a tree for each package: `base`, which works alone, and one for each level above the lowest with what only
    /// that level runs. Together they are the one tree.
    pub is_split: bool,
    /// Take libraries for the same at each level of which that is neither shown nor refuted.
    pub is_unproven_accepted: bool,
}

/// How a file of several variants is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// A launcher starts one of them.
    Launcher,
    /// The dynamic loader chooses one of them.
    Loader,
    /// A program opens one of them by the table.
    Table,
    /// Each is in the tree of its level, whose program opens it.
    Tree,
}

/// A file of several variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Laid {
    /// Relative to the tree.
    pub path: PathBuf,
    /// How a variant is chosen.
    pub mechanism: Mechanism,
    /// The levels whose code differs from that of a lower one, lowest first.
    pub levels: Vec<String>,
}

/// A file that is taken from the lowest variant though the variants differ, or that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Relative to the tree.
    pub path: PathBuf,
    /// What about it.
    pub text: String,
}

/// What was laid out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assembled {
    /// The levels that were considered, lowest first.
    pub levels: Vec<String>,
    /// Levels that gain nothing on any measured CPU model, and were left out.
    pub dropped: Vec<String>,
    /// The folders of packages, where the tree is split.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Files of several variants.
    pub laid: Vec<Laid>,
    /// How many other files and links were copied.
    pub copied: usize,
    /// What the reader should know.
    pub remarks: Vec<Remark>,
    /// The interfaces that were compared between levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceRecord>,
}

/// Why nothing was laid out.
#[derive(Debug)]
#[non_exhaustive]
pub enum AssembleError {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// The output exists, and is no empty folder.
    Exists(PathBuf),
    /// No variant's features are a subset of those of all others; or there are fewer than two variants.
    NoLowest(Vec<String>),
    /// A variant is for another architecture than the others, or its level is given twice.
    Levels(String),
    /// A pattern selects nothing, or its files are selected by one of the other kind.
    Pattern(Pattern, &'static str),
    /// Files are not what their variant's level says: the level, and what is wrong.
    Faults(Vec<(String, Fault)>),
    /// No program of the trees has a tree for each level, so none could be selected.
    NothingToSelect,
    /// A file cannot be laid out: where, and why.
    File(PathBuf, String),
    /// What one level was built with would load these files of another level: why it must not.
    Interfaces(Vec<(PathBuf, String)>),
    /// The table of a program or library cannot be written.
    Table(PathBuf, TableError),
    /// The record cannot be written.
    Record(RecordError),
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Io(path, error) => write!(f, "{}: {error}", path.shown()),
            AssembleError::Exists(path) => {
                write!(f, "{}: expected a folder that is empty or does not exist", path.shown())
            }
            AssembleError::NoLowest(levels) => write!(
                f,
                "expected at least two levels, one of which needs no more than any other: got {}",
                levels.join(", ")
            ),
            AssembleError::Levels(reason) => f.write_str(reason),
            AssembleError::Pattern(pattern, reason) => write!(f, "{pattern}: {reason}"),
            AssembleError::Faults(faults) => {
                for (level, fault) in faults {
                    writeln!(f, "{level}: {fault}")?;
                }
                f.write_str("build these variants for their levels, or pass --no-check")
            }
            AssembleError::NothingToSelect => f.write_str(
                "--select: no program or library of the trees differs between the levels so that a program could be chosen; leave --select out",
            ),
            AssembleError::File(path, reason) => write!(f, "{}: {reason}", path.shown()),
            AssembleError::Interfaces(files) => {
                for (at, (path, reason)) in files.iter().enumerate() {
                    let end = if at + 1 < files.len() { "\n" } else { "" };
                    write!(f, "{}: {reason}{end}", path.shown())?;
                }
                Ok(())
            }
            AssembleError::Table(path, error) => write!(f, "{}: {error}", path.shown()),
            AssembleError::Record(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AssembleError {}

/// Lays out the variants in a folder that is empty or does not exist.
///
/// # Errors
/// [`AssembleError`]; then the output is as it was.
pub fn assemble(request: &Request, output: &Path) -> Result<Assembled, AssembleError> {
    assemble_watched(request, output, &mut |_| {})
}

/// As [`assemble`]; `comparing` hears of each file whose interface is compared, before: one with much debug information takes seconds.
///
/// # Errors
/// [`AssembleError`]; then the output is as it was.
pub fn assemble_watched(
    request: &Request,
    output: &Path,
    comparing: &mut dyn FnMut(&Path),
) -> Result<Assembled, AssembleError> {
    let levels = plan::Levels::of(request)?;
    let trees = tree::Trees::walk(&levels.sources)?;
    is_root_at(request)?;
    if request.is_selected && request.is_shared {
        let reason = "--select needs a tree for each level; leave --layout shared out";
        return Err(AssembleError::Levels(reason.to_owned()));
    }
    let sorted = plan::Sorted::of(&levels, &trees)?;
    let whole = match request.is_shared {
        true => None,
        false => plan::Plan::whole(request, (&levels, &trees), &sorted, comparing)?,
    };
    let plan = match whole {
        Some(plan) => plan,
        None if request.is_selected => return Err(AssembleError::NothingToSelect),
        None => plan::Plan::of(request, (&levels, &trees), &sorted, comparing)?,
    };
    match std::fs::read_dir(output) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(AssembleError::Exists(output.to_owned()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(AssembleError::Exists(output.to_owned()));
        }
        Err(error) => return Err(AssembleError::Io(output.to_owned(), error)),
    }
    let temporary = temporary_of(output)?;
    let roots = place::Roots::below(&temporary, &levels, request.is_split);
    let placed = place::place(&plan, &levels, &trees, &roots).and_then(|()| {
        let variants = levels.sources.iter().map(|source| record::BuiltVariant {
            level: source.level.clone(),
            state: record::State::Done,
            tree: PathBuf::from("."),
            log: None,
            check: source.check.clone(),
        });
        let record = record::Record {
            schema_version: record::SCHEMA_VERSION,
            command: request.command.clone(),
            variants: variants.collect(),
            measured: request.measured.clone(),
            files: plan.files(&levels, &roots, &temporary)?,
            place: plan.place.as_ref().map(|place| roots.in_base(place, &temporary)),
            selection: plan.selection.as_ref().map(|link| roots.in_base(link, &temporary)),
            interfaces: plan.interfaces.clone(),
        };
        record.write(&temporary).map_err(AssembleError::Record)?;
        std::fs::rename(&temporary, output).map_err(|error| AssembleError::Io(output.to_owned(), error))
    });
    if let Err(error) = placed {
        // The first fault is the one to report; what is left is below a name of its own.
        let _ = std::fs::remove_dir_all(&temporary);
        return Err(error);
    }
    let names: Vec<String> = levels.sources.iter().map(|source| source.level.clone()).collect();
    // A level whose code is that of a lower one in all files has no package.
    let has_files = |index: usize| plan.several.iter().any(|it| it.files.iter().any(|file| file.0 == index));
    let above = (1..names.len()).filter(|index| has_files(*index)).map(|index| names[index].clone());
    let packages = std::iter::once(BASE.to_owned()).chain(above).filter(|_| request.is_split).collect();
    Ok(Assembled {
        levels: names,
        packages,
        dropped: levels.dropped.clone(),
        laid: plan.laid(&levels),
        copied: plan.copies.len(),
        remarks: plan.remarks,
        interfaces: plan.interfaces,
    })
}

/// Whether the prefix is where the root of the trees will be: trees that were installed under `DESTDIR` hold the prefix of the
/// project, and their root is `/`.
fn is_root_at(request: &Request) -> Result<(), AssembleError> {
    let Some(below) = request.prefix.as_deref().map(|prefix| prefix.trim_matches('/')) else { return Ok(()) };
    let holds = |source: &Source| !below.is_empty() && source.tree.join(below).is_dir();
    if !request.sources.iter().any(holds) {
        return Ok(());
    }
    let reason =
        format!("the trees hold this folder, so their root will be /: --prefix / instead of /{below}");
    Err(AssembleError::File(PathBuf::from(below), reason))
}

/// A new folder next to the output.
fn temporary_of(output: &Path) -> Result<PathBuf, AssembleError> {
    let absolute =
        std::path::absolute(output).map_err(|error| AssembleError::Io(output.to_owned(), error))?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(AssembleError::Exists(output.to_owned()));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.new", std::process::id()));
    let temporary = parent.join(hidden);
    std::fs::create_dir(&temporary).map_err(|error| AssembleError::Io(temporary.clone(), error))?;
    Ok(temporary)
}
