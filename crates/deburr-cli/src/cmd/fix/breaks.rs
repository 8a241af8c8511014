//! What no longer fits a rewritten file, in it and around it, and what prevents that it is written.

use super::file::source::Source;
use super::trailing::Trailing;
use crate::args::fix::Fix;
use crate::render::fix::outcome::Break;
use deburr_patch::ApplyError;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Folders whose files belong to a package manager.
const MANAGED: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Why a file cannot be written, and what could be done about it.
pub(super) fn obstacle(error: &ApplyError) -> String {
    match error {
        ApplyError::Trailer { .. } => format!(
            "{error}, such as a signature or an archive, which nobody would find there any more (--despite-signature \
             rewrites it all the same)"
        ),
        _ => error.to_string(),
    }
}

/// What in a rewritten file fits no longer.
pub(super) fn inside(options: &Fix, trailing: Option<Trailing>) -> Vec<Break> {
    let mut breaks = Vec::new();
    if let Some(Trailing { length, is_stray }) = trailing {
        let text = match is_stray {
            true => format!(
                "{length} stray bytes after the last section stay in their place; the note follows them"
            ),
            false => format!(
                "{length} bytes after the last section, such as a signature or an archive, are not at the end of the rewritten file"
            ),
        };
        breaks.push(Break { what: "trailer", text });
    }
    if options.new_build_id {
        let text = "debug files of the original are not found by the new build-id".to_owned();
        breaks.push(Break { what: "build-id", text });
    }
    breaks
}

/// What outside of the file does not fit the rewritten one.
pub(super) fn around(options: &Fix, path: &Path, source: &Source) -> Vec<Break> {
    let mut breaks = Vec::new();
    let mut add = |what, text: &str| breaks.push(Break { what, text: text.to_owned() });
    let real = fs::canonicalize(path).unwrap_or_default();
    if MANAGED.iter().any(|folder| real.starts_with(folder)) && !real.starts_with("/usr/local") {
        add(
            "checksums",
            "where it takes the original's place, the package manager's checksums show it (debsums, rpm -V), \
             and an update brings the original back",
        );
    }
    if options.in_place && source.metadata.nlink() > 1 {
        add("hard-links", "other names of the file (hard links) keep the original");
    }
    breaks
}
