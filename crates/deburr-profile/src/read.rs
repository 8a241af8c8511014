//! A profile in whatever format → [`Profile`]. The format is recognised by the first bytes, never by a name.

use crate::error::Error;
use crate::profile::{Format, Profile};
use crate::request::Request;
use crate::{callgrind, perf_data, perf_script, pprof};
use std::io::{Read, Seek, SeekFrom};

/// How many bytes distinguish the formats.
const BEGINNING: u64 = 64;

/// The format of a file with this beginning, of 64 bytes or more. What is text and not callgrind's may be that of `perf script`.
pub fn sniff(beginning: &[u8]) -> Option<Format> {
    if perf_data::begins(beginning) {
        return Some(Format::PerfData);
    }
    if pprof::begins(beginning) {
        return Some(Format::Pprof);
    }
    if callgrind::begins(beginning) {
        return Some(Format::Callgrind);
    }
    let is_text = |byte: &u8| *byte >= 0x20 && *byte != 0x7f || matches!(byte, b'\t' | b'\n' | b'\r');
    // What others of these bytes might pass for text: compressed by zstd.
    let is_other = beginning.starts_with(b"\x28\xb5\x2f\xfd");
    (!beginning.is_empty() && !is_other && beginning.iter().all(is_text)).then_some(Format::PerfScript)
}

/// Reads a profile.
///
/// ```
/// use deburr_profile::{Place, Request, read};
///
/// let text = "            spin  7692 26236.261087:     247967   cpu-clock:      55d7166862b6 work+0x16 (/usr/bin/spin)\n";
/// let profile = read(&mut std::io::Cursor::new(text), &Request::default())?;
/// let leaf = &profile.objects[0].leaves[0];
/// assert_eq!(profile.objects[0].path, "/usr/bin/spin");
/// assert_eq!(leaf.place, Place::Symbol { name: "work".into(), offset: Some(0x16) });
/// assert_eq!((leaf.tally.samples, leaf.tally.weight), (1, 247967));
/// # Ok::<(), deburr_profile::Error>(())
/// ```
///
/// # Errors
/// Where it is in none of the formats, cut off, or contradicts itself.
pub fn read(input: &mut (impl Read + Seek), request: &Request<'_>) -> Result<Profile, Error> {
    let mut beginning = Vec::new();
    let read = input
        .seek(SeekFrom::Start(0))
        .and_then(|_| input.by_ref().take(BEGINNING).read_to_end(&mut beginning));
    read.map_err(|error| Error::new(0, format!("readable bytes: {error}")))?;
    let format = sniff(&beginning);
    if format == Some(Format::Pprof) {
        return pprof::read(input);
    }
    if format == Some(Format::PerfData) {
        return perf_data::read(input, request);
    }
    input.seek(SeekFrom::Start(0)).map_err(|error| Error::new(0, format!("readable bytes: {error}")))?;
    match format {
        Some(Format::Callgrind) => callgrind::read(input),
        Some(Format::PerfScript) => perf_script::read(input),
        _ => {
            Err(Error::new(0, "a perf.data, the text of perf script, a pprof profile, or callgrind's output"))
        }
    }
}
