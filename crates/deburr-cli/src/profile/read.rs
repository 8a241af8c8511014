//! Files of `--profile`, and what they name of code made at run time → one profile.
//!
//! A jitdump is one of the files to check, or else next to the profile, or else where it was when the profile was recorded. A perf
//! map is next to the profile, or in `/tmp` of the machine of the recording, where perf looks for it.

use crate::input::mapped::Bytes;
use crate::system_error::error_text;
use deburr_profile::{JitSource, Profile, Request, WantedJitdump, read};
use deburr_text::ShownPath as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest perf map that is read: 256 MiB.
const MOST_MAP: u64 = 1 << 28;

/// What was read.
pub(super) struct ReadProfiles {
    pub(super) profile: Profile,
    /// What could not be read of it, for people.
    pub(super) remarks: Vec<String>,
}

/// Reads all files as one profile. `given`: the files to check.
pub(super) fn all(paths: &[PathBuf], given: &[PathBuf]) -> Result<ReadProfiles, String> {
    let mut all: Option<ReadProfiles> = None;
    for path in paths {
        let ReadProfiles { profile, remarks } = one(path, given)?;
        match &mut all {
            Some(all) => {
                all.profile.merge(profile);
                all.remarks.extend(remarks);
            }
            None => all = Some(ReadProfiles { profile, remarks }),
        }
    }
    all.ok_or_else(|| "--profile: no file is given".to_owned())
}

fn one(path: &Path, given: &[PathBuf]) -> Result<ReadProfiles, String> {
    let failed = |reason: String| format!("{}: {reason}", path.shown());
    let first = parse(path, &Request::default()).map_err(failed)?;
    let mut remarks = Vec::new();
    let places: BTreeMap<&str, PathBuf> = first
        .wanted
        .iter()
        .filter_map(|wanted| Some((wanted.path.as_str(), place_of(&wanted.path, path, given)?)))
        .collect();
    let mut dumps: Vec<(&str, Bytes)> = Vec::new();
    for (recorded, place) in &places {
        match Bytes::open(place) {
            Ok(bytes) => dumps.push((recorded, bytes)),
            Err(error) => remarks.push(format!("{}: {}", place.shown(), error_text(&error))),
        }
    }
    let is_of_here = is_of_this_machine(&first);
    let mut maps: Vec<(u32, Vec<u8>)> = Vec::new();
    for pid in &first.wanted_perf_maps {
        let Some(place) = perf_map(*pid, path, is_of_here) else { continue };
        match bounded(&place, MOST_MAP) {
            Ok(bytes) => maps.push((*pid, bytes)),
            Err(reason) => remarks.push(format!("{}: {reason}", place.shown())),
        }
    }
    if dumps.is_empty() && maps.is_empty() {
        remarks.extend(missing(&first, &places));
        return Ok(ReadProfiles { profile: first, remarks });
    }
    let request = Request {
        jitdumps: &dumps.iter().map(|(path, bytes)| (*path, &**bytes)).collect::<Vec<_>>(),
        perf_maps: &maps.iter().map(|(pid, bytes)| (*pid, bytes.as_slice())).collect::<Vec<_>>(),
    };
    let mut profile = match parse(path, &request) {
        Ok(profile) => profile,
        // Without what it names, the profile is whole all the same.
        Err(reason) => {
            remarks.push(format!("{}: with its jitdumps: {reason}", path.shown()));
            first.clone()
        }
    };
    let unread: BTreeMap<&str, String> =
        profile.unread_jitdumps.iter().map(|(path, error)| (path.as_str(), error.to_string())).collect();
    for (recorded, error) in unread {
        let place = places.get(recorded).map_or_else(|| recorded.to_owned(), |it| it.shown().into_owned());
        remarks.push(format!("{place}: {error}"));
    }
    let changed = dumps.iter().filter(|(_, bytes)| !bytes.is_intact()).filter_map(|(it, _)| places.get(it));
    remarks.extend(changed.map(|place| format!("{}: it changed while it was read", place.shown())));
    remarks.extend(missing(&profile, &places));
    // From here on a jitdump is known by where it is.
    let shown: BTreeMap<&str, Arc<str>> =
        places.iter().map(|(recorded, place)| (*recorded, Arc::from(place.shown().into_owned()))).collect();
    for function in &mut profile.jit {
        if let JitSource::Jitdump { path, .. } = &mut function.source
            && let Some(place) = shown.get(&**path)
        {
            *path = Arc::clone(place);
        }
    }
    Ok(ReadProfiles { profile, remarks })
}

/// Where a jitdump is now.
fn place_of(recorded: &str, profile: &Path, given: &[PathBuf]) -> Option<PathBuf> {
    let recorded = Path::new(recorded);
    let name = recorded.file_name()?;
    let given = given.iter().filter(|path| path.file_name() == Some(name)).cloned();
    let there = [profile.with_file_name(name), recorded.to_owned()];
    given.chain(there).find(|path| path.is_file())
}

/// Jitdumps of processes that were seen in code made at run time, and that are nowhere.
fn missing(profile: &Profile, places: &BTreeMap<&str, PathBuf>) -> Vec<String> {
    let is_seen = |wanted: &&WantedJitdump| profile.wanted_perf_maps.contains(&wanted.pid);
    let wanted = profile.wanted.iter().filter(is_seen).map(|wanted| wanted.path.as_str());
    let missing: BTreeSet<&str> = wanted.filter(|path| !places.contains_key(path)).collect();
    let said = |path: &str| format!("{path}: not there: what it describes is not checked");
    missing.into_iter().map(said).collect()
}

fn parse(path: &Path, request: &Request<'_>) -> Result<Profile, String> {
    let file = File::open(path).map_err(|error| error_text(&error))?;
    let kind = file.metadata().map_err(|error| error_text(&error))?.file_type();
    if !kind.is_file() {
        return Err("a profile is a regular file: save what comes through a pipe first".to_owned());
    }
    read(&mut BufReader::with_capacity(1 << 16, file), request).map_err(|error| error.to_string())
}

/// The bytes of a file of no more than so many.
fn bounded(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let size = fs::metadata(path).map_err(|error| error_text(&error))?.len();
    if size > most {
        return Err(format!("too large: {size} bytes, where at most {most} are read"));
    }
    fs::read(path).map_err(|error| error_text(&error))
}

/// Whether a profile was recorded on this machine.
fn is_of_this_machine(profile: &Profile) -> bool {
    let here = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    profile.hostname.as_deref().is_some_and(|host| host == here.trim_end())
}

/// Where the perf map of a process is, if there is one. That in `/tmp` is another process's where another machine was recorded.
fn perf_map(pid: u32, profile: &Path, is_of_here: bool) -> Option<PathBuf> {
    let name = format!("perf-{pid}.map");
    let next_to_it = profile.with_file_name(&name);
    let in_tmp = is_of_here.then(|| Path::new("/tmp").join(&name));
    [Some(next_to_it), in_tmp].into_iter().flatten().find(|path| path.is_file())
}
