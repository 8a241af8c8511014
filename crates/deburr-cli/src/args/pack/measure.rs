//! The options of `deburr pack measure`.

use crate::args::batch::Progress;
use crate::args::compare::Trial;
use crate::args::format::Format;
use clap::Args;
use std::path::PathBuf;

/// The options of `deburr pack measure`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack measure deburr-pack -- {tree}/bin/prog --benchmark
  deburr pack measure --metric 'rate,larger,1/s=([0-9.]+) requests/s' \\
      deburr-pack -- {tree}/bin/prog --benchmark
  deburr pack measure deburr-pack --shell sh -- \\
      'cd {tree} && bin/prog --benchmark'
  deburr pack measure dist -- dist/bin/prog --benchmark     print only
  deburr pack measure --profile x86-64-v1=v1.perf --profile x86-64-v3=v3.perf \\
      deburr-pack -- {tree}/bin/prog --benchmark

Each level that runs here is compared with the best one below it, as deburr
compare does: pairs of runs in random order, until something is proven, or
--pairs are run. Then the record of the pack says for this CPU model which
levels are worth having and which gain nothing, and the next deburr pack
assemble follows it. What is not proven keeps its place.

{tree} in the command stands for the tree of the level, {level} for its name.
For an assembled tree the command must start a program of it: DEBURR_LEVEL
selects the level, and nothing is written. First the command runs twice more:
with a level, and with none that exists, where it has to fail.

With profiles of two levels, what each function gained or lost is shown, too:
its share of the
samples times the CPU time of a run. For each level:
  perf record -e cpu-clock deburr-pack/LEVEL/tree/bin/prog --benchmark
  perf script -F comm,ip,sym,dso >LEVEL.perf
Callgrind counts instructions, which is not time: they are compared as they are.

Exit status: 0 measured, 2 not, 130 interrupted; then the record is as it was.")]
pub(crate) struct Measure {
    /// What deburr pack build or deburr pack assemble made
    #[arg(value_name = "PACK|DIST")]
    pub(crate) folder: PathBuf,
    /// Write nothing: only print what was measured
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Profile of the workload at a level (once for each level)
    ///
    /// The text of perf script, or callgrind's file.
    #[arg(long, value_name = "LEVEL=FILE")]
    pub(crate) profile: Vec<String>,
    #[command(flatten)]
    pub(crate) trial: Trial,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// When to show progress on the standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) progress: Progress,
    /// The workload
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}
