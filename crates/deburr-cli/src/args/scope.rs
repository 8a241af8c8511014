//! The options that say which files, and which of their findings, count.

use clap::Args;

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
