//! The options of `deburr compare`.
//!
//! In: the arguments after `compare`. Out: [`Compare`], whose text here is the help of the verb.

pub(crate) mod sweep;

use super::batch::Progress;
use super::format::{Format, FormatParser, Formatted, take_page};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use deburr_lab::measure::machine::Cpus;
use deburr_lab::readers;
use deburr_lab::stats::benchstat::Upstream;
use std::path::PathBuf;
use sweep::Parameter;

/// Pairs at most, where nobody says how many: the last look that the calibration is for.
pub(crate) const PAIRS: u32 = 40;

/// The options of `deburr compare`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["a", "against", "aa", "client", "values", "files"]))]
#[command(group = ArgGroup::new("measured").args(["values", "files"]))]
#[command(group = ArgGroup::new("running").multiple(true).conflicts_with("measured").args([
    "param", "seed", "setup", "prepare", "relink", "cleanup", "cwd", "env_a", "env_b", "input", "output", "pin", "timeout", "ignore_failure",
    "min_pairs", "max_time", "warmup", "under_load", "save", "by_function",
]))]
#[command(group = ArgGroup::new("first").multiple(true).args(["a", "against"]))]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(override_usage = "deburr compare [OPTIONS] --a <CMD> --b <CMD>...
       deburr compare [OPTIONS] --aa <CMD>
       deburr compare [OPTIONS] --against <NAME|RECORD> [--b <CMD>]
       deburr compare [OPTIONS] --client <CMD>
           --server-a <CMD> --server-b <CMD>
       deburr compare [OPTIONS] [--values] <FILE>...
       deburr compare log [OPTIONS] <DIR>")]
#[command(after_long_help = "Examples:
  deburr compare --a './server-old --bench' --b './server-new --bench'
  deburr compare --a ./old --b ./new --b ./other --name old --name new --name \\
      other
  deburr compare --a './sort {n}' --b './qsort {n}' --param n=1000..64000*4
      by size
  deburr compare --max-time 60 --a ./old --b ./new
      what a minute is enough for
  deburr compare --aa ./server
      what this machine can distinguish, and how long it takes
  deburr compare --metric pgbench:tps --a 'pgbench -S -T 10 old' --b \\
      'pgbench -S -T 10 new'
  deburr compare --metric 'rate,larger,1/s=([0-9.]+) requests/s' --a ./old --b \\
      ./new
  deburr compare --expect not-worse --a ./old --b ./new   for CI
  deburr compare --by-function --a ./old --b ./new
      and which functions became faster or slower
  deburr compare --save main --aa ./server
      keeps the program of today, so that later:
  deburr compare --expect not-worse --against main
      the same command with the program as it is then
  deburr compare log records/
      where a series of records became worse
  deburr compare --resume --a ./old --b ./new             after an interrupt
  deburr compare --server-a './old -p {port}' --server-b './new -p {port}' \\
      --ready 'nc -z localhost {port}' \
      --client './load -p {port} -c {clients}' --param clients=1,2,4,8,16,32
  deburr compare old.json new.json
      results of a benchmark program, written elsewhere
  deburr compare --format benchstat old.txt new.txt
      the tables that benchstat prints
  deburr compare --paired main.txt one.txt two.txt
      each further file with the first
  deburr compare --values old.txt new.txt
      numbers measured elsewhere, one a line

Runs come in pairs, one of A and one of B in random order, each when the machine
is quiet; the first pair only warms up. After 10, 16, 24 and 40 pairs it is
tested whether the difference is proven to be larger than --region (better or
worse) or within it (same); else the verdict is inconclusive. Each test demands
more than a single one would, so that testing often finds nothing that is not
there. It ends early where no verdict can be expected any more, and says what
would help. Several --b are compared with A one after the other, and share the
error.

Metrics: wall, user, system, cpu (user and system; seconds), memory (bytes),
page-faults, voluntary-switches, involuntary-switches, each also as a percentile
(wall:p25; 10, 25, 50, 75, 90, 95, 99), of which one value takes 5 to 100 runs;
cycles, instructions, branches, branch-misses, cache-references, cache-misses
where the processor counts them; valgrind:instructions anywhere; what a
benchmark program reports, as PROGRAM:[SUBJECT:]METRIC[:pPERCENTILE], such as
pgbench:tps, wrk:latency:p99, fio:read:iops, redis-benchmark:SET:requests
(pgbench, wrk or memtier alone: rate and latency); or
NAME,larger|smaller[,UNIT]=REGEX, whose first group has to match once in what
the command prints. The first one given decides.

Files are of pgbench, sysbench, redis-benchmark, memtier, wrk, fio,
google-benchmark, go, criterion or hyperfine, with one report or several; what
both have is compared, with Holm's correction for their number, or what --metric
names. Each further file is compared with the first, with that correction for
all of them, and --expect holds where it holds for all. Without --paired nobody
knows the order of the runs: no verdict.

With servers both run all the time, each on a port of its own, and the client
meets them in turn. {port} in the commands of servers, clients and --ready is
the side's port, as is $DEBURR_PORT; {NAME} there, in --a, --b, --aa, --prepare
and --relink is the value of --param NAME; outside of quotes a name without
values is an error.

Every run is written to a record as it ends; the last line says where that is.
With a record as the only FILE nothing is run: it is judged again, with --region
as it is given now.

Exit status: 0 compared, and --expect holds; 1 --expect does not hold; 2 it
could not be compared; 130 interrupted, with the verdict so far (2 before there
are two pairs).")]
pub(crate) struct Compare {
    #[command(subcommand)]
    pub(crate) verb: Option<CompareVerb>,
    /// The command of A: what there is
    #[arg(long, value_name = "CMD", requires = "b", conflicts_with_all = ["aa", "values"], help_heading = "What to compare")]
    pub(crate) a: Option<String>,
    /// Command of B, which may be better (repeatable)
    ///
    /// With several, each is compared with A.
    #[arg(long, value_name = "CMD", requires = "first", conflicts_with_all = ["aa", "client", "measured"], help_heading = "What to compare")]
    pub(crate) b: Vec<String>,
    /// A is what this name saved, or B of this record
    ///
    /// Without --b, B is the same command with the program as it is now.
    #[arg(long, value_name = "NAME|RECORD", conflicts_with_all = ["all_pairs", "env_a"], help_heading = "What to compare")]
    pub(crate) against: Option<String>,
    /// Keep a copy of B's program under this name, for --against
    ///
    /// Once it is measured.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["client", "all_pairs"], help_heading = "What to compare")]
    pub(crate) save: Option<String>,
    /// Compare each two of several commands, not only each with A
    #[arg(long, requires = "b", help_heading = "What to compare")]
    pub(crate) all_pairs: bool,
    /// Name of a command in the output, in order (repeatable)
    ///
    /// In the order of --a and each --b.
    #[arg(long, value_name = "NAME", requires = "b", help_heading = "What to compare")]
    pub(crate) name: Vec<String>,
    /// The command of a client of --server-a and --server-b
    #[arg(long, value_name = "CMD", requires_all = ["server_a", "server_b", "ready"], conflicts_with_all = ["a", "aa", "values"], help_heading = "What to compare")]
    pub(crate) client: Option<String>,
    /// The server of A, which serves until it gets SIGTERM
    #[arg(long, value_name = "CMD", requires = "client", help_heading = "What to compare")]
    pub(crate) server_a: Option<String>,
    /// The server of B
    #[arg(long, value_name = "CMD", requires = "client", help_heading = "What to compare")]
    pub(crate) server_b: Option<String>,
    /// A command that succeeds once the server serves
    #[arg(long, value_name = "CMD", requires = "client", help_heading = "What to compare")]
    pub(crate) ready: Option<String>,
    /// How long a server may take until it serves
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60.0,
        requires = "client",
        help_heading = "What to compare"
    )]
    pub(crate) ready_timeout: f64,
    /// Start each server for its client's run only
    ///
    /// It is ended after that run, so that two servers never run at the same time.
    #[arg(long, requires = "client", help_heading = "What to compare")]
    pub(crate) alternate: bool,
    /// Compare at each value of {NAME} in the commands
    ///
    /// A list, and ranges such as 1..8, 0..100+25 or 1..64*2. With several, all their combinations are compared.
    #[arg(long, value_name = "NAME=V1,V2,…", help_heading = "What to compare")]
    pub(crate) param: Vec<Parameter>,
    /// Compare a command with itself: what the machine can distinguish
    #[arg(long, value_name = "CMD", conflicts_with = "values", help_heading = "What to compare")]
    pub(crate) aa: Option<String>,
    /// Compare numbers measured elsewhere, one a line in each file
    #[arg(long, num_args = 2.., value_name = "FILE", help_heading = "What to compare")]
    pub(crate) values: Option<Vec<PathBuf>>,
    /// Compare result files of benchmark programs: A's and B's
    ///
    /// With several files of B, each is compared with A.
    #[arg(value_name = "FILE", help_heading = "What to compare")]
    pub(crate) files: Vec<PathBuf>,
    /// The program that wrote them [default: what they look like]
    #[arg(long, value_name = "PROGRAM", requires = "files", help_heading = "What to compare")]
    pub(crate) input_format: Option<readers::Format>,
    /// Value N of all files was measured in turn, in this order
    #[arg(long, requires = "measured", help_heading = "What to compare")]
    pub(crate) paired: bool,
    /// Of plain numbers: which direction is better
    #[arg(long, value_enum, default_value_t = BetterDirection::Smaller, requires = "measured", value_name = "DIRECTION", help_heading = "What to compare")]
    pub(crate) better: BetterDirection,

    #[command(flatten)]
    pub(crate) trial: Trial,
    /// Command that links the program anew before each run
    ///
    /// It has DEBURR_LAYOUT_SEED and DEBURR_SIDE in its environment.
    #[arg(long, value_name = "CMD", help_heading = "How to run")]
    pub(crate) relink: Option<String>,
    /// Link each side once, after N layouts of A gave the noise
    ///
    /// The region grows by how far the layouts of A differ.
    #[arg(long, value_name = "LAYOUTS", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = clap::value_parser!(u32).range(5..=1000), requires = "relink", help_heading = "How to run")]
    pub(crate) layout_floor: Option<u32>,
    /// Added to A's environment (can be given more than once)
    #[arg(long, conflicts_with = "aa", value_name = "NAME=VALUE", help_heading = "How to run")]
    pub(crate) env_a: Vec<String>,
    /// Added to B's environment (can be given more than once)
    #[arg(long, conflicts_with = "aa", value_name = "NAME=VALUE", help_heading = "How to run")]
    pub(crate) env_b: Vec<String>,

    /// Name the functions that account for the difference, by perf
    ///
    /// Both sides are run under perf afterwards.
    #[arg(long, conflicts_with_all = ["client", "param"], help_heading = "What to measure")]
    pub(crate) by_function: bool,

    /// Write the runs there [default: a new file in ~/.local/state/deburr/compare]
    #[arg(long, value_name = "FILE", conflicts_with = "measured", help_heading = "Record")]
    pub(crate) record: Option<PathBuf>,
    /// Continue a record: FILE, or the commands' last one
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["record", "measured"], help_heading = "Record")]
    pub(crate) resume: Option<Option<PathBuf>>,

    /// The exit status is 1 unless this is proven
    #[arg(long, value_enum, value_name = "VERDICT", help_heading = "Output")]
    pub(crate) expect: Option<Expected>,
    /// Output format; html needs a file (repeatable) [default: text]
    #[arg(long, value_parser = FormatParser::<CompareFormat>::new(), value_name = "FORMAT[=FILE]", help_heading = "Output")]
    pub(crate) format: Vec<Formatted<CompareFormat>>,
    /// Also print the marks of published tables, which show noise
    #[arg(long, help_heading = "Output")]
    pub(crate) marks: bool,
    /// Reproduce benchstat's intervals, p values and units with its faults
    #[arg(long, help_heading = "Output")]
    pub(crate) benchstat_faults: bool,
    /// The same as --format html=FILE
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the runs there, as hyperfine --export-json does
    #[arg(long, value_name = "FILE", conflicts_with = "values", help_heading = "Output")]
    pub(crate) export_hyperfine: Option<PathBuf>,
    /// When to show progress on the standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) progress: Progress,
}

/// What else there is to do with records.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum CompareVerb {
    /// Show where a directory's records became better or worse
    ///
    /// In the order of their time.
    Log(Log),
}

/// The options of `deburr compare log`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "Examples:
  deburr compare --against main --b ./server --record log/$(git rev-parse \\
      HEAD).jsonl
  deburr compare log log
  deburr compare log --expect not-worse log       for CI

Records of the same command B make a series. Where all of them have the same A,
as with --against, the ratio of B to A is followed, which a slower machine does
not move; else what B itself took. A change of level is found by a permutation
test (p at most 0.01), and has to last for three records; about 11 records are
needed before one can be found.

Exit status: 0 read, and --expect holds; 1 --expect does not hold; 2 there are
no records.")]
pub(crate) struct Log {
    /// The directory with the records
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The metric that is followed [default: the first one of each record]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// Changes up to so many percent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub(crate) region: f64,
    /// Exit with 1 unless each series last changed this way
    ///
    /// same: unless no series has a change that matters.
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub(crate) expect: Option<Expected>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// What is measured, and how commands are run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Trial {
    /// Metric to compare, the deciding one first (repeatable) [default: wall]
    #[arg(long, value_name = "METRIC", help_heading = "What to measure")]
    pub(crate) metric: Vec<String>,
    /// Differences up to so many percent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, help_heading = "What to measure")]
    pub(crate) region: f64,
    /// Maximum number of pairs [default: 40, or the record's]
    ///
    /// A verdict needs at least 5, a difference at least 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), help_heading = "What to measure")]
    pub(crate) pairs: Option<u32>,
    /// Pairs at least, before it may end
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), help_heading = "What to measure")]
    pub(crate) min_pairs: Option<u32>,
    /// Stop starting pairs that would end after this many seconds
    ///
    /// The verdict uses the remaining alpha.
    #[arg(long, value_name = "SECONDS", help_heading = "What to measure")]
    pub(crate) max_time: Option<f64>,
    /// Pairs that only warm up, before those that count
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000), help_heading = "What to measure")]
    pub(crate) warmup: u32,
    /// What the random order comes from [default: a new one each time]
    #[arg(long, value_name = "N", help_heading = "What to measure")]
    pub(crate) seed: Option<u64>,
    /// Run before everything else
    #[arg(long, value_name = "CMD", help_heading = "How to run")]
    pub(crate) setup: Option<String>,
    /// Run before each run, with DEBURR_SIDE (a or b) in its environment
    #[arg(long, value_name = "CMD", help_heading = "How to run")]
    pub(crate) prepare: Option<String>,
    /// Run after everything else, whatever happened
    #[arg(long, value_name = "CMD", help_heading = "How to run")]
    pub(crate) cleanup: Option<String>,
    /// The folder that all commands run in
    #[arg(long, value_name = "DIR", help_heading = "How to run")]
    pub(crate) cwd: Option<PathBuf>,
    /// What the commands read [default: nothing]
    #[arg(long, value_name = "FILE", help_heading = "How to run")]
    pub(crate) input: Option<PathBuf>,
    /// Keep the output of each run in this folder [default: nowhere]
    #[arg(long, value_name = "DIR", help_heading = "How to run")]
    pub(crate) output: Option<PathBuf>,
    /// Processors for the runs and their servers, such as 2-3
    ///
    /// Load on other processors then does not count.
    #[arg(long, value_name = "CPUS", help_heading = "How to run")]
    pub(crate) pin: Option<Cpus>,
    /// A run that takes longer fails
    #[arg(long, value_name = "SECONDS", help_heading = "How to run")]
    pub(crate) timeout: Option<f64>,
    /// Shell that runs the commands; none splits their words
    #[arg(long, value_name = "SHELL", default_value = "none", help_heading = "How to run")]
    pub(crate) shell: String,
    /// Judge on a busy machine, with three times the region
    ///
    /// At your own risk: nothing is waited for or measured again.
    #[arg(long, help_heading = "How to run")]
    pub(crate) under_load: bool,
    /// Do not wait for a quiet machine before each run
    #[arg(long, help_heading = "How to run")]
    pub(crate) no_gate: bool,
    /// Runs that end with another exit status than 0 count, too
    #[arg(long, help_heading = "How to run")]
    pub(crate) ignore_failure: bool,
}

impl Compare {
    /// A trial of commands that are still to be named, with nothing else asked for.
    pub(crate) fn of(trial: Trial, progress: Progress) -> Compare {
        Compare {
            verb: None,
            a: None,
            b: Vec::new(),
            against: None,
            save: None,
            all_pairs: false,
            name: Vec::new(),
            client: None,
            server_a: None,
            server_b: None,
            ready: None,
            ready_timeout: 60.0,
            alternate: false,
            param: Vec::new(),
            aa: None,
            values: None,
            files: Vec::new(),
            input_format: None,
            paired: false,
            better: BetterDirection::Smaller,
            trial,
            relink: None,
            layout_floor: None,
            env_a: Vec::new(),
            env_b: Vec::new(),
            by_function: false,
            record: None,
            resume: None,
            expect: None,
            format: Vec::new(),
            marks: false,
            benchstat_faults: false,
            html: None,
            export_hyperfine: None,
            progress,
        }
    }

    /// The format that is printed.
    pub(crate) fn printed(&self) -> CompareFormat {
        let printed = self.format.iter().find(|given| given.format != CompareFormat::Html);
        printed.map_or(CompareFormat::Text, |given| given.format)
    }

    /// The same with the page of `--format` as that of `--html`.
    ///
    /// # Errors
    /// As [`take_page`].
    pub(crate) fn with_page(&self) -> Result<Compare, String> {
        let mut options = self.clone();
        take_page(&mut options.format, CompareFormat::Html, &mut options.html)?;
        Ok(options)
    }

    /// Whether what benchstat says has its faults.
    pub(crate) const fn upstream(&self) -> Upstream {
        if self.benchstat_faults { Upstream::AsPrinted } else { Upstream::Corrected }
    }
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    /// The tables that benchstat prints
    Benchstat,
    /// A line for each metric
    Csv,
    /// A table for a comment or a page
    Markdown,
    /// A page with figures, in one file
    Html,
}

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BetterDirection {
    Larger,
    Smaller,
}

/// What is expected of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Expected {
    Better,
    Same,
    /// Better, or the same
    NotWorse,
}
