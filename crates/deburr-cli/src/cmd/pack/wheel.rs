//! `deburr pack wheel`: a build command and levels, or a wheel for each level → variant wheels and their index.
//!
//! In: the options. Out: the wheels; on the standard error what happens, and a report in text or JSON.

use super::build::{heeded, place, watched};
use super::terms::Stated;
use super::watch::Watcher;
use crate::args::format::Format;
use crate::args::pack::wheel::{Fallback as FallbackOption, Schema, Wheel};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::INTERRUPTED;
use deburr_cpu::Target;
use deburr_pack::build::BuildRequest;
use deburr_pack::record::State;
use deburr_pack::wheel::{
    Fallback, LeftOut, LevelWheel, WheelRequest, WrittenWheels, built, rank, write_wheels,
};
use deburr_package::wheel::{VariantSchema, ZipTime};
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The version of the report's form.
const SCHEMA_VERSION: u32 = 1;

/// Runs the step.
pub(super) fn run(options: &Wheel, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let time = time().map_err(Failure::Message)?;
    let stated = Stated::read(&options.checking).map_err(Failure::Message)?;
    let BuiltWheels { wheels, mut left_out } = if options.variants.is_empty() {
        match built_wheels(options, &stated)? {
            Some(found) => found,
            None => return Ok(ExitCode::from(INTERRUPTED)),
        }
    } else {
        let is_believed = options.checking.no_check;
        let wheels = options.variants.iter().map(|variant| named_wheel(variant, is_believed));
        let wheels = wheels.collect::<Result<Vec<_>, _>>().map_err(Failure::Message)?;
        BuiltWheels { wheels, left_out: Vec::new() }
    };
    let request = WheelRequest {
        wheels,
        schema: match options.schema {
            Schema::First => VariantSchema::V0_1_1,
            Schema::Second => VariantSchema::V0_2_0,
        },
        fallback: match options.fallback {
            FallbackOption::Both => Fallback::Both,
            FallbackOption::Null => Fallback::Null,
            FallbackOption::Plain => Fallback::Plain,
        },
        keep: options.keep,
        output: options.output.clone(),
        time,
    };
    let mut written =
        write_wheels(&request, &stated.terms()).map_err(|error| Failure::Message(error.to_string()))?;
    left_out.append(&mut written.left_out);
    written.left_out = left_out;
    match options.format {
        Format::Text => text(out, &written, &options.output)?,
        Format::Json => {
            let report = Report { schema_version: SCHEMA_VERSION, written: &written };
            serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    let is_whole = !written.left_out.iter().any(|it| it.is_fault);
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The report in JSON.
#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    #[serde(flatten)]
    written: &'a WrittenWheels,
}

/// A level that a variant has a property for.
fn level(option: &str, name: &str) -> Result<Target, String> {
    let target = Target::parse(name)
        .map_err(|error| format!("{option} {name}: {error} (`deburr cpu` lists the names)"))?;
    rank(&target).map_err(|error| format!("{option} {error}"))?;
    Ok(target)
}

/// A wheel that was built elsewhere, and its level.
fn named_wheel(variant: &str, is_believed: bool) -> Result<LevelWheel, String> {
    let Some((name, wheel)) = variant.split_once('=').filter(|(_, wheel)| !wheel.is_empty()) else {
        return Err(format!("--variant {variant}: expected LEVEL=WHEEL, such as x86-64-v3=dist/x-1.0-….whl"));
    };
    Ok(LevelWheel { target: level("--variant", name)?, path: PathBuf::from(wheel), is_checked: is_believed })
}

/// A wheel for each level, and the levels that have none.
struct BuiltWheels {
    wheels: Vec<LevelWheel>,
    left_out: Vec<LeftOut>,
}

/// The wheels that the command made; `None` where the build was interrupted.
fn built_wheels(options: &Wheel, stated: &Stated) -> Result<Option<BuiltWheels>, Failure> {
    let targets = options.levels.iter().map(|name| level("--levels", name));
    let targets = targets.collect::<Result<Vec<_>, _>>().map_err(Failure::Message)?;
    let (source, folder) = place(options.source.as_deref()).map_err(Failure::Message)?;
    let request = BuildRequest {
        targets: targets.clone(),
        command: options.command.clone(),
        source,
        folder,
        pack: options.pack.clone(),
        take: Vec::new(),
        wheel: Some(options.output.clone()),
        fresh: options.fresh,
        no_check: options.checking.no_check,
    };
    let interrupts = heeded()?;
    let watcher = Watcher::new(&interrupts, options.quiet);
    let Some(record) = watched(&request, stated, &watcher)? else { return Ok(None) };
    let (mut wheels, mut left_out) = (Vec::new(), Vec::new());
    for (variant, target) in record.variants.iter().zip(targets) {
        let reason = match variant.state {
            State::Done => {
                let path = built(&options.pack, &variant.level)
                    .map_err(|(path, error)| Failure::Message(format!("{}: {error}", path.shown())))?;
                wheels.push(LevelWheel { target, path, is_checked: true });
                continue;
            }
            State::Failed => "its build failed or did not end",
            State::Rejected => "rejected: its code is not what its level says",
        };
        left_out.push(LeftOut { level: variant.level.clone(), reason: reason.to_owned(), is_fault: true });
    }
    Ok(Some(BuiltWheels { wheels, left_out }))
}

/// The time of all files (reproducible-builds.org, "SOURCE_DATE_EPOCH").
fn time() -> Result<ZipTime, String> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text
            .parse()
            .map(ZipTime::from_unix)
            .map_err(|_| format!("SOURCE_DATE_EPOCH={text}: expected a number of seconds since 1970")),
        Err(std::env::VarError::NotPresent) => Ok(ZipTime::from_unix(0)),
        Err(error) => Err(format!("SOURCE_DATE_EPOCH: {error}")),
    }
}

fn text(out: &mut dyn Write, written: &WrittenWheels, output: &Path) -> io::Result<()> {
    for wheel in &written.wheels {
        writeln!(out, "{:<16} {}", wheel.level, output.join(&wheel.file).shown())?;
    }
    if let Some(index) = &written.index {
        writeln!(out, "{:<16} {}", "index", output.join(index).shown())?;
    }
    for LeftOut { level, reason, .. } in &written.left_out {
        writeln!(out, "{level:<16} left out: {}", deburr_text::one_line(reason))?;
    }
    for note in &written.notes {
        writeln!(out, "{note}")?;
    }
    if written.wheels.is_empty() {
        writeln!(out, "{}: nothing was written", output.shown())?;
    }
    Ok(())
}
