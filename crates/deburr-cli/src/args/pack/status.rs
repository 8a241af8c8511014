//! The options of `deburr pack status`.

use crate::args::format::Format;
use clap::Args;
use std::path::PathBuf;

/// The options of `deburr pack status`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack status deburr-pack
  deburr pack status dist
  deburr pack status --format json dist

Shows each variant with its level, how it was checked, which functions were
accepted and which guards it depends on, what was not decided, and each file of
several variants with its build ID.

Exit status: 0 all is whole, 1 a variant is not built or not what its level says,
or a file is missing or of another build, 2 there is no record to read.")]
pub(crate) struct Status {
    /// What deburr pack build or deburr pack assemble made
    #[arg(value_name = "PACK|DIST")]
    pub(crate) folder: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
}
