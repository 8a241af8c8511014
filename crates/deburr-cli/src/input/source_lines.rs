//! Source code: the name of a file, as debug information has it → its lines.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

/// A source file larger than this is not read.
const LARGEST_SOURCE: u64 = 16 << 20;

/// Source files read so far, by lines; `None` where a file cannot be had.
#[derive(Default)]
pub(crate) struct SourceLines(HashMap<String, Option<Arc<[String]>>>);

impl SourceLines {
    /// The lines of a source file. Its name comes from the binary, so only a regular file of a sane size is
    /// opened.
    pub(crate) fn of(&mut self, file: &str) -> Option<Arc<[String]>> {
        let read = || {
            let metadata = fs::metadata(file).ok()?;
            if !metadata.is_file() || metadata.len() > LARGEST_SOURCE {
                return None;
            }
            let text = fs::read(file).ok()?;
            Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
        };
        self.0.entry(file.to_owned()).or_insert_with(read).clone()
    }
}
