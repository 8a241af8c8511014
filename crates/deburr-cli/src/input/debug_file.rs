//! Separate debug files: what the core wants → the file that has it, where GDB's documentation ("Debugging
//! Information in Separate Files") says it is.

use super::mapped::Bytes;
use deburr_core::image::WantedDebugFile;
use std::path::{Path, PathBuf};

/// Finds and opens the debug file of the binary at `path`; a debug link must have the right CRC-32.
pub(crate) fn find(wanted: &WantedDebugFile, path: &Path, debug_dirs: &[PathBuf]) -> Option<Bytes> {
    if let Some((first, rest)) = wanted.build_id.as_deref().and_then(|id| id.split_at_checked(2)) {
        let name = format!(".build-id/{first}/{rest}.debug");
        if let Some(bytes) = debug_dirs.iter().find_map(|dir| open(&dir.join(&name))) {
            return Some(bytes);
        }
    }
    let (link, crc) = wanted.debuglink.as_ref()?;
    // A name with a directory in it could point anywhere.
    let link = Path::new(link).file_name()?;
    let real = path.canonicalize().ok()?;
    let folder = real.parent()?;
    let next_to_it = [folder.join(link), folder.join(".debug").join(link)];
    let below = debug_dirs.iter().map(|dir| dir.join(folder.strip_prefix("/").unwrap_or(folder)).join(link));
    next_to_it
        .into_iter()
        .chain(below)
        .filter(|candidate| *candidate != real)
        .filter_map(|candidate| open(&candidate))
        .find(|bytes| crc32fast::hash(bytes) == *crc)
}

fn open(path: &Path) -> Option<Bytes> {
    // The type is queried first: opening a fifo would wait for a writer.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    Bytes::open(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

    #[test]
    fn debug_link_with_another_checksum_is_not_taken() {
        let folder = Scratch::new("debuglink");
        let program = folder.file("program", b"x");
        folder.file("program.debug", b"symbols");
        let wanted =
            |crc| WantedDebugFile { build_id: None, debuglink: Some(("program.debug".to_owned(), crc)) };
        let find = |crc| find(&wanted(crc), Path::new(&program), &[]).is_some();
        assert!(find(crc32fast::hash(b"symbols")));
        assert!(!find(1));
    }
}
