//! The options by which variants are laid out, for `deburr pack assemble` and for `deburr pack build --dist`.
//!
//! In: arguments. Out: [`Layout`], flattened into the options of both. The argument that names the output has the id `dist` in
//! either: without it no layout is wanted.

use clap::{Args, ValueEnum};
use deburr_pack::assemble::Pattern;
use std::path::{Component, Path, PathBuf};

/// How variants are laid out.
#[derive(Debug, Clone, Args)]
pub(crate) struct Layout {
    /// How the levels are laid out
    #[arg(long = "layout", value_enum, default_value_t = Kind::Trees, value_name = "LAYOUT", requires = "dist", help_heading = "Layout")]
    pub(crate) kind: Kind,
    /// Folder of the levels' trees in the tree [default: lib/PROG]
    ///
    /// Such as usr/lib/postgresql-levels or usr/libexec/prog.
    #[arg(long, value_name = "FOLDER", requires = "dist", help_heading = "Layout", value_parser = below)]
    pub(crate) place: Option<PathBuf>,
    /// Absolute path of the installed tree, for set-user-ID and confined programs
    #[arg(long, value_name = "FOLDER", requires = "dist", help_heading = "Layout", value_parser = absolute)]
    pub(crate) prefix: Option<String>,
    /// Libraries that programs open by name: paths in the tree
    ///
    /// Where deburr takes them for the loader's.
    #[arg(long, value_name = "GLOB", requires = "dist", help_heading = "Layout")]
    pub(crate) by_name: Vec<Pattern>,
    /// Libraries that the dynamic loader finds, with one interface at all levels
    ///
    /// Where deburr takes them for plug-ins, or cannot show that their interface is the same.
    #[arg(long, value_name = "GLOB", requires = "dist", help_heading = "Layout")]
    pub(crate) by_loader: Vec<Pattern>,
    /// Let links lead to the level that the machine has chosen
    ///
    /// For daemons that others find by the path of what runs.
    #[arg(long, requires = "dist", help_heading = "Layout", conflicts_with = "single_file")]
    pub(crate) select: bool,
    /// Accept libraries whose types are not shown to be the same
    ///
    /// Each is mentioned and recorded. One whose types differ is not accepted.
    #[arg(long, requires = "dist", help_heading = "Layout")]
    pub(crate) unproven_types: bool,
    /// Write one file that holds this program's variants
    #[arg(long, value_name = "PROG", requires = "dist", help_heading = "Layout", conflicts_with_all = ["place", "prefix", "by_name", "by_loader", "unproven_types", "split"])]
    pub(crate) single_file: Option<PathBuf>,
    /// Write DIST/base and DIST/LEVEL, each to become a package of a distribution
    #[arg(long, requires = "dist", help_heading = "Layout")]
    pub(crate) split: bool,
    /// Keep variants that gain nothing on any CPU that was measured
    #[arg(long, requires = "dist", help_heading = "Layout")]
    pub(crate) keep: bool,
}

fn absolute(text: &str) -> Result<String, &'static str> {
    if text.starts_with('/') { Ok(text.to_owned()) } else { Err("expected an absolute path") }
}

/// How the levels are laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A tree for each level: a process has code of one level
    #[default]
    Trees,
    /// One tree: programs and plug-ins are chosen one by one
    Shared,
}

/// A folder of the tree.
fn below(text: &str) -> Result<PathBuf, &'static str> {
    let path = Path::new(text);
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_below && !text.is_empty() {
        Ok(path.to_owned())
    } else {
        Err("expected a path below the tree, such as usr/lib/prog")
    }
}
