//! The command line: argv → [`Arguments`]. The form of names is checked here; what they name, by the verbs.
//!
//! In: the arguments of the process. Out: the verb with its options, or the help, or a complaint of clap.
//! Each verb has its options in a file of its own; what several verbs share is in `analysis.rs`, `batch.rs`,
//! `fail_on.rs` and `format.rs`.

pub(crate) mod analysis;
pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod emulate;
#[cfg(test)]
mod files;
pub(crate) mod fix;
pub(crate) mod format;
pub(crate) mod pack;
pub(crate) mod record;
pub(crate) mod show;
pub(crate) mod tables;
mod values;

use check::Check;
use clap::{Parser, Subcommand, ValueEnum};
use format::{Format, When};
use std::ffi::OsString;
use values::offers;

/// A linter for machine code.
///
/// Reads ELF binaries for x86-64 and AArch64, and shows which instruction-set level each needs, which functions need it, and how
/// its atomics were compiled. Only `compare`, `try`, `record` and `pack` run commands: those that they are given. `scan` runs curl
/// for a URL, and `query` runs duckdb.
#[derive(Debug, Parser)]
#[command(name = "deburr", version, max_term_width = 80, arg_required_else_help = true)]
#[command(after_long_help = "Examples:
  deburr check /usr/bin/postgres          one file
  deburr check --target armv8.1-a lib/
      a tree that only has to run on such CPUs
  deburr explain llsc-loop                what a finding means, and what to do
  deburr cpu                              what this machine offers

Exit status: 0 clean, 1 findings at or above --fail-on, 2 some work could not be
done.")]
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
    /// Check binaries, directories, packages and container images; - is standard input
    Check(Box<Check>),
    /// Show the disassembly of a function, with findings, loops and source lines
    Show(Box<show::Show>),
    /// Compare two builds: levels, findings and functions
    Diff(Box<diff::Diff>),
    /// Rewrite AArch64 binaries without their source, every change proven
    ///
    /// Without options it shows what would change.
    Fix(Box<fix::Fix>),
    /// Run two commands, and say whether B is really better than A
    Compare(Box<compare::Compare>),
    /// Measure what a finding's code costs on this CPU
    ///
    /// Kernels in assembly, each variant compared with the first.
    Bench(Box<bench::Bench>),
    /// Run a command as another CPU, and show what it lacks
    ///
    /// It names the functions that were entered and that need more than that CPU has.
    Try(Box<emulate::Emulate>),
    /// Record where a command spends its time, for check --profile
    ///
    /// A command, or with --pid a process that runs.
    Record(Box<record::Record>),
    /// Build a program at several instruction-set levels
    Pack(pack::Pack),
    /// Check a whole archive into tables for SQL, incrementally
    Scan(Box<tables::scan::Scan>),
    /// Answer a question from the tables of check --format parquet=DIR, by DuckDB
    Query(tables::query::RunQuery),
    /// Show what this machine offers, and the names that --target and --baseline accept
    #[command(after_long_help = "Examples:
  deburr cpu
  deburr cpu --format json
  deburr check --target native ./server          check for this very machine
  deburr check --baseline raspberrypi4 ./server
      and for a board (sources: docs/reference/cpus.md)")]
    Cpu {
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// List the rules
    #[command(after_long_help = "Examples:
  deburr rules
  deburr rules --format json
  deburr check --select llsc-loop ./server   run one rule only")]
    Rules {
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Explain a rule: what it finds, why it costs, what to do
    #[command(after_long_help = "Examples:
  deburr explain llsc-loop
  deburr explain above-baseline")]
    Explain {
        /// The rule's id, as a finding shows it
        #[arg(value_parser = offers::RULE, hide_possible_values = true)]
        rule: String,
    },
    /// Print the JSON Schema of what `--format json` writes
    #[command(after_long_help = "Examples:
  deburr schema > deburr.schema.json
  deburr schema diff
  deburr schema pack-measure")]
    Schema {
        /// The verb that writes it
        #[arg(value_enum, default_value_t = Writer::Check, value_name = "VERB")]
        of: Writer,
    },
    /// Print a completion script for a shell
    #[command(after_long_help = "Examples:
  deburr completions bash > ~/.local/share/bash-completion/completions/deburr
  deburr completions zsh  > ~/.zfunc/_deburr
  deburr completions fish > ~/.config/fish/completions/deburr.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_long_help = "Examples:
  deburr man | man -l -
  deburr man > ~/.local/share/man/man1/deburr.1")]
    Man,
}

/// A verb whose JSON has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Writer {
    Check,
    /// Version 1 of it.
    #[value(name = "check-1")]
    CheckFirst,
    Show,
    Diff,
    Fix,
    Compare,
    CompareLog,
    Bench,
    PackMeasure,
    PackWheel,
    Try,
    Scan,
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    Arguments::try_parse()
}

/// Reads the words of a command line after the program's name.
pub(crate) fn parse_words(words: &[OsString]) -> Result<Arguments, clap::Error> {
    let program = OsString::from("deburr");
    Arguments::try_parse_from([&program].into_iter().chain(words))
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use super::bench::BenchFormat;
    use super::compare::CompareFormat;
    use super::files::FILES;
    use super::format::{Destination, DiffFormat, Formatted};
    use clap::{Command, CommandFactory};
    use std::any::TypeId;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    #[test]
    fn every_option_that_names_a_file_is_listed_with_what_becomes_of_it() {
        let files = [
            TypeId::of::<PathBuf>(),
            TypeId::of::<Destination>(),
            TypeId::of::<Formatted<DiffFormat>>(),
            TypeId::of::<Formatted<CompareFormat>>(),
            TypeId::of::<Formatted<BenchFormat>>(),
        ];
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

    /// A verb, and those below it.
    fn all_verbs(command: &Command) -> Vec<Command> {
        let below = command.get_subcommands().filter(|verb| verb.get_name() != "help").flat_map(all_verbs);
        [command.clone()].into_iter().chain(below).collect()
    }

    #[test]
    fn an_options_help_has_at_most_twelve_words_before_its_default() {
        let mut long = Vec::new();
        for verb in all_verbs(&Arguments::command()) {
            for option in verb.get_arguments() {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                let words = help.split(" [default").next().unwrap_or_default().split_whitespace().count();
                if words > 12 {
                    long.push(format!("{} {}: {help}", verb.get_name(), option.get_id()));
                }
            }
        }
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn every_help_is_at_most_80_columns_wide() {
        let mut command = Arguments::command();
        command.build();
        let verbs = all_verbs(&command);
        assert!(verbs.len() > 20, "{}", verbs.len());
        for mut verb in verbs {
            for text in [verb.render_help().to_string(), verb.render_long_help().to_string()] {
                let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
                assert!(wide.is_empty(), "{}: {wide:#?}", verb.get_name());
            }
        }
    }

    #[test]
    fn a_short_help_leaves_out_what_is_rarely_wanted() {
        let command = Arguments::command();
        let mut check = command.find_subcommand("check").expect("a verb").clone();
        let (short, long) = (check.render_help().to_string(), check.render_long_help().to_string());
        assert!(
            short.contains("--baseline") && !short.contains("--max-ratio") && !short.contains("Examples:")
        );
        assert!(long.contains("--max-ratio") && long.contains("Examples:") && long.contains("Formats:"));
        assert!(short.lines().count() < 60, "{short}");
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
