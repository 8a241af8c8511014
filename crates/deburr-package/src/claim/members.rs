//! The few small members of a package that state something, by their names.
//!
//! In: an archive in memory, or a compressed one. Out: the bytes of its members that are wanted, each bounded.

use crate::codec::decode::{Metered, decoded};
use crate::codec::meter::{Counted, Meter};
use crate::name::tidied;
use crate::sniff::Codec;
use crate::tar::{Gauge, Guarded, HEADER};
use ::tar::Archive;
use rawzip::{CompressionMethod, ZipArchive};
use std::io::Read;
use std::rc::Rc;

/// Bytes that a statement takes at most.
const LONGEST: u64 = 4 << 20;
/// Members with statements at most: a package has one or two, and whoever has more wants memory.
const MOST: usize = 4;

/// The first members of a zip file that are wanted, with their names.
pub(super) fn of_zip(
    bytes: &[u8],
    meter: &Rc<Meter>,
    wanted: impl Fn(&str) -> bool,
) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let Ok(archive) = ZipArchive::from_slice(bytes) else { return found };
    let mut entries = archive.entries();
    while found.len() < MOST
        && let Ok(Some(entry)) = entries.next_entry()
    {
        let path = entry.file_path();
        let Ok(name) = std::str::from_utf8(tidied(path.as_ref())) else { continue };
        if !wanted(name) || entry.flags().is_encrypted() {
            continue;
        }
        let codec = match entry.compression_method() {
            CompressionMethod::STORE => None,
            CompressionMethod::DEFLATE => Some(Codec::Deflate),
            CompressionMethod::ZSTD => Some(Codec::Zstd),
            CompressionMethod::BZIP2 => Some(Codec::Bzip2),
            CompressionMethod::XZ => Some(Codec::Xz),
            _ => continue,
        };
        let name = name.to_owned();
        let Ok(entry) = archive.get_entry(entry.wayfinder()) else { continue };
        let mut stream = decoded(codec, entry.data(), meter).take(LONGEST);
        let mut content = Vec::new();
        if stream.read_to_end(&mut content).is_ok() {
            found.push((name, content));
        }
    }
    found
}

/// What a compressed stream holds, at most so much.
pub(super) fn unpacked<'a>(codec: Codec, bytes: &'a [u8], meter: &Rc<Meter>) -> Metered<'a> {
    Metered::new(codec, Counted::new(Box::new(bytes), None, meter), meter)
}

/// The first member of a tar archive that is wanted; `goes_on` is asked of each name before it.
pub(super) fn of_tar(
    stream: impl Read,
    wanted: impl Fn(&str) -> bool,
    goes_on: impl Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    let gauge = Rc::new(Gauge::default());
    let mut archive = Archive::new(Guarded { inner: stream, gauge: Rc::clone(&gauge) });
    gauge.allowed.set(HEADER);
    for entry in archive.entries().ok()? {
        let mut entry = entry.ok()?;
        gauge.allowed.set(u64::MAX);
        let path = entry.path_bytes().into_owned();
        let name = String::from_utf8_lossy(tidied(&path)).into_owned();
        if wanted(&name) {
            let mut content = Vec::new();
            entry.by_ref().take(LONGEST).read_to_end(&mut content).ok()?;
            return Some(content);
        }
        if !goes_on(&name) {
            return None;
        }
    }
    None
}
