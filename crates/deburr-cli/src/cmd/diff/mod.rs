//! `deburr diff`: two builds → what differs, file by file, and whether the new one is worse.
//!
//! In: the options. Out: what the renderer prints, and exit status 1 where the new build is worse. Files run
//! through the batch in scopes (`scope.rs`), and binaries are paired as they come (`matching.rs`).

mod build;
mod matching;
mod scope;

use crate::args::diff::Diff;
use crate::args::format::{DiffFormat, Formatted, When};
use crate::batch;
use crate::batch::plan::BatchPlan;
use crate::cmd::failure::Failure;
use crate::cmd::terminal::{colored, width_of_terminal};
use crate::config::fail_on::Failing;
use crate::names::ARCHES;
use crate::output::Output;
use crate::render::diff::{self, Compared, DiffLayout, DiffSummary};
use crate::render::page::view::room::insns_of_file;
use crate::render::style::Palette;
use build::Build;
use deburr_core::diff::{Balance, LevelChange};
use deburr_cpu::level_names;
use deburr_text::ShownPath as _;
use matching::{Matched, Matching};
use scope::Agenda;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Runs the verb.
pub(super) fn run(
    options: &Diff,
    color: When,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let mut plan =
        BatchPlan::new(&options.analysis, &options.batch).map_err(Failure::Message)?.within(&options.scope);
    if let Some(time) = options.max_time {
        plan.analysis.end_after(time);
    }
    let config = &plan.analysis.config;
    let failing =
        Failing::chosen(&options.fail_on, config.fail_on, config.strict).map_err(Failure::Message)?;
    plan.analysis.notes_undecided = failing.undecided;
    let mut skipped = Vec::new();
    let old = Build::walk(&options.old, &plan, &mut skipped)?;
    let new = Build::walk(&options.new, &plan, &mut skipped)?;
    let Agenda { files, scoped, mut only_old } = Agenda::of(&old, &new);
    if files.iter().filter(|file| file.is_stdin).count() > 1 {
        return Err(Failure::Message("-: the standard input cannot be both builds".to_owned()));
    }
    let Formatted { format, file } = &options.formatted();
    let inputs = [&options.old, &options.new].map(|path| path.as_path());
    let mut output =
        file.as_ref().map(|file| Output::open(file, &inputs)).transpose().map_err(Failure::Message)?;
    if *format == DiffFormat::Html {
        let packages = files.iter().any(|file| file.content.is_package() || file.is_stdin);
        plan.insns_listed = Some(insns_of_file((!packages).then_some(files.len())));
    }
    let mut matching = Matching::new(&plan);
    batch::check_all(&files, &plan, options.batch.progress, |turn, outcomes| -> Result<(), Failure> {
        if let Some(file) = scoped.get(turn) {
            matching.take(file, outcomes);
        }
        Ok(())
    })?;
    let (matched, rooms) = matching.end();
    let Matched { allowed, mut compared, only_old: gone, skipped: mut not_compared } = matched;
    raise_above_all(&mut compared);
    skipped.append(&mut not_compared);
    let of_gone = gone.iter().map(|it| Balance::of(&it.diff, failing.threshold).reversed());
    let balance = compared.iter().map(|it| it.balance(failing)).chain(of_gone);
    let balance = balance.fold(Balance::default(), Balance::plus);
    only_old.extend(gone.into_iter().map(|it| it.path));
    for skip in &skipped {
        if skip.is_fault {
            // Where the standard error is gone, the exit status still shows it.
            let _ = writeln!(complaints, "deburr: {}: {}", skip.path, skip.reason);
        }
    }
    let is_compared = compared.iter().any(|it| it.old.is_some());
    let failed = skipped.iter().any(|skip| skip.is_fault) || !is_compared && !balance.is_worse();
    let configuration = plan.analysis.in_force(allowed);
    let [old, new] = [&options.old, &options.new].map(|path| path.shown().into_owned());
    let summary = DiffSummary { old, new, failing, balance, only_old, skipped, configuration };
    let terminal = output.is_none() && io::stdout().is_terminal();
    let out: &mut dyn Write = match &mut output {
        Some(output) => output,
        None => out,
    };
    match format {
        DiffFormat::Json => diff::json(out, &compared, &summary, terminal)?,
        DiffFormat::Html => diff::html::page(out, &compared, &summary, &rooms.unwrap_or_default())?,
        DiffFormat::Text => {
            let layout = DiffLayout {
                palette: Palette::new(colored(color, terminal)),
                width: terminal.then(width_of_terminal).flatten(),
                limit: options.limit,
            };
            diff::text(out, &compared, &summary, &layout)?;
        }
    }
    if let Some(output) = output {
        output.finish().map_err(Failure::Message)?;
    }
    Ok(match (failed, summary.balance.is_worse()) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// A file that only the new build has raises the level if it needs more than any file of the old build.
fn raise_above_all(compared: &mut [Compared]) {
    let rank = |arch: &str, level: &str| {
        let arch = ARCHES.iter().find(|it| it.name() == arch)?;
        level_names(*arch).position(|name| name == level)
    };
    let mut highest: BTreeMap<Cow<'static, str>, Option<usize>> = BTreeMap::new();
    for it in compared.iter() {
        if let Some(level) = &it.old_level {
            let most = highest.entry(it.diff.arch.clone()).or_default();
            *most = rank(&it.diff.arch, level).max(*most);
        }
    }
    for it in compared.iter_mut().filter(|it| it.old.is_none()) {
        let most = highest.get(&*it.diff.arch).copied().flatten();
        if most.is_some() && rank(&it.diff.arch, &it.level) > most {
            let (old, new) = (String::new(), it.level.clone());
            it.diff.levels.push(LevelChange {
                what: "needed",
                old,
                new,
                raised: true,
                is_within_stated: it.is_within_stated,
            });
        }
    }
}
