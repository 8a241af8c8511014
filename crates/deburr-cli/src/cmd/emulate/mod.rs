//! `deburr try`: a command and a CPU → what happens when the command runs there.
//!
//! In: the options. Out: a report on the standard output, a record where one is wanted, and the exit status. The engine that runs
//! commands and reads qemu's log is `deburr_lab::emulate`.

mod command;
mod files;

use crate::args::emulate::Emulate;
use crate::args::format::Format;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::{INTERRUPTED, Interrupts};
use crate::cmd::terminal::width_of_terminal;
use crate::names::machines_named;
use crate::output::Output;
use crate::output::complaints::complaints;
use crate::product::try_record::{SCHEMA_VERSION, TriedCpu, TriedFile, TriedRun, TryRecord};
use crate::render::emulate::{self, EmulateLayout};
use crate::render::style::Palette;
use crate::system_error::error_text;
use deburr_cpu::{Arch, FeatureSet, Target};
use deburr_lab::emulate::cpu;
use deburr_lab::emulate::run::{self, EmulatedCpu, EmulationError, Job, Trace};
use deburr_lab::measure::process::End;
use deburr_text::ShownPath as _;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Where Debian has the libraries of AArch64 for other machines.
const CROSS_ROOT: &str = "/usr/aarch64-linux-gnu";
/// Columns of a line where the output is no terminal.
const LONGEST_LINE: usize = 160;
/// The signal of an instruction that the CPU does not have.
const SIGILL: i32 = 4;

/// Runs the verb.
pub(super) fn run(options: &Emulate, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let message = |text: String| Failure::Message(format!("try: {text}"));
    let mut targets =
        machines_named("--cpu", std::slice::from_ref(&options.cpu)).map_err(Failure::Message)?;
    let Some(target) = targets.pop() else { return Err(message("--cpu: no name".to_owned())) };
    let earlier = earlier(options).map_err(Failure::Message)?;
    let resolved = command::resolve(&options.command, target.arch, &options.cpu).map_err(message)?;
    let mut complaints = complaints();
    for note in &resolved.notes {
        let _ = writeln!(complaints, "deburr: note: {note}");
    }
    // The command may read the files that its words name.
    let inputs: Vec<&Path> = options.command.iter().map(Path::new).filter(|path| path.is_file()).collect();
    let kept = options.record.as_deref().map(|path| Output::open(path, &inputs));
    let kept = kept.transpose().map_err(Failure::Message)?;
    let interrupts = Interrupts::heed().map_err(|error| message(format!("signals: {error}")))?;
    let emulated = EmulatedCpu::find(target.arch, target.cpu(), target.features)
        .map_err(|error| message(explained(&error, &target)))?;
    let job = Job {
        words: resolved.words,
        root: root(options, target.arch),
        timeout: options.timeout.map(|seconds| Duration::from_secs(seconds.into())),
    };
    let trace =
        run::run(&emulated, &job, &interrupts.stop).map_err(|error| message(explained(&error, &target)))?;
    // From here on a signal ends this process at once, as does one that came too late for the command.
    let stop = interrupts.stop.clone();
    drop(interrupts);
    if stop.is_wanted() && trace.end != End::Interrupted {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let executable = cpu::executable(target.arch, emulated.shown, target.features);
    let analysed = files::analyse(&trace, &target, executable);
    let record = TryRecord {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        cpu: tried_cpu(&target, &emulated),
        runs: vec![tried_run(options, &trace, analysed.not_analysed)],
        files: analysed.files,
    };
    match options.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &record).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Format::Text => {
            let layout = EmulateLayout {
                palette: Palette::new(color),
                width: if io::stdout().is_terminal() { width_of_terminal() } else { Some(LONGEST_LINE) },
                verbose: options.verbose,
            };
            emulate::write(out, &record, &layout)?;
        }
    }
    let status = status(&trace, &record);
    if let Some(output) = kept {
        keep(output, earlier, record).map_err(Failure::Message)?;
    }
    Ok(status)
}

/// The record that this run is added to.
fn earlier(options: &Emulate) -> Result<Option<TryRecord>, String> {
    match &options.record {
        Some(path) if options.append && path.exists() => TryRecord::read(path).map(Some),
        _ => Ok(None),
    }
}

fn keep(mut output: Output, earlier: Option<TryRecord>, record: TryRecord) -> Result<(), String> {
    let whole = match earlier {
        Some(mut whole) => {
            whole.add(record)?;
            whole
        }
        None => record,
    };
    let mut text = serde_json::to_vec_pretty(&whole).map_err(|error| error.to_string())?;
    text.push(b'\n');
    output.write_all(&text).map_err(|error| error.to_string())?;
    output.finish()
}

/// 0: nothing was executed that the CPU does not have. 1: something was, or it died of it, or refused to start. 2: nothing
/// was tried.
fn status(trace: &Trace, record: &TryRecord) -> ExitCode {
    let executed = |file: &TriedFile| file.functions.iter().any(|function| function.entered.executed > 0);
    let has_died = trace.end == End::Signal(SIGILL) || trace.traps.iter().any(|trap| trap.deaths > 0);
    let has_refused = record.files.iter().any(|file| file.refused.is_some());
    match trace.end {
        End::Interrupted => ExitCode::from(INTERRUPTED),
        _ if has_died || has_refused || record.files.iter().any(executed) => ExitCode::from(1),
        _ if trace.is_left || trace.blocks == 0 => ExitCode::from(2),
        _ => ExitCode::SUCCESS,
    }
}

fn root(options: &Emulate, arch: Arch) -> Option<PathBuf> {
    let own = if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 };
    let cross = PathBuf::from(CROSS_ROOT);
    options.root.clone().or_else(|| (arch == Arch::Aarch64 && own != arch && cross.is_dir()).then_some(cross))
}

fn names(features: FeatureSet) -> Vec<String> {
    features.iter().map(|feature| feature.name().to_owned()).collect()
}

fn tried_cpu(target: &Target, emulated: &EmulatedCpu) -> TriedCpu {
    let system = deburr_cpu::system_features(target.arch);
    TriedCpu {
        name: target.name.clone(),
        arch: target.arch.name().to_owned(),
        model: emulated.spec.clone(),
        qemu: emulated.version.clone(),
        besides: names(emulated.shown.minus(target.features).minus(system)),
        lacks: names(cpu::visible(target.features).minus(emulated.shown).minus(system)),
    }
}

fn tried_run(
    options: &Emulate,
    trace: &Trace,
    not_analysed: std::collections::BTreeMap<String, String>,
) -> TriedRun {
    let elsewhere = trace.traps.iter().filter(|trap| trap.place.is_none());
    TriedRun {
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        end: trace.end,
        blocks: trace.blocks,
        blocks_elsewhere: trace.blocks_elsewhere,
        traps_elsewhere: elsewhere.map(|trap| trap.count).sum(),
        native: trace.natives.clone(),
        is_left: trace.is_left,
        unseen: trace.unseen,
        not_analysed,
        is_truncated: trace.is_truncated,
    }
}

fn explained(error: &EmulationError, target: &Target) -> String {
    match error {
        EmulationError::NoQemu(name) => {
            format!("{name} is not installed; it is in the package qemu-user (apt-get install qemu-user)")
        }
        EmulationError::Qemu(path, error) => format!("{}: {}", path.shown(), error_text(error)),
        EmulationError::Lacks(features, version) => {
            let names = names(*features).join(", ");
            format!(
                "--cpu {target}: qemu {version} emulates no CPU with {names}; a run would be one as a lower level. Name that level instead"
            )
        }
        EmulationError::Log(error) => format!("qemu's log: {}", error_text(error)),
        EmulationError::Start(error) => format!("qemu: {}", error_text(error)),
        _ => "it could not be emulated".to_owned(),
    }
}
