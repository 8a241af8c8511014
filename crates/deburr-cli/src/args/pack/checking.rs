//! The options by which variants are checked, for `deburr pack build`, `assemble` and `wheel`.

use crate::args::values::amounts::{steps, time};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How variants are checked.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Checking {
    /// Function that may need more than its level, or a pattern
    ///
    /// Its need is noted in the record of the pack, and rejects nothing.
    #[arg(long, value_name = "FUNCTION", help_heading = "Check")]
    pub(crate) accept: Vec<String>,
    /// Believe that variants are what their levels say
    #[arg(long, conflicts_with = "accept", help_heading = "Check")]
    pub(crate) no_check: bool,
    /// Configuration whose guards count [default: deburr.toml here or above]
    #[arg(long, value_name = "FILE", help_heading = "Check")]
    pub(crate) config: Option<PathBuf>,
    /// Steps for the check of a file, as in deburr check [default: by its size]
    #[arg(long, hide_short_help = true, value_name = "STEPS", value_parser = steps, help_heading = "Check")]
    pub(crate) budget: Option<u64>,
    /// Time to check a variant, such as 90s; the rest is undecided
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = time, help_heading = "Check")]
    pub(crate) max_time: Option<Duration>,
}
