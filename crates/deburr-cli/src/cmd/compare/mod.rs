//! `deburr compare`: two commands, or numbers measured elsewhere → whether B is really better than A.
//!
//! In: the options. Out: what the renderers print, the page, and the exit status by `--expect`. Numbers come
//! from commands (`commands.rs`), from a record (`recorded.rs`) or from other programs' files (`files.rs`).

mod commands;
mod files;
mod judge;
mod log;
mod metric;
mod plan;
mod preflight;
mod provenance;
mod record_path;
mod recorded;
mod saved;
mod watch;
mod words;

use crate::args::compare::{Compare, CompareFormat, CompareVerb, Expected, Trial};
use crate::args::format::When;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::INTERRUPTED;
use crate::cmd::page::Page;
use crate::cmd::terminal::{colored, width_of_terminal};
use crate::render::compare::{benchstat, html, hyperfine, json, table, text};
use crate::render::style::Palette;
pub(super) use commands::Ran;
use deburr_lab::comparison::Comparison;
use deburr_lab::measure::stop::Stop;
use deburr_lab::readers;
use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::Outcome;
use deburr_text::ShownPath as _;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Runs the two commands of some options, for other verbs.
pub(super) fn run_commands(options: &Compare, stop: &Stop) -> Result<Ran, Failure> {
    commands::run_until(options, rope(&options.trial)?, stop)
}

fn rope(trial: &Trial) -> Result<Rope, Failure> {
    /// Beyond a factor of eleven nothing would ever be different.
    const WIDEST: f64 = 1000.0;
    if trial.region > WIDEST {
        let region = trial.region;
        return Err(Failure::Message(format!("--region {region}: percent; expected no more than {WIDEST}")));
    }
    Rope::new(trial.region / 100.0).map_err(|error| Failure::Message(format!("--region: {error}")))
}

/// Runs the verb.
pub(super) fn run(options: &Compare, color: When, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if let Some(CompareVerb::Log(options)) = &options.verb {
        return log::run(options, color, out);
    }
    let rope = rope(&options.trial)?;
    let resolved = saved::resolved(options).map_err(Failure::Message)?;
    let options = &resolved.as_ref().unwrap_or(options).with_page().map_err(Failure::Message)?;
    let (files, format) = match &options.values {
        Some(files) => (files.as_slice(), Some(readers::Format::Values)),
        None => (options.files.as_slice(), options.input_format),
    };
    if options.printed() == CompareFormat::Benchstat && options.marks {
        return Err(Failure::Message("--marks: benchstat's tables have none".to_owned()));
    }
    let record = match (files, format) {
        ([only], None) => recorded::open(only).map_err(Failure::Message)?,
        _ => None,
    };
    if options.export_hyperfine.is_some() && !files.is_empty() && record.is_none() {
        return Err(Failure::Message(
            "--export-hyperfine: files of results have no runs of processes".to_owned(),
        ));
    }
    if options.printed() == CompareFormat::Benchstat && !files.is_empty() && record.is_none() {
        return files::tables(options, files, format, out);
    }
    if let (Some(_), [_, _, third, ..]) = (&options.html, files) {
        return Err(Failure::Message(format!(
            "--html: a page has two sides; {}: a third file",
            third.shown()
        )));
    }
    let export = Page::of("--export-hyperfine", options.export_hyperfine.as_deref(), &inputs(options))
        .map_err(Failure::Message)?;
    let page = Page::open(options.html.as_deref(), &inputs(options)).map_err(Failure::Message)?;
    let mut is_stdout = [&page, &export].into_iter().flatten().any(Page::is_stdout);
    let (documents, interrupted, fault) = match (files, record) {
        ([], _) => {
            let ran = commands::run(options, rope)?;
            is_stdout |= ran.iter().any(|one| one.is_stdout);
            let interrupted = ran.iter().any(|one| one.interrupted);
            let (mut documents, mut fault) = (Vec::new(), None);
            for one in ran {
                documents.push(one.document);
                fault = fault.or(one.fault);
            }
            (documents, interrupted, fault)
        }
        (_, Some(record)) => {
            (vec![recorded::compared(options, record, rope).map_err(Failure::Message)?], false, None)
        }
        (files, None) => {
            (files::compared(options, files, format, rope).map_err(Failure::Message)?, false, None)
        }
    };
    // A file that goes to the standard output has it for itself.
    let palette = Palette::new(colored(color, std::io::stdout().is_terminal()));
    let mut errors = palette.plain(std::io::stderr());
    let out: &mut dyn Write = if is_stdout { &mut errors } else { out };
    match options.printed() {
        CompareFormat::Json => json::render(&documents, out)?,
        CompareFormat::Benchstat => {
            documents.iter().try_for_each(|document| benchstat::render(document, options.upstream(), out))?
        }
        CompareFormat::Csv => table::csv(&documents, out)?,
        CompareFormat::Markdown => table::markdown(&documents, out)?,
        CompareFormat::Text | CompareFormat::Html => {
            text::render(&documents, palette, width_of_terminal(), out)?;
        }
    }
    if let (Some(page), Some(document)) = (page, documents.first()) {
        page.write(|out| html::render(document, out)).map_err(Failure::Message)?;
    }
    if let (Some(export), Some(document)) = (export, documents.first()) {
        export.write(|out| hyperfine::render(document, out)).map_err(Failure::Message)?;
    }
    if let Some(fault) = fault {
        out.flush()?;
        return Err(Failure::Message(fault));
    }
    let holds = documents.iter().all(|document| {
        let outcome = document.comparisons.first().map_or(Outcome::Inconclusive, Comparison::outcome);
        match options.expect {
            None => true,
            Some(Expected::Better) => outcome == Outcome::Better,
            Some(Expected::Same) => outcome == Outcome::Same,
            Some(Expected::NotWorse) => matches!(outcome, Outcome::Better | Outcome::Same),
        }
    });
    Ok(match (interrupted, holds) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(1),
    })
}

/// Compares two lists of numbers, as `--values` does with two files of them: the JSON document.
pub(crate) fn of_values(options: &Compare, [a, b]: [&[f64]; 2]) -> Result<Vec<u8>, Failure> {
    let rope = rope(&options.trial)?;
    let document = files::of_values(options, [a, b], rope).map_err(Failure::Message)?;
    let mut out = Vec::new();
    json::render(&document, &mut out)?;
    Ok(out)
}

/// The files that a comparison reads.
fn inputs(options: &Compare) -> Vec<&Path> {
    let values = options.values.iter().flatten();
    let files =
        values.chain(&options.files).chain(&options.trial.input).chain(options.resume.iter().flatten());
    files.map(|path| path.as_path()).collect()
}
