//! `deburr record`: a command, or processes that run → a profile for `deburr check --profile`.
//!
//! In: the options. Out: the profile in its file, one line on the standard error that says what is in it, and the exit status of
//! the command. What runs perf is `deburr_lab::profiling`; perf writes to a temporary file, which gets its name once it is whole.

pub(super) mod advice;

use crate::args::record::{CallGraph, Record};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::{INTERRUPTED, Interrupts};
use crate::output::Output;
use crate::output::temporary::TemporaryFile;
use crate::system_error::error_text;
use crate::text::number::{counted, grouped};
use deburr_lab::measure::process::{End, adopt};
use deburr_lab::profiling::event::Sampled;
use deburr_lab::profiling::perf::{Perf, Recorded, Recording, Subject};
use deburr_profile::Profile;
use deburr_text::ShownPath as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the verb.
pub(super) fn run(options: &Record, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
    recorded(options, complaints).map_err(|text| Failure::Message(format!("record: {text}")))
}

fn recorded(options: &Record, complaints: &mut dyn Write) -> Result<ExitCode, String> {
    let perf = Perf::find().ok_or_else(advice::no_perf)?;
    let subject = subject(options)?;
    let chosen = match options.event.as_slice() {
        [] => Some(Sampled::best().map_err(advice::not_permitted)?),
        _ => None,
    };
    let recording = Recording {
        events: chosen.map_or_else(|| options.event.clone(), |sampled| vec![sampled.name()]),
        frequency: options.frequency,
        call_graph: options.call_graph.mode(),
    };
    let fault = |error: io::Error| format!("perf: {}", error_text(&error));
    // What the user wants may be more than perf or the machine can do: better known before the command runs.
    if chosen.is_none() || !matches!(options.call_graph, CallGraph::Fp | CallGraph::None) {
        perf.rehearse(&recording).map_err(fault)?.map_err(|said| advice::refused(&said))?;
    }
    let place = Place::open(options)?;
    let interrupts = Interrupts::heed().map_err(|error| format!("signals: {error}"))?;
    // Where the system has no such thing, what a command leaves running is not known.
    let _ = adopt();
    let ended = perf.record(&recording, &subject, place.path(), &interrupts.stop).map_err(fault)?;
    let read = File::open(place.path()).map_err(|error| error_text(&error)).and_then(|mut file| {
        deburr_profile::read(&mut file, &deburr_profile::Request::default())
            .map_err(|error| error.to_string())
    });
    match read {
        Ok(profile) => {
            let is_file = place.elsewhere.is_none();
            place.keep()?;
            let why = chosen.map(advice::why).unwrap_or_default();
            let next = is_file.then(|| advice::next(&options.output, &hottest(&profile)));
            say(complaints, options, &ended, &profile, &(why + &next.unwrap_or_default()));
        }
        // A perf that is newer than the reader.
        Err(reason) if ended.end == End::Status(0) => {
            place.keep()?;
            let name = options.output.shown();
            let _ = writeln!(complaints, "deburr: {name}: recorded, and deburr cannot read it: {reason}");
        }
        Err(reason) => {
            let said = match ended.end {
                End::Status(_) if ended.said.is_empty() && !ended.is_stopped => {
                    perf.rehearse(&recording).ok().and_then(Result::err).unwrap_or_default()
                }
                _ => ended.said.clone(),
            };
            return Err(advice::failed(&ended, &said, &reason) + &advice::foreign(&options.pid));
        }
    }
    Ok(status(&subject, &ended))
}

/// What is recorded, once it is known to be there: perf itself would be too quiet.
fn subject(options: &Record) -> Result<Subject, String> {
    let gone = |pid: &&u32| !Path::new(&format!("/proc/{pid}")).exists();
    if let Some(pid) = options.pid.iter().find(gone) {
        return Err(format!("--pid {pid}: no such process"));
    }
    if let Some(program) = options.command.first() {
        advice::found(program)?;
        return Ok(Subject::Command(options.command.clone()));
    }
    let duration = options.duration.map(|seconds| Duration::from_secs(seconds.into()));
    Ok(Subject::Processes { pids: options.pid.clone(), duration })
}

/// Where the profile goes, and where perf writes it meanwhile.
struct Place {
    output: Output,
    /// Where the output has no file of its own to be renamed.
    elsewhere: Option<(TemporaryFile, PathBuf)>,
}

impl Place {
    fn open(options: &Record) -> Result<Place, String> {
        // The command may read the files that its words name.
        let words = options.command.iter().map(Path::new);
        let inputs: Vec<&Path> = words.filter(|path| path.is_file()).collect();
        let output = Output::open(&options.output, &inputs)?;
        let elsewhere = match output.unfinished() {
            Some(_) => None,
            None => {
                let folder = std::env::temp_dir();
                let made = TemporaryFile::next_to(&folder.join("perf.data"), 0o600);
                let made = made.map_err(|error| format!("{}: {}", folder.shown(), error_text(&error)))?;
                let path = made.path().to_owned();
                Some((made, path))
            }
        };
        Ok(Place { output, elsewhere })
    }

    fn path(&self) -> &Path {
        let elsewhere = self.elsewhere.as_ref().map(|(_, path)| path.as_path());
        elsewhere.or_else(|| self.output.unfinished()).unwrap_or(Path::new(""))
    }

    fn keep(mut self) -> Result<(), String> {
        if let Some((_, path)) = &self.elsewhere {
            let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut self.output));
            copied.map_err(|error| error.to_string())?;
        }
        self.output.finish()
    }
}

/// That of the command, as a shell has it. Recording a process that runs is ended by a signal mostly.
fn status(subject: &Subject, ended: &Recorded) -> ExitCode {
    let status = match (subject, ended.end) {
        (Subject::Processes { .. }, _) => 0,
        (_, End::Status(status)) => status,
        // perf ends the command by another signal than the one that it got.
        (_, End::Signal(_)) if ended.is_stopped => i32::from(INTERRUPTED),
        (_, End::Signal(signal)) => 128 + signal,
        (_, End::TimedOut | End::Interrupted) => 2,
    };
    ExitCode::from(u8::try_from(status).unwrap_or(2))
}

/// What was recorded, and what to know of it.
fn say(complaints: &mut dyn Write, options: &Record, ended: &Recorded, profile: &Profile, rest: &str) {
    let samples: u64 = profile.events.iter().map(|event| event.total.samples).sum();
    let mut notes = Vec::new();
    if samples == 0 {
        notes.push("no samples: it did not run for long, or waited; --frequency HZ takes more".to_owned());
    }
    if profile.lost.records > 0 {
        let lost = counted(profile.lost.records, "record");
        notes.push(format!("perf lost {lost}, which it had no room for; a lower --frequency loses fewer"));
    }
    if profile.lost.throttled > 0 {
        let times = counted(profile.lost.throttled, "time");
        notes.push(format!(
            "the kernel took fewer samples than it was to, {times}; a lower --frequency avoids that"
        ));
    }
    if let Some(left) = advice::left(&ended.left) {
        let pids: Vec<String> = ended.left.iter().map(|(pid, _)| pid.to_string()).collect();
        notes.push(format!("{left}, and recorded no more: deburr record --pid {} does", pids.join(",")));
    }
    for note in notes {
        let _ = writeln!(complaints, "deburr: note: {note}");
    }
    let names: Vec<&str> = profile.events.iter().map(|event| event.name.as_str()).collect();
    let names = if names.is_empty() { options.event.join(" and ") } else { names.join(" and ") };
    let noun = if samples == 1 { "sample" } else { "samples" };
    let samples = grouped(samples);
    let _ = writeln!(complaints, "deburr: {}: {samples} {noun} of {names}{rest}", options.output.shown());
}

/// The file with most samples that is there.
fn hottest(profile: &Profile) -> String {
    let samples = |object: &deburr_profile::Object| -> u64 {
        object.leaves.iter().map(|leaf| leaf.tally.samples).sum()
    };
    let there =
        profile.objects.iter().filter(|object| samples(object) > 0 && Path::new(&object.path).is_file());
    there.max_by_key(|object| samples(object)).map_or_else(|| "FILE".to_owned(), |object| object.path.clone())
}
