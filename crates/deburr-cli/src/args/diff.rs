//! The options of `deburr diff`.

use super::asked::Asked;
use super::batch::Batch;
use super::{FailOn, Format};
use clap::Args;
use std::path::PathBuf;

/// The options of `deburr diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  deburr diff build-old/server build-new/server
  deburr diff unpacked-1.2/ unpacked-1.3/            files are paired by path, versions in names left out
  deburr diff --baseline x86-64-v2 --fail-on error old/ new/
  deburr diff --format json old.so new.so

Functions are matched by name: demangled, without .part, .constprop, .isra, .cold and .llvm suffixes. Code without
names is compared by its findings alone.

NEW is worse than OLD if one of its files needs a higher level, or has findings at or above --fail-on that the file in
OLD has not; all findings of a file that only NEW has count. Whatever else changed is told, and is neither better nor
worse.

Exit status: 0 nothing is worse, 1 something is worse, 2 something could not be compared.")]
pub(crate) struct Diff {
    /// The old build: a file, or a directory
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The new build
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) asked: Asked,
    /// The severity from which a finding that came makes the exit status 1 [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY", help_heading = "Rules")]
    pub(crate) fail_on: Option<FailOn>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// Lines shown for each kind of change of a file in text; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) batch: Batch,
}
