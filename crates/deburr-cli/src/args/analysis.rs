//! The options of an analysis, shared by the verbs that look into binaries.

use clap::Args;
use std::path::PathBuf;

/// Machines, rules and the configuration.
#[derive(Debug, Args)]
pub(crate) struct AnalysisOptions {
    /// What every machine that will run the files has, such as armv8.1-a, x86-64-v3, native (once per architecture)
    #[arg(long, value_name = "NAME", help_heading = "Machines")]
    pub(crate) target: Vec<String>,
    /// The most that the files may use; whatever needs more is a finding (once per architecture); claim: what their packages say of themselves
    #[arg(long, value_name = "NAME", help_heading = "Machines")]
    pub(crate) baseline: Vec<String>,

    /// Run these rules only
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) select: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) ignore: Vec<String>,
    /// Run the rules in preview, too: they guess, or matter only to some
    #[arg(long, help_heading = "Rules")]
    pub(crate) preview: bool,
    /// The configuration [default: deburr.toml in the current folder or the nearest above it]
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,
}

/// Where separate debug files are looked for.
#[derive(Debug, Args)]
pub(crate) struct DebugFiles {
    /// Do not look for separate debug files
    #[arg(long, conflicts_with = "debug_dir", help_heading = "Input")]
    pub(crate) no_debug_files: bool,
    /// Where separate debug files are (can be given more than once) [default: /usr/lib/debug]
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(crate) debug_dir: Vec<PathBuf>,
}
