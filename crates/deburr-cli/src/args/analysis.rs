//! The options of an analysis, shared by the verbs that look into binaries.

use super::values::amounts::steps;
use super::values::offers;
use clap::Args;
use std::path::PathBuf;

/// Machines, rules and the configuration.
#[derive(Debug, Args)]
pub(crate) struct AnalysisOptions {
    /// Level or CPU that every machine has (once per architecture)
    ///
    /// Such as armv8.1-a, x86-64-v3, zen4, or native for this machine. `deburr cpu` lists the names.
    #[arg(long, value_name = "NAME", value_parser = offers::MACHINE, hide_possible_values = true, help_heading = "Machines")]
    pub(crate) target: Vec<String>,
    /// Level or CPU that files may use; claim: their package's own
    ///
    /// What needs more is a finding. Once per architecture. With claim, each file is checked against what its package
    /// says of itself.
    #[arg(long, value_name = "NAME", value_parser = offers::BASELINE, hide_possible_values = true, help_heading = "Machines")]
    pub(crate) baseline: Vec<String>,

    /// Run these rules only
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = offers::RULE, hide_possible_values = true, help_heading = "Rules")]
    pub(crate) select: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = offers::RULE, hide_possible_values = true, help_heading = "Rules")]
    pub(crate) ignore: Vec<String>,
    /// Also run rules in preview, which guess or rarely matter
    #[arg(long, help_heading = "Rules")]
    pub(crate) preview: bool,
    /// Steps that the analysis of a file may take [default: by its size]
    ///
    /// Such as 500M. What is not analysed within them is undecided, and named. A step is an instruction that is decoded for a graph
    /// or followed on abstract values, or a value that is joined with another path's; the default is 3 for each byte of code, and 10 million at least.
    #[arg(long, hide_short_help = true, value_name = "STEPS", value_parser = steps, help_heading = "Input")]
    pub(crate) budget: Option<u64>,
    /// The configuration [default: deburr.toml in the current folder or the nearest above it]
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,
}

/// Where separate debug files are looked for.
#[derive(Debug, Args)]
pub(crate) struct DebugFiles {
    /// Do not look for separate debug files
    #[arg(long, hide_short_help = true, conflicts_with = "debug_dir", help_heading = "Input")]
    pub(crate) no_debug_files: bool,
    /// Where separate debug files are (can be given more than once) [default: /usr/lib/debug]
    #[arg(long, hide_short_help = true, value_name = "DIR", help_heading = "Input")]
    pub(crate) debug_dir: Vec<PathBuf>,
}
