//! The command line: argv → [`Arguments`]. Names are checked for their form here; what they name, by the verbs.

pub(crate) mod asked;
pub(crate) mod diff;
pub(crate) mod show;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A linter for machine code.
///
/// Reads ELF binaries for x86-64 and AArch64 and says which instruction-set level each needs, which
/// functions need it, and how its atomics were compiled. It never runs what it reads.
#[derive(Debug, Parser)]
#[command(name = "deburr", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  deburr check /usr/bin/postgres          one file
  deburr check --target armv8.1-a lib/    a tree that only has to run on such CPUs
  deburr explain llsc-loop                what a finding means, and what to do
  deburr cpu                              what this machine offers

Exit status: 0 clean, 1 findings at or above --fail-on, 2 some work could not be done.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub(crate) color: When,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Check binaries: files, directories, static archives, or - for the standard input
    Check(Box<Check>),
    /// Show the disassembly of a function, with findings, loops and source lines
    Show(Box<show::Show>),
    /// Compare two builds: levels, findings, and how functions came out
    Diff(Box<diff::Diff>),
    /// Show what this machine offers, and the names that --target and --baseline accept
    #[command(after_help = "Examples:
  deburr cpu
  deburr cpu --format json
  deburr check --target native ./server   check for this very machine")]
    Cpu {
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// List the rules
    #[command(after_help = "Examples:
  deburr rules
  deburr rules --format json
  deburr check --select llsc-loop ./server   run one rule only")]
    Rules {
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Explain a rule: what it finds, why it costs, what to do
    #[command(after_help = "Examples:
  deburr explain llsc-loop
  deburr explain above-baseline")]
    Explain {
        /// The rule's id, as a finding shows it
        rule: String,
    },
    /// Print the JSON Schema of what `--format json` writes
    #[command(after_help = "Examples:
  deburr schema > deburr.schema.json
  deburr schema diff")]
    Schema {
        /// The verb that writes it
        #[arg(value_enum, default_value_t = Writer::Check, value_name = "VERB")]
        of: Writer,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  deburr completions bash > ~/.local/share/bash-completion/completions/deburr
  deburr completions zsh  > ~/.zfunc/_deburr
  deburr completions fish > ~/.config/fish/completions/deburr.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Examples:
  deburr man | man -l -
  deburr man > ~/.local/share/man/man1/deburr.1")]
    Man,
}

/// The options of `deburr check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  deburr check /usr/bin/postgres
  deburr check --target armv8.1-a --target x86-64-v3 /opt/app
  deburr check --baseline x86-64-v2 --select above-baseline build/
  deburr check --format json --output report.json /usr/lib
  deburr check --closure --root unpacked/ unpacked/usr/bin/server
  curl -s https://example.org/tool | deburr check -

Exit status: 0 clean, 1 findings at or above --fail-on, 2 some file could not be checked.")]
pub(crate) struct Check {
    /// Files and directories; - is the standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// What every machine that will run the files has, such as armv8.1-a, x86-64-v3, native (once per architecture)
    #[arg(long, value_name = "NAME", help_heading = "Machines")]
    pub(crate) target: Vec<String>,
    /// The most that the files may use; whatever needs more is a finding (once per architecture)
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
    /// Where guards are stated [default: deburr.toml in the current folder or the nearest above it]
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,
    /// The severity from which a finding makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY", help_heading = "Rules")]
    pub(crate) fail_on: FailOn,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// Indent JSON also where the output is no terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) pretty: bool,
    /// Write to a file instead of the standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Findings shown for each rule of a file in text; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    pub(crate) limit: usize,
    /// Account for all executable bytes, and say how long the run took
    #[arg(long, help_heading = "Output")]
    pub(crate) statistics: bool,
    /// List what was skipped, with the reasons
    #[arg(long, help_heading = "Output")]
    pub(crate) show_skipped: bool,
    /// Show findings only: no clean files, no summary
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Show every file, its features and who built it
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// When to show progress on the standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) progress: Progress,

    /// Do not look for separate debug files
    #[arg(long, conflicts_with = "debug_dir", help_heading = "Input")]
    pub(crate) no_debug_files: bool,
    /// Where separate debug files lie (can be given more than once) [default: /usr/lib/debug]
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Look at the shared libraries that each file needs, too: what they ask the CPU guards code of others
    #[arg(long, help_heading = "Input")]
    pub(crate) closure: bool,
    /// The folder that stands for / where libraries are looked for, such as an unpacked package [default: /]
    #[arg(long, value_name = "DIR", requires = "closure", help_heading = "Input")]
    pub(crate) root: Option<PathBuf>,
    /// Threads to use [default: one per CPU]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Input")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
}

/// A verb whose JSON has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Writer {
    Check,
    Show,
    Diff,
}

/// `auto` asks whether the output is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// Whether progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    Never,
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// The least severity that fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Note,
    Warning,
    Error,
    Never,
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    Arguments::try_parse()
}
