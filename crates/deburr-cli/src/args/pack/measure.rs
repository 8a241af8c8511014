//! The options of `deburr pack measure`.

use crate::args::batch::Progress;
use crate::args::compare::Trial;
use crate::args::format::Format;
use clap::Args;
use std::path::PathBuf;

/// The options of `deburr pack measure`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  deburr pack measure dist -- dist/bin/prog --benchmark
  deburr pack measure deburr-pack -- {tree}/bin/prog --benchmark
  deburr pack measure --metric 'rate,larger,1/s=([0-9.]+) requests/s' dist -- dist/bin/prog --benchmark
  deburr pack measure --dry-run dist -- sh run-benchmark.sh     change nothing

Each level that runs here is compared with the best one below it, as deburr compare does: pairs of
runs in random order, until something is proven, or --pairs are run. Then the record of the pack or
tree says for this CPU model which levels are worth having and which gain nothing, and the next
deburr pack assemble follows it. What is not proven keeps its place.

A command that starts a program of an assembled tree gets DEBURR_LEVEL, which the launcher honours.
For a pack, {tree} in the command stands for the tree of the level; {level} is its name. Libraries
that the loader chooses do not follow DEBURR_LEVEL: measure them by {tree}.

Exit status: 0 measured, 2 not, 130 interrupted; then the record is as it was.")]
pub(crate) struct Measure {
    /// What deburr pack build or deburr pack assemble made
    #[arg(value_name = "PACK|DIST")]
    pub(crate) folder: PathBuf,
    /// Change nothing: only print what was measured
    #[arg(long)]
    pub(crate) dry_run: bool,
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
