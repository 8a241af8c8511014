//! The options of `deburr pack assemble`.

use super::checking::Checking;
use super::layout::Layout;
use crate::args::format::Format;
use clap::Args;
use std::path::PathBuf;

/// The options of `deburr pack assemble`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack assemble PACK -o dist
  deburr pack assemble --variant x86-64-v1=tree-v1 --variant x86-64-v3=tree-v3 \\
      -o dist
  deburr pack assemble --prefix /usr PACK -o dist
      with set-user-ID programs
  deburr pack assemble PACK --single-file bin/prog -o prog
      one file for all levels
  DEBURR_EXPLAIN=exit dist/bin/prog
      what the launcher would start here

All trees must hold the same files. What is the same in all of them, or is no
code, is copied once, from the tree that needs least.

  program            bin/prog becomes a launcher; the variants are
                     bin-LEVEL/prog
  library, needed    lib/glibc-hwcaps/LEVEL/libx.so.1, where glibc's dynamic
                     loader finds it
  library, by name   plugin.so.variants/LEVEL/plugin.so, and the table
                     plugin.so.deburr, for
                       programs that choose with deburr_select.c

A library goes to glibc-hwcaps where its interface is shown to be the same at
each level, by symbols and debug information (-g). Otherwise the lowest variant
is used, and a line says why.

A tree of --variant is checked first: a function that needs more than its level,
on a path without a sufficient check, refuses it. What pack build made has been
checked.

With --single-file the variants are in the launcher's own file. The first start
writes the chosen one to $DEBURR_CACHE, $XDG_CACHE_HOME/deburr or
~/.cache/deburr, and starts it there; where that cannot be done, or others could
write there, it is copied into memory at each start (memfd_create). The file
must not be stripped.

With --split, DIST/base works alone, and DIST/LEVEL adds what only that level
runs: unpacked over one another they are the same tree.

The output can be moved as a whole. DEBURR_LEVEL=LEVEL starts a variant of your
choice.

Exit status: 0 assembled, 2 not; then nothing was written.")]
pub(crate) struct Assemble {
    /// What deburr pack build made
    #[arg(value_name = "PACK", required_unless_present = "variants", conflicts_with = "variants")]
    pub(crate) pack: Option<PathBuf>,
    /// Installed tree and its level (once for each variant)
    #[arg(long = "variant", value_name = "LEVEL=TREE")]
    pub(crate) variants: Vec<String>,
    /// Folder for the tree, empty or new
    #[arg(short, long, id = "dist", value_name = "DIST")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) layout: Layout,
    #[command(flatten)]
    pub(crate) checking: Checking,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
}
