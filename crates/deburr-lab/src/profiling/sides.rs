//! Profiling stage: where A and B spend their time.
//!
//! In: an experiment, apart from whose runs its commands run once more, under perf. Out: a profile of each side, of as many runs as
//! give enough samples.

use super::perf::{Perf, Recording};
use crate::measure::bench::{tail, told_side};
use crate::measure::experiment::{Experiment, Failure};
use crate::measure::process::{self, End, Streams, Task};
use crate::measure::stop::Stop;
use crate::readers::profile::Profile;
use crate::side::Side;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Samples of a side that are enough: the share of a function has a standard error of about one point at most.
const ENOUGH: u64 = 2000;
/// Runs of a side at most.
const MOST_RUNS: usize = 10;
/// No run begins after so long.
const LONGEST: Duration = Duration::from_secs(20);

/// Records both sides; `None`: somebody wanted to stop.
///
/// # Errors
/// What went wrong, and in which run.
pub fn sides(
    perf: &Perf,
    recording: &Recording,
    experiment: &Experiment,
    stop: &Stop,
) -> Result<Option<[Profile; 2]>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("a folder for profiles: {error}"))?;
    // A file of its own for each, so that none is taken for the other's.
    let profile = |side: Side| {
        let output = folder.path().join(format!("{side}.data"));
        one(perf, recording, (experiment, side), &output, stop)
    };
    let Some(a) = profile(Side::A)? else { return Ok(None) };
    Ok(profile(Side::B)?.map(|b| [a, b]))
}

fn one(
    perf: &Perf,
    recording: &Recording,
    (experiment, side): (&Experiment, Side),
    output: &Path,
    stop: &Stop,
) -> Result<Option<Profile>, String> {
    let task = perf.recorded(recording, &experiment.tasks[side.index()], output);
    let prepare = experiment.prepare.clone().map(|task| told_side(task, side));
    let began = Instant::now();
    let (mut all, mut why): (Option<Profile>, _) = (None, String::new());
    for _ in 0..MOST_RUNS {
        if let Some(prepare) = &prepare
            && !ran(prepare, &format!("what prepares a run of {side} under perf"), false, stop)?
        {
            return Ok(None);
        }
        // What an earlier run left must not count twice where this one records nothing.
        let _ = fs::remove_file(output);
        if !ran(&task, &format!("a run of {side} under perf"), experiment.ignores_failure, stop)? {
            return Ok(None);
        }
        let read = perf.functions(output).map_err(|error| format!("perf script: {error}"))?;
        // A run that is too short for a sample is no fault yet.
        match (&mut all, read) {
            (Some(all), Ok(profile)) => all.merge(profile),
            (None, Ok(profile)) => all = Some(profile),
            (_, Err(error)) => why = error.to_string(),
        }
        let samples = all.as_ref().map_or(0, |profile| profile.total().samples);
        if samples >= ENOUGH || began.elapsed() >= LONGEST {
            break;
        }
    }
    all.map(Some).ok_or_else(|| format!("perf has no sample of {side}; are its runs too short? ({why})"))
}

/// Runs a task; `false`: somebody wanted to stop.
fn ran(task: &Task, what: &str, may_fail: bool, stop: &Stop) -> Result<bool, String> {
    let fault = |error: io::Error| format!("{what}: {error}");
    let output = OpenOptions::new().write(true).open("/dev/null").map_err(fault)?;
    let mut errors = tempfile::tempfile().map_err(fault)?;
    let (end, _) = process::run(task, Streams { output: &output, errors: &errors }, stop).map_err(fault)?;
    match end {
        End::Status(0) => Ok(true),
        End::Status(_) if may_fail => Ok(true),
        End::Interrupted => Ok(false),
        end => Err(Failure::Run { what: what.to_owned(), end, text: tail([&mut errors]) }.to_string()),
    }
}
