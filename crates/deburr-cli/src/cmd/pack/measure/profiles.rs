//! `--profile LEVEL=FILE` → profiles by level.
//!
//! In: the options as they were given, and the levels that are compared. Out: what each file says, read before anything
//! is measured, so that a wrong file costs nobody minutes.

use deburr_core::diff::plain_name;
use deburr_lab::comparison::functions::{FunctionName, FunctionTimes, function_times};
use deburr_lab::measure::pairs::Pair;
use deburr_lab::readers::profile::{self, Profile, ProfiledFunction, Unit};
use deburr_lab::side::Side;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

/// The profile of each level that has one.
pub(super) struct Profiles(BTreeMap<String, Profile>);

impl Profiles {
    /// Reads the files; `levels` are those that are compared.
    pub(super) fn read(given: &[String], levels: &[String]) -> Result<Profiles, String> {
        let mut found = BTreeMap::new();
        for option in given {
            let Some((level, path)) = option.split_once('=').filter(|(_, path)| !path.is_empty()) else {
                return Err(format!("--profile {option}: expected LEVEL=FILE"));
            };
            if !levels.iter().any(|known| known == level) {
                return Err(format!(
                    "--profile {option}: {level} is not among the levels that are measured here: {}",
                    levels.join(", ")
                ));
            }
            let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
            let read = profile::read(&mut BufReader::with_capacity(1 << 16, file));
            let read = read.map_err(|error| format!("{path}: {error}"))?;
            if found.insert(level.to_owned(), read).is_some() {
                return Err(format!("--profile {option}: a second profile of {level}"));
            }
        }
        if let Some(only) = found.keys().next().filter(|_| found.len() == 1) {
            return Err(format!("--profile {only}=…: the only one; functions of two levels are compared"));
        }
        let units: Vec<(&String, &Unit)> =
            found.iter().map(|(level, profile)| (level, &profile.unit)).collect();
        let different = units.iter().zip(units.iter().skip(1)).find(|(one, other)| one.1 != other.1);
        if let Some((one, other)) = different {
            return Err(format!(
                "--profile: that of {} has {}, that of {} {}; profiles of one kind are compared",
                one.0,
                counted(one.1),
                other.0,
                counted(other.1)
            ));
        }
        Ok(Profiles(found))
    }

    /// What each function took at two levels, where both have profiles; and which level has none, where one has.
    pub(super) fn compare(&self, [a, b]: [&str; 2], pairs: &[Pair]) -> ByFunction {
        let (before, after) = match (self.0.get(a), self.0.get(b)) {
            (Some(before), Some(after)) => (before, after),
            (None, None) => return ByFunction::NotWanted,
            (None, Some(_)) => return ByFunction::Lacks(a.to_owned()),
            (Some(_), None) => return ByFunction::Lacks(b.to_owned()),
        };
        // Where no sample is in the kernel, it was not sampled, or took nothing.
        let has_kernel = before.kernel.samples + after.kernel.samples > 0;
        let times = [Side::A, Side::B].map(|side| {
            let usages = pairs.iter().map(|pair| &pair.runs[side.index()].usage);
            usages.map(|usage| usage.user + if has_kernel { usage.system } else { 0.0 }).collect::<Vec<f64>>()
        });
        match function_times([before, after], times.each_ref().map(Vec::as_slice), &name) {
            Ok(times) => ByFunction::Times { times, has_kernel },
            Err(_) => ByFunction::NotWanted,
        }
    }
}

/// What functions show of two levels.
pub(super) enum ByFunction {
    /// Neither level has a profile.
    NotWanted,
    /// This level has none, and the other has one.
    Lacks(String),
    Times {
        times: FunctionTimes,
        /// Whether the times are of the kernel, too.
        has_kernel: bool,
    },
}

fn counted(unit: &Unit) -> String {
    match unit {
        Unit::Time => "samples".to_owned(),
        Unit::Events(event) => format!("counts of {}", tame(event)),
    }
}

/// A text of somebody else's without what a terminal would obey.
pub(super) fn tame(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// The name of a function at every level. A file that was compiled at run time, is in memory only or was removed has a name
/// that differs from run to run.
fn name(function: &ProfiledFunction) -> FunctionName {
    let object = function.object.strip_suffix(" (deleted)").unwrap_or(&function.object);
    let object = object.rsplit('/').next().unwrap_or(object);
    let object = object.strip_prefix("memfd:").unwrap_or(object);
    let is_jitted = object
        .strip_prefix("perf-")
        .and_then(|rest| rest.strip_suffix(".map"))
        .is_some_and(|process| process.bytes().all(|digit| digit.is_ascii_digit()));
    let object = if is_jitted { "perf.map" } else { object };
    FunctionName { object: object.to_owned(), function: plain_name(&function.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_one_name_at_every_level() {
        let named = |object: &str, function: &str| {
            let function = ProfiledFunction { object: object.to_owned(), name: function.to_owned() };
            let FunctionName { object, function } = name(&function);
            format!("{function} ({object})")
        };
        assert_eq!(named("/p/x86-64-v3/tree/bin/prog", "sum.constprop.0.isra.0"), "sum (prog)");
        assert_eq!(named("/dist/bin-x86-64-v1/prog (deleted)", "_ZN2ns3sumEi.cold"), "ns::sum(int) (prog)");
        assert_eq!(named("/memfd:prog (deleted)", "ns::sum(int) [clone .part.0]"), "ns::sum(int) (prog)");
        assert_eq!(named("/tmp/perf-4711.map", "jitted"), "jitted (perf.map)");
        assert_eq!(named("[vdso]", "__vdso_time"), "__vdso_time ([vdso])");
        assert_eq!(named("/", ""), " ()");
    }
}
