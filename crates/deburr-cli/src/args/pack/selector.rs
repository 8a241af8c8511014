//! The options of `deburr pack selector`.

use clap::{Args, ValueEnum};
use deburr_cpu::Arch;
use std::path::PathBuf;

/// The options of `deburr pack selector`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack selector -o sdk                            for this machine
  deburr pack selector --arch aarch64 --source -o sdk
  cc -Isdk main.c -Lsdk -ldeburr-select

A program that opens libraries by name (dlopen, System.load, ctypes) calls
deburr_select with the library's path, and opens the path that it gets. The
header says how. With --source, the one C file can be compiled into the program
instead.

Exit status: 0 written, 2 not.")]
pub(crate) struct Selector {
    /// The folder that the files go to
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// The architecture [default: this machine's]
    #[arg(long, value_enum)]
    pub(crate) arch: Option<Architecture>,
    /// Write the source, too
    #[arg(long)]
    pub(crate) source: bool,
}

/// An architecture that the selector exists for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Architecture {
    /// x86-64
    #[value(name = "x86-64", alias = "x86_64")]
    X86_64,
    /// AArch64
    #[value(name = "aarch64")]
    Aarch64,
}

impl Architecture {
    /// As the other crates have it.
    pub(crate) fn arch(self) -> Arch {
        match self {
            Architecture::X86_64 => Arch::X86_64,
            Architecture::Aarch64 => Arch::Aarch64,
        }
    }
}
