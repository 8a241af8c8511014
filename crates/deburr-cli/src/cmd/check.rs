//! `deburr check`: paths → reports, rendered in the order of the paths.

use super::{Failure, colored, width_of_terminal};
use crate::args::{Check, FailOn, Format, When};
use crate::batch::{self, Outcome, Plan};
use crate::config::{Config, Uses};
use crate::input::walk::{self, Identity, Skipped};
use crate::machine::{machines_named, nearest, unknown};
use crate::render::json::Document;
use crate::render::style::Palette;
use crate::render::text::{self, Detail};
use crate::render::totals::Totals;
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::rule::{FileFacts, RULES, Rule};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Files without findings have a line of their own up to this many files.
const FEW_FILES: usize = 10;

/// Runs the verb.
pub(super) fn run(
    options: &Check,
    color: When,
    stdout: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let since = Instant::now();
    let plan = plan(options).map_err(Failure::Message)?;
    let terminal = options.output.is_none() && io::stdout().is_terminal();
    let create = |path: &PathBuf| {
        File::create(path)
            .map_err(|error| Failure::Message(format!("{}: {}", path.display(), walk::error_text(&error))))
    };
    let mut file = options.output.as_ref().map(create).transpose()?.map(BufWriter::new);
    let destination = match &file {
        Some(file) => identity(file.get_ref().metadata()),
        None => {
            io::stdout().as_fd().try_clone_to_owned().ok().and_then(|fd| identity(File::from(fd).metadata()))
        }
    };
    let out: &mut dyn Write = match &mut file {
        Some(file) => file,
        None => stdout,
    };

    let walked = walk::walk(&options.paths, plan.threads, destination);
    let detail = Detail {
        palette: Palette::new(colored(color, terminal)),
        width: terminal.then(width_of_terminal).flatten(),
        limit: options.limit,
        clean_files: options.verbose || (!options.quiet && walked.files.len() <= FEW_FILES),
        verbose: options.verbose,
        statistics: options.statistics,
        show_skipped: options.show_skipped,
    };
    let mut run = Run {
        totals: Totals { other_files: walked.other_files, ..Totals::default() },
        skipped: Vec::new(),
        document: match options.format {
            Format::Json => Some(Document::begin(out, terminal || options.pretty)?),
            Format::Text => None,
        },
        failed: false,
        uses: Uses::of(&plan.config),
        compared: Compared::default(),
    };
    for skip in walked.skipped {
        run.skip(skip, complaints);
    }
    batch::check_all(&walked.files, &plan, options.progress, |outcomes| -> Result<(), Failure> {
        for outcome in outcomes {
            match outcome {
                Outcome::Checked { mut report, bytes } => {
                    run.compared.add(&mut report);
                    run.totals.add(&report, bytes);
                    run.uses.add(&report);
                    match &mut run.document {
                        Some(document) => document.file(out, &report)?,
                        None => text::file(out, &report, &detail)?,
                    }
                }
                Outcome::Skipped(skip) => run.skip(skip, complaints),
            }
        }
        Ok(())
    })?;

    let Run { mut totals, mut skipped, document, mut failed, uses, compared } = run;
    let across = deburr_core::across(&compared.files, plan.rules.as_deref());
    totals.add_across(&across);
    if compared.left_out > 0 {
        let _ = writeln!(
            complaints,
            "deburr: {} files were not compared with others: too many",
            compared.left_out
        );
    }
    let stale = uses.stale(&plan.config);
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    totals.files_skipped = skipped.len() as u64;
    totals.elapsed_seconds = options.statistics.then(|| since.elapsed().as_secs_f64());
    match document {
        Some(document) => document.end(out, &across, (&skipped, &stale), &totals)?,
        None if options.quiet => text::across(out, &across, &detail)?,
        None => {
            text::across(out, &across, &detail)?;
            text::summary(out, &totals, &skipped, &detail)?;
        }
    }
    out.flush()?;
    for guard in &stale {
        // As above: a fault of the configuration, not of the files, so that the exit status stays.
        let _ = writeln!(
            complaints,
            "deburr: warning: {}: the stated guard of `{}` is stale: {}",
            guard.place, guard.function, guard.reason_it_is_stale
        );
    }
    // A run that was given files and checked none of them has not found them clean.
    failed |= totals.files_checked == 0 && skipped.iter().any(|skip| skip.named);
    Ok(match (failed, totals.worst() >= threshold(options.fail_on) && options.fail_on != FailOn::Never) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Which file it is, if it is a regular one.
fn identity(metadata: io::Result<Metadata>) -> Option<Identity> {
    metadata.ok().filter(Metadata::is_file).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// A run so far.
struct Run {
    totals: Totals,
    skipped: Vec<Skipped>,
    document: Option<Document>,
    failed: bool,
    uses: Uses,
    compared: Compared,
}

/// Functions at most, of all files together, that are kept in order to compare them.
const MOST_COMPARED: usize = 500_000;

/// What comparisons at the end of the run need.
#[derive(Default)]
struct Compared {
    files: Vec<FileFacts>,
    functions: usize,
    /// Files for which there was no more room.
    left_out: u64,
}

impl Compared {
    /// Takes a report's facts out of it.
    fn add(&mut self, report: &mut Report) {
        let Some(facts) = report.facts.take().filter(|facts| !facts.shapes.is_empty()) else { return };
        if self.functions + facts.shapes.len() > MOST_COMPARED {
            self.left_out += 1;
            return;
        }
        self.functions += facts.shapes.len();
        self.files.push(FileFacts { path: report.path.as_str().into(), ..facts });
    }
}

impl Run {
    /// Notes a file that was not checked; says so at once if it was asked for, or if it is a fault.
    fn skip(&mut self, skip: Skipped, complaints: &mut dyn Write) {
        if skip.named || skip.fault {
            // Where the standard error is gone, the exit status still tells.
            let _ = writeln!(complaints, "deburr: {}: {}", skip.path, skip.reason);
        }
        self.failed |= skip.fault;
        self.skipped.push(skip);
    }
}

/// The least severity that fails a run; `None` where no severity does, or any would.
const fn threshold(fail_on: FailOn) -> Option<Severity> {
    match fail_on {
        FailOn::Note => Some(Severity::Note),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Error | FailOn::Never => Some(Severity::Error),
    }
}

/// Understands the options.
fn plan(options: &Check) -> Result<Plan, String> {
    let threads = options.threads.or_else(|| std::thread::available_parallelism().ok());
    let debug_dirs = match options.debug_dir.as_slice() {
        [] => vec![PathBuf::from("/usr/lib/debug")],
        dirs => dirs.to_vec(),
    };
    Ok(Plan {
        target: machines_named("--target", &options.target)?,
        baseline: machines_named("--baseline", &options.baseline)?,
        rules: chosen_rules(options)?,
        debug_dirs: (!options.no_debug_files).then_some(debug_dirs),
        closure: options.closure,
        root: options.root.clone(),
        threads: threads.map_or(1, std::num::NonZeroUsize::get),
        config: Config::read(options.config.as_deref())?,
    })
}

/// The rules to run; `None`: all but those in preview.
fn chosen_rules(options: &Check) -> Result<Option<Vec<&'static str>>, String> {
    let Check { select, ignore, preview, .. } = options;
    for name in select.iter().chain(ignore) {
        if !RULES.iter().any(|rule| rule.id == name) {
            let nearest = nearest(name, RULES.iter().map(|rule| rule.id));
            return Err(unknown("rule", name, nearest, "`deburr rules` lists them"));
        }
    }
    let is_selected = |rule: &&Rule| match select.as_slice() {
        [] => *preview || !rule.preview,
        names => names.iter().any(|name| name == rule.id) || (*preview && rule.preview),
    };
    let is_ignored = |rule: &Rule| ignore.iter().any(|name| name == rule.id);
    if select.is_empty() && ignore.is_empty() && !preview {
        return Ok(None);
    }
    let chosen = RULES.iter().filter(is_selected).filter(|rule| !is_ignored(rule));
    Ok(Some(chosen.map(|rule| rule.id).collect()))
}
