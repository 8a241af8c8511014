//! The options of `deburr diff`.

use super::analysis::AnalysisOptions;
use super::batch::Batch;
use super::batch::Scope;
use super::format::{DiffFormat, FormatParser, Formatted};
use super::values::amounts::time;
use crate::config::fail_on::FailOn;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The options of `deburr diff`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr diff build-old/server build-new/server
  deburr diff unpacked-1.2/ unpacked-1.3/
  deburr diff curl_7.88.1-10_arm64.deb curl_8.5.0-2_arm64.deb
  deburr diff pool-old/ pool-new/
      packages in folders pair by their names, without versions
  deburr diff server.rpm unpacked/
      a package, and a folder with the files of another
  docker save app:2 | deburr diff app-1.tar -
  deburr diff --baseline x86-64-v2 --fail-on error old/ new/
  deburr diff --format json old.so new.so
  deburr diff --format html=diff.html old/ new/    a page to look at

Files are paired by their paths in the folder or the package; then without the
versions and hashes in their names; then, if they moved, by their names alone.
Whatever check reads as a package can be either side, or are in it; a package's
own name does not matter.

Functions are matched by name: demangled, without .part, .constprop, .isra,
.cold and .llvm suffixes. Code without names is compared by its findings alone.

The first respect in which the builds differ decides whether NEW is worse:
answers (with a baseline), higher levels, errors, what loaders refuse, largest
pages, floating-point arithmetic, unoptimised code, instrumentation, warnings,
assertions, vector instructions, interposable calls, debug information, notes.
Findings below --fail-on do not count. docs/reference/diff.md has the bounds.

deburr.toml holds as it does for check: findings that it allows are none in
either build.

Exit status: 0 NEW is not worse, 1 it is worse, 2 something could not be
compared, or nothing was.")]
pub(crate) struct Diff {
    /// Old build: file, directory, package, container image, or -
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The new build, likewise
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) analysis: AnalysisOptions,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// New findings and answers that are worse, such as error,undecided [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY,…", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) fail_on: Vec<FailOn>,

    /// Output format
    #[arg(long, value_parser = FormatParser::<DiffFormat>::new(), default_value = "text", value_name = "FORMAT[=FILE]", help_heading = "Output")]
    pub(crate) format: Formatted<DiffFormat>,
    /// The same as --format html=FILE
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "format",
        hide_short_help = true,
        help_heading = "Output"
    )]
    pub(crate) html: Option<PathBuf>,
    /// Lines per kind of change and file in text; 0: all
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) batch: Batch,
    /// Time for the whole run, such as 90s or 10m; for CI
    ///
    /// What is not checked by then is told: a file that is at work is undecided, and any other one is a failure.
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = time, help_heading = "Input")]
    pub(crate) max_time: Option<Duration>,
}

impl Diff {
    /// What is printed, or the page and its file.
    pub(crate) fn formatted(&self) -> Formatted<DiffFormat> {
        match &self.html {
            Some(file) => Formatted { format: DiffFormat::Html, file: Some(file.clone()) },
            None => self.format.clone(),
        }
    }
}
