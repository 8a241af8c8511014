//! What profilers print → how much of a run each function took.
//!
//! In: a profile, line by line: the text of `perf script`, or callgrind's file. Out: a [`Profile`]: weights by object and
//! function, with the kernel and what has no name apart. It is read in one pass, and what is kept grows with the number
//! of functions, whatever the size of the file. What is cut off, foreign or contradicts itself is refused with its line.
//!
//! A further format is one more file here, and one more line in [`read`].

mod callgrind;
mod lines;
mod perf_script;
mod sample;
mod tally;

pub use sample::{Profile, ProfiledFunction, Unit, Weight};

use super::error::ReadError;
use lines::Lines;
use std::io::BufRead;

/// What other programs' files begin with that are often taken for these, what they are, and what to do.
const FOREIGN: [(&[u8], &str); 4] = [
    (
        b"PERFILE2",
        "a perf.data, where text is expected; perf script -F comm,ip,sym,dso -i FILE writes that text",
    ),
    (b"\x1f\x8b", "compressed by gzip; unpack it first (a pprof profile is not read)"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first"),
    (b"\x7fELF", "an ELF file, where a profile is expected"),
];

/// Reads a profile of a run.
///
/// # Errors
/// [`ReadError`], where it is no such profile, is cut off, counts several things at once, or cannot be read.
pub fn read(input: &mut dyn BufRead) -> Result<Profile, ReadError> {
    let beginning = input.fill_buf().map_err(|error| ReadError::whole(error.to_string()))?;
    if let Some((_, what)) = FOREIGN.iter().find(|(magic, _)| beginning.starts_with(magic)) {
        return Err(ReadError::whole(*what));
    }
    let is_callgrind = callgrind::begins(beginning);
    let mut lines = Lines::new(input);
    if is_callgrind { callgrind::read(&mut lines) } else { perf_script::read(&mut lines) }
}
