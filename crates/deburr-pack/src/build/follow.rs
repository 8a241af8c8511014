//! Build stage: what a build writes while it runs → how far it is.
//!
//! In: its log, and the log of calls that the wrappers write. Out: the last line of the one, the number of lines of the other;
//! both since the build began. Nothing here is an error: a log that cannot be read says nothing.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How far a variant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage<'a> {
    /// Its sources are copied, and the compilers are wrapped.
    Prepares,
    /// Its command runs.
    Builds {
        /// How often compilers were called.
        calls: usize,
        /// The last line that the command wrote, as it is.
        line: &'a str,
    },
    /// What it made is checked.
    Checks {
        /// Files that are checked.
        done: usize,
        /// Files that there are.
        all: usize,
    },
}

/// Which variant is how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The variant.
    pub level: &'a str,
    /// Its place among the variants, from 1.
    pub number: usize,
    /// How many variants there are.
    pub of: usize,
    /// How far it is.
    pub stage: Stage<'a>,
}

/// Follows the two logs of a build.
pub(super) struct Tail {
    log: PathBuf,
    calls: PathBuf,
    /// How much of the calls is read.
    read: u64,
    count: usize,
    /// The log's size when `line` was read.
    size: u64,
    line: String,
}

impl Tail {
    /// What is in the log of calls already is of an earlier build.
    pub(super) fn new(log: &Path, calls: &Path) -> Tail {
        let read = calls.metadata().map_or(0, |data| data.len());
        Tail { log: log.to_owned(), calls: calls.to_owned(), read, count: 0, size: 0, line: String::new() }
    }

    /// How far the build is now.
    pub(super) fn stage(&mut self) -> Stage<'_> {
        self.count_calls();
        self.read_line();
        Stage::Builds { calls: self.count, line: &self.line }
    }

    fn count_calls(&mut self) {
        let Ok(mut file) = File::open(&self.calls) else { return };
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(self.read)).is_err() || file.read_to_end(&mut bytes).is_err() {
            return;
        }
        // A line that is not whole yet is read again.
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let lines = bytes.get(..whole).unwrap_or_default().split(|&byte| byte == b'\n');
        self.count += lines.filter(|line| line.starts_with(b"called ")).count();
        self.read += whole as u64;
    }

    fn read_line(&mut self) {
        const END: u64 = 4096;
        let Ok(mut file) = File::open(&self.log) else { return };
        let size = file.metadata().map_or(0, |data| data.len());
        if size == self.size {
            return;
        }
        let mut bytes = Vec::new();
        let at_end = file.seek(SeekFrom::Start(size.saturating_sub(END)));
        if at_end.is_ok() && file.take(END).read_to_end(&mut bytes).is_ok() {
            let text = String::from_utf8_lossy(&bytes);
            // Build systems that count on one line return to its start.
            let mut lines = text.split(['\n', '\r']).map(str::trim);
            self.line = lines.rfind(|line| !line.is_empty()).unwrap_or_default().to_owned();
            self.size = size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;
    use std::fs::OpenOptions;
    use std::io::Write;

    fn append(path: &Path, text: &str) {
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn calls_since_the_beginning_and_the_last_line_are_followed() {
        let scratch = Scratch::new("pack-follow");
        let (log, calls) = (scratch.join("build.log"), scratch.join("calls.log"));
        append(&calls, "called gcc\ncalled gcc\n");
        let mut tail = Tail::new(&log, &calls);
        assert_eq!(tail.stage(), Stage::Builds { calls: 0, line: "" });
        append(&log, "gcc -c a.c\n[1/20] a\r[2/20] b\r\n\n");
        append(&calls, "called gcc\nown -march=native\ncalled g++\ncal");
        assert_eq!(tail.stage(), Stage::Builds { calls: 2, line: "[2/20] b" });
        append(&calls, "led cc\n");
        append(&log, &"x".repeat(10_000));
        let Stage::Builds { calls, line } = tail.stage() else { panic!("it builds") };
        assert_eq!((calls, line.len()), (3, 4096));
    }
}
