//! The options of `deburr check`.
//!
//! In: the arguments after `check`. Out: [`Check`], whose text here is the help of the verb.

use super::analysis::AnalysisOptions;
use super::batch::Batch;
use super::batch::Scope;
use super::format::{Destination, FormatParser, ReportFormat, SchemaVersion};
use super::values::amounts::time;
use crate::config::fail_on::FailOn;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The options of `deburr check`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr check /usr/bin/postgres
  deburr check --target armv8.1-a --target x86-64-v3 /opt/app
  deburr check --baseline x86-64-v2 --select above-baseline build/
  deburr check --baseline claim dist/*.whl
      what wheels, packages and images promise by themselves
  deburr check --format json --output report.json /usr/lib
  deburr check app.deb app.whl image.tar
  deburr check --format text --format sarif=deburr.sarif \\
      --format junit=deburr.xml build/
  deburr check --format html=report.html build/
      a page to look at, and to send
  deburr check --format parquet=tables/ *.deb
      rows for SQL: deburr query level-census tables/
  deburr check --add-allowances build/
      accept what is found today, in deburr.toml
  deburr check --measured machine.json build/
      what costs most on that machine first
  deburr check --profile perf.data /usr/bin/postgres
      what takes most of that run first
  deburr check --profile perf.data jit-4711.dump
      and code that was made at run time
  deburr check --tried v2.json build/
      what runs as a CPU of that level entered
  deburr check --exclude '*/tests/*' app.whl
  deburr check --closure --root unpacked/ unpacked/usr/bin/server
  curl -s https://example.org/tool | deburr check -

Formats:
  text     for people: by file and rule, with a summary
  concise  one line for each finding:
           PATH:SVMA: SEVERITY RULE: MESSAGE [FUNCTION at FILE:LINE]
  json     everything that is known of each file; `deburr schema` describes it
  sarif    SARIF 2.1.0, for code scanning
  github   annotations of GitHub Actions
  junit    JUnit XML: a suite for each file, a failure for each finding at or
           above --fail-on
  lintian  tags as lintian prints them, one for each rule of a file:
           E: PACKAGE: deburr-RULE MESSAGE [PATH:SVMA]
  html     a page in one file: what is needed and why, findings with their
           code, a map
  parquet  four tables for SQL, in a directory: artefacts, files, functions,
           findings; runs add up
  variant-json  the least that a wheel variant must state of the CPU, for each
           package

Findings in language runtimes and in C libraries that are linked statically are
counted apart, and fail nothing unless they mean that the file does not run.

deburr.toml may set target, baseline, select, ignore, preview, strict,
include-runtime and fail-on, change severities, allow findings and state guards;
the command line wins.

With a baseline or a claim, each file runs, dies, or is undecided: paths that
were not followed may reach code that the baseline cannot execute. The last line
of text counts the answers. A file that dies fails the run; an undecided one
does with --fail-on error,undecided.

Exit status: 0 clean, 1 findings at or above --fail-on, 2 some file could not be
checked.")]
pub(crate) struct Check {
    /// Files, directories, packages and jitdumps; - is the standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) analysis: AnalysisOptions,
    #[command(flatten)]
    pub(crate) scope: Scope,

    /// Accept all findings of this run in deburr.toml, or FILE
    #[arg(long, hide_short_help = true, value_name = "FILE", num_args = 0..=1, require_equals = true, help_heading = "Rules")]
    pub(crate) add_allowances: Option<Option<PathBuf>>,
    /// Findings and answers that fail the run, such as error,undecided [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY,…", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) fail_on: Vec<FailOn>,
    /// Warn of what is not proven, presume nothing, fail on undecided files
    #[arg(long, help_heading = "Rules")]
    pub(crate) strict: bool,

    /// Weigh findings by a profile of the program (repeatable)
    ///
    /// perf.data, the text of perf script, pprof, or callgrind's output.
    #[arg(long, value_name = "FILE", help_heading = "Profile")]
    pub(crate) profile: Vec<PathBuf>,
    /// The event of the profile that counts [default: the one that says where time goes, such as cycles or cpu-clock]
    #[arg(long, hide_short_help = true, value_name = "NAME", requires = "profile", help_heading = "Profile")]
    pub(crate) profile_event: Option<String>,
    /// Heaviest findings of each file to show in text
    #[arg(long, hide_short_help = true, value_name = "N", requires = "profile", help_heading = "Profile")]
    pub(crate) top: Option<usize>,
    /// Least share of the run, in percent, to show in text
    #[arg(long, hide_short_help = true, value_name = "PERCENT", requires = "profile", default_value_t = 0.1, value_parser = percent, help_heading = "Profile")]
    pub(crate) min_share: f64,

    /// Order findings by costs in a record of `deburr bench`
    ///
    /// FILE is what `deburr bench --format json` wrote on the machine that counts.
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Output")]
    pub(crate) measured: Option<PathBuf>,
    /// Show what a record of `deburr try` entered (repeatable)
    ///
    /// Next to the verdicts of the functions.
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Output")]
    pub(crate) tried: Vec<PathBuf>,
    /// Output format, and the file it goes to (repeatable) [default: text]
    #[arg(long, value_parser = FormatParser::<ReportFormat>::new(), value_name = "FORMAT[=FILE]", help_heading = "Output")]
    pub(crate) format: Vec<Destination>,
    /// The same as --format html=FILE
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Version of the JSON document
    ///
    /// Version 1 has a finding for each place. Version 2 has one for places that differ in nothing else, with their number and a list of
    /// them.
    #[arg(long, hide_short_help = true, value_name = "N", value_enum, default_value_t = SchemaVersion::Two, help_heading = "Output")]
    pub(crate) schema_version: SchemaVersion,
    /// Indent JSON also where the output is no terminal
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub(crate) pretty: bool,
    /// File for the format without one, instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Findings per rule and file in text; 0: all [default: 3]
    ///
    /// The worst first. With --verbose the default is all.
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) limit: Option<usize>,
    /// Account for all executable bytes, and say how long the run took
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub(crate) statistics: bool,
    /// List what was skipped, with the reasons
    #[arg(long, help_heading = "Output")]
    pub(crate) show_skipped: bool,
    /// Show findings only: no clean files, no summary
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Show every file, its features, who built it, and all findings
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) batch: Batch,
    /// Time for the whole run, such as 90s or 10m; for CI
    ///
    /// What is not checked by then is told: a file that is at work is undecided, and any other one is a failure.
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = time, help_heading = "Input")]
    pub(crate) max_time: Option<Duration>,
    /// Also read needed shared libraries, for their checks
    ///
    /// Checks of the CPU in a library guard code of the files that call it.
    #[arg(long, hide_short_help = true, help_heading = "Input")]
    pub(crate) closure: bool,
    /// Folder that stands for / with --closure [default: /]
    ///
    /// Such as an unpacked package.
    #[arg(long, hide_short_help = true, value_name = "DIR", requires = "closure", help_heading = "Input")]
    pub(crate) root: Option<PathBuf>,
}

/// A number from 0 to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number from 0 to 100".to_owned())?;
    if (0.0..=100.0).contains(&number) {
        Ok(number)
    } else {
        Err("expected a number from 0 to 100".to_owned())
    }
}
