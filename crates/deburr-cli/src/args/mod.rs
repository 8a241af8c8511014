//! The command line: argv → [`Arguments`]. Names are checked for their form here; what they name, by the verbs.

pub(crate) mod asked;
pub(crate) mod batch;
pub(crate) mod compare;
pub(crate) mod diff;
#[cfg(test)]
mod files;
pub(crate) mod fix;
pub(crate) mod show;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use deburr_core::finding::Severity;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
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
    /// Check binaries: files, directories, packages, container images, or - for the standard input
    Check(Box<Check>),
    /// Show the disassembly of a function, with findings, loops and source lines
    Show(Box<show::Show>),
    /// Compare two builds, as files, directories or packages: levels, findings, and how functions came out
    Diff(Box<diff::Diff>),
    /// Rewrite binaries without their source, and prove every change; without options: show what would change
    Fix(Box<fix::Fix>),
    /// Run two commands, and say whether B is really better than A
    Compare(Box<compare::Compare>),
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
  deburr check app.deb app.whl image.tar
  deburr check --format text --format sarif=deburr.sarif --format junit=deburr.xml build/
  deburr check --add-allowances build/    accept what is found today, in deburr.toml
  deburr check --closure --root unpacked/ unpacked/usr/bin/server
  curl -s https://example.org/tool | deburr check -

Formats:
  text     for people: by file and rule, with a summary
  concise  one line a finding: PATH:SVMA: SEVERITY RULE: MESSAGE [FUNCTION at FILE:LINE]
  json     everything that is known of each file; `deburr schema` describes it
  sarif    SARIF 2.1.0, for code scanning
  github   annotations of GitHub Actions
  junit    JUnit XML: a suite for each file, a failure for each finding at or above --fail-on

deburr.toml may set target, baseline, select, ignore, preview and fail-on, change severities, allow
findings and state guards; the command line wins.

Exit status: 0 clean, 1 findings at or above --fail-on, 2 some file could not be checked.")]
pub(crate) struct Check {
    /// Files, directories and packages; - is the standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) asked: asked::Asked,

    /// Accept all findings of this run: write allowances into the configuration, or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, help_heading = "Rules")]
    pub(crate) add_allowances: Option<Option<PathBuf>>,
    /// The severity from which a finding makes the exit status 1 [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY", help_heading = "Rules")]
    pub(crate) fail_on: Option<FailOn>,

    /// Output format, and the file it goes to (can be given more than once) [default: text]
    #[arg(long, value_parser = DestinationParser, value_name = "FORMAT[=FILE]", help_heading = "Output")]
    pub(crate) format: Vec<Destination>,
    /// Indent JSON also where the output is no terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) pretty: bool,
    /// The file for the format that has none of its own, instead of the standard output
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

    #[command(flatten)]
    pub(crate) batch: batch::Batch,
    /// Look at the shared libraries that each file needs, too: what they ask the CPU guards code of others
    #[arg(long, help_heading = "Input")]
    pub(crate) closure: bool,
    /// The folder that stands for / where libraries are looked for, such as an unpacked package [default: /]
    #[arg(long, value_name = "DIR", requires = "closure", help_heading = "Input")]
    pub(crate) root: Option<PathBuf>,
}

/// A verb whose JSON has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Writer {
    Check,
    Show,
    Diff,
    Fix,
    Compare,
}

/// `auto` asks whether the output is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// A format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Concise,
    Json,
    Sarif,
    Github,
    Junit,
}

/// A format, and where it goes: `sarif=report.sarif`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) format: ReportFormat,
    /// `None`: the standard output, or what `--output` says.
    pub(crate) file: Option<PathBuf>,
}

/// Reads a [`Destination`].
#[derive(Debug, Clone)]
struct DestinationParser;

impl TypedValueParser for DestinationParser {
    type Value = Destination;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Destination, clap::Error> {
        let bytes = value.as_bytes();
        let (format, file) = match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]))),
            None => (value, None),
        };
        let format = EnumValueParser::<ReportFormat>::new().parse_ref(command, argument, format)?;
        Ok(Destination { format, file: file.map(PathBuf::from) })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ReportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// The least severity that fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Note,
    Warning,
    Error,
    Never,
}

impl FailOn {
    /// The least severity that fails a run; `None`: none does.
    pub(crate) const fn threshold(self) -> Option<Severity> {
        match self {
            FailOn::Note => Some(Severity::Note),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Error => Some(Severity::Error),
            FailOn::Never => None,
        }
    }
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    Arguments::try_parse()
}

#[cfg(test)]
mod tests {
    use super::files::FILES;
    use super::{Arguments, Destination};
    use clap::CommandFactory;
    use std::any::TypeId;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    #[test]
    fn every_option_that_names_a_file_is_listed_with_what_becomes_of_it() {
        let files = [TypeId::of::<PathBuf>(), TypeId::of::<Destination>()];
        let mut found = BTreeSet::new();
        for verb in Arguments::command().get_subcommands() {
            for option in verb.get_arguments() {
                let kind = option.get_value_parser().type_id();
                if files.iter().any(|file| kind == *file) {
                    found.insert((verb.get_name().to_owned(), option.get_id().to_string()));
                }
            }
        }
        let listed: BTreeSet<_> =
            FILES.iter().map(|(verb, option, _)| (String::from(*verb), String::from(*option))).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn what_the_help_calls_a_file_or_a_directory_is_a_path() {
        for verb in Arguments::command().get_subcommands() {
            for option in verb.get_arguments() {
                let names = option.get_value_names().unwrap_or_default();
                let is_file =
                    names.iter().any(|name| ["FILE", "DIR", "OUT", "PATH"].contains(&name.as_str()));
                let (verb, option) = (verb.get_name(), option.get_id().as_str());
                let is_listed = FILES.iter().any(|it| (it.0, it.1) == (verb, option));
                assert!(!is_file || is_listed, "{verb} {option}");
            }
        }
    }
}
