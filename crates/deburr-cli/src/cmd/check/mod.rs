//! `deburr check`: paths → reports, rendered in the order of the paths.
//!
//! In: the options. Out: reports through all sinks, warnings about the configuration, and the exit status (0, 1 or 2).

mod costs;
pub(crate) mod ends;
mod sink;
mod tables;
mod tried;
mod unread;

use crate::args::check::Check;
use crate::args::format::When;
use crate::batch;
use crate::batch::compared::ComparedFacts;
use crate::batch::outcome::{CheckedFile, Outcome};
use crate::batch::plan::BatchPlan;
use crate::cmd::failure::Failure;
use crate::cmd::rulings::Rulings;
use crate::config::allow::Remarks;
use crate::config::fail_on::Failing;
use crate::config::guard::StaleGuard;
use crate::input::walk::{self, Skipped};
use crate::profile::Profiles;
use crate::render::check::renderer::{Checked, CodeOfFile, Finished};
use crate::render::check::text::few::FEW_FILES;
use crate::render::check::totals::{Answers, Totals};
use crate::render::page::view::room::insns_of_file;
use costs::Costs;
use deburr_core::profile::Share;
use deburr_text::ShownPath as _;
use deburr_text::one_line;
use ends::Ends;
use sink::{Outlet, Sinks};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tried::Runs;
use unread::Unread;

/// Runs the verb.
pub(crate) fn run(options: &Check, color: When, ends: &mut Ends<'_>) -> Result<u8, Failure> {
    let Ends { out: stdout, is_stdout, is_over, complaints, held, rows, refused } = ends;
    let since = Instant::now();
    let complaints: &mut dyn Write = *complaints;
    let mut plan = planned(options, complaints).map_err(Failure::Message)?;
    plan.held = std::mem::take(held);
    let profiles = plan.analysis.profiles.as_ref();
    let (of_caller, named): (Vec<&Path>, Vec<&Path>) =
        options.paths.iter().map(PathBuf::as_path).partition(|path| plan.held.contains_key(*path));
    let jitdumps = profiles.into_iter().flat_map(Profiles::jitdumps);
    let paths: Vec<PathBuf> = named.into_iter().map(Path::to_owned).chain(jitdumps).collect();
    let config = &plan.analysis.config;
    let read = paths.iter().chain(&options.profile).map(PathBuf::as_path);
    let read = read.chain(plan.analysis.config.path.as_deref());
    let (outlets, tables) =
        sink::open(options, &read.collect::<Vec<_>>(), (*stdout, *is_stdout), rows.as_deref_mut())?;
    let of_tables = tables.iter().flat_map(|tables| tables.identities.clone());
    let outputs: Vec<_> =
        outlets.iter().flat_map(|outlet| outlet.identities.clone()).chain(of_tables).collect();
    let runs = Runs::read(&options.tried)?;
    let costs = options.measured.as_deref().map(Costs::read).transpose()?;
    let mut walked = walk::walk(&paths, plan.threads, &outputs, plan.limits.depth > 0);
    walked.add_held(&of_caller);
    let excluded_files = walked.exclude(&plan.excluded);
    let failing =
        Failing::chosen(&options.fail_on, config.fail_on, config.strict).map_err(Failure::Message)?;
    let packages = walked.files.iter().any(|file| file.content.is_package() || file.is_stdin);
    if plan.closure && packages {
        let note = "--closure does not look into packages: their members are checked each by itself";
        let _ = writeln!(complaints, "deburr: note: {note}");
    }
    // With nobody left to read what it finds, a run ends at what settles its status.
    let is_alone = outlets.len() == 1 && tables.is_none() && options.add_allowances.is_none();
    let is_read = || !is_alone || !is_over.is_some_and(Cell::get);
    let few = (walked.files.len() <= FEW_FILES).then_some(packages);
    if outlets.iter().any(Outlet::shows_code) {
        plan.insns_listed = Some(insns_of_file((!packages).then_some(walked.files.len())));
    }
    plan.describes = tables.is_some();
    let mut sinks = Sinks::begin((outlets, tables), options, color, failing, few)?;
    let is_judged = plan.analysis.claims || !plan.analysis.baseline.is_empty();
    let answers = is_judged.then(Answers::default);
    let mut run = Run {
        totals: Totals { other_files: walked.other_files, excluded_files, answers, ..Totals::default() },
        skipped: Vec::new(),
        unread: BTreeSet::new(),
        failed: false,
        rulings: Rulings::new(&plan.analysis, options.add_allowances.is_some()),
        compared: ComparedFacts::default(),
        unclaimed: 0,
    };
    for skip in walked.skipped {
        sinks.skip(&skip)?;
        run.refuse(skip, complaints);
    }
    let mut unread_packages = Unread::new(&walked.files);
    let given = Given { plan: &plan, runs: &runs, costs: costs.as_ref() };
    let checked = batch::check_all(
        &walked.files,
        &plan,
        options.batch.progress,
        |turn, outcomes: Vec<Outcome<CheckedFile>>| -> Result<(), Failure> {
            outcomes.into_iter().try_for_each(|outcome| {
                unread_packages.note(turn, &outcome);
                run.take(outcome, &given, &mut sinks, complaints)
            })?;
            if is_read() || status(run.failed, &run.totals, failing) == 0 {
                Ok(())
            } else {
                Err(Failure::ClosedPipe)
            }
        },
    );
    match checked {
        Err(Failure::ClosedPipe) => return Ok(status(run.failed, &run.totals, failing)),
        checked => checked?,
    }
    for skip in unread_packages.end() {
        sinks.skip(&skip)?;
        run.refuse(skip, complaints);
    }

    let Run { mut totals, mut skipped, unread, mut failed, rulings, compared, unclaimed } = run;
    tell_left_out(complaints, unclaimed, compared.left_out);
    let across = deburr_core::across(&compared.files, Some(&plan.analysis.rules));
    totals.add_across(&across);
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    totals.files_skipped = skipped.len() as u64;
    totals.elapsed_seconds = options.statistics.then(|| since.elapsed().as_secs_f64());
    let Rulings { uses, ledger, additions, .. } = rulings;
    let stale_guards = uses.stale(&config.guards);
    let remarks = ledger.remarks(|rule| plan.analysis.rules.contains(&rule));
    let elsewhere = plan.analysis.profiles.as_ref().map(Profiles::elsewhere);
    let configuration = plan.analysis.in_force(totals.allowed);
    sinks.end(Finished {
        profile: elsewhere.as_ref(),
        totals: &totals,
        skipped: &skipped,
        across: &across,
        stale_guards: &stale_guards,
        remarks: &remarks,
        configuration: configuration.as_ref(),
    })?;
    if let Some(configuration) = configuration.filter(|_| options.quiet) {
        let _ = writeln!(complaints, "deburr: configuration: {}", configuration.line());
    }
    warn(complaints, &stale_guards, &remarks);
    warn_of_budget(complaints, &totals.over_budget);
    if let Some(elsewhere) = elsewhere.filter(|elsewhere| elsewhere.checked == Share::default()) {
        let _ = writeln!(complaints, "deburr: warning: {}", elsewhere.nowhere());
    }
    if let (Some(additions), Some(given)) = (additions, &options.add_allowances) {
        let added = additions.write(given.as_deref(), config.path.as_deref()).map_err(Failure::Message)?;
        let _ = writeln!(complaints, "deburr: {added}");
    }
    // A run that was given files and checked none of them has not found them clean.
    failed |= totals.files_checked == 0 && skipped.iter().any(|skip| skip.named || skip.kind.is_some());
    let named: BTreeSet<String> = options.paths.iter().map(|path| path.shown().into_owned()).collect();
    let is_refused = |skip: &&Skipped| {
        named.contains(&skip.path) && (totals.files_checked == 0 || unread.contains(&skip.path))
    };
    *refused = skipped.iter().find(is_refused).map(|skip| (skip.path.clone(), skip.reason.clone()));
    Ok(status(failed, &totals, failing))
}

/// The exit status of a run. `failed`: whether something that was to be checked was not.
fn status(failed: bool, totals: &Totals, failing: Failing) -> u8 {
    let undecided = totals.answers.as_ref().map_or(0, |answers| answers.undecided_and_open);
    let fails = failing.threshold.is_some_and(|least| totals.worst() >= Some(least))
        || (failing.undecided && undecided > 0);
    match (failed, fails) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

/// Says how many files were held to no claim, and how many were not compared with others.
fn tell_left_out(complaints: &mut dyn Write, unclaimed: u64, not_compared: u64) {
    if unclaimed > 0 {
        let _ = writeln!(complaints, "deburr: files without a claim, which were held to none: {unclaimed}");
    }
    if not_compared > 0 {
        let _ = writeln!(complaints, "deburr: {not_compared} files were not compared with others: too many");
    }
}

/// How the options want files checked, with warnings of what a profile leaves out.
fn planned(options: &Check, complaints: &mut dyn Write) -> Result<BatchPlan, String> {
    let of_files = BatchPlan::new(&options.analysis, &options.batch)?.within(&options.scope);
    let mut plan = BatchPlan { closure: options.closure, root: options.root.clone(), ..of_files };
    if let Some(time) = options.max_time {
        plan.analysis.end_after(time);
    }
    let config = &mut plan.analysis.config;
    config.strict |= options.strict;
    let failing = Failing::chosen(&options.fail_on, config.fail_on, config.strict)?;
    plan.analysis.notes_undecided = failing.undecided;
    if !options.profile.is_empty() {
        let profiles = Profiles::read(&options.profile, options.profile_event.as_deref(), &options.paths)?;
        for remark in &profiles.remarks {
            let _ = writeln!(complaints, "deburr: warning: {}", one_line(remark));
        }
        plan.analysis.profiles = Some(profiles);
    }
    Ok(plan)
}

/// Warns of what is wrong in the configuration. The files are not at fault, so that the exit status stays.
fn warn(complaints: &mut dyn Write, stale_guards: &[StaleGuard], remarks: &Remarks) {
    // Where the standard error is gone, nobody reads them.
    for guard in stale_guards {
        let (place, function, reason) = (&guard.place, &guard.function, guard.reason_it_is_stale);
        let _ = writeln!(
            complaints,
            "deburr: warning: {place}: the stated guard of `{function}` is stale: {reason}"
        );
    }
    for (remark, is_what) in
        remarks.stale.iter().map(|it| (it, "stale")).chain(remarks.exceeded.iter().map(|it| (it, "exceeded")))
    {
        let (place, subject, reason) = (&remark.place, &remark.subject, &remark.reason);
        let _ = writeln!(
            complaints,
            "deburr: warning: {place}: the allowance of {subject} is {is_what}: {reason}"
        );
    }
}

/// Names the files that were not analysed as a whole: in every format.
fn warn_of_budget(complaints: &mut dyn Write, over_budget: &[(String, String)]) {
    const SHOWN: usize = 5;
    for (path, sentence) in over_budget.iter().take(SHOWN) {
        let _ = writeln!(complaints, "deburr: warning: {path}: {sentence}");
    }
    if let Some(more) = over_budget.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ =
            writeln!(complaints, "deburr: warning: and {more} more files that were not analysed as a whole");
    }
}

/// A run so far.
struct Run<'p> {
    totals: Totals,
    skipped: Vec<Skipped>,
    /// Those of `skipped` of which nothing was read, though the user named them or what has them.
    unread: BTreeSet<String>,
    failed: bool,
    rulings: Rulings<'p>,
    compared: ComparedFacts,
    /// Files that were to be held to their claims, and have none.
    unclaimed: u64,
}

/// What the user wants of each file.
struct Given<'g> {
    plan: &'g BatchPlan,
    runs: &'g Runs,
    costs: Option<&'g Costs>,
}

impl Run<'_> {
    /// Takes what became of a file, in the order of the files.
    fn take(
        &mut self,
        outcome: Outcome<CheckedFile>,
        given: &Given<'_>,
        sinks: &mut Sinks<'_>,
        complaints: &mut dyn Write,
    ) -> Result<(), Failure> {
        let analysis = &given.plan.analysis;
        match outcome {
            Outcome::Checked { product, bytes } => {
                let CheckedFile { mut report, listings, left_out, sizes, sha256 } = *product;
                self.unclaimed +=
                    u64::from(analysis.claims && report.claim.is_none() && !report.made_at_run_time);
                self.compared.add(&mut report);
                given.runs.add(&mut report, &analysis.rules, complaints);
                let allowed = self.rulings.settle(&mut report);
                if let Some(costs) = given.costs {
                    costs.add(&mut report);
                }
                self.totals.add(&report, bytes);
                let code = CodeOfFile { listings: &listings, left_out, sizes: &sizes };
                let checked = Checked { report: &report, allowed: &allowed, code };
                sinks.file(checked, (bytes, sha256.as_deref()))?;
            }
            Outcome::Described(artefact) => sinks.artefact(&artefact)?,
            Outcome::Skipped(skip) => {
                sinks.skip(&skip)?;
                self.refuse(skip, complaints);
            }
            Outcome::Incomplete(skip) | Outcome::Recognised(skip) => {
                sinks.skip(&skip)?;
                self.skip(skip, complaints);
            }
            Outcome::PassedOver(members) => self.totals.other_files += members,
            Outcome::Excluded(members) => self.totals.excluded_files += members,
        }
        Ok(())
    }

    /// Notes a file of which nothing was read.
    fn refuse(&mut self, skip: Skipped, complaints: &mut dyn Write) {
        self.unread.extend((skip.named && skip.fault).then(|| skip.path.clone()));
        self.skip(skip, complaints);
    }

    /// Notes a file that was not checked; says so at once if the user named it, or if it is a fault.
    fn skip(&mut self, skip: Skipped, complaints: &mut dyn Write) {
        if skip.named || skip.fault {
            // Where the standard error is gone, the exit status still shows it.
            let _ = writeln!(complaints, "deburr: {}: {}", skip.path, skip.reason);
        }
        self.failed |= skip.fault;
        self.skipped.push(skip);
    }
}
