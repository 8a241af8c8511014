//! The options of `deburr pack install`.

use crate::args::format::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The options of `deburr pack install`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack install dist /usr/local
  deburr pack install --select dist /
      of a tree that was assembled with --select
  deburr pack install --remove dist /usr/local

Each file is renamed into its place, the launchers last, so that a whole old or
a whole new program starts at each moment. A list of the files is kept beside
the trees of the levels: by it, files that only a former version has are
removed. After an interruption the same command goes on.

With --select the link PLACE/selected leads to the tree of the level that this
CPU runs best, where a unit of systemd chooses again at each boot; elsewhere,
such as in a chroot, the launchers choose at each start, and a line says so.
--select=once chooses there, too: what was installed must then not be moved to
a machine with another CPU.

Exit status: 0 installed or removed, 2 not, or not all.")]
pub(crate) struct Install {
    /// What deburr pack assemble made
    #[arg(value_name = "DIST")]
    pub(crate) tree: PathBuf,
    /// Where the tree goes
    #[arg(value_name = "ROOT")]
    pub(crate) root: PathBuf,
    /// Choose the level now, for programs that are not launched
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "boot", conflicts_with = "remove")]
    pub(crate) select: Option<When>,
    /// Remove what was installed
    #[arg(long)]
    pub(crate) remove: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
}

/// When the machine chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// Now, where each boot chooses again
    Boot,
    /// Now, whatever the next boot does
    Once,
}
