//! The options of `deburr bench`.

use super::batch::Progress;
use super::format::{FormatParser, Formatted, take_page};
use clap::{Args, ValueEnum};
use deburr_lab::bench::pace::{LONGEST_NS, Think};
use deburr_lab::bench::run::Placement;
use deburr_lab::measure::machine::Cpus;
use std::path::PathBuf;

/// The options of `deburr bench`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr bench llsc-loop                     what belongs to a rule
  deburr bench fetch-add store               kernels, by 1, 2, 4, … threads
  deburr bench atomics --threads 1,8,16      a suite
  deburr bench lock --section 0,200,1000 --think none,exponential:500
      a lock, by how long it is held and how soon it is wanted
  deburr bench --list                        what there is
  deburr bench --format json > machine.json  everything, for the record
  deburr bench --show machine.json --format html=machine.html
                                             a page with figures
  deburr bench --compare-with machine.json   the same here, next to it
  deburr bench --show machine.json --predict 64
      what 64 threads would get there (in preview)

Each variant of a kernel is a loop in assembly. All of them run in turn, in
random order, until it is proven whether each is faster than the first, slower
or the same. Times include the loop, whose own cost is on the first line.

Exit status: 0 measured, 2 some work could not be done, 130 interrupted (what
was measured by then is printed).")]
pub(crate) struct Bench {
    /// Suites, kernels or rules [default: all kernels]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// List the kernels with their variants, and run nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Threads, several numbers one after the other [default: 1, 2, 4, … up to the processors; 1 for what shares nothing]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "How to run")]
    pub(crate) threads: Vec<u32>,
    /// Processors for the threads, in their order [default: all]
    ///
    /// With more threads than processors, the first one follows the last. The default is all that this process may
    /// use.
    #[arg(long, value_name = "LIST", help_heading = "How to run")]
    pub(crate) cpus: Option<Cpus>,
    /// Where the words are that threads work on
    #[arg(long, value_enum, default_value_t = Words::SameWord, value_name = "PLACE", help_heading = "How to run")]
    pub(crate) words: Words,
    /// Nanoseconds between a thread's operations: none, fixed:NS, exponential:NS
    ///
    /// Several are measured one after the other.
    #[arg(
        long,
        value_name = "TIME,…",
        value_delimiter = ',',
        default_value = "none",
        help_heading = "How to run"
    )]
    pub(crate) think: Vec<Think>,
    /// Nanoseconds that a lock is held beyond its own work
    ///
    /// Several are measured one after the other.
    #[arg(long, value_name = "NS,…", value_delimiter = ',', default_value = "0", value_parser = clap::value_parser!(u32).range(0..=LONGEST_NS as i64), help_heading = "How to run")]
    pub(crate) section: Vec<u32>,
    /// Milliseconds of a sample, at most 2000
    ///
    /// A word of 32 bits counts no further.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=2_000), help_heading = "How to run")]
    pub(crate) sample: u32,
    /// Differences up to so many percent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, help_heading = "How to run")]
    pub(crate) region: f64,
    /// What the random order comes from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "How to run")]
    pub(crate) seed: u64,

    /// Set the record of another machine next to what is measured here
    #[arg(long, value_name = "FILE", help_heading = "Records")]
    pub(crate) compare_with: Option<PathBuf>,
    /// Set published measurements next to what is measured, as ratios of times
    #[arg(long, help_heading = "Records")]
    pub(crate) evidence: bool,
    /// Print a record, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "list"], help_heading = "Records")]
    pub(crate) show: Option<PathBuf>,

    /// Also predict the rates of more threads, in preview
    ///
    /// From what was measured; docs/contention-model.md has the model and its errors.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "list", help_heading = "Records")]
    pub(crate) predict: Vec<u32>,

    /// Output format; html needs a file (repeatable) [default: text]
    #[arg(long, value_parser = FormatParser::<BenchFormat>::new(), value_name = "FORMAT[=FILE]", help_heading = "Output")]
    pub(crate) format: Vec<Formatted<BenchFormat>>,
    /// Also draw rates by number of threads, as wide as the terminal
    #[arg(long, conflicts_with = "list", help_heading = "Output")]
    pub(crate) chart: bool,
    /// The same as --format html=FILE
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "list",
        hide_short_help = true,
        help_heading = "Output"
    )]
    pub(crate) html: Option<PathBuf>,
    /// Whether to show progress on the standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) progress: Progress,
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    Text,
    Json,
    /// One line for each variant and number of threads
    ///
    /// In the columns of the published tables.
    Csv,
    /// A page with figures, in one file
    Html,
}

impl Bench {
    /// The format that is printed.
    pub(crate) fn printed(&self) -> BenchFormat {
        let printed = self.format.iter().find(|given| given.format != BenchFormat::Html);
        printed.map_or(BenchFormat::Text, |given| given.format)
    }

    /// Where the page goes.
    ///
    /// # Errors
    /// As [`take_page`].
    pub(crate) fn page(&self) -> Result<Option<PathBuf>, String> {
        let (mut formats, mut html) = (self.format.clone(), self.html.clone());
        take_page(&mut formats, BenchFormat::Html, &mut html)?;
        Ok(html)
    }
}

/// Where the words are that threads work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Words {
    /// All have the same one
    SameWord,
    /// Each has its own, next to the others
    SameLine,
    /// Each has its own, in lines that no other uses
    OwnLine,
}

impl Words {
    pub(crate) const fn placement(self) -> Placement {
        match self {
            Words::SameWord => Placement::SameWord,
            Words::SameLine => Placement::SameLine,
            Words::OwnLine => Placement::OwnLine,
        }
    }
}
