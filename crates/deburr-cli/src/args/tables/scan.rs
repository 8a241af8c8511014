//! The options of `deburr scan`.

use crate::args::analysis::{AnalysisOptions, DebugFiles};
use crate::args::batch::Scope;
use crate::args::batch::{Batch, Packages, Progress};
use crate::args::format::Format;
use crate::product::scan_item::Part;
use crate::system_error::error_text;
use clap::Args;
use deburr_archive::Selection;
use deburr_text::ShownPath as _;
use std::fs;
use std::path::PathBuf;

/// The options of `deburr scan`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr scan --tables tables/ /srv/mirror/pool
  deburr scan --tables tables/ /srv/mirror/pool
      again: only what has changed is checked
  deburr scan --tables tables/ --suite bookworm --architecture arm64 \\
      https://deb.debian.org/debian
  deburr scan --tables tables/ --packages-from top.txt https://pypi.org/simple/
  deburr scan --tables tables/ --shard 3/16 --run 1795219200 /srv/mirror/pool
  deburr query level-census tables/

A scan that was killed goes on where it was when it is started again. The tables
are those of deburr check --format parquet=DIR. The cache can be removed at any
time.

Exit status: 0 all is in the tables, 1 all but the failures that are listed, 2
no tables were written.")]
pub(crate) struct Scan {
    /// Archive of Debian, RPM or Python, or a folder
    ///
    /// A Debian archive, an RPM repository, or a simple index of Python, each as a folder or a URL; or any folder
    /// with packages, container images and binaries.
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: PathBuf,
    /// The directory of the tables
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) tables: PathBuf,
    /// Where rows are kept between scans, which machines may share [default: cache in the directory of the tables]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) cache: Option<PathBuf>,
    /// Time of this scan in seconds since 1970 [default: now]
    ///
    /// The tables know the scan by it.
    #[arg(long, value_name = "SECONDS", help_heading = "Output", value_parser = clap::value_parser!(i64).range(0..=9_000_000_000_000))]
    pub(crate) run: Option<i64>,
    /// Scan one part of N
    ///
    /// All parts together are one scan, if they have the same --run.
    #[arg(long, value_name = "I/N", requires = "run", value_parser = Part::parse, help_heading = "Input")]
    pub(crate) shard: Option<Part>,
    /// Suite of a Debian archive, such as bookworm (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) suite: Vec<String>,
    /// Component of a Debian archive, such as main (repeatable) [default: all]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) component: Vec<String>,
    /// Architecture, such as arm64, or all (repeatable) [default: every one]
    ///
    /// `all` is for packages without an architecture.
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) architecture: Vec<String>,
    /// A package or project (can be given more than once) [default: all; a simple index needs some]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) package: Vec<String>,
    /// A file with names of packages or projects, one a line
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) packages_from: Option<PathBuf>,
    /// All versions of each package, not only the newest
    #[arg(long, help_heading = "Input")]
    pub(crate) all_versions: bool,
    /// Take a folder as it is, even if it has an index
    #[arg(long, help_heading = "Input")]
    pub(crate) no_index: bool,
    /// Output format of what was done
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Format,
    /// When to show progress on the standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) progress: Progress,
    /// Threads to use [default: one per CPU]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Input")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Report what is not proven as warnings, and presume nothing
    #[arg(long, help_heading = "Rules")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) analysis: AnalysisOptions,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) packages: Packages,
}

impl Scan {
    /// What is wanted of an archive that has an index.
    ///
    /// # Errors
    /// Where the names cannot be read, for people.
    pub(crate) fn selection(&self) -> Result<Selection, String> {
        let mut packages = self.package.clone();
        if let Some(file) = &self.packages_from {
            let text = fs::read_to_string(file)
                .map_err(|error| format!("{}: {}", file.shown(), error_text(&error)))?;
            let names = text.lines().map(str::trim).filter(|name| !name.is_empty() && !name.starts_with('#'));
            packages.extend(names.map(str::to_owned));
            if packages.is_empty() {
                return Err(format!("{}: no name of a package", file.shown()));
            }
        }
        Ok(Selection {
            suites: self.suite.clone(),
            components: self.component.clone(),
            architectures: self.architecture.clone(),
            packages,
            all_versions: self.all_versions,
        })
    }

    /// The same for a batch. Debug files of this machine would make its rows others than those of the next.
    pub(crate) fn batch(&self) -> Batch {
        Batch {
            progress: self.progress,
            debug_files: DebugFiles { no_debug_files: true, debug_dir: Vec::new() },
            threads: self.threads,
            packages: self.packages.clone(),
        }
    }
}
