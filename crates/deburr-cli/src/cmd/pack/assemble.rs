//! `deburr pack assemble`: variants → one tree, and what became of each file.
//!
//! In: the options. Out: the tree, and a report in text or JSON.

use super::terms::Stated;
use crate::args::format::Format;
use crate::args::pack::assemble::Assemble;
use crate::args::pack::checking::Checking;
use crate::args::pack::layout::Kind;
use crate::cmd::failure::Failure;
use crate::cmd::progress::LiveLine;
use crate::output::complaints::complaints;
use deburr_cpu::Target;
use deburr_pack::assemble::{
    Assembled, Laid, Mechanism, Request, Source, assemble_single, assemble_watched, check_sources,
};
use deburr_pack::record::{CheckRecord, Record, State};
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs the step.
pub(super) fn run(options: &Assemble, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let mut request = request(options).map_err(Failure::Message)?;
    let is_checked = !options.checking.no_check;
    if !options.variants.is_empty() {
        match is_checked {
            true => check(&mut request, &options.checking)?,
            false => request.sources.iter_mut().for_each(|source| {
                source.check = Some(CheckRecord { left_out: true, ..CheckRecord::default() });
            }),
        }
    }
    if let Some(program) = &options.layout.single_file {
        return single(options, &request, program, out);
    }
    let assembled = {
        let live = LiveLine::new(true);
        let mut comparing = |path: &Path| {
            let line = live.as_ref();
            line.iter()
                .for_each(|live| live.show("comparing interfaces".to_owned(), path.shown().to_string()));
        };
        assemble_watched(&request, &options.output, &mut comparing)
            .map_err(|error| Failure::Message(error.to_string()))?
    };
    match options.format {
        Format::Text => {
            text(out, &assembled, &options.output)?;
            if !is_checked {
                writeln!(out, "not checked: whether the trees are what their levels say")?;
            }
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &Report { assembled: &assembled, checked: is_checked })
                .map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes one file, and what is in it.
fn single(
    options: &Assemble,
    request: &Request,
    program: &Path,
    out: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let laid = assemble_single(request, program, &options.output)
        .map_err(|error| Failure::Message(error.to_string()))?;
    let checked = !options.checking.no_check;
    match options.format {
        Format::Text => {
            let size = std::fs::metadata(&laid.path)?.len();
            writeln!(out, "{}: {}, {size} bytes", laid.path.shown(), laid.levels.join(", "))?;
            if !checked {
                writeln!(out, "not checked: whether the trees are what their levels say")?;
            }
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &SingleReport { laid: &laid, checked })
                .map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The report on one file in JSON.
#[derive(Serialize)]
struct SingleReport<'a> {
    #[serde(flatten)]
    laid: &'a Laid,
    checked: bool,
}

/// The report in JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    assembled: &'a Assembled,
    /// Whether the trees were compared with their levels, here or by the build.
    checked: bool,
}

/// How often a check of many files says how far it is.
const PROGRESS: Duration = Duration::from_secs(5);

/// Refuses trees that are not what their levels say, and mentions those without an instruction of their level and what is not decided.
fn check(request: &mut Request, options: &Checking) -> Result<(), Failure> {
    let stated = Stated::read(options).map_err(Failure::Message)?;
    // The report may be read by a program; these lines are for whoever packs.
    let say = |line: String| drop(writeln!(complaints(), "deburr: {line}"));
    let mut said = Instant::now();
    if let Some(line) = stated.in_force() {
        say(line);
    }
    let sound = check_sources(request, &stated.terms(), &mut |level, done, all| {
        if said.elapsed() >= PROGRESS {
            said = Instant::now();
            say(format!("{level}: {done} of {all} files checked"));
        }
    });
    let sound = sound.map_err(|error| Failure::Message(error.to_string()))?;
    for (level, below) in sound.nothing_above {
        say(format!("{level}: no instruction needs more than {below}"));
    }
    for (source, check) in request.sources.iter_mut().zip(sound.checks) {
        check.believed().iter().for_each(|line| say(format!("{}: {line}", source.level)));
        source.check = Some(check);
    }
    Ok(())
}

fn request(options: &Assemble) -> Result<Request, String> {
    let mut request = Request {
        prefix: options.layout.prefix.clone(),
        is_shared: options.layout.kind == Kind::Shared,
        place: options.layout.place.clone(),
        is_selected: options.layout.select,
        is_split: options.layout.split,
        is_unproven_accepted: options.layout.unproven_types,
        by_name: options.layout.by_name.clone(),
        by_loader: options.layout.by_loader.clone(),
        ..Request::default()
    };
    if let Some(folder) = &options.pack {
        let record = Record::read(folder).map_err(|error| error.to_string())?;
        for variant in &record.variants {
            let reason = match variant.state {
                State::Done => {
                    let source = source(&variant.level, folder.join(&variant.tree))?;
                    request.sources.push(Source { check: variant.check.clone(), ..source });
                    continue;
                }
                State::Failed => "its build failed or did not end",
                State::Rejected => "it is not what its level says",
            };
            // The report may be read by a program; this is for whoever packs.
            let _ = writeln!(complaints(), "deburr: {}: left out: {reason}", variant.level);
        }
        request.command = record.command;
        request.measured = record.measured;
        if options.layout.keep {
            request.measured.iter_mut().for_each(|measured| measured.without_gain.clear());
        }
    }
    for variant in &options.variants {
        let Some((level, tree)) = variant.split_once('=').filter(|(_, tree)| !tree.is_empty()) else {
            return Err(format!("--variant {variant}: expected LEVEL=TREE, such as x86-64-v3=build/v3"));
        };
        request.sources.push(source(level, PathBuf::from(tree))?);
    }
    Ok(request)
}

fn source(level: &str, tree: PathBuf) -> Result<Source, String> {
    let target =
        Target::parse(level).map_err(|error| format!("{level}: {error} (`deburr cpu` lists the names)"))?;
    Ok(Source { level: level.to_owned(), arch: target.arch, features: target.features, tree, check: None })
}

fn text(out: &mut dyn Write, assembled: &Assembled, output: &Path) -> std::io::Result<()> {
    for laid in &assembled.laid {
        let mechanism = match laid.mechanism {
            Mechanism::Launcher => "launcher",
            Mechanism::Loader => "dynamic loader",
            Mechanism::Table => "table, for deburr_select",
            Mechanism::Tree => "in the tree of each level",
        };
        writeln!(out, "{}: {} ({mechanism})", laid.path.shown(), laid.levels.join(", "))?;
    }
    // One line for each text: half of a tree may have the same.
    let mut by_text: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for remark in &assembled.remarks {
        by_text.entry(&remark.text).or_default().push(&remark.path);
    }
    for (text, paths) in by_text {
        match paths.len() - 1 {
            0 => writeln!(out, "{}: {text}", paths[0].shown())?,
            more => writeln!(out, "{} and {more} more: {text}", paths[0].shown())?,
        }
    }
    for level in &assembled.dropped {
        writeln!(out, "{level}: left out, because it gained nothing on any CPU that was measured")?;
    }
    for package in &assembled.packages {
        writeln!(out, "{}: a package", output.join(package).shown())?;
    }
    let several = assembled.laid.len();
    writeln!(
        out,
        "{}: {several} file{} of several variants, {} copied",
        output.shown(),
        if several == 1 { "" } else { "s" },
        assembled.copied
    )
}
