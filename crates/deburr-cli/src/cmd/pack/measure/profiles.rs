//! `--profile LEVEL=FILE` → profiles by level.
//!
//! In: the options as they were given, and the levels that are compared. Out: what each file says, read before anything
//! is measured, so that a wrong file costs nobody minutes.

use crate::cmd::by_function::compare_profiles;
use crate::render::by_function::{self, ByFunction};
use deburr_lab::measure::pairs::Pair;
use deburr_lab::readers::profile::{self, Profile, Unit};
use deburr_text::one_line;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Write};

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
    pub(super) fn compare(&self, [a, b]: [&str; 2], pairs: &[Pair]) -> Profiled {
        let (before, after) = match (self.0.get(a), self.0.get(b)) {
            (Some(before), Some(after)) => (before, after),
            (None, None) => return Profiled::NotWanted,
            (None, Some(_)) => return Profiled::Lacks(a.to_owned()),
            (Some(_), None) => return Profiled::Lacks(b.to_owned()),
        };
        // Units are alike, as `read` has seen to.
        compare_profiles([before, after], pairs).map_or(Profiled::NotWanted, Profiled::ByFunction)
    }
}

/// What profiles show of two levels.
pub(super) enum Profiled {
    /// Neither level has a profile.
    NotWanted,
    /// This level has none, and the other has one.
    Lacks(String),
    ByFunction(ByFunction),
}

impl Profiled {
    /// Writes the lines. `names`: of the levels A and B.
    pub(super) fn text(&self, names: [&str; 2], out: &mut dyn Write) -> io::Result<()> {
        match self {
            Profiled::NotWanted => Ok(()),
            Profiled::Lacks(level) => writeln!(out, "  no profile of {level}, so nothing by function"),
            Profiled::ByFunction(found) => by_function::text(found, names, out),
        }
    }

    /// Its JSON: null where neither level has a profile.
    pub(super) fn json(&self) -> Value {
        match self {
            Profiled::NotWanted => Value::Null,
            Profiled::Lacks(level) => json!({"no_profile_of": level}),
            Profiled::ByFunction(found) => by_function::json(found),
        }
    }
}

fn counted(unit: &Unit) -> String {
    match unit {
        Unit::Time => "samples".to_owned(),
        Unit::Events(event) => format!("counts of {}", one_line(event)),
    }
}
