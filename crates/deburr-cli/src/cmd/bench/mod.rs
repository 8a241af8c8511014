//! `deburr bench`: names of kernels → what their variants cost on this CPU.
//!
//! In: the options. Out: tables, charts and a page, or the machine's record as JSON or comma-separated values. `plan` says what is
//! measured, and `predict` what more threads would get.

mod plan;
mod predict;

use crate::args::bench::{Bench, BenchFormat};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::{INTERRUPTED, Interrupts};
use crate::cmd::page::Page;
use crate::cmd::terminal::width_of_terminal;
use crate::output::complaints::complaints;
use crate::render::bench;
use crate::render::style::Palette;
use crate::system_error::error_text;
use deburr_core::rule;
use deburr_lab::bench::evidence;
use deburr_lab::bench::record::BenchRecord;
use deburr_text::ShownPath as _;
use plan::{Failed, Plan, chosen};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Runs the verb.
pub(super) fn run(options: &Bench, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let kernels = chosen(&options.names)?;
    let palette = Palette::new(color);
    if options.list {
        bench::list(out, &kernels, palette)?;
        return Ok(ExitCode::SUCCESS);
    }
    for (is_wanted, option) in [(options.chart, "--chart"), (options.evidence, "--evidence")] {
        if is_wanted && options.printed() != BenchFormat::Text {
            return Err(Failure::Message(format!("{option}: only --format text has that")));
        }
    }
    let other = options.compare_with.as_deref().map(read).transpose()?;
    let page = Page::open(options.page().map_err(Failure::Message)?.as_deref(), &inputs(options))
        .map_err(Failure::Message)?;
    // A page that goes to the standard output has it for itself.
    let mut errors = palette.plain(std::io::stderr());
    let out: &mut dyn Write = if page.as_ref().is_some_and(Page::is_stdout) { &mut errors } else { out };
    if let Some(path) = &options.show {
        let record = read(path)?;
        written(page, &record)?;
        return print(out, &record, other.as_ref(), options, palette).map(|()| ExitCode::SUCCESS);
    }
    let host = deburr_cpu::host().map_err(|error| Failure::Message(format!("bench: {error}")))?;
    let interrupts = Interrupts::heed().map_err(|error| Failure::Message(format!("signals: {error}")))?;
    let plan = Plan::of(options, &kernels)?;
    let (record, failed) = plan.measure(&host, &interrupts, options.progress)?;
    written(page, &record)?;
    print(out, &record, other.as_ref(), options, palette)?;
    for Failed { kernel, error } in &failed {
        let _ = writeln!(complaints(), "deburr: bench: {kernel}: {error}");
    }
    Ok(match (record.is_interrupted, failed.is_empty()) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(2),
    })
}

/// A record of another time or machine.
pub(super) fn read(path: &Path) -> Result<BenchRecord, Failure> {
    let complain = |reason: &dyn std::fmt::Display| Failure::Message(format!("{}: {reason}", path.shown()));
    let text = fs::read_to_string(path).map_err(|error| complain(&error_text(&error)))?;
    BenchRecord::parse(&text).map_err(|error| complain(&error))
}

fn print(
    out: &mut dyn Write,
    record: &BenchRecord,
    other: Option<&BenchRecord>,
    options: &Bench,
    palette: Palette,
) -> Result<(), Failure> {
    let predicted = predict::forecast(record, &options.predict);
    let mut plain;
    let out: &mut dyn Write = match options.printed() {
        BenchFormat::Json | BenchFormat::Csv => out,
        BenchFormat::Text | BenchFormat::Html => {
            plain = palette.plain(out);
            &mut plain
        }
    };
    match (options.printed(), other) {
        (BenchFormat::Json, _) => {
            writeln!(out, "{}", predict::document(record, predicted.as_ref().ok())?)?;
        }
        (BenchFormat::Csv, _) => bench::csv(out, record)?,
        (BenchFormat::Text | BenchFormat::Html, None) => bench::text(out, record, palette)?,
        (BenchFormat::Text | BenchFormat::Html, Some(other)) => {
            bench::side_by_side(out, record, other, palette)?
        }
    }
    if options.chart {
        bench::charts(out, record, width_of_terminal(), palette)?;
    }
    if options.printed() == BenchFormat::Text {
        let rules: Vec<&rule::Rule> = options.names.iter().filter_map(|name| rule::find(name)).collect();
        bench::sentences(out, record, &rules, palette)?;
    }
    if options.evidence {
        bench::evidence(out, &evidence::shapes(record), palette)?;
    }
    predict::conclude(out, predicted, options.printed(), palette)
}

/// The files that a run reads.
fn inputs(options: &Bench) -> Vec<&Path> {
    [&options.show, &options.compare_with].into_iter().flatten().map(|path| path.as_path()).collect()
}

fn written(page: Option<Page>, record: &BenchRecord) -> Result<(), Failure> {
    let Some(page) = page else { return Ok(()) };
    page.write(|out| bench::page(out, record)).map_err(Failure::Message)
}
