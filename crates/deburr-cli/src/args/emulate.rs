//! The options of `deburr try`.

use super::format::Format;
use super::values::offers;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The options of `deburr try`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr try --cpu x86-64-v2 -- ./server --version
  deburr try --cpu x86-64-v2 --record v2.json -- python3 -c 'import polars'
  deburr try --cpu x86-64-v2 --record v2.json --append -- python3 -m pytest -q
  deburr check --tried v2.json polars.abi3.so
      what the runs showed, next to the verdicts
  deburr try --cpu cortex-a53 --root /usr/aarch64-linux-gnu -- ./tool-arm64
  deburr try --cpu nehalem --timeout 20 -- ./server --port 8080

The command runs under qemu's user-mode emulation (qemu-user) as a CPU with the
features of the level, or as the CPU that is named. Where it dies of SIGILL, the
place is shown as file, function and instruction, with what the analysis says of
the function; so are the functions entered that need more than that CPU has. A
run shows what happens on the paths it takes: evidence, and no proof.

What the command prints on its standard output goes to the standard error: the
report has the standard output. Programs that the command starts run natively
where they are for this machine; how many did is said. Scripts are run by their
interpreter.

Exit status: 0 it ran, and nothing was executed that the CPU does not have; 1 it
died of SIGILL, or executed what a CPU without the feature would not or would do
otherwise; 2 it could not be tried; 130 interrupted. How the command ended is in
the report.")]
pub(crate) struct Emulate {
    /// CPU to run as: a level or a CPU, with features
    ///
    /// Such as x86-64-v2, cortex-a53, or nehalem+nopopcnt.
    #[arg(long, value_name = "NAME", value_parser = offers::NAMED_MACHINE, hide_possible_values = true)]
    pub(crate) cpu: String,
    /// Folder with another architecture's loader and libraries
    ///
    /// It stands for / where these are looked for.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// End the command after so long
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) timeout: Option<u32>,

    /// Write what was seen, for `deburr check --tried`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,
    /// Add this run to the record, if there is one
    #[arg(long, requires = "record", help_heading = "Output")]
    pub(crate) append: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// Show all functions that were entered
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,

    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}
