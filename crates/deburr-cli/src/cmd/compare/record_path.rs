//! Where records are kept: `$XDG_STATE_HOME/deburr/compare`, or `~/.local/state/deburr/compare` (XDG Base
//! Directory Specification).
//!
//! A record's name begins with a digest of its commands, so that the last one of the same commands is found
//! again.

use crate::clock::since_1970;
use deburr_lab::measure::record::Header;
use deburr_text::ShownPath as _;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;

/// A name for a new record.
pub(super) fn new(header: &Header) -> Result<PathBuf, String> {
    let folder = folder()?;
    fs::create_dir_all(&folder)
        .map_err(|error| format!("{}: {error} (--record FILE chooses another place)", folder.shown()))?;
    let now = since_1970().as_millis();
    // Digits in equal number, so that names sort by time.
    Ok(folder.join(format!("{}-{now:013}-{}.jsonl", digest(header), std::process::id())))
}

/// The last record of the same commands.
pub(super) fn last(header: &Header) -> Result<PathBuf, String> {
    let (folder, prefix) = (folder()?, format!("{}-", digest(header)));
    let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let records = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    let last = records.max_by_key(fs::DirEntry::file_name);
    last.map(|entry| entry.path()).ok_or_else(|| {
        format!(
            "--resume: {} has no record of these commands (--resume=FILE names one elsewhere)",
            folder.shown()
        )
    })
}

/// The folder that records are kept in.
pub(super) fn folder() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))
        .ok_or("no HOME to keep the record in: --record FILE names a place")?;
    Ok(state.join("deburr/compare"))
}

fn digest(header: &Header) -> String {
    let digest = Sha256::digest(header.commands.join("\0"));
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
