//! The options of `deburr show`.

use super::analysis::{AnalysisOptions, DebugFiles};
use super::format::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The options of `deburr show`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr show ./server spin_lock
      a function, by its symbol or demangled name
  deburr show ./server 0x13b77c
      the function that holds an address
  deburr show counters.o .text+0x18
      a place in an object, as check shows it
  deburr show 'lib.a(counters.o)' count           a member of an archive
  deburr show --syntax intel --bytes ./server 'parse_*'

What is shown next to the instructions:
  ┌ │ └   a loop, by depth
  ┏ ┃ ┗   from load-exclusive to store-exclusive
  → name  where a branch leads
  [AVX2]  needed beyond --baseline, or the first level

Exit status: 0 shown, 2 no function, or several, answer to the name, or the file
cannot be read.")]
pub(crate) struct Show {
    /// An ELF file, a static archive, or its member as lib.a(member.o)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Function, address 0x…, or offset name+0x…
    ///
    /// A function is a name, a part of one, or a pattern with * and ?. An offset is that of a function or a section.
    #[arg(value_name = "FUNCTION|ADDRESS")]
    pub(crate) place: String,

    /// How x86-64 instructions are written; A64 has one syntax only
    #[arg(long, value_enum, default_value_t = Syntax::Att, help_heading = "Output")]
    pub(crate) syntax: Syntax,
    /// Instructions before and after the address, or the findings [default: 20, all of a function of up to 200]
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) context: Option<usize>,
    /// Show the whole function, however long
    #[arg(long, conflicts_with = "context", help_heading = "Output")]
    pub(crate) whole: bool,
    /// Show the bytes of each instruction
    #[arg(long, help_heading = "Output")]
    pub(crate) bytes: bool,
    /// Leave the source lines out
    #[arg(long, help_heading = "Output")]
    pub(crate) no_source: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) analysis: AnalysisOptions,
    #[command(flatten)]
    pub(crate) debug_files: DebugFiles,
}

/// How x86-64 instructions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Syntax {
    /// As GNU objdump, gdb and perf do: mov %rsp,%rbp
    Att,
    /// As the manuals do: mov rbp,rsp
    Intel,
}
