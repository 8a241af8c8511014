//! The options of `deburr pack build`.

use super::checking::Checking;
use super::layout::Layout;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The options of `deburr pack build`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack build --levels x86-64-v1,x86-64-v3 -- make -j2
  deburr pack build --levels x86-64-v1,x86-64-v3,x86-64-v4 -- sh -c \\
      './configure && make install'
  deburr pack build --levels armv8-a,armv8.1-a -- make CC=aarch64-linux-gnu-gcc
  deburr pack build --levels x86-64-v1,x86-64-v3 --take server -- make
      only this file
  deburr pack build --levels x86-64-v1,x86-64-v3 --dist dist -- make install
      and assembles
  deburr pack build --levels x86-64-v1,x86-64-v3 --accept 'crc_*_pclmul' -- make
      functions that the program enters only where the CPU has what they need

The command finds wrappers of the compilers first in PATH; they put the level's
flags in front of its own. DESTDIR names the folder to install into; where
nothing is installed, the programs and shared libraries that were linked are
taken.

With --dist, the variants that are built are laid out as by deburr pack
assemble, with the same options. Where one is rejected, nothing is; one whose
build failed is left out.

Where the check follows a program's own checks of the CPU not far enough, say so
by --accept, or by a [[guard]] of deburr.toml, which is exact. A variant that is
not decided is built, with a note.

Exit status: 0 all variants are built, and none is known to need more than its
level, 2 some are not, 130 interrupted (the same command goes on).")]
pub(crate) struct Build {
    /// Levels or CPUs, a variant each, the lowest first
    #[arg(long, value_name = "LEVEL,…", value_delimiter = ',', required = true)]
    pub(crate) levels: Vec<String>,
    /// The folder of the pack
    #[arg(short, long, value_name = "PACK", default_value = "deburr-pack")]
    pub(crate) output: PathBuf,
    /// The tree of sources to copy [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,
    /// File or folder of the copy to take, or a pattern
    ///
    /// Instead of what is installed or linked.
    #[arg(long, value_name = "PATH|GLOB")]
    pub(crate) take: Vec<PathBuf>,
    /// Also lay the variants out in this folder, empty or new
    #[arg(long, value_name = "DIST", help_heading = "Layout")]
    pub(crate) dist: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) layout: Layout,
    /// Build all variants again, from new copies
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) checking: Checking,
    /// Show faults only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The build command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
