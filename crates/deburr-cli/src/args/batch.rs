//! The options of verbs that work on many files: progress, debug files, threads, the limits of packages.
//!
//! In: arguments. Out: [`Batch`], flattened into the options of `check`, `diff` and `fix`.

use super::analysis::DebugFiles;
use super::values::amounts::size;
use clap::{Args, ValueEnum};

/// The options of a batch.
#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// When to show progress on the standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", hide_short_help = true, help_heading = "Output")]
    pub(crate) progress: Progress,
    #[command(flatten)]
    pub(crate) debug_files: DebugFiles,
    /// Threads to use [default: one per CPU]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Input")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    #[command(flatten)]
    pub(crate) packages: Packages,
}

/// Whether progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    Never,
}

/// The limits of packages.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Packages")]
pub(crate) struct Packages {
    /// Depth of packages within packages; 0 reads none
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 8)]
    pub(crate) max_depth: u32,
    /// Largest binary, and most other memory of one package
    #[arg(long, hide_short_help = true, value_name = "SIZE", default_value = "2G", value_parser = size)]
    pub(crate) max_member: u64,
    /// The most that a package may unpack to
    #[arg(long, hide_short_help = true, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub(crate) max_unpacked: u64,
    /// Largest ratio of a compressed stream, above 64 MiB
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 200)]
    pub(crate) max_ratio: u64,
    /// The most members of a package, with those of packages in it
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) max_members: u64,
}

impl Packages {
    /// The same, for the reader.
    pub(crate) fn limits(&self) -> deburr_package::Limits {
        deburr_package::Limits {
            depth: self.max_depth,
            members: self.max_members,
            member_bytes: self.max_member,
            unpacked_bytes: self.max_unpacked,
            ratio: self.max_ratio,
        }
    }
}

/// What is left out, and what counts.
#[derive(Debug, Clone, Args)]
pub(crate) struct Scope {
    /// Leave out matching files, folders and package members (repeatable)
    ///
    /// `*` matches any characters, `?` one. A pattern describes a path, the end of one, or a folder or package above it:
    /// `*.o`, `tests`, `app.deb!usr/lib/debug`.
    #[arg(long, value_name = "GLOB", help_heading = "Input")]
    pub(crate) exclude: Vec<String>,
    /// Count findings in language runtimes and static C libraries
    ///
    /// Without it, findings in Go's runtime, Rust's standard library, a C library that is linked statically, and the compiler's
    /// run-time library are counted apart and fail nothing, unless they mean that the file does not run.
    #[arg(long, help_heading = "Rules")]
    pub(crate) include_runtime: bool,
}
