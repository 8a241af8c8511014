//! The options of `deburr record`.

use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The options of `deburr record`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr record -- ./server --bench               the profile is in perf.data
  deburr record -o run.data --event cache-misses -- ./server --bench
  deburr record --pid 4711 --duration 30          a server that runs
  deburr record --call-graph lbr -- ./server
      by the CPU's record of its branches (Intel)
  deburr check --profile perf.data ./server
      findings where the time is spent first

It runs `perf record`, which must be installed. Without --event it samples by
cycles where the machine shows counters of the processor, as precisely as that
can; by the kernel's clock (cpu-clock) where not, as in most virtual machines;
and without the kernel's own time where that is not permitted. The last line on
the standard error says which it was, and why.

The command has the terminal, the standard input, output and error for itself.
Ctrl-C ends it, and the profile is whole. A profile is replaced only by another
one that is whole.

Exit status: with a command its own, or 128 and the signal that it died of; with
--pid 0; 2 nothing was recorded; 130 interrupted.")]
pub(crate) struct Record {
    /// Where the profile is written
    #[arg(short, long, value_name = "FILE", default_value = "perf.data")]
    pub(crate) output: PathBuf,
    /// What to sample by, as `perf list` names it; repeat for several [default: the best that there is]
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Vec<String>,
    /// Samples a second
    #[arg(long, value_name = "HZ", default_value_t = 999, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) frequency: u32,
    /// How the callers of a function are found
    #[arg(long, value_enum, default_value_t = CallGraph::Fp, value_name = "HOW")]
    pub(crate) call_graph: CallGraph,
    /// Record running processes until they end, or Ctrl-C
    #[arg(long, value_name = "PID", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Vec<u32>,
    /// End after so long
    #[arg(long, value_name = "SECONDS", conflicts_with = "command", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) duration: Option<u32>,

    /// The command
    #[arg(last = true, value_name = "CMD", required_unless_present = "pid", conflicts_with = "pid")]
    pub(crate) command: Vec<OsString>,
}

/// How the callers of a function are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallGraph {
    /// By frame pointers; cheap, misses callers of frameless functions
    Fp,
    /// By unwinding stack copies; large, needs no frame pointers
    Dwarf,
    /// By the processor's record of its last branches (Intel)
    Lbr,
    /// Not at all
    None,
}

impl CallGraph {
    /// perf's name of it.
    pub(crate) fn mode(self) -> Option<&'static str> {
        match self {
            CallGraph::Fp => Some("fp"),
            CallGraph::Dwarf => Some("dwarf"),
            CallGraph::Lbr => Some("lbr"),
            CallGraph::None => None,
        }
    }
}
