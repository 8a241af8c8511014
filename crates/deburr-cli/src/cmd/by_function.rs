//! Profiles of two sides → what each function took of a run.
//!
//! In: a profile of A and of B, or the experiment to record them of, and the pairs that were measured. Out: a [`ByFunction`] for
//! the renderers. A function is the same on both sides where its name is, and that of its file; the program may have a name of
//! its own on each side.

use crate::cmd::record::advice;
use crate::render::by_function::ByFunction;
use deburr_core::diff::plain_name;
use deburr_lab::comparison::functions::{FunctionName, UnlikeProfiles, function_times};
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::stop::Stop;
use deburr_lab::profiling::event::Sampled;
use deburr_lab::profiling::perf::{Perf, Recording};
use deburr_lab::profiling::sides::sides;
use deburr_lab::readers::profile::{Profile, ProfiledFunction};
use deburr_lab::side::Side;
use std::collections::BTreeMap;

/// Samples a second: runs may be short.
const FREQUENCY: u32 = 3999;

/// What samples both sides of an experiment.
#[derive(Debug)]
pub(super) struct Sampler {
    perf: Perf,
    recording: Recording,
}

impl Sampler {
    /// The best that there is here.
    pub(super) fn find() -> Result<Sampler, String> {
        let perf = Perf::find().ok_or_else(advice::no_perf)?;
        let event = Sampled::best().map_err(advice::not_permitted)?.name();
        Ok(Sampler {
            perf,
            recording: Recording { events: vec![event], frequency: FREQUENCY, call_graph: None },
        })
    }

    /// Runs both sides once more. `None`: somebody wanted to stop.
    pub(super) fn sample(
        &self,
        experiment: &Experiment,
        pairs: &[Pair],
        stop: &Stop,
    ) -> Result<Option<ByFunction>, String> {
        let Some([a, b]) = sides(&self.perf, &self.recording, experiment, stop)? else { return Ok(None) };
        compare_profiles([&a, &b], pairs).map(Some).map_err(|_| "profiles of different kinds".to_owned())
    }
}

/// What each function took on both sides.
///
/// # Errors
/// [`UnlikeProfiles`].
pub(super) fn compare_profiles(
    profiles: [&Profile; 2],
    pairs: &[Pair],
) -> Result<ByFunction, UnlikeProfiles> {
    // Where no sample is in the kernel, it was not sampled, or took nothing.
    let has_kernel = profiles.iter().any(|profile| profile.kernel.samples > 0);
    let times = [Side::A, Side::B].map(|side| {
        let usages = pairs.iter().map(|pair| &pair.runs[side.index()].usage);
        usages.map(|usage| usage.user + if has_kernel { usage.system } else { 0.0 }).collect::<Vec<f64>>()
    });
    let program = Program::of(profiles);
    let times = function_times(profiles, times.each_ref().map(Vec::as_slice), &|function| {
        name(function, program.as_ref())
    })?;
    Ok(ByFunction { times, has_kernel })
}

/// The program, where it has another name on each side: the file with most samples that only one side has.
struct Program {
    names: [String; 2],
    /// What it is called on both sides.
    shown: String,
}

impl Program {
    /// `None`: it has one name.
    fn of(profiles: [&Profile; 2]) -> Option<Program> {
        let [a, b] = profiles.map(|profile| {
            let mut objects: BTreeMap<&str, f64> = BTreeMap::new();
            for (function, weight) in &profile.functions {
                *objects.entry(object_name(&function.object)).or_default() += weight.sum;
            }
            objects
        });
        let heaviest = |of: &BTreeMap<&str, f64>, other: &BTreeMap<&str, f64>| {
            let own = of.iter().filter(|(name, _)| !other.contains_key(*name));
            own.max_by(|one, other| one.1.total_cmp(other.1)).map(|(name, _)| (*name).to_owned())
        };
        let names = [heaviest(&a, &b)?, heaviest(&b, &a)?];
        Some(Program { shown: names.join(", "), names })
    }
}

/// The name of a function on both sides.
fn name(function: &ProfiledFunction, program: Option<&Program>) -> FunctionName {
    let own = object_name(&function.object);
    let program = program.filter(|program| program.names.iter().any(|name| name == own));
    let object = program.map_or(own, |program| &program.shown);
    FunctionName { object: object.to_owned(), function: plain_name(&function.name) }
}

/// The name of a file on both sides. One that was compiled at run time, is in memory only or was removed has a path that
/// differs from run to run.
fn object_name(object: &str) -> &str {
    let object = object.strip_suffix(" (deleted)").unwrap_or(object);
    let object = object.rsplit('/').next().unwrap_or(object);
    let object = object.strip_prefix("memfd:").unwrap_or(object);
    let is_jitted = object
        .strip_prefix("perf-")
        .and_then(|rest| rest.strip_suffix(".map"))
        .is_some_and(|process| process.bytes().all(|digit| digit.is_ascii_digit()));
    if is_jitted { "perf.map" } else { object }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::readers::profile::{Unit, Weight};

    fn profile(functions: &[(&str, &str)]) -> Profile {
        let one = Weight { samples: 1, sum: 1.0, squares: 1.0 };
        let function = |(object, name): &(&str, &str)| {
            (ProfiledFunction { object: (*object).to_owned(), name: (*name).to_owned() }, one)
        };
        Profile {
            unit: Unit::Time,
            functions: functions.iter().map(function).collect(),
            kernel: Weight::default(),
            nameless: Weight::default(),
        }
    }

    fn named(program: Option<&Program>, object: &str, function: &str) -> String {
        let function = ProfiledFunction { object: object.to_owned(), name: function.to_owned() };
        let FunctionName { object, function } = name(&function, program);
        format!("{function} ({object})")
    }

    #[test]
    fn functions_have_one_name_at_every_level() {
        let named = |object: &str, function: &str| named(None, object, function);
        assert_eq!(named("/p/x86-64-v3/tree/bin/prog", "sum.constprop.0.isra.0"), "sum (prog)");
        assert_eq!(named("/dist/bin-x86-64-v1/prog (deleted)", "_ZN2ns3sumEi.cold"), "ns::sum(int) (prog)");
        assert_eq!(named("/memfd:prog (deleted)", "ns::sum(int) [clone .part.0]"), "ns::sum(int) (prog)");
        assert_eq!(named("/tmp/perf-4711.map", "jitted"), "jitted (perf.map)");
        assert_eq!(named("[vdso]", "__vdso_time"), "__vdso_time ([vdso])");
        assert_eq!(named("/", ""), " ()");
    }

    #[test]
    fn two_builds_of_a_program_are_one_whatever_they_are_called() {
        let a = profile(&[("/a/server-old", "sum"), ("/usr/lib/libc.so.6", "memcpy")]);
        let b = profile(&[
            ("/b/server-new", "sum"),
            ("/b/server-new", "parse"),
            ("/lib/libc.so.6", "memcpy"),
            ("/x/libz.so", "crc"),
        ]);
        let program = Program::of([&a, &b]);
        let named = |object: &str, function: &str| named(program.as_ref(), object, function);
        assert_eq!(named("/a/server-old", "sum"), "sum (server-old, server-new)");
        assert_eq!(named("/b/server-new", "sum"), "sum (server-old, server-new)");
        assert_eq!(named("/lib/libc.so.6", "memcpy"), "memcpy (libc.so.6)");
        // A library that only B loads is no counterpart of anything.
        assert_eq!(named("/x/libz.so", "crc"), "crc (libz.so)");
        assert!(Program::of([&a, &a]).is_none());
    }
}
