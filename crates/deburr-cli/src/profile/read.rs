//! Files of `--profile`, and the jitdumps that they name → one profile.

use crate::system_error::error_text;
use deburr_profile::{Profile, Request, read};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The largest jitdump that is read: 256 MiB.
const MOST_JITDUMP: u64 = 1 << 28;

/// Reads all files as one profile.
pub(super) fn all(paths: &[PathBuf]) -> Result<Profile, String> {
    let mut all: Option<Profile> = None;
    for path in paths {
        let profile = one(path)?;
        match &mut all {
            Some(all) => all.merge(profile),
            None => all = Some(profile),
        }
    }
    all.ok_or_else(|| "--profile: no file is given".to_owned())
}

fn one(path: &Path) -> Result<Profile, String> {
    let failed = |reason: String| format!("{}: {reason}", path.display());
    let profile = parse(path, &Request::default()).map_err(failed)?;
    let dumps: Vec<(&str, Vec<u8>)> = profile
        .wanted
        .iter()
        .filter_map(|wanted| Some((wanted.path.as_str(), jitdump(Path::new(&wanted.path))?)))
        .collect();
    if dumps.is_empty() {
        return Ok(profile);
    }
    let jitdumps: Vec<(&str, &[u8])> = dumps.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
    // Without what it names, the profile is whole all the same.
    Ok(parse(path, &Request { jitdumps: &jitdumps }).unwrap_or(profile))
}

fn parse(path: &Path, request: &Request<'_>) -> Result<Profile, String> {
    let file = File::open(path).map_err(|error| error_text(&error))?;
    let kind = file.metadata().map_err(|error| error_text(&error))?.file_type();
    if !kind.is_file() {
        return Err("a profile is a regular file: save what comes through a pipe first".to_owned());
    }
    read(&mut BufReader::with_capacity(1 << 16, file), request).map_err(|error| error.to_string())
}

/// The bytes of a jitdump, if it is still there.
fn jitdump(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= MOST_JITDUMP).then(|| fs::read(path).ok())?
}
